/* bind_marks.c: what the module cuttle.marks is made of: while a session is open, kernels that are traced have marks,
   and a launch on a device hands over what was recorded (runtime/ir/ir_marks.h). */
#include <lauxlib.h>
#include <string.h>

#include "interp/launch/launch_joint.h"
#include "interp/launch/launch_key.h"
#include "interp/openers.h"
#include "interp/algebra/bind.h"
#include "interp/state/diag.h"
#include "interp/state/fields.h"
#include "runtime/emit/emit_cuda.h"

#define MARKS_TYPE "marks"
enum { TAKE = 1, OUTER, TAKE_RANKS }; /* user values of a session */

/* A session is the state's while it is open and none was opened after it. */
typedef struct Marks {
  StateMarks open; /* first: StateTaps.marks points to it */
  CuttleState *state;
  struct Marks *outer; /* that was the state's before */
  bool is_closed;
} Marks;

/* --- what is handed over -------------------------------------------------------------------------------- */

static void push_name(lua_State *L, lua_Integer number) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, STATE_MARKS);
  lua_rawgeti(L, -1, number);
  lua_remove(L, -2);
}

/* {name, line, chunk, is_wait}: of a wait what waits and for which barrier. */
static void push_place(lua_State *L, const CtIr *ir, const CtInst *inst) {
  bool is_wait = inst->op != CT_OP_MARK;
  lua_createtable(L, 0, 4);
  field_integer(L, "line", inst->loc.line);
  field_text(L, "chunk", ct_ir_chunk(ir, inst->loc));
  field_bool(L, "is_wait", is_wait);
  if (is_wait) {
    field_text(L, "op", ct_ops[inst->op].text);
    field_text(L, "name", ct_op_is_mbar((CtOp)inst->op) ? ir->bufs[inst->imm.i].name : NULL);
  } else {
    push_name(L, inst->imm.i);
    lua_setfield(L, -2, "name");
  }
}

/* Pushes the places of marks by the number of their operation. */
static void push_places(lua_State *L, const CtIr *ir) {
  lua_newtable(L);
  for (CtVal v = 1; v < ir->n_insts; v++) {
    const CtInst *inst = ct_inst(ir, v);
    if (inst->region != 0 && (inst->op == CT_OP_MARK || ct_mark_is_wait((CtOp)inst->op))) {
      push_place(L, ir, inst);
      lua_rawseti(L, -2, (lua_Integer)v);
    }
  }
}

static const Field config_fields[] = {
    FIELD(LaunchConfig, grid), FIELD(LaunchConfig, block), FIELD(LaunchConfig, cluster),
    FIELD(LaunchConfig, cooperative), FIELD_AS("smem", LaunchConfig, shared_bytes)};

static void push_launch(lua_State *L, const Launch *l) {
  const CtIr *ir = &l->spec->ir;
  lua_createtable(L, 0, 10);
  FIELDS_SET(L, config_fields, l->config);
  field_text(L, "name", ir->name);
  field_text(L, "file", ct_ir_chunk(ir, ir->loc));
  field_integer(L, "line", ir->loc.line);
  field_integer(L, "id", (int64_t)l->spec->id);
}

static void on_marks(Launch *l, StateWords words) {
  lua_State *L = l->L;
  const LaunchArgs *args = l->args;
  luaL_checkstack(L, args->n_given + 16, "too many arguments");
  launch_check_kept(L, args, "timeline");
  lua_rawgetp(L, LUA_REGISTRYINDEX, l->state->taps.marks);
  lua_getiuservalue(L, -1, TAKE);
  push_launch(L, l);
  lua_pushvalue(L, l->kernel);
  lua_setfield(L, -2, "kernel");
  push_places(L, &l->spec->ir);
  lua_pushlstring(L, words.at, words.bytes);
  for (int i = 0; i < args->n_given; i++) {
    lua_pushvalue(L, args->first + i);
  }
  lua_call(L, 3 + args->n_given, 0);
}

/* take_ranks(launch, places, words), then take_ranks(nil) when those that ran at once are all told. */
static void on_rank_marks(lua_State *L, const Launch *l, StateWords words) {
  int top = lua_gettop(L);
  lua_rawgetp(L, LUA_REGISTRYINDEX, state_of(L)->taps.marks);
  lua_getiuservalue(L, -1, TAKE_RANKS);
  if (l == NULL) {
    lua_call(L, 0, 0);
    lua_settop(L, top);
    return;
  }
  push_launch(L, l);
  field_integer(L, "rank", l->rank);
  push_places(L, &l->spec->ir);
  lua_pushlstring(L, words.at, words.bytes);
  lua_call(L, 3, 0);
  lua_settop(L, top);
}

/* --- sessions ------------------------------------------------------------------------------------------------ */

static int close_marks(lua_State *L) {
  Marks *m = luaL_checkudata(L, 1, MARKS_TYPE);
  StateTaps *taps = &m->state->taps;
  m->is_closed = true;
  if (taps->marks == &m->open) {
    Marks *outer = m->outer;
    while (outer != NULL && outer->is_closed) {
      outer = outer->outer;
    }
    taps->marks = outer == NULL ? NULL : &outer->open;
  }
  lua_pushnil(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &m->open);
  return 0;
}

static void read_lines(lua_State *L, CtMarks *marks) {
  lua_getfield(L, 1, "lines");
  for (int i = 1; lua_istable(L, -1) && i <= CT_MARK_LINES; i++) {
    if (lua_rawgeti(L, -1, i) == LUA_TNUMBER) {
      marks->lines[marks->n_lines++] = (int)lua_tointeger(L, -1);
    }
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

static void read_block(lua_State *L, int64_t block[3]) {
  lua_getfield(L, 1, "block");
  for (int i = 0; i < 3; i++) {
    block[i] = 0;
    if (lua_istable(L, -1)) {
      lua_rawgeti(L, -1, i + 1);
      block[i] = lua_tointeger(L, -1);
      lua_pop(L, 1);
    }
  }
  lua_pop(L, 1);
}

static bool is_same(const CtMarks *a, const CtMarks *b) {
  return a->waits == b->waits && a->n_lines == b->n_lines &&
         memcmp(a->lines, b->lines, sizeof *a->lines * (size_t)a->n_lines) == 0;
}

/* The same marks as before have the same number, so that kernels that were traced for them still hold. */
static uint32_t number_marks(StateTaps *t, const CtMarks *marks) {
  bool is_new = t->n_marks == 0 || !is_same(&t->last_marks, marks);
  t->last_marks = *marks;
  t->n_marks += is_new;
  return t->n_marks;
}

/* The outer session lives as long as this one: user value OUTER. */
static Marks *push_session(lua_State *L, CuttleState *s) {
  Marks *m = lua_newuserdatauv(L, sizeof *m, TAKE_RANKS);
  memset(m, 0, sizeof *m);
  m->state = s;
  m->outer = (Marks *)(void *)s->taps.marks;
  luaL_setmetatable(L, MARKS_TYPE);
  if (m->outer != NULL) {
    lua_rawgetp(L, LUA_REGISTRYINDEX, &m->outer->open);
    lua_setiuservalue(L, -2, OUTER);
  }
  return m;
}

/* _watch.marks_begin({waits =, lines =, block =, record =}[, take[, take_ranks]]) -> session, to be closed. With `take` a launch on a device records
   that block, and take(launch, places, words, args...) is called after it; with `record` it records and nobody reads that. Sessions may lie within each other: the
   innermost counts. */
static int marks_begin(lua_State *L) {
  CuttleState *s = state_of(L);
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 3);
  Marks *m = push_session(L, s);
  lua_getfield(L, 1, "waits");
  m->open.marks.waits = lua_toboolean(L, -1);
  lua_getfield(L, 1, "record");
  m->open.records = lua_toboolean(L, -1);
  lua_pop(L, 2);
  read_lines(L, &m->open.marks);
  read_block(L, m->open.block);
  m->open.take = lua_isnil(L, 2) ? NULL : on_marks;
  m->open.take_ranks = lua_isnil(L, 3) ? NULL : on_rank_marks;
  lua_pushvalue(L, 2);
  lua_setiuservalue(L, -2, TAKE);
  lua_pushvalue(L, 3);
  lua_setiuservalue(L, -2, TAKE_RANKS);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &m->open);
  m->open.id = number_marks(&s->taps, &m->open.marks);
  s->taps.marks = &m->open;
  return 1;
}

/* _watch.mark_name(number) */
static int mark_name(lua_State *L) {
  push_name(L, luaL_checkinteger(L, 1));
  return 1;
}

void bind_open_marks(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"_watch.marks_begin", marks_begin}, {"_watch.mark_name", mark_name}, {NULL, NULL}};
  bind_new_handle(L, MARKS_TYPE, close_marks, NULL);
  luaL_setfuncs(L, functions, 0);
}
