/* state_hook.c: the owner of Lua's hook, of which a coroutine has one only: interrupts, the limit on
   instructions and the watch on calls while a kernel is traced share it. A hook that somebody else had
   set is called as well while calls are watched, and set again afterwards. */
#include <lauxlib.h>

#include "diag.h"
#include "state.h"

enum { COUNT_STEP = 1000 }; /* instructions between two looks at the limit */

static void hook(lua_State *L, lua_Debug *ar);

/* The instructions after which a state wants to be asked; 0: never. */
static int wanted_count(const CuttleState *s) {
  uint64_t limit = s->options.instruction_limit;
  if (s->own_interrupt != 0 || (limit > 0 && s->n_instructions >= limit)) {
    return 1;
  }
  return limit < COUNT_STEP ? (int)limit : COUNT_STEP;
}

/* Safe in a signal handler, as far as lua_sethook is. What is set already is left alone: setting it
   again would begin to count anew. */
static void install(const CuttleState *s, lua_State *L) {
  int count = wanted_count(s);
  int mask = (count > 0 ? LUA_MASKCOUNT : 0) | (s->on_call != NULL ? LUA_MASKCALL : 0);
  if (s->watched == L && s->other_hook != NULL) {
    mask |= s->other_mask;
    count = count > 0 ? count : s->other_count;
  }
  bool is_set = lua_gethook(L) == (mask == 0 ? NULL : hook) && lua_gethookmask(L) == mask &&
                (mask == 0 || lua_gethookcount(L) == count);
  if (!is_set) {
    lua_sethook(L, mask == 0 ? NULL : hook, mask, count);
  }
}

/* After the limit each further instruction raises again: a pcall in the script cannot go on. */
static void count_instructions(lua_State *L, CuttleState *s) {
  if (s->own_interrupt != 0) {
    diag_error(L, "interrupted");
  }
  s->n_instructions += (uint64_t)lua_gethookcount(L);
  install(s, L);
  if (s->options.instruction_limit > 0 && s->n_instructions >= s->options.instruction_limit) {
    diag_error(L, "the limit of %I instructions is reached",
               (LUAI_UACINT)s->options.instruction_limit);
  }
}

static void call_other(lua_State *L, lua_Debug *ar, const CuttleState *s) {
  static const int masks[] = {[LUA_HOOKCALL] = LUA_MASKCALL,
                              [LUA_HOOKRET] = LUA_MASKRET,
                              [LUA_HOOKLINE] = LUA_MASKLINE,
                              [LUA_HOOKCOUNT] = LUA_MASKCOUNT,
                              [LUA_HOOKTAILCALL] = LUA_MASKCALL};
  if (s->other_hook != NULL && s->watched == L && (s->other_mask & masks[ar->event]) != 0) {
    s->other_hook(L, ar);
  }
}

static void hook(lua_State *L, lua_Debug *ar) {
  CuttleState *s = state_of(L);
  if (ar->event == LUA_HOOKCOUNT) {
    count_instructions(L, s);
  } else if (s->on_call == NULL) { /* of a coroutine that a trace began */
    install(s, L);
  } else if (ar->event == LUA_HOOKCALL || ar->event == LUA_HOOKTAILCALL) {
    s->on_call(L, ar);
  }
  call_other(L, ar, s);
}

static bool is_ours(lua_State *L) { return lua_gethook(L) == NULL || lua_gethook(L) == hook; }

void state_watch_calls(CuttleState *s, lua_State *L, lua_Hook on_call) {
  if (on_call != NULL) {
    s->watched = L;
    s->other_hook = is_ours(L) ? NULL : lua_gethook(L);
    s->other_mask = lua_gethookmask(L);
    s->other_count = lua_gethookcount(L);
  }
  s->on_call = on_call;
  if (on_call == NULL && s->other_hook != NULL) {
    lua_sethook(L, s->other_hook, s->other_mask, s->other_count);
    s->other_hook = NULL;
  } else {
    install(s, L);
  }
}

void state_hook_coroutine(const CuttleState *s, lua_State *co) {
  if (is_ours(co)) {
    install(s, co);
  }
}

void state_stop(CuttleState *s) {
  s->own_interrupt = 1;
  for (const StateCoroutine *c = s->running; c != NULL; c = c->outer) {
    install(s, c->L);
  }
  install(s, s->L);
}

bool state_ask(CuttleState *s) {
  if (s->n_searches > 0 && s->asked == 0) {
    s->asked = 1;
    return true;
  }
  state_stop(s);
  return false;
}

void state_resume(CuttleState *s) {
  s->asked = 0;
  s->own_interrupt = 0;
  s->n_instructions = 0;
  if (s->options.instruction_limit > 0 || lua_gethook(s->L) == hook) {
    install(s, s->L);
  }
}
