/* bind_apart.c: a state apart from the script's: a sandbox in which `judge` runs what it does not trust. The library's
   own module in it, the driver, was loaded before any of that, and only the driver is called. Plain values go in
   and come out as copies: no function, no object and no table is shared. */
#include <lauxlib.h>
#include <string.h>

#include "interp/algebra/bind.h"
#include "interp/host/embed.h"
#include "interp/openers.h"
#include "interp/state/diag.h"
#include "interp/state/state_language.h"
#include "runtime/base/clock.h"

#define APART_TYPE "state apart"
#define DRIVER "cuttle.judge_driver"

enum { DEEPEST = 24, MOST_RESULTS = 16 };

typedef struct Apart {
  cuttle_State *S; /* NULL: closed */
  CuttleState *outer;
  int64_t deadline; /* of the call in progress, as ct_now_ns tells the time */
  bool is_late;
} Apart;

static const char driver_key = 0,
                  results_key = 0; /* addresses that name values of the other registry */

/* {====== Plain values from one state to another ====== */

static bool copy_plain(lua_State *from, int idx, lua_State *to, int depth);

static bool copy_table(lua_State *from, int idx, lua_State *to, int depth) {
  if (depth == 0 || lua_checkstack(from, 4) == 0) {
    return false;
  }
  luaL_checkstack(to, 6, "too many tables in tables");
  lua_newtable(to);
  lua_pushnil(from);
  while (lua_next(from, idx) != 0) {
    int key = lua_gettop(from) - 1;
    if (copy_plain(from, key, to, depth - 1)) {
      if (copy_plain(from, key + 1, to, depth - 1)) {
        lua_rawset(to, -3);
      } else {
        lua_pop(to, 1);
      }
    }
    lua_pop(from, 1);
  }
  return true;
}

/* Pushes a copy of the value at idx (absolute) on `to`; false, and nothing is pushed, if it is not plain. Allocates,
   and so raises, only in `to`. */
static bool copy_plain(lua_State *from, int idx, lua_State *to, int depth) {
  size_t len;
  switch (lua_type(from, idx)) {
    case LUA_TNIL: lua_pushnil(to); return true;
    case LUA_TBOOLEAN: lua_pushboolean(to, lua_toboolean(from, idx)); return true;
    case LUA_TNUMBER:
      if (lua_isinteger(from, idx)) {
        lua_pushinteger(to, lua_tointeger(from, idx));
      } else {
        lua_pushnumber(to, lua_tonumber(from, idx));
      }
      return true;
    case LUA_TSTRING: {
      const char *text = lua_tolstring(from, idx, &len);
      lua_pushlstring(to, text, len);
      return true;
    }
    case LUA_TTABLE: return copy_table(from, idx, to, depth);
    default: return false;
  }
}

/* {====== Opening ====== */

static void drop_output(void *ud, const char *text, size_t len) {
  (void)ud;
  (void)text;
  (void)len;
}

static int is_to_stop(void *ud) {
  Apart *a = ud;
  a->is_late = a->is_late || ct_now_ns() > a->deadline;
  return a->is_late || state_is_stopping(a->outer);
}

/* Takes `name` out of the table at the top. */
static void drop_name(lua_State *L, const char *name) {
  lua_pushnil(L);
  lua_setfield(L, -2, name);
}

/* The light userdata is NULL or a text of names with blanks between. The driver is loaded, kept, and made
   unreachable; so are modules, and the names. */
static int prepare(lua_State *L) {
  const char *names = lua_touserdata(L, 1);
  state_push_module(L, DRIVER);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &driver_key);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  drop_name(L, DRIVER);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  drop_name(L, DRIVER);
  lua_pushglobaltable(L);
  state_push_language(L);
  while (*names != '\0') {
    size_t n = strcspn(names, " ");
    lua_pushlstring(L, names, n);
    lua_pushvalue(L, -1);
    lua_pushnil(L);
    lua_rawset(L, -4); /* stack: globals, language, name */
    lua_pushnil(L);
    lua_rawset(L, -4);
    names += n + strspn(names + n, " ");
  }
  return 0;
}

static Apart *check_apart(lua_State *L) {
  Apart *a = luaL_checkudata(L, 1, APART_TYPE);
  if (a->S == NULL) {
    diag_error(L, "judge: the state is closed");
  }
  return a;
}

static int apart_close(lua_State *L) {
  Apart *a = luaL_checkudata(L, 1, APART_TYPE);
  cuttle_State *S = a->S;
  a->S = NULL;
  cuttle_close(S);
  return 0;
}

/* _judge.open(bytes, device, names) -> a state apart with so much memory, without the names of a text with blanks
   between. */
static int apart_open(lua_State *L) {
  lua_Integer bytes = luaL_checkinteger(L, 1);
  const char *device = luaL_checkstring(L, 2), *names = luaL_checkstring(L, 3);
  Apart *a = lua_newuserdatauv(L, sizeof *a, 0);
  *a = (Apart){.outer = state_of(L), .deadline = INT64_MAX};
  luaL_setmetatable(L, APART_TYPE);
  cuttle_Options o = {.size = sizeof o,
                      .print = drop_output,
                      .memory_limit = (size_t)bytes,
                      .sandbox = 1,
                      .device = device,
                      .no_environment = 1,
                      .poll = is_to_stop,
                      .poll_ud = a};
  a->S = cuttle_open(&o);
  if (a->S == NULL) {
    return diag_error(L, "judge: %s", cuttle_error(NULL));
  }
  if (cuttle_call(a->S, prepare, (void *)(uintptr_t)names) != CUTTLE_OK) {
    return diag_error(L, "judge: %s", cuttle_error(a->S));
  }
  return 1;
}

/* {====== Calls ====== */

typedef struct Call {
  lua_State *from;
  const char *name;
  int first, n; /* arguments on the stack of `from` */
} Call;

/* Calls a function of the driver, and keeps its results in the registry. */
static int call_driver(lua_State *L) {
  const Call *c = lua_touserdata(L, 1);
  lua_settop(L, 0);
  luaL_checkstack(L, c->n + MOST_RESULTS + 8, NULL);
  lua_pushnil(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &results_key);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &driver_key);
  lua_getfield(L, -1, c->name);
  for (int i = 0; i < c->n; i++) {
    if (!copy_plain(c->from, c->first + i, L, DEEPEST)) {
      return diag_error(L, "judge: argument %d of %s is no plain value", i + 1, c->name);
    }
  }
  lua_call(L, c->n, LUA_MULTRET);
  int n = lua_gettop(L) - 1; /* below them: the driver */
  lua_createtable(L, n, 0);
  for (int i = 1; i <= n; i++) {
    lua_pushvalue(L, i + 1);
    lua_rawseti(L, -2, i);
  }
  lua_rawsetp(L, LUA_REGISTRYINDEX, &results_key);
  return 0;
}

/* Pushes the results on L; the other state's stack is left as it was. */
static int take_results(lua_State *L, lua_State *from) {
  int top = lua_gettop(from), list = top + 1;
  if (lua_checkstack(from, 8) == 0) {
    return 0;
  }
  lua_rawgetp(from, LUA_REGISTRYINDEX, &results_key);
  int n = (int)lua_rawlen(from, list);
  n = n > MOST_RESULTS ? MOST_RESULTS : n;
  luaL_checkstack(L, n + 8, NULL);
  for (int i = 1; i <= n; i++) {
    lua_rawgeti(from, list, i);
    if (!copy_plain(from, list + 1, L, DEEPEST)) {
      lua_pushnil(L);
    }
    lua_settop(from, list);
  }
  lua_settop(from, top);
  return n;
}

static const char *word_of(const Apart *a, cuttle_Status status) {
  return status == CUTTLE_NOMEM ? "memory" : a->is_late ? "time" : "error";
}

/* a:call(name, seconds, ...): calls a function of the driver with copies of plain values. Returns true and copies of
   its results (a nil ends them), or false, "error", "memory" or "time", and a message. */
static int apart_call(lua_State *L) {
  Apart *a = check_apart(L);
  Call c = {.from = L, .name = luaL_checkstring(L, 2), .first = 4, .n = lua_gettop(L) - 3};
  double seconds = luaL_checknumber(L, 3);
  a->is_late = false;
  a->deadline = ct_now_ns() + (int64_t)(seconds * 1e9);
  cuttle_Status status = cuttle_call(a->S, call_driver, &c);
  a->deadline = INT64_MAX;
  state_charge(L, a->outer, 0); /* raises if the outer script is to stop */
  if (status == CUTTLE_OK) {
    lua_pushboolean(L, 1);
    return 1 + take_results(L, a->S->L);
  }
  lua_pushboolean(L, 0);
  lua_pushstring(L, word_of(a, status));
  lua_pushstring(L, cuttle_error(a->S));
  return 3;
}

/* {====== The memory of tensors ====== */

static const Tensor *check_host(lua_State *L, int idx) {
  const Tensor *t = tensor_check(L, idx, "judge");
  if (t->storage == NULL || t->storage->device != NULL) {
    diag_error(L, "judge: the tensor must lie on the host");
  }
  return t;
}

typedef struct Transfer {
  const Tensor *here;
  lua_Integer number;
  bool is_write;
} Transfer;

/* All bytes of a tensor's memory, gaps included, to or from tensor `number` of the driver. */
static int transfer(lua_State *L) {
  const Transfer *t = lua_touserdata(L, 1);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &driver_key);
  lua_getfield(L, -1, "tensor");
  lua_pushinteger(L, t->number);
  lua_call(L, 1, 1);
  const Tensor *there = tensor_check(L, -1, "judge");
  CtStorage *a = t->here->storage, *b = there->storage;
  if (a->bytes != b->bytes) {
    return diag_error(L, "judge: tensor %d has %d bytes, and the other one %d", (int)t->number,
                      (int)b->bytes, (int)a->bytes);
  }
  CtStatus status = t->is_write ? ct_storage_write(b, 0, a->host, a->bytes, diag_err(L))
                                : ct_storage_read(b, 0, a->host, a->bytes, diag_err(L));
  diag_try(L, status);
  return 0;
}

static int move(lua_State *L, bool is_write) {
  const Apart *a = check_apart(L);
  Transfer t = {.here = check_host(L, 3), .number = luaL_checkinteger(L, 2), .is_write = is_write};
  if (cuttle_call(a->S, transfer, &t) != CUTTLE_OK) {
    return diag_error(L, "%s", cuttle_error(a->S));
  }
  return 0;
}

static int apart_write(lua_State *L) { return move(L, true); }
static int apart_read(lua_State *L) { return move(L, false); }

/* _judge.bytes(t): the bytes of a host tensor's memory, gaps included, as a string. */
static int bytes_of(lua_State *L) {
  const CtStorage *storage = check_host(L, 1)->storage;
  lua_pushlstring(L, storage->host == NULL ? "" : storage->host, storage->bytes);
  return 1;
}

/* _judge.fill(t, byte): writes this byte to all of a host tensor's memory, gaps included. */
static int fill_bytes(lua_State *L) {
  const Tensor *t = check_host(L, 1);
  diag_try(L, ct_storage_set(t->storage, 0, (int)luaL_checkinteger(L, 2), t->storage->bytes,
                             diag_err(L)));
  return 0;
}

/* _judge.tile(t, bytes): repeats so many first bytes of a host tensor's memory up to its end. */
static int tile_bytes(lua_State *L) {
  CtStorage *storage = check_host(L, 1)->storage;
  size_t n = (size_t)luaL_checkinteger(L, 2);
  for (size_t at = n; n > 0 && at < storage->bytes; at += n) {
    size_t rest = storage->bytes - at;
    diag_try(L, ct_storage_write(storage, at, storage->host, rest < n ? rest : n, diag_err(L)));
  }
  return 0;
}

/* _judge.copy(from, to): all of the memory of a host tensor to another one of as many bytes. */
static int copy_bytes(lua_State *L) {
  const Tensor *from = check_host(L, 1), *to = check_host(L, 2);
  if (from->storage->bytes != to->storage->bytes) {
    return diag_error(L, "judge: the tensors have memory of different sizes");
  }
  diag_try(
      L, ct_storage_write(to->storage, 0, from->storage->host, from->storage->bytes, diag_err(L)));
  return 0;
}

static const luaL_Reg apart_methods[] = {
    {"call", apart_call}, {"write", apart_write}, {"read", apart_read}, {NULL, NULL}};
static const luaL_Reg functions[] = {{"_judge.open", apart_open}, {"_judge.bytes", bytes_of},
                                     {"_judge.fill", fill_bytes}, {"_judge.tile", tile_bytes},
                                     {"_judge.copy", copy_bytes}, {NULL, NULL}};

void bind_open_apart(lua_State *L) {
  bind_new_handle(L, APART_TYPE, apart_close, apart_methods);
  luaL_setfuncs(L, functions, 0);
}
