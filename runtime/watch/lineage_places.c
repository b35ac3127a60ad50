/* lineage_places.c: the set of places that a lineage still wants, and the rows that it has found. The set is
   a hash table of its own, since places are taken out of it, and it counts how many are near. */
#include "lineage_places.h"

#include <string.h>

enum { EMPTY, GONE, FIRST_CAP = 1024 };

/* --- places ------------------------------------------------------------------------------------------- */

static size_t home_of(const CtPlaces *s, uint64_t key) {
  return (size_t)(key * 0x9E3779B97F4A7C15u >> 20) & (s->cap - 1);
}

static size_t find(const CtPlaces *s, uint64_t key) {
  size_t i = home_of(s, key);
  while (s->key[i] != EMPTY && s->key[i] != key) {
    i = (i + 1) & (s->cap - 1);
  }
  return i;
}

static size_t bytes_of(size_t cap) { return cap * (sizeof(uint64_t) + sizeof(uint32_t)); }

static void grow(CtPlaces *s) {
  CtPlaces next = {.alloc = s->alloc, .cap = s->n * 4 < FIRST_CAP ? FIRST_CAP : s->n * 4};
  while ((next.cap & (next.cap - 1)) != 0) {
    next.cap += next.cap & (~next.cap + 1);
  }
  next.key = ct_alloc(s->alloc, bytes_of(next.cap));
  if (next.key == NULL) {
    s->failed = true;
    return;
  }
  memset(next.key, 0, bytes_of(next.cap));
  next.near = (uint32_t *)(void *)(next.key + next.cap);
  for (size_t i = 0; i < s->cap; i++) {
    if (s->key[i] > GONE) {
      next.key[find(&next, s->key[i])] = s->key[i];
      next.near[ct_places_line(&next, s->key[i])]++;
      next.n_used = ++next.n;
    }
  }
  ct_places_clear(s);
  *s = next;
}

void ct_places_clear(CtPlaces *s) { ct_free(s->alloc, s->key, bytes_of(s->cap)); }

void ct_places_want(CtPlaces *s, uint64_t key) {
  if (!s->failed && s->n_used * 2 >= s->cap) {
    grow(s);
  }
  if (s->failed) { /* for good: what is missing once is not known later */
    return;
  }
  size_t i = find(s, key), free_at = home_of(s, key);
  if (s->key[i] != key) {
    while (s->key[free_at] > GONE) { /* a place that was taken is wanted again and again */
      free_at = (free_at + 1) & (s->cap - 1);
    }
    s->n_used += s->key[free_at] == EMPTY;
    s->key[free_at] = key;
    s->near[ct_places_line(s, key)]++;
    s->n++;
  }
}

bool ct_places_take(CtPlaces *s, uint64_t key) {
  if (!ct_places_may_have(s, key, 1)) {
    return false;
  }
  size_t i = find(s, key);
  if (s->key[i] != key) {
    return false;
  }
  s->key[i] = GONE;
  s->near[ct_places_line(s, key)]--;
  s->n--;
  return true;
}

/* --- accesses ----------------------------------------------------------------------------------------- */

static bool may_take_bytes(const CtPlaces *s, const char *ptr, int64_t n) {
  uint64_t at = memory_place(ptr), end = at + (uint64_t)n;
  bool found = false;
  for (at &= ~(uint64_t)(CT_PLACES_LINE - 1); at < end && !found; at += CT_PLACES_LINE) {
    found = ct_places_may_have(s, at, 1);
  }
  return found;
}

bool ct_places_may_take(const CtPlaces *s, const CtAccess *a, const char *ptr) {
  int64_t each = (int64_t)a->mem->elem_bytes, n = (a->hi - a->lo + 1) * each;
  bool is_dear = n > a->n * CT_LANES * CT_PLACES_LINE;
  return !a->is_regular || is_dear || may_take_bytes(s, ptr + a->lo * each, n);
}

bool ct_places_by_element(const CtAccess *a) {
  bool is = a->is_regular && a->buf->space == CT_REGISTER;
  for (uint32_t rest = a->mask; rest != 0 && is; rest &= rest - 1) {
    is = a->pos[ct_first_lane(rest)] == a->pos[ct_first_lane(a->mask)];
  }
  return is;
}

bool ct_places_may_take_of(const CtPlaces *s, const CtAccess *a, const char *ptr, int64_t e) {
  int64_t off = ct_access_offset(a, e, ct_first_lane(a->mask));
  return may_take_bytes(s, ptr + off * (int64_t)a->mem->elem_bytes,
                        CT_LANES * (int64_t)a->mem->lane_bytes);
}

/* --- rows --------------------------------------------------------------------------------------------- */

static uint32_t hash_row(const CtLineageRow *a) {
  const uint64_t parts[] = {(uint64_t)a->kind << 32 | a->buf,
                            (uint64_t)a->off,
                            (uint64_t)a->block,
                            (uint64_t)a->owner,
                            (uint64_t)a->thread,
                            (uint64_t)a->loc.chunk << 32 | (uint32_t)a->loc.line};
  uint64_t h = 0;
  for (size_t i = 0; i < CT_ARRAY_LEN(parts); i++) {
    h = ct_hash_table_mix(h, parts[i]);
  }
  return (uint32_t)h;
}

static bool same_row(const CtLineageRow *a, const CtLineageRow *b) {
  return a->kind == b->kind && a->buf == b->buf && a->off == b->off && a->block == b->block &&
         a->owner == b->owner && a->thread == b->thread && a->loc.chunk == b->loc.chunk &&
         a->loc.line == b->loc.line;
}

void ct_lineage_add(CtLineageRows *rows, const CtLineageRow *row) {
  if (!ct_hash_table_reserve(&rows->table, rows->alloc) ||
      CT_GROW(rows->alloc, rows->row, rows->cap, rows->n + 1, NULL) != CT_OK) {
    rows->failed = true;
    return;
  }
  uint32_t hash = hash_row(row);
  CtHashSlot *at = ct_hash_table_first(&rows->table, hash);
  while (at->number != 0 && !same_row(&rows->row[at->number - 1], row)) {
    at = ct_hash_table_next(&rows->table, at);
  }
  if (at->number == 0) {
    rows->row[rows->n++] = *row;
    ct_hash_table_put(&rows->table, at, hash, (uint32_t)rows->n);
    return;
  }
  CtLineageRow *old = &rows->row[at->number - 1];
  old->n += row->n;
  old->order = row->order < old->order ? row->order : old->order;
}
