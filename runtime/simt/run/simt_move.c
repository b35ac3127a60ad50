/* simt_move.c: the handler of WARP_COPY: ldmatrix, stmatrix, movmatrix and exchanges of lanes, by
   the table that lowering made from the atom's layouts. It gathers an atom's elements from all
   lanes that have some; then each lane takes its own. It needs no special instruction set. */
#include <string.h>

#include "simt_run.h"

/* Moves elements [0, n) of atom `atom` of one lane to or from 16 bytes; false after reporting an
   element outside. */
typedef struct Side {
  const CtIn *in;
  CtWarp *w;
  const CtTileArg *arg;
  const CtMem *mem;
  int n;
  bool is_write;
  int n_runs; /* of neighbouring elements: in memory a row is one, in registers each element */
  size_t run_bytes;
  int64_t off[CT_MOVE_BYTES]; /* of a lane's runs; in registers the same for all lanes */
} Side;

static Side open_side(const CtIn *in, CtWarp *w, const CtTileArg *arg, int n, bool is_write) {
  const CtMem *mem = &w->mem[arg->buf];
  bool is_row = mem->lane_bytes == 0;
  size_t bytes = ct_value_bytes(w->worker->job->program->tiles[in->imm].dtype);
  return (Side){.in = in,
                .w = w,
                .arg = arg,
                .mem = mem,
                .n = n,
                .is_write = is_write,
                .n_runs = is_row ? 1 : n,
                .run_bytes = is_row ? (size_t)n * mem->elem_bytes : bytes};
}

/* Are those n elements inside? */
static bool check(const Side *s, int lane, int64_t off, int n) {
  int64_t end = s->mem->n, first = off < 0 || off >= end ? off : end;
  if (first == end && off <= end - n) {
    return true;
  }
  ct_simt_fail_bounds(s->w, s->in, lane, s->arg->buf, first, s->is_write);
  return false;
}

static bool find(Side *s, int lane, int64_t atom) {
  int n = s->n / s->n_runs;
  for (int i = 0; i < s->n_runs; i++) {
    s->off[i] = ct_simt_arg_offset(s->w, s->arg, lane, i, atom);
    if (!check(s, lane, s->off[i], n)) {
      return false;
    }
  }
  return true;
}

static bool find_in(Side *s, int lane, int64_t atom, bool *found) {
  bool ok = *found || find(s, lane, atom);
  *found = s->mem->lane_bytes != 0; /* registers: the same places in all lanes */
  return ok;
}

static char *address(const Side *s, int i, int lane) {
  return s->mem->ptr + s->off[i] * (int64_t)s->mem->elem_bytes +
         (int64_t)lane * (int64_t)s->mem->lane_bytes;
}

/* memcpy; these sizes need no call. */
static void copy(char *to, const char *from, size_t bytes) {
  switch (bytes) {
    case 2: memcpy(to, from, 2); break;
    case 4: memcpy(to, from, 4); break;
    case 16: memcpy(to, from, 16); break;
    default: memcpy(to, from, bytes);
  }
}

/* Elements to 16 bytes of each lane, or back. */
static bool gather(Side *s, uint32_t lanes, int64_t atom, char *data) {
  bool found = false;
  for (; lanes != 0; lanes &= lanes - 1) {
    int lane = ct_first_lane(lanes);
    if (!find_in(s, lane, atom, &found)) {
      return false;
    }
    for (int i = 0; i < s->n_runs; i++) {
      copy(data + lane * CT_MOVE_BYTES + (size_t)i * s->run_bytes, address(s, i, lane),
           s->run_bytes);
    }
  }
  return true;
}

static bool scatter(Side *s, uint32_t lanes, int64_t atom, const char *data) {
  bool found = false;
  for (; lanes != 0; lanes &= lanes - 1) {
    int lane = ct_first_lane(lanes);
    if (!find_in(s, lane, atom, &found)) {
      return false;
    }
    for (int i = 0; i < s->n_runs; i++) {
      copy(address(s, i, lane), data + lane * CT_MOVE_BYTES + (size_t)i * s->run_bytes,
           s->run_bytes);
    }
  }
  return true;
}

/* Granules of so many bytes, n for each lane. */
static inline void permute_by(size_t granule, const CtMove *m, size_t n, const char *from,
                              char *to) {
  for (size_t lane = 0; lane < CT_LANES; lane++) {
    const uint16_t *places = m->from + lane * n;
    for (size_t i = 0; i < n; i++) {
      memcpy(to + lane * CT_MOVE_BYTES + i * granule, from + places[i], granule);
    }
  }
}

static void permute(const CtMove *m, size_t bytes, const char *from, char *to) {
  size_t n = (size_t)m->n_dst * bytes / (size_t)m->bytes;
  if (m->bytes == 2) {
    permute_by(2, m, n, from, to);
  } else {
    permute_by(1, m, n, from, to);
  }
}

const CtIn *ct_simt_do_WARP_COPY(const CtIn *in, CtWarp *w) {
  const CtSimtProgram *p = w->worker->job->program;
  const CtTileOp *t = &p->tiles[in->imm];
  const CtMove *m = t->move;
  size_t bytes = ct_value_bytes(t->dtype);
  Side src = open_side(in, w, &t->a, m->n_src, false);
  Side dst = open_side(in, w, &t->dst, m->n_dst, true);
  char from[CT_LANES * CT_MOVE_BYTES] = {0}, to[CT_LANES * CT_MOVE_BYTES];
  if (w->mask != CT_ALL_LANES) {
    return ct_simt_fail_kind(w, in, ct_first_lane(w->mask),
                             w->mask != w->live ? CT_FAIL_WARP_LANES : CT_FAIL_WARP_ENDED);
  }
  int64_t n = p->modes[t->dst.mode[1]].n;
  for (int64_t i = 0; i < n; i++) {
    if (!gather(&src, m->readers, i, from)) {
      return NULL;
    }
    permute(m, bytes, from, to);
    if (!scatter(&dst, m->writers, i, to)) {
      return NULL;
    }
    if (ct_simt_stops_at(w, i + 1)) {
      return ct_simt_stop(w, in);
    }
  }
  return in + 1;
}
