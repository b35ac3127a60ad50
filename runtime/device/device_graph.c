/* device_graph.c: graphs: what the main stream is given is recorded, and launched as one.

   A recording captures a stream of its own, which does not wait for the legacy default stream: so the main
   stream may be that one, and other threads may use it meanwhile. ct_device_route puts the recording's stream
   in the place of the main one. Another stream joins the capture at its first use: it waits for an event that
   the recording began with, and the end of the recording waits for it. */
#include <string.h>

#include "device_priv.h"

typedef struct Buffers {
  CtBuffer *items;
  size_t n, cap;
} Buffers;

struct CtCapture {
  CtStream *joined;
  size_t n_joined, cap_joined;
  Buffers buffers;
  const CtLabel *labels[CT_RING_LEN]; /* of the last launches, each once */
  size_t n_labels;
};

struct CtGraph {
  CtDevice *device;
  CuGraphExec exec;
  Buffers buffers;
  const CtLabel *labels[CT_RING_LEN];
  size_t n_labels;
};

/* {====== Is a stream being captured? ====== */

/* Nobody else captures a stream of ours. */
static bool is_own(const CtDevice *d, CtStream stream) {
  bool found = stream == d->stream && d->owns_stream;
  for (size_t i = 0; i < d->streams.n && !found; i++) {
    found = d->streams.items[i] == stream;
  }
  return found;
}

static bool is_captured_by_host(const CtDevice *d, CtStream stream) {
  CuCaptureStatus status = CT_CU_STREAM_CAPTURE_STATUS_NONE;
  if (stream == NULL || is_own(d, stream) || d->cu->cuStreamIsCapturing == NULL) {
    return false;
  }
  CuResult r = d->cu->cuStreamIsCapturing(stream, &status); /* a stream knows its context */
  return r == CT_CUDA_SUCCESS && status != CT_CU_STREAM_CAPTURE_STATUS_NONE;
}

bool ct_device_is_capturing(CtDevice *d, CtStream stream) {
  return d->capture != NULL || is_captured_by_host(d, stream) || is_captured_by_host(d, d->guest);
}

void ct_device_set_guest(CtDevice *d, CtStream stream) { d->guest = stream; }

CtStatus ct_device_refuse(CtDevice *d, CtStream stream, const char *what, CtErr *err) {
  if (!ct_device_is_capturing(d, stream)) {
    return CT_OK;
  }
  return ct_fail(err, CT_EINVAL,
                 "graph: %s cannot be recorded, as nothing runs before the graph "
                 "is launched; do it before the recording or after a launch of the graph",
                 what);
}

/* {====== Memory while a stream is being captured ====== */

static CtStatus make_aside(CtDevice *d, CtErr *err) {
  return d->aside != NULL
             ? CT_OK
             : CT_CALL_ASIDE(d, err, cuStreamCreate, (&d->aside, CT_CU_STREAM_NON_BLOCKING), "%s",
                             "a stream for what graphs keep");
}

static CtStatus wait_aside(CtDevice *d, CtErr *err) {
  return CT_CALL_ASIDE(d, err, cuStreamSynchronize, (d->aside), "%s", "");
}

static CtStatus alloc_pooled(CtDevice *d, size_t bytes, CuDevicePtr *p, CtErr *err) {
  CtStatus s = make_aside(d, err);
  s = s == CT_OK ? CT_CALL_ASIDE(d, err, cuMemAllocFromPoolAsync, (p, bytes, d->pool, d->aside),
                                 "%zu bytes on '%s'", bytes, d->info.name)
                 : s;
  return s == CT_OK ? wait_aside(d, err) : s;
}

/* Allocates now, whatever is being captured. */
static CtStatus alloc_aside(CtDevice *d, size_t bytes, CtBuffer *out, CtErr *err) {
  CuDevicePtr p = 0;
  CtStatus s = d->pool != NULL ? alloc_pooled(d, bytes, &p, err)
                               : CT_CALL_ASIDE(d, err, cuMemAlloc_v2, (&p, bytes),
                                               "%zu bytes on '%s'", bytes, d->info.name);
  if (s == CT_OK) {
    *out = (CtBuffer){p, bytes};
  }
  return s;
}

/* Where there is no room to note it, the memory goes with the device's pool. */
void ct_device_defer(CtDevice *d, const CtBuffer *b, CtStream stream) {
  if (CT_GROW(d->alloc, d->deferred, d->cap_deferred, d->n_deferred + 1, NULL) == CT_OK) {
    d->deferred[d->n_deferred++] = (CtDeferred){*b, stream};
  }
}

void ct_device_free_deferred(CtDevice *d) {
  size_t n = d->n_deferred;
  if (n == 0 || ct_device_is_capturing(d, d->stream)) {
    return;
  }
  d->n_deferred = 0;
  for (size_t i = 0; i < n; i++) { /* what is deferred again takes no place that is still to come */
    CtDeferred x = d->deferred[i];
    ct_buffer_free(d, &x.buffer, x.stream);
  }
}

static CtStatus fill_aside(CtDevice *d, CtDevPtr dst, size_t bytes, const void *data, CtErr *err) {
  CtStatus s = make_aside(d, err);
  if (s == CT_OK && data == NULL) {
    s = CT_CALL_ASIDE(d, err, cuMemsetD8Async, (dst, 0, bytes, d->aside), "%s", "");
  } else if (s == CT_OK) {
    s = CT_CALL_ASIDE(d, err, cuMemcpyHtoDAsync_v2, (dst, data, bytes, d->aside), "%zu bytes",
                      bytes);
  }
  return s == CT_OK ? wait_aside(d, err) : s;
}

CtStatus ct_device_write_new(CtDevice *d, CtDevPtr dst, const void *src, size_t bytes,
                             CtStream stream, CtErr *err) {
  return bytes > 0 && ct_device_is_capturing(d, stream)
             ? fill_aside(d, dst, bytes, src, err)
             : ct_device_write(d, dst, src, bytes, stream, err);
}

static void free_buffers(CtDevice *d, Buffers *b) {
  for (size_t i = 0; i < b->n; i++) {
    ct_buffer_free(d, &b->items[i], d->stream);
  }
  ct_free(d->alloc, b->items, b->cap * sizeof *b->items);
  *b = (Buffers){0};
}

/* Room for one more in the list that the memory belongs to: of the recording, or of the device. */
static CtBuffer *add_buffer(CtDevice *d, CtErr *err) {
  if (d->capture != NULL) {
    Buffers *b = &d->capture->buffers;
    return CT_GROW(d->alloc, b->items, b->cap, b->n + 1, err) == CT_OK ? &b->items[b->n] : NULL;
  }
  return CT_GROW(d->alloc, d->captured, d->cap_captured, d->n_captured + 1, err) == CT_OK
             ? &d->captured[d->n_captured]
             : NULL;
}

CtStatus ct_graph_data(CtDevice *d, const void *data, size_t bytes, CtDevPtr *out, CtErr *err) {
  CtBuffer *b = add_buffer(d, err);
  CtStatus s = b == NULL ? CT_ENOMEM : alloc_aside(d, bytes, b, err);
  if (s != CT_OK) {
    return s;
  }
  ++*(d->capture != NULL ? &d->capture->buffers.n : &d->n_captured);
  *out = b->ptr;
  return fill_aside(d, b->ptr, bytes, data, err);
}

CtStatus ct_device_alloc_captured(CtDevice *d, size_t bytes, CtBuffer *out, CtErr *err) {
  CtBuffer *b = d->capture != NULL ? out : add_buffer(d, err);
  CtStatus s = b == NULL ? CT_ENOMEM : alloc_aside(d, bytes, b, err);
  if (s == CT_OK && b != out) {
    d->n_captured++;
    *out = *b;
  }
  return s;
}

bool ct_device_keeps(const CtDevice *d, CtDevPtr p) {
  for (size_t i = 0; i < d->n_captured; i++) {
    if (d->captured[i].ptr == p) {
      return true;
    }
  }
  return false;
}

void ct_device_free_captured(CtDevice *d) {
  size_t n = d->n_captured;
  d->n_captured = 0; /* so that they are freed now */
  for (size_t i = 0; i < n; i++) {
    ct_buffer_free(d, &d->captured[i], d->stream);
  }
}

/* {====== Streams of a recording ====== */

static bool is_joined(const CtCapture *c, CtStream stream) {
  for (size_t i = 0; i < c->n_joined; i++) {
    if (c->joined[i] == stream) {
      return true;
    }
  }
  return false;
}

CtStatus ct_device_route(CtDevice *d, CtStream *stream, CtErr *err) {
  CtCapture *c = d->capture;
  if (c == NULL || is_joined(c, *stream)) {
    return CT_OK;
  }
  if (*stream == d->stream || *stream == d->recording) {
    *stream = d->recording;
    return CT_OK;
  }
  CtStatus s = CT_GROW(d->alloc, c->joined, c->cap_joined, c->n_joined + 1, err);
  s = s == CT_OK ? CT_CALL(d, err, cuStreamWaitEvent, (*stream, d->root, 0), "%s",
                           "the beginning of a graph")
                 : s;
  if (s == CT_OK) {
    c->joined[c->n_joined++] = *stream;
  }
  return s;
}

/* The recording's own stream waits for all others. */
static CtStatus join_all(CtDevice *d, CtErr *err) {
  CtCapture *c = d->capture;
  CtStatus s = CT_OK;
  for (size_t i = 0; i < c->n_joined && s == CT_OK; i++) {
    s = CT_CALL(d, err, cuEventRecord, (d->root, c->joined[i]), "%s", "the end of a graph");
    s = s == CT_OK ? CT_CALL(d, err, cuStreamWaitEvent, (d->recording, d->root, 0), "%s", "") : s;
  }
  return s;
}

/* {====== Recording ====== */

void ct_device_note_captured(CtDevice *d, const CtLabel *label) {
  CtCapture *c = d->capture;
  for (size_t i = 0; i < c->n_labels; i++) {
    if (c->labels[i] == label) {
      return;
    }
  }
  if (c->n_labels < CT_RING_LEN) {
    c->labels[c->n_labels++] = label;
  }
}

static bool has_graphs(const CtCuda *cu) {
  return cu->cuStreamBeginCapture_v2 != NULL && cu->cuStreamEndCapture != NULL &&
         cu->cuGraphInstantiateWithFlags != NULL && cu->cuGraphLaunch != NULL &&
         cu->cuGraphExecDestroy != NULL && cu->cuGraphDestroy != NULL;
}

static CtStatus check_begin(CtDevice *d, CtErr *err) {
  if (!has_graphs(d->cu)) {
    return ct_fail(err, CT_EUNSUPPORTED,
                   "graph: the driver, for CUDA %d.%d, is too old; graphs "
                   "need one for CUDA 11.4 or later",
                   d->cu->version / 1000, d->cu->version % 1000 / 10);
  }
  if (d->capture != NULL) {
    return ct_fail(err, CT_EINVAL,
                   "graph: a graph is already being recorded; record both parts in one function");
  }
  return ct_device_refuse(d, d->stream, "a graph of its own", err);
}

/* Kept for the next graphs, as they cost more than a short recording. */
static CtStatus make_recording(CtDevice *d, CtErr *err) {
  CtStatus s = d->root != NULL ? CT_OK : ct_mark_new(d, &d->root, err);
  return s != CT_OK || d->recording != NULL
             ? s
             : CT_CALL_ASIDE(d, err, cuStreamCreate, (&d->recording, CT_CU_STREAM_NON_BLOCKING),
                             "%s", "a stream to record graphs on");
}

static bool are_several(void) {
  int n = 1;
  return ct_device_count(&n, NULL) == CT_OK && n > 1;
}

/* Where there are several devices, the thread may go on to use others, which may record as well. */
static CtStatus start_capture(CtDevice *d, CtErr *err) {
  CtStatus s = make_recording(d, err);
  CuCaptureMode mode =
      are_several() ? CT_CU_STREAM_CAPTURE_MODE_RELAXED : CT_CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
  return s == CT_OK ? CT_CALL(d, err, cuStreamBeginCapture_v2, (d->recording, mode), "%s", "") : s;
}

static void free_capture(CtDevice *d, CtCapture *c) {
  free_buffers(d, &c->buffers);
  ct_free(d->alloc, c->joined, c->cap_joined * sizeof *c->joined);
  ct_free(d->alloc, c, sizeof *c);
}

CtStatus ct_graph_begin(CtDevice *d, CtErr *err) {
  CtStatus s = check_begin(d, err);
  CtCapture *c = s == CT_OK ? ct_alloc(d->alloc, sizeof *c) : NULL;
  if (c == NULL) {
    return s == CT_OK ? ct_fail_nomem(err) : s;
  }
  *c = (CtCapture){0};
  s = start_capture(d, err);
  if (s != CT_OK) {
    free_capture(d, c);
    return s;
  }
  d->capture = c;
  s = CT_CALL(d, err, cuEventRecord, (d->root, d->recording), "%s", "the beginning of a graph");
  if (s != CT_OK) {
    ct_graph_drop(d);
  }
  return s;
}

/* The recording is over; *out is what was recorded, or NULL. */
static CtStatus end_capture(CtDevice *d, CuGraph *out, CtErr *err) {
  *out = NULL;
  return CT_CALL(d, err, cuStreamEndCapture, (d->recording, out), "%s", "");
}

static void destroy(CtDevice *d, CuGraph graph) {
  if (graph != NULL && ct_device_enter(d, NULL)) {
    (void)d->cu->cuGraphDestroy(graph);
    ct_device_leave(d);
  }
}

static void finish(CtDevice *d) {
  CtCapture *c = d->capture;
  d->capture = NULL;
  free_capture(d, c);
  ct_device_free_deferred(d);
}

void ct_graph_drop(CtDevice *d) {
  CuGraph graph;
  if (d->capture != NULL) {
    (void)end_capture(d, &graph, NULL);
    destroy(d, graph);
    finish(d);
  }
}

/* {====== Graphs ====== */

/* True: `exec` is now what was recorded. A graph of another form cannot be updated. */
static bool update(CtDevice *d, CuGraphExec exec, CuGraph graph) {
  CuGraphUpdate why;
  if (exec == NULL || d->cu->cuGraphExecUpdate_v2 == NULL || !ct_device_enter(d, NULL)) {
    return false;
  }
  CuResult r = d->cu->cuGraphExecUpdate_v2(exec, graph, &why);
  ct_device_leave(d);
  return r == CT_CUDA_SUCCESS;
}

static void destroy_exec(CtDevice *d, CuGraphExec exec) {
  if (exec != NULL && ct_device_enter_aside(d, NULL)) {
    (void)d->cu->cuGraphExecDestroy(exec);
    ct_device_leave(d);
  }
}

/* Makes it ready: its first launch then waits for nothing, while a graph of another device may wait for that. */
static CtStatus upload(CtDevice *d, CuGraphExec exec, CtErr *err) {
  return d->cu->cuGraphUpload == NULL || !are_several()
             ? CT_OK
             : CT_CALL(d, err, cuGraphUpload, (exec, d->stream), "%s", "");
}

static CtStatus instantiate(CtGraph *g, CuGraph graph, CtErr *err) {
  CuGraphExec made = NULL;
  if (update(g->device, g->exec, graph)) {
    return upload(g->device, g->exec, err);
  }
  CtStatus s = CT_CALL(g->device, err, cuGraphInstantiateWithFlags, (&made, graph, 0), "%s", "");
  s = s == CT_OK ? upload(g->device, made, err) : s;
  if (s == CT_OK) {
    CuGraphExec old = g->exec;
    g->exec = made;
    made = old;
  }
  destroy_exec(g->device, made);
  return s;
}

/* What the recording kept for the graph is the graph's from now on. */
static void take(CtGraph *g, CtCapture *c) {
  free_buffers(g->device, &g->buffers); /* in the order of the main stream, after its launches */
  g->buffers = c->buffers;
  c->buffers = (Buffers){0};
  memcpy(g->labels, c->labels, sizeof g->labels);
  g->n_labels = c->n_labels;
}

static CtStatus make_graph(CtDevice *d, CuGraph graph, CtGraph **out, CtErr *err) {
  CtGraph *g = *out != NULL ? *out : ct_alloc(d->alloc, sizeof *g);
  if (g == NULL) {
    return ct_fail_nomem(err);
  }
  if (*out == NULL) {
    *g = (CtGraph){.device = d};
  }
  CtCapture *c = d->capture;
  CtStatus s = instantiate(g, graph, err);
  if (s != CT_OK && *out == NULL) {
    ct_free(d->alloc, g, sizeof *g);
  }
  if (s == CT_OK) {
    d->capture = NULL; /* so that buffers are freed now */
    take(g, c);
    d->capture = c;
    *out = g;
  }
  return s;
}

CtStatus ct_graph_end(CtDevice *d, CtGraph **graph, CtErr *err) {
  CuGraph recorded = NULL;
  CtStatus s = join_all(d, err);
  if (s != CT_OK) {
    ct_graph_drop(d);
    return s;
  }
  s = end_capture(d, &recorded, err);
  s = s == CT_OK ? make_graph(d, recorded, graph, err) : s;
  destroy(d, recorded);
  finish(d);
  return s;
}

CtStatus ct_graph_launch(CtGraph *g, CtErr *err) {
  CtDevice *d = g->device;
  CtStatus s = CT_CALL(d, err, cuGraphLaunch, (g->exec, d->stream), "%s", "");
  for (size_t i = 0; i < g->n_labels && s == CT_OK; i++) {
    ct_device_note_label(d, g->labels[i], d->stream);
  }
  return s;
}

void ct_graph_free(CtGraph *g) {
  if (g != NULL) {
    CtDevice *d = g->device;
    destroy_exec(d, g->exec);
    free_buffers(d, &g->buffers);
    ct_free(d->alloc, g, sizeof *g);
  }
}
