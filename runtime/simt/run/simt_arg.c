/* simt_arg.c: where the elements of a tile operation's operands are, of one lane; which of them guards leave
   out; patterns of addresses, classified once per launch and warp. */
#include "simt_run.h"

#include <string.h>

#include "simt_scalar.h"

/* --- patterns and tables -------------------------------------------------------------------------- */

/* Of chunks of 1 << level lanes. The masks say which lanes are at the place after that of the lane before, and which
   are at the same. */
static CtChunkKind classify(uint32_t after, uint32_t same, int level) {
  uint64_t begins =
      CT_ALL_LANES / ((UINT64_C(1) << (1 << level)) - 1); /* the first lanes of chunks */
  return (after | begins) == CT_ALL_LANES  ? CT_CONTIGUOUS
         : (same | begins) == CT_ALL_LANES ? CT_SAME
                                           : CT_GATHER;
}

void ct_simt_pattern_i64(const int64_t *lanes, CtPattern *p) {
  uint32_t after = 0, same = 0;
  memcpy(p->pos, lanes, sizeof p->pos);
  p->lo = p->hi = lanes[0];
  for (int i = 1; i < CT_LANES; i++) {
    after |= (uint32_t)(SUB_i64(lanes[i], lanes[i - 1]) == 1) << i;
    same |= (uint32_t)(lanes[i] == lanes[i - 1]) << i;
    p->lo = ct_min(p->lo, lanes[i]);
    p->hi = ct_max(p->hi, lanes[i]);
  }
  ct_range_close(&p->lo, &p->hi);
  p->kind[0] = CT_CONTIGUOUS;
  uint8_t wider = CT_GATHER;
  for (int level = CT_LEVELS - 1; level > 0; level--) { /* halves of a chunk are as the chunk is */
    wider = wider != CT_GATHER ? wider : (uint8_t)classify(after, same, level);
    p->kind[level] = wider;
  }
}

void ct_simt_pattern_i32(const int32_t *lanes, CtPattern *p) {
  int64_t wide[CT_LANES];
  for (int i = 0; i < CT_LANES; i++) {
    wide[i] = lanes[i];
  }
  ct_simt_pattern_i64(wide, p);
}

/* --- elements ------------------------------------------------------------------------------------------- */

/* Where element (0, 0) of a lane is. */
int64_t ct_simt_arg_base(const CtWarp *w, const CtTileArg *arg, int lane) {
  if (arg->lanes.kind != CT_REF_STATIC) {
    return ct_ref_value(w, arg->lanes, lane);
  }
  int64_t base = ADD_i64(CT_CAT(CtScalar, w, arg->base)->i, arg->imm);
  return arg->pattern == 0 ? base : ADD_i64(base, CT_CAT(CtPattern, w, arg->pattern)->pos[lane]);
}

static int64_t mode_offset(const CtWarp *w, uint32_t mode, int lane, int64_t e) {
  const CtTileMode *m = &w->worker->job->program->modes[mode];
  if (m->fixed != NULL) {
    return m->fixed->off[e];
  }
  return m->table != 0 ? CT_CAT(CtTable, w, m->table)->off[e] : ct_mode_offset(w, m, lane, e);
}

int64_t ct_simt_arg_offset(const CtWarp *w, const CtTileArg *arg, int lane, int64_t i, int64_t j) {
  int64_t off = ADD_i64(ct_simt_arg_base(w, arg, lane), mode_offset(w, arg->mode[0], lane, i));
  off = ADD_i64(off, mode_offset(w, arg->mode[1], lane, j));
  return ct_swizzle_at(arg->swizzle, arg->is_i32 ? CAST_i32_i64(off) : off);
}

bool ct_simt_mode_size(const CtWarp *w, uint32_t mode, int lane, int64_t *n) {
  const CtTileMode *m = &w->worker->job->program->modes[mode];
  *n = m->n;
  if (m->n >= 0) {
    return true;
  }
  *n = 1;
  for (uint32_t i = 0; i < m->n_leaves; i++) {
    int64_t extent = ct_ref_value(w, m->leaves[i].extent, lane);
    if (extent < 0 || ct_mul_overflow(*n, extent, n)) {
      return false;
    }
  }
  return true;
}

static const CtTileGuard *guard_of(const CtWarp *w, const CtTileArg *arg, uint32_t i) {
  return &w->worker->job->program->guards[arg->guard + i];
}

bool ct_simt_arg_is_inside(const CtWarp *w, const CtTileArg *arg, int lane, int64_t i, int64_t j) {
  for (uint32_t n = 0; n < arg->n_guards; n++) {
    const CtTileGuard *g = guard_of(w, arg, n);
    int64_t crd =
        ADD_i64(ct_simt_arg_base(w, &g->at, lane), mode_offset(w, g->at.mode[0], lane, i));
    crd = ADD_i64(crd, mode_offset(w, g->at.mode[1], lane, j));
    crd = g->at.is_i32 ? CAST_i32_i64(crd) : crd;
    if (crd >= ct_ref_value(w, g->bound, lane)) {
      return false;
    }
  }
  return true;
}

/* --- guards ------------------------------------------------------------------------------------- */

/* Every element of every lane is known to be inside: the largest coordinate is. */
static bool is_whole(const CtWarp *w, const CtTileGuard *g) {
  const CtTable *rows = ct_simt_table(w, g->at.mode[0]), *cols = ct_simt_table(w, g->at.mode[1]);
  if (rows == NULL || cols == NULL || rows->lo > rows->hi || cols->lo > cols->hi ||
      g->at.lanes.kind != CT_REF_STATIC ||
      (g->bound.kind != CT_REF_STATIC && g->bound.kind != CT_REF_SCALAR)) {
    return false;
  }
  const CtPattern *p = g->at.pattern == 0 ? NULL : CT_CAT(CtPattern, w, g->at.pattern);
  int64_t top = CT_CAT(CtScalar, w, g->at.base)->i;
  const int64_t parts[] = {g->at.imm, rows->hi, cols->hi, p == NULL ? 0 : p->hi};
  for (size_t i = 0; i < CT_ARRAY_LEN(parts); i++) {
    if (ct_add_overflow(top, parts[i], &top)) {
      return false;
    }
  }
  bool wraps = g->at.is_i32 && top < INT32_MIN; /* a sum of parts, none of which does */
  return (p == NULL || p->lo <= p->hi) && !wraps && top < ct_ref_value(w, g->bound, 0);
}

static bool is_whole_arg(const CtWarp *w, const CtTileArg *arg) {
  for (uint32_t i = 0; i < arg->n_guards; i++) {
    if (!is_whole(w, guard_of(w, arg, i))) {
      return false;
    }
  }
  return true;
}

bool ct_simt_is_whole(const CtIn *in, const CtWarp *w) {
  const CtTileOp *t = &w->worker->job->program->tiles[in->imm];
  return is_whole_arg(w, &t->dst) && is_whole_arg(w, &t->a) && is_whole_arg(w, &t->b);
}

const CtIn *ct_simt_do_GUARD(const CtIn *in, CtWarp *w) {
  return ct_simt_is_whole(in, w) ? in + 1 : ct_simt_do_TILE(in + 1, w);
}
