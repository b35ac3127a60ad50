/* check_flag_table.c: see check_flag_table.h. */
#include "check_flag_table.h"

#include <string.h>

enum { FIRST_CAP = 64 };

static size_t hash(const char *at, size_t cap) {
  return (size_t)((uint64_t)(uintptr_t)at * 0x9E3779B97F4A7C15u >> 20) & (cap - 1);
}

static CtFlagElement *find(CtFlagElement *elements, size_t cap, const char *at) {
  size_t i = hash(at, cap);
  while (elements[i].at != NULL && elements[i].at != at) {
    i = (i + 1) & (cap - 1);
  }
  return &elements[i];
}

static bool grow(CtFlagTable *t) {
  size_t cap = t->cap == 0 ? FIRST_CAP : t->cap * 2;
  CtFlagElement *elements = ct_alloc(t->alloc, cap * sizeof *elements);
  if (elements == NULL) {
    return false;
  }
  memset(elements, 0, cap * sizeof *elements);
  for (size_t i = 0; i < t->cap; i++) {
    if (t->elements[i].at != NULL) {
      *find(elements, cap, t->elements[i].at) = t->elements[i];
    }
  }
  ct_free(t->alloc, t->elements, t->cap * sizeof *t->elements);
  t->elements = elements;
  t->cap = cap;
  return true;
}

void ct_flag_table_clear(CtFlagTable *t) {
  for (size_t i = 0; i < t->cap; i++) {
    CtFlagElement *e = &t->elements[i];
    ct_flag_element_clear(t, e);
    ct_free(t->alloc, e->of, e->cap_of * sizeof *e->of);
    ct_free(t->alloc, e->readers, e->cap_readers * sizeof *e->readers);
  }
  ct_free(t->alloc, t->elements, t->cap * sizeof *t->elements);
}

CtFlagElement *ct_flag_element(CtFlagTable *t, int job, int64_t block, const char *at, bool makes) {
  if (makes && t->n * 2 >= t->cap && !grow(t)) {
    return NULL;
  }
  CtFlagElement *e = t->cap == 0 ? NULL : find(t->elements, t->cap, at);
  if (e == NULL || (e->at == NULL && !makes)) {
    return NULL;
  }
  t->n += e->at == NULL;
  e->at = at;
  if (e->job != job || e->block != block) {
    ct_flag_element_clear(t, e);
    e->is_written = false;
    e->n_readers = 0;
    e->job = job;
    e->block = block;
  }
  return e;
}

void ct_flag_element_clear(const CtFlagTable *t, CtFlagElement *e) {
  for (size_t i = 0; i < e->n_of; i++) {
    ct_known_drop(t->alloc, e->of[i].known);
  }
  e->n_of = 0;
  ct_known_clear(t->alloc, &e->sys);
  e->stored_by = 0;
}

CtKnowledge **ct_flag_handed(const CtFlagTable *t, CtFlagElement *e, int rank, bool makes) {
  for (size_t i = 0; i < e->n_of; i++) {
    if (e->of[i].rank == rank) {
      return &e->of[i].known;
    }
  }
  if (!makes || ct_grow(t->alloc, &e->of, &e->cap_of, e->n_of + 1, sizeof *e->of, NULL) != CT_OK) {
    return NULL;
  }
  e->of[e->n_of] = (CtFlagHanded){.rank = rank};
  return &e->of[e->n_of++].known;
}

bool ct_flag_add_reader(const CtFlagTable *t, CtFlagElement *e, const CtFlagReader *reader) {
  if (ct_grow(t->alloc, &e->readers, &e->cap_readers, e->n_readers + 1, sizeof *e->readers, NULL) !=
      CT_OK) {
    return false;
  }
  e->readers[e->n_readers++] = *reader;
  return true;
}
