/* state_memory.c: where the tensors of the host lie, for kernels that are given addresses. */
#include "runtime/simt/run/simt_kept.h"
#include "state.h"

CtStatus state_memory(CuttleState *s, bool writes, const CtSimtSpan **out, size_t *n, CtErr *err) {
  if (s->memory.n_changes != s->memory.storages.n_changes || s->memory.spans == NULL ||
      s->memory.writes != writes) {
    s->memory.n = 0;
    CtStatus status =
        CT_GROW(s->alloc, s->memory.spans, s->memory.cap, s->memory.storages.n + 1, err);
    if (status != CT_OK) {
      return status;
    }
    CT_ASSERT(s->memory.spans != NULL);
    for (const CtStorage *p = s->memory.storages.first; p != NULL; p = p->next) {
      if (p->bytes > 0 && !(writes && p->is_read_only)) {
        s->memory.spans[s->memory.n++] = (CtSimtSpan){p->host, (char *)p->host + p->bytes};
      }
    }
    s->memory.n = ct_simt_join(s->memory.spans, s->memory.n);
    s->memory.n_changes = s->memory.storages.n_changes;
    s->memory.writes = writes;
  }
  *out = s->memory.spans;
  *n = s->memory.n;
  return CT_OK;
}
