/* blank.c: memory without contents, and what was written there. */
#include "blank.h"

CtBlank *ct_blank_new(CtAlloc alloc, CtBlanks *list, const void *begin, size_t bytes,
                      size_t element) {
  size_t n = bytes / element + (bytes % element != 0);
  CtBlank *b = n > SIZE_MAX - sizeof *b ? NULL : ct_alloc(alloc, sizeof *b + n);
  if (b == NULL) {
    return NULL;
  }
  b->list = list;
  b->prev = NULL;
  b->next = list->first;
  b->begin = begin;
  b->end = b->begin + bytes;
  b->element = element;
  b->n = n;
  for (size_t i = 0; i < n; i++) {
    atomic_init(&b->state[i], CT_BLANK_UNSET);
  }
  if (b->next != NULL) {
    b->next->prev = b;
  }
  list->first = b;
  return b;
}

void ct_blank_settle(CtBlank *b) {
  if (b == NULL || b->list == NULL) {
    return;
  }
  *(b->prev == NULL ? &b->list->first : &b->prev->next) = b->next;
  if (b->next != NULL) {
    b->next->prev = b->prev;
  }
  b->list = NULL;
}

void ct_blank_settle_all(CtBlanks *list) {
  while (list->first != NULL) {
    ct_blank_settle(list->first);
  }
}

void ct_blank_free(CtAlloc alloc, CtBlank *b) {
  if (b != NULL) {
    ct_blank_settle(b);
    ct_free(alloc, b, sizeof *b + b->n);
  }
}

void ct_blank_write(CtBlank *b, size_t at, size_t bytes) {
  if (b == NULL || b->list == NULL || bytes == 0) {
    return;
  }
  for (size_t i = at / b->element; i <= (at + bytes - 1) / b->element; i++) {
    atomic_store_explicit(&b->state[i], CT_BLANK_WRITTEN, memory_order_relaxed);
  }
}

void ct_blank_add_to(CtBlank *b, size_t at, size_t bytes) {
  for (size_t i = at / b->element; i <= (at + bytes - 1) / b->element; i++) {
    uint8_t unset = CT_BLANK_UNSET;
    (void)atomic_compare_exchange_strong(&b->state[i], &unset, CT_BLANK_ADDED_TO);
  }
}

CtBlankState ct_blank_state(const CtBlank *b, size_t at, size_t bytes) {
  uint8_t least = CT_BLANK_WRITTEN;
  for (size_t i = at / b->element; i <= (at + bytes - 1) / b->element; i++) {
    uint8_t state = atomic_load_explicit(&b->state[i], memory_order_relaxed);
    least = state < least ? state : least;
  }
  return (CtBlankState)least;
}

static uint8_t *states_of(CtAlloc alloc, const CtBlank *b) {
  uint8_t *states = ct_alloc(alloc, b->n + 1);
  for (size_t i = 0; states != NULL && i < b->n; i++) {
    states[i] = atomic_load_explicit(&b->state[i], memory_order_relaxed);
  }
  return states;
}

static size_t count(const CtBlanks *list) {
  size_t n = 0;
  for (const CtBlank *b = list->first; b != NULL; b = b->next) {
    n++;
  }
  return n;
}

CtStatus ct_blanks_keep(CtAlloc alloc, const CtBlanks *list, CtBlanksKept *out, CtErr *err) {
  size_t n = count(list);
  *out = (CtBlanksKept){.cap = n};
  if (n == 0) {
    return CT_OK;
  }
  out->blanks = ct_alloc(alloc, n * sizeof *out->blanks);
  out->states = ct_alloc(alloc, n * sizeof *out->states);
  bool ok = out->blanks != NULL && out->states != NULL;
  for (CtBlank *b = list->first; ok && b != NULL; b = b->next) {
    uint8_t *states = states_of(alloc, b);
    out->blanks[out->n] = b;
    out->states[out->n] = states;
    ok = states != NULL;
    out->n += ok;
  }
  if (!ok) {
    ct_blanks_drop(alloc, out);
    return ct_fail_nomem(err);
  }
  return CT_OK;
}

void ct_blanks_put_back(const CtBlanksKept *kept) {
  for (size_t i = 0; i < kept->n; i++) {
    for (size_t k = 0; k < kept->blanks[i]->n; k++) {
      atomic_store_explicit(&kept->blanks[i]->state[k], kept->states[i][k], memory_order_relaxed);
    }
  }
}

void ct_blanks_drop(CtAlloc alloc, CtBlanksKept *kept) {
  bool is_any = kept->blanks != NULL && kept->states != NULL;
  for (size_t i = 0; is_any && i < kept->n; i++) {
    ct_free(alloc, kept->states[i], kept->blanks[i]->n + 1);
  }
  if (kept->blanks != NULL) {
    ct_free(alloc, kept->blanks, kept->cap * sizeof *kept->blanks);
  }
  if (kept->states != NULL) {
    ct_free(alloc, kept->states, kept->cap * sizeof *kept->states);
  }
  *kept = (CtBlanksKept){.n = 0};
}
