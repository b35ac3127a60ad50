/* bind_device.c: devices, streams, events, waiting and timing. */
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "interp/algebra/bind.h"
#include "launch.h"
#include "launch_graph.h"
#include "interp/openers.h"
#include "interp/state/launcher.h"
#include "interp/state/fields.h"
#include "runtime/base/clock.h"

#define STREAM_TYPE "stream"
#define EVENT_TYPE "event"

/* --- streams and events --------------------------------------------------------------------------------- */

/* Of a stream or an event. Launches on the CPU engine are over when they return, so there a stream has nothing to wait
   for, and an event is a time; `check` asks for the order that a GPU would have (order.h). */
typedef struct Handle {
  CtDevice *device; /* NULL: the CPU engine */
  bool is_open;
  bool is_lent; /* somebody else owns the stream */
  CtStream stream;
  CtEvent event;
  double ms;       /* of an event: when it was recorded */
  uint32_t number; /* of the CPU engine: in StateOrder */
} Handle;

/* `op` is the beginning of a message, such as "wait: ", or "". */
static Handle *check_handle_of(lua_State *L, int idx, const char *op, const char *type) {
  Handle *h = luaL_testudata(L, idx, type);
  if (h == NULL) {
    diag_error(L, "%sa%s %s was expected, got %s", op, type[0] == 'e' ? "n" : "", type,
               diag_push_kind(L, idx));
  }
  if (!h->is_open) {
    diag_error(L, "the %s is closed", type);
  }
  return h;
}

static Handle *check_handle(lua_State *L, int idx, const char *type) {
  return check_handle_of(L, idx, "", type);
}

/* Two handles that are used together. */
static void check_one_device(lua_State *L, const Handle *stream, const Handle *event) {
  if (stream->device != event->device) {
    const char *at = launch_push_device(L, stream->device);
    diag_error(L, "the stream belongs to %s but the event to %s; make both on one device", at,
               launch_push_device(L, event->device));
  }
}

static CtStatus open_number(CuttleState *s, Handle *h, const char *type, CtErr *err) {
  return type[0] == 's' ? order_open_stream(&s->taps.order, s->alloc, &h->number, err)
                        : order_open_event(&s->taps.order, s->alloc, &h->number, err);
}

static void close_number(CuttleState *s, const Handle *h, bool is_stream) {
  if (is_stream) {
    order_close_stream(&s->taps.order, h->number);
  } else {
    order_close_event(&s->taps.order, h->number);
  }
}

static int open_handle(lua_State *L, const char *type) {
  CtDevice *d;
  diag_try(L, state_device(state_of(L), &d, diag_err(L)));
  Handle *h = lua_newuserdatauv(L, sizeof *h, 0);
  *h = (Handle){.device = NULL};
  luaL_setmetatable(L, type);
  diag_try(L, d == NULL        ? open_number(state_of(L), h, type, diag_err(L))
              : type[0] == 's' ? ct_stream_new(d, &h->stream, diag_err(L))
                               : ct_event_new(d, &h->event, diag_err(L)));
  h->device = d;
  h->is_open = true;
  return 1;
}

static int lang_stream(lua_State *L) { return open_handle(L, STREAM_TYPE); }
static int lang_event(lua_State *L) { return open_handle(L, EVENT_TYPE); }

static int handle_close(lua_State *L) {
  Handle *h = luaL_testudata(L, 1, STREAM_TYPE);
  bool is_stream = h != NULL;
  h = h != NULL ? h : luaL_checkudata(L, 1, EVENT_TYPE);
  if (h->is_open && h->device == NULL) {
    close_number(state_of(L), h, is_stream);
  }
  if (h->is_open && h->device != NULL) {
    if (h->stream != NULL && !h->is_lent) {
      ct_stream_free(h->device, h->stream);
    }
    if (h->event != NULL) {
      ct_event_free(h->device, h->event);
    }
  }
  h->device = NULL;
  h->is_open = false;
  return 0;
}

void bind_push_stream(lua_State *L, CtDevice *device, CtStream stream) {
  Handle *h = lua_newuserdatauv(L, sizeof *h, 0);
  *h = (Handle){.device = device, .is_open = true, .is_lent = true, .stream = stream};
  luaL_setmetatable(L, STREAM_TYPE);
}

CtStream bind_to_stream(lua_State *L, int idx, CtDevice **device, uint32_t *number) {
  const Handle *h = check_handle_of(L, idx, "launch option stream: ", STREAM_TYPE);
  *device = h->device;
  *number = h->number;
  return h->stream;
}

/* _launch.stream_handle(s): the driver's stream, nil of the CPU engine; and the name of its device. */
static int stream_handle(lua_State *L) {
  const Handle *h = check_handle(L, 1, STREAM_TYPE);
  if (h->device == NULL) {
    lua_pushnil(L);
  } else {
    lua_pushlightuserdata(L, h->stream);
  }
  launch_push_device(L, h->device);
  return 2;
}

static int stream_synchronize(lua_State *L) {
  const Handle *h = check_handle(L, 1, STREAM_TYPE);
  state_host_waits(L, "stream:synchronize");
  state_await_device(L, h->device);
  if (h->device != NULL) {
    diag_try(L, ct_stream_synchronize(h->device, h->stream, diag_err(L)));
  }
  return 0;
}

/* On the CPU engine: a stream records an event, or waits for it. In a graph that is a step. */
static CtStatus order_by(CuttleState *s, StateStepKind kind, const Handle *stream,
                         const Handle *event, CtErr *err) {
  uint32_t number = stream == NULL ? 0 : stream->number;
  StateRecorder *r = s->taps.recorder;
  if (r != NULL) {
    return recorder_step(
        r, (StateStep){.kind = kind, .launch = (int)number, .byte = (int)event->number}, err);
  }
  return kind == STATE_RECORD ? order_record(&s->taps.order, s->alloc, event->number, number, err)
                              : order_wait(&s->taps.order, s->alloc, number, event->number, err);
}

/* stream NULL: the device's own. */
static void wait_in(lua_State *L, const Handle *stream, const Handle *event) {
  CtDevice *d = event->device;
  if (stream != NULL) {
    check_one_device(L, stream, event);
  }
  state_await_device(L, d);
  if (d != NULL) {
    CtStream s = stream == NULL ? ct_device_stream(d) : stream->stream;
    diag_try(L, ct_stream_wait(d, s, event->event, diag_err(L)));
  } else {
    diag_try(L, order_by(state_of(L), STATE_WAIT, stream, event, diag_err(L)));
  }
}

static int stream_wait(lua_State *L) { /* stream:wait(event) */
  const Handle *h = check_handle(L, 1, STREAM_TYPE);
  wait_in(L, h, check_handle_of(L, 2, "wait: ", EVENT_TYPE));
  return 0;
}

static const Handle *opt_stream(lua_State *L, const char *op) {
  return lua_isnoneornil(L, 2) ? NULL : check_handle_of(L, 2, op, STREAM_TYPE);
}

static int event_wait(lua_State *L) { /* event:wait([stream]) */
  const Handle *h = check_handle(L, 1, EVENT_TYPE);
  wait_in(L, opt_stream(L, "wait: "), h);
  return 0;
}

static int event_record(lua_State *L) { /* event:record([stream]) */
  Handle *h = check_handle(L, 1, EVENT_TYPE);
  const Handle *s = opt_stream(L, "record: ");
  if (s != NULL) {
    check_one_device(L, s, h);
  }
  state_await_device(L, h->device);
  if (h->device == NULL) {
    h->ms = ct_now_ms();
    diag_try(L, order_by(state_of(L), STATE_RECORD, s, h, diag_err(L)));
  } else {
    CtStream stream = s == NULL ? ct_device_stream(h->device) : s->stream;
    diag_try(L, ct_event_record(h->device, h->event, stream, diag_err(L)));
  }
  lua_settop(L, 1);
  return 1;
}

static int event_synchronize(lua_State *L) {
  const Handle *h = check_handle(L, 1, EVENT_TYPE);
  state_host_waits(L, "event:synchronize");
  state_await_device(L, h->device);
  if (h->device != NULL) {
    diag_try(L, ct_event_synchronize(h->device, h->event, diag_err(L)));
  }
  return 0;
}

static int event_elapsed(lua_State *L) { /* start:elapsed(stop): milliseconds */
  const Handle *h = check_handle(L, 1, EVENT_TYPE);
  const Handle *stop = check_handle_of(L, 2, "elapsed: ", EVENT_TYPE);
  double ms = stop->ms - h->ms;
  state_host_waits(L, "event:elapsed");
  if (h->device != stop->device) {
    const char *at = launch_push_device(L, h->device);
    return diag_error(L, "one event belongs to %s but the other to %s; make both on one device", at,
                      launch_push_device(L, stop->device));
  }
  if (h->device != NULL) {
    diag_try(L, ct_event_synchronize(h->device, stop->event, diag_err(L)));
    diag_try(L, ct_event_elapsed(h->device, h->event, stop->event, &ms, diag_err(L)));
  }
  lua_pushnumber(L, ms);
  return 1;
}

/* --- devices --------------------------------------------------------------------------------------------- */

static const Field device_fields[] = {
    FIELD(CtDeviceInfo, name),
    FIELD(CtDeviceInfo, ordinal),
    FIELD(CtDeviceInfo, sm),
    FIELD(CtDeviceInfo, n_sms),
    FIELD(CtDeviceInfo, memory_bytes),
    FIELD_AS("shared_bytes", CtDeviceInfo, shared_block_optin_bytes)};

/* Devices of the kind that is current, for a mesh. Under a launcher each process is one. */
static int count_devices(const CuttleState *s, const CtDevice *d) {
  StateLauncher l;
  int n = 0;
  if (d == NULL) {
    return state_cpu_devices(s);
  }
  if (state_launcher(s, &l, NULL) == CT_OK && l.size > 1) {
    return l.size;
  }
  return ct_device_count(&n, NULL) == CT_OK ? n : 1;
}

/* device([text]): chooses the current device ("cpu", "cpu:8", "cuda", "cuda:1"); returns a table about it. */
static int lang_device(lua_State *L) {
  CuttleState *s = state_of(L);
  CtDevice *d;
  if (!lua_isnoneornil(L, 1)) {
    const char *name = diag_check_name(L, 1, "device", "its name");
    diag_try(L, state_check_device(s, name, diag_err(L)));
    diag_try(L, state_choose_device(s, name, diag_err(L)));
  }
  diag_try(L, state_device(s, &d, diag_err(L)));
  if (d != NULL) {
    FIELDS_PUSH(L, device_fields, ct_device_info(d));
  } else {
    CtSimtEngine *engine;
    diag_try(L, state_simt(s, &engine, diag_err(L)));
    lua_createtable(L, 0, 4);
    field_text(L, "name", "CPU engine");
    field_integer(L, "threads", ct_simt_threads(engine));
    field_text(L, "isa", ct_simt_isa(engine));
  }
  field_integer(L, "n_devices", count_devices(s, d));
  return 1;
}

/* devices(): what could be chosen: a table of names; "cpu" is always there, "cpu:8" while it is chosen. */
static int lang_devices(lua_State *L) {
  CuttleState *s = state_of(L);
  int n = 0, n_names = 1;
  CtErr err;
  lua_newtable(L);
  lua_pushliteral(L, "cpu");
  lua_rawseti(L, -2, 1);
  if (state_cpu_devices(s) > 1) {
    lua_pushstring(L, s->device_text);
    lua_rawseti(L, -2, ++n_names);
  }
  if (!state_is_cpu_only(s) && ct_device_count(&n, &err) == CT_OK) {
    for (int i = 0; i < n; i++) {
      lua_pushfstring(L, "cuda:%d", i);
      lua_rawseti(L, -2, ++n_names);
    }
  }
  return 1;
}

static int lang_synchronize(lua_State *L) {
  CuttleState *s = state_of(L);
  state_host_waits(L, "synchronize");
  s->n_host++;
  for (int i = 0; i < STATE_MAX_DEVICES; i++) {
    state_await_device(L, s->cuda[i]);
    if (s->cuda[i] != NULL) {
      diag_try(L, ct_device_synchronize(s->cuda[i], diag_err(L)));
    }
  }
  return 0;
}

/* --- timing ------------------------------------------------------------------------------------------------ */

enum { DEFAULT_BATCHES = 5, MAX_BATCHES = 101, BATCH_MS = 20, MAX_REPS = 10000 };
#define LEAST_MS 1e-6

static void call_times(lua_State *L, int n) {
  for (int i = 0; i < n; i++) {
    lua_pushvalue(L, 1);
    lua_call(L, 0, 0);
  }
}

#define BENCHED_TYPE "cuttle.benched"

static int benched_close(lua_State *L) {
  state_of(L)->is_benched = false;
  return 0;
}

/* From now on until the function returns, or raises, calls are timed. */
static void begin_timing(lua_State *L) {
  lua_newuserdatauv(L, 0, 0);
  if (luaL_newmetatable(L, BENCHED_TYPE)) {
    lua_pushcfunction(L, benched_close);
    lua_setfield(L, -2, "__close");
  }
  lua_setmetatable(L, -2);
  lua_toclose(L, -1);
  state_of(L)->is_benched = true;
}

/* Milliseconds of n back-to-back calls: between two events on a device, else by the clock. Handles at
   stack places 3 and 4 hold the events. */
static double time_batch(lua_State *L, CtDevice *d, const Handle *start, const Handle *stop,
                         int n) {
  double ms;
  if (d == NULL) {
    double t = ct_now_ms();
    call_times(L, n);
    return ct_now_ms() - t;
  }
  diag_try(L, ct_event_record(d, start->event, ct_device_stream(d), diag_err(L)));
  call_times(L, n);
  diag_try(L, ct_event_record(d, stop->event, ct_device_stream(d), diag_err(L)));
  diag_try(L, ct_event_synchronize(d, stop->event, diag_err(L)));
  diag_try(L, ct_event_elapsed(d, start->event, stop->event, &ms, diag_err(L)));
  return ms;
}

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a;
  double y = *(const double *)b;
  return (x > y) - (x < y);
}

static int int_option(lua_State *L, const char *name, int default_value, int max) {
  int v = default_value;
  if (lua_istable(L, 2)) {
    if (lua_getfield(L, 2, name) != LUA_TNIL) {
      v = bind_to_option(L, -1, 1, max, "bench", name);
    }
    lua_pop(L, 1);
  }
  return v;
}

/* _launch.bench_measure(f[, {reps =, batches =}]): what bench is where nobody has set another way. */
static int bench_measure(lua_State *L) {
  CtDevice *d;
  double ms[MAX_BATCHES];
  luaL_checkany(L, 1);
  lua_settop(L, 2);
  state_host_waits(L, "bench");
  diag_try(L, state_device(state_of(L), &d, diag_err(L)));
  int batches = int_option(L, "batches", DEFAULT_BATCHES, MAX_BATCHES);
  const Handle *start = NULL;
  const Handle *stop = NULL;
  if (d != NULL) {
    lang_event(L);
    lang_event(L);
    start = lua_touserdata(L, 3);
    stop = lua_touserdata(L, 4);
  }
  state_await_device(L, d);
  begin_timing(L);
  time_batch(L, d, start, stop, 1);
  double once = time_batch(L, d, start, stop, 1);
  int reps = once > 0 ? (int)ct_max(1, ct_min((int64_t)(BATCH_MS / once), MAX_REPS)) : MAX_REPS;
  reps = int_option(L, "reps", reps, 1 << 24);
  for (int i = 0; i < batches; i++) {
    ms[i] = time_batch(L, d, start, stop, reps) / reps;
  }
  qsort(ms, (size_t)batches, sizeof *ms, compare_doubles);
  lua_pushnumber(L, batches % 2 == 1 ? ms[batches / 2]
                                     : 0.5 * (ms[batches / 2] + ms[batches / 2 - 1]));
  lua_pushnumber(L, ms[0]);
  lua_pushnumber(L, ms[batches - 1]);
  return 3;
}

/* One call, as where launches are watched or their texts are wanted: what it does is the question, not how long it
   takes. */
static int bench_once(lua_State *L) {
  luaL_checkany(L, 1);
  lua_settop(L, 1);
  double start = ct_now_ms();
  call_times(L, 1);
  double ms = ct_now_ms() - start;
  for (int i = 0; i < 3; i++) {
    lua_pushnumber(L, ms > LEAST_MS ? ms : LEAST_MS); /* scripts divide by it */
  }
  return 3;
}

static const char
    bench_way; /* its address is the key of what _launch.bench_by set, in the registry */

/* bench(f[, {reps =, batches =}]): the median, over batches of `reps` back-to-back calls of f between two
   events of the current device, of milliseconds per call; then the fastest and slowest batch. One call
   comes before. Without reps a batch takes about 20 ms. Every way to it, whatever a script or a
   module calls it, ends here: what a command set by _launch.bench_by takes the call, and while launches are watched,
   or in `cuttle emit`, there is one call. */
static int lang_bench(lua_State *L) {
  if (!lua_isfunction(L, 1)) {
    if (luaL_getmetafield(L, 1, "__call") == LUA_TNIL) {
      diag_type_error(L, 1, "bench", "a function");
    }
    lua_pop(L, 1);
  }
  if (!lua_isnoneornil(L, 2)) {
    if (!lua_istable(L, 2)) {
      diag_type_error(L, 2, "bench", "a table {reps = ..., batches = ...}");
    }
    bind_check_names(L, 2, "bench", BIND_NAMES("reps", "batches"));
  }
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &bench_way) == LUA_TFUNCTION) {
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
    return lua_gettop(L);
  }
  lua_pop(L, 1);
  CuttleState *s = state_of(L);
  if (s->mode == STATE_EMIT) {
    state_host_waits(L, "bench");
  }
  return s->taps.watch != NULL || s->mode == STATE_EMIT ? bench_once(L) : bench_measure(L);
}

/* _launch.bench_by(f): from now on f takes the calls of bench, in this state; nil: bench does. */
static int bench_by(lua_State *L) {
  lua_settop(L, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &bench_way);
  return 0;
}

/* --- opening --------------------------------------------------------------------------------------------------- */

static const luaL_Reg stream_methods[] = {
    {"synchronize", stream_synchronize}, {"wait", stream_wait}, {NULL, NULL}};
static const luaL_Reg event_methods[] = {{"record", event_record},
                                         {"wait", event_wait},
                                         {"synchronize", event_synchronize},
                                         {"elapsed", event_elapsed},
                                         {NULL, NULL}};

static const luaL_Reg device_functions[] = {{"stream", lang_stream},
                                            {"_launch.stream_handle", stream_handle},
                                            {"event", lang_event},
                                            {"device", lang_device},
                                            {"devices", lang_devices},
                                            {"synchronize", lang_synchronize},
                                            {"bench", lang_bench},
                                            {"_launch.bench_measure", bench_measure},
                                            {"_launch.bench_once", bench_once},
                                            {"_launch.bench_by", bench_by},
                                            {NULL, NULL}};

void bind_open_device(lua_State *L) {
  bind_new_handle(L, STREAM_TYPE, handle_close, stream_methods);
  bind_new_handle(L, EVENT_TYPE, handle_close, event_methods);
  luaL_setfuncs(L, device_functions, 0);
}
