/* check_region.c: which global memory a launch uses. It finds the tensors that the kernel reads
   and writes, and joins those whose memory overlaps into regions.

   Invariant: no two regions overlap, so each byte of global memory has at most one shadow word.
   A region's granule is the smallest element of its tensors, or smaller: every tensor of the
   region begins at a multiple of a granule from the region's beginning. */
#include "check_global.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/order.h"

/* --- what the kernel does ----------------------------------------------------------------------------- */

typedef struct Use {
  bool reads, writes;
  bool has[CT_GLOBAL_KINDS];
} Use;

static void use_operand(Use *use, const CtOperand *o, bool is_atomic, bool is_async) {
  use->reads = use->reads || o->reads;
  use->writes = use->writes || o->writes;
  if (o->reads || is_atomic) {
    CtGlobalKind kind = is_async     ? CT_GLOBAL_COPY
                        : !is_atomic ? CT_GLOBAL_READ
                        : o->writes  ? CT_GLOBAL_ATOMIC
                                     : CT_GLOBAL_LOAD;
    use->has[kind] = true;
  }
}

/* Is it an atomic operation, or a box of TMA that is added to what is there? */
static bool is_atomic(const CtSimtProgram *p, const CtIn *code, const CtOperand *o) {
  return ct_in_is(code, CT_INS_ATOMIC) ||
         (ct_in_is(code, CT_INS_TMA) && o->writes && p->tmas[code->imm].reduce != 0);
}

/* Is it a side of a copy that may be cp.async? As CtAccess.is_async. */
static bool is_async(const CtSimtProgram *p, const CtIn *code, const CtOperand *o) {
  return o->arg != NULL && o->role != CT_ACCESS_B && p->tiles[code->imm].op == CT_OP_COPY &&
         p->tiles[code->imm].async;
}

static void use_code(const CtSimtProgram *p, Use *uses) {
  for (uint32_t i = p->body; i < p->n_code; i++) {
    const CtIn *code = &p->code[i];
    CtOperand operands[CT_MAX_OPERANDS];
    for (int n = ct_simt_operands(p, code, operands); n-- > 0;) {
      const CtOperand *o = &operands[n];
      use_operand(&uses[o->buf], o, is_atomic(p, code, o), is_async(p, code, o));
    }
  }
}

/* --- regions -------------------------------------------------------------------------------------------- */

static void join(CtGlobalRegion *r, const CtGlobalRegion *by) {
  r->begin = r->begin < by->begin ? r->begin : by->begin;
  r->end = r->end > by->end ? r->end : by->end;
  r->is_written = r->is_written || by->is_written;
  r->is_read = r->is_read || by->is_read;
  for (int i = 0; i < CT_GLOBAL_KINDS; i++) {
    r->has[i] = r->has[i] || by->has[i];
  }
  r->granule = r->granule < by->granule ? r->granule : by->granule;
}

/* Halves the granule until the tensor begins at a multiple of it. Two tensors that are not a
   whole granule apart may end with granules of one byte. */
static void align(CtGlobalRegion *r, const char *begin) {
  while (r->granule > 1 && (uintptr_t)(begin - r->begin) % r->granule != 0) {
    r->granule /= 2;
  }
}

static bool overlap(const CtGlobalRegion *a, const CtGlobalRegion *b) {
  return a->begin < b->end && b->begin < a->end;
}

static int by_begin(const void *a, const void *b) {
  const CtGlobalRegion *x = a, *y = b;
  return (x->begin > y->begin) - (x->begin < y->begin);
}

/* The region of an address, which are in order; UINT32_MAX: none. */
static uint32_t find_region(const CtGlobal *g, const char *at) {
  size_t i; /* the first that ends after it */
  CT_FIRST_NOT_BEFORE(i, g->n_regions, g->regions[i].end <= at);
  return i < g->n_regions && g->regions[i].begin <= at ? (uint32_t)i : UINT32_MAX;
}

/* The memory that a buffer may be: one span, or that of each tensor that may be chosen. */
typedef struct Spans {
  const CtSimtSpan *span;
  CtSimtSpan own;
  size_t n;
} Spans;

static void find_spans(const CtSimtJob *job, const CtSimtBuf *buf, Spans *out) {
  const CtSimtLaunch *l = job->launch;
  out->n = buf->space == CT_GLOBAL;
  out->span = &out->own;
  if (out->n == 0) {
    return;
  }
  if (buf->list != 0) {
    const CtSimtList *list = &l->lists[job->program->bufs[buf->list].param];
    out->span = list->members;
    out->n = (size_t)list->n;
  } else if (buf->is_chosen) {
    out->span = l->memory;
    out->n = l->n_memory;
  } else {
    char *begin = l->slots[buf->slot].ptr;
    out->own = (CtSimtSpan){begin, begin + ct_simt_n_bytes(l, buf)};
  }
}

static size_t count_spans(const CtSimtJob *job) {
  size_t n = 0;
  for (uint32_t b = 1; b < job->program->n_bufs; b++) {
    Spans s;
    find_spans(job, &job->program->bufs[b], &s);
    n += s.n;
  }
  return n;
}

static void add_region(CtGlobal *g, CtGlobalRegion r) {
  for (uint32_t i = 0; i < g->n_regions; i++) {
    if (overlap(&g->regions[i], &r)) {
      join(&r, &g->regions[i]);
      g->regions[i] = g->regions[--g->n_regions];
      i = UINT32_MAX; /* from the first again: the larger one may overlap another */
    }
  }
  g->regions[g->n_regions++] = r;
}

static void add_regions(const CtSimtJob *job, CtGlobal *g, uint32_t b, Use use) {
  const CtSimtBuf *buf = &job->program->bufs[b];
  Spans s;
  find_spans(job, buf, &s);
  for (size_t i = 0; i < s.n; i++) {
    if (s.span[i].begin != s.span[i].end) {
      CtGlobalRegion r = {.begin = s.span[i].begin,
                          .end = s.span[i].end,
                          .is_written = use.writes,
                          .is_read = use.reads,
                          .granule = (uint32_t)ct_value_bytes(buf->dtype)};
      memcpy(r.has, use.has, sizeof r.has);
      add_region(g, r);
    }
  }
}

/* Adds a region for each tensor, joined with those that it overlaps. */
static bool add_all(CtArena *arena, const CtSimtJob *job, CtGlobal *g) {
  const CtSimtProgram *p = job->program;
  Use *uses = ct_arena_alloc(arena, p->n_bufs * sizeof *uses);
  if (uses == NULL) {
    return false;
  }
  use_code(p, uses);
  for (uint32_t b = 1; b < p->n_bufs; b++) {
    add_regions(job, g, b, uses[b]);
  }
  return true;
}

/* Finds the region of each buffer, once all are there. */
static uint32_t *find_regions(CtArena *arena, const CtSimtJob *job, CtGlobal *g) {
  uint32_t *region_of = ct_arena_alloc(arena, job->program->n_bufs * sizeof *region_of);
  for (uint32_t b = 1; region_of != NULL && b < job->program->n_bufs; b++) {
    Spans s;
    find_spans(job, &job->program->bufs[b], &s);
    region_of[b] = UINT32_MAX;
    for (size_t i = 0; i < s.n; i++) {
      uint32_t r = s.span[i].begin == s.span[i].end ? UINT32_MAX : find_region(g, s.span[i].begin);
      if (r != UINT32_MAX) {
        align(&g->regions[r], s.span[i].begin);
        g->any_written = g->any_written || g->regions[r].is_written;
      }
      region_of[b] = r;
    }
  }
  return region_of;
}

const CtGlobalRegion *ct_region_at(const CtGlobal *g, const CtAccess *a) {
  uint32_t r =
      a->buf->is_chosen ? find_region(g, (const char *)a->mem->ptr) : g->region_of[a->buf_index];
  return r == UINT32_MAX ? NULL : &g->regions[r];
}

CtStatus ct_region_make(CtArena *arena, CtGlobal *g, const CtSimtJob *jobs, int n,
                        uint32_t **region_of) {
  size_t n_spans = 1;
  bool ok = true;
  for (int i = 0; i < n; i++) {
    n_spans += count_spans(&jobs[i]);
  }
  g->regions = ct_arena_alloc(arena, n_spans * sizeof *g->regions);
  for (int i = 0; i < n && ok; i++) {
    ok = g->regions != NULL && add_all(arena, &jobs[i], g);
  }
  if (!ok) {
    return CT_ENOMEM;
  }
  qsort(g->regions, g->n_regions, sizeof *g->regions, by_begin);
  for (int i = 0; i < n && ok; i++) {
    region_of[i] = find_regions(arena, &jobs[i], g);
    ok = region_of[i] != NULL;
  }
  return ok ? CT_OK : CT_ENOMEM;
}
