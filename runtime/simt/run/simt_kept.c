/* simt_kept.c: what global memory held before launches. */
#include "simt_kept.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/simt/code/simt_operand.h"

/* Sets a flag for each buffer that the program writes. */
static void find_written(const CtSimtProgram *p, bool *written) {
  for (uint32_t i = p->body; i < p->n_code; i++) {
    CtOperand operands[CT_MAX_OPERANDS];
    for (int n = ct_simt_operands(p, &p->code[i], operands); n-- > 0;) {
      written[operands[n].buf] = written[operands[n].buf] || operands[n].writes;
    }
    i += (uint32_t)ct_in_size(&p->code[i]) - 1;
  }
}

static CtStatus add(CtSimtKept *k, CtSimtSpan span, CtErr *err) {
  if (span.begin >= span.end) {
    return CT_OK;
  }
  CtStatus status = CT_GROW(k->alloc, k->spans, k->cap, k->n + 1, err);
  if (status == CT_OK) {
    k->spans[k->n++] = span;
  }
  return status;
}

static CtStatus add_buffer(CtSimtKept *k, const CtSimtEntry *e, const CtSimtBuf *b, CtErr *err) {
  const CtSimtLaunch *l = e->launch;
  CtStatus status = CT_OK;
  if (b->list != 0) {
    const CtSimtList *list = &l->lists[e->program->bufs[b->list].param];
    for (int64_t i = 0; i < list->n && status == CT_OK; i++) {
      status = add(k, list->members[i], err);
    }
  } else if (b->is_chosen) {
    for (size_t i = 0; i < l->n_memory && status == CT_OK; i++) {
      status = add(k, l->memory[i], err);
    }
  } else {
    char *begin = l->slots[b->slot].ptr;
    status = add(k, (CtSimtSpan){begin, begin + ct_simt_n_bytes(l, b)}, err);
  }
  return status;
}

static CtStatus add_launch(CtSimtKept *k, const CtSimtEntry *e, CtErr *err) {
  const CtSimtProgram *p = e->program;
  bool *written = ct_alloc(k->alloc, p->n_bufs);
  if (written == NULL) {
    return ct_fail_nomem(err);
  }
  memset(written, 0, p->n_bufs);
  find_written(p, written);
  CtStatus status = CT_OK;
  for (uint32_t b = 1; b < p->n_bufs && status == CT_OK; b++) {
    if (written[b] && p->bufs[b].space == CT_GLOBAL) {
      status = add_buffer(k, e, &p->bufs[b], err);
    }
  }
  ct_free(k->alloc, written, p->n_bufs);
  return status;
}

static int by_begin(const void *a, const void *b) {
  const CtSimtSpan *x = a, *y = b;
  return (x->begin > y->begin) - (x->begin < y->begin);
}

size_t ct_simt_join(CtSimtSpan *spans, size_t n) {
  size_t last = 0;
  if (n > 1) {
    qsort(spans, n, sizeof *spans, by_begin);
  }
  for (size_t i = 1; i < n; i++) {
    if (spans[i].begin < spans[last].end) {
      spans[last].end = spans[i].end > spans[last].end ? spans[i].end : spans[last].end;
    } else {
      spans[++last] = spans[i];
    }
  }
  return n == 0 ? 0 : last + 1;
}

static size_t bytes_of(const CtSimtSpan *s) { return (size_t)(s->end - s->begin); }

CtStatus ct_simt_keep(CtAlloc alloc, const CtSimtEntry *entries, size_t n, CtSimtKept *out,
                      CtErr *err) {
  *out = (CtSimtKept){.alloc = alloc};
  CtStatus status = CT_OK;
  for (size_t i = 0; i < n && status == CT_OK; i++) {
    status = add_launch(out, &entries[i], err);
  }
  out->n = ct_simt_join(out->spans, out->n);
  for (size_t i = 0; i < out->n; i++) {
    out->n_bytes += bytes_of(&out->spans[i]);
  }
  out->bytes = status == CT_OK ? ct_alloc(alloc, out->n_bytes + 1) : NULL;
  if (out->bytes == NULL) {
    ct_free(alloc, out->spans, out->cap * sizeof *out->spans);
    *out = (CtSimtKept){.alloc = alloc};
    return status == CT_OK ? ct_fail_nomem(err) : status;
  }
  char *to = out->bytes;
  for (size_t i = 0; i < out->n; to += bytes_of(&out->spans[i]), i++) {
    memcpy(to, out->spans[i].begin, bytes_of(&out->spans[i]));
  }
  return CT_OK;
}

void ct_simt_put_back(const CtSimtKept *kept) {
  const char *from = kept->bytes;
  for (size_t i = 0; i < kept->n; from += bytes_of(&kept->spans[i]), i++) {
    memcpy(kept->spans[i].begin, from, bytes_of(&kept->spans[i]));
  }
}

const char *ct_simt_first_change(const CtSimtKept *kept) {
  const char *at = kept->bytes;
  for (size_t i = 0; i < kept->n; at += bytes_of(&kept->spans[i]), i++) {
    const CtSimtSpan *s = &kept->spans[i];
    if (memcmp(s->begin, at, bytes_of(s)) != 0) {
      size_t first = 0;
      while (s->begin[first] == at[first]) {
        first++;
      }
      return s->begin + first;
    }
  }
  return NULL;
}

const char *ct_simt_kept_at(const CtSimtKept *kept, const char *at) {
  const char *from = kept->bytes;
  for (size_t i = 0; i < kept->n; from += bytes_of(&kept->spans[i]), i++) {
    const CtSimtSpan *s = &kept->spans[i];
    if (at >= s->begin && at < s->end) {
      return from + (at - s->begin);
    }
  }
  CT_UNREACHABLE();
}

void ct_simt_drop(CtSimtKept *kept) {
  ct_free(kept->alloc, kept->spans, kept->cap * sizeof *kept->spans);
  if (kept->bytes != NULL) {
    ct_free(kept->alloc, kept->bytes, kept->n_bytes + 1);
  }
  *kept = (CtSimtKept){.alloc = kept->alloc};
}
