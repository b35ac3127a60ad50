/* front_type.c: which type a number without one gets where a type must be chosen before it is known: for a variable,
   for an argument of the launch that is a Lua float, and for constants that the kernel computes with or chooses.

   It is an f32, so that kernels of f32 are as their author wrote them. When it meets an f64, value_take marks it. At
   the end of the trace what it was made of is looked up, and the kernel is traced once more with all that as f64. In
   the repetition it may meet an f32 as well: there it becomes one, rounded once. */
#include <lauxlib.h>

#include "interp/state/diag.h"
#include "interp/trace/front_state.h"
#include "front_parts.h"
#include "front_trace.h"

/* Tables in the registry:
     known  number of a source -> Known; lasts from trace to trace of one kernel
     vars   VAR -> number of the variable, of the running trace */
static char known_key, vars_key;

/* Numbers of sources: all constants, the argument in a slot; those of variables and of a line's constants are
   hashes. */
enum { CONSTANTS = 1, FIRST_SLOT = 2 };

/* What earlier traces learnt of a source. A variable that is given a value with a type has that type from its
   beginning, so that what reads it before, in a loop, knows. */
typedef enum Known { NOTHING, AN_F64, TYPED_F32, TYPED_F64 } Known;

static Known known(lua_State *L, uint64_t number) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &known_key);
  lua_rawgeti(L, -1, (lua_Integer)number);
  Known k = (Known)lua_tointeger(L, -1);
  lua_pop(L, 2);
  return k;
}

/* Whether this is new. */
static bool learn(lua_State *L, uint64_t number, Known what) {
  bool is_new = known(L, number) < what;
  if (is_new) {
    lua_rawgetp(L, LUA_REGISTRYINDEX, &known_key);
    lua_pushinteger(L, what);
    lua_rawseti(L, -2, (lua_Integer)number);
    lua_pop(L, 1);
  }
  return is_new;
}

static uint64_t number_of_line(CtLoc loc) {
  return ((uint64_t)loc.chunk << 32 | (uint32_t)loc.line) * 0x9E3779B97F4A7C15u | (uint64_t)1 << 63;
}

static bool is_wide_here(lua_State *L, const Front *f) {
  return known(L, CONSTANTS) != NOTHING || known(L, number_of_line(f->ir->cur_loc)) != NOTHING;
}

void front_begin_types(lua_State *L, Front *f, bool is_first) {
  if (is_first) {
    front_new_table(L, &known_key, NULL);
  }
  front_new_table(L, &vars_key, NULL);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &known_key);
  lua_pushnil(L);
  f->is_wide = lua_next(L, -2) != 0 ? is_wide_here : NULL;
  lua_settop(L, lua_gettop(L) - (f->is_wide != NULL ? 3 : 1));
  f->met = 0;
}

CtDtype front_parameter_type(lua_State *L, int slot) {
  return known(L, FIRST_SLOT + (uint64_t)slot) == NOTHING ? CT_f32 : CT_f64;
}

CtVal front_untyped_variable(lua_State *L, Front *f, const char *name, int line, uint8_t untyped) {
  uint64_t number = front_count(L, name, line);
  Known k = known(L, number);
  CtVal var = ct_ir_var(f->ir, k == AN_F64 || k == TYPED_F64 ? CT_f64 : CT_f32, name);
  if (k < TYPED_F32) {
    front_more_untyped(f, var, untyped);
  }
  lua_rawgetp(L, LUA_REGISTRYINDEX, &vars_key);
  lua_pushinteger(L, (lua_Integer)number);
  lua_rawseti(L, -2, var);
  lua_pop(L, 1);
  return var;
}

/* What is exact now may be followed by what is not. */
void front_more_untyped(Front *f, CtVal var, uint8_t untyped) {
  uint8_t kept = untyped == CT_UNTYPED_EXACT ? CT_UNTYPED_KEPT : untyped;
  CtInst *inst = &f->ir->insts[var];
  bool is_new = inst->untyped == CT_TYPED;
  inst->untyped = is_new || kept < inst->untyped ? kept : inst->untyped;
}

static uint64_t number_of_var(lua_State *L, CtVal var) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &vars_key);
  lua_rawgeti(L, -1, var);
  uint64_t number = (uint64_t)lua_tointeger(L, -1);
  lua_pop(L, 2);
  return number;
}

void front_give_type(lua_State *L, Front *f, CtVal var, CtDtype type) {
  CtInst *inst = &f->ir->insts[var];
  if (type == CT_f64) {
    f->again = learn(L, number_of_var(L, var), TYPED_F64) || f->again;
  }
  if (type != CT_f64 || inst->type == CT_f64) {
    inst->untyped = CT_TYPED;
  }
}

/* --- what a number was made of ------------------------------------------------------------------------ */

typedef struct Learning {
  lua_State *L;
  Front *f;
  bool is_new; /* some source was not known to be an f64 */
  bool
      is_open; /* something is an f32 although its line should make it an f64, or cannot be an f64 */
} Learning;

static void learn_source(Learning *l, uint64_t number) {
  l->is_new = learn(l->L, number, AN_F64) || l->is_new;
}

static void learn_line(Learning *l, CtLoc loc) {
  bool is_new = learn(l->L, number_of_line(loc), AN_F64);
  l->is_new = l->is_new || is_new;
  l->is_open = l->is_open || !is_new;
}

/* Among plain numbers that are chosen, an f32 does for one that it holds. */
static bool is_enough(const CtIr *ir, const CtInst *x, const CtInst *by) {
  const CtInst *of = by->op == CT_OP_SET ? ct_inst(ir, (CtVal)by->imm.i) : by;
  bool is_choice = by->op == CT_OP_SELECT || by->op == CT_OP_SET;
  return is_choice && x->untyped == CT_UNTYPED_EXACT && of->untyped != CT_UNTYPED_COMPUTED;
}

static void learn_operands(Learning *l, const CtInst *inst) {
  CtIr *ir = l->f->ir;
  for (int i = 0; i < inst->n_args; i++) {
    CtInst *x = &ir->insts[inst->args[i]];
    if (x->untyped == CT_TYPED || x->type != CT_f32) {
      continue;
    }
    if (x->op != CT_OP_CONST || x->untyped == CT_UNTYPED_COMPUTED) {
      x->is_met = true;
    } else if (!is_enough(ir, x, inst)) { /* constants are decided in the line that takes them */
      learn_line(l, inst->loc);
    }
  }
}

/* One that was given what has the type f32 later is an f32 for that reason. */
static void learn_variable(Learning *l, CtVal v) {
  uint64_t number = number_of_var(l->L, v);
  bool is_typed = ct_inst(l->f->ir, v)->untyped == CT_TYPED;
  if (number != 0) {
    l->is_new = learn(l->L, number, is_typed ? TYPED_F32 : AN_F64) || l->is_new;
  }
}

/* Of one that is marked; its operands stand before it, except what is stored into a variable, which is marked
   when it is read. */
static void learn_of(Learning *l, CtVal v) {
  CtIr *ir = l->f->ir;
  const CtInst *inst = &ir->insts[v];
  switch (inst->op) {
    case CT_OP_PARAM: learn_source(l, FIRST_SLOT + (uint64_t)inst->imm.i); break;
    case CT_OP_CONST:
    case CT_OP_CAST: learn_line(l, inst->loc); break;
    case CT_OP_GET: ir->insts[inst->imm.i].is_met = true; break;
    case CT_OP_VAR: learn_variable(l, v); break;
    default: learn_operands(l, inst); break;
  }
}

/* From the last operation to the first, once. */
static void learn_all(Learning *l) {
  const CtIr *ir = l->f->ir;
  for (CtVal v = (CtVal)ir->n_insts - 1; v > 0; v--) {
    const CtInst *inst = &ir->insts[v];
    if (inst->op == CT_OP_SET && ir->insts[inst->imm.i].is_met &&
        ir->insts[inst->imm.i].untyped != CT_TYPED) {
      learn_operands(l, inst);
    } else if (inst->is_met) {
      learn_of(l, v);
    }
  }
}

static int learn_call(lua_State *L) {
  Front *f = front_of(L);
  Learning l = {L, f, false, false};
  learn_all(&l);
  bool is_new = l.is_new || (l.is_open && learn(L, CONSTANTS, AN_F64));
  f->again = f->again || is_new;
  f->met = l.is_open && !is_new ? f->met : 0;
  return 0;
}

void front_learn_types(lua_State *L, Front *f) {
  if (f->met != 0 && !f->ir->failed) {
    lua_pushcfunction(L, learn_call);
    f->ir->failed = lua_pcall(L, 0, 0, 0) != LUA_OK; /* there is no memory */
    lua_settop(L, lua_gettop(L) - f->ir->failed);
  }
}

CtStatus front_check_types(const Front *f, CtErr *err) {
  if (f->met == 0) {
    return CT_OK;
  }
  ct_fail(err, CT_EINVAL,
          "a number without a type was computed as an f32 before it met an f64; give it its type "
          "where it is made, as in f64(x)");
  ct_err_at(err, ct_ir_chunk(f->ir, f->met_at), f->met_at.line);
  return err->status;
}
