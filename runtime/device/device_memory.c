/* device_memory.c: a device's memory, streams and events, and waiting for them. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "device_priv.h"
#include "runtime/base/clock.h"

/* {====== Limits ====== */

/* Two events stand around a launch that may wait for other devices. Whoever waits for the device looks at them: a
   kernel that has begun and does not end within its limit is given up. */
enum { LIMITED = 64 }; /* launches that are looked at; more push out the oldest ones */

typedef struct Limited {
  CtEvent before, after;
} Limited;

struct CtLimits {
  Limited ring[LIMITED]; /* launch i is at i % LIMITED */
  unsigned first, n;     /* those that may still run */
  double seconds;        /* of the last one */
  int64_t begun;         /* when the first was seen to run; 0: it was not */
};

/* What went wrong otherwise, a wait finds out. */
static bool is_over(CtDevice *d, CtEvent e) {
  bool is = ct_device_enter(d, NULL) && d->cu->cuEventQuery(e) != CT_CUDA_ERROR_NOT_READY;
  ct_device_leave(d);
  return is;
}

CtStatus ct_device_give_up(CtDevice *d, double seconds, CtErr *err) {
  char kernels[400];
  bool is_known = ct_device_suspects(d, kernels, sizeof kernels) > 0;
  ct_device_abandon(d);
  return ct_fail(
      err, CT_EDEVICE,
      "device: %s on cuda:%d did not end within %.1f s, CUTTLE_COMM_TIMEOUT; it may wait "
      "for a rank that has ended, or is at another line",
      is_known ? kernels : "a kernel", d->info.ordinal, seconds);
}

/* Fails when a limited launch has run for longer than it may; the device is given up then. */
static CtStatus check_limit(CtDevice *d, CtErr *err) {
  CtLimits *l = d->limits;
  while (l != NULL && !d->lost && l->first != l->n &&
         is_over(d, l->ring[l->first % LIMITED].after)) {
    l->first++;
    l->begun = 0;
  }
  if (l == NULL || d->lost || l->first == l->n || !is_over(d, l->ring[l->first % LIMITED].before)) {
    return CT_OK;
  }
  int64_t now = ct_now_ns();
  l->begun = l->begun == 0 ? now : l->begun;
  return (double)(now - l->begun) * 1e-9 < l->seconds ? CT_OK
                                                      : ct_device_give_up(d, l->seconds, err);
}

/* {====== Waiting ====== */

enum { SPIN_NS = 100 * 1000, SLEEP_NS = 20 * 1000, ASK_NS = 1000 * 1000 };

static bool is_interrupted(const CtDevice *d) { return ct_flag_is_up(d->interrupt); }

static CtStatus fail_interrupted(const CtDevice *d, CtErr *err) {
  char suspects[400];
  bool is_known = ct_device_suspects(d, suspects, sizeof suspects) > 0;
  return ct_fail(err, CT_EINTERRUPTED,
                 "device: the wait was interrupted; %s may still run on cuda:%d",
                 is_known ? suspects : "what was enqueued", d->info.ordinal);
}

/* Waits in steps that a signal can end: spins while short kernels run, then naps. */
typedef CuResult Query(const CtCuda *cu, const void *what);

static CuResult query_stream(const CtCuda *cu, const void *stream) {
  return cu->cuStreamQuery(*(const CtStream *)stream);
}

static CuResult query_event(const CtCuda *cu, const void *event) {
  return cu->cuEventQuery(*(const CtEvent *)event);
}

/* Until it is ready, or so long. */
static CuResult repeat(const CtDevice *d, Query *query, const void *what, int64_t start,
                       int64_t until) {
  const struct timespec nap = {0, SLEEP_NS};
  int64_t now = ct_now_ns();
  CuResult r = query(d->cu, what);
  while (r == CT_CUDA_ERROR_NOT_READY && now < until && ct_flag_value(d->interrupt) == 0) {
    if (now - start > SPIN_NS) {
      nanosleep(&nap, NULL);
    }
    r = query(d->cu, what);
    now = ct_now_ns();
  }
  return r;
}

static bool asks(const CtDevice *d) { return d->watch.ask != NULL || d->limits != NULL; }
static bool polls(const CtDevice *d) { return d->interrupt != NULL || asks(d); }

static CtStatus ask(CtDevice *d, CtErr *err) {
  CtStatus s = check_limit(d, err);
  return s == CT_OK && d->watch.ask != NULL ? d->watch.ask(d->watch.ud, err) : s;
}

/* Polls to the end; a wait without an interrupt flag, of which nobody is asked, is left to the driver. */
static CtStatus wait_polling(CtDevice *d, const char *call, Query *query, const void *what,
                             CtErr *err) {
  int64_t start = ct_now_ns();
  CtStatus s = CT_OK;
  while (s == CT_OK) {
    if (!ct_device_enter(d, err)) {
      return CT_EDEVICE;
    }
    int64_t until = asks(d) ? ct_now_ns() + ASK_NS : INT64_MAX;
    CuResult r = repeat(d, query, what, start, until);
    if (r != CT_CUDA_ERROR_NOT_READY) {
      s = ct_device_done(d, call, r, err, "%s", "");
      return s == CT_OK ? ask(d, err) : s;
    }
    ct_device_leave(d);
    if (is_interrupted(d)) {
      return fail_interrupted(d, err);
    }
    s = ask(d, err);
  }
  return s;
}

static CtStatus wait_stream(CtDevice *d, CtStream s, CtErr *err) {
  if (polls(d)) {
    CtStatus status = wait_polling(d, "cuStreamQuery", query_stream, &s, err);
    if (status != CT_OK) {
      return status;
    }
  }
  return CT_CALL(d, err, cuStreamSynchronize, (s), "%s", "");
}

CtStatus ct_stream_synchronize(CtDevice *d, CtStream s, CtErr *err) {
  CtStatus status = ct_device_refuse(d, s, "a wait", err);
  status = status == CT_OK ? wait_stream(d, s, err) : status;
  if (status == CT_OK) {
    ct_device_note_waited(d, s);
    ct_device_print_idle(d);
    status = ct_device_check_faults(d, err);
  }
  return status;
}

/* The context's own wait cannot be interrupted, so our streams are waited for first. */
static CtStatus wait_streams(CtDevice *d, CtErr *err) {
  CtStatus s = wait_stream(d, d->stream, err);
  for (size_t i = 0; i < d->streams.n && s == CT_OK; i++) {
    s = wait_stream(d, d->streams.items[i], err);
  }
  return s;
}

CtStatus ct_device_synchronize(CtDevice *d, CtErr *err) {
  CtStatus s = ct_device_refuse(d, d->stream, "a wait", err);
  s = s == CT_OK && polls(d) ? wait_streams(d, err) : s;
  if (s != CT_OK) {
    return s;
  }
  s = CT_CALL(d, err, cuCtxSynchronize, (), "%s", "");
  if (s == CT_OK) {
    ct_device_note_all_waited(d);
    ct_device_print_idle(d);
    s = ct_device_check_faults(d, err);
  }
  return s;
}

/* {====== Memory ====== */

static CtStatus allocate(CtDevice *d, size_t bytes, CtStream stream, CuDevicePtr *p, CtErr *err) {
  if (d->pool != NULL) {
    return CT_CALL(d, err, cuMemAllocFromPoolAsync, (p, bytes, d->pool, stream),
                   "%zu bytes on '%s'", bytes, d->info.name);
  }
  return CT_CALL_ASIDE(d, err, cuMemAlloc_v2, (p, bytes), "%zu bytes on '%s'", bytes, d->info.name);
}

CtStatus ct_buffer_new(CtDevice *d, size_t bytes, CtStream stream, CtBuffer *out, CtErr *err) {
  CuDevicePtr p = 0;
  if (bytes != 0 && ct_device_is_capturing(d, stream)) {
    return ct_device_alloc_captured(d, bytes, out, err);
  }
  ct_device_free_deferred(d);
  CtStatus s = bytes == 0 ? CT_OK : allocate(d, bytes, stream, &p, err);
  if (s == CT_OK) {
    *out = (CtBuffer){.ptr = p, .bytes = bytes};
  }
  return s;
}

/* Nothing can be done about a failure, and a fault will come out of the next call anyway. */
void ct_buffer_free(CtDevice *d, CtBuffer *b, CtStream stream) {
  bool may_go = b->ptr != 0 && !ct_device_keeps(d, b->ptr);
  if (may_go && ct_device_is_capturing(d, stream)) {
    ct_device_defer(d, b, stream);
  } else if (may_go && ct_device_enter_aside(d, NULL)) {
    if (d->pool != NULL) {
      (void)d->cu->cuMemFreeAsync(b->ptr, stream);
    } else {
      (void)d->cu->cuStreamSynchronize(stream);
      (void)d->cu->cuMemFree_v2(b->ptr);
    }
    ct_device_leave(d);
  }
  *b = (CtBuffer){0};
}

/* {====== Memory that comes and goes ====== */

/* What is given back on the device's own stream is kept for the next of its size there. What is enqueued on a stream
   comes after all that used the memory before, so nothing waits and the driver is not asked, whose pools take a few
   microseconds to give a block and to take it back. The driver gets what is kept too long, and all of it if memory
   runs out. */

/* No more than this part of the device's memory, and no block that is as large. */
enum { KEPT_PART = 8 };

static size_t most_bytes(const CtDevice *d) { return d->info.memory_bytes / KEPT_PART; }

/* Removes one; younger ones follow. */
static CtBuffer remove_at(CtKept *k, size_t i) {
  CtBuffer b = k->items[i];
  k->n--;
  k->bytes -= b.bytes;
  memmove(&k->items[i], &k->items[i + 1], (k->n - i) * sizeof k->items[0]);
  return b;
}

static void free_oldest(CtDevice *d) {
  CtBuffer b = remove_at(&d->kept, 0);
  ct_buffer_free(d, &b, d->stream);
}

void ct_device_free_kept(CtDevice *d) {
  while (d->kept.n > 0) {
    free_oldest(d);
  }
}

/* The youngest of that size; false: there is none. */
static bool take(CtKept *k, size_t bytes, CtBuffer *out) {
  for (size_t i = k->n; i-- > 0;) {
    if (k->items[i].bytes == bytes) {
      *out = remove_at(k, i);
      return true;
    }
  }
  return false;
}

CtStatus ct_buffer_take(CtDevice *d, size_t bytes, CtBuffer *out, CtErr *err) {
  if (!d->lost && d->kept.n > 0 && !ct_device_is_capturing(d, d->stream)) {
    ct_device_free_deferred(d);
    if (take(&d->kept, bytes, out)) {
      return CT_OK;
    }
  }
  CtStatus s = ct_buffer_new(d, bytes, d->stream, out, err);
  if (s != CT_OK && !d->lost && d->kept.n > 0) {
    ct_device_free_kept(d);
    s = ct_buffer_new(d, bytes, d->stream, out, err);
  }
  return s;
}

void ct_buffer_keep(CtDevice *d, CtBuffer *b, CtStream stream) {
  CtKept *k = &d->kept;
  if (b->ptr == 0 || d->pool == NULL || d->lost || stream != d->stream ||
      b->bytes >= most_bytes(d) || ct_device_is_capturing(d, stream) ||
      ct_device_keeps(d, b->ptr)) {
    ct_buffer_free(d, b, stream);
    return;
  }
  while (k->n == CT_KEPT_BLOCKS || (k->n > 0 && k->bytes + b->bytes > most_bytes(d))) {
    free_oldest(d);
  }
  k->items[k->n++] = *b;
  k->bytes += b->bytes;
  *b = (CtBuffer){0};
}

/* {====== Copies ====== */

static CtStatus write_async(CtDevice *d, CtDevPtr dst, const void *src, size_t bytes,
                            CtStream stream, CtErr *err) {
  return bytes == 0
             ? CT_OK
             : CT_CALL(d, err, cuMemcpyHtoDAsync_v2, (dst, src, bytes, stream), "%zu bytes", bytes);
}

static CtStatus read_async(CtDevice *d, void *dst, CtDevPtr src, size_t bytes, CtStream stream,
                           CtErr *err) {
  return bytes == 0
             ? CT_OK
             : CT_CALL(d, err, cuMemcpyDtoHAsync_v2, (dst, src, bytes, stream), "%zu bytes", bytes);
}

CtStatus ct_device_write(CtDevice *d, CtDevPtr dst, const void *src, size_t bytes, CtStream stream,
                         CtErr *err) {
  CtStatus s = bytes > 0 ? ct_device_refuse(d, stream, "a copy from the host", err) : CT_OK;
  s = s == CT_OK ? write_async(d, dst, src, bytes, stream, err) : s;
  return s == CT_OK && bytes > 0 ? ct_stream_synchronize(d, stream, err) : s;
}

/* The driver's copy to pageable memory waits for the stream, so an interruptible wait is first. */
CtStatus ct_device_read(CtDevice *d, void *dst, CtDevPtr src, size_t bytes, CtStream stream,
                        CtErr *err) {
  CtStatus s = bytes > 0 ? ct_device_refuse(d, stream, "a copy to the host", err) : CT_OK;
  s = s == CT_OK && bytes > 0 && polls(d) ? ct_stream_synchronize(d, stream, err) : s;
  s = s == CT_OK ? read_async(d, dst, src, bytes, stream, err) : s;
  return s == CT_OK && bytes > 0 ? ct_stream_synchronize(d, stream, err) : s;
}

CtStatus ct_device_copy(CtDevice *d, CtDevPtr dst, CtDevPtr src, size_t bytes, CtStream stream,
                        CtErr *err) {
  CtStatus s = ct_device_route(d, &stream, err);
  return s != CT_OK || bytes == 0
             ? s
             : CT_CALL(d, err, cuMemcpyDtoDAsync_v2, (dst, src, bytes, stream), "%zu bytes", bytes);
}

CtStatus ct_device_set(CtDevice *d, CtDevPtr dst, int byte, size_t bytes, CtStream stream,
                       CtErr *err) {
  CtStatus s = ct_device_route(d, &stream, err);
  return s != CT_OK || bytes == 0
             ? s
             : CT_CALL(d, err, cuMemsetD8Async, (dst, (unsigned char)byte, bytes, stream),
                       "%zu bytes", bytes);
}

CtStatus ct_device_host_new(CtDevice *d, size_t bytes, void **out, CtErr *err) {
  void *made = NULL;
  CtStatus s =
      CT_CALL_ASIDE(d, err, cuMemAllocHost_v2, (&made, bytes == 0 ? 1 : bytes), "%zu bytes", bytes);
  if (s == CT_OK) {
    *out = made;
  }
  return s;
}

void ct_device_host_free(CtDevice *d, void *p) {
  if (p != NULL && ct_device_enter_aside(d, NULL)) {
    (void)d->cu->cuMemFreeHost(p);
    ct_device_leave(d);
  }
}

/* {====== Streams ====== */

CtStatus ct_stream_new(CtDevice *d, CtStream *out, CtErr *err) {
  CtStream made = NULL;
  CtStreams *all = &d->streams; /* room first, so that a stream just made can be kept */
  if (all->n_open < all->n) {
    *out = all->items[all->n_open++];
    return CT_OK;
  }
  CtStatus s = CT_GROW(d->alloc, all->items, all->cap, all->n + 1, err);
  s = s == CT_OK ? CT_CALL_ASIDE(d, err, cuStreamCreate, (&made, CT_CU_STREAM_DEFAULT), "%s", "")
                 : s;
  if (s == CT_OK) {
    all->items[all->n++] = made;
    all->n_open = all->n;
    *out = made;
  }
  return s;
}

/* False when it is not one of ours, or no longer. */
static bool close_stream(CtStreams *all, CtStream s) {
  for (size_t i = all->n_open; i-- > 0;) {
    if (all->items[i] == s) {
      all->items[i] = all->items[--all->n_open];
      all->items[all->n_open] = s;
      return true;
    }
  }
  return false;
}

void ct_stream_free(CtDevice *d, CtStream s) {
  if (close_stream(&d->streams, s)) {
    ct_device_close_log(d, s);
  }
}

CtStatus ct_stream_wait(CtDevice *d, CtStream s, CtEvent after, CtErr *err) {
  CtStatus status = ct_device_route(d, &s, err);
  return status == CT_OK ? CT_CALL(d, err, cuStreamWaitEvent, (s, after, 0), "%s", "") : status;
}

/* {====== Events ====== */

static CtStatus new_event(CtDevice *d, unsigned flags, CtEvent *out, CtErr *err) {
  CtEvent made = NULL;
  CtStatus s = CT_CALL_ASIDE(d, err, cuEventCreate, (&made, flags), "%s", "");
  if (s == CT_OK) {
    *out = made;
  }
  return s;
}

CtStatus ct_event_new(CtDevice *d, CtEvent *out, CtErr *err) {
  return new_event(d, CT_CU_EVENT_DEFAULT, out, err);
}

CtStatus ct_mark_new(CtDevice *d, CtEvent *out, CtErr *err) {
  return new_event(d, CT_CU_EVENT_DISABLE_TIMING, out, err);
}

void ct_event_free(CtDevice *d, CtEvent e) {
  if (e != NULL && ct_device_enter(d, NULL)) {
    (void)d->cu->cuEventDestroy_v2(e);
    ct_device_leave(d);
  }
}

CtStatus ct_event_record(CtDevice *d, CtEvent e, CtStream s, CtErr *err) {
  CtStatus status = ct_device_route(d, &s, err);
  return status == CT_OK ? CT_CALL(d, err, cuEventRecord, (e, s), "%s", "") : status;
}

CtStatus ct_event_synchronize(CtDevice *d, CtEvent e, CtErr *err) {
  CtStatus s = ct_device_refuse(d, NULL, "a wait", err);
  if (s != CT_OK) {
    return s;
  }
  s = polls(d) ? wait_polling(d, "cuEventQuery", query_event, &e, err)
               : CT_CALL(d, err, cuEventSynchronize, (e), "%s", "");
  if (s == CT_OK) {
    ct_device_print_idle(d);
    s = ct_device_check_faults(d, err);
  }
  return s;
}

static CtStatus ask_once(CtDevice *d, const char *call, Query *query, const void *what,
                         bool *is_done, CtErr *err) {
  CtStatus s = check_limit(d, err);
  if (s != CT_OK || !ct_device_enter(d, err)) {
    return s != CT_OK ? s : CT_EDEVICE;
  }
  CuResult r = query(d->cu, what);
  *is_done = r == CT_CUDA_SUCCESS;
  return ct_device_done(d, call, r == CT_CUDA_ERROR_NOT_READY ? CT_CUDA_SUCCESS : r, err, "%s", "");
}

CtStatus ct_event_query(CtDevice *d, CtEvent e, bool *is_done, CtErr *err) {
  return ask_once(d, "cuEventQuery", query_event, &e, is_done, err);
}

CtStatus ct_stream_query(CtDevice *d, CtStream s, bool *is_done, CtErr *err) {
  return ask_once(d, "cuStreamQuery", query_stream, &s, is_done, err);
}

enum { PACE = 128 };

CtStatus ct_device_pace(CtDevice *d, CtStream stream, CtErr *err) {
  if (ct_device_is_capturing(d, stream) || ++d->n_paced % PACE != 0) {
    return CT_OK;
  }
  CtEvent *e = &d->pace[d->n_paced / PACE % 2];
  CtStatus s = *e == NULL ? ct_mark_new(d, e, err) : ct_event_synchronize(d, *e, err);
  return s == CT_OK ? ct_event_record(d, *e, stream, err) : s;
}

void ct_device_watch(CtDevice *d, CtDeviceWatch watch) {
  d->watch = watch;
  for (int i = 0; i < 2 && watch.ask == NULL; i++) {
    ct_event_free(d, d->pace[i]);
    d->pace[i] = NULL;
  }
}

CtStatus ct_event_elapsed(CtDevice *d, CtEvent start, CtEvent stop, double *ms, CtErr *err) {
  float elapsed = 0;
  CtStatus s = CT_CALL(d, err, cuEventElapsedTime, (&elapsed, start, stop), "%s", "");
  if (s == CT_OK) {
    *ms = (double)elapsed;
  }
  return s;
}

static CtStatus make_events(CtDevice *d, Limited *x, CtErr *err) {
  CtStatus s = x->before == NULL ? ct_mark_new(d, &x->before, err) : CT_OK;
  return s == CT_OK && x->after == NULL ? ct_mark_new(d, &x->after, err) : s;
}

static CtStatus make_limits(CtDevice *d, CtErr *err) {
  if (d->limits == NULL) {
    d->limits = ct_alloc(d->alloc, sizeof *d->limits);
    if (d->limits == NULL) {
      return ct_fail_nomem(err);
    }
    *d->limits = (CtLimits){.n = 0};
  }
  return CT_OK;
}

CtStatus ct_device_limit_begin(CtDevice *d, CtStream stream, double seconds, CtErr *err) {
  CtStatus s = make_limits(d, err);
  if (s != CT_OK) {
    return s;
  }
  CtLimits *l = d->limits;
  Limited *x = &l->ring[l->n % LIMITED];
  if (l->n - l->first == LIMITED) {
    l->first++;
    l->begun = 0;
  }
  l->seconds = seconds;
  s = make_events(d, x, err);
  return s == CT_OK ? ct_event_record(d, x->before, stream, err) : s;
}

CtStatus ct_device_limit_end(CtDevice *d, CtStream stream, CtErr *err) {
  CtStatus s = ct_event_record(d, d->limits->ring[d->limits->n % LIMITED].after, stream, err);
  d->limits->n += s == CT_OK;
  return s;
}

void ct_device_free_limits(CtDevice *d) {
  for (int i = 0; d->limits != NULL && i < LIMITED; i++) {
    ct_event_free(d, d->limits->ring[i].before);
    ct_event_free(d, d->limits->ring[i].after);
  }
  ct_free(d->alloc, d->limits, sizeof *d->limits);
  d->limits = NULL;
}
