/* order.c: which launches come before which, by streams and events. */
#include "order.h"

#include <string.h>

static CtStatus widen(StateRow *row, CtAlloc alloc, size_t n, CtErr *err) {
  size_t cap = row->n;
  if (n <= cap) {
    return CT_OK;
  }
  uint32_t *known = ct_alloc(alloc, n * sizeof *known);
  if (known == NULL) {
    return ct_fail_nomem(err);
  }
  memset(known, 0, n * sizeof *known);
  if (cap > 0) {
    memcpy(known, row->known, cap * sizeof *known);
  }
  ct_free(alloc, row->known, cap * sizeof *known);
  row->known = known;
  row->n = (uint32_t)n;
  return CT_OK;
}

static CtStatus open_row(StateRows *rows, CtAlloc alloc, uint32_t *number, CtErr *err) {
  for (size_t i = 0; i < rows->n; i++) {
    if (rows->items[i].is_free) {
      rows->items[i].is_free = false;
      *number = (uint32_t)i;
      return CT_OK;
    }
  }
  CtStatus status = CT_GROW(alloc, rows->items, rows->cap, rows->n + 1, err);
  if (status == CT_OK) {
    *number = (uint32_t)rows->n;
    rows->items[rows->n++] = (StateRow){0};
  }
  return status;
}

/* Of a stream that was closed, another one with its number goes on, after all that it did. */
CtStatus order_open_stream(StateOrder *o, CtAlloc alloc, uint32_t *number, CtErr *err) {
  CtStatus status = CT_OK;
  if (o->streams.n == 0) { /* the device's own */
    status = open_row(&o->streams, alloc, number, err);
  }
  return status == CT_OK ? open_row(&o->streams, alloc, number, err) : status;
}

CtStatus order_open_event(StateOrder *o, CtAlloc alloc, uint32_t *number, CtErr *err) {
  CtStatus status = open_row(&o->events, alloc, number, err);
  if (status == CT_OK && o->events.items[*number].n > 0) {
    StateRow *row = &o->events.items[*number];
    memset(row->known, 0, row->n * sizeof *row->known);
  }
  return status;
}

void order_close_stream(StateOrder *o, uint32_t number) { o->streams.items[number].is_free = true; }
void order_close_event(StateOrder *o, uint32_t number) { o->events.items[number].is_free = true; }

static CtStatus join(StateRow *to, CtAlloc alloc, const StateRow *from, CtErr *err) {
  CtStatus status = widen(to, alloc, from->n, err);
  for (size_t i = 0; status == CT_OK && i < from->n; i++) {
    to->known[i] = from->known[i] > to->known[i] ? from->known[i] : to->known[i];
  }
  return status;
}

CtStatus order_record(StateOrder *o, CtAlloc alloc, uint32_t event, uint32_t stream, CtErr *err) {
  StateRow *row = &o->events.items[event];
  if (row->n > 0) {
    memset(row->known, 0, row->n * sizeof *row->known);
  }
  return stream < o->streams.n ? join(row, alloc, &o->streams.items[stream], err) : CT_OK;
}

CtStatus order_wait(StateOrder *o, CtAlloc alloc, uint32_t stream, uint32_t event, CtErr *err) {
  return stream < o->streams.n
             ? join(&o->streams.items[stream], alloc, &o->events.items[event], err)
             : CT_OK;
}

CtStatus order_begin_graph(StateOrder *o, CtAlloc alloc, CtErr *err) {
  return o->streams.n > 0 ? join(&o->begin, alloc, &o->streams.items[0], err) : CT_OK;
}

CtStatus order_begin_branch(StateOrder *o, CtAlloc alloc, uint32_t stream, CtErr *err) {
  return join(&o->streams.items[stream], alloc, &o->begin, err);
}

CtStatus order_end_branch(StateOrder *o, CtAlloc alloc, uint32_t stream, CtErr *err) {
  return join(&o->streams.items[0], alloc, &o->streams.items[stream], err);
}

CtStatus order_launch(StateOrder *o, CtAlloc alloc, uint32_t stream, StateRow *row, CtErr *err) {
  CtStatus status = widen(&o->streams.items[stream], alloc, o->streams.n, err);
  if (status == CT_OK) {
    *row = o->streams.items[stream];
  }
  return status;
}

void order_launched(StateOrder *o, uint32_t stream) { o->streams.items[stream].known[stream]++; }

static void free_rows(StateRows *rows, CtAlloc alloc) {
  for (size_t i = 0; i < rows->n; i++) {
    ct_free(alloc, rows->items[i].known, rows->items[i].n * sizeof *rows->items[i].known);
  }
  ct_free(alloc, rows->items, rows->cap * sizeof *rows->items);
  *rows = (StateRows){0};
}

void order_free(StateOrder *o, CtAlloc alloc) {
  free_rows(&o->streams, alloc);
  free_rows(&o->events, alloc);
  ct_free(alloc, o->begin.known, o->begin.n * sizeof *o->begin.known);
  o->begin = (StateRow){0};
}
