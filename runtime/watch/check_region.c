/* check_region.c: the global memory that a launch uses, as `check` looks after it: which tensors the
   kernel reads and writes, and regions of those that overlap. */
#include "check_global.h"

/* --- what the kernel does ----------------------------------------------------------------------------- */

typedef struct Use {
  bool reads, writes;
} Use;

static void use_arg(const CtSimtProgram *p, Use *uses, const CtTileArg *arg, bool is_write) {
  if (arg->buf != 0 && p->bufs[arg->buf].space == CT_GLOBAL) {
    uses[arg->buf].writes = uses[arg->buf].writes || is_write;
    uses[arg->buf].reads = uses[arg->buf].reads || !is_write;
  }
}

static void use_code(const CtCheck *c, Use *uses, bool *releases) {
  const CtSimtProgram *p = c->job->program;
  for (uint32_t i = p->body; i < p->n_code; i++) {
    const CtIn *in = &p->code[i];
    const char *roles = ct_simt_roles[in->u.op];
    CtAtomicImm imm = {.imm = in->imm};
    if (in->u.op == CT_SIMT_ATOMIC) {
      uses[imm.u.buf].writes = uses[imm.u.buf].writes || imm.u.op != CT_OP_ATOMIC_LOAD;
      uses[imm.u.buf].reads = true;
      *releases = *releases || imm.u.op == CT_OP_ATOMIC_STORE;
    } else if (in->u.op == CT_SIMT_TMA) {
      const CtSimtTma *t = &p->tmas[in->imm];
      uses[t->global].writes = uses[t->global].writes || t->is_store;
      uses[t->global].reads = uses[t->global].reads || !t->is_store || t->reduce != 0;
    } else if (in->u.op == CT_SIMT_FENCE) {
      *releases = true;
    } else if (in->u.op >= CT_SIMT_COPY_4) {
      const CtTileOp *t = &p->tiles[in->imm];
      use_arg(p, uses, &t->dst, true);
      use_arg(p, uses, &t->a, false);
      use_arg(p, uses, &t->b, false);
      uses[t->dst.buf].reads = uses[t->dst.buf].reads || t->reads_dst;
    } else if (roles[3] == 'b') {
      uint32_t buf = in->c & ~(1u << 31);
      uses[buf].writes = uses[buf].writes || roles[0] >= 'a';
      uses[buf].reads = uses[buf].reads || roles[0] < 'a';
    }
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

/* Two that begin at no multiple of a granule from each other have bytes as granules. */
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

/* Joins the regions that overlap until none do. */
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
