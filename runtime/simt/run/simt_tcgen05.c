/* simt_tcgen05.c: handlers of tensor memory: TCGEN05_COPY, and what only watchers need. Products are in
   simt_wgmma.c. Tensor memory lies after the block's shared memory; see CtSpace. */
#include <string.h>

#include "simt_run.h"
#include "simt_watch.h"

/* The first warp of the block allocates and gives back, all its threads together. */
const CtIn *ct_simt_do_TCGEN05(const CtIn *in, CtWarp *w) {
  CtSyncKind kind = (CtSyncKind)(in->imm & 0xff);
  bool is_order = kind == CT_SYNC_BEFORE || kind == CT_SYNC_AFTER;
  if (!is_order && w->index == 0 && w->mask != w->live) {
    return ct_simt_fail_kind(w, in, ct_first_lane(w->mask), CT_FAIL_WARP_LANES);
  }
  if (w->mask != 0 && (is_order || w->index == 0)) {
    ct_simt_note_sync(&(CtSyncNote){.kind = kind,
                                    .in = in,
                                    .w = w,
                                    .lane = ct_first_lane(w->mask),
                                    .rank = w->worker->rank,
                                    .buf = (uint32_t)(in->imm >> 8)});
  }
  return in + 1;
}

/* --- copies --------------------------------------------------------------------------------------- */

typedef struct Copy {
  const CtIn *in;
  CtWarp *w;
  const CtTileArg *there, *own; /* tensor memory, and registers */
  const CtTileOp *t;
  bool is_load;
  int64_t n;       /* values of a thread in one atom */
  ptrdiff_t other; /* of a copy of two blocks: from this one's memory to the other one's */
} Copy;

static bool fail_lanes(const Copy *c, int lane, int64_t off) {
  (void)ct_simt_fail_kind(c->w, c->in, lane, CT_FAIL_TMEM_LANES);
  c->w->worker->fail.off = off;
  c->w->worker->fail.buf = c->there->buf;
  return false;
}

/* Lanes 32 w .. 32 w + 31 of tensor memory are those of warp w of each four. */
static bool is_of_warp(const Copy *c, int64_t off) {
  int64_t lane = off * ct_dtype_width(c->t->dtype) / 32 % CT_TMEM_LANES;
  return lane / CT_LANES == c->w->index % 4;
}

/* An instruction begins at lane 0 of the warp's, or at lane 16. */
static bool begins_at_half(const Copy *c, int64_t first) {
  enum { HALF_LANES = CT_LANES / 2 };
  return first * ct_dtype_width(c->t->dtype) % (HALF_LANES * 32) == 0;
}

/* The instruction takes the address of the warp's first value; what it then reaches must be each thread's part. */
static bool check_lane(const Copy *c, int lane, int64_t atom, int64_t first) {
  const CtMem *mem = &c->w->mem[c->there->buf];
  for (int64_t i = 0; i < c->n; i++) {
    int64_t off = ct_simt_arg_offset(c->w, c->there, lane, i, atom);
    if ((uint64_t)off >= (uint64_t)mem->n) {
      ct_simt_fail_bounds(c->w, c->in, lane, c->there->buf, off, !c->is_load);
      return false;
    }
    if (off != first + c->t->place[lane * c->n + i] || !is_of_warp(c, off)) {
      return fail_lanes(c, lane, off);
    }
  }
  return true;
}

static char *at(const Copy *c, const CtTileArg *arg, int lane, int64_t i, int64_t atom) {
  const CtMem *mem = &c->w->mem[arg->buf];
  return mem->ptr + ct_simt_arg_offset(c->w, arg, lane, i, atom) * (int64_t)mem->elem_bytes +
         (int64_t)lane * (int64_t)mem->lane_bytes;
}

static void move_lane(const Copy *c, int lane, int64_t atom) {
  size_t bytes = ct_value_bytes(c->t->dtype);
  for (int64_t i = 0; i < c->n; i++) {
    char *there = at(c, c->there, lane, i, atom), *own = at(c, c->own, lane, i, atom);
    memcpy(c->is_load ? own : there, c->is_load ? there : own, bytes);
  }
}

static bool copy_atom(const Copy *c, int64_t atom) {
  int64_t first = ct_simt_arg_offset(c->w, c->there, 0, 0, atom);
  if (!begins_at_half(c, first)) {
    return fail_lanes(c, 0, first);
  }
  for (int lane = 0; lane < CT_LANES; lane++) {
    if (!check_lane(c, lane, atom, first)) {
      return false;
    }
  }
  for (int lane = 0; lane < CT_LANES; lane++) {
    move_lane(c, lane, atom);
  }
  return true;
}

/* --- copies of scales ----------------------------------------------------------------------------- */

const CtWorker *ct_simt_pair(const CtIn *in, CtWarp *w) {
  CtWorker *k = w->worker;
  if (ct_simt_has_ended(&k->team[k->rank ^ 1])) {
    (void)ct_simt_fail_kind(w, in, ct_first_lane(w->mask), CT_FAIL_REMOTE_ENDED);
    k->fail.off = k->rank ^ 1;
    k->fail.buf = k->job->program->tiles[in->imm].dst.buf;
    return NULL;
  }
  return &k->team[k->rank & ~1];
}

/* What is at a place of this block's memory, in the block that shares the copy: `moved` bytes further. */
static void cp_to_warps(const CtMem *from, const CtMem *to, int64_t src, int64_t dst,
                        ptrdiff_t moved) {
  enum { WARPS = 4, BYTES_OF_LANES = CT_LANES * 4 };
  for (int warp = 0; warp < WARPS; warp++) { /* each warp has its own copy */
    to->ptr[dst + warp * BYTES_OF_LANES + moved] = from->ptr[src + moved];
  }
}

static bool cp_byte(const Copy *c, int lane, int64_t i, int64_t atom) {
  const CtMem *from = &c->w->mem[c->own->buf], *to = &c->w->mem[c->there->buf];
  int64_t src = ct_simt_arg_offset(c->w, c->own, lane, i, atom);
  int64_t dst = ct_simt_arg_offset(c->w, c->there, lane, i, atom);
  bool is_src = (uint64_t)src < (uint64_t)from->n, is_dst = (uint64_t)dst < (uint64_t)to->n;
  if (!is_src || !is_dst) {
    ct_simt_fail_bounds(c->w, c->in, lane, is_src ? c->there->buf : c->own->buf, is_src ? dst : src,
                        is_src);
    return false;
  }
  cp_to_warps(from, to, src, dst, 0);
  if (c->t->blocks == 2) {
    cp_to_warps(from, to, src, dst, c->other);
  }
  return true;
}

/* One thread copies 512 bytes at a time, at once; in both blocks of a pair, each from its own shared memory. */
const CtIn *ct_simt_do_TCGEN05_CP(const CtIn *in, CtWarp *w) {
  const CtSimtProgram *p = w->worker->job->program;
  const CtTileOp *t = &p->tiles[in->imm];
  Copy c = {.in = in, .w = w, .there = &t->dst, .own = &t->a, .t = t};
  int lane = ct_first_lane(w->mask);
  if ((w->mask & (w->mask - 1)) != 0) {
    (void)ct_simt_fail_kind(w, in, lane, CT_FAIL_ISSUE);
    w->worker->fail.off = __builtin_popcount(w->mask);
    return NULL;
  }
  if (t->blocks == 2 && w->mask != 0) {
    const CtWorker *pair = ct_simt_pair(in, w);
    if (pair == NULL) {
      return NULL;
    }
    c.other = pair[(w->worker->rank & 1) ^ 1].shared - w->worker->shared;
  }
  int64_t n = p->modes[t->dst.mode[0]].n, atoms = w->mask == 0 ? 0 : p->modes[t->dst.mode[1]].n;
  for (int64_t i = 0; i < n * atoms; i++) {
    if (!cp_byte(&c, lane, i % n, i / n)) {
      return NULL;
    }
  }
  return in + 1;
}

/* --- copies of a warp ----------------------------------------------------------------------------- */

const CtIn *ct_simt_do_TCGEN05_COPY(const CtIn *in, CtWarp *w) {
  const CtSimtProgram *p = w->worker->job->program;
  const CtTileOp *t = &p->tiles[in->imm];
  bool is_load = p->bufs[t->a.buf].space == CT_TENSOR;
  Copy c = {.in = in,
            .w = w,
            .there = is_load ? &t->a : &t->dst,
            .own = is_load ? &t->dst : &t->a,
            .t = t,
            .is_load = is_load,
            .n = p->modes[t->dst.mode[0]].n};
  if (w->mask != CT_ALL_LANES) {
    return ct_simt_fail_kind(w, in, ct_first_lane(w->mask),
                             w->mask != w->live ? CT_FAIL_WARP_LANES : CT_FAIL_WARP_ENDED);
  }
  for (int64_t i = 0; i < p->modes[t->dst.mode[1]].n; i++) {
    if (!copy_atom(&c, i)) {
      return NULL;
    }
  }
  return in + 1;
}
