/* state_hook.c: the owner of Lua's hook. A coroutine has only one, and it serves interrupts, the limit on
   instructions and the watch on calls while a kernel is traced share it. A hook that somebody else had
   set is called as well while calls are watched, and set again afterwards.

   A state that polls has the hook in every coroutine, all the time: lua_newthread hands it on. An
   interrupt then is one flag, which any thread may set, and the hook reads it after COUNT_STEP
   instructions at the latest; the memory that a script asks for, and the loops in C that call
   state_charge, read it earlier. The virtual machine pays for a hook with every instruction, so plain
   loops take up to two and a half times as long. A state that does not poll has no hook until it is
   stopped, and only its own thread may walk the coroutines that then need one.

   Once a state is to stop, each further instruction of the script raises again: no pcall goes on. */
#include <lauxlib.h>

#include "diag.h"
#include "state.h"

enum { COUNT_STEP = 1000 }; /* instructions between two looks */

/* What calls of a sandboxed script that are in each other may take of the thread's stack. Lua allows about 200
   of its own through C, of up to 2 KiB each; what is called last, such as a launch, needs up to 64 KiB more.
   docs/sandbox.md promises the sum. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
enum { NESTED_BYTES = 1 << 20 };
#else
enum { NESTED_BYTES = 48 << 10 };
#endif

static void hook(lua_State *L, lua_Debug *ar);

/* {====== Is it to stop? ====== */

bool state_is_interrupted(const CuttleState *s) { return ct_flag_is_up(&s->interrupt); }

bool state_is_stopping(const CuttleState *s) {
  uint64_t limit = s->options.instruction_limit;
  return state_is_interrupted(s) || (limit > 0 && s->instructions.n >= limit);
}

static void raise_if_stopping(lua_State *L, const CuttleState *s) {
  if (state_is_interrupted(s)) {
    diag_error(L, "interrupted");
  }
  if (state_is_stopping(s)) {
    diag_error(L, "the limit of %I instructions is reached",
               (LUAI_UACINT)s->options.instruction_limit);
  }
}

/* {====== The hook ====== */

static int step_of(const CuttleState *s) {
  uint64_t limit = s->options.instruction_limit;
  return limit > 0 && limit < COUNT_STEP ? (int)limit : COUNT_STEP;
}

/* The instructions after which a state wants to be asked; 0: never. */
static int wanted_count(const CuttleState *s) {
  if (state_is_stopping(s)) {
    return 1;
  }
  return s->is_polled || s->options.instruction_limit > 0 ? step_of(s) : 0;
}

/* With the hook asked after `count` instructions, 0: for calls only. What is set already is left alone
   unless it is to count anew. Safe in a signal handler of L's thread, as far as lua_sethook is. */
static void install(const CuttleState *s, lua_State *L, int count, bool anew) {
  int mask = (count > 0 ? LUA_MASKCOUNT : 0) | (s->tracing.on_call != NULL ? LUA_MASKCALL : 0);
  if (s->tracing.watched == L && s->tracing.other_hook != NULL) {
    mask |= s->tracing.other_mask;
    count = count > 0 ? count : s->tracing.other_count;
  }
  bool is_set = lua_gethook(L) == (mask == 0 ? NULL : hook) && lua_gethookmask(L) == mask &&
                (mask == 0 || lua_gethookcount(L) == count);
  if (!is_set || (anew && count > 0)) {
    lua_sethook(L, mask == 0 ? NULL : hook, mask, count);
  }
}

static void install_wanted(const CuttleState *s, lua_State *L) {
  install(s, L, wanted_count(s), false);
}

/* Sets it in all coroutines that wait for one another, so that none goes on after the innermost ends. */
static void install_all(const CuttleState *s) {
  for (const StateCoroutine *c = s->running; c != NULL; c = c->outer) {
    install_wanted(s, c->L);
  }
  install_wanted(s, s->L);
}

static void check_stack(lua_State *L, const CuttleState *s) {
  const char *now = __builtin_frame_address(0);
  if (s->stack_top != NULL && s->stack_top - now > NESTED_BYTES) {
    diag_error(L,
               "stack overflow: functions of a sandbox that call each other through C took %d KiB",
               NESTED_BYTES >> 10);
  }
}

void state_charge(lua_State *L, CuttleState *s, uint64_t n) {
  check_stack(L, s);
  if (s->options.instruction_limit > 0) {
    s->instructions.n += n;
  }
  if (state_is_stopping(s)) {
    install_all(s);
    raise_if_stopping(L, s);
  }
}

/* The count of a coroutine begins anywhere in a step (state_hook_coroutine), but a whole one is due. */
static void count_instructions(lua_State *L, CuttleState *s) {
  state_charge(L, s, (uint64_t)step_of(s));
  install_wanted(s, L);
}

static void call_other(lua_State *L, lua_Debug *ar, const CuttleState *s) {
  static const int masks[] = {[LUA_HOOKCALL] = LUA_MASKCALL,
                              [LUA_HOOKRET] = LUA_MASKRET,
                              [LUA_HOOKLINE] = LUA_MASKLINE,
                              [LUA_HOOKCOUNT] = LUA_MASKCOUNT,
                              [LUA_HOOKTAILCALL] = LUA_MASKCALL};
  if (s->tracing.other_hook != NULL && s->tracing.watched == L &&
      (s->tracing.other_mask & masks[ar->event]) != 0) {
    s->tracing.other_hook(L, ar);
  }
}

/* While it runs, and in all that an error which it raises calls before the stack is unwound, Lua calls
   no hook: raised_in_hook says so. */
static void hook(lua_State *L, lua_Debug *ar) {
  CuttleState *s = state_of(L);
  s->raised_in_hook = true;
  if (ar->event == LUA_HOOKCOUNT) {
    count_instructions(L, s);
  } else if (s->tracing.on_call == NULL) { /* of a coroutine that a trace began */
    install_wanted(s, L);
  } else if (ar->event == LUA_HOOKCALL || ar->event == LUA_HOOKTAILCALL) {
    s->tracing.on_call(L, ar);
  }
  call_other(L, ar, s);
  s->raised_in_hook = false;
}

static bool is_ours(lua_State *L) { return lua_gethook(L) == NULL || lua_gethook(L) == hook; }

/* {====== Watching calls ====== */

void state_watch_calls(CuttleState *s, lua_State *L, lua_Hook on_call) {
  if (on_call != NULL) {
    s->tracing.watched = L;
    s->tracing.other_hook = is_ours(L) ? NULL : lua_gethook(L);
    s->tracing.other_mask = lua_gethookmask(L);
    s->tracing.other_count = lua_gethookcount(L);
  }
  s->tracing.on_call = on_call;
  if (on_call == NULL && s->tracing.other_hook != NULL) {
    lua_sethook(L, s->tracing.other_hook, s->tracing.other_mask, s->tracing.other_count);
    s->tracing.other_hook = NULL;
  } else {
    install_wanted(s, L);
  }
}

/* {====== Coroutines ====== */

static uint32_t next_random(CuttleState *s) { /* xorshift32, Marsaglia 2003 */
  uint32_t x = s->phase;
  x ^= x << 13;
  x ^= x >> 17;
  x ^= x << 5;
  return s->phase = x;
}

/* Lua counts the instructions of each coroutine by itself, and one that ends before the count does would
   cost nothing. So the count begins at a random place of a step at each resumption: n instructions meet
   the end of a step with probability n / step, and then pay for a whole one, which is right on average. */
void state_hook_coroutine(CuttleState *s, lua_State *co) {
  if (!is_ours(co)) {
    return;
  }
  bool counts = s->options.instruction_limit > 0 && !state_is_stopping(s);
  int count = counts ? 1 + (int)(next_random(s) % (uint32_t)step_of(s)) : wanted_count(s);
  install(s, co, count, counts);
}

/* {====== Stopping and going on ====== */

void state_poll(CuttleState *s) {
  s->is_polled = true;
  install_wanted(s, s->L);
}

void state_stop(CuttleState *s) {
  __atomic_store_n(&s->interrupt, CT_FLAG_STOP, __ATOMIC_RELAXED);
  if (!s->is_polled) {
    install_all(s);
  }
}

void state_rouse(CuttleState *s) {
  if (s->is_polled && s->L != NULL && ct_flag_value(&s->interrupt) == CT_FLAG_STOP) {
    install_all(s);
  }
}

bool state_ask(CuttleState *s) {
  if (s->searches.n > 0 && s->searches.n_asked == 0) {
    s->searches.asked = s->searches.n_asked = 1;
    return true;
  }
  state_stop(s);
  return false;
}

void state_resume(CuttleState *s) {
  s->searches.asked = s->searches.n_asked = 0;
  __atomic_store_n(&s->interrupt, 0, __ATOMIC_RELAXED);
  s->instructions.n = 0;
  s->raised_in_hook = false;
  if (s->is_polled || s->options.instruction_limit > 0 || lua_gethook(s->L) == hook) {
    install(s, s->L, wanted_count(s), s->options.instruction_limit > 0);
  }
}
