/* check_unset.c: `check` of shared memory: reads of what the block has not written. The shadow's word
   of such a granule is of an earlier block. */
#include "check_parts.h"

static void look_at_unset(CtCheckWorker *k, const CtAccess *a, int lane, int64_t off) {
  int n;
  int64_t g = ct_shadow_granule(k, a->buf, off, &n);
  bool unset = false;
  for (int i = 0; i < n; i++) {
    if (k->shadow[g + i] < k->block_word) {
      unset = true;
      k->shadow[g + i] = k->block_word; /* once is enough */
    }
  }
  if (unset && CT_GROW(k->check->alloc, k->unset, k->cap_unset, k->n_unset + 1, NULL) == CT_OK) {
    CtCheckKind kind = a->buf->space == CT_TENSOR ? CT_CHECK_TENSOR : CT_CHECK_UNINIT_SHARED;
    CtFound f = ct_finding_of(k, kind, a, lane, off);
    f.begin = NULL; /* of the block's own memory */
    f.agent = a->agent;
    k->unset[k->n_unset++] = (CtUnset){f, g};
  }
  k->no_memory = k->no_memory || (unset && k->cap_unset == 0);
}

void ct_unset_tell(CtCheckWorker *k) {
  for (size_t i = 0; i < k->n_unset && !k->no_memory; i++) {
    const CtFound *f = &k->unset[i].f;
    uint32_t word = k->shadow[k->unset[i].granule];
    bool by_other = k->clocks == NULL && word >= k->epoch_word &&
                    ct_check_thread(ct_shadow_event(k, word >> CT_EVENT_LANE_BITS)->warp,
                                    (int)(word & CT_EVENT_LANE)) != f->thread;
    if (!by_other) {
      ct_finding_note(k, f);
    }
  }
  k->n_unset = 0;
}

static bool is_run_set(const uint32_t *shadow, uint32_t block_word) {
  uint32_t unset = 0;
  for (int i = 0; i < CT_LANES; i++) {
    unset |= (uint32_t)(shadow[i] < block_word);
  }
  return unset == 0;
}

/* Is everything from lo to hi initialised, also places that are not elements of the operand? */
static bool is_range_set(const uint32_t *shadow, CtRange r, uint32_t block_word) {
  uint32_t unset = 0;
  int64_t g = r.lo;
  for (; g + CT_LANES <= r.hi + 1; g += CT_LANES) {
    for (int i = 0; i < CT_LANES; i++) {
      unset |= (uint32_t)(shadow[g + i] < block_word);
    }
  }
  for (; g <= r.hi; g++) {
    unset |= (uint32_t)(shadow[g] < block_word);
  }
  return unset == 0;
}

/* The lanes of the mask without those that have the offset of an earlier lane. */
static uint32_t distinct_lanes(const CtAccess *a) {
  uint32_t lanes = 0;
  for (uint32_t rest = a->mask; rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    bool is_new = true;
    for (uint32_t seen = lanes; is_new && seen != 0; seen &= seen - 1) {
      is_new = a->pos[ct_first_lane(seen)] != a->pos[lane];
    }
    lanes |= is_new ? 1u << lane : 0;
  }
  return lanes;
}

enum { MANY = 16 }; /* elements, for which it pays to find the distinct lanes */

/* Are all elements of the access initialised? Each element is one granule. */
static bool are_all_set(const CtCheckWorker *k, const CtAccess *a) {
  int64_t n_cols = a->n / a->n_rows;
  uint32_t lanes = a->n < MANY ? a->mask : distinct_lanes(a), unset = 0;
  const uint32_t *shadow = &k->shadow[a->buf->at >> k->granule_bits];
  for (int64_t j = 0; j < n_cols && unset == 0; j++) {
    for (int64_t i = 0; i < a->n_rows; i++) {
      int64_t first = a->base + (a->rows != NULL ? a->rows[i] : i * a->step) +
                      (a->cols != NULL ? a->cols[j] : 0);
      for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        unset |= (uint32_t)(shadow[first + a->pos[ct_first_lane(rest)]] < k->block_word);
      }
    }
  }
  return unset == 0;
}

static bool is_set(const CtCheckWorker *k, const CtAccess *a, CtRange r) {
  if (a->is_inside && r.hi - r.lo < a->n * CT_LANES && is_range_set(k->shadow, r, k->block_word)) {
    return true;
  }
  return a->is_regular && a->pos != a->own_pos &&
         ct_value_bytes(a->buf->dtype) == k->check->granule && are_all_set(k, a);
}

/* Is the first granule of each element of these lanes initialised, and is it the only one? */
static bool is_row_set(const CtCheckWorker *k, const CtAccess *a, uint32_t lanes,
                       const int64_t off[CT_LANES]) {
  const uint32_t *shadow = &k->shadow[a->buf->at >> k->granule_bits];
  uint32_t unset = (uint32_t)(ct_value_bytes(a->buf->dtype) != k->check->granule);
  for (uint32_t rest = unset == 0 ? lanes : 0; rest != 0; rest &= rest - 1) {
    unset |= (uint32_t)(shadow[off[ct_first_lane(rest)]] < k->block_word);
  }
  return unset == 0;
}

void ct_unset_look(CtCheckWorker *k, const CtAccess *a, CtRange r) {
  if (is_set(k, a, r)) {
    return;
  }
  bool run = a->is_regular && ct_shadow_is_run(k, a);
  int n;
  for (int64_t e = 0; e < a->n; e++) {
    int64_t off[CT_LANES];
    if (run) {
      int64_t g = ct_shadow_granule(k, a->buf, ct_access_offset(a, e, 0), &n);
      if (is_run_set(&k->shadow[g], k->block_word)) {
        continue;
      }
    }
    uint32_t rest = ct_access_row(a, e, off);
    for (rest = is_row_set(k, a, rest, off) ? 0 : rest; rest != 0; rest &= rest - 1) {
      look_at_unset(k, a, ct_first_lane(rest), off[ct_first_lane(rest)]);
    }
  }
}
