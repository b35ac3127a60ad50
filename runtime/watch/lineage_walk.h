/* lineage_walk.h: a walk backwards through the history of a cluster: which places are still wanted, and the trail that it
   leaves. For lineage_slice.c, which walks over instructions, and lineage_box.c, which walks over boxes of TMA. */
#ifndef CT_WATCH_LINEAGE_WALK_H
#define CT_WATCH_LINEAGE_WALK_H

#include "lineage_places.h"

/* The walk, at a step. */
typedef struct CtSlice {
  const CtSimtProgram *p;
  const CtHistory *r;
  const CtStep *step;
  const CtIn *code;
  int across; /* of a product of two blocks: 1 while operands are taken as the other block has them; else 0 */
  CtPlaces wanted;
  CtLineageRows *rows;
} CtSlice;

/* Adds a row of the step: what a lane of it did. */
static inline void ct_slice_add_row_of(CtSlice *s, CtLineageKind kind, int lane, uint32_t buf,
                                       int64_t off, int64_t owner) {
  CtLineageRow row = {.kind = kind,
                      .loc = s->p->locs[s->code - s->p->code],
                      .block = s->r->team[s->step->rank].block,
                      .owner = owner,
                      .thread = s->step->warp * CT_LANES + lane,
                      .buf = buf,
                      .off = off,
                      .order = (uint32_t)(s->step - s->r->steps),
                      .n = ct_in_row(s->code)->moves == CT_MOVES_NOT};
  ct_lineage_add(s->rows, &row);
}

static inline void ct_slice_add_computes(CtSlice *s, int lane) {
  ct_slice_add_row_of(s, CT_LINEAGE_COMPUTES, lane, 0, 0, s->r->team[s->step->rank].block);
}

/* Adds a mark of the step to the trail, if somebody reads it. */
static inline void ct_slice_mark(CtSlice *s, CtTrailKind kind, uint64_t place, int lane) {
  CtTrail *t = s->rows->trail;
  if (t == NULL) {
    return;
  }
  if (CT_GROW(s->rows->alloc, t->mark, t->cap, t->n + 1, NULL) != CT_OK) {
    s->rows->failed = true;
    return;
  }
  t->mark[t->n] = (CtTrailMark){.kind = kind, .place = place};
  CtTrailMark *m = &t->mark[t->n++];
  if (kind != CT_TRAIL_BEGIN) {
    m->step = (uint32_t)(s->step - s->r->steps);
    m->code = (uint32_t)(s->code - s->p->code);
    m->thread = s->step->warp * CT_LANES + lane;
    m->block = s->r->team[s->step->rank].block;
  }
}

static inline void ct_slice_want(CtSlice *s, uint64_t place, int lane) {
  ct_places_want(&s->wanted, place);
  ct_slice_mark(s, CT_TRAIL_WANT, place, lane);
}

/* The operand that begins at the first place has more places. */
static inline void ct_slice_want_all(CtSlice *s, uint64_t place, int64_t n, int lane) {
  ct_slice_want(s, place, lane);
  for (int64_t i = 1; i < n; i++) {
    ct_places_want(&s->wanted, place + (uint64_t)i);
    ct_slice_mark(s, CT_TRAIL_BYTE, place + (uint64_t)i, lane);
  }
}

/* The operand is 0, from no memory: a place that nothing else has. */
static inline void ct_slice_want_zero(CtSlice *s, int lane) {
  ct_slice_mark(s, CT_TRAIL_WANT, CT_TRAIL_NOWHERE, lane);
}

/* Was the place wanted? It is not any more. */
static inline bool ct_slice_take(CtSlice *s, uint64_t place, int lane) {
  bool is_wanted = ct_places_take(&s->wanted, place);
  if (is_wanted) {
    ct_slice_mark(s, CT_TRAIL_TAKE, place, lane);
  }
  return is_wanted;
}

/* Says which element of global memory the first of `n` places is that were wanted last. */
static inline void ct_slice_name_wanted(CtSlice *s, int64_t n, uint32_t i, int64_t off) {
  const CtSimtBuf *buf = &s->p->bufs[i];
  CtTrail *t = s->rows->trail;
  if (t != NULL && !s->rows->failed && buf->space == CT_GLOBAL) {
    CtTrailMark *m = &t->mark[t->n - (size_t)n];
    m->buf = buf->memory;
    m->off = ct_dtype_count(buf->of, ct_dtype_byte(buf->dtype, off));
  }
}

/* Notes an event, with elements counted in the tensor for which the memory was made. */
static inline void ct_slice_note_in(CtSlice *s, CtLineageKind kind, uint32_t i, int64_t off,
                                    int lane, int64_t owner) {
  const CtSimtBuf *buf = &s->p->bufs[i];
  int64_t end = ct_dtype_byte(buf->dtype, off) + (int64_t)ct_value_bytes(buf->dtype);
  for (int64_t e = ct_dtype_count(buf->of, ct_dtype_byte(buf->dtype, off));
       ct_dtype_byte(buf->of, e) < end; e++) {
    ct_slice_add_row_of(s, kind, lane, buf->memory, e, owner);
  }
}

/* lineage_box.c: a step that moves boxes. */
void ct_slice_walk_boxes(CtSlice *s);

#endif
