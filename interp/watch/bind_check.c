/* bind_check.c: what the module cuttle.check is made of: all launches on the CPU engine are checked
   (launch_check.h) until it stops them. Names of the module begin with `_`: they are not the
   language's. */
#include <lauxlib.h>
#include <unistd.h>

#include "interp/algebra/bind.h"
#include "interp/launch/launch.h"
#include "interp/launch/launch_check.h"
#include "interp/state/diag.h"
#include "interp/state/fields.h"
#include "runtime/watch/needless.h"
#include "watch_source.h"
#include "interp/openers.h"

/* --- the module ----------------------------------------------------------------------------------------- */

/* User values of a holder that tells of cooperative launches. */
enum { TAKE = 1, SM };

static const Field kernel_fields[] = {FIELD_AS("kernel", Kernel, name), FIELD(Kernel, chunk),
                                      FIELD(Kernel, line)};
static const Field config_fields[] = {FIELD(LaunchConfig, grid), FIELD(LaunchConfig, block)};

/* Chunk and line are the launch's, or the kernel's where no script launches it. */
static void push_launch(lua_State *L, const Kernel *k, const LaunchConfig *c, const Spec *spec) {
  lua_Debug ar;
  const CtDim3 cluster = launch_cluster(c);
  lua_createtable(L, 0, 12);
  FIELDS_SET(L, kernel_fields, k);
  FIELDS_SET(L, config_fields, c);
  field_integer(L, "id", (int64_t)spec->id);
  field_integer(L, "cluster", (int64_t)cluster.x * cluster.y * cluster.z);
  field_integer(L, "shared_bytes", (int64_t)ct_ir_shared_bytes(&spec->ir) + c->shared_bytes);
  if (diag_find_script(L, &ar)) {
    field_text(L, "chunk", ar.short_src);
    field_integer(L, "line", ar.currentline);
  }
}

static void on_launch(Launch *l) {
  lua_State *L = l->L;
  int top = lua_gettop(L);
  if (!l->config->cooperative) {
    return;
  }
  luaL_checkstack(L, 16, NULL);
  watcher_push_told(L, &launch_check_kind);
  lua_getiuservalue(L, -1, SM);
  int sm = (int)lua_tointeger(L, -1);
  lua_getiuservalue(L, -2, TAKE);
  push_launch(L, l->args->of, l->config, l->spec);
  lua_pushvalue(L, -1);
  lua_insert(L, -3); /* stack: launch, take, launch */
  lua_call(L, 1, 1);
  bool is_new = lua_toboolean(L, -1) != 0;
  lua_pop(L, 1);
  if (is_new) {
    watch_keep_source(L, sm, l->kernel, l->config, l->args);
  }
  lua_settop(L, top);
}

static const WatcherCalls calls = {.before = on_launch};

/* The choices of the schedule at the top of the stack: pairs of a step and a thread. */
static CtOrderChoice *read_choices(lua_State *L, size_t *n) {
  lua_getfield(L, -1, "choices");
  *n = (size_t)lua_rawlen(L, -1) / 2;
  CtOrderChoice *choices = lua_newuserdatauv(L, (*n + 1) * sizeof *choices, 0);
  for (size_t i = 0; i < *n; i++) {
    lua_rawgeti(L, -2, 2 * (lua_Integer)i + 1);
    lua_rawgeti(L, -3, 2 * (lua_Integer)i + 2);
    choices[i] = (CtOrderChoice){.step = (uint32_t)lua_tointeger(L, -2),
                                 .thread = (uint32_t)lua_tointeger(L, -1)};
    lua_pop(L, 2);
  }
  return choices; /* stack: the choices, the userdata */
}

/* options.without = {chunk =, line =, what =, object =} */
static void ask_without(lua_State *L, CtCheck *check) {
  CtErr err;
  int top = lua_gettop(L);
  if (lua_getfield(L, -1, "without") == LUA_TTABLE) {
    CtNeedless place = {.line = (int)field_to_integer(L, -1, "line", 0),
                        .at = (uint32_t)field_to_integer(L, -1, "at", 0)};
    lua_getfield(L, top + 1, "chunk");
    lua_getfield(L, top + 1, "what");
    lua_getfield(L, top + 1, "object");
    lua_getfield(L, top + 1, "kernel");
    place.chunk = luaL_checkstring(L, top + 2);
    place.what = luaL_checkstring(L, top + 3);
    place.object = luaL_optstring(L, top + 4, NULL);
    place.kernel = luaL_optstring(L, top + 5, "");
    diag_check(L, ct_needless_without(check, &place, &err), &err);
  }
  lua_settop(L, top);
}

/* options{needless =, mutants =, without =, orders =, preemptions =, seed =, schedule = {launch =, policy =, seed =, choices =}} */
static void ask_orders(lua_State *L, CtCheck *check) {
  CtErr err;
  int top = lua_gettop(L);
  lua_pushvalue(L, 1);
  lua_getfield(L, top + 1, "needless");
  lua_getfield(L, top + 1, "mutants");
  if (lua_toboolean(L, -2) || lua_toboolean(L, -1)) {
    ct_needless_ask(check, lua_toboolean(L, -1), lua_type(L, -1) == LUA_TSTRING);
  }
  lua_settop(L, top + 1);
  ask_without(L, check);
  CtExploreOptions o = {.n_orders = field_to_integer(L, -1, "orders", 0),
                        .n_preemptions = (int)field_to_integer(L, -1, "preemptions", -1),
                        .seed = (uint64_t)field_to_integer(L, -1, "seed", 0)};
  if (lua_getfield(L, -1, "schedule") == LUA_TTABLE) {
    o.has_schedule = true;
    o.schedule.launch = (uint64_t)field_to_integer(L, -1, "launch", 0);
    o.schedule.policy = (int)field_to_integer(L, -1, "policy", 0);
    o.schedule.seed = (uint64_t)field_to_integer(L, -1, "seed", 0);
    o.schedule.choices = read_choices(L, &o.schedule.n);
  }
  diag_check(L, ct_explore_ask(check, &o, &err), &err);
  lua_settop(L, top);
}

/* _watch.check(options[, take, sm]): a holder; all launches on the CPU engine are checked until stop(). take{kernel =,
   chunk =, line =, grid =, block =, cluster =, shared_bytes =, id =} is called before each cooperative one; if it
   returns true, the table gets what watch_keep_source says, for that capability times 10. */
static int check_begin(lua_State *L) {
  LaunchConfig c = {0};
  lua_settop(L, 3);
  if (!lua_isnil(L, 1)) {
    luaL_checktype(L, 1, LUA_TTABLE);
    launch_check_read(L, 1, &c);
  }
  Watcher *w = launch_check_watch(L, &c, false);
  if (!lua_isnil(L, 1)) {
    ask_orders(L, w->tool);
  }
  if (!lua_isnil(L, 2)) {
    lua_pushvalue(L, 2);
    lua_setiuservalue(L, -2, TAKE);
    lua_pushinteger(L, bind_to_option(L, 3, 10, 999, "check", "sm"));
    lua_setiuservalue(L, -2, SM);
    watcher_tell(L, w, &calls);
  }
  return 1;
}

/* _host.choose_cpu(): the default device is the CPU engine from now on, with the virtual devices that it has. */
static int choose_cpu(lua_State *L) {
  CuttleState *s = state_of(L);
  if (state_cpu_devices(s) == 1) {
    diag_try(L, state_choose_device(s, "cpu", diag_err(L)));
  }
  return 0;
}

/* What a script raised, as main says it; what is no message, such as the script's exit, stays as it is. */
static int script_handler(lua_State *L) {
  return lua_type(L, 1) == LUA_TSTRING ? diag_handler(L) : 1;
}

/* _host.stop_script(): the script ends, as by an interrupt: no pcall of the script goes on. */
static int stop_script(lua_State *L) {
  state_stop(state_of(L));
  return 0;
}

/* _host.limit_script(seconds): SIGALRM stops scripts that run longer; 0: none does. */
static int limit_script(lua_State *L) {
  state_of(L)->script_s = (unsigned)luaL_checkinteger(L, 1);
  return 0;
}

/* The alarm of a script that begins, or that has ended; emscripten's alarm(0) ends the program. */
static void set_alarm(const CuttleState *s, unsigned seconds) {
  if (s->script_s != 0) {
    alarm(seconds);
  }
}

/* _host.call_script(f, ...) -> the number of the signal that stopped it, 0 for an interrupt of another
   kind, nil for none, and what pcall returns. The interrupt is forgotten, so that what was found
   until then can be reported. So is a hook that the script has set. */
static int call_script(lua_State *L) {
  CuttleState *s = state_of(L);
  luaL_checkany(L, 1);
  lua_pushcfunction(L, script_handler);
  lua_pushnil(L);
  lua_pushnil(L);
  lua_rotate(L, 1, 3); /* stack: handler, nil, nil, f, ... */
  s->signal = 0;
  s->reports = true;
  set_alarm(s, s->script_s);
  int status = lua_pcall(L, lua_gettop(L) - 4, LUA_MULTRET, 1);
  s->reports = false;
  set_alarm(s, 0);
  lua_sethook(L, NULL, 0, 0);
  state_hook_coroutine(s, L);
  lua_remove(L, 1);
  if (state_is_interrupted(s)) {
    state_resume(s);
    lua_pushinteger(L, s->signal);
    lua_replace(L, 1);
  }
  lua_pushboolean(L, status == LUA_OK);
  lua_replace(L, 2);
  return lua_gettop(L);
}

static Watcher *check_of(lua_State *L) { return watcher_check(L, &launch_check_kind); }

static int check_stop(lua_State *L) {
  watcher_stop(L, check_of(L));
  return 0;
}

static int check_launches(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)ct_check_launches(check_of(L)->tool));
  return 1;
}

static const Field finding_fields[] = {FIELD_NAMED("kind", CtFinding, kind, ct_check_names),
                                       FIELD_NAMED("id", CtFinding, kind, ct_check_ids),
                                       FIELD(CtFinding, kernel),
                                       FIELD(CtFinding, chunk),
                                       FIELD(CtFinding, line),
                                       FIELD(CtFinding, other_chunk),
                                       FIELD(CtFinding, buffer),
                                       FIELD(CtFinding, count),
                                       FIELD_AS("message", CtFinding, text),
                                       FIELD(CtFinding, schedule),
                                       FIELD(CtFinding, events),
                                       FIELD(CtFinding, block),
                                       FIELD(CtFinding, thread)};

static int check_findings(lua_State *L) {
  const CtCheck *c = check_of(L)->tool;
  lua_createtable(L, (int)ct_check_count(c), 0);
  for (size_t i = 0; i < ct_check_count(c); i++) {
    const CtFinding *f = ct_check_finding(c, i);
    FIELDS_PUSH(L, finding_fields, f);
    if (f->other_chunk != NULL) {
      field_integer(L, "other_line", f->other_line);
    }
    if (f->rank >= 0) {
      field_integer(L, "rank", f->rank);
    }
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  field_bool(L, "is_partial", ct_check_is_partial(c));
  return 1;
}

/* _watch.check_kinds(): {{kind =, id =, title =, rule =, remedy =}}: the rows of check.def. */
static int check_kinds(lua_State *L) {
  static const Field fields[] = {FIELD_AS("kind", CtCheckRow, name), FIELD(CtCheckRow, id),
                                 FIELD(CtCheckRow, title), FIELD(CtCheckRow, rule),
                                 FIELD(CtCheckRow, remedy)};
  lua_createtable(L, CT_CHECK_COUNT, 0);
  for (int i = 0; i < CT_CHECK_COUNT; i++) {
    FIELDS_PUSH(L, fields, &ct_check_rows[i]);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

static const Field explored_fields[] = {
    FIELD(CtExplored, kernel),     FIELD(CtExplored, launch),   FIELD(CtExplored, n_run),
    FIELD(CtExplored, n_same),     FIELD(CtExplored, n_left),   FIELD(CtExplored, n_found),
    FIELD(CtExplored, n_resident), FIELD(CtExplored, is_whole), FIELD(CtExplored, too_large)};

/* holder:explored(): what was explored of each launch. */
static int check_explored(lua_State *L) {
  const CtCheck *c = check_of(L)->tool;
  lua_createtable(L, (int)ct_explore_count(c), 0);
  for (size_t i = 0; i < ct_explore_count(c); i++) {
    FIELDS_PUSH(L, explored_fields, ct_explored(c, i));
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

static const Field needless_fields[] = {
    FIELD(CtNeedless, chunk),  FIELD(CtNeedless, line),
    FIELD(CtNeedless, what),   FIELD(CtNeedless, has_atomics),
    FIELD(CtNeedless, object), FIELD(CtNeedless, kernel),
    FIELD(CtNeedless, at),     FIELD(CtNeedless, is_needed),
    FIELD(CtNeedless, text),   FIELD_AS("launches", CtNeedless, n_launches)};

/* holder:needless([all]): the places that no launch needed, or all; tried =, launches =: how many places and launches
   were judged. */
static int check_needless(lua_State *L) {
  const CtCheck *c = check_of(L)->tool;
  bool all = lua_toboolean(L, 2) != 0;
  int64_t n_tried = 0;
  lua_newtable(L);
  for (size_t i = 0; i < ct_needless_count(c); i++) {
    const CtNeedless *place = ct_needless(c, i);
    n_tried += place->n_launches > 0;
    if (all || (!place->is_needed && place->n_launches > 0)) {
      FIELDS_PUSH(L, needless_fields, place);
      lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
    }
  }
  field_integer(L, "tried", n_tried);
  field_integer(L, "launches", (int64_t)ct_needless_judged(c));
  return 1;
}

/* --- opening ------------------------------------------------------------------------------------------------ */

void bind_open_check(lua_State *L) {
  static const luaL_Reg methods[] = {{"stop", check_stop},         {"launches", check_launches},
                                     {"findings", check_findings}, {"explored", check_explored},
                                     {"needless", check_needless}, {NULL, NULL}};
  static const luaL_Reg functions[] = {{"_watch.check", check_begin},
                                       {"_watch.check_kinds", check_kinds},
                                       {"_host.choose_cpu", choose_cpu},
                                       {"_host.call_script", call_script},
                                       {"_host.limit_script", limit_script},
                                       {"_host.stop_script", stop_script},
                                       {NULL, NULL}};
  watcher_new_type(L, &launch_check_kind, methods);
  luaL_setfuncs(L, functions, 0);
}
