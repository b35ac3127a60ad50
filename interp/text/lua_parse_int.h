/* lua_parse_int.h: what the parts of the parser share. lua_parse.c has the state, the scopes and
   the entry; lua_parse_exp.c the rules of expressions, lua_parse_stat.c those of statements. A
   failure jumps out to the entry, which frees all, so that a rule need not look for one. */
#ifndef CT_LUA_PARSE_INT_H
#define CT_LUA_PARSE_INT_H

#include <setjmp.h>

#include "lua_parse.h"

enum { LP_MAX_LEVELS = 200 };

/* A pending goto, or a label: its statement and how many locals were active there. */
typedef struct LpJump {
  LpStat *stat;
  size_t n_active;
} LpJump;

typedef struct LpJumps {
  LpJump *items;
  size_t n, cap;
} LpJumps;

typedef struct LpScope { /* of a block, while it is parsed */
  struct LpScope *prev;  /* NULL for a function's body */
  LpStat *loop;          /* whose body it is, or NULL */
  size_t first_goto, first_label;
  size_t n_active; /* locals active in the function before the block */
  uint32_t n_locals;
} LpScope;

typedef struct LpOpenFunc { /* of a function, while it is parsed */
  struct LpOpenFunc *prev;
  LpFunc *func;
  LpBlock *block;
  LpVar *last_var;
  LpScope *scope;
  size_t first_label;
  uint32_t n_locals;   /* active ones with the hidden ones of for loops */
  uint32_t n_upvalues; /* that Lua will make */
} LpOpenFunc;

typedef struct LpParser {
  LpChunk *c;
  CtErr *err;
  CtStatus status; /* why it failed */
  LpTok pos;
  int levels;
  LpOpenFunc *fs;
  LpFunc *last_func;
  LpVar **active; /* locals in scope, of all open functions */
  size_t n_active, cap_active;
  LpJumps gotos, labels;
  LxSym *self;
  jmp_buf failed; /* in lua_parse.c; holds no memory but the arena and the arrays above */
} LpParser;

static inline const LxToken *lp_here(const LpParser *p) { return &p->c->lx.toks[p->pos]; }
static inline bool lp_at(const LpParser *p, LxKind kind) { return lp_here(p)->kind == kind; }

/* lua_parse.c: failures, tokens, nodes */
_Noreturn void lp_fail_at(LpParser *p, int line, const char *what, const char *name);
_Noreturn void lp_fail_expected(LpParser *p, const char *what); /* at the current token */
LpTok lp_next(LpParser *p);
bool lp_accept(LpParser *p, LxKind kind);
LpTok lp_expect(LpParser *p, LxKind kind);
LpTok lp_expect_close(LpParser *p, LxKind kind, LpTok opener); /* names `opener` in the error */
LpTok lp_expect_name(LpParser *p, LxSym **sym);
void lp_enter(LpParser *p); /* one level of nesting deeper */
void lp_leave(LpParser *p);
void *lp_new_node(LpParser *p, size_t bytes); /* zeroed */

/* lua_parse.c: locals, scopes, labels */
void lp_count_locals(LpParser *p, uint32_t n);
LpVar *lp_new_var(LpParser *p, LxSym *sym, LpTok tok, LpRole role); /* not visible yet */
void lp_show_vars(LpParser *p, LpVar *first, uint32_t n);           /* visible from here on */
void lp_use_outer(LpParser *p, LpVar *v); /* v belongs to an outer function; NULL: chunk's _ENV */
void lp_open_scope(LpParser *p, LpScope *s, LpStat *loop);
void lp_close_scope(LpParser *p);
LpJump *lp_find_label(LpParser *p, const LxSym *sym);
void lp_add_jump(LpParser *p, LpJumps *list, LpStat *s, size_t n_active);
void lp_solve_gotos(LpParser *p, LpStat *label, size_t n_active);
bool lp_block_ends(const LpParser *p, bool with_until);
LpBlock *lp_new_block(LpParser *p, LpStat *owner);
void lp_open_func(LpParser *p, LpOpenFunc *fs, LpFunc *f, LpScope *scope);
void lp_close_func(LpParser *p);

/* lua_parse_exp.c */
LpExp *lp_exp(LpParser *p);
/* explist: returns the first; *n and *last (may be NULL) get the count and the last. */
LpExp *lp_explist(LpParser *p, uint32_t *n, LpExp **last);
LpExp *lp_suffixed(LpParser *p);
LpExp *lp_name(LpParser *p); /* a name, as an expression */
LpExp *lp_new_suffix(LpParser *p, LpExpKind kind, LpExp *a);
LpExp *lp_function(LpParser *p, LpTok tok, bool is_method, const char *name);

/* lua_parse_stat.c */
void lp_block(LpParser *p, LpBlock *b);

#endif
