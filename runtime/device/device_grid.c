/* device_grid.c: the words on which the blocks of a cooperative launch wait for one another (GRID_BARRIER in
   emit_prelude.def). Each stream has its own, because launches of two streams may run at the same time. */
#include "device_priv.h"

static CtStatus new_word(CtDevice *d, CtStream stream, CtGridWord **out, CtErr *err) {
  CtGridWord *w = ct_alloc(d->alloc, sizeof *w);
  if (w == NULL) {
    return ct_fail_nomem(err);
  }
  *w = (CtGridWord){.next = d->grid_words, .stream = stream};
  CtStatus status = ct_buffer_new(d, sizeof(unsigned), stream, &w->word, err);
  if (status != CT_OK) {
    ct_free(d->alloc, w, sizeof *w);
    return status;
  }
  d->grid_words = *out = w;
  return CT_OK;
}

/* A launch in a graph has a word of its own: the graph may run beside launches of the stream that it was
   recorded on. */
CtStatus ct_grid_word(CtDevice *d, CtStream stream, CtDevPtr *out, CtErr *err) {
  CtGridWord *w = d->grid_words;
  if (ct_device_is_capturing(d, stream)) {
    return ct_graph_data(d, NULL, sizeof(unsigned), out, err);
  }
  while (w != NULL && w->stream != stream) {
    w = w->next;
  }
  CtStatus status = w == NULL ? new_word(d, stream, &w, err) : CT_OK;
  if (status == CT_OK) {
    *out = w->word.ptr;
  }
  return status;
}

CtStatus ct_grid_clear(CtDevice *d, CtStream stream, CtDevPtr word, CtErr *err) {
  CtStatus status = ct_device_route(d, &stream, err);
  return status == CT_OK ? CT_CALL(d, err, cuMemsetD8Async, (word, 0, sizeof(unsigned), stream),
                                   "%s", "the word of sync_grid")
                         : status;
}
