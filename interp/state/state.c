/* state.c: makes and frees the state of an interpreter, with its memory and limits. state_hook.c has
   what stops it, state_device.c its devices, language.c the names that scripts see. */
#include "state.h"

#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "diag.h"
#include "runtime/base/env.h"
#include "runtime/device/nvrtc.h"

enum { DEFAULT_SM = 90, MAX_CAPTURE_SECONDS = 1000000000 };

static const char state_key = 0; /* its address names the state in the registry */

static void *script_alloc(void *ud, void *ptr, size_t old_bytes, size_t new_bytes);

/* A state that was made here is known by its allocator, which spares accesses to elements a look-up; one of a
   host's own Lua by the registry. */
CuttleState *state_of(lua_State *L) {
  void *ud;
  if (lua_getallocf(L, &ud) == script_alloc) {
    return ud;
  }
  lua_rawgetp(L, LUA_REGISTRYINDEX, &state_key);
  CuttleState *s = lua_touserdata(L, -1);
  lua_pop(L, 1);
  return s;
}

/* {====== Memory ====== */

static CtAlloc base_alloc(const CuttleState *s) {
  return s->options.alloc == NULL ? ct_alloc_std : (CtAlloc){s->options.alloc, s->options.alloc_ud};
}

/* Reserves room under the limit; false: there is no room left. */
static bool count_bytes(CuttleState *s, size_t old_bytes, size_t new_bytes) {
  if (new_bytes <= old_bytes) {
    atomic_fetch_sub(&s->bytes.n, old_bytes - new_bytes);
    return true;
  }
  size_t more = new_bytes - old_bytes;
  size_t before = atomic_fetch_add(&s->bytes.n, more);
  if (more > s->options.memory_limit || before > s->options.memory_limit - more) {
    atomic_fetch_sub(&s->bytes.n, more);
    return false;
  }
  return true;
}

/* Lua gives a type where there is no old block. */
static void *limited_by(CuttleState *s, CtAlloc base, void *ptr, size_t old_bytes,
                        size_t new_bytes) {
  old_bytes = ptr == NULL ? 0 : old_bytes;
  if (s->options.memory_limit == 0) {
    return base.fn(base.ud, ptr, old_bytes, new_bytes);
  }
  if (!count_bytes(s, old_bytes, new_bytes)) {
    return NULL;
  }
  void *p = base.fn(base.ud, ptr, old_bytes, new_bytes);
  if (p == NULL && new_bytes > old_bytes) {
    atomic_fetch_sub(&s->bytes.n, new_bytes - old_bytes);
  }
  return p;
}

/* The fn of a CtAlloc. */
static void *limited_alloc(void *ud, void *ptr, size_t old_bytes, size_t new_bytes) {
  return limited_by(ud, base_alloc(ud), ptr, old_bytes, new_bytes);
}

/* The lua_Alloc. What a host gives gets each request. */
static void *script_alloc(void *ud, void *ptr, size_t old_bytes, size_t new_bytes) {
  CuttleState *s = ud;
  CtAlloc pool = {ct_pool_alloc, &s->bytes.pool};
  if (new_bytes > old_bytes || ptr == NULL) {
    state_rouse(s);
  }
  return limited_by(s, s->options.alloc == NULL ? pool : base_alloc(s), ptr, old_bytes, new_bytes);
}

bool state_is_nomem(lua_State *L, int status) {
  const char *msg = status == LUA_OK ? NULL : lua_tostring(L, -1);
  return status == LUA_ERRMEM || (msg != NULL && strstr(msg, "not enough memory") != NULL);
}

void state_free_garbage(lua_State *L, int status) {
  if (state_is_nomem(L, status) && lua_gc(L, LUA_GCISRUNNING) != 0) {
    lua_gc(L, LUA_GCCOLLECT);
  }
}

/* {====== Calls of the host ====== */

/* Light userdata: CtErr. */
static int raise_err(lua_State *L) {
  diag_check(L, CT_EDEVICE, lua_touserdata(L, 1));
  return 0;
}

/* Before the host goes on, which may use the devices, too: writes what scripts wrote element by element. The
   message of a failure takes the place of the results, which begin after `base`. */
static int settle_devices(CuttleState *s, int base, int status) {
  CtErr err;
  for (int i = 0; i < STATE_MAX_DEVICES; i++) {
    if (s->cuda[i] != NULL && ct_device_settle(s->cuda[i], &err) != CT_OK && status == LUA_OK) {
      lua_settop(s->L, base);
      lua_pushcfunction(s->L, raise_err);
      lua_pushlightuserdata(s->L, &err);
      status = lua_pcall(s->L, 1, 0, 0);
    }
  }
  return status;
}

int state_call(CuttleState *s, int n_args, int n_results) {
  lua_State *L = s->L;
  int base = lua_gettop(L) - n_args;
  lua_pushcfunction(L, diag_handler);
  lua_insert(L, base);
  s->turn.number++;
  bool is_first = s->calls.n++ == 0, is_asked = is_first && s->options.poll != NULL;
  if (is_first) {
    state_resume(s);
    s->stack_top = s->options.sandbox != 0 ? __builtin_frame_address(0) : NULL;
  }
  if (is_asked) {
    ct_ask_begin(&s->ask);
  }
  bool before = ct_env_ignore(s->options.no_environment != 0);
  int status = lua_pcall(L, n_args, n_results, base);
  (void)ct_env_ignore(before);
  if (is_asked) {
    ct_ask_end(&s->ask);
  }
  status = is_first ? settle_devices(s, base, status) : status;
  s->calls.n--;
  lua_remove(L, base);
  if (s->calls.n == 0) {
    state_free_garbage(L, status);
  }
  return status;
}

/* {====== Output ====== */

void state_print(CuttleState *s, const char *text, size_t len) {
  if (s->options.print != NULL) {
    s->options.print(s->options.print_ud, text, len);
  } else {
    fwrite(text, 1, len, stdout);
    fflush(stdout);
  }
}

void state_print_to(void *state, const char *text, size_t len) {
  CuttleState *s = state;
  bool before = s->is_printing;
  s->is_printing = true;
  if (s->mode == STATE_EMIT) { /* standard output gets the CUDA C */
    fwrite(text, 1, len, stderr);
  } else {
    state_print(s, text, len);
  }
  s->is_printing = before;
}

void state_log(CuttleState *s, const char *line) {
  if (s->options.log != NULL) {
    s->options.log(s->options.log_ud, line);
  }
}

const char *state_env(const CuttleState *s, const char *name) {
  return s->options.no_environment != 0 ? NULL : getenv(name);
}

/* {====== Making and freeing ====== */

bool state_has_unknown(const void *options, size_t known, size_t size) {
  const unsigned char *bytes = options;
  for (size_t i = known; i < size; i++) {
    if (bytes[i] != 0) {
      return true;
    }
  }
  return false;
}

const char *state_refuse_options(const cuttle_Options *o) {
  if (o == NULL) {
    return NULL;
  }
  if (o->size < offsetof(cuttle_Options, alloc_ud)) {
    return "cuttle_open: the options' `size` is not set, so the other fields cannot be trusted; "
           "write cuttle_Options o = {.size = sizeof o}";
  }
  if (o->memory_limit > SIZE_MAX / 2) {
    return "cuttle_open: the options' `memory_limit` is more than half of the address space, as a "
           "negative number is; write a number of bytes, or 0 for no limit";
  }
  return state_has_unknown(o, sizeof *o, o->size)
             ? "cuttle_open: the options have fields that this version does not know; "
               "install the version that the host was compiled for"
             : NULL;
}

/* A host compiled with an earlier version of the struct: what it lacks is zero. */
static void take_options(cuttle_Options *to, const cuttle_Options *from) {
  *to = (cuttle_Options){.size = sizeof *to};
  if (from != NULL) {
    memcpy(to, from, from->size < sizeof *to ? from->size : sizeof *to);
    to->size = sizeof *to;
  }
}

static void take_device(CuttleState *s, const char *text) {
  text = text != NULL ? text : state_env(s, "CUTTLE_DEVICE");
  text = text != NULL && text[0] != '\0' ? text : "auto";
  snprintf(s->device_text, sizeof s->device_text, "%s", text);
  snprintf(s->given_device, sizeof s->given_device, "%s", text);
}

/* What is neither 0 nor 1, state_refuse_start has refused. */
static bool is_set(const CuttleState *s, const char *name) {
  bool is_on = false;
  CtErr err;
  return ct_env_flag(name, state_env(s, name), &is_on, &err) == CT_OK && is_on;
}

static void read_capture(CuttleState *s) {
  StateCapture *c = &s->taps.capture;
  const char *folder = state_env(s, "CUTTLE_CAPTURE");
  const char *seconds = state_env(s, "CUTTLE_CAPTURE_SECONDS");
  size_t n = sizeof c->folder;
  snprintf(c->folder, n, "%s", folder == NULL ? "" : folder);
  CtErr err;
  if (ct_env_number("CUTTLE_CAPTURE_SECONDS", seconds, 0, MAX_CAPTURE_SECONDS, false, &c->seconds,
                    &err) != CT_OK) {
    snprintf(c->why, sizeof c->why, "%.120s", err.msg);
  } else if (folder != NULL && strlen(folder) >= n) {
    snprintf(c->why, sizeof c->why,
             "CUTTLE_CAPTURE: the folder's name has %zu bytes; at most %zu were expected",
             strlen(folder), n - 1);
  }
}

static bool asks_host(void *ud) {
  const CuttleState *s = ud;
  return s->options.poll(s->options.poll_ud) != 0;
}

/* What a state is before anything is opened. */
static CuttleState *new_state(CtAlloc alloc, const cuttle_Options *options) {
  CuttleState *s = ct_alloc(alloc, sizeof *s);
  if (s != NULL) {
    memset(s, 0, sizeof *s);
    s->options = *options;
    atomic_init(&s->bytes.n, sizeof *s);
    s->phase = (uint32_t)(uintptr_t)s ^ (uint32_t)time(NULL);
    s->phase += s->phase == 0;
    s->emit.sm = DEFAULT_SM;
    s->rank = -1;
    ct_nvrtc_arch(DEFAULT_SM, s->emit.arch);
    take_device(s, options->device);
    s->taps.checks_all = is_set(s, "CUTTLE_CHECK");
    read_capture(s);
    s->options.device = NULL;
    s->alloc = (CtAlloc){limited_alloc, s};
    ct_arena_init(&s->scratch, s->alloc);
    ct_text_init(&s->emit.functions, s->alloc);
    ct_text_init(&s->emit.names, s->alloc);
    ct_rand_seed(&s->rand, 0);
    if (options->poll != NULL) {
      s->ask = (CtAsk){.flag = &s->interrupt, .stops = asks_host, .ud = s};
      ct_ask_open(&s->ask);
    }
  }
  return s;
}

static void close_devices(CuttleState *s) {
  if (s->simt != NULL) {
    ct_simt_close(s->simt);
  }
  for (int i = 0; i < STATE_MAX_DEVICES; i++) {
    ct_device_close(s->cuda[i]);
  }
}

/* After the Lua state: its tensors and kernels used the devices. */
static void free_state(CuttleState *s) {
  if (s->options.poll != NULL) {
    ct_ask_close(&s->ask);
  }
  ct_text_clear(&s->emit.functions);
  ct_text_clear(&s->emit.names);
  ct_hash_table_clear(&s->emit.by_name, s->alloc);
  ct_blank_settle_all(&s->memory.blanks);
  while (s->memory.storages.first != NULL) { /* a host may keep its tensors for longer */
    ct_storage_leave(s->memory.storages.first);
  }
  ct_free(s->alloc, s->memory.spans, s->memory.cap * sizeof *s->memory.spans);
  order_free(&s->taps.order, s->alloc);
  while (s->images != NULL) {
    StateBlock *b = s->images;
    s->images = b->next;
    ct_free(s->alloc, b, b->bytes);
  }
  close_devices(s);
  ct_arena_clear(&s->scratch);
  ct_pool_clear(&s->bytes.pool);
  ct_free(base_alloc(s), s, sizeof *s);
}

static void put_state(lua_State *L, CuttleState *s) {
  lua_pushlightuserdata(L, s);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &state_key);
}

typedef struct Opening {
  CuttleState *state;
  void (*open)(lua_State *L);
} Opening;

static int open_state(lua_State *L) {
  const Opening *opening = lua_touserdata(L, 1);
  put_state(L, opening->state);
  opening->open(L);
  return 0;
}

/* What scripts may use, in percent of what the last collection left, before the next one begins. To trace makes much
   garbage beside little that stays: with Lua's 200 a tenth more of the time goes to collections. */
enum { GC_PAUSE = 400 };

CuttleState *state_new(const cuttle_Options *options, void (*open)(lua_State *L)) {
  cuttle_Options o;
  take_options(&o, options);
  CtAlloc base = o.alloc == NULL ? ct_alloc_std : (CtAlloc){o.alloc, o.alloc_ud};
  CuttleState *s = new_state(base, &o);
  if (s == NULL) {
    return NULL;
  }
  s->L = lua_newstate(script_alloc, s);
  if (s->L == NULL) {
    free_state(s);
    return NULL;
  }
  lua_gc(s->L, LUA_GCINC, GC_PAUSE, 0, 0);
  Opening opening = {s, open};
  lua_pushcfunction(s->L, open_state);
  lua_pushlightuserdata(s->L, &opening);
  if (lua_pcall(s->L, 1, 0, 0) != LUA_OK) {
    state_free(s);
    return NULL;
  }
  return s;
}

bool state_gave_up(const CuttleState *s) {
  bool did = false;
  for (int i = 0; i < STATE_MAX_DEVICES && !did; i++) {
    did = s->cuda[i] != NULL && ct_device_is_abandoned(s->cuda[i]);
  }
  return did;
}

static bool is_over(const CuttleState *s) { return state_is_interrupted(s) || state_gave_up(s); }

/* Does not go on to the next device once that is of no use. */
static bool wait_devices(CuttleState *s) {
  bool ok = !state_gave_up(s);
  for (int i = 0; i < STATE_MAX_DEVICES && (ok || !is_over(s)); i++) {
    ok = (s->cuda[i] == NULL || ct_device_synchronize(s->cuda[i], NULL) == CT_OK) && ok;
  }
  return ok;
}

/* Faults are logged: nobody is left to be told. A device may wait for another one, so all are given up. */
bool state_settle(CuttleState *s) {
  s->is_closing = true;
  if (wait_devices(s)) {
    return true;
  }
  state_log(s, "a device failed while the state was closed");
  bool gives_up = is_over(s);
  for (int i = 0; i < STATE_MAX_DEVICES && gives_up; i++) {
    if (s->cuda[i] != NULL) {
      ct_device_abandon(s->cuda[i]);
    }
  }
  return !gives_up;
}

void state_free(CuttleState *s) {
  (void)state_settle(s);
  lua_close(s->L);
  free_state(s);
}

/* {====== In a Lua that somebody else owns ====== */

/* The first of our userdata with __gc, so the last to be collected when that Lua is closed. */
static int guard_gc(lua_State *L) {
  CuttleState **guard = lua_touserdata(L, 1);
  if (*guard != NULL) {
    free_state(*guard);
    *guard = NULL;
  }
  return 0;
}

static CuttleState *attach(lua_State *L) {
  cuttle_Options options = {.size = sizeof options};
  CuttleState **guard = lua_newuserdatauv(L, sizeof(CuttleState *), 0);
  *guard = NULL;
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, guard_gc);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  luaL_ref(L, LUA_REGISTRYINDEX); /* stack: - */
  CuttleState *s = *guard = new_state(ct_alloc_std, &options);
  if (s == NULL) {
    luaL_error(L, "not enough memory");
    return NULL;
  }
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
  s->L = lua_tothread(L, -1);
  s->is_module = true;
  lua_pop(L, 1);
  put_state(L, s);
  return s;
}

CuttleState *state_attach(lua_State *L) {
  CuttleState *s = state_of(L);
  return s != NULL ? s : attach(L);
}

const char *state_check_path(lua_State *L, int idx, const char *op) {
  if (lua_type(L, idx) != LUA_TSTRING) {
    diag_type_error(L, idx, op, "the name of a file");
  }
  if (state_of(L)->options.sandbox) {
    diag_error(L, "%s: scripts have no files here: the state is a sandbox", op);
  }
  return diag_check_name(L, idx, op, "the name of the file");
}
