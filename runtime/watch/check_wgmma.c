/* check_wgmma.c: `check` of the registers of wgmma. From a wgmma until the wgmma_wait that
   covers its group, nobody may touch its sums or change a fragment A. A wgmma_fence must come
   before the first wgmma, and again before a wgmma whose registers ordinary instructions have
   touched since. check_clock.c follows what wgmma reads in shared memory. */
#include "check_parts.h"

#include <stdio.h>
#include <string.h>

/* The registers of a product under way: elements lo .. hi of a buffer. */
typedef struct Flight {
  uint32_t buf, group, in;
  int64_t lo, hi;
  bool is_written;
} Flight;

typedef struct Warp {
  uint32_t n_groups; /* groups committed so far */
  uint32_t *touched; /* by buffer: 1 + the instruction that touched it after the fence; 0: none */
  Flight *flights;
  size_t n_flights, cap_flights;
  bool has_fenced;
  uint32_t n_issued, last, order; /* products: how many, the last one, and a hash of them all */
} Warp;

struct CtWgmmaRegs {
  bool *is_operand; /* by buffer */
  Warp *warps;
  size_t n_warps;
};

CtWgmmaRegs *ct_wgmma_open(CtCheck *c) {
  const CtSimtProgram *p = c->job->program;
  size_t n_warps = (size_t)p->n_warps;
  CtWgmmaRegs *r = ct_arena_alloc(&c->arena, sizeof *r);
  uint32_t *touched = ct_arena_alloc(&c->arena, n_warps * p->n_bufs * sizeof *touched);
  if (r == NULL || touched == NULL ||
      (r->is_operand = ct_arena_alloc(&c->arena, p->n_bufs)) == NULL ||
      (r->warps = ct_arena_alloc(&c->arena, n_warps * sizeof *r->warps)) == NULL) {
    return NULL;
  }
  r->n_warps = n_warps;
  for (size_t i = 0; i < n_warps; i++) {
    r->warps[i].touched = &touched[i * p->n_bufs];
  }
  for (uint32_t i = 0; i < p->n_tiles; i++) {
    const CtTileOp *t = &p->tiles[i];
    if (t->op == CT_OP_WGMMA) {
      r->is_operand[p->bufs[t->dst.buf].memory] = true;
      r->is_operand[p->bufs[t->a.buf].memory] = true;
    }
  }
  return r;
}

void ct_wgmma_close(const CtCheckWorker *k) {
  for (size_t i = 0; k->wgmma != NULL && i < k->wgmma->n_warps; i++) {
    const Warp *w = &k->wgmma->warps[i];
    ct_free(k->check->alloc, w->flights, w->cap_flights * sizeof *w->flights);
  }
}

void ct_wgmma_begin_block(CtCheckWorker *k) {
  const CtSimtProgram *p = k->k->job->program;
  for (int32_t i = 0; k->wgmma != NULL && i < p->n_warps; i++) {
    Warp *w = &k->wgmma->warps[i];
    memset(w->touched, 0, p->n_bufs * sizeof *w->touched);
    *w = (Warp){.touched = w->touched, .flights = w->flights, .cap_flights = w->cap_flights};
  }
}

/* --- findings --------------------------------------------------------------------------------------------- */

static void note(CtCheckWorker *k, const CtAccess *a, int how, uint32_t other, int64_t off) {
  CtFound f = ct_finding_in(k, CT_CHECK_WGMMA, a->in, a->w->index, ct_first_lane(a->mask));
  f.other = other;
  f.buf = a->buf_index;
  f.how = (uint8_t)how;
  f.other_block = f.block;
  f.other_thread = f.thread;
  f.off = off;
  ct_finding_note(k, &f);
}

/* The elements that an access may touch. */
static Flight range_of(const CtAccess *a) {
  bool known = a->is_regular;
  return (Flight){.buf = a->buf->memory,
                  .lo = known ? a->lo : 0,
                  .hi = known ? a->hi : a->mem->n - 1,
                  .is_written = a->role == CT_ACCESS_DST};
}

static bool meets(const Flight *a, const Flight *b) {
  return a->buf == b->buf && a->lo <= b->hi && b->lo <= a->hi;
}

/* --- accesses --------------------------------------------------------------------------------------------- */

/* Reports an access that clashes with a product under way. The sums of one may only be the sums
   of another product, and its A may only be read. */
static void look_at_flights(CtCheckWorker *k, const CtAccess *a, const Warp *w, bool is_sum) {
  Flight f = range_of(a);
  for (size_t i = 0; i < w->n_flights; i++) {
    const Flight *old = &w->flights[i];
    bool clash = old->is_written ? !is_sum : a->writes;
    if (clash && meets(old, &f)) {
      note(k, a,
           !old->is_written ? CT_WGMMA_A
           : a->writes      ? CT_WGMMA_WRITE
                            : CT_WGMMA_READ,
           old->in, old->lo > f.lo ? old->lo : f.lo);
      return;
    }
  }
}

static void add_flight(CtCheckWorker *k, const CtAccess *a, Warp *w) {
  Flight f = range_of(a);
  f.group = w->n_groups;
  f.in = ct_check_index(k, a->in);
  size_t i = 0;
  while (i < w->n_flights &&
         !(w->flights[i].buf == f.buf && w->flights[i].lo == f.lo && w->flights[i].hi == f.hi)) {
    i++;
  }
  if (CT_GROW(k->check->alloc, w->flights, w->cap_flights, i + 1, NULL) != CT_OK) {
    k->no_memory = true;
    return;
  }
  w->flights[i] = f;
  w->n_flights = i < w->n_flights ? w->n_flights : i + 1;
}

static void look_at_fence(CtCheckWorker *k, const CtAccess *a, const Warp *w) {
  uint32_t touched = w->touched[a->buf->memory];
  if (touched != 0) {
    note(k, a, CT_WGMMA_FENCE, touched - 1, range_of(a).lo);
  } else if (!w->has_fenced && a->role == CT_ACCESS_DST) {
    note(k, a, CT_WGMMA_NO_FENCE, UINT32_MAX, range_of(a).lo);
  }
}

void ct_wgmma_access(CtCheckWorker *k, const CtAccess *a) {
  Warp *w = &k->wgmma->warps[a->w->index];
  uint32_t at = ct_check_index(k, a->in);
  if (!k->wgmma->is_operand[a->buf->memory]) {
    return;
  }
  bool is_wgmma = k->code[at].u.op == CT_SIMT_WGMMA;
  look_at_flights(k, a, w, is_wgmma && a->role == CT_ACCESS_DST);
  if (is_wgmma && a->role == CT_ACCESS_DST) {
    w->n_issued++;
    w->last = at;
    w->order = (w->order ^ (at + 1)) * 16777619u;
  }
  if (is_wgmma) {
    look_at_fence(k, a, w);
    add_flight(k, a, w);
  } else {
    w->touched[a->buf->memory] = at + 1;
  }
}

/* --- warp groups ------------------------------------------------------------------------------------------ */

enum { WARP_GROUP = 4 };

static const char *products(uint32_t n, char out[32]) {
  snprintf(out, 32, "%u products", n);
  return n == 0 ? "none" : out;
}

/* Reports that warps i and j of a warp group issued different products; i issued at least as
   many as j. */
static void note_apart(CtCheckWorker *k, int32_t i, int32_t j) {
  const Warp *a = &k->wgmma->warps[i], *b = &k->wgmma->warps[j];
  char text[300], n[32], m[32];
  snprintf(text, sizeof text,
           "wgmma: warp %d has issued %s, warp %d of its warp group %s; all four warps issue each "
           "product together, so let whole groups of 128 threads reach it",
           (int)i, products(a->n_issued, n), (int)j,
           a->n_issued == b->n_issued ? "others" : products(b->n_issued, m));
  ct_finding_note_text(k,
                       (CtFound){.kind = CT_CHECK_WGMMA,
                                 .in = a->last,
                                 .buf = 0,
                                 .block = k->k->block,
                                 .thread = ct_check_thread(i, 0)},
                       text);
}

void ct_wgmma_end_block(CtCheckWorker *k) {
  int32_t n = k->wgmma == NULL ? 0 : k->k->job->program->n_warps;
  for (int32_t i = 0; i < n; i++) {
    int32_t first = i - i % WARP_GROUP;
    const Warp *a = &k->wgmma->warps[first], *b = &k->wgmma->warps[i];
    if (a->order != b->order) {
      bool first_more = a->n_issued >= b->n_issued;
      note_apart(k, first_more ? first : i, first_more ? i : first);
      i = first + WARP_GROUP - 1; /* one finding for each warp group */
    }
  }
}

/* --- fence, commit, wait ---------------------------------------------------------------------------------- */

void ct_wgmma_order(CtCheckWorker *k, const CtIn *code, const CtWarp *warp) {
  if (k->wgmma == NULL) {
    return; /* a fence or a wait in a program without products */
  }
  Warp *w = &k->wgmma->warps[warp->index];
  size_t n = 0;
  switch (code->u.op) {
    case CT_SIMT_WGMMA_FENCE:
      w->has_fenced = true;
      memset(w->touched, 0, k->k->job->program->n_bufs * sizeof *w->touched);
      break;
    case CT_SIMT_WGMMA_COMMIT: w->n_groups++; break;
    default:
      for (size_t i = 0; i < w->n_flights; i++) {
        if ((int64_t)w->flights[i].group + code->imm >= (int64_t)w->n_groups) {
          w->flights[n++] = w->flights[i];
        }
      }
      w->n_flights = n;
      break;
  }
}
