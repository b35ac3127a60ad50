/* launch_check.c: launches that are checked (runtime/watch/check.h), and the launch option `check`. */
#include "launch_check.h"

#include <lauxlib.h>

#include "interp/state/diag.h"

enum { MAX_LISTED = 10, N_USER_VALUES = 2 };

static void close_check(void *check) { ct_check_close(check); }

const WatcherKind launch_check_kind = {
    "check", "check: launches are already being watched, by check, profile or trace", close_check};

Watcher *launch_check_watch(lua_State *L, const LaunchConfig *c, bool is_single) {
  const CtCheckOptions options = {.nan = c->check_nan,
                                  .overflow = c->check_overflow,
                                  .no_global = c->check_no_global,
                                  .is_single = is_single,
                                  .blanks = &state_of(L)->memory.blanks};
  CtCheck *check;
  CtErr err;
  Watcher *w = watcher_push(L, &launch_check_kind, N_USER_VALUES);
  diag_check(L, ct_check_open(w->state->alloc, &options, &check, &err), &err);
  ct_blank_settle_all(options.blanks); /* nobody saw what wrote it until now */
  w->tool = w->state->taps.check = check;
  watcher_start(w, ct_check_watch(check));
  return w;
}

void launch_check_read(lua_State *L, int table, LaunchConfig *c) {
  table = lua_absindex(L, table);
  lua_getfield(L, table, "nan");
  c->check_nan = lua_toboolean(L, -1) != 0;
  lua_getfield(L, table, "overflow");
  c->check_overflow = lua_toboolean(L, -1) != 0;
  c->check_no_global = lua_getfield(L, table, "global") != LUA_TNIL && !lua_toboolean(L, -1);
  lua_pop(L, 3);
}

TapAnswer launch_check_before(Launch *l, CtErr *err) {
  (void)err;
  if (l->state->taps.watch != NULL) {
    return TAP_OUT;
  }
  if (l->args->device != NULL) {
    diag_error(l->L,
               "%s: checks are made on the CPU engine, and the launch is on a CUDA device; "
               "run with --device=cpu, or use cuttle check",
               l->args->of->name);
  }
  launch_check_watch(l->L, l->config, true);
  return TAP_IN;
}

/* "script.lua:12: race: ... (3 times)" */
static void add_line(lua_State *L, luaL_Buffer *b, const CtFinding *f) {
  lua_pushfstring(L, "%s:%d: %s", f->chunk, f->line, f->text);
  luaL_addvalue(b);
  if (f->count > 1) {
    lua_pushfstring(L, " (%I times)", (LUAI_UACINT)f->count);
    luaL_addvalue(b);
  }
}

void launch_check_pause(lua_State *L) { watcher_pause(lua_touserdata(L, -1)); }

CtStatus launch_check_after(Launch *l, CtStatus status, CtErr *err) {
  (void)err;
  launch_check_pause(l->L);
  return status;
}

void launch_check_end(lua_State *L, CtStatus status, const CtErr *err) {
  Watcher *w = lua_touserdata(L, -1);
  size_t n = ct_check_count(w->tool);
  luaL_Buffer b;
  watcher_stop(L, w);
  if (n == 0) {
    watcher_drop(w);
    lua_pop(L, 1);
    return;
  }
  luaL_buffinit(L, &b);
  for (size_t i = 0; i < n && i < MAX_LISTED; i++) {
    luaL_addstring(&b, i > 0 ? "\n" : "");
    add_line(L, &b, ct_check_finding(w->tool, i));
  }
  if (n > MAX_LISTED) {
    lua_pushfstring(L, "\nand %d more", (int)(n - MAX_LISTED));
    luaL_addvalue(&b);
  }
  if (status != CT_OK) {
    luaL_addchar(&b, '\n');
    luaL_addstring(&b, err->msg);
  }
  luaL_pushresult(&b);
  lua_error(L);
}

void launch_check_report(Launch *l, CtStatus status, const CtErr *err) {
  launch_check_end(l->L, status, err);
}
