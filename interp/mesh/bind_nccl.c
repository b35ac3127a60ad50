/* bind_nccl.c: NCCL for stdlib/mesh, by names with a leading `_`:
     _mesh.launcher()        {name =, rank =, size =, local_rank =, local_size =, local_name =} of launcher.h; nil where this
                        process was started by none. Raises where its variables contradict each other
     _mesh.comm_env(name)    a variable of the environment, nil in states that do not look at it
     _mesh.env_flag(name), _mesh.env_number(name, most)  the same as true or false, and as a number from 0
                        to `most`; raise for other texts
     _nccl.open{what =, address =, size =, seconds =, blocks =, members = {{device =, rank =, world =}, ...}}
                        communicators: one for each member, of nccl.h
     _nccl.split(set, what, seconds, parts, blocks)  one more for each of the set's, by parts[i] = {color =, key =, size =}
     _nccl.run(what, seconds, calls)         one group of calls: {set =, member =, op =, reduce =, dtype =, count =,
                        src =, src_at =, dst =, dst_at =, peer =, root =, stream =}; a stream is what _launch.stream_handle gives, nil is
                        the device's own
     _nccl.prepare(calls)                    what such calls have in common in all runs: {set =, member =, op =, reduce =,
                        count =, peer =, at =}
     _nccl.again(prepared, what, seconds, place, rows)  runs them with src and dst of rows[at]. Messages say `what`, then
                        `place`; nil: where the script is
     _nccl.bare(calls, reps)                 as _nccl.run, reps times, as a program with NCCL alone would
     _nccl.watch(call, what, seconds, is_before)  before and after a graph is launched that recorded calls with the
                        set and the member of this one
     _nccl.wait()       until all is done
     _nccl.version()    22809, and whether it can split; raises where there is no NCCL
   A set is closed by set:close(), <close> or the collector; set:is_open() says whether it was not, and not
   aborted. Errors of NCCL and of time abort all sets. */
#include <lauxlib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "interp/algebra/bind.h"
#include "interp/openers.h"
#include "interp/state/diag.h"
#include "interp/state/launcher.h"
#include "interp/state/fields.h"
#include "interp/state/recorder.h"
#include "interp/state/state.h"
#include "interp/tensor/tensor.h"
#include "runtime/base/env.h"
#include "runtime/device/nccl.h"

#define NCCL_TYPE "cuttle.nccl"
#define SET_TYPE "NCCL communicators"
#define PREPARED_TYPE "NCCL calls"

/* {====== The library ====== */

static const char nccl_key = 'n'; /* its address is the key in the registry */

static int nccl_gc(lua_State *L) {
  CtNccl **n = luaL_checkudata(L, 1, NCCL_TYPE);
  ct_nccl_free(*n);
  *n = NULL;
  return 0;
}

/* The state's own, made at the first call; raises where there is no NCCL. Sets are younger, so they are collected
   before it when the state is closed. */
static CtNccl *nccl_of(lua_State *L) {
  CuttleState *s = state_of(L);
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &nccl_key) == LUA_TNIL) {
    CtNcclOptions o = {.alloc = s->alloc, .interrupt = &s->interrupt, .is_closing = &s->is_closing};
    CtNccl **made = lua_newuserdatauv(L, sizeof *made, 0);
    *made = NULL;
    luaL_setmetatable(L, NCCL_TYPE);
    bool before = ct_env_ignore(s->options.no_environment != 0);
    CtStatus st = ct_nccl_new(&o, made, diag_err(L));
    (void)ct_env_ignore(before);
    diag_try(L, st);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &nccl_key);
  }
  return *(CtNccl **)lua_touserdata(L, -1);
}

static int lang_version(lua_State *L) {
  const CtNccl *n = nccl_of(L);
  lua_pushinteger(L, ct_nccl_version(n));
  lua_pushboolean(L, ct_nccl_can_split(n));
  return 2;
}

static int lang_wait(lua_State *L) {
  state_host_waits(L, "mesh");
  diag_try(L, ct_nccl_wait(nccl_of(L), diag_err(L)));
  return 0;
}

/* {====== Sets of communicators ====== */

typedef struct CommSet {
  CtNccl *nccl;
  int n; /* 0: closed */
  CtComm *comms[];
} CommSet;

static int set_close(lua_State *L) {
  CommSet *set = luaL_checkudata(L, 1, SET_TYPE);
  ct_comm_free(set->nccl, set->comms, set->n);
  set->n = 0;
  return 0;
}

static CommSet *check_set(lua_State *L, int idx) { return luaL_checkudata(L, idx, SET_TYPE); }

static int set_is_open(lua_State *L) {
  const CommSet *set = check_set(L, 1);
  lua_pushboolean(L, set->n > 0 && ct_comm_is_open(set->comms[0]));
  return 1;
}

/* Pushes a set without communicators, which has room for `room`. */
static CommSet *push_set(lua_State *L, CtNccl *n, int room) {
  CommSet *set = lua_newuserdatauv(L, sizeof *set + (size_t)room * sizeof set->comms[0], 0);
  *set = (CommSet){.nccl = n};
  memset(set->comms, 0, (size_t)room * sizeof set->comms[0]);
  luaL_setmetatable(L, SET_TYPE);
  return set;
}

/* The i-th member of the list on top. */
static CtNcclMember read_member(lua_State *L, int i) {
  CtNcclMember m = {.device = NULL};
  lua_geti(L, -1, i + 1);
  lua_getfield(L, -1, "device");
  diag_try(L, state_check_device(state_of(L), luaL_checkstring(L, -1), diag_err(L)));
  diag_try(L, state_named_device(state_of(L), lua_tostring(L, -1), &m.device, diag_err(L)));
  lua_pop(L, 1);
  if (m.device == NULL) {
    diag_error(L, "mesh: NCCL is for CUDA devices");
  }
  m.rank = (int)field_to_integer(L, -1, "rank", 0);
  m.world = (int)field_to_integer(L, -1, "world", m.rank);
  lua_pop(L, 1);
  return m;
}

static int lang_open(lua_State *L) {
  CtNcclOpen o = {.size = (int)field_to_integer(L, 1, "size", 0)};
  lua_settop(L, 1);
  lua_getfield(L, 1, "what");
  lua_getfield(L, 1, "address");
  lua_getfield(L, 1, "seconds");
  lua_getfield(L, 1, "blocks");
  lua_getfield(L, 1, "members");
  o.what = luaL_checkstring(L, 2);
  o.address = luaL_optstring(L, 3, NULL);
  o.seconds = luaL_checknumber(L, 4);
  o.blocks = lua_toboolean(L, 5);
  o.n = (int)luaL_len(L, 6);
  CtNcclMember *members = lua_newuserdatauv(L, (size_t)o.n * sizeof *members, 0);
  lua_insert(L, 6);
  for (int i = 0; i < o.n; i++) {
    members[i] = read_member(L, i);
  }
  o.members = members;
  CtNccl *n = nccl_of(L);
  CommSet *set = push_set(L, n, o.n);
  diag_try(L, ct_nccl_open(n, &o, set->comms, diag_err(L)));
  set->n = o.n;
  return 1;
}

static int lang_split(lua_State *L) {
  CommSet *of = check_set(L, 1);
  CtNcclPart *parts = lua_newuserdatauv(L, (size_t)of->n * sizeof *parts, 0);
  for (int i = 0; i < of->n; i++) {
    lua_geti(L, 4, i + 1);
    parts[i] = (CtNcclPart){.of = of->comms[i],
                            .color = (int)field_to_integer(L, -1, "color", 0),
                            .key = (int)field_to_integer(L, -1, "key", 0),
                            .size = (int)field_to_integer(L, -1, "size", 0)};
    lua_pop(L, 1);
  }
  CommSet *set = push_set(L, of->nccl, of->n);
  diag_try(L, ct_nccl_split(of->nccl, luaL_checkstring(L, 2), luaL_checknumber(L, 3),
                            lua_toboolean(L, 5), parts, of->n, set->comms, diag_err(L)));
  set->n = of->n;
  return 1;
}

/* {====== Calls ====== */

enum { FEW_CALLS = 16 }; /* that need no memory of their own */

/* Where element `first` of the row on top is, which is the call's `name`; pops it. Its memory is used on the call's
   stream. */
static CtDevPtr pop_row(lua_State *L, const char *name, lua_Integer first, uint64_t count,
                        CtNcclCall *call) {
  const Tensor *t = tensor_check_recordable(L, -1, "mesh");
  StateRecorder *r = state_of(L)->taps.recorder;
  if (r != NULL) {
    diag_try(L, recorder_hold(r, t->storage, diag_err(L)));
  }
  int64_t n = t->layout.shape->i.v;
  if (!ct_is_leaf(t->layout.shape) || (n > 1 && t->layout.stride->i.v != 1) || first < 0 ||
      (uint64_t)first + count > (uint64_t)n) {
    diag_error(L, "mesh: '%s' of a call has no %I elements in a row from %I on", name,
               (lua_Integer)count, first);
  }
  if (t->storage->device != ct_comm_device(call->comm)) {
    diag_error(L, "mesh: '%s' of a call is not on the device of its rank", name);
  }
  call->dtype = t->dtype;
  if (name[0] == 'd') { /* dst */
    diag_try(L, ct_storage_may_write(t->storage, diag_err(L)));
  }
  t->storage->stream = r == NULL ? call->stream : ct_device_stream(t->storage->device);
  lua_pop(L, 1);
  return t->storage->buf.ptr + tensor_byte(t, first);
}

/* The same of the field of the call at idx; 0 where there is no such field. */
static CtDevPtr row_field(lua_State *L, int idx, const char *name, const char *at_name,
                          uint64_t count, CtNcclCall *call) {
  lua_Integer first = field_to_integer(L, idx, at_name, 0);
  if (lua_getfield(L, idx, name) == LUA_TNIL) {
    lua_pop(L, 1);
    return 0;
  }
  return pop_row(L, name, first, count, call);
}

static int option_field(lua_State *L, int idx, const char *name, const char *otherwise,
                        const char *const *names, int n) {
  int i = 0;
  lua_getfield(L, idx, name);
  const char *text = luaL_optstring(L, -1, otherwise);
  while (i < n && strcmp(names[i], text) != 0) {
    i++;
  }
  if (i == n) {
    diag_error(L, "mesh: '%s' of a call is '%s', which is unknown", name, text);
  }
  lua_pop(L, 1);
  return i;
}

static void read_comm(lua_State *L, int idx, CtNcclCall *call) {
  lua_getfield(L, idx, "set");
  const CommSet *set = check_set(L, -1);
  lua_Integer member = field_to_integer(L, idx, "member", 1);
  if (member < 1 || member > set->n) {
    diag_error(L, "mesh: the communicators are closed");
  }
  call->comm = set->comms[member - 1];
  lua_pop(L, 1);
}

/* Elements that the operation reads and writes, of `count` of each rank. */
static uint64_t rows(const CtNcclCall *call, CtNcclOp wide, uint64_t count) {
  bool is_wide = call->op == wide || call->op == CT_ALL_TO_ALL;
  return is_wide ? count * (uint64_t)ct_comm_size(call->comm) : count;
}

/* In which stream the call at idx is enqueued. */
static CtStream stream_field(lua_State *L, int idx, const CtNcclCall *call) {
  bool is_own = lua_getfield(L, idx, "stream") == LUA_TNIL;
  CtStream stream = is_own ? ct_device_stream(ct_comm_device(call->comm)) : lua_touserdata(L, -1);
  lua_pop(L, 1);
  return stream;
}

/* All but the rows. */
static CtNcclCall read_head(lua_State *L, int idx) {
  static const char *const reductions[] = {"sum", "max", "min"};
  CtNcclCall call = {.dtype = CT_u8};
  read_comm(L, idx, &call);
  call.op = (CtNcclOp)option_field(L, idx, "op", "", ct_nccl_ops, CT_NCCL_OPS);
  call.reduce = (CtReduce)option_field(L, idx, "reduce", "sum", reductions, 3);
  call.count = (uint64_t)field_to_integer(L, idx, "count", 0);
  call.peer = (int)field_to_integer(L, idx, "peer", 0);
  call.stream = stream_field(L, idx, &call);
  return call;
}

static uint64_t src_rows(const CtNcclCall *call) {
  return rows(call, CT_REDUCE_SCATTER, call->count);
}

static uint64_t dst_rows(const CtNcclCall *call) { return rows(call, CT_ALL_GATHER, call->count); }

static CtNcclCall read_call(lua_State *L, int idx) {
  CtNcclCall call = read_head(L, idx);
  call.src = row_field(L, idx, "src", "src_at", src_rows(&call), &call);
  call.dst = row_field(L, idx, "dst", "dst_at", dst_rows(&call), &call);
  return call;
}

/* The list at idx as an array, in a new userdata on top. */
static CtNcclCall *push_calls(lua_State *L, int idx, int *n) {
  *n = (int)luaL_len(L, idx);
  CtNcclCall *calls = lua_newuserdatauv(L, (size_t)*n * sizeof *calls, 0);
  for (int i = 0; i < *n; i++) {
    lua_geti(L, idx, i + 1);
    calls[i] = read_call(L, lua_gettop(L));
    lua_pop(L, 1);
  }
  return calls;
}

static int lang_run(lua_State *L) {
  int n;
  const char *what = luaL_checkstring(L, 1);
  double seconds = luaL_checknumber(L, 2);
  const CtNcclCall *calls = push_calls(L, 3, &n);
  diag_try(L, ct_nccl_run(nccl_of(L), what, seconds, calls, n, diag_err(L)));
  return 0;
}

/* A group's calls without rows. Its user value is the list of them, which holds their sets. */
typedef struct PreparedCall {
  CtNcclCall call;
  const CommSet *set;
  lua_Integer member, at;
} PreparedCall;

typedef struct Prepared {
  int n;
  PreparedCall items[];
} Prepared;

static PreparedCall prepare_call(lua_State *L, int idx) {
  PreparedCall p = {.call = read_head(L, idx),
                    .member = field_to_integer(L, idx, "member", 1),
                    .at = field_to_integer(L, idx, "at", 0)};
  lua_getfield(L, idx, "set");
  p.set = check_set(L, -1);
  lua_pop(L, 1);
  return p;
}

static int lang_prepare(lua_State *L) {
  int n = (int)luaL_len(L, 1);
  Prepared *p = lua_newuserdatauv(L, sizeof *p + (size_t)n * sizeof p->items[0], 1);
  p->n = 0;
  luaL_setmetatable(L, PREPARED_TYPE);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1);
  for (; p->n < n; p->n++) {
    lua_geti(L, 1, p->n + 1);
    p->items[p->n] = prepare_call(L, lua_gettop(L));
    lua_pop(L, 1);
  }
  return 1;
}

/* The call with the rows of the list at idx. */
static CtNcclCall fill_call(lua_State *L, const PreparedCall *p, int idx) {
  CtNcclCall call = p->call;
  if (p->member > p->set->n) {
    diag_error(L, "mesh: the communicators are closed");
  }
  lua_rawgeti(L, idx, p->at);
  call.stream = stream_field(L, lua_gettop(L), &call);
  lua_getfield(L, -1, call.op == CT_BROADCAST ? "dst" : "src");
  call.src = pop_row(L, "src", 0, src_rows(&call), &call);
  lua_getfield(L, -1, "dst");
  call.dst = pop_row(L, "dst", 0, dst_rows(&call), &call);
  lua_pop(L, 1);
  return call;
}

static void write_what(lua_State *L, char *out, size_t cap) {
  lua_Debug ar;
  const char *what = luaL_checkstring(L, 2);
  if (!lua_isnil(L, 4)) {
    snprintf(out, cap, "%s%s", what, luaL_checkstring(L, 4));
  } else if (diag_find_script(L, &ar)) {
    snprintf(out, cap, "%s%s:%d", what, ar.short_src, ar.currentline);
  } else {
    snprintf(out, cap, "%s?", what);
  }
}

static int lang_again(lua_State *L) {
  const Prepared *p = luaL_checkudata(L, 1, PREPARED_TYPE);
  CtNcclCall few[FEW_CALLS], *calls = few;
  char what[200];
  luaL_checktype(L, 5, LUA_TTABLE);
  write_what(L, what, sizeof what);
  if (p->n > FEW_CALLS) {
    calls = lua_newuserdatauv(L, (size_t)p->n * sizeof *calls, 0);
  }
  for (int i = 0; i < p->n; i++) {
    calls[i] = fill_call(L, &p->items[i], 5);
  }
  diag_try(L, ct_nccl_run(nccl_of(L), what, luaL_checknumber(L, 3), calls, p->n, diag_err(L)));
  return 0;
}

static int lang_bare(lua_State *L) {
  int n;
  int reps = (int)luaL_checkinteger(L, 2);
  const CtNcclCall *calls = push_calls(L, 1, &n);
  diag_try(L, ct_nccl_bare(nccl_of(L), calls, n, reps, diag_err(L)));
  return 0;
}

static int lang_watch(lua_State *L) {
  CtNcclCall call;
  luaL_checktype(L, 1, LUA_TTABLE);
  read_comm(L, 1, &call);
  if (lua_toboolean(L, 4)) {
    diag_try(L,
             ct_nccl_begin(call.comm, luaL_checkstring(L, 2), luaL_checknumber(L, 3), diag_err(L)));
  } else {
    diag_try(L, ct_nccl_end(call.comm, diag_err(L)));
  }
  return 0;
}

/* {====== Processes ====== */

static const Field launcher_fields[] = {
    FIELD(StateLauncher, name),       FIELD(StateLauncher, rank),
    FIELD(StateLauncher, size),       FIELD_AS("local_rank", StateLauncher, local),
    FIELD(StateLauncher, local_size), FIELD(StateLauncher, local_name)};

static int lang_launcher(lua_State *L) {
  StateLauncher l;
  diag_try(L, state_launcher(state_of(L), &l, diag_err(L)));
  if (l.name == NULL) {
    return 0;
  }
  FIELDS_PUSH(L, launcher_fields, &l);
  return 1;
}

static int lang_env(lua_State *L) {
  lua_pushstring(L, state_env(state_of(L), luaL_checkstring(L, 1)));
  return 1;
}

/* nil: it is not set. */
static int lang_env_number(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  double n = NAN;
  diag_try(L, ct_env_number(name, state_env(state_of(L), name), 0, luaL_checkinteger(L, 2), false,
                            &n, diag_err(L)));
  if (isnan(n)) {
    return 0;
  }
  lua_pushnumber(L, n);
  return 1;
}

static int lang_env_flag(lua_State *L) {
  const char *name = luaL_checkstring(L, 1), *text = state_env(state_of(L), name);
  bool is_on = false;
  diag_try(L, ct_env_flag(name, text, &is_on, diag_err(L)));
  if (text == NULL || text[0] == '\0') {
    return 0;
  }
  lua_pushboolean(L, is_on);
  return 1;
}

/* {====== Registration ====== */

static const luaL_Reg nccl_meta[] = {{"__gc", nccl_gc}, {NULL, NULL}};
static const luaL_Reg no_meta[] = {{NULL, NULL}};
static const luaL_Reg set_methods[] = {{"is_open", set_is_open}, {NULL, NULL}};

static const luaL_Reg functions[] = {
    {"_mesh.launcher", lang_launcher}, {"_mesh.comm_env", lang_env},
    {"_mesh.env_flag", lang_env_flag}, {"_mesh.env_number", lang_env_number},
    {"_nccl.open", lang_open},         {"_nccl.split", lang_split},
    {"_nccl.run", lang_run},           {"_nccl.prepare", lang_prepare},
    {"_nccl.again", lang_again},       {"_nccl.bare", lang_bare},
    {"_nccl.watch", lang_watch},       {"_nccl.wait", lang_wait},
    {"_nccl.version", lang_version},   {NULL, NULL}};

void bind_open_nccl(lua_State *L) {
  bind_new_type(L, NCCL_TYPE, nccl_meta, NULL);
  bind_new_handle(L, SET_TYPE, set_close, set_methods);
  bind_new_type(L, PREPARED_TYPE, no_meta, NULL);
  luaL_setfuncs(L, functions, 0);
}
