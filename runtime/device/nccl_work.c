/* nccl_work.c: collectives: enqueued as groups, followed by events, waited for up to a limit. */
#include <stdio.h>
#include <string.h>

#include "nccl_priv.h"
#include "runtime/base/clock.h"

const char *const ct_nccl_ops[CT_NCCL_OPS] = {[CT_ALL_REDUCE] = "all_reduce",
                                              [CT_REDUCE_SCATTER] = "reduce_scatter",
                                              [CT_ALL_GATHER] = "all_gather",
                                              [CT_ALL_TO_ALL] = "all_to_all",
                                              [CT_BROADCAST] = "broadcast",
                                              [CT_SEND] = "send",
                                              [CT_RECV] = "recv"};

/* {====== Works: what is on the device ====== */

static CtNcclWork *front(const CtComm *c) { return &c->works[c->first]; }

/* A fault of a device ends what its communicators do elsewhere, too. */
static CtStatus pass_on(CtComm *c, CtStatus s, const CtErr *own, CtErr *err) {
  ct_nccl_abort(c->of, own->msg);
  return ct_fail(err, s, "%s", own->msg);
}

static CtStatus query(CtComm *c, CtEvent e, bool *is_done, CtErr *err) {
  CtErr own;
  CtStatus s = ct_event_query(c->device, e, is_done, &own);
  return s == CT_OK ? s : pass_on(c, s, &own, err);
}

static CtStatus drop_done(CtComm *c, CtErr *err) {
  bool is_done = true;
  CtStatus s = CT_OK;
  while (s == CT_OK && c->n > 0 && is_done) {
    s = query(c, front(c)->end, &is_done, err);
    if (s == CT_OK && is_done) {
      c->first = (c->first + 1) & (c->cap - 1);
      c->n--;
    }
  }
  return s;
}

/* Twice the places; those in use come first. */
static CtStatus grow(CtComm *c, CtErr *err) {
  size_t cap = c->cap == 0 ? 8 : c->cap * 2;
  CtNcclWork *works = ct_alloc(c->of->alloc, cap * sizeof *works);
  if (works == NULL) {
    return ct_fail_nomem(err);
  }
  memset(works, 0, cap * sizeof *works);
  for (size_t i = 0; i < c->cap; i++) {
    works[i] = c->works[(c->first + i) & (c->cap - 1)];
  }
  ct_free(c->of->alloc, c->works, c->cap * sizeof *works);
  c->works = works;
  c->cap = cap;
  c->first = 0;
  return CT_OK;
}

static CtStatus make_events(CtDevice *d, CtNcclWork *w, CtErr *err) {
  CtStatus s = w->begin == NULL ? ct_mark_new(d, &w->begin, err) : CT_OK;
  return s == CT_OK && w->end == NULL ? ct_mark_new(d, &w->end, err) : s;
}

/* A question to the driver takes longer than a collective's own marks, so nobody asks before there are some works,
   and then about half of them at once. */
enum { KEPT = 16 };

static CtStatus drop_some(CtComm *c, CtErr *err) {
  bool is_done = false;
  if (c->n < KEPT || c->n % (KEPT / 2) != 0) {
    return CT_OK;
  }
  size_t half = c->n / 2;
  CtStatus s = query(c, c->works[(c->first + half - 1) & (c->cap - 1)].end, &is_done, err);
  if (s == CT_OK && is_done) {
    c->first = (c->first + half) & (c->cap - 1);
    c->n -= half;
  }
  return s;
}

/* The next place, which does not count yet. */
static CtStatus next_work(CtComm *c, CtNcclWork **out, CtErr *err) {
  CtStatus s = drop_some(c, err);
  s = s == CT_OK && c->n == c->cap ? grow(c, err) : s;
  if (s == CT_OK) {
    *out = &c->works[(c->first + c->n) & (c->cap - 1)];
    s = make_events(c->device, *out, err);
  }
  return s;
}

void ct_nccl_free_works(CtComm *c) {
  for (size_t i = 0; i < c->cap; i++) {
    ct_event_free(c->device, c->works[i].begin);
    ct_event_free(c->device, c->works[i].end);
  }
  ct_free(c->of->alloc, c->works, c->cap * sizeof *c->works);
  c->works = NULL;
  c->cap = c->first = c->n = 0;
}

/* {====== The watch ====== */

/* A kernel of another device of this process is the reason, where one holds it back. */
static CtStatus fail_late(CtComm *c, const CtNcclWork *w, int64_t passed, CtErr *err) {
  CtErr own;
  CtStatus s;
  CtDevice *held = ct_nccl_find_held(c->of, &s, &own);
  if (s == CT_OK && held != NULL) {
    s = ct_device_give_up(held, (double)passed * 1e-9, &own);
  }
  if (s != CT_OK) {
    return pass_on(c, s, &own, err);
  }
  return ct_nccl_fail(c->of, CT_EDEVICE, err,
                      "nccl: rank %d waited %.1f s in %s; another rank may have ended, or be "
                      "at another line",
                      c->world, (double)passed * 1e-9, w->what);
}

void ct_nccl_hurry(CtComm *c) {
  for (size_t i = 0; i < c->n; i++) {
    CtNcclWork *w = &c->works[(c->first + i) & (c->cap - 1)];
    w->limit = ct_min(w->limit, ct_nccl_ns(CT_NCCL_CLOSE_S));
  }
}

/* The oldest work of a rank, which the others wait for: how long has its device been at it? */
static CtStatus ask_front(CtComm *c, CtErr *err) {
  CtStatus s = drop_done(c, err);
  if (s != CT_OK || c->n == 0) {
    return s;
  }
  if (c->of->is_closing != NULL && *c->of->is_closing) {
    ct_nccl_hurry(c);
  }
  CtNcclWork *w = front(c);
  int64_t now = ct_now_ns();
  if (w->since == 0) {
    bool is_begun = false;
    s = query(c, w->begin, &is_begun, err);
    w->since = is_begun ? now : 0;
    return s;
  }
  return now - w->since > w->limit ? fail_late(c, w, now - w->since, err) : CT_OK;
}

static CtStatus ask_comm(CtComm *c, CtErr *err) {
  NcclResult r = CT_NCCL_SUCCESS;
  NcclResult asked = c->of->lib->ncclCommGetAsyncError(c->comm, &r);
  r = asked == CT_NCCL_SUCCESS ? r : asked;
  if (ct_nccl_is_bad(r)) {
    return ct_nccl_fail_result(c->of, c, c->n > 0 ? front(c)->what : "between collectives", r, err);
  }
  return ask_front(c, err);
}

CtStatus ct_nccl_ask(void *nccl, CtErr *err) {
  CtNccl *n = nccl;
  CtStatus s = CT_OK;
  for (CtComm *c = n->comms; c != NULL && s == CT_OK; c = c->next) {
    s = c->comm == NULL ? CT_OK : ask_comm(c, err);
  }
  return s;
}

/* After ct_nccl_ask, which drops works that are done. */
static bool has_works(CtComm *const *comms, int count) {
  bool has = false;
  for (int i = 0; i < count && !has; i++) {
    has = comms[i] != NULL && comms[i]->n > 0;
  }
  return has;
}

CtStatus ct_nccl_wait_for(CtNccl *n, CtComm *const *comms, int count, CtErr *err) {
  int64_t begun = ct_now_ns();
  CtStatus s = ct_nccl_ask(n, err);
  while (s == CT_OK && has_works(comms, count)) {
    if (ct_flag_is_up(n->interrupt)) {
      return ct_fail(err, CT_EINTERRUPTED, "nccl: the wait was interrupted");
    }
    ct_nccl_nap(begun);
    s = ct_nccl_ask(n, err);
  }
  return s;
}

CtStatus ct_nccl_wait(CtNccl *n, CtErr *err) {
  CtStatus s = CT_OK;
  for (CtComm *c = n->comms; c != NULL && s == CT_OK; c = c->next) {
    s = ct_nccl_wait_for(n, &c, 1, err);
  }
  return s;
}

/* As ct_device_pace: not too many collectives wait for the device. */
enum { WAITING = 64 };

static CtStatus pace(const CtComm *c, CtErr *err) {
  int64_t begun = ct_now_ns();
  CtStatus s = c->n < WAITING ? CT_OK : ct_nccl_ask(c->of, err);
  while (s == CT_OK && c->n >= WAITING) {
    if (ct_flag_is_up(c->of->interrupt)) {
      return ct_fail(err, CT_EINTERRUPTED, "nccl: the wait was interrupted");
    }
    ct_nccl_nap(begun);
    s = ct_nccl_ask(c->of, err);
  }
  return s;
}

/* {====== Element types ====== */

/* What NCCL adds or compares; of the others only bytes can be moved. */
typedef struct Kind {
  bool compares, adds;
  NcclDataType type;
  int since; /* the version that has it; 0: any */
} Kind;

#define NCCL_ADDS(name, since)                                                                     \
  { true, true, CT_NCCL_##name, since }
#define NCCL_COMPARES(name)                                                                        \
  { true, false, CT_NCCL_##name, 0 }
#define NCCL_BYTES                                                                                 \
  { false, false, CT_NCCL_UINT8, 0 }
#define DTYPE(name, bits, kind, compute, cuda, ctype, npy, dlpack, map, nccl, ...)                 \
  [CT_##name] = NCCL_##nccl,
static const Kind kinds[CT_DTYPE_COUNT] = {
#include "runtime/base/dtypes.def"
};

static const NcclRedOp red_ops[] = {[CT_REDUCE_SUM] = CT_NCCL_SUM,
                                    [CT_REDUCE_MAX] = CT_NCCL_LARGEST,
                                    [CT_REDUCE_MIN] = CT_NCCL_LEAST};

static bool is_reduction(CtNcclOp op) { return op == CT_ALL_REDUCE || op == CT_REDUCE_SCATTER; }

static CtStatus check_dtype(const CtNccl *n, const CtNcclCall *call, CtErr *err) {
  const Kind *k = &kinds[call->dtype];
  bool is_sum = call->reduce == CT_REDUCE_SUM;
  if (!is_reduction(call->op) ||
      (k->compares && (k->adds || !is_sum) && n->lib->version >= k->since)) {
    return CT_OK;
  }
  if (k->since > n->lib->version) {
    return ct_fail(err, CT_EUNSUPPORTED, "%s: NCCL %d does not know %s; 2.%d or later was expected",
                   ct_nccl_ops[call->op], n->lib->version, ct_dtypes[call->dtype].name,
                   k->since / 100 % 100);
  }
  return ct_fail(err, CT_EUNSUPPORTED, "%s: NCCL has no %s of %s; cast to %s first",
                 ct_nccl_ops[call->op], is_sum ? "sum" : "maximum or minimum",
                 ct_dtypes[call->dtype].name, ct_is_float(call->dtype) ? "f32" : "i32");
}

/* {====== Calls ====== */

static void *at(CtDevPtr p) { return (void *)(uintptr_t)p; }

/* Movement is of bytes, whatever they are. */
static size_t bytes_of(const CtNcclCall *call) {
  return (size_t)ct_dtype_span(call->dtype, (int64_t)call->count);
}

static NcclResult all_to_all(const CtNcclLib *lib, const CtNcclCall *call) {
  size_t bytes = bytes_of(call);
  NcclComm comm = call->comm->comm;
  NcclResult r = CT_NCCL_SUCCESS;
  for (int i = 0; i < call->comm->size && !ct_nccl_is_bad(r); i++) {
    size_t from = bytes * (size_t)i;
    r = lib->ncclSend(at(call->src + from), bytes, CT_NCCL_UINT8, i, comm, call->stream);
    r = ct_nccl_is_bad(r)
            ? r
            : lib->ncclRecv(at(call->dst + from), bytes, CT_NCCL_UINT8, i, comm, call->stream);
  }
  return r;
}

static NcclResult invoke(const CtNcclLib *lib, const CtNcclCall *call) {
  NcclComm comm = call->comm->comm;
  NcclDataType type = kinds[call->dtype].type;
  NcclRedOp red = red_ops[call->reduce];
  size_t n = (size_t)call->count, bytes = bytes_of(call);
  const void *src = at(call->src);
  void *dst = at(call->dst);
  switch (call->op) {
    case CT_ALL_REDUCE: return lib->ncclAllReduce(src, dst, n, type, red, comm, call->stream);
    case CT_REDUCE_SCATTER:
      return lib->ncclReduceScatter(src, dst, n, type, red, comm, call->stream);
    case CT_ALL_GATHER:
      return lib->ncclAllGather(src, dst, bytes, CT_NCCL_UINT8, comm, call->stream);
    case CT_ALL_TO_ALL: return all_to_all(lib, call);
    case CT_BROADCAST:
      return lib->ncclBroadcast(src, dst, bytes, CT_NCCL_UINT8, call->peer, comm, call->stream);
    case CT_SEND: return lib->ncclSend(src, bytes, CT_NCCL_UINT8, call->peer, comm, call->stream);
    case CT_RECV: return lib->ncclRecv(dst, bytes, CT_NCCL_UINT8, call->peer, comm, call->stream);
    case CT_NCCL_OPS: break;
  }
  return CT_NCCL_SUCCESS;
}

/* A device that is lost was found before. */
static NcclResult invoke_inside(const CtNcclLib *lib, const CtNcclCall *call) {
  CtNcclCall routed = *call;
  if (ct_device_route(call->comm->device, &routed.stream, NULL) != CT_OK ||
      !ct_device_enter(call->comm->device, NULL)) {
    return CT_NCCL_SUCCESS;
  }
  NcclResult r = invoke(lib, &routed);
  ct_device_leave(call->comm->device);
  return r;
}

/* The group is ended whatever happens in it. */
static NcclResult run_group(const CtNcclLib *lib, const CtNcclCall *calls, int n_calls,
                            const CtComm **bad) {
  NcclResult r = lib->ncclGroupStart();
  if (r != CT_NCCL_SUCCESS) {
    return r;
  }
  for (int i = 0; i < n_calls && !ct_nccl_is_bad(r); i++) {
    r = invoke_inside(lib, &calls[i]);
    *bad = ct_nccl_is_bad(r) ? calls[i].comm : NULL;
  }
  CtDevice *d = calls[0].comm->device;
  bool is_inside = ct_device_enter(d, NULL);
  NcclResult end = lib->ncclGroupEnd();
  if (is_inside) {
    ct_device_leave(d);
  }
  return ct_nccl_is_bad(r) ? r : end;
}

/* {====== Running a group ====== */

/* The communicators of the calls, each once. */
enum { LOCAL_RANKS = 64 };
typedef struct Group {
  CtComm *comms[LOCAL_RANKS];
  CtStream streams[LOCAL_RANKS];
  CtNcclWork *works[LOCAL_RANKS];
  int n;
  int n_recorded; /* calls that become a part of a graph: nothing is done now. All or none of them */
} Group;

static int find_comm(const Group *g, const CtComm *c) {
  int i = 0;
  while (i < g->n && g->comms[i] != c) {
    i++;
  }
  return i;
}

static CtStatus add_call(const CtNccl *n, Group *g, const CtNcclCall *call, CtErr *err) {
  int i = find_comm(g, call->comm);
  if (call->comm->comm == NULL) {
    return ct_fail(err, CT_EDEVICE, "%s: the communicators of this process were aborted%s%s",
                   ct_nccl_ops[call->op], n->why[0] == '\0' ? "" : " since ", n->why);
  }
  if (i == LOCAL_RANKS) {
    return ct_fail(err, CT_EUNSUPPORTED, "%s: at most %d ranks of one process take part",
                   ct_nccl_ops[call->op], LOCAL_RANKS);
  }
  bool is_own = call->comm->device->capture != NULL;
  if (!is_own && ct_device_is_capturing(call->comm->device, call->stream)) {
    return ct_fail(err, CT_EUNSUPPORTED,
                   "%s: a collective cannot be a part of a graph that the host records; call it "
                   "before the graph or after it, or record it with graph(...)",
                   ct_nccl_ops[call->op]);
  }
  g->n_recorded += is_own;
  g->comms[i] = call->comm;
  g->streams[i] = call->stream;
  g->n += i == g->n;
  return check_dtype(n, call, err);
}

static CtStatus gather(const CtNccl *n, const CtNcclCall *calls, int n_calls, Group *g,
                       CtErr *err) {
  CtStatus s = CT_OK;
  g->n = 0;
  g->n_recorded = 0;
  for (int i = 0; i < n_calls && s == CT_OK; i++) {
    s = add_call(n, g, &calls[i], err);
  }
  if (s == CT_OK && g->n_recorded > 0 && g->n_recorded < n_calls) {
    return ct_fail(err, CT_EUNSUPPORTED,
                   "%s: a graph of one device is being recorded, but the "
                   "call is of several; record all ranks at once, with graph(function() "
                   "m:run(...) end), or call it outside of the graph",
                   ct_nccl_ops[calls[0].op]);
  }
  return s;
}

/* Works of a communicator follow one another, in whatever streams they are: NCCL asks for that, and so does the ring. */
static CtStatus follow(const CtComm *c, CtStream stream, CtErr *err) {
  const CtNcclWork *last = c->n == 0 ? NULL : &c->works[(c->first + c->n - 1) & (c->cap - 1)];
  return last == NULL || last->stream == stream ? CT_OK
                                                : ct_stream_wait(c->device, stream, last->end, err);
}

static CtStatus begin_works(Group *g, const char *what, double seconds, CtErr *err) {
  CtStatus s = CT_OK;
  for (int i = 0; i < g->n && s == CT_OK; i++) {
    s = pace(g->comms[i], err);
    s = s == CT_OK ? follow(g->comms[i], g->streams[i], err) : s;
    s = s == CT_OK ? next_work(g->comms[i], &g->works[i], err) : s;
    if (s == CT_OK) {
      CtNcclWork *w = g->works[i];
      w->since = 0;
      w->limit = ct_nccl_ns(seconds);
      w->stream = g->streams[i];
      snprintf(w->what, sizeof w->what, "%s", what);
      s = ct_event_record(g->comms[i]->device, w->begin, g->streams[i], err);
    }
  }
  return s;
}

static CtStatus end_works(Group *g, CtErr *err) {
  CtStatus s = CT_OK;
  for (int i = 0; i < g->n && s == CT_OK; i++) {
    s = ct_event_record(g->comms[i]->device, g->works[i]->end, g->streams[i], err);
    g->comms[i]->n += s == CT_OK;
  }
  return s;
}

static CtStatus enqueue(CtNccl *n, const Group *g, const char *what, double seconds,
                        const CtNcclCall *calls, int n_calls, CtErr *err) {
  const CtComm *bad = NULL;
  NcclResult r = run_group(n->lib, calls, n_calls, &bad);
  if (ct_nccl_is_bad(r)) {
    return ct_nccl_fail_result(n, bad, what, r, err);
  }
  return g->comms[0]->blocks ? CT_OK : ct_nccl_settle(n, g->comms, g->n, what, seconds, err);
}

CtStatus ct_nccl_run(CtNccl *n, const char *what, double seconds, const CtNcclCall *calls,
                     int n_calls, CtErr *err) {
  Group g;
  CtStatus s = gather(n, calls, n_calls, &g, err);
  s = s == CT_OK && g.n > 0 && g.n_recorded == 0 ? begin_works(&g, what, seconds, err) : s;
  if (s != CT_OK || g.n == 0) {
    return s;
  }
  s = enqueue(n, &g, what, seconds, calls, n_calls, err);
  return s == CT_OK && g.n_recorded == 0 ? end_works(&g, err) : s;
}

CtStatus ct_nccl_begin(CtComm *c, const char *what, double seconds, CtErr *err) {
  Group g = {.comms = {c}, .streams = {ct_device_stream(c->device)}, .n = 1};
  if (c->comm == NULL) {
    return ct_fail(err, CT_EDEVICE, "%s: the communicators of this process were aborted", what);
  }
  return begin_works(&g, what, seconds, err);
}

CtStatus ct_nccl_end(CtComm *c, CtErr *err) {
  Group g = {.comms = {c}, .streams = {ct_device_stream(c->device)}, .n = 1};
  if (c->comm == NULL || c->cap == 0) {
    return CT_OK;
  }
  g.works[0] = &c->works[(c->first + c->n) & (c->cap - 1)];
  return end_works(&g, err);
}

CtStatus ct_nccl_bare(CtNccl *n, const CtNcclCall *calls, int n_calls, int reps, CtErr *err) {
  Group g;
  CtStatus s = gather(n, calls, n_calls, &g, err);
  for (int i = 0; i < reps && s == CT_OK && g.n > 0; i++) {
    s = enqueue(n, &g, "a bare group", 60, calls, n_calls, err);
  }
  return s;
}
