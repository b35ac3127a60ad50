/* recorder.h: what graph(fn) records while fn runs. Nothing is carried out then: on a device the driver records
   what is enqueued; for the CPU engine copies and fills are kept here as steps, between launches, which
   launch_graph.c keeps. The memory that a graph uses lives as long as the graph.

   On devices of one process a graph has a part for each that is given something. The part of the device where it
   began is the head: it has the steps and the counts. Where one rank of several records, there is no other part. */
#ifndef CUTTLE_RECORDER_H
#define CUTTLE_RECORDER_H

#include "state.h"

/* STATE_MEET: what ranks have launched so far runs before what follows. STATE_RECORD, STATE_WAIT: a stream (`launch`)
   records an event (`byte`), or waits for it. STATE_BRANCH: launches in this stream follow. */
typedef enum StateStepKind {
  STATE_LAUNCH,
  STATE_COPY,
  STATE_SET,
  STATE_CALL,
  STATE_MEET,
  STATE_RECORD,
  STATE_WAIT,
  STATE_BRANCH
} StateStepKind;

typedef struct StateStep { /* on the CPU engine; on a device calls only */
  StateStepKind kind;
  int launch; /* of a launch: its number, from 1; of a call: that of its function; a stream */
  CtStorage *dst, *src;
  size_t dst_at, src_at, bytes;
  int byte;
} StateStep;

typedef struct StateRecorder StateRecorder;
struct StateRecorder {
  CuttleState *state;
  CtDevice *device;    /* NULL: the CPU engine */
  StateRecorder *next; /* the part of another device */
  int n_launches, n_copies, n_collectives;
  int rank;            /* that records it, in m:run; -1: none, or all */
  bool is_one_of_many; /* that rank has others beside it in this process */
  bool is_used;        /* the part was given something */
  /* Begins a part of another device, and puts it behind the head. */
  CtStatus (*extend)(StateRecorder *head, CtDevice *device, CtErr *err);
  CtStorage **held; /* one reference to each */
  size_t n_held, cap_held;
  StateStep *steps;
  size_t n_steps, cap_steps;
};

/* The host is about to use this memory: launches that wait to run and use it run first [-0, +0, v]. */
void state_await(lua_State *L, const CtStorage *s);
/* The host orders or waits for what was enqueued on the device: launches there that wait to begin do so first
   [-0, +0, v]. */
void state_await_device(lua_State *L, const CtDevice *device);
/* The host uses tensors or waits for launches [-0, +0, v]. Raises while a graph is recorded; `op` is what the script
   called, or NULL. */
void state_host_uses(lua_State *L, const char *op);
/* The same where launches are waited for or timed. */
void state_host_waits(lua_State *L, const char *op);

/* The part that records work of a device, begun if need be. */
CtStatus recorder_part(StateRecorder *head, CtDevice *device, StateRecorder **out,
                       CtErr *err) CT_NODISCARD;
/* The graph keeps the memory. Takes the head, as all that follow. */
CtStatus recorder_hold(StateRecorder *head, CtStorage *s, CtErr *err) CT_NODISCARD;
CtStatus recorder_step(StateRecorder *r, StateStep step, CtErr *err) CT_NODISCARD;
/* Bytes that a graph copies or sets. */
CtStatus recorder_copy(StateRecorder *r, CtStorage *src, size_t src_at, CtStorage *dst,
                       size_t dst_at, size_t bytes, CtErr *err) CT_NODISCARD;
CtStatus recorder_set(StateRecorder *r, CtStorage *s, size_t at, int byte, size_t bytes,
                      CtErr *err) CT_NODISCARD;
/* Carries out a step that is no launch. */
CtStatus recorder_run(const StateStep *step, CtErr *err) CT_NODISCARD;
/* A part is launched: its memory is used on the main stream, in whose order it is read and freed. */
void recorder_use(const StateRecorder *r);
void recorder_clear(StateRecorder *r);

#endif
