/* lineage_box.c: walks backwards over boxes of TMA; lineage_slice.c has the walk. */
#include "lineage_walk.h"

#include "runtime/ir/ir_tma.h"

static bool take_bytes(CtSlice *s, const char *at, int64_t n, int lane) {
  bool found = false;
  for (int64_t i = 0; i < n; i++) {
    found |= ct_slice_take(s, memory_place(at + i), lane);
  }
  return found;
}

/* Walks over an element of a box in a block: a load wrote it there, or a store read it. */
static void walk_element(CtSlice *s, const CtSimtTma *t, const CtHistoryBox *b, const CtTmaUnit *u,
                         int rank, int64_t i) {
  int64_t bytes = (int64_t)ct_value_bytes(t->dtype), owner = s->r->team[rank].block;
  const char *in_shared = s->r->team[rank].shared + u->place + i;
  const char *in_global = b->global + u->off + i;
  int64_t at_shared = ct_dtype_count(t->dtype, u->place + i - s->p->bufs[t->shared].at);
  int64_t at_global = ct_dtype_count(t->dtype, u->off + i);
  int64_t source = t->is_send ? s->r->team[s->step->rank].block : owner;
  bool is_inside = i >= u->from && i < u->to;
  if (!t->is_store && take_bytes(s, in_shared, bytes, b->lane)) {
    ct_slice_note_in(s, CT_LINEAGE_WRITES, t->shared, at_shared, b->lane, owner);
    if (is_inside) {
      ct_slice_want_all(s, memory_place(in_global), bytes, b->lane);
      ct_slice_name_wanted(s, bytes, t->global, at_global);
      ct_slice_note_in(s, CT_LINEAGE_READS, t->global, at_global, b->lane, source);
    } else {
      ct_slice_want_zero(s, b->lane);
      ct_slice_add_row_of(s, CT_LINEAGE_ZEROS, b->lane, s->p->bufs[t->global].memory, 0, owner);
    }
  } else if (t->is_store && is_inside && take_bytes(s, in_global, bytes, b->lane)) {
    ct_slice_note_in(s, CT_LINEAGE_WRITES, t->global, at_global, b->lane, owner);
    ct_slice_want_all(s, memory_place(in_shared), bytes, b->lane);
    ct_slice_note_in(s, CT_LINEAGE_READS, t->shared, at_shared, b->lane, owner);
    if (t->reduce != CT_TMA_NONE) {
      ct_slice_want_all(s, memory_place(in_global), bytes, b->lane);
      ct_slice_name_wanted(s, bytes, t->global, at_global);
      ct_slice_note_in(s, CT_LINEAGE_READS, t->global, at_global, b->lane, owner);
      ct_slice_add_computes(s, b->lane);
    }
  }
}

void ct_slice_walk_boxes(CtSlice *s) {
  const CtSimtTma *t = &s->p->tmas[s->code->imm];
  for (uint32_t i = s->step->n_accesses; i-- > 0;) {
    const CtHistoryBox *b = &s->r->boxes[s->step->accesses + i];
    for (uint32_t ranks = b->ranks; ranks != 0; ranks &= ranks - 1) {
      for (int64_t u = 0; u < b->n; u++) {
        for (int64_t at = 0; at < CT_TMA_UNIT; at += ct_dtype_span(t->dtype, 1)) {
          walk_element(s, t, b, &b->units[u], ct_first_lane(ranks), at);
        }
      }
    }
  }
}
