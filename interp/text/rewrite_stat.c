/* rewrite_stat.c: writes statements, blocks and functions. The names made here, after the chunk's
   prefix: f the function's frame, k and q an if's arm and a construct's promotion flag, g<n> the
   frame of a goto region, h<n> the start of a block; labels e<n> the end of a block, b<n> the exit
   of a loop. */
#include "rewrite_int.h"

static LxKind kind_at(const Rw *w, LpTok t) { return lp_token(&w->c->lp, t)->kind; }

/* Writes `before`, a name made of the prefix, `name` and n (if not 0), `after`. */
static void put(Rw *w, const char *before, const char *name, uint32_t n, const char *after) {
  rw_puts(w, before);
  rw_puts(w, w->c->prefix);
  rw_glue(w, name);
  if (n > 0) {
    rw_printf(w, "%u", (unsigned)n);
  }
  rw_puts(w, after);
}

/* {==== names ==== */

/* `x = cell(x, "x")` for what inner functions assign, `local c <close> = close(x, "x")` for what is to
   be closed. */
static void write_births(Rw *w, const LpVar *v, uint32_t n) {
  for (; n > 0; n--, v = v->next) {
    if (v->inner_write) {
      rw_puts(w, " ");
      rw_var(w, v);
      rw_puts(w, " = ");
    }
    if (v->attrib == LP_CLOSE) { /* never assigned */
      rw_puts(w, " local ");
      rw_printf(w, "%sc <close> =", w->c->prefix);
    }
    if (v->inner_write || v->attrib == LP_CLOSE) {
      rw_puts(w, " ");
      rw_call(w, v->inner_write ? RW_CELL : RW_CLOSE);
      rw_var(w, v);
      rw_puts(w, ", ");
      rw_quote(w, v->sym->s);
      rw_puts(w, ")");
    }
  }
}

/* ` if q then x = p(q, x, "x", 7) ... end` */
static void write_promotions(Rw *w, const LpStat *s) {
  if (s->rw->n_set == 0) {
    return;
  }
  put(w, " if ", "q", 0, " then");
  for (uint32_t i = 0; i < s->rw->n_set; i++) {
    const LpVar *v = s->rw->set[i];
    rw_puts(w, " ");
    rw_var(w, v);
    rw_puts(w, " = ");
    rw_call(w, RW_P);
    put(w, "", "q", 0, ", ");
    rw_var(w, v);
    rw_puts(w, ", ");
    rw_quote(w, v->sym->s);
    rw_printf(w, ", %d)", v->tok == LP_NO_TOK ? 0 : lp_line(&w->c->lp, v->tok));
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
  rw_before(w, e->tok);
  rw_call(w, RW_NM);
  rw_exp(w, e);
  rw_puts(w, ", ");
  rw_quote(w, v->sym->s);
  rw_puts(w, ")");
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
    put(w, "", "e", s->block->rw->number, "");
  }
}

static void write_dead_check(Rw *w, const LpStat *s) {
  rw_puts(w, " if ");
  rw_call(w, RW_DEAD);
  rw_puts(w, ") then goto ");
  write_dead_label(w, s);
  rw_puts(w, " end");
}

static void write_break(Rw *w, LpStat *s) {
  rw_drop(w, s->tok);
  rw_puts(w, " if ");
  rw_call(w, RW_BRK);
  put(w, ") then goto ", "b", s->target->rw->number, " else goto ");
  write_dead_label(w, s);
  rw_puts(w, " end");
}

/* `back(h, "L") goto L` */
static void write_plain_goto(Rw *w, LpStat *s) {
  rw_before(w, s->tok);
  rw_puts(w, " ");
  rw_call(w, RW_BACK);
  put(w, "", "h", s->target->block->rw->number, ", ");
  rw_quote(w, s->sym->s);
  rw_puts(w, ") ");
  rw_after(w, s->last);
}

static void write_goto(Rw *w, LpStat *s) {
  if (s->rw->plain) {
    write_plain_goto(w, s);
    return;
  }
  rw_drop(w, s->tok);
  rw_drop(w, s->last);
  rw_puts(w, " if ");
  rw_call(w, RW_GOTO);
  put(w, "", "g", s->target->rw->number, ") then goto ");
  rw_puts(w, s->sym->s);
  rw_puts(w, " else goto ");
  write_dead_label(w, s);
  rw_puts(w, " end");
}

/* Whether the condition of a repeat follows the block of s. */
static bool in_repeat(const LpStat *s) {
  return s->block->owner != NULL && s->block->owner->kind == LP_REPEAT;
}

/* `if ret(f, e) then return retv(f) end` */
static void write_ret(Rw *w, LpStat *s) {
  rw_drop(w, s->tok);
  rw_puts(w, " if ");
  rw_call(w, RW_RET);
  put(w, "", "f", 0, s->exps != NULL ? ", " : "");
  rw_explist(w, s->exps);
  rw_puts(w, ") then return ");
  rw_call(w, RW_RETV);
  put(w, "", "f", 0, ")");
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
  rw_before(w, s->tok);
  rw_puts(w, is_last ? "" : " do ");
  rw_explist(w, s->exps);
  rw_after(w, s->last);
  rw_puts(w, is_last ? "" : " end");
}

/* {==== blocks ==== */

static void write_stat(Rw *w, LpStat *s);

/* ` do local g <close> = mark("L")` for each region that starts at s, the longest first. */
static void open_regions(Rw *w, const LpStat *s) {
  const RwBlock *b = s->block->rw;
  for (uint32_t i = b->n_regions; i > 0; i--) {
    const LpStat *label = b->regions[i - 1];
    if (label->rw->start == s->index) {
      put(w, " do local ", "g", label->rw->number, " <close> = ");
      rw_call(w, RW_MARK);
      rw_quote(w, label->sym->s);
      rw_puts(w, ")");
    }
  }
}

static bool is_jump(const LpStat *s) {
  return s->kind == LP_BREAK || s->kind == LP_GOTO || s->kind == LP_RETURN;
}

static void write_stats(Rw *w, const LpBlock *b) {
  if (b->rw->has_here) {
    put(w, " local ", "h", b->rw->number, " = ");
    rw_call(w, RW_HERE);
    rw_puts(w, ")");
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
    put(w, " ::", "e", b->rw->number, "::");
  }
}

static void write_block(Rw *w, const LpBlock *b) {
  write_stats(w, b);
  write_end_label(w, b);
}

/* {==== if and loops ==== */

/* `, q` behind the variables of a for, when the construct promotes anything. */
static void write_flag(Rw *w, const LpStat *s) {
  if (s->rw->n_set > 0) {
    put(w, ", ", "q", 0, "");
  }
}

/* ` for k, q in if(n, has_else, c1) do` and the promotions */
static void write_if_head(Rw *w, const LpStat *s) {
  uint32_t n = 0;
  for (const LpArm *arm = s->arms; arm != NULL; arm = arm->next) {
    n++;
  }
  rw_drop(w, s->tok);
  put(w, " for ", "k", 0, "");
  write_flag(w, s);
  rw_puts(w, " in ");
  rw_call(w, RW_IF);
  rw_printf(w, "%u, %s, ", (unsigned)n, s->else_body != NULL ? "true" : "false");
  rw_exp(w, s->arms->cond);
  rw_puts(w, ") do");
  write_promotions(w, s);
}

/* `elseif k == 2 then ei(c2) elseif k == 3 then BODY`, k = 2 the number of the condition */
static void write_elseif(Rw *w, const LpArm *arm, uint32_t k) {
  rw_after(w, arm->tok);
  put(w, " ", "k", 0, "");
  rw_printf(w, " == %u then ", (unsigned)k);
  rw_call(w, RW_EI);
  rw_exp(w, arm->cond);
  put(w, ") elseif ", "k", 0, "");
  rw_printf(w, " == %u ", (unsigned)k + 1);
  rw_after(w, arm->then);
  write_block(w, arm->body);
}

static void write_if(Rw *w, LpStat *s) {
  uint32_t k = 2;
  CT_ASSERT(s->arms != NULL); /* the parser makes one for each `if` */
  write_if_head(w, s);
  put(w, " if ", "k", 0, " == 1 ");
  rw_after(w, s->arms->then);
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
    put(w, " ::", "b", s->rw->number, ":: end");
  }
}

/* ` for q in loop("kind") do` and the promotions */
static void write_turns(Rw *w, const LpStat *s, RwFn fn, const char *args) {
  put(w, "for ", "q", 0, " in ");
  rw_call(w, fn);
  rw_puts(w, args);
  rw_puts(w, ") do");
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
    rw_puts(w, " if ");
    rw_call(w, RW_WC);
    rw_exp(w, s->exps);
    rw_puts(w, ")");
    rw_drop(w, s->mid);
    rw_puts(w, " then");
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
  rw_drop(w, s->mid);
  rw_puts(w, " ");
  rw_call(w, RW_UNTIL);
  rw_exp(w, s->exps);
  rw_puts(w, ")");
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
  rw_drop(w, s->mid);
  rw_puts(w, " in ");
  rw_call(w, s->kind == LP_FORNUM ? RW_RANGE : RW_ITER);
  rw_puts(w, "\"");
  v = s->vars;
  for (uint32_t i = 0; i < s->n_vars; i++, v = v->next) {
    rw_puts(w, i == 0 ? "" : ",");
    rw_puts(w, v->sym->s);
  }
  rw_puts(w, "\",");
  for (LpExp *e = s->exps; e != NULL; e = e->next) {
    (s->kind == LP_FORNUM ? rw_single : rw_exp)(w, e);
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
    rw_var(w, e->var);
  }
}

/* The call that wraps a value assigned to a name, up to the value; `x =` is written already. */
static void open_value(Rw *w, const LpExp *target) {
  if (is_plain(w, target)) {
    return;
  }
  if (target->var != NULL && !rw_is_host(w, target->var)) {
    rw_call(w, RW_A);
    rw_var(w, target->var);
  } else {
    rw_call(w, target->var == NULL ? RW_GL : RW_UP);
    rw_quote(w, name_of(w, target));
  }
  rw_puts(w, ", ");
}

static void write_name_assign(Rw *w, LpStat *s) {
  const LpExp *t = s->targets;
  rw_drop(w, t->tok);
  write_target_name(w, t);
  rw_after(w, s->mid);
  rw_puts(w, " ");
  open_value(w, t);
  if (!is_plain(w, t)) {
    rw_explist(w, s->exps);
    rw_puts(w, ")");
  } else if (s->exps->next == NULL) {
    write_named(w, s->exps, t->var);
  } else {
    rw_explist(w, s->exps);
  }
}

static void write_index_assign(Rw *w, LpStat *s) {
  const LpExp *t = s->targets;
  rw_before(w, t->tok);
  rw_call(w, RW_SET);
  rw_desc(w, t->a);
  rw_puts(w, ", ");
  rw_exp(w, t->a);
  rw_key(w, t);
  rw_drop(w, s->mid);
  rw_puts(w, ",");
  rw_explist(w, s->exps);
  rw_puts(w, ")");
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

/* The arguments of `an` for one target, and the comma or '=' behind it dropped. */
static void write_target(Rw *w, LpExp *e) {
  if (e->kind != LP_NAME) {
    rw_exp(w, e->a);
    rw_key(w, e);
    rw_puts(w, ", ");
    rw_desc(w, e->a);
    rw_puts(w, ",");
  } else {
    char letter = target_letter(w, e);
    rw_drop(w, e->tok);
    if (letter == 'v') {
      rw_var(w, e->var);
    } else if (letter != 'l') {
      rw_quote(w, name_of(w, e));
    }
    rw_puts(w, letter == 'l' ? "" : ",");
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
  rw_call(w, RW_AN);
  rw_puts(w, "\"");
  for (const LpExp *e = s->targets; e != NULL; e = e->next) {
    rw_printf(w, "%c", target_letter(w, e));
  }
  rw_puts(w, "\", ");
  for (LpExp *e = s->targets; e != NULL; e = e->next) {
    write_target(w, e);
  }
  rw_explist(w, s->exps);
  rw_puts(w, ")");
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
    rw_puts(w, " ");
    rw_call(w, RW_SET);
    rw_desc(w, t->a);
    rw_puts(w, ", ");
    rw_exp(w, t->a);
    rw_drop(w, t->op);
    rw_puts(w, ", ");
    rw_drop(w, t->last);
    rw_quote(w, lp_token(&w->c->lp, t->last)->sym->s);
    rw_puts(w, ", ");
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
      rw_var(w, v);
      rw_puts(w, f->n_params > 1 || f->is_vararg ? ", " : "");
    } else {
      rw_declare(w, v);
    }
  }
  rw_after(w, f->close);
}

/* ` local f <close> = func("name", is_kernel)` */
static void write_frame(Rw *w, const LpFunc *f) {
  put(w, " local ", "f", 0, " <close> = ");
  rw_call(w, RW_FUNC);
  if (f->name != NULL) {
    rw_quote(w, f->name);
  } else {
    rw_puts(w, "nil");
  }
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
    rw_puts(w, " end return ");
    rw_call(w, RW_LEAVE);
    put(w, "", "f", 0, ")");
  }
  if (f->parent != NULL) {
    rw_puts(w, " ");
    rw_after(w, f->end);
  } else {
    rw_before(w, f->end);
    rw_puts(w, "\nend"); /* the text may end in a comment */
  }
  w->func = outer;
}
