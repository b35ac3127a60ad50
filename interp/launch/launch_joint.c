/* launch_joint.c: gathers the launches of ranks and runs them at once. What a launch needs is copied, so that the
   script may go on; specialisations and memory are kept. On devices all launches are made ready before one begins. */
#include "launch_joint.h"

#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "interp/state/diag.h"
#include "interp/state/recorder.h"
#include "launch_check.h"
#include "launch_list.h"
#include "watcher.h"
#include "runtime/simt/run/simt_watch.h"
#include "runtime/watch/needless.h"

typedef struct Gathered {
  Spec *spec; /* one reference */
  int rank;
  int turn;             /* how many of its rank come before */
  CtSimtLaunch launch;  /* on the CPU engine; on a device only the slots */
  LaunchConfig config;  /* on a device */
  double seconds;       /* that it may run there; 0: for ever */
  LaunchTimes *times;   /* who takes its time there; NULL: nobody */
  unsigned char *block; /* of parameters, there */
  bool is_marked;       /* it records its marks, which somebody reads */
} Gathered;

typedef struct LaunchJoint {
  StateJoint head; /* first: StateTaps.joint points to it */
  CtArena arena;
  CtStorage **memory; /* what the launches use, one reference to each */
  LaunchTable **tables;
  Gathered *items;
  size_t n, cap, n_memory, cap_memory, n_tables, cap_tables;
  LaunchConfig check; /* of the first launch with the option `check` */
  bool is_checked, is_running;
} LaunchJoint;

/* {====== Gathering ====== */

static LaunchJoint *joint_of(const CuttleState *s) { return (LaunchJoint *)(void *)s->taps.joint; }

/* Does a watcher look at launches that run at the same time? Not one that a rank began and may end before they run. */
static bool watches_all(const StateTaps *t) {
  return t->watch != NULL && t->watch->ops->part != NULL && !t->is_watched_by_rank;
}

static bool is_looked_at(const StateTaps *t) {
  bool is_watched = (t->watch != NULL && t->check == NULL) || watcher_looks_at_one(t->session);
  return is_watched && !watches_all(t);
}

static int count_of_rank(const LaunchJoint *j, int rank) {
  for (size_t i = j == NULL ? 0 : j->n; i-- > 0;) {
    if (j->items[i].rank == rank) {
      return j->items[i].turn + 1;
    }
  }
  return 0;
}

/* The marks of a launch are read when it is over; of those that run at once, when all are. */
static bool takes_rank_marks(const CuttleState *s) {
  return s->taps.marks != NULL && s->taps.marks->take_ranks != NULL;
}

static bool takes_on_device(const CuttleState *s, const LaunchConfig *c, const LaunchArgs *a,
                            const Spec *spec) {
  return s->n_ranks > 1 && !s->is_benched && !c->check &&
         (!spec->has_marks || takes_rank_marks(s)) &&
         !ct_device_is_capturing(a->device, launch_stream(c, a->device)) &&
         (launch_may_wait(a, spec) || spec->has_marks || count_of_rank(joint_of(s), s->rank) > 0);
}

static bool takes(const Launch *l) {
  const CuttleState *s = l->state;
  const LaunchJoint *j = joint_of(s);
  bool can = s->taps.capture.folder[0] == '\0' && (j == NULL || !j->is_running);
  return can && (l->args->device == NULL ? !is_looked_at(&s->taps) && s->taps.times == NULL
                                         : takes_on_device(s, l->config, l->args, l->spec));
}

static void run_by_host(lua_State *L);
static bool waits_on(const StateJoint *joint, const CtDevice *device);

static LaunchJoint *joint_for_one_more(CuttleState *s, CtErr *err) {
  if (s->taps.joint == NULL) {
    LaunchJoint *j = ct_alloc(s->alloc, sizeof *j);
    if (j == NULL) {
      ct_fail_nomem(err);
      return NULL;
    }
    *j = (LaunchJoint){.head = {run_by_host, waits_on}};
    ct_arena_init(&j->arena, s->alloc);
    s->taps.joint = &j->head;
  }
  return joint_of(s);
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
  out->slots = slots;
  if (a->device != NULL) {
    return slots != NULL;
  }
  CtSimtList *lists = ct_arena_alloc(&j->arena, (n_params + 1) * sizeof *lists);
  out->n_elems = copy_of(j, a->n_elems, n_params * sizeof *a->n_elems);
  out->lists = lists;
  bool ok = slots != NULL && lists != NULL && out->n_elems != NULL;
  for (int i = 0; i < a->n && ok; i++) {
    ok = a->args[i].kind != ARG_LIST || copy_list(j, &a->args[i], slots, lists);
  }
  return ok;
}

static CtStatus hold(CuttleState *s, CtStorage *memory, CtErr *err) {
  LaunchJoint *j = joint_of(s);
  CtStatus status = memory->is_awaited
                        ? CT_OK
                        : CT_GROW(s->alloc, j->memory, j->cap_memory, j->n_memory + 1, err);
  if (status == CT_OK && !memory->is_awaited) {
    ct_blank_settle(memory->blank);
    j->memory[j->n_memory++] = ct_storage_retain(memory);
    memory->is_awaited = true;
  }
  return status == CT_OK && memory->of != NULL ? hold(s, memory->of, err) : status;
}

/* The list's table on the device. */
static CtStatus hold_table(CuttleState *s, const LaunchList *list, CtErr *err) {
  LaunchJoint *j = joint_of(s);
  LaunchTable *table = launch_list_table(list);
  CtStatus status =
      table == NULL ? CT_OK : CT_GROW(s->alloc, j->tables, j->cap_tables, j->n_tables + 1, err);
  if (status == CT_OK && table != NULL) {
    table->n_refs++;
    j->tables[j->n_tables++] = table;
  }
  return status;
}

static CtStatus hold_memory(CuttleState *s, const LaunchArgs *a, CtErr *err) {
  CtStatus status = CT_OK;
  for (LaunchTensors w = {.args = a}; status == CT_OK && launch_next_tensor(&w);) {
    status = hold(s, w.tensor->storage, err);
  }
  for (int i = 0; i < a->n && status == CT_OK; i++) {
    status = a->args[i].kind == ARG_LIST ? hold_table(s, a->args[i].list, err) : CT_OK;
  }
  return status;
}

/* The array of marks is that of the specialisation, so of launches at once the first one records. */
static bool records_marks(const LaunchJoint *j, const Spec *spec) {
  bool is_first = true;
  for (size_t i = 0; i < j->n && is_first; i++) {
    is_first = j->items[i].spec != spec;
  }
  return is_first;
}

static CtStatus gather(const Launch *l, CtErr *err) {
  CuttleState *s = l->state;
  const LaunchConfig *c = l->config;
  const LaunchArgs *a = l->args;
  Spec *spec = l->spec;
  LaunchJoint *j = joint_for_one_more(s, err);
  Gathered g = {.spec = spec,
                .rank = s->rank,
                .launch = launch_simt(l),
                .config = *c,
                .seconds = launch_seconds(a, spec),
                .times = a->device == NULL ? NULL : s->taps.times};
  CtStatus status = j == NULL ? CT_ENOMEM : hold_memory(s, a, err);
  status = status == CT_OK ? CT_GROW(s->alloc, j->items, j->cap, j->n + 1, err) : status;
  if (status == CT_OK && !copy_args(j, a, &g.launch)) {
    status = ct_fail_nomem(err);
  }
  if (status == CT_OK) {
    g.is_marked =
        a->device != NULL && spec->has_marks && takes_rank_marks(s) && records_marks(j, spec);
    g.turn = count_of_rank(j, s->rank);
    spec->n_refs++;
    j->items[j->n++] = g;
    j->check = !j->is_checked && c->check ? *c : j->check;
    j->is_checked = j->is_checked || c->check || (s->taps.checks_all && a->device == NULL);
  }
  return status;
}

TapAnswer launch_joint_before(Launch *l, CtErr *err) {
  bool on_device = l->args->device != NULL;
  if (!takes(l)) {
    return on_device ? TAP_OUT : TAP_IN;
  }
  l->is_gathered = true;
  if (l->state->taps.session != NULL && !on_device) {
    (void)watcher_before(l, err);
  }
  for (int64_t i = 0; i < l->n; i++) {
    diag_check(l->L, gather(l, err), err);
    l->watch = NULL; /* it watches the first one */
  }
  return TAP_HAS;
}

/* {====== Running ====== */

void launch_joint_drop(CuttleState *s) {
  LaunchJoint *j = joint_of(s);
  if (j == NULL) {
    return;
  }
  s->taps.joint = NULL;
  for (size_t i = 0; i < j->n_memory; i++) {
    j->memory[i]->is_awaited = false;
  }
  for (size_t i = 0; i < j->n; i++) {
    spec_free(s, j->items[i].spec);
  }
  for (size_t i = 0; i < j->n_memory; i++) {
    ct_storage_release(j->memory[i]);
  }
  for (size_t i = 0; i < j->n_tables; i++) {
    launch_table_release(j->tables[i]);
  }
  ct_free(s->alloc, j->memory, j->cap_memory * sizeof(CtStorage *));
  ct_free(s->alloc, j->tables, j->cap_tables * sizeof(LaunchTable *));
  ct_free(s->alloc, j->items, j->cap * sizeof *j->items);
  ct_arena_clear(&j->arena);
  ct_free(s->alloc, j, sizeof *j);
}

static bool is_on_device(const Gathered *g) { return g->spec->device != NULL; }

/* Those of the CPU engine in the order of ranks, of which there are n. */
static CtSimtEntry *sort(LaunchJoint *j, size_t n) {
  CtSimtEntry *entries = ct_arena_alloc(&j->arena, (n + 1) * sizeof *entries);
  int rank = -1;
  for (size_t done = 0; entries != NULL && done < n;) {
    int next = INT32_MAX;
    for (size_t i = 0; i < j->n; i++) {
      bool is_later = j->items[i].rank > rank && !is_on_device(&j->items[i]);
      next = is_later && j->items[i].rank < next ? j->items[i].rank : next;
    }
    for (size_t i = 0; i < j->n; i++) {
      if (j->items[i].rank == next && !is_on_device(&j->items[i])) {
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
  bool writes = false;
  for (size_t i = 0; i < j->n; i++) {
    writes = writes || ct_ir_writes_at(&j->items[i].spec->ir);
  }
  for (size_t i = 0; i < j->n && status == CT_OK; i++) {
    CtSimtLaunch *launch = &j->items[i].launch;
    if (j->items[i].spec->ir.has_addresses) {
      status = state_memory(s, writes, &launch->memory, &launch->n_memory, err);
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

static CtStatus run_checked(CuttleState *s, CtSimtEngine *engine, const CtSimtEntry *entries,
                            size_t n, CtErr *err) {
  s->is_engine_busy = true;
  CtStatus status = ct_needless_run(s->taps.check, engine, entries, n, err);
  s->is_engine_busy = false;
  s->n_host++;
  return status;
}

/* Each launch has a watcher of its own, a part of the state's, as profile has. */
static CtStatus run_in_parts(CuttleState *s, CtSimtEngine *engine, LaunchJoint *j,
                             const CtSimtEntry *entries, size_t n, CtErr *err) {
  CtSimtWatch *watch = s->taps.watch;
  CtStatus status = CT_OK;
  for (size_t i = 0; i < j->n && status == CT_OK; i++) {
    if (!is_on_device(&j->items[i])) {
      status = watch->ops->part(watch, j->items[i].spec->id, &j->items[i].launch.watch, err);
    }
  }
  status = status == CT_OK ? run_joint(s, engine, entries, n, err) : status;
  watch->ops->parts_over(watch);
  return status;
}

static CtStatus run_cpu(CuttleState *s, LaunchJoint *j, size_t n, CtErr *err) {
  CtSimtEngine *engine = NULL;
  CtSimtEntry *entries = sort(j, n);
  CtStatus status = entries == NULL ? ct_fail_nomem(err) : state_simt(s, &engine, err);
  status = status == CT_OK ? prepare(s, j, err) : status;
  if (status != CT_OK) {
    return status;
  }
  if (s->taps.check != NULL) {
    return run_checked(s, engine, entries, n, err);
  }
  return watches_all(&s->taps) ? run_in_parts(s, engine, j, entries, n, err)
                               : run_joint(s, engine, entries, n, err);
}

/* --- on devices ----------------------------------------------------------------------------------------- */

/* A kernel that waits for another rank holds up what the driver does meanwhile: it allocates, copies and loads when
   the device is idle. So all that launches need is made for all ranks, and only then does the first one begin. */
static CtStatus make_ready(const CuttleState *s, LaunchJoint *j, Gathered *g, CtErr *err) {
  const Spec *spec = g->spec;
  CtLaunch launch = launch_of(spec, &g->config);
  CtStatus status = launch_fill(spec, &g->config, g->launch.slots, err);
  if (status == CT_OK && g->is_marked) {
    status = launch_marks_begin(s, g->spec, &g->config, true, err);
  }
  g->block = status == CT_OK ? copy_of(j, spec->params, spec->params_bytes) : NULL;
  if (status == CT_OK && g->block == NULL) {
    return ct_fail_nomem(err);
  }
  return status == CT_OK ? ct_function_prepare(spec->fn, &launch, spec->params_bytes, err) : status;
}

/* What the taps are told of it. */
static Launch launch_of_rank(CuttleState *s, const Gathered *g) {
  return (Launch){.state = s,
                  .config = &g->config,
                  .spec = g->spec,
                  .n = 1,
                  .rank = g->rank,
                  .is_gathered = true};
}

static CtStatus begin(CuttleState *s, const Gathered *g, CtErr *err) {
  bool is_timed = g->times != NULL && g->times == s->taps.times; /* the session may be over */
  Launch l = launch_of_rank(s, g);
  CtStatus status = CT_OK;
  if (g->spec->has_marks && !g->is_marked && takes_rank_marks(s)) {
    status = launch_marks_keep(g->spec, &g->config, err);
  }
  TapAnswer times = status == CT_OK && is_timed ? launch_times_before(&l, err) : TAP_OUT;
  if (status != CT_OK || times == TAP_FAILED) {
    return err->status;
  }
  memcpy(g->spec->params, g->block, g->spec->params_bytes);
  status = launch_start(g->spec, &g->config, g->seconds, err);
  return times == TAP_IN ? launch_times_after(&l, status, err) : status;
}

static void add_rank(const Gathered *g, CtErr *err) {
  size_t len = strlen(err->msg);
  snprintf(err->msg + len, sizeof err->msg - len, "; the launch is that of rank %d", g->rank);
}

static CtStatus make_all_ready(const CuttleState *s, LaunchJoint *j, CtErr *err) {
  CtStatus status = CT_OK;
  for (size_t i = 0; i < j->n && status == CT_OK; i++) {
    status = is_on_device(&j->items[i]) ? make_ready(s, j, &j->items[i], err) : CT_OK;
    if (status != CT_OK) {
      add_rank(&j->items[i], err);
    }
  }
  return status;
}

/* The ranks take turns, since a device takes about a thousand launches that wait. */
static CtStatus begin_all(CuttleState *s, const LaunchJoint *j, size_t n, CtErr *err) {
  CtStatus status = CT_OK;
  size_t done = 0;
  for (int turn = 0; done < n && status == CT_OK; turn++) {
    for (size_t i = 0; i < j->n && status == CT_OK; i++) {
      const Gathered *g = &j->items[i];
      if (is_on_device(g) && g->turn == turn) {
        status = begin(s, g, err);
        done++;
      }
    }
  }
  return status;
}

static CtStatus run(CuttleState *s, LaunchJoint *j, CtErr *err) {
  size_t n = 0;
  for (size_t i = 0; i < j->n; i++) {
    n += is_on_device(&j->items[i]);
  }
  j->is_running = true;
  CtStatus status = make_all_ready(s, j, err);
  status = status == CT_OK ? begin_all(s, j, n, err) : status;
  return status == CT_OK && n < j->n ? run_cpu(s, j, j->n - n, err) : status;
}

static bool is_deadlock(const CtErr *err) {
  return strncmp(err->msg, "deadlock", 8) == 0 || strncmp(err->msg, "sync_grid", 9) == 0;
}

/* Who looks at one launch at a time. */
static const char *looker(const CuttleState *s) {
  const StateTaps *t = &s->taps;
  bool is_watched = t->watch != NULL || t->session != NULL;
  return is_watched         ? "what looks at one launch at a time, as trace and timeline,"
         : t->times != NULL ? "a timing of launches"
                            : "CUTTLE_CAPTURE";
}

CtStatus launch_joint_after(Launch *l, CtStatus status, CtErr *err) {
  if (status != CT_OK && is_deadlock(err)) {
    size_t len = strlen(err->msg);
    snprintf(err->msg + len, sizeof err->msg - len,
             "; %s runs the launches of ranks one after the other, so a kernel that waits for "
             "another rank never ends. Run it alone, or under 'cuttle check' or 'cuttle profile', "
             "which run them at once; or choose a launch that waits for no other rank",
             looker(l->state));
  }
  return status;
}

/* A host that did not wait for the other ranks is the likely cause. */
static void add_hint(CtErr *err) {
  size_t len = strlen(err->msg);
  if (is_deadlock(err)) {
    snprintf(err->msg + len, sizeof err->msg - len,
             "; the host used a tensor before the other ranks came, so call r:barrier() first");
  }
}

/* Do launches on the device wait to begin? */
static bool waits_on(const StateJoint *joint, const CtDevice *device) {
  const LaunchJoint *j = (const LaunchJoint *)(const void *)joint;
  bool does = false;
  for (size_t i = 0; i < j->n && !does; i++) {
    does = j->items[i].spec->device == device;
  }
  return does;
}

/* Hands over what was recorded. Raises. */
static void read_marks(lua_State *L, CuttleState *s, const LaunchJoint *j) {
  int top = lua_gettop(L);
  bool any = false;
  for (size_t i = 0; i < j->n; i++) {
    const Gathered *g = &j->items[i];
    if (g->is_marked && takes_rank_marks(s)) { /* the session may be over */
      const Launch l = launch_of_rank(s, g);
      s->taps.marks->take_ranks(L, &l, launch_marks_push(L, g->spec, &g->config));
      any = true;
    }
    lua_settop(L, top);
  }
  if (any && takes_rank_marks(s)) {
    s->taps.marks->take_ranks(L, NULL, (StateWords){NULL, 0});
  }
}

/* Runs what is gathered; `by_host`: because the host uses a tensor now. Raises. */
static void run_all(lua_State *L, bool by_host) {
  CuttleState *s = state_of(L);
  LaunchJoint *j = joint_of(s);
  CtErr err;
  if (j == NULL || j->is_running) { /* who is told of the marks of ranks may launch */
    return;
  }
  bool is_checked = j->is_checked && s->taps.watch == NULL;
  if (is_checked) {
    launch_check_watch(L, &j->check, true);
  }
  CtStatus status = run(s, j, &err);
  if (is_checked) {
    launch_check_pause(L);
  }
  if (status == CT_OK && takes_rank_marks(s)) {
    read_marks(L, s, j);
  }
  launch_joint_drop(s);
  watcher_at_once(L, s, status == CT_OK);
  if (status != CT_OK && by_host) {
    add_hint(&err);
  }
  if (is_checked) {
    launch_check_end(L, status, &err);
  }
  diag_check(L, status, &err);
}

bool launch_joint_is_empty(const CuttleState *s) {
  return s->taps.joint == NULL || joint_of(s)->n == 0;
}

void launch_joint_run(lua_State *L) { run_all(L, false); }

static void run_by_host(lua_State *L) { run_all(L, true); }

int launch_joint_count(const CuttleState *s, int rank) { return count_of_rank(joint_of(s), rank); }
