/* front_learn.c: conditions that are newer than something, and what a trace learns for its repetition.

   What changes under conditions is a variable of the kernel. It begins before the oldest condition that is newer than
   what changes, with the value of that place, so that it has a value on each path: in the first turn of a loop, and for
   threads that have left by a jump. But the trace meets the change only later. Where the variable can no longer begin
   by then (front_may_begin), the trace notes which object and key changed under which condition, and the kernel is
   traced once more: the repetition makes the variable where that condition begins (front_field.c), and nowhere else.
   A jump counts as a condition that begins where the outermost `if` or loop begins that the jump leaves. Objects are
   known again by the line of their birth, by their keys, and by how many of these were born there before. */
#include <lauxlib.h>
#include <string.h>

#include "interp/state/diag.h"
#include "interp/trace/front_state.h"
#include "front_parts.h"
#include "front_trace.h"

/* Tables in the registry:
     births    table or coroutine -> clock of its birth; weak
     ids       object -> number; weak; of the running trace
     counts    place -> how many objects were born there in this trace
     live      number -> object, of those that the trace before has learnt of
     learnt    place -> list of {number, key, name, whether the field had a value}; lasts from trace to trace of one kernel
     kinds     number -> LEARNT_VALUE or LEARNT_RECORD; lasts as long */
static char births_key, ids_key, counts_key, live_key, learnt_key, kinds_key;

enum { LINE_BITS = 20 };

/* --- conditions ------------------------------------------------------------------------------------ */

/* Threads that have left this frame's code go on after it. Those that left the kernel see nothing more of what was
   born there; those that only came through this frame go on farther out. A while whose first turns ran while tracing
   may have been left in them, and is a loop of the kernel since. */
static bool is_left(const Frame *frame) { return frame->has_exit && !frame->is_kernel; }

static void look(Since *since, const Frame *frame, uint64_t born) {
  if (frame->runtime && frame->runtime_at > born && frame->runtime_at <= since->at) {
    since->any = true;
    since->at = frame->runtime_at;
    since->op = frame->kind == FRAME_LOGIC ? 0 : frame->op;
    since->place = frame->place;
  }
  if (is_left(frame) && frame->pending_at > born && frame->pending_at <= since->at) {
    since->any = true;
    since->at = frame->pending_at;
    since->op = frame->exit_op;
    since->place = frame->exit_place;
  }
  if (frame->kind == FRAME_LOOP && frame->runtime && frame->runtime_at > born) {
    since->loop = frame;
  }
}

Since front_since(Front *f, lua_State *L, uint64_t born) {
  Since since = {.at = UINT64_MAX};
  if (f->ir == NULL && f->n_static == 0) {
    return since;
  }
  for (const Co *co = front_co(f, L); co != NULL; co = co->resumer) {
    for (const Frame *frame = co->top; frame != NULL; frame = frame->parent) {
      if (frame->runtime && frame->runtime_at <= born) {
        return since; /* nothing leads from outside of this one to what was born in it */
      }
      look(&since, frame, born);
    }
  }
  return since;
}

bool front_may_begin(const Since *since, const Frame *entered, bool is_record) {
  bool is_first = entered != NULL && entered->runtime_at == since->at;
  return since->op != 0 && (is_first || (!is_record && since->loop == NULL));
}

bool front_in_loop(Front *f, lua_State *L) {
  for (const Co *co = front_co(f, L); co != NULL; co = co->resumer) {
    for (const Frame *frame = co->top; frame != NULL; frame = frame->parent) {
      if (frame->kind == FRAME_LOOP && frame->runtime) {
        return true;
      }
    }
  }
  return false;
}

/* --- places and numbers ------------------------------------------------------------------------------ */

static uint64_t mix(uint64_t hash, const char *text, uint64_t number) {
  for (const char *s = text; *s != '\0'; s++) {
    hash = (hash ^ (unsigned char)*s) * 1099511628211u;
  }
  hash = (hash ^ number) * 1099511628211u;
  return hash ^ hash >> 29;
}

static uint64_t with_line(uint64_t hash, int line) {
  return hash << LINE_BITS | ((uint64_t)line & ((1u << LINE_BITS) - 1));
}

static uint64_t place_of(lua_State *L) {
  lua_Debug ar;
  if (!diag_find_script(L, &ar)) {
    return 0;
  }
  return with_line(mix(14695981039346656037u, ar.short_src, (uint64_t)ar.currentline),
                   ar.currentline);
}

uint64_t front_local(lua_State *L, const char *name, int line) {
  lua_Debug ar;
  bool found = diag_find_script(L, &ar);
  return mix(mix(1, found ? ar.short_src : "", (uint64_t)line), name, 2);
}

static int push_at(lua_State *L, const void *table, uint64_t key) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, table);
  int type = lua_rawgeti(L, -1, (lua_Integer)key);
  lua_remove(L, -2);
  return type;
}

/* Pops the value. */
static void put_at(lua_State *L, const void *table, uint64_t key) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, table);
  lua_insert(L, -2);
  lua_rawseti(L, -2, (lua_Integer)key);
  lua_pop(L, 1);
}

enum { MAX_KEYS = 64 };

/* Of the keys of the table at idx, in whatever order they come. */
static uint64_t hash_keys(lua_State *L, int idx) {
  uint64_t sum = 0;
  int n = 0;
  if (!lua_istable(L, idx)) {
    return 1;
  }
  lua_pushnil(L);
  while (lua_next(L, idx) != 0) {
    lua_pop(L, 1);
    sum += lua_type(L, -1) == LUA_TSTRING ? mix(2, lua_tostring(L, -1), 0)
                                          : mix(3, "", (uint64_t)lua_tointeger(L, -1));
    if (++n == MAX_KEYS) {
      lua_pop(L, 1);
      return 4;
    }
  }
  return sum;
}

static uint64_t next_at(lua_State *L, uint64_t place) {
  push_at(L, &counts_key, place);
  lua_Integer n = lua_tointeger(L, -1) + 1;
  lua_pop(L, 1);
  lua_pushinteger(L, n);
  put_at(L, &counts_key, place);
  return (uint64_t)n;
}

static uint64_t next_number(lua_State *L, int object) {
  uint64_t first = place_of(L);
  int line = (int)(first & ((1u << LINE_BITS) - 1));
  uint64_t place = mix(first, "", hash_keys(L, object));
  return with_line(mix(place, "", next_at(L, place)), line);
}

uint64_t front_count(lua_State *L, const char *name, int line) {
  uint64_t place = mix(5, name, (uint64_t)line);
  return mix(place, "", next_at(L, place));
}

void front_number(lua_State *L) {
  int object = lua_gettop(L);
  uint64_t number = next_number(L, object);
  front_set_number(L, &ids_key, object, number);
  if (front_learnt_kind(L, number) != LEARNT_NOTHING) {
    lua_pushvalue(L, object);
    put_at(L, &live_key, number);
  }
}

uint64_t front_number_of(lua_State *L, int idx) { return front_get_number(L, &ids_key, idx); }

int front_birth_line(lua_State *L, int idx) {
  return (int)(front_number_of(L, idx) & ((1u << LINE_BITS) - 1));
}

/* --- births ------------------------------------------------------------------------------------------- */

uint64_t front_birth(lua_State *L, int idx) { return front_get_number(L, &births_key, idx); }

bool record_is(lua_State *L, const Front *f, int idx) {
  return lua_istable(L, idx) && front_birth(L, idx) > f->began;
}

/* Remembers that the table or coroutine at the top is born now. */
void front_set_birth(lua_State *L, Front *f) {
  front_set_number(L, &births_key, -1, ++f->clock);
  front_number(L);
}

void front_touch_state(Front *f, uint64_t born) {
  f->touched = born < f->touched ? born : f->touched;
}

void front_touch(lua_State *L, uint64_t born, const char *message) {
  Front *f = front_of(L);
  uint64_t condition = front_condition(f, L);
  if (condition != 0 && condition > born) {
    front_refuse(L, "%s", message);
  }
  front_touch_state(f, born);
}

void front_open_births(lua_State *L) { front_new_table(L, &births_key, "k"); }

/* --- learning ------------------------------------------------------------------------------------------ */

LearntKind front_learnt_kind(lua_State *L, uint64_t number) {
  push_at(L, &kinds_key, number);
  LearntKind kind = (LearntKind)lua_tointeger(L, -1);
  lua_pop(L, 1);
  return kind;
}

void front_learn_kind(lua_State *L, Front *f, uint64_t number, LearntKind kind) {
  if (front_learnt_kind(L, number) < kind) {
    lua_pushinteger(L, kind);
    put_at(L, &kinds_key, number);
  }
  f->again = true;
}

void front_learn(lua_State *L, Front *f, uint64_t place, int object, int key, const char *name,
                 bool has_value, LearntKind kind) {
  object = lua_absindex(L, object);
  key = lua_absindex(L, key);
  uint64_t number = front_number_of(L, object);
  if (push_at(L, &learnt_key, place) != LUA_TTABLE) {
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    put_at(L, &learnt_key, place);
  }
  lua_createtable(L, 4, 0);
  lua_pushinteger(L, (lua_Integer)number);
  lua_rawseti(L, -2, 1);
  lua_pushvalue(L, key);
  lua_rawseti(L, -2, 2);
  lua_pushstring(L, name);
  lua_rawseti(L, -2, 3);
  lua_pushboolean(L, has_value);
  lua_rawseti(L, -2, 4);
  lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
  lua_pop(L, 1);
  front_learn_kind(L, f, number, kind);
}

void front_each_learnt(lua_State *L, Front *f, Frame *frame,
                       void (*each)(lua_State *L, Front *f, const Frame *frame)) {
  frame->place = place_of(L);
  if (push_at(L, &learnt_key, frame->place) == LUA_TTABLE) {
    for (lua_Integer i = 1; lua_rawgeti(L, -1, i) == LUA_TTABLE; i++) {
      lua_rawgeti(L, -1, 1);
      push_at(L, &live_key, (uint64_t)lua_tointeger(L, -1));
      lua_replace(L, -2);
      each(L, f, frame);
      lua_pop(L, 2);
    }
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

/* --- traces and their repetitions ------------------------------------------------------------------------ */

enum { MAX_TRACES = 100 };

void front_begin_learning(lua_State *L) { front_of(L)->n_traces = 0; }

bool front_goes_again(lua_State *L, CtErr *err) {
  Front *f = front_of(L);
  bool again = f->again;
  f->again = false; /* else a repetition that cannot even begin would be one for ever */
  if (again && f->n_traces >= MAX_TRACES) {
    ct_fail(err, CT_EINVAL,
            "each of %d traces of this kernel has found one more table that a run-time condition "
            "chooses; choose numbers, or let helper functions choose",
            MAX_TRACES);
  }
  return again && f->n_traces < MAX_TRACES;
}

void front_begin_numbers(lua_State *L) {
  Front *f = front_of(L);
  if (f->n_traces++ == 0) {
    front_new_table(L, &learnt_key, NULL);
    front_new_table(L, &kinds_key, NULL);
  }
  front_begin_types(L, f, f->n_traces == 1);
  front_new_table(L, &ids_key, "k");
  front_new_table(L, &counts_key, NULL);
  front_new_table(L, &live_key, NULL);
}
