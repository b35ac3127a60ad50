/* order.h: which launches on the CPU engine come before which, by streams and events, as on a GPU.
   The engine runs each launch to its end before the next one, so only `check` asks. Stream 0 is the
   device's own. A stream knows, of each stream, how many of its launches come before what it does
   next; an event keeps what its stream knew when it was recorded. */
#ifndef CUTTLE_ORDER_H
#define CUTTLE_ORDER_H

#include "runtime/base/base.h"
#include "runtime/base/arena.h"

/* By stream; what is behind `n` is 0. */
typedef struct StateRow {
  uint32_t *known;
  uint32_t n;
  bool is_free; /* its number is nobody's */
} StateRow;

typedef struct StateRows {
  StateRow *items;
  size_t n, cap;
} StateRows;

/* All zero: there is stream 0 only. */
typedef struct StateOrder {
  StateRows streams, events;
  StateRow begin; /* what stream 0 knew when the graph in progress began */
  uint64_t
      n_fills; /* of CuttleState.n_host: fills that a device queues, for which the host does not wait */
} StateOrder;

/* Does the script have streams? Else all launches come one after the other, and nothing is kept. */
static inline bool order_has_streams(const StateOrder *o) { return o->streams.n > 1; }

/* A number for a new stream or event; _close gives it back. */
CtStatus order_open_stream(StateOrder *o, CtAlloc alloc, uint32_t *number, CtErr *err) CT_NODISCARD;
CtStatus order_open_event(StateOrder *o, CtAlloc alloc, uint32_t *number, CtErr *err) CT_NODISCARD;
void order_close_stream(StateOrder *o, uint32_t number);
void order_close_event(StateOrder *o, uint32_t number);
CtStatus order_record(StateOrder *o, CtAlloc alloc, uint32_t event, uint32_t stream,
                      CtErr *err) CT_NODISCARD;
CtStatus order_wait(StateOrder *o, CtAlloc alloc, uint32_t stream, uint32_t event,
                    CtErr *err) CT_NODISCARD;
/* A graph begins in stream 0. Its launches in another stream are a branch, which begins with the
   graph; and what comes after the graph in stream 0 comes after its branches. */
CtStatus order_begin_graph(StateOrder *o, CtAlloc alloc, CtErr *err) CT_NODISCARD;
CtStatus order_begin_branch(StateOrder *o, CtAlloc alloc, uint32_t stream, CtErr *err) CT_NODISCARD;
CtStatus order_end_branch(StateOrder *o, CtAlloc alloc, uint32_t stream, CtErr *err) CT_NODISCARD;
/* A launch in the stream: *row is what it knows, until the order changes. */
CtStatus order_launch(StateOrder *o, CtAlloc alloc, uint32_t stream, StateRow *row,
                      CtErr *err) CT_NODISCARD;
/* That launch has run. */
void order_launched(StateOrder *o, uint32_t stream);
void order_free(StateOrder *o, CtAlloc alloc);

#endif
