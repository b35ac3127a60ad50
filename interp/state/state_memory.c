/* state_memory.c: where the tensors of the host lie, for kernels that are given addresses. */
#include <stdlib.h>

#include "state.h"

static int by_begin(const void *a, const void *b) {
  const CtSimtSpan *x = a, *y = b;
  return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Joins spans that overlap, as those of memory that was lent twice. */
static size_t join(CtSimtSpan *spans, size_t n) {
  size_t last = 0;
  for (size_t i = 1; i < n; i++) {
    if (spans[i].begin < spans[last].end) {
      spans[last].end = spans[i].end > spans[last].end ? spans[i].end : spans[last].end;
    } else {
      spans[++last] = spans[i];
    }
  }
  return n == 0 ? 0 : last + 1;
}

CtStatus state_memory(CuttleState *s, bool writes, const CtSimtSpan **out, size_t *n, CtErr *err) {
  if (s->memory_changes != s->storages.n_changes || s->memory == NULL ||
      s->memory_writes != writes) {
    s->n_memory = 0;
    CtStatus status =
        ct_grow(s->alloc, &s->memory, &s->cap_memory, s->storages.n + 1, sizeof *s->memory, err);
    if (status != CT_OK) {
      return status;
    }
    for (const CtStorage *p = s->storages.first; p != NULL; p = p->next) {
      if (p->bytes > 0 && !(writes && p->is_read_only)) {
        s->memory[s->n_memory++] = (CtSimtSpan){p->host, (char *)p->host + p->bytes};
      }
    }
    qsort(s->memory, s->n_memory, sizeof *s->memory, by_begin);
    s->n_memory = join(s->memory, s->n_memory);
    s->memory_changes = s->storages.n_changes;
    s->memory_writes = writes;
  }
  *out = s->memory;
  *n = s->n_memory;
  return CT_OK;
}
