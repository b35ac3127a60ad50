/* lua_parse_stat.c: the rules of statements and blocks. Most functions have their production as
   their comment. */
#include <string.h>

#include "lua_parse_int.h"

static LpStat *new_stat(LpParser *p, LpStatKind kind) {
  LpStat *s = lp_new_node(p, sizeof *s);
  LpBlock *b = p->fs->block;
  *s = (LpStat){.kind = kind, .tok = p->pos, .last = p->pos, .block = b, .index = b->n++};
  if (b->last == NULL) {
    b->first = s;
  } else {
    b->last->next = s;
  }
  b->last = s;
  return s;
}

/* A block with a scope of its own. */
static LpBlock *parse_scoped(LpParser *p, LpStat *owner, LpStat *loop) {
  LpScope scope;
  LpBlock *b = lp_new_block(p, owner);
  lp_open_scope(p, &scope, loop);
  lp_block(p, b);
  lp_close_scope(p);
  return b;
}

/* A function's name: the text of tokens first..last without blanks, in the arena. NULL when there
   is more in it than names. */
static const char *join_tokens(LpParser *p, LpTok first, LpTok last) {
  size_t len = 0;
  const LxToken *toks = p->c->lx.toks;
  for (LpTok t = first; t <= last; t++) {
    len += toks[t].end - toks[t].start;
    if (toks[t].kind != LX_NAME && toks[t].kind != LX_DOT && toks[t].kind != LX_COLON) {
      return NULL;
    }
  }
  char *s = lp_new_node(p, len + 1), *q = s;
  for (LpTok t = first; t <= last; t++) {
    memcpy(q, p->c->lx.text + toks[t].start, toks[t].end - toks[t].start);
    q += toks[t].end - toks[t].start;
  }
  return s;
}

static void check_target(LpParser *p, const LpExp *e) {
  if (e->kind == LP_NAME) {
    if (e->var != NULL && e->var->attrib != LP_PLAIN) {
      lp_fail_at(p, lp_line(p->c, e->tok), "cannot assign to const variable", e->var->sym->s);
    } else if (e->var != NULL && e->var->func != p->fs->func) {
      e->var->inner_write = true;
    }
  } else if (e->kind != LP_INDEX && e->kind != LP_FIELD) {
    lp_fail_expected(p, "an assignment to a variable or field");
  }
}

/* 'if' exp 'then' block {'elseif' exp 'then' block} ['else' block] 'end' */
static void parse_if(LpParser *p) {
  LpStat *s = new_stat(p, LP_IF);
  LpArm **link = &s->arms;
  do {
    LpArm *arm = lp_new_node(p, sizeof *arm);
    *link = arm;
    link = &arm->next;
    arm->tok = lp_next(p);
    arm->cond = lp_exp(p);
    arm->then = lp_expect(p, LX_THEN);
    arm->body = parse_scoped(p, s, NULL);
  } while (lp_at(p, LX_ELSEIF));
  if (lp_accept(p, LX_ELSE)) {
    s->else_body = parse_scoped(p, s, NULL);
  }
  s->last = lp_expect_close(p, LX_END, s->tok);
}

/* 'while' exp 'do' block 'end' */
static void parse_while(LpParser *p) {
  LpStat *s = new_stat(p, LP_WHILE);
  lp_next(p);
  s->exps = lp_exp(p);
  s->mid = lp_expect(p, LX_DO);
  s->body = parse_scoped(p, s, s);
  s->last = lp_expect_close(p, LX_END, s->tok);
}

/* 'repeat' block 'until' exp: the condition sees the block's locals */
static void parse_repeat(LpParser *p) {
  LpScope loop, inner;
  LpStat *s = new_stat(p, LP_REPEAT);
  lp_next(p);
  lp_open_scope(p, &loop, s);
  lp_open_scope(p, &inner, NULL);
  s->body = lp_new_block(p, s);
  lp_block(p, s->body);
  s->mid = lp_expect_close(p, LX_UNTIL, s->tok);
  s->exps = lp_exp(p);
  s->last = s->exps->last;
  lp_close_scope(p);
  lp_close_scope(p);
}

/* ... 'do' block 'end' of a for, whose names become visible in the block */
static void parse_for_body(LpParser *p, LpStat *s, uint32_t n_hidden, LpTok opener) {
  LpScope body;
  lp_count_locals(p, n_hidden);
  lp_expect(p, LX_DO);
  lp_open_scope(p, &body, NULL);
  lp_show_vars(p, s->vars, s->n_vars);
  s->body = lp_new_block(p, s);
  lp_block(p, s->body);
  lp_close_scope(p);
  s->last = lp_expect_close(p, LX_END, opener);
}

static void add_for_name(LpParser *p, LpStat *s) {
  LxSym *sym;
  LpTok t = lp_expect_name(p, &sym);
  LpVar *v = lp_new_var(p, sym, t, LP_LOOP);
  s->vars = s->vars == NULL ? v : s->vars;
  s->n_vars++;
}

/* Name '=' exp ',' exp [',' exp], after 'for' Name */
static void parse_fornum(LpParser *p, LpStat *s) {
  uint32_t n;
  s->kind = LP_FORNUM;
  s->mid = lp_next(p);
  s->exps = lp_exp(p);
  lp_expect(p, LX_COMMA);
  s->exps->next = lp_explist(p, &n, NULL);
  if (n > 2) {
    lp_fail_expected(p, lx_kind_text(LX_DO));
  }
}

/* Name {',' Name} 'in' explist, after 'for' Name */
static void parse_forin(LpParser *p, LpStat *s) {
  while (lp_accept(p, LX_COMMA)) {
    add_for_name(p, s);
  }
  s->mid = lp_expect(p, LX_IN);
  s->exps = lp_explist(p, NULL, NULL);
}

static void parse_for(LpParser *p) {
  LpScope loop;
  LpStat *s = new_stat(p, LP_FORIN);
  lp_next(p);
  lp_open_scope(p, &loop, s);
  add_for_name(p, s);
  if (lp_at(p, LX_ASSIGN)) {
    parse_fornum(p, s);
  } else if (lp_at(p, LX_COMMA) || lp_at(p, LX_IN)) {
    parse_forin(p, s);
  } else {
    lp_fail_expected(p, "'=' or 'in'");
  }
  parse_for_body(p, s, s->kind == LP_FORNUM ? 3 : 4, s->tok);
  lp_close_scope(p);
}

/* funcname: Name {'.' Name} [':' Name], as an expression */
static LpExp *parse_funcname(LpParser *p, bool *is_method) {
  LxSym *sym;
  LpExp *e = lp_name(p);
  *is_method = false;
  while (!*is_method && (lp_at(p, LX_DOT) || lp_at(p, LX_COLON))) {
    *is_method = lp_at(p, LX_COLON);
    e = lp_new_suffix(p, *is_method ? LP_METHOD : LP_FIELD, e);
    lp_next(p);
    e->last = lp_expect_name(p, &sym);
  }
  return e;
}

/* 'function' funcname body */
static void parse_funcstat(LpParser *p) {
  bool is_method;
  LpStat *s = new_stat(p, LP_FUNCSTAT);
  LpTok tok = lp_next(p);
  s->targets = parse_funcname(p, &is_method);
  const char *name = join_tokens(p, s->targets->tok, s->targets->last);
  s->exps = lp_function(p, tok, is_method, name);
  s->last = s->exps->last;
  if (!is_method) {
    check_target(p, s->targets);
  }
}

/* 'local' 'function' Name body */
static void parse_localfunc(LpParser *p) {
  LxSym *sym;
  LpStat *s = new_stat(p, LP_LOCALFUNC);
  lp_next(p);
  LpTok tok = lp_next(p);
  LpTok t = lp_expect_name(p, &sym);
  s->vars = lp_new_var(p, sym, t, LP_LOCAL);
  s->n_vars = 1;
  lp_show_vars(p, s->vars, 1);
  s->exps = lp_function(p, tok, false, sym->s);
  s->last = s->exps->last;
}

/* ['<' Name '>'] */
static LpAttrib parse_attrib(LpParser *p) {
  LxSym *sym;
  if (!lp_accept(p, LX_LT)) {
    return LP_PLAIN;
  }
  int line = lp_here(p)->line;
  lp_expect_name(p, &sym);
  lp_expect(p, LX_GT);
  if (strcmp(sym->s, "const") == 0) {
    return LP_CONST;
  }
  if (strcmp(sym->s, "close") != 0) {
    lp_fail_at(p, line, "unknown attribute", sym->s);
  }
  return LP_CLOSE;
}

/* Gives the declared names what their initialisers tell: constants, names of functions. */
static void note_inits(LpStat *s) {
  LpVar *v = s->vars;
  LpExp *e = s->exps;
  for (uint32_t i = 0; i < s->n_vars && e != NULL; i++, v = v->next, e = e->next) {
    if (v->attrib == LP_CONST && e->is_const) {
      v->init = e;
    }
    if (e->kind == LP_FUNCTION && e->func->name == NULL) {
      e->func->name = v->sym->s;
    }
  }
}

/* 'local' Name attrib {',' Name attrib} ['=' explist] */
static void parse_local(LpParser *p) {
  LpStat *s = new_stat(p, LP_DECL);
  int n_close = 0;
  lp_next(p);
  do {
    LxSym *sym;
    LpTok t = lp_expect_name(p, &sym);
    LpVar *v = lp_new_var(p, sym, t, LP_LOCAL);
    v->attrib = parse_attrib(p);
    n_close += v->attrib == LP_CLOSE;
    s->vars = s->vars == NULL ? v : s->vars;
    s->n_vars++;
    s->last = p->pos - 1;
  } while (lp_accept(p, LX_COMMA));
  if (n_close > 1) {
    lp_fail_at(p, lp_here(p)->line, "more than one to-be-closed variable in a", "'local'");
  }
  if (lp_at(p, LX_ASSIGN)) {
    LpExp *last;
    s->mid = lp_next(p);
    s->exps = lp_explist(p, NULL, &last);
    s->last = last->last;
  }
  note_inits(s);
  lp_show_vars(p, s->vars, s->n_vars);
}

/* suffixedexp {',' suffixedexp} '=' explist, after the first */
static void parse_assign(LpParser *p, LpStat *s) {
  LpExp *last = s->targets, *value;
  int n = 0;
  s->kind = LP_ASSIGN;
  check_target(p, last);
  while (lp_accept(p, LX_COMMA)) {
    last->next = lp_suffixed(p);
    last = last->next;
    check_target(p, last);
    if (++n + p->levels > LP_MAX_LEVELS) {
      lp_fail_at(p, lp_here(p)->line, "too many targets in an", "assignment");
    }
  }
  s->mid = lp_expect(p, LX_ASSIGN);
  s->exps = lp_explist(p, NULL, &value);
  s->last = value->last;
  if (s->exps->kind == LP_FUNCTION && s->targets->next == NULL && s->exps->func->name == NULL) {
    s->exps->func->name = join_tokens(p, s->targets->tok, s->targets->last);
  }
}

/* A call or an assignment. */
static void parse_expstat(LpParser *p) {
  LpStat *s = new_stat(p, LP_CALLSTAT);
  LpExp *e = lp_suffixed(p);
  s->targets = e;
  if (lp_at(p, LX_ASSIGN) || lp_at(p, LX_COMMA)) {
    parse_assign(p, s);
    return;
  }
  if (e->kind != LP_CALL && e->kind != LP_METHOD) {
    lp_fail_expected(p, "'=' or the arguments of a call");
  }
  s->targets = NULL;
  s->exps = e;
  s->last = e->last;
}

/* 'return' [explist] [';'] */
static void parse_return(LpParser *p) {
  LpStat *s = new_stat(p, LP_RETURN);
  s->mid = lp_next(p);
  if (!lp_block_ends(p, true) && !lp_at(p, LX_SEMI)) {
    LpExp *last;
    s->exps = lp_explist(p, NULL, &last);
    s->last = last->last;
  }
  if (lp_at(p, LX_SEMI)) {
    s->last = lp_next(p);
  }
}

static void parse_break(LpParser *p) {
  LpStat *s = new_stat(p, LP_BREAK);
  lp_next(p);
  for (LpScope *b = p->fs->scope; b != NULL && s->target == NULL; b = b->prev) {
    s->target = b->loop;
  }
  if (s->target == NULL) {
    lp_fail_at(p, lp_line(p->c, s->tok), "break outside a", "loop");
  }
}

/* 'goto' Name: back to a visible label, or forward to one that is to come */
static void parse_goto(LpParser *p) {
  LpStat *s = new_stat(p, LP_GOTO);
  lp_next(p);
  s->last = lp_expect_name(p, &s->sym);
  LpJump *label = lp_find_label(p, s->sym);
  if (label != NULL) {
    s->target = label->stat;
  } else {
    lp_add_jump(p, &p->gotos, s, p->n_active);
  }
}

/* Whether only what does nothing follows in the block. */
static bool label_is_last(LpParser *p) {
  LpTok pos = p->pos;
  int n_labels = 0;
  while (lp_at(p, LX_SEMI) || lp_at(p, LX_DCOLON)) {
    n_labels += lp_at(p, LX_DCOLON);
    LpTok width = lp_at(p, LX_SEMI) ? 1 : 3; /* a malformed label is found later */
    p->pos = p->pos + width < p->c->lx.n ? p->pos + width : (LpTok)(p->c->lx.n - 1);
  }
  bool is_last = lp_block_ends(p, false);
  p->pos = pos;
  if (n_labels > LP_MAX_LEVELS) {
    lp_fail_at(p, lp_here(p)->line, "more than 200 labels in a row", "here");
  }
  return is_last;
}

/* '::' Name '::'. At the end of a block its locals count as out of scope already. */
static void parse_label(LpParser *p) {
  LpStat *s = new_stat(p, LP_LABEL);
  lp_next(p);
  lp_expect_name(p, &s->sym);
  s->last = lp_expect(p, LX_DCOLON);
  if (lp_find_label(p, s->sym) != NULL) {
    lp_fail_at(p, lp_line(p->c, s->tok), "label is defined twice:", s->sym->s);
  }
  size_t n_active = label_is_last(p) ? p->fs->scope->n_active : p->n_active;
  lp_add_jump(p, &p->labels, s, n_active);
  lp_solve_gotos(p, s, n_active);
}

static void parse_do(LpParser *p) {
  LpStat *s = new_stat(p, LP_DO);
  lp_next(p);
  s->body = parse_scoped(p, s, NULL);
  s->last = lp_expect_close(p, LX_END, s->tok);
}

static void parse_empty(LpParser *p) {
  new_stat(p, LP_EMPTY);
  lp_next(p);
}

static void parse_either_local(LpParser *p) {
  if (lp_here(p)[1].kind == LX_FUNCTION) {
    parse_localfunc(p);
  } else {
    parse_local(p);
  }
}

static void parse_statement(LpParser *p) {
  static void (*const rules[LX_KIND_COUNT])(LpParser * p) = {
      [LX_SEMI] = parse_empty,        [LX_IF] = parse_if,
      [LX_WHILE] = parse_while,       [LX_DO] = parse_do,
      [LX_FOR] = parse_for,           [LX_REPEAT] = parse_repeat,
      [LX_FUNCTION] = parse_funcstat, [LX_LOCAL] = parse_either_local,
      [LX_DCOLON] = parse_label,      [LX_RETURN] = parse_return,
      [LX_BREAK] = parse_break,       [LX_GOTO] = parse_goto};
  void (*rule)(LpParser * p) = rules[lp_here(p)->kind];
  lp_enter(p);
  (rule == NULL ? parse_expstat : rule)(p);
  lp_leave(p);
}

/* block: {statement} [return] */
void lp_block(LpParser *p, LpBlock *b) {
  LpBlock *outer = p->fs->block;
  p->fs->block = b;
  b->from = p->pos;
  bool ended = false;
  while (!ended && !lp_block_ends(p, true)) {
    ended = lp_at(p, LX_RETURN);
    parse_statement(p);
  }
  b->to = p->pos;
  p->fs->block = outer;
}
