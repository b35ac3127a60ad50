/* recorder.h: what graph(fn) records while fn runs. Nothing is carried out then: on a device the driver records
   what is enqueued; for the CPU engine copies and fills are kept here as steps, between launches, which
   launch_graph.c keeps. The memory that a graph uses lives as long as the graph. */
#ifndef CUTTLE_RECORDER_H
#define CUTTLE_RECORDER_H

#include "state.h"

typedef enum StateStepKind { STATE_LAUNCH, STATE_COPY, STATE_SET, STATE_CALL } StateStepKind;

typedef struct StateStep { /* on the CPU engine; on a device calls only */
  StateStepKind kind;
  int launch; /* of a launch: its number, from 1; of a call: that of its function */
  CtStorage *dst, *src;
  size_t dst_at, src_at, bytes;
  int byte;
} StateStep;

typedef struct StateRecorder {
  CuttleState *state;
  CtDevice *device; /* NULL: the CPU engine */
  int n_launches, n_copies, n_collectives;
  int rank;         /* that records it, in m:run; -1: none */
  CtStorage **held; /* one reference to each */
  size_t n_held, cap_held;
  StateStep *steps;
  size_t n_steps, cap_steps;
} StateRecorder;

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

CtStatus recorder_hold(StateRecorder *r, CtStorage *s, CtErr *err) CT_NODISCARD;
CtStatus recorder_step(StateRecorder *r, StateStep step, CtErr *err) CT_NODISCARD;
/* Bytes that a graph copies or sets. */
CtStatus recorder_copy(StateRecorder *r, CtStorage *src, size_t src_at, CtStorage *dst,
                       size_t dst_at, size_t bytes, CtErr *err) CT_NODISCARD;
CtStatus recorder_set(StateRecorder *r, CtStorage *s, size_t at, int byte, size_t bytes,
                      CtErr *err) CT_NODISCARD;
/* Carries out a step that is no launch. */
CtStatus recorder_run(const StateStep *step, CtErr *err) CT_NODISCARD;
/* A graph of a device is launched: its memory is used on the main stream, in whose order it is read and freed. */
void recorder_use(const StateRecorder *r);
void recorder_clear(StateRecorder *r);

#endif
