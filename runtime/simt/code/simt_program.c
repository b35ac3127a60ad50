/* simt_program.c: frees programs; computes the offset of a mode's element from the mode's leaves,
   which are static or numbers in slots. */
#include "simt_program.h"
#include "runtime/base/order.h"

void ct_simt_free(CtSimtProgram *p) {
  if (p != NULL) {
    CtAlloc alloc = p->alloc;
    ct_arena_clear(&p->arena);
    ct_free(alloc, p, sizeof *p);
  }
}

static int64_t add(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
static int64_t multiply(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }

int64_t ct_ref_value(const void *slots, CtRef r, int lane) {
  switch (r.kind) {
    case CT_REF_STATIC: return r.v;
    case CT_REF_SCALAR: return CT_CAT(CtScalar, slots, r.v)->i;
    case CT_REF_LANES_i32: return CT_CAT(int32_t, slots, r.v)[lane];
    case CT_REF_LANES_i64: return CT_CAT(int64_t, slots, r.v)[lane];
  }
  CT_UNREACHABLE();
}

int64_t ct_mode_offset(const void *slots, const CtTileMode *m, int lane, int64_t e) {
  int64_t off = 0;
  for (uint32_t i = 0; i < m->n_leaves; i++) {
    int64_t extent = ct_ref_value(slots, m->leaves[i].extent, lane);
    int64_t crd = i + 1 < m->n_leaves && extent > 0 ? e % extent : e;
    e = extent > 0 ? e / extent : 0;
    off = add(off, multiply(crd, ct_ref_value(slots, m->leaves[i].stride, lane)));
  }
  return off;
}

void ct_table_fill(const void *slots, const CtTileMode *m, CtTable *t) {
  t->lo = INT64_MAX;
  t->hi = INT64_MIN;
  for (int64_t e = 0; e < m->n; e++) {
    t->off[e] = ct_mode_offset(slots, m, 0, e);
    t->lo = ct_min(t->lo, t->off[e]);
    t->hi = ct_max(t->hi, t->off[e]);
  }
  ct_range_close(&t->lo, &t->hi);
}

const CtSimtSpan *ct_simt_memory_at(const CtSimtLaunch *l, const char *at) {
  size_t i; /* the first that ends after it */
  CT_FIRST_NOT_BEFORE(i, l->n_memory, l->memory[i].end <= at);
  return i < l->n_memory && l->memory[i].begin <= at ? &l->memory[i] : NULL;
}
