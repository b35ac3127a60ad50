/* rewrite_stat.c: writes statements, blocks and functions. The names made here, after the chunk's
   prefix: f the function's frame, k and q an if's arm and a construct's promotion flag, g<n> the
   frame of a goto region, h<n> the start of a block; labels e<n> the end of a block, b<n> the exit
   of a loop. */
#include "rewrite_int.h"

static LxKind kind_at(const Rw *w, LpTok t) { return lp_token(&w->c->lp, t)->kind; }

/* {==== names ==== */

/* `x = cell(x, "x")` for what inner functions assign, `local c <close> = close(x, "x")` for what is to
   be closed. */
static void write_births(Rw *w, const LpVar *v, uint32_t n) {
  for (; n > 0; n--, v = v->next) {
    if (v->inner_write) { /* what is to be closed is never assigned */
      rw_write(w, " %v = %f%v, %q)", v, RW_CELL, v, v->sym->s);
    } else if (v->attrib == LP_CLOSE) {
      rw_write(w, " local @c <close> = %f%v, %q)", RW_CLOSE, v, v->sym->s);
    }
  }
}

/* ` if q then x = p(q, x, "x", 7) ... end` */
static void write_promotions(Rw *w, const LpStat *s) {
  if (s->rw->n_set == 0) {
    return;
  }
  rw_write(w, " if @q then");
  for (uint32_t i = 0; i < s->rw->n_set; i++) {
    const LpVar *v = s->rw->set[i];
    int line = v->tok == LP_NO_TOK ? 0 : lp_line(&w->c->lp, v->tok);
    rw_write(w, " %v = %f@q, %v, %q, %n)", v, RW_P, v, v->sym->s, (unsigned)line);
  }
  rw_puts(w, " end");
}

/* Whether naming the value of e after a local tells a reader anything. */
static bool is_nameable(const LpExp *e) {
  while (e->kind == LP_PAREN) {
    e = e->a;
  }
  return !e->is_const && (e->kind == LP_CALL || e->kind == LP_METHOD || e->kind == LP_INDEX ||
                          e->kind == LP_FIELD || e->kind == LP_UNARY || e->kind == LP_BINARY);
}

static void write_named(Rw *w, LpExp *e, const LpVar *v) {
  if (!is_nameable(e) || v->attrib == LP_CLOSE) {
    rw_exp(w, e);
    return;
  }
  rw_write(w, "%<%f%e, %q)", e->tok, RW_NM, e, v->sym->s);
}

static uint32_t count_exps(const LpExp *e) {
  uint32_t n = 0;
  for (; e != NULL; e = e->next) {
    n++;
  }
  return n;
}

/* {==== jumps ==== */

/* Where to go on from s when the region is dead. */
static void write_dead_label(Rw *w, const LpStat *s) {
  const LpStat *label = rw_region_of(s);
  if (label != NULL) {
    rw_puts(w, label->sym->s);
  } else {
    rw_write(w, "@e%n", s->block->rw->number);
  }
}

static void write_dead_check(Rw *w, const LpStat *s) {
  rw_write(w, " if %f) then goto ", RW_DEAD);
  write_dead_label(w, s);
  rw_puts(w, " end");
}

static void write_break(Rw *w, LpStat *s) {
  rw_write(w, "%x if %f) then goto @b%n else goto ", s->tok, RW_BRK, s->target->rw->number);
  write_dead_label(w, s);
  rw_puts(w, " end");
}

/* `back(h, "L") goto L` */
static void write_plain_goto(Rw *w, LpStat *s) {
  rw_write(w, "%< %f@h%n, %q) %>", s->tok, RW_BACK, s->target->block->rw->number, s->sym->s,
           s->last);
}

static void write_goto(Rw *w, LpStat *s) {
  if (s->rw->plain) {
    write_plain_goto(w, s);
    return;
  }
  rw_write(w, "%x%x if %f@g%n) then goto %s else goto ", s->tok, s->last, RW_GOTO,
           s->target->rw->number, s->sym->s);
  write_dead_label(w, s);
  rw_puts(w, " end");
}

/* Whether the condition of a repeat follows the block of s. */
static bool in_repeat(const LpStat *s) {
  return s->block->owner != NULL && s->block->owner->kind == LP_REPEAT;
}

/* `if ret(f, e) then return retv(f) end` */
static void write_ret(Rw *w, LpStat *s) {
  rw_write(w, "%x if %f@f%s%l) then return %f@f)", s->tok, RW_RET, s->exps != NULL ? ", " : "",
           s->exps, RW_RETV);
  if (in_repeat(s)) {
    rw_puts(w, " else goto ");
    write_dead_label(w, s);
  }
  rw_puts(w, " end");
  if (kind_at(w, s->last) == LX_SEMI) {
    rw_drop(w, s->last);
  }
}

static void write_return(Rw *w, LpStat *s) {
  bool of_kernel = w->func == w->root && w->kind == RW_KERNEL && s->exps != NULL;
  bool is_last = !s->block->rw->has_end; /* else a label follows */
  if (w->func->rw->returns_inside || of_kernel) {
    write_ret(w, s);
    return;
  }
  rw_write(w, is_last ? "%<%l%>" : "%< do %l%> end", s->tok, s->exps, s->last);
}

/* {==== blocks ==== */

static void write_stat(Rw *w, LpStat *s);

/* ` do local g <close> = mark("L")` for each region that starts at s, the longest first. */
static void open_regions(Rw *w, const LpStat *s) {
  const RwBlock *b = s->block->rw;
  for (uint32_t i = b->n_regions; i > 0; i--) {
    const LpStat *label = b->regions[i - 1];
    if (label->rw->start == s->index) {
      rw_write(w, " do local @g%n <close> = %f%q)", label->rw->number, RW_MARK, label->sym->s);
    }
  }
}

static bool is_jump(const LpStat *s) {
  return s->kind == LP_BREAK || s->kind == LP_GOTO || s->kind == LP_RETURN;
}

static void write_stats(Rw *w, const LpBlock *b) {
  if (b->rw->has_here) {
    rw_write(w, " local @h%n = %f)", b->rw->number, RW_HERE);
  }
  for (LpStat *s = b->first; s != NULL && w->status == CT_OK; s = s->next) {
    if (s->kind == LP_LABEL && s->rw->has_region) {
      rw_puts(w, " end");
    }
    open_regions(w, s);
    rw_puts(w, s->index > 0 ? "" : " ");
    write_stat(w, s);
    if (s->rw->leaves && !is_jump(s) && (s->next != NULL || in_repeat(s))) {
      write_dead_check(w, s);
    }
  }
}

static void write_end_label(Rw *w, const LpBlock *b) {
  if (b->rw->has_end) {
    rw_write(w, " ::@e%n::", b->rw->number);
  }
}

static void write_block(Rw *w, const LpBlock *b) {
  write_stats(w, b);
  write_end_label(w, b);
}

/* {==== if and loops ==== */

/* `, q` after the variables of a for, when the construct promotes anything. */
static void write_flag(Rw *w, const LpStat *s) {
  if (s->rw->n_set > 0) {
    rw_write(w, ", @q");
  }
}

/* ` for k, q in if(n, has_else, c1) do` and the promotions */
static void write_if_head(Rw *w, const LpStat *s) {
  uint32_t n = 0;
  for (const LpArm *arm = s->arms; arm != NULL; arm = arm->next) {
    n++;
  }
  rw_write(w, "%x for @k", s->tok);
  write_flag(w, s);
  rw_write(w, " in %f%n, %s, %e) do", RW_IF, n, s->else_body != NULL ? "true" : "false",
           s->arms->cond);
  write_promotions(w, s);
}

/* `elseif k == 2 then ei(c2) elseif k == 3 then BODY`, k = 2 the number of the condition */
static void write_elseif(Rw *w, const LpArm *arm, uint32_t k) {
  rw_write(w, "%> @k == %n then %f%e) elseif @k == %n %>", arm->tok, k, RW_EI, arm->cond, k + 1,
           arm->then);
  write_block(w, arm->body);
}

static void write_if(Rw *w, LpStat *s) {
  uint32_t k = 2;
  CT_ASSERT(s->arms != NULL); /* the parser makes one for each `if` */
  write_if_head(w, s);
  rw_write(w, " if @k == 1 %>", s->arms->then);
  write_block(w, s->arms->body);
  for (const LpArm *arm = s->arms->next; arm != NULL; arm = arm->next, k += 2) {
    write_elseif(w, arm, k);
  }
  if (s->else_body != NULL) {
    rw_before(w, s->else_body->from);
    write_block(w, s->else_body);
  }
  rw_after(w, s->last);
  rw_puts(w, " end");
}

/* A loop that a break leaves stands in a do-block with its exit label at the end. */
static void open_loop(Rw *w, const LpStat *s) { rw_puts(w, s->rw->has_break ? " do " : " "); }

static void close_loop(Rw *w, const LpStat *s) {
  if (s->rw->has_break) {
    rw_write(w, " ::@b%n:: end", s->rw->number);
  }
}

/* ` for q in loop("kind") do` and the promotions */
static void write_turns(Rw *w, const LpStat *s, RwFn fn, const char *args) {
  rw_write(w, "for @q in %f%s) do", fn, args);
  write_promotions(w, s);
}

static bool is_always_true(const LpExp *e) {
  return e->kind == LP_TRUE || e->kind == LP_NUMBER || e->kind == LP_STRING;
}

static void write_while(Rw *w, LpStat *s) {
  bool forever = is_always_true(s->exps);
  rw_drop(w, s->tok);
  open_loop(w, s);
  write_turns(w, s, forever ? RW_LOOP : RW_WHILE, forever ? "\"while\"" : "");
  if (forever) {
    rw_skip(w, s->mid);
    rw_drop(w, s->mid);
  } else {
    rw_write(w, " if %f%e)%x then", RW_WC, s->exps, s->mid);
  }
  write_block(w, s->body);
  rw_after(w, s->last);
  rw_puts(w, forever ? "" : " end");
  close_loop(w, s);
}

static void write_repeat(Rw *w, LpStat *s) {
  rw_drop(w, s->tok);
  open_loop(w, s);
  write_turns(w, s, RW_LOOP, "\"repeat\"");
  rw_puts(w, " do");
  write_stats(w, s->body);
  rw_write(w, "%x %f%e)", s->mid, RW_UNTIL, s->exps);
  write_end_label(w, s->body);
  rw_puts(w, " end end");
  close_loop(w, s);
}

static void write_for(Rw *w, LpStat *s) {
  const LpVar *v = s->vars;
  rw_before(w, s->tok);
  open_loop(w, s);
  for (uint32_t i = 0; i < s->n_vars; i++, v = v->next) {
    rw_declare(w, v);
  }
  write_flag(w, s);
  rw_write(w, "%x in %f\"", s->mid, s->kind == LP_FORNUM ? RW_RANGE : RW_ITER);
  v = s->vars;
  for (uint32_t i = 0; i < s->n_vars; i++, v = v->next) {
    rw_write(w, i == 0 ? "%s" : ",%s", v->sym->s);
  }
  rw_puts(w, "\",");
  for (LpExp *e = s->exps; e != NULL; e = e->next) {
    rw_write(w, s->kind == LP_FORNUM ? "%1" : "%e", e);
  }
  rw_puts(w, ")");
  rw_after(w, s->body->from - 1);
  write_births(w, s->vars, s->n_vars);
  write_promotions(w, s);
  write_block(w, s->body);
  rw_after(w, s->last);
  close_loop(w, s);
}

/* {==== assignments ==== */

static bool is_plain(const Rw *w, const LpExp *e) {
  return e->kind == LP_NAME && e->var != NULL && !rw_is_host(w, e->var) && !e->var->is_mutable;
}

static const char *name_of(const Rw *w, const LpExp *e) {
  return lp_token(&w->c->lp, e->tok)->sym->s;
}

/* A name as a target, without copying it. */
static void write_target_name(Rw *w, const LpExp *e) {
  if (e->var == NULL) {
    rw_puts(w, name_of(w, e));
  } else {
    rw_write(w, "%v", e->var);
  }
}

/* The call that wraps a value assigned to a name, up to the value; `x =` is written already. */
static void open_value(Rw *w, const LpExp *target) {
  if (is_plain(w, target)) {
    return;
  }
  if (target->var != NULL && !rw_is_host(w, target->var)) {
    rw_write(w, "%f%v, ", RW_A, target->var);
  } else {
    rw_write(w, "%f%q, ", target->var == NULL ? RW_GL : RW_UP, name_of(w, target));
  }
}

static void write_name_assign(Rw *w, LpStat *s) {
  const LpExp *t = s->targets;
  rw_drop(w, t->tok);
  write_target_name(w, t);
  rw_write(w, "%> ", s->mid);
  open_value(w, t);
  if (!is_plain(w, t)) {
    rw_write(w, "%l)", s->exps);
  } else if (s->exps->next == NULL) {
    write_named(w, s->exps, t->var);
  } else {
    rw_explist(w, s->exps);
  }
}

static void write_index_assign(Rw *w, LpStat *s) {
  const LpExp *t = s->targets;
  rw_write(w, "%<%f%d, %e%k%x,%l)", t->tok, RW_SET, t->a, t->a, t, s->mid, s->exps);
}

static char target_letter(const Rw *w, const LpExp *e) {
  if (e->kind != LP_NAME) {
    return 'i';
  }
  if (e->var == NULL) {
    return 'g';
  }
  if (rw_is_host(w, e->var)) {
    return 'u';
  }
  return e->var->is_mutable ? 'v' : 'l';
}

/* `x, y = ` of the targets that are names */
static void write_results(Rw *w, const LpExp *targets) {
  bool any = false;
  for (const LpExp *e = targets; e != NULL; e = e->next) {
    if (e->kind == LP_NAME) {
      rw_puts(w, any ? ", " : "");
      write_target_name(w, e);
      any = true;
    }
  }
  rw_puts(w, any ? " = " : "");
}

/* The arguments of `an` for one target; drops the comma or '=' after it. */
static void write_target(Rw *w, LpExp *e) {
  char letter = target_letter(w, e);
  if (letter == 'i') {
    rw_write(w, "%e%k, %d,", e->a, e, e->a);
  } else if (letter == 'v') {
    rw_write(w, "%x%v,", e->tok, e->var);
  } else if (letter == 'l') {
    rw_drop(w, e->tok);
  } else {
    rw_write(w, "%x%q,", e->tok, name_of(w, e));
  }
  rw_drop(w, e->last + 1);
}

static bool all_plain(const Rw *w, const LpExp *e) {
  while (e != NULL && is_plain(w, e)) {
    e = e->next;
  }
  return e == NULL;
}

static void write_multiple_assign(Rw *w, LpStat *s) {
  rw_before(w, s->tok);
  write_results(w, s->targets);
  if (all_plain(w, s->targets)) {
    rw_skip(w, s->mid);
    rw_drop(w, s->mid);
    rw_explist(w, s->exps);
    return;
  }
  rw_write(w, "%f\"", RW_AN);
  for (const LpExp *e = s->targets; e != NULL; e = e->next) {
    rw_glue(w, (char[]){target_letter(w, e), '\0'});
  }
  rw_puts(w, "\", ");
  for (LpExp *e = s->targets; e != NULL; e = e->next) {
    write_target(w, e);
  }
  rw_write(w, "%l)", s->exps);
}

static void write_assign(Rw *w, LpStat *s) {
  if (s->targets->next != NULL) {
    write_multiple_assign(w, s);
  } else if (s->targets->kind == LP_NAME) {
    write_name_assign(w, s);
  } else {
    write_index_assign(w, s);
  }
}

/* {==== declarations, functions ==== */

static void write_local(Rw *w, LpStat *s) {
  LpVar *v = s->vars;
  bool paired = count_exps(s->exps) == s->n_vars;
  for (uint32_t i = 0; i < s->n_vars; i++, v = v->next) {
    rw_declare(w, v);
  }
  v = s->vars;
  for (LpExp *e = s->exps; e != NULL; e = e->next) {
    if (paired) {
      write_named(w, e, v);
      v = v->next;
    } else {
      rw_exp(w, e);
    }
  }
  rw_after(w, s->last);
  write_births(w, s->vars, s->n_vars);
}

static void write_localfunc(Rw *w, LpStat *s) {
  rw_declare(w, s->vars);
  rw_function_body(w, s->exps->func);
  write_births(w, s->vars, 1);
}

/* `function t.x(...)` becomes set(.., t, "x", function(...)); `function f` becomes f = function */
static void write_funcstat(Rw *w, LpStat *s) {
  LpExp *t = s->targets;
  rw_drop(w, s->tok);
  if (t->kind == LP_NAME) {
    rw_drop(w, t->tok);
    write_target_name(w, t);
    rw_puts(w, " = ");
    open_value(w, t);
  } else {
    rw_write(w, " %f%d, %e%x, %x%q, ", RW_SET, t->a, t->a, t->op, t->last,
             lp_token(&w->c->lp, t->last)->sym->s);
  }
  rw_puts(w, "function");
  rw_function_body(w, s->exps->func);
  rw_puts(w, is_plain(w, t) ? "" : ")");
}

static void write_do(Rw *w, LpStat *s) {
  rw_after(w, s->tok);
  write_block(w, s->body);
  rw_after(w, s->last);
}

static void write_call(Rw *w, LpStat *s) { rw_exp(w, s->exps); }
static void write_as_is(Rw *w, LpStat *s) { rw_after(w, s->last); }

static void write_stat(Rw *w, LpStat *s) {
  static void (*const writers[])(Rw * w, LpStat * s) = {
      [LP_EMPTY] = write_as_is,   [LP_DECL] = write_local,    [LP_LOCALFUNC] = write_localfunc,
      [LP_ASSIGN] = write_assign, [LP_CALLSTAT] = write_call, [LP_DO] = write_do,
      [LP_WHILE] = write_while,   [LP_REPEAT] = write_repeat, [LP_IF] = write_if,
      [LP_FORNUM] = write_for,    [LP_FORIN] = write_for,     [LP_FUNCSTAT] = write_funcstat,
      [LP_RETURN] = write_return, [LP_BREAK] = write_break,   [LP_GOTO] = write_goto,
      [LP_LABEL] = write_as_is};
  rw_before(w, s->tok);
  writers[s->kind](w, s);
}

/* '(' parameters ')', with the self of a method; the chunk itself has only `...`. */
static void write_params(Rw *w, const LpFunc *f) {
  const LpVar *v = f->vars;
  if (f->parent == NULL) {
    rw_puts(w, "(...)");
    return;
  }
  rw_after(w, f->open);
  for (uint32_t i = 0; i < f->n_params; i++, v = v->next) {
    if (v->tok == LP_NO_TOK) {
      rw_write(w, f->n_params > 1 || f->is_vararg ? "%v, " : "%v", v);
    } else {
      rw_declare(w, v);
    }
  }
  rw_after(w, f->close);
}

/* ` local f <close> = func("name", is_kernel)` */
static void write_frame(Rw *w, const LpFunc *f) {
  rw_write(w, " local @f <close> = %f", RW_FUNC);
  rw_write(w, f->name == NULL ? "nil" : "%q", f->name);
  rw_puts(w, f == w->root && w->kind == RW_KERNEL ? ", true)" : ", false)");
}

void rw_function_body(Rw *w, const LpFunc *f) {
  const LpFunc *outer = w->func;
  w->func = f;
  write_params(w, f);
  write_frame(w, f);
  write_births(w, f->vars, f->n_params);
  rw_puts(w, f->rw->returns_inside ? " do" : "");
  write_block(w, f->body);
  if (f->rw->returns_inside) {
    rw_write(w, " end return %f@f)", RW_LEAVE);
  }
  if (f->parent != NULL) {
    rw_write(w, " %>", f->end);
  } else {
    rw_write(w, "%<\nend", f->end); /* the text may end in a comment */
  }
  w->func = outer;
}
