/* lua_parse.c: recursive descent over the tokens, in the order of Lua's own parser, so that the same
   texts are refused. A failure is sticky: the parser jumps to the end of the text, where every rule
   ends, and the first error is the one reported. Names are resolved as they are met: each LxSym
   knows its innermost visible local. */
#include "lua_parse.h"

#include <string.h>

enum { MAX_LEVELS = 200, MAX_LOCALS = 200, MAX_UPVALUES = 255, UNARY_PRIORITY = 12 };

/* A pending goto, or a label: its statement and how many locals were active there. */
typedef struct Jump {
  LpStat *stat;
  size_t n_active;
} Jump;

typedef struct Jumps {
  Jump *items;
  size_t n, cap;
} Jumps;

typedef struct Scope { /* of a block, while it is parsed */
  struct Scope *prev;  /* NULL for a function's body */
  LpStat *loop;        /* whose body it is, or NULL */
  size_t first_goto, first_label;
  size_t n_active; /* locals active in the function before the block */
  uint32_t n_locals;
} Scope;

typedef struct Func { /* of a function, while it is parsed */
  struct Func *prev;
  LpFunc *func;
  LpBlock *block;
  LpVar *last_var;
  Scope *scope;
  size_t first_label;
  uint32_t n_locals;   /* active ones with the hidden ones of for loops */
  uint32_t n_upvalues; /* that Lua will make */
} Func;

typedef union Node { /* room for any node: what a failed allocation yields */
  LpExp exp;
  LpStat stat;
  LpBlock block;
  LpFunc func;
  LpVar var;
  LpArm arm;
  LpUpvalue upvalue;
} Node;

typedef struct Parser {
  LpChunk *c;
  CtErr *err;
  CtStatus status; /* the first failure */
  LpTok pos;
  int levels;
  Func *fs;
  LpFunc *last_func;
  LpVar **active; /* locals in scope, of all open functions */
  size_t n_active, cap_active;
  Jumps gotos, labels;
  LxSym *self;
  Node spare;
} Parser;

static const struct Binary {
  unsigned char left, right; /* priorities; 0: no binary operator */
} binaries[LX_KIND_COUNT] = {
    [LX_OR] = {1, 1},     [LX_AND] = {2, 2},    [LX_EQ] = {3, 3},      [LX_NE] = {3, 3},
    [LX_LT] = {3, 3},     [LX_LE] = {3, 3},     [LX_GT] = {3, 3},      [LX_GE] = {3, 3},
    [LX_PIPE] = {4, 4},   [LX_TILDE] = {5, 5},  [LX_AMP] = {6, 6},     [LX_SHL] = {7, 7},
    [LX_SHR] = {7, 7},    [LX_CONCAT] = {9, 8}, [LX_PLUS] = {10, 10},  [LX_MINUS] = {10, 10},
    [LX_STAR] = {11, 11}, [LX_SLASH] = {11, 11}, [LX_IDIV] = {11, 11}, [LX_PERCENT] = {11, 11},
    [LX_CARET] = {14, 13}};

static LpExp *parse_exp(Parser *p);
static LpExp *parse_subexp(Parser *p, int limit);
static void parse_block(Parser *p, LpBlock *b);
static LpExp *parse_function(Parser *p, LpTok tok, bool is_method, const char *name);

/* {==== tokens, failures, nodes ==== */

static const LxToken *token(const Parser *p) { return &p->c->lx.toks[p->pos]; }
static bool at(const Parser *p, LxKind kind) { return token(p)->kind == kind; }

/* Ends parsing: all rules see the end of the text from now on. */
static void stop(Parser *p, CtStatus status) {
  if (p->status == CT_OK) {
    p->status = status;
  }
  p->pos = (LpTok)(p->c->lx.n - 1);
}

static void fail_at(Parser *p, int line, const char *what, const char *name) {
  if (p->status == CT_OK) {
    CtStatus st = ct_fail(p->err, CT_EINVAL, "parse: %s %s", what, name);
    ct_err_at(p->err, p->c->lx.chunk, line);
    stop(p, st);
  }
}

/* The current token as an error shows it, in buf. */
static const char *show_token(const Parser *p, char *buf, size_t bytes) {
  const LxToken *t = token(p);
  size_t len = t->end - t->start;
  if (t->kind == LX_EOF || t->kind == LX_STRING || len > bytes - 3) {
    return lx_kind_text(t->kind);
  }
  buf[0] = '\'';
  memcpy(buf + 1, p->c->lx.text + t->start, len);
  memcpy(buf + 1 + len, "'", 2);
  return buf;
}

static void fail_expected(Parser *p, const char *what) {
  char buf[64];
  if (p->status == CT_OK) {
    CtStatus st = ct_fail(p->err, CT_EINVAL, "parse: found %s; %s was expected",
                          show_token(p, buf, sizeof buf), what);
    ct_err_at(p->err, p->c->lx.chunk, token(p)->line);
    stop(p, st);
  }
}

static void *new_node(Parser *p, size_t bytes) {
  void *n = ct_arena_alloc(&p->c->arena, bytes);
  if (n == NULL) {
    stop(p, ct_fail_nomem(p->err));
    p->spare = (Node){0};
    return &p->spare;
  }
  return n;
}

static LpTok next(Parser *p) {
  LpTok t = p->pos;
  if (!at(p, LX_EOF)) {
    p->pos++;
  }
  return t;
}

static bool accept(Parser *p, LxKind kind) {
  bool is = at(p, kind);
  if (is) {
    next(p);
  }
  return is;
}

static LpTok expect(Parser *p, LxKind kind) {
  if (!at(p, kind)) {
    fail_expected(p, lx_kind_text(kind));
  }
  return next(p);
}

/* The closer of what `opener` opened, named in the error. */
static LpTok expect_close(Parser *p, LxKind kind, LpTok opener) {
  if (!at(p, kind) && p->status == CT_OK) {
    char buf[64];
    const LxToken *o = lp_token(p->c, opener);
    CtStatus st = ct_fail(p->err, CT_EINVAL,
                          "parse: found %s; %s was expected (to close %s at line %d)",
                          show_token(p, buf, sizeof buf), lx_kind_text(kind),
                          lx_kind_text(o->kind), o->line);
    ct_err_at(p->err, p->c->lx.chunk, token(p)->line);
    stop(p, st);
  }
  return next(p);
}

static LpTok expect_name(Parser *p, LxSym **sym) {
  *sym = token(p)->sym;
  LpTok t = expect(p, LX_NAME);
  if (p->status != CT_OK) {
    *sym = p->c->env; /* any name: the tree is thrown away */
  }
  return t;
}

static void enter(Parser *p) {
  if (++p->levels > MAX_LEVELS) {
    fail_at(p, token(p)->line, "constructs are nested more than 200 deep", "here");
  }
}

static void leave(Parser *p) { p->levels--; }

static bool grow(Parser *p, void *items, size_t *cap, size_t need, size_t size) {
  CtStatus st = ct_grow(p->c->arena.alloc, items, cap, need, size, p->err);
  if (st != CT_OK) {
    stop(p, st);
  }
  return st == CT_OK;
}

/* {==== locals ==== */

static void count_locals(Parser *p, uint32_t n) {
  p->fs->n_locals += n;
  if (p->fs->n_locals > MAX_LOCALS) {
    fail_at(p, token(p)->line, "a function has more than 200 active local variables", "here");
  }
}

/* Makes a variable, not visible yet. */
static LpVar *new_var(Parser *p, LxSym *sym, LpTok tok, LpRole role) {
  Func *fs = p->fs;
  LpVar *v = new_node(p, sizeof *v);
  *v = (LpVar){.sym = sym, .func = fs->func, .tok = tok, .role = role};
  v->index = fs->func->n_vars++;
  if (fs->last_var == NULL) {
    fs->func->vars = v;
  } else {
    fs->last_var->next = v;
  }
  fs->last_var = v;
  count_locals(p, 1);
  return v;
}

/* From the current token on, v is what its name means. */
static void show_var(Parser *p, LpVar *v) {
  if (!grow(p, &p->active, &p->cap_active, p->n_active + 1, sizeof *p->active)) {
    return;
  }
  v->from = p->pos;
  v->outer = v->sym->var;
  if (v->outer != NULL && v->outer->func == v->func) {
    v->next_hider = v->outer->hiders;
    v->outer->hiders = v;
  }
  v->sym->var = v;
  p->active[p->n_active++] = v;
}

static void show_vars(Parser *p, LpVar *first, uint32_t n) {
  for (uint32_t i = 0; i < n && p->status == CT_OK; i++, first = first->next) {
    show_var(p, first);
  }
}

static void hide_vars(Parser *p, size_t n_active) {
  while (p->n_active > n_active) {
    LpVar *v = p->active[--p->n_active];
    v->to = p->pos;
    v->sym->var = v->outer;
  }
}

static bool has_upvalue(const LpFunc *f, const LpVar *v) {
  for (const LpUpvalue *u = f->upvalues; u != NULL; u = u->next) {
    if (u->var == v) {
      return true;
    }
  }
  return false;
}

/* Notes that the open functions between v (NULL: the chunk's _ENV) and here use it. */
static void use_outer(Parser *p, LpVar *v) {
  for (Func *fs = p->fs; fs != NULL && (v == NULL || fs->func != v->func); fs = fs->prev) {
    if (has_upvalue(fs->func, v)) {
      return;
    }
    LpUpvalue *u = new_node(p, sizeof *u);
    *u = (LpUpvalue){.var = v, .next = fs->func->upvalues};
    fs->func->upvalues = u;
    fs->n_upvalues += v == NULL || v->init == NULL;
    if (fs->n_upvalues > MAX_UPVALUES) {
      fail_at(p, token(p)->line, "a function has more than 255 upvalues", "here");
      return;
    }
  }
}

/* {==== blocks, jumps ==== */

static void open_scope(Parser *p, Scope *s, LpStat *loop) {
  *s = (Scope){.prev = p->fs->scope, .loop = loop, .first_goto = p->gotos.n,
               .first_label = p->labels.n, .n_active = p->n_active, .n_locals = p->fs->n_locals};
  p->fs->scope = s;
}

/* Gotos that found no label in the block look for one in the enclosing block. */
static void close_scope(Parser *p) {
  Scope *s = p->fs->scope;
  hide_vars(p, s->n_active);
  p->fs->n_locals = s->n_locals;
  p->labels.n = s->first_label;
  p->fs->scope = s->prev;
  if (s->prev == NULL && p->gotos.n > s->first_goto) {
    LpStat *g = p->gotos.items[s->first_goto].stat;
    fail_at(p, lp_line(p->c, g->tok), "no visible label for goto", g->sym->s);
    p->gotos.n = s->first_goto;
  }
  for (size_t i = s->first_goto; i < p->gotos.n; i++) {
    p->gotos.items[i].n_active = s->n_active;
  }
}

static Jump *find_label(Parser *p, const LxSym *sym) {
  for (size_t i = p->fs->first_label; i < p->labels.n; i++) {
    if (p->labels.items[i].stat->sym == sym) {
      return &p->labels.items[i];
    }
  }
  return NULL;
}

static void add_jump(Parser *p, Jumps *list, LpStat *s, size_t n_active) {
  if (grow(p, &list->items, &list->cap, list->n + 1, sizeof *list->items)) {
    list->items[list->n++] = (Jump){s, n_active};
  }
}

/* Points the gotos of the block that wait for this label at it. */
static void solve_gotos(Parser *p, LpStat *label, size_t n_active) {
  size_t kept = p->fs->scope->first_goto;
  for (size_t i = kept; i < p->gotos.n; i++) {
    Jump g = p->gotos.items[i];
    if (g.stat->sym != label->sym) {
      p->gotos.items[kept++] = g;
    } else if (g.n_active < n_active) {
      fail_at(p, lp_line(p->c, g.stat->tok), "goto jumps into the scope of local",
              p->active[g.n_active]->sym->s);
    } else {
      g.stat->target = label;
    }
  }
  p->gotos.n = kept;
}

static bool block_ends(const Parser *p, bool with_until) {
  switch ((int)token(p)->kind) {
  case LX_ELSE:
  case LX_ELSEIF:
  case LX_END:
  case LX_EOF:
    return true;
  case LX_UNTIL:
    return with_until;
  default:
    return false;
  }
}

static LpStat *new_stat(Parser *p, LpStatKind kind) {
  LpStat *s = new_node(p, sizeof *s);
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

static LpBlock *new_block(Parser *p, LpStat *owner) {
  LpBlock *b = new_node(p, sizeof *b);
  *b = (LpBlock){.owner = owner, .func = p->fs->func};
  return b;
}

/* A block with a scope of its own. */
static LpBlock *parse_scoped(Parser *p, LpStat *owner, LpStat *loop) {
  Scope scope;
  LpBlock *b = new_block(p, owner);
  open_scope(p, &scope, loop);
  parse_block(p, b);
  close_scope(p);
  return b;
}

/* {==== expressions ==== */

static LpExp *new_exp(Parser *p, LpExpKind kind, LpTok tok) {
  LpExp *e = new_node(p, sizeof *e);
  *e = (LpExp){.kind = kind, .tok = tok, .last = tok, .op = tok};
  return e;
}

/* explist: exp {',' exp}. Returns the first; *n and *last (may be NULL) get the count, the last. */
static LpExp *parse_explist(Parser *p, uint32_t *n, LpExp **last) {
  LpExp *first = parse_exp(p), *e = first;
  uint32_t count = 1;
  while (accept(p, LX_COMMA)) {
    e->next = parse_exp(p);
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
static LpExp *parse_name(Parser *p) {
  LxSym *sym;
  LpExp *e = new_exp(p, LP_NAME, p->pos);
  expect_name(p, &sym);
  e->var = sym->var;
  LpVar *used = sym->var == NULL ? p->c->env->var : sym->var;
  if (used == NULL || used->func != p->fs->func) {
    use_outer(p, used);
  }
  e->is_const = e->var != NULL && e->var->init != NULL;
  return e;
}

/* One item: exp | Name '=' exp | '[' exp ']' '=' exp */
static LpExp **parse_item(Parser *p, LpExp **link) {
  const char *name = NULL;
  bool is_item = false;
  if (accept(p, LX_LBRACKET)) {
    *link = parse_exp(p);
    link = &(*link)->next;
    expect(p, LX_RBRACKET);
    expect(p, LX_ASSIGN);
  } else if (at(p, LX_NAME) && token(p)[1].kind == LX_ASSIGN) {
    name = token(p)->sym->s;
    next(p);
    next(p);
  } else {
    is_item = true;
  }
  LpExp *e = parse_exp(p);
  e->is_item = is_item;
  if (e->kind == LP_FUNCTION && e->func->name == NULL) {
    e->func->name = name;
  }
  *link = e;
  return &e->next;
}

/* '{' [item {sep item} [sep]] '}' */
static LpExp *parse_table(Parser *p) {
  LpExp *e = new_exp(p, LP_TABLE, p->pos);
  LpExp **link = &e->list;
  expect(p, LX_LBRACE);
  while (!at(p, LX_RBRACE) && !at(p, LX_EOF)) {
    link = parse_item(p, link);
    if (!accept(p, LX_COMMA) && !accept(p, LX_SEMI)) {
      break;
    }
  }
  e->last = expect_close(p, LX_RBRACE, e->tok);
  return e;
}

/* args: '(' [explist] ')' | table | String */
static void parse_args(Parser *p, LpExp *call) {
  if (at(p, LX_STRING)) {
    call->list = new_exp(p, LP_STRING, p->pos);
    call->list->is_const = true;
    call->last = next(p);
  } else if (at(p, LX_LBRACE)) {
    call->list = parse_table(p);
    call->last = call->list->last;
  } else {
    LpTok open = p->pos;
    if (!accept(p, LX_LPAREN)) {
      fail_expected(p, "a list of arguments");
    }
    if (!at(p, LX_RPAREN)) {
      call->list = parse_explist(p, NULL, NULL);
    }
    call->last = expect_close(p, LX_RPAREN, open);
  }
}

/* primaryexp: Name | '(' exp ')' */
static LpExp *parse_primary(Parser *p) {
  if (at(p, LX_LPAREN)) {
    LpExp *e = new_exp(p, LP_PAREN, next(p));
    e->a = parse_exp(p);
    e->is_const = e->a->is_const;
    e->last = expect_close(p, LX_RPAREN, e->tok);
    return e;
  }
  if (!at(p, LX_NAME)) {
    fail_expected(p, "an expression");
  }
  return parse_name(p);
}

/* The suffix node over `a` whose operator is the current token. */
static LpExp *new_suffix(Parser *p, LpExpKind kind, LpExp *a) {
  LpExp *e = new_exp(p, kind, a->tok);
  e->a = a;
  e->op = p->pos;
  return e;
}

/* suffixedexp: primaryexp {'.' Name | '[' exp ']' | ':' Name args | args} */
static LpExp *parse_suffixed(Parser *p) {
  LxSym *sym;
  LpExp *e = parse_primary(p);
  for (;;) {
    switch ((int)token(p)->kind) {
    case LX_DOT:
      e = new_suffix(p, LP_FIELD, e);
      next(p);
      e->last = expect_name(p, &sym);
      break;
    case LX_LBRACKET:
      e = new_suffix(p, LP_INDEX, e);
      next(p);
      e->b = parse_exp(p);
      e->last = expect(p, LX_RBRACKET);
      break;
    case LX_COLON:
      e = new_suffix(p, LP_METHOD, e);
      next(p);
      expect_name(p, &sym);
      parse_args(p, e);
      break;
    case LX_LPAREN:
    case LX_STRING:
    case LX_LBRACE:
      e = new_suffix(p, LP_CALL, e);
      parse_args(p, e);
      break;
    default:
      return e;
    }
  }
}

static LpExp *parse_literal(Parser *p, LpExpKind kind) {
  LpExp *e = new_exp(p, kind, p->pos);
  e->is_const = kind != LP_VARARG;
  next(p);
  return e;
}

/* simpleexp */
static LpExp *parse_simple(Parser *p) {
  switch ((int)token(p)->kind) {
  case LX_NUMBER:
    return parse_literal(p, LP_NUMBER);
  case LX_STRING:
    return parse_literal(p, LP_STRING);
  case LX_NIL:
    return parse_literal(p, LP_NIL);
  case LX_TRUE:
    return parse_literal(p, LP_TRUE);
  case LX_FALSE:
    return parse_literal(p, LP_FALSE);
  case LX_DOTS:
    if (!p->fs->func->is_vararg) {
      fail_at(p, token(p)->line, "'...' is used outside a vararg", "function");
    }
    return parse_literal(p, LP_VARARG);
  case LX_LBRACE:
    return parse_table(p);
  case LX_FUNCTION:
    return parse_function(p, next(p), false, NULL);
  default:
    return parse_suffixed(p);
  }
}

static bool is_unary(LxKind k) {
  return k == LX_NOT || k == LX_MINUS || k == LX_TILDE || k == LX_HASH;
}

/* unary: op subexp | simpleexp */
static LpExp *parse_unary(Parser *p) {
  if (!is_unary(token(p)->kind)) {
    return parse_simple(p);
  }
  LpExp *e = new_exp(p, LP_UNARY, next(p));
  e->a = parse_subexp(p, UNARY_PRIORITY);
  e->last = e->a->last;
  e->is_const = e->a->is_const;
  return e;
}

/* subexp: unary {binop subexp}, for operators that bind tighter than `limit` */
static LpExp *parse_subexp(Parser *p, int limit) {
  enter(p);
  LpExp *e = parse_unary(p);
  while (binaries[token(p)->kind].left > limit) {
    int right = binaries[token(p)->kind].right;
    e = new_suffix(p, LP_BINARY, e);
    next(p);
    e->b = parse_subexp(p, right);
    e->last = e->b->last;
    e->is_const = e->a->is_const && e->b->is_const;
  }
  leave(p);
  return e;
}

static LpExp *parse_exp(Parser *p) { return parse_subexp(p, 0); }

/* {==== functions ==== */

static void open_func(Parser *p, Func *fs, LpFunc *f, Scope *scope) {
  LpChunk *c = p->c;
  *fs = (Func){.prev = p->fs, .func = f, .first_label = p->labels.n};
  f->parent = p->fs == NULL ? NULL : p->fs->func;
  f->number = c->n_funcs++;
  if (p->last_func == NULL) {
    c->funcs = f;
  } else {
    p->last_func->next = f;
  }
  p->last_func = f;
  p->fs = fs;
  open_scope(p, scope, NULL);
  f->body = new_block(p, NULL);
}

static void close_func(Parser *p) {
  close_scope(p);
  p->fs = p->fs->prev;
}

/* parlist: [Name {',' Name} [',' '...'] | '...'] */
static void parse_params(Parser *p, LpFunc *f) {
  if (f->is_method) {
    new_var(p, p->self, LP_NO_TOK, LP_PARAM);
  }
  if (!at(p, LX_RPAREN)) {
    do {
      LxSym *sym;
      f->is_vararg = accept(p, LX_DOTS);
      if (!f->is_vararg) {
        LpTok t = expect_name(p, &sym);
        new_var(p, sym, t, LP_PARAM);
      }
    } while (!f->is_vararg && accept(p, LX_COMMA));
  }
  f->n_params = f->n_vars;
  show_vars(p, f->vars, f->n_vars);
}

/* '(' parlist ')' block 'end', behind the 'function' at tok */
static LpExp *parse_function(Parser *p, LpTok tok, bool is_method, const char *name) {
  Func fs;
  Scope scope;
  LpExp *e = new_exp(p, LP_FUNCTION, tok);
  LpFunc *f = new_node(p, sizeof *f);
  *f = (LpFunc){.tok = tok, .is_method = is_method, .name = name};
  e->func = f;
  open_func(p, &fs, f, &scope);
  f->open = expect(p, LX_LPAREN);
  parse_params(p, f);
  f->close = expect(p, LX_RPAREN);
  parse_block(p, f->body);
  f->end = e->last = expect_close(p, LX_END, tok);
  close_func(p);
  return e;
}

/* A function's name: the text of tokens first..last without blanks, in the arena. NULL when there is
   more in it than names. */
static const char *join_tokens(Parser *p, LpTok first, LpTok last) {
  size_t len = 0;
  const LxToken *toks = p->c->lx.toks;
  for (LpTok t = first; t <= last; t++) {
    len += toks[t].end - toks[t].start;
    if (toks[t].kind != LX_NAME && toks[t].kind != LX_DOT && toks[t].kind != LX_COLON) {
      return NULL;
    }
  }
  char *s = ct_arena_alloc(&p->c->arena, len + 1), *q = s;
  for (LpTok t = first; s != NULL && t <= last; t++) {
    memcpy(q, p->c->lx.text + toks[t].start, toks[t].end - toks[t].start);
    q += toks[t].end - toks[t].start;
  }
  return s;
}

/* {==== statements ==== */

static void check_target(Parser *p, const LpExp *e) {
  if (e->kind == LP_NAME) {
    if (e->var != NULL && e->var->attrib != LP_PLAIN) {
      fail_at(p, lp_line(p->c, e->tok), "cannot assign to const variable", e->var->sym->s);
    } else if (e->var != NULL && e->var->func != p->fs->func) {
      e->var->inner_write = true;
    }
  } else if (e->kind != LP_INDEX && e->kind != LP_FIELD) {
    fail_expected(p, "an assignment to a variable or field");
  }
}

/* 'if' exp 'then' block {'elseif' exp 'then' block} ['else' block] 'end' */
static void parse_if(Parser *p) {
  LpStat *s = new_stat(p, LP_IF);
  LpArm **link = &s->arms;
  do {
    LpArm *arm = new_node(p, sizeof *arm);
    *link = arm;
    link = &arm->next;
    arm->tok = next(p);
    arm->cond = parse_exp(p);
    arm->then = expect(p, LX_THEN);
    arm->body = parse_scoped(p, s, NULL);
  } while (at(p, LX_ELSEIF));
  if (accept(p, LX_ELSE)) {
    s->else_body = parse_scoped(p, s, NULL);
  }
  s->last = expect_close(p, LX_END, s->tok);
}

/* 'while' exp 'do' block 'end' */
static void parse_while(Parser *p) {
  LpStat *s = new_stat(p, LP_WHILE);
  next(p);
  s->exps = parse_exp(p);
  s->mid = expect(p, LX_DO);
  s->body = parse_scoped(p, s, s);
  s->last = expect_close(p, LX_END, s->tok);
}

/* 'repeat' block 'until' exp: the condition sees the block's locals */
static void parse_repeat(Parser *p) {
  Scope loop, inner;
  LpStat *s = new_stat(p, LP_REPEAT);
  next(p);
  open_scope(p, &loop, s);
  open_scope(p, &inner, NULL);
  s->body = new_block(p, s);
  parse_block(p, s->body);
  s->mid = expect_close(p, LX_UNTIL, s->tok);
  s->exps = parse_exp(p);
  s->last = s->exps->last;
  close_scope(p);
  close_scope(p);
}

/* ... 'do' block 'end' of a for, whose names become visible in the block */
static void parse_for_body(Parser *p, LpStat *s, uint32_t n_hidden, LpTok opener) {
  Scope body;
  count_locals(p, n_hidden);
  expect(p, LX_DO);
  open_scope(p, &body, NULL);
  show_vars(p, s->vars, s->n_vars);
  s->body = new_block(p, s);
  parse_block(p, s->body);
  close_scope(p);
  s->last = expect_close(p, LX_END, opener);
}

static void add_for_name(Parser *p, LpStat *s) {
  LxSym *sym;
  LpTok t = expect_name(p, &sym);
  LpVar *v = new_var(p, sym, t, LP_LOOP);
  s->vars = s->vars == NULL ? v : s->vars;
  s->n_vars++;
}

/* Name '=' exp ',' exp [',' exp], behind 'for' Name */
static void parse_fornum(Parser *p, LpStat *s) {
  uint32_t n;
  s->kind = LP_FORNUM;
  s->mid = next(p);
  s->exps = parse_exp(p);
  expect(p, LX_COMMA);
  s->exps->next = parse_explist(p, &n, NULL);
  if (n > 2) {
    fail_expected(p, lx_kind_text(LX_DO));
  }
}

/* Name {',' Name} 'in' explist, behind 'for' Name */
static void parse_forin(Parser *p, LpStat *s) {
  while (accept(p, LX_COMMA)) {
    add_for_name(p, s);
  }
  s->mid = expect(p, LX_IN);
  s->exps = parse_explist(p, NULL, NULL);
}

static void parse_for(Parser *p) {
  Scope loop;
  LpStat *s = new_stat(p, LP_FORIN);
  next(p);
  open_scope(p, &loop, s);
  add_for_name(p, s);
  if (at(p, LX_ASSIGN)) {
    parse_fornum(p, s);
  } else if (at(p, LX_COMMA) || at(p, LX_IN)) {
    parse_forin(p, s);
  } else {
    fail_expected(p, "'=' or 'in'");
  }
  parse_for_body(p, s, s->kind == LP_FORNUM ? 3 : 4, s->tok);
  close_scope(p);
}

/* funcname: Name {'.' Name} [':' Name], as an expression */
static LpExp *parse_funcname(Parser *p, bool *is_method) {
  LxSym *sym;
  LpExp *e = parse_name(p);
  *is_method = false;
  while (!*is_method && (at(p, LX_DOT) || at(p, LX_COLON))) {
    *is_method = at(p, LX_COLON);
    e = new_suffix(p, *is_method ? LP_METHOD : LP_FIELD, e);
    next(p);
    e->last = expect_name(p, &sym);
  }
  return e;
}

/* 'function' funcname body */
static void parse_funcstat(Parser *p) {
  bool is_method;
  LpStat *s = new_stat(p, LP_FUNCSTAT);
  LpTok tok = next(p);
  s->targets = parse_funcname(p, &is_method);
  const char *name = join_tokens(p, s->targets->tok, s->targets->last);
  s->exps = parse_function(p, tok, is_method, name);
  s->last = s->exps->last;
  if (!is_method) {
    check_target(p, s->targets);
  }
}

/* 'local' 'function' Name body */
static void parse_localfunc(Parser *p) {
  LxSym *sym;
  LpStat *s = new_stat(p, LP_LOCALFUNC);
  next(p);
  LpTok tok = next(p);
  LpTok t = expect_name(p, &sym);
  s->vars = new_var(p, sym, t, LP_LOCAL);
  s->n_vars = 1;
  show_var(p, s->vars);
  s->exps = parse_function(p, tok, false, sym->s);
  s->last = s->exps->last;
}

/* ['<' Name '>'] */
static LpAttrib parse_attrib(Parser *p) {
  LxSym *sym;
  if (!accept(p, LX_LT)) {
    return LP_PLAIN;
  }
  int line = token(p)->line;
  expect_name(p, &sym);
  expect(p, LX_GT);
  if (strcmp(sym->s, "const") == 0) {
    return LP_CONST;
  }
  if (strcmp(sym->s, "close") != 0) {
    fail_at(p, line, "unknown attribute", sym->s);
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
static void parse_local(Parser *p) {
  LpStat *s = new_stat(p, LP_DECL);
  int n_close = 0;
  next(p);
  do {
    LxSym *sym;
    LpTok t = expect_name(p, &sym);
    LpVar *v = new_var(p, sym, t, LP_LOCAL);
    v->attrib = parse_attrib(p);
    n_close += v->attrib == LP_CLOSE;
    s->vars = s->vars == NULL ? v : s->vars;
    s->n_vars++;
    s->last = p->pos - 1;
  } while (accept(p, LX_COMMA));
  if (n_close > 1) {
    fail_at(p, token(p)->line, "more than one to-be-closed variable in a", "'local'");
  }
  if (at(p, LX_ASSIGN)) {
    LpExp *last;
    s->mid = next(p);
    s->exps = parse_explist(p, NULL, &last);
    s->last = last->last;
  }
  if (p->status == CT_OK) {
    note_inits(s);
    show_vars(p, s->vars, s->n_vars);
  }
}

/* suffixedexp {',' suffixedexp} '=' explist, behind the first */
static void parse_assign(Parser *p, LpStat *s) {
  LpExp *last = s->targets, *value;
  int n = 0;
  s->kind = LP_ASSIGN;
  check_target(p, last);
  while (accept(p, LX_COMMA)) {
    last->next = parse_suffixed(p);
    last = last->next;
    check_target(p, last);
    if (++n + p->levels > MAX_LEVELS) {
      fail_at(p, token(p)->line, "too many targets in an", "assignment");
    }
  }
  s->mid = expect(p, LX_ASSIGN);
  s->exps = parse_explist(p, NULL, &value);
  s->last = value->last;
  if (s->exps->kind == LP_FUNCTION && s->targets->next == NULL && s->exps->func->name == NULL &&
      p->status == CT_OK) {
    s->exps->func->name = join_tokens(p, s->targets->tok, s->targets->last);
  }
}

/* A call or an assignment. */
static void parse_expstat(Parser *p) {
  LpStat *s = new_stat(p, LP_CALLSTAT);
  LpExp *e = parse_suffixed(p);
  s->targets = e;
  if (at(p, LX_ASSIGN) || at(p, LX_COMMA)) {
    parse_assign(p, s);
    return;
  }
  if (e->kind != LP_CALL && e->kind != LP_METHOD) {
    fail_expected(p, "'=' or the arguments of a call");
  }
  s->targets = NULL;
  s->exps = e;
  s->last = e->last;
}

/* 'return' [explist] [';'] */
static void parse_return(Parser *p) {
  LpStat *s = new_stat(p, LP_RETURN);
  s->mid = next(p);
  if (!block_ends(p, true) && !at(p, LX_SEMI)) {
    LpExp *last;
    s->exps = parse_explist(p, NULL, &last);
    s->last = last->last;
  }
  if (at(p, LX_SEMI)) {
    s->last = next(p);
  }
}

static void parse_break(Parser *p) {
  LpStat *s = new_stat(p, LP_BREAK);
  next(p);
  for (Scope *b = p->fs->scope; b != NULL && s->target == NULL; b = b->prev) {
    s->target = b->loop;
  }
  if (s->target == NULL) {
    fail_at(p, lp_line(p->c, s->tok), "break outside a", "loop");
  }
}

/* 'goto' Name: back to a visible label, or forward to one that is to come */
static void parse_goto(Parser *p) {
  LpStat *s = new_stat(p, LP_GOTO);
  next(p);
  s->last = expect_name(p, &s->sym);
  Jump *label = find_label(p, s->sym);
  if (label != NULL) {
    s->target = label->stat;
  } else {
    add_jump(p, &p->gotos, s, p->n_active);
  }
}

/* Whether only what does nothing follows in the block. */
static bool label_is_last(Parser *p) {
  LpTok pos = p->pos;
  int n_labels = 0;
  while (at(p, LX_SEMI) || at(p, LX_DCOLON)) {
    n_labels += at(p, LX_DCOLON);
    LpTok width = at(p, LX_SEMI) ? 1 : 3; /* a malformed label is found later */
    p->pos = p->pos + width < p->c->lx.n ? p->pos + width : (LpTok)(p->c->lx.n - 1);
  }
  bool is_last = block_ends(p, false);
  if (p->status == CT_OK) {
    p->pos = pos;
  }
  if (n_labels > MAX_LEVELS) {
    fail_at(p, token(p)->line, "more than 200 labels in a row", "here");
  }
  return is_last;
}

/* '::' Name '::'. At the end of a block its locals count as out of scope already. */
static void parse_label(Parser *p) {
  LpStat *s = new_stat(p, LP_LABEL);
  next(p);
  expect_name(p, &s->sym);
  s->last = expect(p, LX_DCOLON);
  if (find_label(p, s->sym) != NULL) {
    fail_at(p, lp_line(p->c, s->tok), "label is defined twice:", s->sym->s);
  }
  size_t n_active = label_is_last(p) ? p->fs->scope->n_active : p->n_active;
  add_jump(p, &p->labels, s, n_active);
  solve_gotos(p, s, n_active);
}

static void parse_do(Parser *p) {
  LpStat *s = new_stat(p, LP_DO);
  next(p);
  s->body = parse_scoped(p, s, NULL);
  s->last = expect_close(p, LX_END, s->tok);
}

static void parse_empty(Parser *p) {
  new_stat(p, LP_EMPTY);
  next(p);
}

static void parse_either_local(Parser *p) {
  if (token(p)[1].kind == LX_FUNCTION) {
    parse_localfunc(p);
  } else {
    parse_local(p);
  }
}

static void parse_statement(Parser *p) {
  static void (*const rules[LX_KIND_COUNT])(Parser *p) = {
      [LX_SEMI] = parse_empty,      [LX_IF] = parse_if,       [LX_WHILE] = parse_while,
      [LX_DO] = parse_do,           [LX_FOR] = parse_for,     [LX_REPEAT] = parse_repeat,
      [LX_FUNCTION] = parse_funcstat, [LX_LOCAL] = parse_either_local,
      [LX_DCOLON] = parse_label,    [LX_RETURN] = parse_return, [LX_BREAK] = parse_break,
      [LX_GOTO] = parse_goto};
  void (*rule)(Parser *p) = rules[token(p)->kind];
  enter(p);
  if (p->status == CT_OK) {
    (rule == NULL ? parse_expstat : rule)(p);
  }
  leave(p);
}

/* block: {statement} [return] */
static void parse_block(Parser *p, LpBlock *b) {
  LpBlock *outer = p->fs->block;
  p->fs->block = b;
  b->from = p->pos;
  bool ended = false;
  while (!ended && !block_ends(p, true)) {
    ended = at(p, LX_RETURN);
    parse_statement(p);
  }
  b->to = p->pos;
  p->fs->block = outer;
}

static void parse_chunk(Parser *p) {
  Func fs;
  Scope scope;
  LpFunc *f = new_node(p, sizeof *f);
  *f = (LpFunc){.is_vararg = true};
  open_func(p, &fs, f, &scope);
  parse_block(p, f->body);
  f->end = p->pos;
  if (!at(p, LX_EOF)) {
    fail_expected(p, lx_kind_text(LX_EOF));
  }
  close_func(p);
}

CtStatus lp_parse(CtAlloc alloc, const char *text, size_t len, const char *name, LpChunk *c,
                  CtErr *err) {
  *c = (LpChunk){0};
  ct_arena_init(&c->arena, alloc);
  Parser p = {.c = c, .err = err};
  p.status = lx_run(&c->arena, text, len, name, &c->lx, err);
  if (p.status == CT_OK) {
    p.self = lx_intern(&c->arena, &c->lx, "self", 4);
    c->env = lx_intern(&c->arena, &c->lx, "_ENV", 4);
    p.status = p.self == NULL || c->env == NULL ? ct_fail_nomem(err) : CT_OK;
  }
  if (p.status == CT_OK) {
    parse_chunk(&p);
  }
  ct_free(alloc, p.active, p.cap_active * sizeof *p.active);
  ct_free(alloc, p.gotos.items, p.gotos.cap * sizeof *p.gotos.items);
  ct_free(alloc, p.labels.items, p.labels.cap * sizeof *p.labels.items);
  if (p.status != CT_OK) {
    lp_clear(c);
  }
  return p.status;
}

void lp_clear(LpChunk *c) {
  lx_clear(&c->lx, c->arena.alloc);
  ct_arena_clear(&c->arena);
}
