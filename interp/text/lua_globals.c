/* lua_globals.c: walks the statements of each function; assignments are statements, so that no
   expression is looked into. */
#include "lua_globals.h"

#include <string.h>

typedef struct Walk {
  const LpChunk *c;
  bool fields; /* those of globals are looked for, not globals */
  void (*each)(void *ud, const char *name, int line);
  void *ud;
} Walk;

static void walk_block(const Walk *w, const LpBlock *b);

/* The name, if the target is `name`, `_G.name` or `_ENV.name`; else NULL. */
static const LxToken *global_of(const Walk *w, const LpExp *e) {
  if (e->kind == LP_NAME && e->var == NULL) {
    return lp_token(w->c, e->tok);
  }
  if (e->kind != LP_FIELD || e->a->kind != LP_NAME || e->a->var != NULL) {
    return NULL;
  }
  const char *of = lp_token(w->c, e->a->tok)->sym->s;
  return strcmp(of, "_G") == 0 || strcmp(of, "_ENV") == 0 ? lp_token(w->c, e->last) : NULL;
}

static const LxToken *target_of(const Walk *w, const LpExp *e) {
  if (w->fields) {
    return e->kind == LP_FIELD ? global_of(w, e->a) : NULL;
  }
  return global_of(w, e);
}

static void walk_targets(const Walk *w, const LpStat *s) {
  for (const LpExp *e = s->targets; e != NULL; e = e->next) {
    const LxToken *t = target_of(w, e);
    if (t != NULL) {
      w->each(w->ud, t->sym->s, t->line);
    }
  }
}

static void walk_stat(const Walk *w, const LpStat *s) {
  if (s->kind == LP_ASSIGN || s->kind == LP_FUNCSTAT) {
    walk_targets(w, s);
  }
  for (const LpArm *arm = s->arms; arm != NULL; arm = arm->next) {
    walk_block(w, arm->body);
  }
  walk_block(w, s->body);
  walk_block(w, s->else_body);
}

static void walk_block(const Walk *w, const LpBlock *b) {
  for (const LpStat *s = b == NULL ? NULL : b->first; s != NULL; s = s->next) {
    walk_stat(w, s);
  }
}

static bool has_env(const LpChunk *c) {
  for (const LpFunc *f = c->funcs; f != NULL; f = f->next) {
    for (const LpVar *v = f->vars; v != NULL; v = v->next) {
      if (v->sym == c->env) {
        return true;
      }
    }
  }
  return false;
}

static void note_env(void *ud, const char *name, int line) {
  bool *assigned = ud;
  (void)line;
  *assigned = *assigned || strcmp(name, "_ENV") == 0;
}

static void walk_chunk(const Walk *w) {
  for (const LpFunc *f = w->c->funcs; f != NULL; f = f->next) {
    walk_block(w, f->body);
  }
}

bool lp_has_env(const LpChunk *c) {
  bool assigned = false;
  walk_chunk(&(Walk){.c = c, .each = note_env, .ud = &assigned});
  return assigned || has_env(c);
}

void lp_each_global_write(const LpChunk *c, void (*each)(void *ud, const char *name, int line),
                          void *ud) {
  if (!lp_has_env(c)) {
    walk_chunk(&(Walk){.c = c, .each = each, .ud = ud});
  }
}

void lp_each_field_write(const LpChunk *c, void (*each)(void *ud, const char *name, int line),
                         void *ud) {
  walk_chunk(&(Walk){.c = c, .fields = true, .each = each, .ud = ud});
}
