/* launch_time.c: how long the launches of a script take, for `cuttle bench script.lua`. A session
   stands around each launch of its state: two events in the launch's stream on a device, the clock on
   the CPU engine. It changes nothing that kernels read or write and waits for nothing but, when many
   events are pending, for these. */
#include <lauxlib.h>
#include <string.h>

#include "interp/algebra/bind.h"
#include "interp/launch/launch_tap.h"
#include "interp/openers.h"
#include "interp/state/fields.h"
#include "interp/state/state.h"
#include "runtime/base/clock.h"

#define SESSION_TYPE "cuttle.launch_times"

enum { MAX_PENDING = 512 }; /* samples whose events were not read yet */

/* Launches of one specialisation on one grid. */
typedef struct Row {
  uint64_t spec;
  CtDim3 grid, block;
  int64_t n_launches;
  char name[64], chunk[sizeof(((Kernel *)0)->chunk)];
  int line;
  int64_t registers, local_bytes,
      shared_bytes; /* of a thread, of a thread, of a block; on a device */
} Row;

typedef struct Sample {
  size_t row;
  int64_t n; /* launches between the events */
  CtDevice *device;
  CtEvent start, stop;
  double ms; /* of all n; while they run on the CPU engine, when they began */
} Sample;

typedef enum Mode { MODE_TIME, MODE_COUNT, MODE_OFF } Mode;

struct LaunchTimes {
  CuttleState *state;
  Mode mode;
  Row *rows;
  size_t n_rows, rows_cap;
  Sample *samples;
  size_t n_samples, samples_cap;
  size_t n_read; /* samples whose time is known */
};

/* {====== Around a launch ====== */

static bool is_row(const Row *r, const Spec *spec, const LaunchConfig *c) {
  return r->spec == spec->id && memcmp(&r->grid, &c->grid, sizeof c->grid) == 0 &&
         memcmp(&r->block, &c->block, sizeof c->block) == 0;
}

static void set_facts(Row *r, const Spec *spec) {
  if (spec->fn != NULL) {
    const CtFunctionInfo *info = ct_function_info(spec->fn);
    r->registers = info->registers;
    r->local_bytes = (int64_t)info->local_bytes;
    r->shared_bytes = (int64_t)info->shared_bytes + spec->shared_bytes;
  }
}

static CtStatus find_row(LaunchTimes *t, const Spec *spec, const LaunchConfig *c, size_t *out,
                         CtErr *err) {
  const CtIr *ir = &spec->ir;
  for (*out = 0; *out < t->n_rows; ++*out) {
    if (is_row(&t->rows[*out], spec, c)) {
      return CT_OK;
    }
  }
  CtStatus s = CT_GROW(t->state->alloc, t->rows, t->rows_cap, t->n_rows + 1, err);
  if (s == CT_OK) {
    Row *r = &t->rows[t->n_rows++];
    *r = (Row){.spec = spec->id, .grid = c->grid, .block = c->block, .line = ir->loc.line};
    strncpy(r->name, ir->name, sizeof r->name - 1);
    strncpy(r->chunk, ct_ir_chunk(ir, ir->loc), sizeof r->chunk - 1);
    set_facts(r, spec);
  }
  return s;
}

static void drop_events(const Sample *x) {
  if (x->device != NULL) {
    ct_event_free(x->device, x->start);
    ct_event_free(x->device, x->stop);
  }
}

/* Reads the events of all samples. One that cannot be read, as the device was lost, ends up without a
   time. */
static void read_events(LaunchTimes *t) {
  for (; t->n_read < t->n_samples; t->n_read++) {
    Sample *x = &t->samples[t->n_read];
    if (x->device != NULL &&
        (ct_event_synchronize(x->device, x->stop, NULL) != CT_OK ||
         ct_event_elapsed(x->device, x->start, x->stop, &x->ms, NULL) != CT_OK)) {
      x->ms = -1;
    }
    drop_events(x);
    x->device = NULL;
  }
}

static CtStatus start_events(Sample *x, CtStream stream, CtErr *err) {
  CtStatus s = ct_event_new(x->device, &x->start, err);
  if (s != CT_OK) {
    return s;
  }
  s = ct_event_new(x->device, &x->stop, err);
  if (s == CT_OK) {
    s = ct_event_record(x->device, x->start, stream, err);
    if (s == CT_OK) {
      return CT_OK;
    }
    ct_event_free(x->device, x->stop);
  }
  ct_event_free(x->device, x->start);
  return s;
}

static CtStatus add_sample(LaunchTimes *t, size_t row, const Spec *spec, const LaunchConfig *c,
                           int64_t n, CtErr *err) {
  CtStatus s = CT_GROW(t->state->alloc, t->samples, t->samples_cap, t->n_samples + 1, err);
  Sample x = {.row = row, .n = n, .device = spec->device, .ms = ct_now_ms()};
  if (s == CT_OK && x.device != NULL) {
    s = start_events(&x, launch_stream(c, spec->device), err);
  }
  if (s == CT_OK) {
    t->samples[t->n_samples++] = x;
  }
  return s;
}

/* Kernels of ranks wait for each other, so nothing may wait for their launches before all have begun. */
TapAnswer launch_times_before(Launch *l, CtErr *err) {
  LaunchTimes *t = l->times = l->state->taps.times;
  size_t row;
  if (t->mode == MODE_OFF) {
    return TAP_OUT;
  }
  if (!l->is_gathered && t->n_samples - t->n_read >= MAX_PENDING) {
    read_events(t);
  }
  l->sample = t->mode == MODE_TIME ? t->n_samples : SIZE_MAX;
  CtStatus s = find_row(t, l->spec, l->config, &row, err);
  s = s == CT_OK && t->mode == MODE_TIME ? add_sample(t, row, l->spec, l->config, l->n, err) : s;
  if (s != CT_OK) {
    return TAP_FAILED;
  }
  t->rows[row].n_launches += l->n;
  return TAP_IN;
}

/* What a kernel prints may have begun other launches meanwhile, or read the samples, or ended the session. */
CtStatus launch_times_after(Launch *l, CtStatus status, CtErr *err) {
  LaunchTimes *t = l->times;
  if (t != l->state->taps.times || l->sample >= t->n_samples) {
    return status;
  }
  Sample *x = &t->samples[l->sample];
  if (status == CT_OK && x->device != NULL) {
    status = ct_event_record(x->device, x->stop, launch_stream(l->config, l->spec->device), err);
  } else if (status == CT_OK && x->ms >= 0) {
    x->ms = ct_now_ms() - x->ms;
  }
  if (status != CT_OK) {
    drop_events(x);
    x->device = NULL;
    x->ms = -1; /* as of events that cannot be read */
  }
  return status;
}

/* {====== The session ====== */

static LaunchTimes *check_session(lua_State *L) { return luaL_checkudata(L, 1, SESSION_TYPE); }

static int session_close(lua_State *L) {
  LaunchTimes *t = check_session(L);
  if (t->state != NULL && t->state->taps.times == t) {
    t->state->taps.times = NULL;
  }
  if (t->state != NULL) {
    read_events(t);
    ct_free(t->state->alloc, t->rows, t->rows_cap * sizeof *t->rows);
    ct_free(t->state->alloc, t->samples, t->samples_cap * sizeof *t->samples);
    *t = (LaunchTimes){.state = NULL};
  }
  return 0;
}

/* _launch.time_launches() -> session: from now on each launch is timed. */
static int time_launches(lua_State *L) {
  CuttleState *s = state_of(L);
  if (s->taps.times != NULL) {
    return luaL_error(L, "bench: launches are already being timed");
  }
  LaunchTimes *t = lua_newuserdatauv(L, sizeof *t, 0);
  *t = (LaunchTimes){.state = s};
  luaL_setmetatable(L, SESSION_TYPE);
  s->taps.times = t;
  return 1;
}

/* session:mode("time" | "count" | "off") -> the mode before: what becomes of launches from now on. */
static int session_mode(lua_State *L) {
  static const char *const names[] = {"time", "count", "off", NULL};
  LaunchTimes *t = check_session(L);
  lua_pushstring(L, names[t->mode]);
  t->mode = (Mode)luaL_checkoption(L, 2, NULL, names);
  return 1;
}

static const Field row_fields[] = {FIELD(Row, name),        FIELD_AS("file", Row, chunk),
                                   FIELD(Row, line),        FIELD_AS("launches", Row, n_launches),
                                   FIELD(Row, grid),        FIELD(Row, block),
                                   FIELD(Row, registers),   FIELD(Row, local_bytes),
                                   FIELD(Row, shared_bytes)};
static const Field sample_fields[] = {FIELD(Sample, n), FIELD(Sample, ms)};

/* session:rows() -> a list of {name =, file =, line =, grid =, block =, launches =, samples = {}}, in
   the order of their first launches. */
static int session_rows(lua_State *L) {
  const LaunchTimes *t = check_session(L);
  lua_createtable(L, (int)t->n_rows, 0);
  for (size_t i = 0; i < t->n_rows; i++) {
    FIELDS_PUSH(L, row_fields, &t->rows[i]);
    lua_newtable(L);
    lua_setfield(L, -2, "samples");
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* session:finish() -> the rows with their samples, {n =, ms =} each, the time of n launches in a row. */
static int session_finish(lua_State *L) {
  LaunchTimes *t = check_session(L);
  read_events(t);
  (void)session_rows(L);
  for (size_t i = 0; i < t->n_samples; i++) {
    const Sample *x = &t->samples[i];
    if (x->ms >= 0) {
      lua_rawgeti(L, -1, (lua_Integer)x->row + 1);
      lua_getfield(L, -1, "samples");
      FIELDS_PUSH(L, sample_fields, x);
      lua_rawseti(L, -2, luaL_len(L, -2) + 1);
      lua_pop(L, 2);
    }
  }
  return 1;
}

static const luaL_Reg session_methods[] = {
    {"rows", session_rows}, {"finish", session_finish}, {"mode", session_mode}, {NULL, NULL}};
static const luaL_Reg functions[] = {{"_launch.time_launches", time_launches}, {NULL, NULL}};

void bind_open_times(lua_State *L) {
  bind_new_handle(L, SESSION_TYPE, session_close, session_methods);
  luaL_setfuncs(L, functions, 0);
}
