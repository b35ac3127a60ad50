/* check_regs.c: `check` of fragments: reads of elements that a thread never wrote. A row is one
   element of all lanes. */
#include "check_parts.h"

#include <string.h>

static uint32_t *rows_of(const CtCheckWorker *k, const CtAccess *a) {
  return ct_regs_row(k, a->w->index, a->buf_index, 0);
}

static bool *full_of(const CtCheckWorker *k, const CtAccess *a) {
  return &k->full[(size_t)a->w->index * k->k->job->program->n_bufs + a->buf_index];
}

void ct_regs_begin_block(CtCheckWorker *k) {
  const CtSimtProgram *p = k->k->job->program;
  memset(k->rows, 0, (size_t)p->n_warps * k->check->n_rows * sizeof *k->rows);
  memset(k->full, 0, (size_t)p->n_warps * p->n_bufs * sizeof *k->full);
}

/* Takes lanes out of *rest that access one row at element e, and returns them; *off is the row.
   If all lanes have the same row, they come together, else one at a time. 0: none is left. */
static uint32_t next_row(const CtAccess *a, int64_t e, uint32_t *rest, int64_t *off) {
  while (*rest != 0) {
    int first = ct_first_lane(*rest);
    if (a->is_regular && a->pattern == NULL &&
        a->pos != a->own_pos) { /* all lanes have the same row */
      *off = ct_access_offset(a, e, first);
      uint32_t all = *rest;
      *rest = 0;
      return all;
    }
    *rest &= *rest - 1;
    if (ct_access_at(a, e, first, off) && (uint64_t)*off < (uint64_t)a->mem->n) {
      return 1u << first;
    }
  }
  return 0;
}

static void note(CtCheckWorker *k, const CtAccess *a, uint32_t lanes, int64_t off) {
  CtFound f = ct_finding_in(k, CT_CHECK_UNINIT_REGISTER, a->in, a->w->index, ct_first_lane(lanes));
  f.buf = a->buf_index;
  f.count = (uint64_t)__builtin_popcount(lanes);
  f.off = off;
  ct_finding_note(k, &f);
}

static bool is_full(const uint32_t *rows, int64_t n, uint32_t lanes) {
  uint32_t all = lanes;
  for (int64_t i = 0; i < n; i++) {
    all &= rows[i];
  }
  return all == lanes;
}

void ct_regs_access(CtCheckWorker *k, const CtAccess *a) {
  uint32_t *rows = rows_of(k, a), lanes;
  bool *full = full_of(k, a);
  if (*full) {
    return;
  }
  for (int64_t e = 0; e < a->n; e++) {
    int64_t off;
    for (uint32_t rest = a->mask; (lanes = next_row(a, e, &rest, &off)) != 0;) {
      uint32_t unset = a->reads ? lanes & ~rows[off] : 0;
      if (unset != 0) {
        note(k, a, unset, off);
      }
      rows[off] |= lanes;
    }
  }
  *full = a->n >= a->mem->n && is_full(rows, a->mem->n, a->w->live);
}

/* Counts as initialised what these lanes would have written. */
void ct_regs_hold(CtCheckWorker *k, const CtAccess *a, uint32_t lanes) {
  uint32_t *rows = rows_of(k, a), some;
  for (int64_t e = 0; a->writes && e < a->n; e++) {
    int64_t off;
    for (uint32_t rest = lanes; (some = next_row(a, e, &rest, &off)) != 0;) {
      if ((uint64_t)off < (uint64_t)a->mem->n) {
        rows[off] |= some;
      }
    }
  }
}
