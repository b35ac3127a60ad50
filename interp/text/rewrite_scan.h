/* rewrite_scan.h: what the analysis of one function collects: rewrite_scope.c walks the function and finds its regions,
   rewrite_sets.c says which locals constructs promote. */
#ifndef CUTTLE_REWRITE_SCAN_H
#define CUTTLE_REWRITE_SCAN_H

#include "rewrite_int.h"

typedef uint64_t Word;

typedef struct Write { /* an assignment to a local of the function */
  LpVar *var;
  LpTok tok; /* of the statement */
} Write;

typedef struct Goto {
  LpStat *stat;
  uint32_t at; /* index of the statement that holds it, in the block of its label */
} Goto;

typedef struct Target { /* a loop or region that run-time jumps leave for */
  LpTok start, end;     /* its tokens: start <= t < end */
  const LpStat *stat;   /* the loop or label */
  bool is_loop;
  size_t exits; /* 1 + the number of its first exit, 0 for none */
} Target;

typedef struct Exit { /* a jump to a target */
  LpStat *stat;
  size_t next; /* 1 + the number of the next exit to it, 0 for none */
} Exit;

typedef struct Scan { /* of one function */
  RwChunk *c;
  const LpFunc *f;
  RwFunc *rw;
  CtErr *err;
  CtStatus status;
  LpStat **constructs; /* in order of the text */
  size_t n_constructs, cap_constructs;
  Write *writes; /* in order of the text */
  size_t n_writes, cap_writes;
  Goto *gotos;
  size_t n_gotos, cap_gotos;
  LpStat **labels; /* that have or had a region */
  size_t n_labels, cap_labels;
  LpStat **jumps; /* breaks, gotos, returns */
  size_t n_jumps, cap_jumps;
  LpStat **failures; /* statements with calls of error or assert, which may end the thread */
  size_t n_failures, cap_failures;
  Target *targets;
  size_t n_targets, cap_targets;
  Exit *exits;
  size_t n_exits, cap_exits;
  Word *sets;     /* rows of bits, one for each local of the function */
  size_t n_words; /* in a row */
} Scan;

static inline void *rw_scan_note(Scan *s, size_t bytes) {
  void *p = ct_arena_alloc(&s->c->lp.arena, bytes);
  if (p == NULL && s->status == CT_OK) {
    s->status = ct_fail_nomem(s->err);
  }
  return p;
}

static inline bool rw_scan_push(Scan *s, void *items, size_t *cap, size_t n, size_t size) {
  if (s->status == CT_OK) {
    s->status = ct_grow(s->c->alloc, items, cap, n + 1, size, s->err);
  }
  return s->status == CT_OK;
}

static inline void rw_scan_fail_at(Scan *s, LpTok t, const char *what) {
  if (s->status == CT_OK) {
    s->status = ct_fail(s->err, CT_EINVAL, "kernel: %s", what);
    ct_err_at(s->err, s->c->lp.lx.chunk, lp_line(&s->c->lp, t));
  }
}

static inline LpStat *rw_stat_at(const LpBlock *b, uint32_t index) {
  LpStat *s = b->first;
  while (s->index < index) {
    s = s->next;
  }
  return s;
}

static inline bool rw_is_construct(const LpStat *s) { return s->kind == LP_IF || lp_is_loop(s); }

/* rewrite_sets.c: the set of each construct; renames what hides a local of one. */
void rw_find_sets(Scan *s);

#endif
