/* lua_parse_exp.c: the rules of expressions and function bodies. Most functions have their
   production as their comment. */
#include "lua_parse_int.h"

enum { UNARY_PRIORITY = 12 };

static const struct Binary {
  unsigned char left, right; /* priorities; 0: no binary operator */
} binaries[LX_KIND_COUNT] = {
    [LX_OR] = {1, 1},     [LX_AND] = {2, 2},     [LX_EQ] = {3, 3},     [LX_NE] = {3, 3},
    [LX_LT] = {3, 3},     [LX_LE] = {3, 3},      [LX_GT] = {3, 3},     [LX_GE] = {3, 3},
    [LX_PIPE] = {4, 4},   [LX_TILDE] = {5, 5},   [LX_AMP] = {6, 6},    [LX_SHL] = {7, 7},
    [LX_SHR] = {7, 7},    [LX_CONCAT] = {9, 8},  [LX_PLUS] = {10, 10}, [LX_MINUS] = {10, 10},
    [LX_STAR] = {11, 11}, [LX_SLASH] = {11, 11}, [LX_IDIV] = {11, 11}, [LX_PERCENT] = {11, 11},
    [LX_CARET] = {14, 13}};

static LpExp *parse_subexp(LpParser *p, int limit);

static LpExp *new_exp(LpParser *p, LpExpKind kind, LpTok tok) {
  LpExp *e = lp_new_node(p, sizeof *e);
  *e = (LpExp){.kind = kind, .tok = tok, .last = tok, .op = tok};
  return e;
}

/* explist: exp {',' exp}. Returns the first; *n and *last (may be NULL) get the count, the last. */
LpExp *lp_explist(LpParser *p, uint32_t *n, LpExp **last) {
  LpExp *first = lp_exp(p), *e = first;
  uint32_t count = 1;
  while (lp_accept(p, LX_COMMA)) {
    e->next = lp_exp(p);
    e = e->next;
    count++;
  }
  if (n != NULL) {
    *n = count;
  }
  if (last != NULL) {
    *last = e;
  }
  return first;
}

/* A name as an expression; marks what it uses. */
LpExp *lp_name(LpParser *p) {
  LxSym *sym;
  LpExp *e = new_exp(p, LP_NAME, p->pos);
  lp_expect_name(p, &sym);
  e->var = sym->var;
  e->env = sym->var == NULL ? p->c->env->var : NULL;
  LpVar *used = sym->var == NULL ? e->env : sym->var;
  if (used == NULL || used->func != p->fs->func) {
    lp_use_outer(p, used);
  }
  e->is_const = e->var != NULL && e->var->init != NULL;
  return e;
}

/* One item: exp | Name '=' exp | '[' exp ']' '=' exp */
static LpExp **parse_item(LpParser *p, LpExp **link) {
  const char *name = NULL;
  bool is_item = false;
  if (lp_accept(p, LX_LBRACKET)) {
    *link = lp_exp(p);
    link = &(*link)->next;
    lp_expect(p, LX_RBRACKET);
    lp_expect(p, LX_ASSIGN);
  } else if (lp_at(p, LX_NAME) && lp_here(p)[1].kind == LX_ASSIGN) {
    name = lp_here(p)->sym->s;
    lp_next(p);
    lp_next(p);
  } else {
    is_item = true;
  }
  LpExp *e = lp_exp(p);
  e->is_item = is_item;
  if (e->kind == LP_FUNCTION && e->func->name == NULL) {
    e->func->name = name;
  }
  *link = e;
  return &e->next;
}

/* '{' [item {sep item} [sep]] '}' */
static LpExp *parse_table(LpParser *p) {
  LpExp *e = new_exp(p, LP_TABLE, p->pos);
  LpExp **link = &e->list;
  lp_expect(p, LX_LBRACE);
  while (!lp_at(p, LX_RBRACE) && !lp_at(p, LX_EOF)) {
    link = parse_item(p, link);
    if (!lp_accept(p, LX_COMMA) && !lp_accept(p, LX_SEMI)) {
      break;
    }
  }
  e->last = lp_expect_close(p, LX_RBRACE, e->tok);
  return e;
}

/* args: '(' [explist] ')' | table | String */
static void parse_args(LpParser *p, LpExp *call) {
  if (lp_at(p, LX_STRING)) {
    call->list = new_exp(p, LP_STRING, p->pos);
    call->list->is_const = true;
    call->last = lp_next(p);
  } else if (lp_at(p, LX_LBRACE)) {
    call->list = parse_table(p);
    call->last = call->list->last;
  } else {
    LpTok open = p->pos;
    if (!lp_accept(p, LX_LPAREN)) {
      lp_fail_expected(p, "a list of arguments");
    }
    if (!lp_at(p, LX_RPAREN)) {
      call->list = lp_explist(p, NULL, NULL);
    }
    call->last = lp_expect_close(p, LX_RPAREN, open);
  }
}

/* primaryexp: Name | '(' exp ')' */
static LpExp *parse_primary(LpParser *p) {
  if (lp_at(p, LX_LPAREN)) {
    LpExp *e = new_exp(p, LP_PAREN, lp_next(p));
    e->a = lp_exp(p);
    e->is_const = e->a->is_const;
    e->last = lp_expect_close(p, LX_RPAREN, e->tok);
    return e;
  }
  if (!lp_at(p, LX_NAME)) {
    lp_fail_expected(p, "an expression");
  }
  return lp_name(p);
}

/* The suffix node over `a` whose operator is the current token. */
LpExp *lp_new_suffix(LpParser *p, LpExpKind kind, LpExp *a) {
  LpExp *e = new_exp(p, kind, a->tok);
  e->a = a;
  e->op = p->pos;
  return e;
}

/* suffixedexp: primaryexp {'.' Name | '[' exp ']' | ':' Name args | args} */
LpExp *lp_suffixed(LpParser *p) {
  LxSym *sym;
  LpExp *e = parse_primary(p);
  for (;;) {
    switch ((int)lp_here(p)->kind) {
      case LX_DOT:
        e = lp_new_suffix(p, LP_FIELD, e);
        lp_next(p);
        e->last = lp_expect_name(p, &sym);
        break;
      case LX_LBRACKET:
        e = lp_new_suffix(p, LP_INDEX, e);
        lp_next(p);
        e->b = lp_exp(p);
        e->last = lp_expect(p, LX_RBRACKET);
        break;
      case LX_COLON:
        e = lp_new_suffix(p, LP_METHOD, e);
        lp_next(p);
        lp_expect_name(p, &sym);
        parse_args(p, e);
        break;
      case LX_LPAREN:
      case LX_STRING:
      case LX_LBRACE:
        e = lp_new_suffix(p, LP_CALL, e);
        parse_args(p, e);
        break;
      default: return e;
    }
  }
}

static LpExp *parse_literal(LpParser *p, LpExpKind kind) {
  LpExp *e = new_exp(p, kind, p->pos);
  e->is_const = kind != LP_VARARG;
  lp_next(p);
  return e;
}

/* simpleexp */
static LpExp *parse_simple(LpParser *p) {
  switch ((int)lp_here(p)->kind) {
    case LX_NUMBER: return parse_literal(p, LP_NUMBER);
    case LX_STRING: return parse_literal(p, LP_STRING);
    case LX_NIL: return parse_literal(p, LP_NIL);
    case LX_TRUE: return parse_literal(p, LP_TRUE);
    case LX_FALSE: return parse_literal(p, LP_FALSE);
    case LX_DOTS:
      if (!p->fs->func->is_vararg) {
        lp_fail_at(p, lp_here(p)->line, "'...' is used outside a vararg", "function");
      }
      return parse_literal(p, LP_VARARG);
    case LX_LBRACE: return parse_table(p);
    case LX_FUNCTION: return lp_function(p, lp_next(p), false, NULL);
    default: return lp_suffixed(p);
  }
}

static bool is_unary(LxKind k) {
  return k == LX_NOT || k == LX_MINUS || k == LX_TILDE || k == LX_HASH;
}

/* unary: op subexp | simpleexp */
static LpExp *parse_unary(LpParser *p) {
  if (!is_unary(lp_here(p)->kind)) {
    return parse_simple(p);
  }
  LpExp *e = new_exp(p, LP_UNARY, lp_next(p));
  e->a = parse_subexp(p, UNARY_PRIORITY);
  e->last = e->a->last;
  e->is_const = e->a->is_const;
  return e;
}

/* subexp: unary {binop subexp}, for operators that bind tighter than `limit` */
static LpExp *parse_subexp(LpParser *p, int limit) {
  lp_enter(p);
  LpExp *e = parse_unary(p);
  while (binaries[lp_here(p)->kind].left > limit) {
    int right = binaries[lp_here(p)->kind].right;
    e = lp_new_suffix(p, LP_BINARY, e);
    lp_next(p);
    e->b = parse_subexp(p, right);
    e->last = e->b->last;
    e->is_const = e->a->is_const && e->b->is_const;
  }
  lp_leave(p);
  return e;
}

LpExp *lp_exp(LpParser *p) { return parse_subexp(p, 0); }

/* {==== functions ==== */

/* parlist: [Name {',' Name} [',' '...'] | '...'] */
static void parse_params(LpParser *p, LpFunc *f) {
  if (f->is_method) {
    lp_new_var(p, p->self, LP_NO_TOK, LP_PARAM);
  }
  if (!lp_at(p, LX_RPAREN)) {
    do {
      LxSym *sym;
      f->is_vararg = lp_accept(p, LX_DOTS);
      if (!f->is_vararg) {
        LpTok t = lp_expect_name(p, &sym);
        lp_new_var(p, sym, t, LP_PARAM);
      }
    } while (!f->is_vararg && lp_accept(p, LX_COMMA));
  }
  f->n_params = f->n_vars;
  lp_show_vars(p, f->vars, f->n_vars);
}

/* '(' parlist ')' block 'end', after the 'function' at tok */
LpExp *lp_function(LpParser *p, LpTok tok, bool is_method, const char *name) {
  LpOpenFunc fs;
  LpScope scope;
  LpExp *e = new_exp(p, LP_FUNCTION, tok);
  LpFunc *f = lp_new_node(p, sizeof *f);
  *f = (LpFunc){.tok = tok, .is_method = is_method, .name = name};
  e->func = f;
  lp_open_func(p, &fs, f, &scope);
  f->open = lp_expect(p, LX_LPAREN);
  parse_params(p, f);
  f->close = lp_expect(p, LX_RPAREN);
  lp_block(p, f->body);
  f->end = e->last = lp_expect_close(p, LX_END, tok);
  lp_close_func(p);
  return e;
}
