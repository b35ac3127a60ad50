/* recorder.c: the steps of a graph, and the memory that they use. */
#include "recorder.h"

#include "diag.h"

/* {====== What cannot be recorded ====== */

void state_host_uses(lua_State *L, const char *op) {
  CuttleState *s = state_of(L);
  s->n_host++;
  if (s->taps.recorder != NULL) {
    diag_error(L,
               "graph: %s uses a tensor's memory on the host while a graph is recorded, and "
               "nothing has run yet; do it before graph(...) or after the graph's launch",
               op == NULL ? "an element" : op);
  }
}

void state_await(lua_State *L, const CtStorage *s) {
  if (s->is_awaited || (s->of != NULL && s->of->is_awaited)) {
    state_of(L)->taps.joint->run(L);
  }
}

void state_await_device(lua_State *L, const CtDevice *device) {
  const StateJoint *j = state_of(L)->taps.joint;
  if (j != NULL && device != NULL && j->waits(j, device)) {
    j->run(L);
  }
}

void state_host_waits(lua_State *L, const char *op) {
  if (state_of(L)->taps.recorder != NULL) {
    diag_error(L,
               "graph: %s waits for launches while a graph is recorded, and nothing runs yet; "
               "do it before graph(...) or after the graph's launch",
               op);
  }
}

static CtStatus fail_place(const StateRecorder *r, const CtDevice *device, CtErr *err) {
  if (device != NULL && r->device != NULL) {
    return ct_fail(err, CT_EINVAL,
                   "graph: rank %d records work of its own device, but this is of another one; "
                   "record all ranks at once: graph(function() m:run(...) end)",
                   r->rank);
  }
  return ct_fail(err, CT_EINVAL,
                 "graph: the tensor is on the %s, but the graph records work of the %s; move it "
                 "with t:to(...) before the graph",
                 device == NULL ? "CPU" : "GPU", r->device == NULL ? "CPU" : "GPU");
}

/* {====== Recording ====== */

static StateRecorder *find_part(StateRecorder *head, const CtDevice *device) {
  StateRecorder *r = head;
  while (r != NULL && r->device != device) {
    r = r->next;
  }
  return r;
}

CtStatus recorder_part(StateRecorder *head, CtDevice *device, StateRecorder **out, CtErr *err) {
  CtStatus status = CT_OK;
  *out = find_part(head, device);
  if (*out == NULL && (device == NULL || head->device == NULL || head->rank >= 0)) {
    return fail_place(head, device, err);
  }
  if (*out == NULL) {
    status = head->extend(head, device, err);
    *out = find_part(head, device);
  }
  return status;
}

CtStatus recorder_hold(StateRecorder *head, CtStorage *s, CtErr *err) {
  StateRecorder *r = NULL;
  CtStatus status = recorder_part(head, s->device, &r, err);
  if (status != CT_OK) {
    return status;
  }
  r->is_used = true;
  if (r->device != NULL) {
    s->stream = ct_device_stream(r->device);
  }
  for (size_t i = 0; i < r->n_held; i++) {
    if (r->held[i] == s) {
      return CT_OK;
    }
  }
  status = CT_GROW(r->state->alloc, r->held, r->cap_held, r->n_held + 1, err);
  if (status == CT_OK) {
    ct_blank_settle(s->blank); /* the graph may write it at any time */
    r->held[r->n_held++] = ct_storage_retain(s);
  }
  return status;
}

CtStatus recorder_step(StateRecorder *r, StateStep step, CtErr *err) {
  CtStatus status = CT_GROW(r->state->alloc, r->steps, r->cap_steps, r->n_steps + 1, err);
  if (status == CT_OK) {
    r->steps[r->n_steps++] = step;
  }
  return status;
}

/* On a device it is enqueued, and the driver records it. */
static CtStatus add(StateRecorder *r, const StateStep *step, CtErr *err) {
  CtStatus status = ct_storage_may_write(step->dst, err);
  status = status == CT_OK ? recorder_hold(r, step->dst, err) : status;
  status = status == CT_OK && step->src != NULL ? recorder_hold(r, step->src, err) : status;
  if (status != CT_OK) {
    return status;
  }
  if (step->src != NULL && step->src->device != step->dst->device) {
    return ct_fail(err, CT_EINVAL,
                   "graph: a copy from one device to another cannot be recorded; let a collective "
                   "or a kernel that uses peer_tensor(x, rank) do it");
  }
  r->n_copies++;
  return r->device == NULL ? recorder_step(r, *step, err) : recorder_run(step, err);
}

CtStatus recorder_copy(StateRecorder *r, CtStorage *src, size_t src_at, CtStorage *dst,
                       size_t dst_at, size_t bytes, CtErr *err) {
  const StateStep step = {STATE_COPY, 0, dst, src, dst_at, src_at, bytes, 0};
  return add(r, &step, err);
}

CtStatus recorder_set(StateRecorder *r, CtStorage *s, size_t at, int byte, size_t bytes,
                      CtErr *err) {
  const StateStep step = {STATE_SET, 0, s, NULL, at, 0, bytes, byte};
  return add(r, &step, err);
}

CtStatus recorder_run(const StateStep *step, CtErr *err) {
  return step->kind == STATE_COPY
             ? ct_storage_copy(step->src, step->src_at, step->dst, step->dst_at, step->bytes, err)
             : ct_storage_set(step->dst, step->dst_at, step->byte, step->bytes, err);
}

void recorder_use(const StateRecorder *r) {
  for (size_t i = 0; i < r->n_held; i++) {
    r->held[i]->stream = ct_device_stream(r->device);
  }
}

void recorder_clear(StateRecorder *r) {
  CtAlloc alloc = r->state->alloc;
  for (size_t i = 0; i < r->n_held; i++) {
    ct_storage_release(r->held[i]);
  }
  ct_free(alloc, r->held, r->cap_held * sizeof(CtStorage *));
  ct_free(alloc, r->steps, r->cap_steps * sizeof(StateStep));
  *r = (StateRecorder){.state = r->state, .device = r->device, .rank = r->rank, .next = r->next};
}
