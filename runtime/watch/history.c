/* history.c: recording the steps of a cluster's blocks; see history.h. */
#include "history.h"

#include <string.h>

#include "runtime/base/size.h"
#include "runtime/ir/ir_tma.h"

static const int64_t not_accessed = INT64_MIN;

void ct_history_init(CtHistory *r, CtAlloc alloc, size_t max_bytes) {
  *r = (CtHistory){.alloc = alloc, .max_bytes = max_bytes};
  ct_arena_init(&r->arena, alloc);
}

void ct_history_reset(CtHistory *r, const CtWorker *team) {
  ct_arena_reset(&r->arena);
  r->team = team;
  r->n_steps = r->n_accesses = r->n_boxes = r->bytes = 0;
}

void ct_history_clear(CtHistory *r) {
  ct_arena_clear(&r->arena);
  ct_free(r->alloc, r->steps, r->cap_steps * sizeof *r->steps);
  ct_free(r->alloc, r->accesses, r->cap_accesses * sizeof *r->accesses);
  ct_free(r->alloc, r->own_offsets, r->cap_offsets * sizeof *r->own_offsets);
  ct_free(r->alloc, (void *)r->ptrs, r->cap_ptrs * sizeof *r->ptrs);
  ct_free(r->alloc, r->boxes, r->cap_boxes * sizeof *r->boxes);
}

/* Memory for n things of a size, from the history's budget; NULL: the history has failed. */
static void *take(CtHistory *r, int64_t n, size_t size) {
  size_t bytes = 0;
  bool fits = ct_fits_memory(n, size, &bytes);
  r->bytes = ct_size_add(r->bytes, fits ? bytes : SIZE_MAX);
  void *p = r->bytes > r->max_bytes || !fits ? NULL : ct_arena_alloc(&r->arena, bytes);
  r->failed = r->failed || p == NULL;
  return p;
}

static const int64_t *copy(CtHistory *r, const int64_t *from, int64_t n) {
  int64_t *to = take(r, n, sizeof *to);
  if (to != NULL) {
    memcpy(to, from, (size_t)n * sizeof *to);
  }
  return to;
}

/* Is the mode fixed for the whole launch? */
static bool is_fixed(const CtAccess *a, int mode) {
  return a->arg == NULL || a->w->worker->job->program->modes[a->arg->mode[mode]].fixed != NULL;
}

/* Makes a table of the offsets of an irregular access: all elements of all lanes. */
static int64_t *materialise(CtHistory *r, const CtAccess *a) {
  int64_t *to = take(r, a->n * CT_LANES, sizeof *to);
  for (int64_t i = 0; to != NULL && i < a->n * CT_LANES; i++) {
    int lane = (int)(i % CT_LANES);
    if ((a->mask >> lane & 1) == 0 || !ct_access_at(a, i / CT_LANES, lane, &to[i])) {
      to[i] = not_accessed;
    }
  }
  return to;
}

static void keep_access(CtHistory *r, const CtAccess *from) {
  if (CT_GROW(r->alloc, r->accesses, r->cap_accesses, r->n_accesses + 1, NULL) != CT_OK ||
      CT_GROW(r->alloc, r->own_offsets, r->cap_offsets, r->n_accesses + 1, NULL) != CT_OK ||
      CT_GROW(r->alloc, r->ptrs, r->cap_ptrs, r->n_accesses + 1, NULL) != CT_OK) {
    r->failed = true;
    return;
  }
  CtAccess *a = &r->accesses[r->n_accesses];
  *a = *from;
  r->bytes += sizeof *a;
  r->ptrs[r->n_accesses] = from->mem->ptr;
  r->own_offsets[r->n_accesses++] = NULL;
  if (!a->is_regular) {
    r->own_offsets[r->n_accesses - 1] = materialise(r, from);
    return;
  }
  a->pos = from->pos == from->own_pos ? copy(r, from->own_pos, CT_LANES) : from->pos;
  a->rows = from->rows == NULL || is_fixed(from, 0) ? from->rows : copy(r, from->rows, a->n_rows);
  a->cols =
      from->cols == NULL || is_fixed(from, 1) ? from->cols : copy(r, from->cols, a->n / a->n_rows);
}

/* --- boxes ------------------------------------------------------------------------------------------------ */

static void keep_unit(void *ud, const CtTmaUnit *unit) {
  CtHistoryBox *b = ud;
  b->units[b->n++] = *unit;
}

static void keep_box(CtHistory *r, const CtWarp *w, const CtSimtTma *t, int lane) {
  CtHistoryBox b = {.lane = lane, .global = w->mem[t->global].ptr};
  b.units = take(r, ct_simt_tma_bytes(t) / CT_TMA_UNIT, sizeof *b.units);
  if (b.units == NULL || CT_GROW(r->alloc, r->boxes, r->cap_boxes, r->n_boxes + 1, NULL) != CT_OK) {
    r->failed = true;
    return;
  }
  b.ranks = t->is_store ? 1u << w->worker->rank : ct_simt_tma_ranks(w, t, lane);
  ct_simt_tma_units(w, t, lane, keep_unit, &b);
  r->boxes[r->n_boxes++] = b;
}

/* --- steps ------------------------------------------------------------------------------------------------ */

static void keep_operands(CtHistory *r, CtStep *s, const CtIn *code, const CtIn *in, CtWarp *w) {
  CtAccess accesses[CT_MAX_OPERANDS];
  if (code->u.op == CT_SIMT_TMA) {
    s->accesses = (uint32_t)r->n_boxes;
    for (uint32_t rest = w->mask; rest != 0 && !r->failed; rest &= rest - 1) {
      keep_box(r, w, &w->worker->job->program->tmas[code->imm], ct_first_lane(rest));
    }
    s->n_accesses = (uint32_t)r->n_boxes - s->accesses;
    return;
  }
  s->accesses = (uint32_t)r->n_accesses;
  s->n_accesses = (uint32_t)ct_simt_accesses(code, in, w, accesses);
  for (uint32_t i = 0; i < s->n_accesses && !r->failed; i++) {
    keep_access(r, &accesses[i]);
  }
}

static const uint32_t *lanes_read(CtHistory *r, const CtIn *code, const CtWarp *w) {
  bool ignored;
  uint32_t *from = take(r, CT_LANES, sizeof *from);
  for (int lane = 0; from != NULL && lane < CT_LANES; lane++) {
    from[lane] = ct_simt_lanes_read(code, w, lane, &ignored);
  }
  return from;
}

void ct_history_step(CtHistory *r, const CtIn *code, const CtIn *in, CtWarp *w) {
  r->failed = r->failed || r->bytes > r->max_bytes;
  if (r->failed || CT_GROW(r->alloc, r->steps, r->cap_steps, r->n_steps + 1, NULL) != CT_OK) {
    r->failed = true;
    return;
  }
  CtStep *s = &r->steps[r->n_steps++];
  *s = (CtStep){.code = (uint32_t)(code - w->worker->job->program->code),
                .rank = (int16_t)w->worker->rank,
                .warp = (int16_t)w->index,
                .mask = w->mask,
                .live = w->live};
  r->bytes += sizeof *s;
  keep_operands(r, s, code, in, w);
  if (ct_in_row(code)->selects) {
    bool is_mask = ct_in_roles(code)[1] == 'm';
    s->chosen = is_mask                                ? *CT_CAT(uint32_t, w, code->a)
                : CT_CAT(CtScalar, w, code->a)->i != 0 ? CT_ALL_LANES
                                                       : 0;
  }
  if (code->u.op == CT_SIMT_SHFL || code->u.op == CT_SIMT_MASKED) {
    s->from = lanes_read(r, code, w);
  }
  if (code->u.op == CT_SIMT_TALLY || code->u.op == CT_SIMT_TALLIED) {
    s->chosen = (w->n_tallies + (code->u.op == CT_SIMT_TALLY)) % 2;
  }
}

bool ct_history_at(const CtHistory *r, uint32_t access, int64_t e, int lane, int64_t *off) {
  const CtAccess *a = &r->accesses[access];
  if ((a->mask >> lane & 1) == 0) {
    return false;
  }
  if (r->own_offsets[access] == NULL) {
    *off = ct_access_offset(a, e, lane);
    return true;
  }
  *off = r->own_offsets[access][e * CT_LANES + lane];
  return *off != not_accessed;
}
