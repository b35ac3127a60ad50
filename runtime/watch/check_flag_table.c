/* check_flag_table.c: see check_flag_table.h. */
#include "check_flag_table.h"

static uint32_t hash(const char *at) {
  return (uint32_t)((uint64_t)(uintptr_t)at * 0x9E3779B97F4A7C15u >> 20);
}

static CtHashSlot *find(const CtFlagTable *t, const char *at) {
  CtHashSlot *slot = ct_hash_table_first(&t->by_address, hash(at));
  while (slot->number != 0 && t->elements[slot->number - 1].at != at) {
    slot = ct_hash_table_next(&t->by_address, slot);
  }
  return slot;
}

void ct_flag_table_clear(CtFlagTable *t) {
  for (size_t i = 0; i < t->by_address.n; i++) {
    CtFlagElement *e = &t->elements[i];
    ct_flag_element_clear(t, e);
    ct_free(t->alloc, e->of, e->cap_of * sizeof *e->of);
    ct_free(t->alloc, e->readers, e->cap_readers * sizeof *e->readers);
  }
  ct_free(t->alloc, t->elements, t->cap * sizeof *t->elements);
  ct_hash_table_clear(&t->by_address, t->alloc);
}

static CtFlagElement *make(CtFlagTable *t, const char *at) {
  if (!ct_hash_table_reserve(&t->by_address, t->alloc) ||
      CT_GROW(t->alloc, t->elements, t->cap, t->by_address.n + 1, NULL) != CT_OK) {
    return NULL;
  }
  CtHashSlot *slot = find(t, at);
  if (slot->number == 0) {
    t->elements[t->by_address.n] = (CtFlagElement){.at = at};
    ct_hash_table_put(&t->by_address, slot, hash(at), (uint32_t)t->by_address.n + 1);
  }
  return &t->elements[slot->number - 1];
}

static CtFlagElement *known(const CtFlagTable *t, const char *at) {
  uint32_t number = t->by_address.n == 0 ? 0 : find(t, at)->number;
  return number == 0 ? NULL : &t->elements[number - 1];
}

CtFlagElement *ct_flag_element(CtFlagTable *t, int job, int64_t block, const char *at, bool makes) {
  CtFlagElement *e = makes ? make(t, at) : known(t, at);
  if (e != NULL && (e->job != job || e->block != block)) {
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
  if (!makes || CT_GROW(t->alloc, e->of, e->cap_of, e->n_of + 1, NULL) != CT_OK) {
    return NULL;
  }
  e->of[e->n_of] = (CtFlagHanded){.rank = rank};
  return &e->of[e->n_of++].known;
}

bool ct_flag_add_reader(const CtFlagTable *t, CtFlagElement *e, const CtFlagReader *reader) {
  if (CT_GROW(t->alloc, e->readers, e->cap_readers, e->n_readers + 1, NULL) != CT_OK) {
    return false;
  }
  e->readers[e->n_readers++] = *reader;
  return true;
}
