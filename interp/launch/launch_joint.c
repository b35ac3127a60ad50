/* launch_joint.c: gathers the launches of ranks and runs them at once. What a launch needs is copied, so that the
   script may go on; specialisations and memory are kept. */
#include "launch_joint.h"

#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "interp/openers.h"
#include "interp/state/diag.h"
#include "interp/state/recorder.h"
#include "launch_check.h"
#include "launch_list.h"
#include "runtime/simt/run/simt_watch.h"

typedef struct Gathered {
  CtSimtLaunch launch;
  Spec *spec; /* one reference */
  int rank;
} Gathered;

typedef struct LaunchJoint {
  CtArena arena;
  StateRecorder memory; /* what the launches use */
  Gathered *items;
  size_t n, cap;
  LaunchConfig check; /* of the first launch with the option `check` */
  bool is_checked;
} LaunchJoint;

/* {====== Gathering ====== */

/* Does a watcher look at launches that run at the same time? Not one that a rank began and may end before they run. */
static bool watches_all(const CuttleState *s) {
  return s->watch != NULL && s->watch->ops->part != NULL && !s->is_watched_by_rank;
}

/* Who is told of a launch after it looks at one at a time; who is told before only does not. */
bool launch_joint_takes(const CuttleState *s, const LaunchConfig *config, const LaunchArgs *args) {
  bool is_watched = (s->watch != NULL && s->check == NULL) || s->on_launched != NULL;
  return s->rank >= 0 && args->device == NULL && s->recorder == NULL && s->times == NULL &&
         s->capture_folder[0] == '\0' && (!is_watched || watches_all(s)) && config->grid.x > 0;
}

static LaunchJoint *joint_of(CuttleState *s, CtErr *err) {
  if (s->joint == NULL) {
    LaunchJoint *j = ct_alloc(s->alloc, sizeof *j);
    if (j == NULL) {
      ct_fail_nomem(err);
      return NULL;
    }
    *j = (LaunchJoint){.memory = {.state = s}};
    ct_arena_init(&j->arena, s->alloc);
    s->joint = j;
  }
  return s->joint;
}

static void *copy_of(LaunchJoint *j, const void *from, size_t bytes) {
  void *to = ct_arena_alloc(&j->arena, bytes + 1);
  if (to != NULL && bytes > 0) {
    memcpy(to, from, bytes);
  }
  return to;
}

/* A list's table and what its rows point to, as they are now. */
static bool copy_list(LaunchJoint *j, const Arg *arg, CtSlotValue *slots, CtSimtList *lists) {
  const LaunchList *list = arg->list;
  size_t bytes = (size_t)launch_list_elems(list) * sizeof(int64_t);
  CtSimtList members = launch_list_members(list);
  void *rows = copy_of(j, launch_list_rows(list), bytes);
  const CtSimtSpan *spans = copy_of(j, members.members, (size_t)members.n * sizeof *spans);
  slots[arg->first_slot].ptr = rows;
  lists[arg->param] = (CtSimtList){spans, members.n};
  return rows != NULL && spans != NULL;
}

static bool copy_args(LaunchJoint *j, const LaunchArgs *a, CtSimtLaunch *out) {
  size_t n_params = (size_t)a->n_ir_params;
  CtSlotValue *slots = copy_of(j, a->slots, (size_t)a->n_slots * sizeof *slots);
  CtSimtList *lists = ct_arena_alloc(&j->arena, (n_params + 1) * sizeof *lists);
  out->slots = slots;
  out->n_elems = copy_of(j, a->n_elems, n_params * sizeof *a->n_elems);
  out->lists = lists;
  bool ok = slots != NULL && lists != NULL && out->n_elems != NULL;
  for (int i = 0; i < a->n && ok; i++) {
    ok = a->args[i].kind != ARG_LIST || copy_list(j, &a->args[i], slots, lists);
  }
  return ok;
}

static CtStatus hold(LaunchJoint *j, CtStorage *s, CtErr *err) {
  CtStatus status = s->is_awaited ? CT_OK : recorder_hold(&j->memory, s, err);
  s->is_awaited = s->is_awaited || status == CT_OK;
  return status == CT_OK && s->of != NULL ? hold(j, s->of, err) : status;
}

static CtStatus hold_memory(LaunchJoint *j, const LaunchArgs *a, CtErr *err) {
  CtStatus status = CT_OK;
  for (int i = 0; i < a->n && status == CT_OK; i++) {
    const Arg *arg = &a->args[i];
    if (arg->kind == ARG_TENSOR) {
      status = hold(j, arg->tensor->storage, err);
    }
    for (int64_t k = 0; arg->kind == ARG_LIST && k < launch_list_size(arg->list) && status == CT_OK;
         k++) {
      status = hold(j, launch_list_tensor(arg->list, k)->storage, err);
    }
  }
  return status;
}

static CtStatus gather(CuttleState *s, const LaunchConfig *c, const LaunchArgs *a, Spec *spec,
                       CtErr *err) {
  LaunchJoint *j = joint_of(s, err);
  Gathered g = {.spec = spec,
                .rank = s->rank,
                .launch = {.grid = {c->grid.x, c->grid.y, c->grid.z},
                           .interrupt = &s->interrupt,
                           .print = state_print_to,
                           .print_ud = s,
                           .print_order = c->print_order,
                           .is_cooperative = c->cooperative,
                           .n_host = s->n_host}};
  CtStatus status = j == NULL ? CT_ENOMEM : hold_memory(j, a, err);
  status = status == CT_OK ? ct_grow(s->alloc, &j->items, &j->cap, j->n + 1, sizeof *j->items, err)
                           : status;
  if (status == CT_OK && !copy_args(j, a, &g.launch)) {
    status = ct_fail_nomem(err);
  }
  if (status == CT_OK) {
    spec->n_refs++;
    j->items[j->n++] = g;
    j->check = !j->is_checked && c->check ? *c : j->check;
    j->is_checked = j->is_checked || c->check || s->check_all;
  }
  return status;
}

void launch_joint_add(lua_State *L, int kernel, const LaunchConfig *config, LaunchArgs *args,
                      Spec *spec, int64_t n) {
  CtErr err;
  if (args->of->state->on_launch != NULL) {
    args->of->state->on_launch(L, kernel, config, args, spec);
  }
  for (int64_t i = 0; i < n; i++) {
    diag_check(L, gather(args->of->state, config, args, spec, &err), &err);
  }
}

/* {====== Running ====== */

static void drop(CuttleState *s) {
  LaunchJoint *j = s->joint;
  if (j == NULL) {
    return;
  }
  s->joint = NULL;
  for (size_t i = 0; i < j->memory.n_held; i++) {
    j->memory.held[i]->is_awaited = false;
  }
  for (size_t i = 0; i < j->n; i++) {
    spec_free(s, j->items[i].spec);
  }
  recorder_clear(&j->memory);
  ct_free(s->alloc, j->items, j->cap * sizeof *j->items);
  ct_arena_clear(&j->arena);
  ct_free(s->alloc, j, sizeof *j);
}

/* The launches in the order of ranks. */
static CtSimtEntry *sort(LaunchJoint *j) {
  CtSimtEntry *entries = ct_arena_alloc(&j->arena, j->n * sizeof *entries);
  int rank = -1;
  for (size_t done = 0; entries != NULL && done < j->n;) {
    int next = INT32_MAX;
    for (size_t i = 0; i < j->n; i++) {
      next = j->items[i].rank > rank && j->items[i].rank < next ? j->items[i].rank : next;
    }
    for (size_t i = 0; i < j->n; i++) {
      if (j->items[i].rank == next) {
        entries[done++] = (CtSimtEntry){j->items[i].spec->simt, &j->items[i].launch, next};
      }
    }
    rank = next;
  }
  return entries;
}

/* Gives the launches what the state knows now. */
static CtStatus prepare(CuttleState *s, LaunchJoint *j, CtErr *err) {
  CtStatus status = CT_OK;
  for (size_t i = 0; i < j->n && status == CT_OK; i++) {
    CtSimtLaunch *launch = &j->items[i].launch;
    if (j->items[i].spec->ir.has_addresses) {
      status = state_memory(s, &launch->memory, &launch->n_memory, err);
    }
  }
  if (status == CT_OK && s->is_engine_busy) {
    status =
        ct_fail(err, CT_EINVAL,
                "launches of ranks wait to run, but the CPU engine runs another launch, from a "
                "callback that prints; wait for them after that one has returned");
  }
  return status;
}

static CtStatus run_joint(CuttleState *s, CtSimtEngine *engine, const CtSimtEntry *entries,
                          size_t n, CtErr *err) {
  s->is_engine_busy = true;
  CtStatus status = ct_simt_run_joint(engine, entries, n, err);
  s->is_engine_busy = false;
  s->n_host++;
  return status;
}

/* Each launch has a watcher of its own. */
static CtStatus run_checked(CuttleState *s, CtSimtEngine *engine, LaunchJoint *j,
                            const CtSimtEntry *entries, CtErr *err) {
  CtStatus status = ct_check_join(s->check, j->n, err);
  if (status != CT_OK) {
    return status;
  }
  for (size_t i = 0; i < j->n; i++) {
    j->items[i].launch.watch = ct_check_part(s->check, i);
  }
  status = run_joint(s, engine, entries, j->n, err);
  ct_check_join_end(s->check);
  return status;
}

/* The same of a watcher that has parts, as profile. */
static CtStatus run_in_parts(CuttleState *s, CtSimtEngine *engine, LaunchJoint *j,
                             const CtSimtEntry *entries, CtErr *err) {
  CtSimtWatch *watch = s->watch;
  CtStatus status = CT_OK;
  for (size_t i = 0; i < j->n && status == CT_OK; i++) {
    CtSimtLaunch *launch = &j->items[i].launch;
    status = watch->ops->part(watch, j->items[i].spec->id, &launch->watch, err);
  }
  status = status == CT_OK ? run_joint(s, engine, entries, j->n, err) : status;
  watch->ops->parts_over(watch);
  return status;
}

static CtStatus run(CuttleState *s, LaunchJoint *j, CtErr *err) {
  CtSimtEngine *engine;
  CtSimtEntry *entries = sort(j);
  CtStatus status = entries == NULL ? ct_fail_nomem(err) : state_simt(s, &engine, err);
  status = status == CT_OK ? prepare(s, j, err) : status;
  if (status != CT_OK) {
    return status;
  }
  if (s->check != NULL) {
    return run_checked(s, engine, j, entries, err);
  }
  return watches_all(s) ? run_in_parts(s, engine, j, entries, err)
                        : run_joint(s, engine, entries, j->n, err);
}

static bool is_deadlock(const CtErr *err) {
  return strncmp(err->msg, "deadlock", 8) == 0 || strncmp(err->msg, "grid_barrier", 12) == 0;
}

/* Who looks at one launch at a time. */
static const char *looker(const CuttleState *s) {
  bool is_watched = s->watch != NULL || s->on_launch != NULL;
  return is_watched         ? "what looks at one launch at a time, as trace and timeline,"
         : s->times != NULL ? "a timing of launches"
                            : "CUTTLE_CAPTURE";
}

void launch_joint_explain(const CuttleState *s, CtErr *err) {
  size_t len = strlen(err->msg);
  if (is_deadlock(err)) {
    snprintf(err->msg + len, sizeof err->msg - len,
             "; %s runs the launches of ranks one after the other, so a kernel that waits for "
             "another rank never ends. Run it without that, or under 'cuttle check' or 'cuttle "
             "profile', which run them at once; look at a launch that waits for no other rank",
             looker(s));
  }
}

/* A host that did not wait for the other ranks is the likely cause. */
static void add_hint(CtErr *err) {
  size_t len = strlen(err->msg);
  if (is_deadlock(err)) {
    snprintf(err->msg + len, sizeof err->msg - len,
             "; the host used a tensor before the other ranks came, so call r:barrier() first");
  }
}

/* Runs what is gathered; `by_host`: because the host uses a tensor now. Raises. */
static void run_all(lua_State *L, bool by_host) {
  CuttleState *s = state_of(L);
  LaunchJoint *j = s->joint;
  CtErr err;
  if (j == NULL) {
    return;
  }
  bool is_checked = j->is_checked && s->watch == NULL;
  if (is_checked) {
    launch_check_watch(L, &j->check, true);
  }
  CtStatus status = run(s, j, &err);
  drop(s);
  if (status != CT_OK && by_host) {
    add_hint(&err);
  }
  if (is_checked) {
    launch_check_end(L, status, &err);
  }
  diag_check(L, status, &err);
}

/* {====== Registration ====== */

static void run_by_host(lua_State *L) { run_all(L, true); }

/* _joint_run(): the launches that ranks have made since the last time run at once. */
static int joint_run(lua_State *L) {
  run_all(L, false);
  return 0;
}

/* _joint_drop(): they are forgotten. */
static int joint_drop(lua_State *L) {
  drop(state_of(L));
  return 0;
}

/* _joint_count(rank): how many there are of a rank. */
static int joint_count(lua_State *L) {
  const LaunchJoint *j = state_of(L)->joint;
  lua_Integer rank = luaL_checkinteger(L, 1), n = 0;
  for (size_t i = 0; j != NULL && i < j->n; i++) {
    n += j->items[i].rank == rank;
  }
  lua_pushinteger(L, n);
  return 1;
}

/* _joint_guard(fn, ...): what fn returns. However fn ends, the state then runs no rank, no launch waits, and the
   device is the one before. Lua's __close cannot promise this: a script that is stopped runs none of its own
   language any more, and without memory it may fail. */
static int joint_guard(lua_State *L) {
  CuttleState *s = state_of(L);
  char device[sizeof s->device_text];
  memcpy(device, s->device_text, sizeof device);
  int status = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);
  s->rank = -1;
  drop(s);
  if (strcmp(device, s->device_text) != 0) {
    memcpy(s->device_text, device, sizeof device);
    s->is_device_open = false;
  }
  state_free_garbage(L, status);
  return status == LUA_OK ? lua_gettop(L) : lua_error(L);
}

static const luaL_Reg functions[] = {{"_joint_run", joint_run},
                                     {"_joint_guard", joint_guard},
                                     {"_joint_drop", joint_drop},
                                     {"_joint_count", joint_count},
                                     {NULL, NULL}};

void bind_open_joint(lua_State *L) { /* language table on top */
  luaL_setfuncs(L, functions, 0);
  state_of(L)->run_joint = run_by_host;
  lua_newuserdatauv(L, 0, 0); /* with the state goes what is still gathered */
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, joint_drop);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  lua_setfield(L, LUA_REGISTRYINDEX, "cuttle.joint");
}
