/* simt_place.c: threads, blocks and elements as the messages of the CPU engine name them. */
#include "simt_place.h"

#include <stdio.h>
#include <string.h>

#include "runtime/layout/tuple_leaves.h"

enum { MAX_LEAVES = 32 };

void ct_part_add(CtPart *p, const char *s) {
  size_t n = strlen(s);
  size_t room = sizeof p->s - 1 - p->len;
  n = n < room ? n : room;
  memcpy(p->s + p->len, s, n);
  p->len += n;
  p->s[p->len] = '\0';
}

void ct_part_int(CtPart *p, int64_t v) {
  char text[32];
  snprintf(text, sizeof text, "%lld", (long long)v);
  ct_part_add(p, text);
}

static CtPart triple(const int64_t v[3]) {
  CtPart p = {.len = 0};
  snprintf(p.s, sizeof p.s, "(%lld,%lld,%lld)", (long long)v[0], (long long)v[1], (long long)v[2]);
  p.len = strlen(p.s);
  return p;
}

CtPart ct_part_block(const CtWorker *k) {
  CtPart p = triple(k->bid);
  if (k->job->rank >= 0) {
    ct_part_add(&p, " of rank ");
    ct_part_int(&p, k->job->rank);
  }
  return p;
}

CtPart ct_part_thread(const CtSimtProgram *prog, const CtWarp *w, int lane) {
  int64_t i = (int64_t)w->index * CT_LANES + lane;
  int64_t xy = prog->block[0] * prog->block[1];
  int64_t t[3] = {i % prog->block[0], i % xy / prog->block[0], i / xy};
  return triple(t);
}

/* A tuple with the profile of t, whose leaves come from *leaves. The depth of a tuple is
   limited. */
static const int64_t *add_tuple(CtPart *p, CtTuple t, const int64_t *leaves) {
  if (ct_is_leaf(t)) {
    ct_part_int(p, *leaves);
    return leaves + 1;
  }
  ct_part_add(p, "(");
  for (CtTuple c = ct_first(t); c != ct_end(t); c = ct_next(c)) {
    ct_part_add(p, c == ct_first(t) ? "" : ",");
    leaves = add_tuple(p, c, leaves);
  }
  ct_part_add(p, ")");
  return leaves;
}

/* --- coordinates ------------------------------------------------------------------------------------ */

/* The leaves of a shape or stride as numbers; false if there are too many or one is unknown. */
static bool leaf_values(CtTuple t, const CtSlotValue *slots, int64_t out[MAX_LEAVES], int *n) {
  *n = 0;
  for (CtLeaves w = ct_leaves_of(t); ct_next_leaf(&w);) {
    CtInt i = w.shape->i;
    if (*n == MAX_LEAVES || i.kind == CT_ANY) {
      return false;
    }
    out[(*n)++] = i.kind == CT_DYNAMIC ? slots[i.id].i : i.v;
  }
  return true;
}

/* The remaining leaf with the largest stride; a leaf of extent 1 only if there is no other. */
static int next_leaf(int n, const int64_t *extent, const int64_t *stride, const bool *done) {
  int best = -1;
  for (int i = 0; i < n; i++) {
    if (done[i] || stride[i] <= 0) {
      continue;
    }
    bool wins = best < 0 || (extent[i] > 1) > (extent[best] > 1) ||
                ((extent[i] > 1) == (extent[best] > 1) && stride[i] > stride[best]);
    best = wins ? i : best;
  }
  return best;
}

/* The coordinate of an offset, inside or outside the layout. Works from the largest stride down, so
   that only the slowest mode leaves its extent. */
static void coordinate(int n, const int64_t *extent, const int64_t *stride, int64_t off,
                       int64_t crd[MAX_LEAVES]) {
  bool done[MAX_LEAVES] = {false};
  memset(crd, 0, MAX_LEAVES * sizeof *crd);
  for (int i = next_leaf(n, extent, stride, done); i >= 0; i = next_leaf(n, extent, stride, done)) {
    crd[i] = ct_floordiv(off, stride[i]);
    off -= crd[i] * stride[i];
    done[i] = true;
  }
}

/* For a tensor of rank n in memory, one number for each mode: nested modes, such as those of
   tile_to_shape, are the rows and columns of a script by their linear coordinates. Returns the
   rank; 0: no mode is nested. */
static int fold(CtTuple shape, int64_t extent[MAX_LEAVES], int64_t crd[MAX_LEAVES]) {
  int leaf = 0, n = ct_is_leaf(shape) ? 0 : shape->rank;
  bool is_nested = false;
  for (int i = 0; i < n; i++) {
    CtTuple mode = ct_child(shape, i);
    int64_t at = 0, size = 1;
    is_nested = is_nested || !ct_is_leaf(mode);
    for (uint32_t k = 0; k < mode->len; k++) {
      if (mode[k].rank == CT_LEAF) {
        at = (int64_t)((uint64_t)at + (uint64_t)crd[leaf] * (uint64_t)size);
        size = (int64_t)((uint64_t)size * (uint64_t)extent[leaf++]);
      }
    }
    crd[i] = at;
    extent[i] = size;
  }
  return is_nested ? n : 0;
}

static void add_list(CtPart *p, const int64_t *v, int n) {
  for (int i = 0; i < n; i++) {
    ct_part_add(p, i > 0 ? "," : "(");
    ct_part_int(p, v[i]);
  }
  ct_part_add(p, ")");
}

/* The row of the member that begins there; -1: there is none, or the buffer is no member of a list. */
static int64_t member_at(const CtSimtJob *job, const CtSimtBuf *buf, const char *begin) {
  const CtSimtList *l =
      buf->list == 0 ? NULL : &job->launch->lists[job->program->bufs[buf->list].param];
  for (int64_t i = 0; l != NULL && i < l->n; i++) {
    if (l->members[i].begin == begin) {
      return i;
    }
  }
  return -1;
}

/* What the dynamic leaves of a buffer's layout are numbers in; NULL: they are not known. */
static const CtSlotValue *leaves_of(const CtSimtJob *job, const CtSimtBuf *buf, int64_t row) {
  const CtSimtBuf *table = &job->program->bufs[buf->list];
  if (buf->list == 0) {
    return job->launch->slots;
  }
  const int64_t *rows = job->launch->slots[table->slot].ptr;
  return row < 0 ? NULL : (const void *)(rows + row * table->n_columns);
}

/* " at (0,2048), extent (2048,2048)". A swizzle is its own inverse. */
static CtPart coordinates(const CtSimtBuf *buf, const CtSlotValue *leaves, int64_t off,
                          int64_t n_elems) {
  int64_t extent[MAX_LEAVES] = {0}, stride[MAX_LEAVES] = {0}, crd[MAX_LEAVES];
  int n_extents, n_strides;
  CtPart p = {.len = 0};
  if (leaves == NULL || !leaf_values(buf->layout.shape, leaves, extent, &n_extents) ||
      !leaf_values(buf->layout.stride, leaves, stride, &n_strides) || n_extents != n_strides) {
    snprintf(p.s, sizeof p.s, " at offset %lld of %lld", (long long)off, (long long)n_elems);
    p.len = strlen(p.s);
    return p;
  }
  coordinate(n_extents, extent, stride, ct_swizzle_at(buf->swizzle, off), crd);
  int rank = buf->space == CT_REGISTER ? 0 : fold(buf->layout.shape, extent, crd);
  if (rank > 0) {
    ct_part_add(&p, " at ");
    add_list(&p, crd, rank);
    ct_part_add(&p, ", extent ");
    add_list(&p, extent, rank);
    return p;
  }
  ct_part_add(&p, " at ");
  add_tuple(&p, buf->layout.shape, crd);
  ct_part_add(&p, ", extent ");
  add_tuple(&p, buf->layout.shape, extent);
  return p;
}

CtPart ct_part_place(const CtSimtJob *job, const CtSimtBuf *buf, const char *begin, int64_t off,
                     int64_t n_elems) {
  CtPart p = {.len = 0};
  if (buf->n_columns != 0) {
    ct_part_add(&p, " at index ");
    ct_part_int(&p, ct_floordiv(off, buf->n_columns) + 1);
    ct_part_add(&p, ", number of tensors ");
    ct_part_int(&p, job->launch->lists[buf->param].n);
    ct_part_add(&p, ", counted from 1");
    return p;
  }
  if (buf->is_chosen && buf->list == 0) {
    ct_part_add(&p, " at offset ");
    ct_part_int(&p, off);
    ct_part_add(&p, ", where the memory at its address ends after ");
    ct_part_int(&p, n_elems);
    return p;
  }
  return coordinates(buf, leaves_of(job, buf, member_at(job, buf, begin)), off, n_elems);
}

CtPart ct_part_name(const CtSimtJob *job, const CtSimtBuf *buf, const char *begin) {
  int64_t row = member_at(job, buf, begin);
  CtPart p = {.len = 0};
  const char *name = row < 0 ? buf->name : job->program->bufs[buf->list].name;
  ct_part_add(&p, name == NULL ? "a recast tensor" : name);
  if (row >= 0) {
    ct_part_add(&p, "[");
    ct_part_int(&p, row + 1);
    ct_part_add(&p, "]");
  }
  return p;
}

void ct_simt_place(const CtSimtJob *job, uint32_t buf, const char *begin, int64_t off, char *out,
                   size_t size) {
  const CtSimtBuf *b = &job->program->bufs[buf];
  int64_t n = b->space == CT_GLOBAL ? ct_simt_n_elems(job->launch, b) : b->n;
  if (b->is_chosen && b->list == 0) {
    const CtSimtSpan *memory = ct_simt_memory_at(job->launch, begin);
    n = memory == NULL ? 0 : ct_dtype_count(b->dtype, memory->end - begin);
  }
  snprintf(out, size, "%.80s%s", ct_part_name(job, b, begin).s,
           ct_part_place(job, b, begin, off, n).s);
}
