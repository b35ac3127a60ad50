/* check_region.c: which global memory a launch uses. It finds the tensors that the kernel reads
   and writes, and joins those whose memory overlaps into regions.

   Invariant: no two regions overlap, so each byte of global memory has at most one shadow word.
   A region's granule is the smallest element of its tensors, or smaller: every tensor of the
   region begins at a multiple of a granule from the region's beginning. */
#include "check_global.h"

/* --- what the kernel does ----------------------------------------------------------------------------- */

typedef struct Use {
  bool reads, writes;
} Use;

static void use_code(const CtCheck *c, Use *uses, bool *releases) {
  const CtSimtProgram *p = c->job->program;
  for (uint32_t i = p->body; i < p->n_code; i++) {
    const CtIn *code = &p->code[i];
    const CtAtomicImm imm = {.imm = code->imm};
    CtOperand operands[CT_MAX_OPERANDS];
    for (int n = ct_simt_operands(p, code, operands); n-- > 0;) {
      Use *use = &uses[operands[n].buf];
      use->reads = use->reads || operands[n].reads;
      use->writes = use->writes || operands[n].writes;
    }
    *releases = *releases || code->u.op == CT_SIMT_FENCE || code->u.op == CT_SIMT_GRID_BARRIER ||
                (ct_in_is(code, CT_INS_ATOMIC) && imm.u.op == CT_OP_ATOMIC_STORE);
  }
}

/* --- regions -------------------------------------------------------------------------------------------- */

static void join(CtGlobalRegion *r, const CtGlobalRegion *by) {
  r->begin = r->begin < by->begin ? r->begin : by->begin;
  r->end = r->end > by->end ? r->end : by->end;
  r->is_written = r->is_written || by->is_written;
  r->is_read = r->is_read || by->is_read;
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

static uint32_t find_region(const CtGlobal *g, const char *begin, const char *end) {
  for (uint32_t i = 0; i < g->n_regions; i++) {
    if (g->regions[i].begin <= begin && end <= g->regions[i].end) {
      return i;
    }
  }
  return UINT32_MAX;
}

static CtGlobalRegion region_of(const CtSimtJob *job, uint32_t b, Use use) {
  const CtSimtBuf *buf = &job->program->bufs[b];
  const char *begin = job->launch->slots[buf->slot].ptr;
  int64_t n = ct_max(job->launch->n_elems[buf->param], 0) * (int64_t)ct_dtype_bytes(buf->of);
  return (CtGlobalRegion){.begin = begin,
                          .end = begin + n,
                          .is_written = use.writes,
                          .is_read = use.reads,
                          .granule = (uint32_t)ct_dtype_bytes(buf->dtype)};
}

/* Adds a region for each tensor, and joins regions until none overlap. A join makes a region
   larger, so the loop begins again: the larger one may overlap another. */
static void make_regions(const CtSimtJob *job, CtGlobal *g, const Use *uses) {
  for (uint32_t b = 1; b < job->program->n_bufs; b++) {
    CtGlobalRegion r = region_of(job, b, uses[b]);
    if (job->program->bufs[b].space != CT_GLOBAL || r.begin == r.end) {
      continue;
    }
    for (uint32_t i = 0; i < g->n_regions; i++) {
      if (overlap(&g->regions[i], &r)) {
        join(&r, &g->regions[i]);
        g->regions[i] = g->regions[--g->n_regions];
        i = UINT32_MAX; /* from the first again */
      }
    }
    g->regions[g->n_regions++] = r;
  }
  for (uint32_t b = 1; b < job->program->n_bufs; b++) {
    CtGlobalRegion r = region_of(job, b, uses[b]);
    bool is_global = job->program->bufs[b].space == CT_GLOBAL && r.begin != r.end;
    g->region_of[b] = is_global ? find_region(g, r.begin, r.end) : UINT32_MAX;
    if (is_global) {
      align(&g->regions[g->region_of[b]], r.begin);
    }
  }
}

CtStatus ct_region_make(CtCheck *c, CtGlobal *g, bool *releases) {
  const CtSimtProgram *p = c->job->program;
  Use *uses = ct_arena_alloc(&c->arena, p->n_bufs * sizeof *uses);
  g->regions = ct_arena_alloc(&c->arena, p->n_bufs * sizeof *g->regions);
  g->region_of = ct_arena_alloc(&c->arena, p->n_bufs * sizeof *g->region_of);
  if (uses == NULL || g->regions == NULL || g->region_of == NULL) {
    return CT_ENOMEM;
  }
  use_code(c, uses, releases);
  make_regions(c->job, g, uses);
  return CT_OK;
}
