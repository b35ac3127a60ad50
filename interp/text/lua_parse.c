/* lua_parse.c: the state of the parser: tokens, locals and scopes, jumps and labels. Recursive
   descent in the order of Lua's own parser, so that the same texts are refused. Names are resolved
   as they are met: each LxSym knows its innermost visible local. */
#include "lua_parse.h"

#include <string.h>

#include "lua_parse_int.h"

enum { MAX_LOCALS = 200, MAX_UPVALUES = 255 };

/* {==== tokens, failures, nodes ==== */

static _Noreturn void fail(LpParser *p, CtStatus status) {
  p->status = status;
  longjmp(p->failed, 1);
}

/* Fails with the message that ct_fail has put into p->err. */
static _Noreturn void fail_on_line(LpParser *p, int line, CtStatus status) {
  ct_err_at(p->err, p->c->lx.chunk, line);
  fail(p, status);
}

void lp_fail_at(LpParser *p, int line, const char *what, const char *name) {
  fail_on_line(p, line, ct_fail(p->err, CT_EINVAL, "parse: %s %s", what, name));
}

/* The current token as an error shows it, in buf. */
static const char *show_token(const LpParser *p, char *buf, size_t bytes) {
  const LxToken *t = lp_here(p);
  size_t len = t->end - t->start;
  if (t->kind == LX_EOF || t->kind == LX_STRING || len > bytes - 3) {
    return lx_kind_text(t->kind);
  }
  buf[0] = '\'';
  memcpy(buf + 1, p->c->lx.text + t->start, len);
  memcpy(buf + 1 + len, "'", 2);
  return buf;
}

void lp_fail_expected(LpParser *p, const char *what) {
  char buf[64];
  fail_on_line(p, lp_here(p)->line,
               ct_fail(p->err, CT_EINVAL, "parse: found %s; %s was expected",
                       show_token(p, buf, sizeof buf), what));
}

void *lp_new_node(LpParser *p, size_t bytes) {
  void *n = ct_arena_alloc(&p->c->arena, bytes);
  if (n == NULL) {
    fail(p, ct_fail_nomem(p->err));
  }
  return n;
}

LpTok lp_next(LpParser *p) {
  LpTok t = p->pos;
  if (!lp_at(p, LX_EOF)) {
    p->pos++;
  }
  return t;
}

bool lp_accept(LpParser *p, LxKind kind) {
  bool is = lp_at(p, kind);
  if (is) {
    lp_next(p);
  }
  return is;
}

LpTok lp_expect(LpParser *p, LxKind kind) {
  if (!lp_at(p, kind)) {
    lp_fail_expected(p, lx_kind_text(kind));
  }
  return lp_next(p);
}

/* The closer of what `opener` opened, named in the error. */
LpTok lp_expect_close(LpParser *p, LxKind kind, LpTok opener) {
  char buf[64];
  const LxToken *o = lp_token(p->c, opener);
  if (!lp_at(p, kind)) {
    fail_on_line(p, lp_here(p)->line,
                 ct_fail(p->err, CT_EINVAL,
                         "parse: found %s; %s was expected (to close %s at line %d)",
                         show_token(p, buf, sizeof buf), lx_kind_text(kind), lx_kind_text(o->kind),
                         o->line));
  }
  return lp_next(p);
}

LpTok lp_expect_name(LpParser *p, LxSym **sym) {
  *sym = lp_here(p)->sym;
  return lp_expect(p, LX_NAME);
}

void lp_enter(LpParser *p) {
  if (++p->levels > LP_MAX_LEVELS) {
    lp_fail_at(p, lp_here(p)->line, "constructs are nested more than 200 deep", "here");
  }
}

void lp_leave(LpParser *p) { p->levels--; }

static void grow(LpParser *p, void *items, size_t *cap, size_t need, size_t size) {
  CtStatus st = ct_grow(p->c->arena.alloc, items, cap, need, size, p->err);
  if (st != CT_OK) {
    fail(p, st);
  }
}

/* {==== locals ==== */

void lp_count_locals(LpParser *p, uint32_t n) {
  p->fs->n_locals += n;
  if (p->fs->n_locals > MAX_LOCALS) {
    lp_fail_at(p, lp_here(p)->line, "a function has more than 200 active local variables", "here");
  }
}

/* Makes a variable, not visible yet. */
LpVar *lp_new_var(LpParser *p, LxSym *sym, LpTok tok, LpRole role) {
  LpOpenFunc *fs = p->fs;
  LpVar *v = lp_new_node(p, sizeof *v);
  *v = (LpVar){.sym = sym, .func = fs->func, .tok = tok, .role = role};
  v->index = fs->func->n_vars++;
  if (fs->last_var == NULL) {
    fs->func->vars = v;
  } else {
    fs->last_var->next = v;
  }
  fs->last_var = v;
  lp_count_locals(p, 1);
  return v;
}

/* From the current token on, v is what its name means. */
static void show_var(LpParser *p, LpVar *v) {
  grow(p, &p->active, &p->cap_active, p->n_active + 1, sizeof *p->active);
  v->from = p->pos;
  v->outer = v->sym->var;
  if (v->outer != NULL && v->outer->func == v->func) {
    v->next_hider = v->outer->hiders;
    v->outer->hiders = v;
  }
  v->sym->var = v;
  p->active[p->n_active++] = v;
}

void lp_show_vars(LpParser *p, LpVar *first, uint32_t n) {
  for (uint32_t i = 0; i < n; i++, first = first->next) {
    show_var(p, first);
  }
}

static void hide_vars(LpParser *p, size_t n_active) {
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
void lp_use_outer(LpParser *p, LpVar *v) {
  for (LpOpenFunc *fs = p->fs; fs != NULL && (v == NULL || fs->func != v->func); fs = fs->prev) {
    if (has_upvalue(fs->func, v)) {
      return;
    }
    LpUpvalue *u = lp_new_node(p, sizeof *u);
    *u = (LpUpvalue){.var = v, .next = fs->func->upvalues};
    fs->func->upvalues = u;
    fs->n_upvalues += v == NULL || v->init == NULL;
    if (fs->n_upvalues > MAX_UPVALUES) {
      lp_fail_at(p, lp_here(p)->line, "a function has more than 255 upvalues", "here");
    }
  }
}

/* {==== blocks, jumps ==== */

void lp_open_scope(LpParser *p, LpScope *s, LpStat *loop) {
  *s = (LpScope){.prev = p->fs->scope,
                 .loop = loop,
                 .first_goto = p->gotos.n,
                 .first_label = p->labels.n,
                 .n_active = p->n_active,
                 .n_locals = p->fs->n_locals};
  p->fs->scope = s;
}

/* Gotos that found no label in the block look for one in the enclosing block. */
void lp_close_scope(LpParser *p) {
  LpScope *s = p->fs->scope;
  hide_vars(p, s->n_active);
  p->fs->n_locals = s->n_locals;
  p->labels.n = s->first_label;
  p->fs->scope = s->prev;
  if (s->prev == NULL && p->gotos.n > s->first_goto) {
    LpStat *g = p->gotos.items[s->first_goto].stat;
    lp_fail_at(p, lp_line(p->c, g->tok), "no visible label for goto", g->sym->s);
  }
  for (size_t i = s->first_goto; i < p->gotos.n; i++) {
    p->gotos.items[i].n_active = s->n_active;
  }
}

LpJump *lp_find_label(LpParser *p, const LxSym *sym) {
  for (size_t i = p->fs->first_label; i < p->labels.n; i++) {
    if (p->labels.items[i].stat->sym == sym) {
      return &p->labels.items[i];
    }
  }
  return NULL;
}

void lp_add_jump(LpParser *p, LpJumps *list, LpStat *s, size_t n_active) {
  grow(p, &list->items, &list->cap, list->n + 1, sizeof *list->items);
  list->items[list->n++] = (LpJump){s, n_active};
}

/* Points the gotos of the block that wait for this label at it. */
void lp_solve_gotos(LpParser *p, LpStat *label, size_t n_active) {
  size_t kept = p->fs->scope->first_goto;
  for (size_t i = kept; i < p->gotos.n; i++) {
    LpJump g = p->gotos.items[i];
    if (g.stat->sym != label->sym) {
      p->gotos.items[kept++] = g;
    } else if (g.n_active < n_active) {
      lp_fail_at(p, lp_line(p->c, g.stat->tok), "goto jumps into the scope of local",
                 p->active[g.n_active]->sym->s);
    } else {
      g.stat->target = label;
    }
  }
  p->gotos.n = kept;
}

bool lp_block_ends(const LpParser *p, bool with_until) {
  switch ((int)lp_here(p)->kind) {
    case LX_ELSE:
    case LX_ELSEIF:
    case LX_END:
    case LX_EOF: return true;
    case LX_UNTIL: return with_until;
    default: return false;
  }
}

LpBlock *lp_new_block(LpParser *p, LpStat *owner) {
  LpBlock *b = lp_new_node(p, sizeof *b);
  *b = (LpBlock){.owner = owner, .func = p->fs->func};
  return b;
}

void lp_open_func(LpParser *p, LpOpenFunc *fs, LpFunc *f, LpScope *scope) {
  LpChunk *c = p->c;
  *fs = (LpOpenFunc){.prev = p->fs, .func = f, .first_label = p->labels.n};
  f->parent = p->fs == NULL ? NULL : p->fs->func;
  f->number = c->n_funcs++;
  if (p->last_func == NULL) {
    c->funcs = f;
  } else {
    p->last_func->next = f;
  }
  p->last_func = f;
  p->fs = fs;
  lp_open_scope(p, scope, NULL);
  f->body = lp_new_block(p, NULL);
}

void lp_close_func(LpParser *p) {
  lp_close_scope(p);
  p->fs = p->fs->prev;
}

/* The whole text; p->status says how it went. */
static void parse_chunk(LpParser *p) {
  LpOpenFunc fs;
  LpScope scope;
  if (setjmp(p->failed) != 0) {
    return;
  }
  LpFunc *f = lp_new_node(p, sizeof *f);
  *f = (LpFunc){.is_vararg = true};
  lp_open_func(p, &fs, f, &scope);
  lp_block(p, f->body);
  f->end = p->pos;
  if (!lp_at(p, LX_EOF)) {
    lp_fail_expected(p, lx_kind_text(LX_EOF));
  }
  lp_close_func(p);
}

CtStatus lp_parse(CtAlloc alloc, const char *text, size_t len, const char *name, LpChunk *c,
                  CtErr *err) {
  LpParser p = {.c = c, .err = err};
  *c = (LpChunk){0};
  ct_arena_init(&c->arena, alloc);
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
