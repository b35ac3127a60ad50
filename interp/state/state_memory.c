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
  if (s->memory.n_changes != s->memory.storages.n_changes || s->memory.spans == NULL ||
      s->memory.writes != writes) {
    s->memory.n = 0;
    CtStatus status = ct_grow(s->alloc, &s->memory.spans, &s->memory.cap, s->memory.storages.n + 1,
                              sizeof *s->memory.spans, err);
    if (status != CT_OK) {
      return status;
    }
    CT_ASSERT(s->memory.spans != NULL);
    for (const CtStorage *p = s->memory.storages.first; p != NULL; p = p->next) {
      if (p->bytes > 0 && !(writes && p->is_read_only)) {
        s->memory.spans[s->memory.n++] = (CtSimtSpan){p->host, (char *)p->host + p->bytes};
      }
    }
    qsort(s->memory.spans, s->memory.n, sizeof *s->memory.spans, by_begin);
    s->memory.n = join(s->memory.spans, s->memory.n);
    s->memory.n_changes = s->memory.storages.n_changes;
    s->memory.writes = writes;
  }
  *out = s->memory.spans;
  *n = s->memory.n;
  return CT_OK;
}
