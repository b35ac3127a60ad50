/* front_choice.c: choices of numbers under run-time conditions, `c and x or d and y or z`, with any number of
   arms. Lua reads that as `((c and x) or (d and y)) or z`. What stands before the last `or` has no value where
   no condition holds: it is a Half, which knows its arms, but stores nothing yet. The last `or` knows the type
   that all arms have in common, makes the variable, and stores each arm's value at the end of the region that
   chose it.

   Arms make a chain while each IF ends the else of the one before, and nothing was recorded after the first:
   then the next arm goes into the else of the last. Otherwise the next arm gets an IF of its own, under the
   condition that no arm was taken. */
#include <lauxlib.h>
#include <string.h>

#include "interp/state/diag.h"
#include "front_state.h"
#include "runtime/base/convert.h"

static const char op_name[] = "'c and x or y'";

/* --- arms ------------------------------------------------------------------------------------------ */

/* The number at idx. */
static Arm read_arm(lua_State *L, int idx) {
  Arm arm = {.is_float = lua_type(L, idx) == LUA_TNUMBER && !lua_isinteger(L, idx),
             .untyped = value_untyped(L, idx)};
  if (value_test(L, idx, &arm.value)) {
    return arm;
  }
  arm.f = lua_tonumber(L, idx);
  arm.i = lua_tointeger(L, idx);
  return arm;
}

/* A float that what is beside it gives a type. */
static bool is_open(const CtIr *ir, const Arm *arm) {
  return arm->value != 0 && value_is_untyped(ir, arm->value);
}

static CtDtype arm_type(lua_State *L, const CtIr *ir, const Arm *arm) {
  if (arm->value != 0) {
    return (CtDtype)ct_inst(ir, arm->value)->type;
  }
  return arm->is_float ? value_float_type(L) : (arm->i == (int32_t)arm->i ? CT_i32 : CT_i64);
}

/* What is chosen: its type, and CtUntyped. */
typedef struct Chosen {
  CtDtype type;
  uint8_t untyped;
} Chosen;

static CtVal float_arm(CtIr *ir, const Arm *arm, Chosen chosen) {
  CtDtype type = chosen.type;
  if (chosen.untyped == CT_TYPED) {
    return ct_ir_const_float(ir, type, arm->is_float ? arm->f : ct_round_int(type, CT_i64, arm->i));
  }
  return arm->is_float ? ct_ir_untyped_float(ir, type, arm->f)
                       : ct_ir_untyped_int(ir, type, CT_i64, arm->i);
}

static CtVal arm_value(lua_State *L, CtIr *ir, const Arm *arm, Chosen chosen) {
  CtDtype type = chosen.type;
  if (arm->value != 0) {
    return is_open(ir, arm) && arm_type(L, ir, arm) != type ? value_take(L, arm->value, type)
                                                            : ct_ir_cast(ir, arm->value, type);
  }
  if (ct_is_float(type)) {
    return float_arm(ir, arm, chosen);
  }
  if (!ct_dtype_fits(type, arm->i)) {
    diag_error(L, "%s: %I does not fit %s; expected %I to %I", op_name, (LUAI_UACINT)arm->i,
               ct_dtypes[type].name, (LUAI_UACINT)ct_dtype_min(type),
               (LUAI_UACINT)ct_dtype_max(type));
  }
  return ct_ir_const_int(ir, type, arm->i);
}

/* May the constants among the arms become a narrow type without changing? A float is rounded. */
static bool all_fit(const Arm *arms, int n, CtDtype type) {
  for (int i = 0; i < n; i++) {
    if (arms[i].value == 0 && !ct_is_float(type) &&
        (arms[i].is_float || !ct_dtype_fits(type, arms[i].i))) {
      return false;
    }
  }
  return true;
}

/* The type of a constant beside arms of type `is`. */
static CtDtype type_of_constant(lua_State *L, CtDtype is, const Arm *arm) {
  if (ct_is_float(is)) {
    return is;
  }
  return arm->is_float ? value_float_type(L) : (ct_dtype_fits(is, arm->i) ? is : CT_i64);
}

/* The type of arms of type `is`, all of them constants where weak, and of one more. */
static CtDtype join_types(lua_State *L, CtDtype is, bool weak, const Arm *arms, int n,
                          CtDtype given) {
  bool same_class = ct_dtypes[is].cls == ct_dtypes[given].cls;
  if (weak && same_class && ct_is_narrow(given)) {
    return all_fit(arms, n, given) ? given : is;
  }
  if (weak && same_class && !ct_is_float(given)) {
    return all_fit(arms, n, given) ? given : CT_i64;
  }
  if (weak && ct_is_float(given)) {
    return same_class || value_converts(is, given) ? given : value_common(L, is, given, op_name);
  }
  if (value_converts(given, is)) {
    return is;
  }
  return value_converts(is, given) ? given : value_common(L, is, given, op_name);
}

/* Of the arms that have a type, and constants; CT_VOID: there are only floats without a type. */
static CtDtype typed_arms(lua_State *L, const CtIr *ir, const Arm *arms, int n, bool *weak) {
  CtDtype is = CT_VOID;
  *weak = true;
  for (int i = 0; i < n; i++) {
    bool is_constant = arms[i].value == 0;
    if (is_open(ir, &arms[i])) {
      continue;
    }
    is = is == CT_VOID ? arm_type(L, ir, &arms[i])
         : is_constant ? type_of_constant(L, is, &arms[i])
                       : join_types(L, is, *weak, arms, i, arm_type(L, ir, &arms[i]));
    *weak = *weak && is_constant;
  }
  return is;
}

/* What has no type takes that of the others, a narrow one widened; beside integers it is what it is. */
static CtDtype with_open(CtDtype is, bool weak, CtDtype open) {
  if (open == CT_VOID) {
    return is;
  }
  return weak || !ct_is_float(is) ? open : ct_dtype_compute(is);
}

static uint8_t least_untyped(const CtIr *ir, const Arm *arms, int n) {
  uint8_t least = CT_UNTYPED_EXACT;
  for (int i = 0; i < n; i++) {
    bool is_typed = arms[i].value != 0 && ct_is_float((CtDtype)ct_inst(ir, arms[i].value)->type) &&
                    !is_open(ir, &arms[i]);
    bool is_int = arms[i].value != 0 && !is_typed && !is_open(ir, &arms[i]);
    uint8_t untyped = is_typed ? CT_TYPED : is_int ? CT_UNTYPED_COMPUTED : arms[i].untyped;
    least = untyped < least ? untyped : least;
  }
  return least;
}

static Chosen common_type(lua_State *L, const CtIr *ir, const Arm *arms, int n) {
  bool weak;
  CtDtype is = typed_arms(L, ir, arms, n, &weak), open = CT_VOID;
  for (int i = 0; i < n; i++) {
    bool is_wider = is_open(ir, &arms[i]) && open != CT_f64;
    open = is_wider ? arm_type(L, ir, &arms[i]) : open;
  }
  CtDtype type = with_open(is, weak, open);
  return (Chosen){type, ct_is_float(type) ? least_untyped(ir, arms, n) : CT_TYPED};
}

static CtRegion then_of(const CtIr *ir, const Arm *arm) {
  return ct_inst(ir, arm->if_op)->u.regions[0];
}

static void enter_else(CtIr *ir, CtVal if_op) {
  CtRegion other = ct_inst(ir, if_op)->u.regions[1];
  if (other == 0) {
    ct_ir_else(ir, if_op);
  } else {
    ir->cur = other;
  }
}

/* Stores each arm's value in the variable if the arm is taken. */
static void store_arms(lua_State *L, CtIr *ir, const Arm *arms, int n, CtVal var, Chosen chosen) {
  CtRegion here = ir->cur;
  for (int i = 0; i < n; i++) {
    if (arms[i].is_else) {
      enter_else(ir, arms[i].if_op);
    } else {
      ir->cur = then_of(ir, &arms[i]);
    }
    ct_ir_set(ir, var, arm_value(L, ir, &arms[i], chosen));
  }
  ir->cur = here;
}

/* --- halves ---------------------------------------------------------------------------------------- */

Half *half_test(lua_State *L, int idx) {
  Half *half = lua_type(L, idx) == LUA_TUSERDATA ? luaL_testudata(L, idx, HALF_TYPE) : NULL;
  if (half != NULL) {
    front_check_own(L, half->serial, "a run-time 'c and x'");
  }
  return half;
}

static Half *push_half(lua_State *L, const Front *f, int n) {
  Half *half = lua_newuserdatauv(L, sizeof *half + (size_t)n * sizeof(Arm), 0);
  *half = (Half){.serial = f->serial, .n_arms = n, .n_ifs = n};
  luaL_setmetatable(L, HALF_TYPE);
  return half;
}

static CtVal any_of(CtIr *ir, const Arm *arms, int n) {
  CtVal any = arms[0].cond;
  for (int i = 1; i < n; i++) {
    any = ct_ir_binary(ir, CT_OP_LOR, any, arms[i].cond);
  }
  return any;
}

/* Keeps in the variable, a bool, whether an arm of the chain is taken. */
static void note_taken(CtIr *ir, const Half *half, CtVal var) {
  CtRegion here = ir->cur;
  ct_ir_set_before(ir, var, ct_ir_const_int(ir, CT_bool, 0), half->arms[0].if_op);
  for (int i = 0; i < half->n_ifs; i++) {
    ir->cur = then_of(ir, &half->arms[i]);
    ct_ir_set(ir, var, ct_ir_const_int(ir, CT_bool, 1));
  }
  if (half->n_ifs < half->n_arms) { /* the rest was flattened into the last else */
    ir->cur = ct_inst(ir, half->arms[half->n_ifs - 1].if_op)->u.regions[1];
    ct_ir_set(ir, var, any_of(ir, half->arms + half->n_ifs, half->n_arms - half->n_ifs));
  }
  ir->cur = here;
}

CtVal choice_taken(CtIr *ir, const Half *half) {
  if (half->cond != 0) {
    return half->cond;
  }
  if (half->n_ifs == 0) {
    return any_of(ir, half->arms, half->n_arms);
  }
  CtVal var = ct_ir_var(ir, CT_bool, "either");
  note_taken(ir, half, var);
  return ct_ir_get(ir, var);
}

/* --- what and, or do ------------------------------------------------------------------------------- */

void choice_begin(lua_State *L, Front *f, const Frame *frame, int idx) {
  Arm arm = read_arm(L, idx);
  ct_ir_end(f->ir, frame->if_op);
  Half *half = push_half(L, f, 1);
  arm.cond = half->cond = frame->cond;
  arm.if_op = frame->if_op;
  half->is_chain = true;
  half->arms[0] = arm;
}

void choice_nest(lua_State *L, Front *f, const Frame *frame, const Half *inner) {
  CtIr *ir = f->ir;
  CtVal both = ct_ir_var(ir, CT_bool, "both");
  ct_ir_set_before(ir, both, ct_ir_const_int(ir, CT_bool, 0), frame->if_op);
  ct_ir_set(ir, both, choice_taken(ir, inner));
  ct_ir_end(ir, frame->if_op);
  Half *half = push_half(L, f, inner->n_arms);
  memcpy(half->arms, inner->arms, (size_t)inner->n_arms * sizeof(Arm));
  half->cond = ct_ir_get(ir, both);
}

/* Does the chain end where the trace stands now? */
static bool ends_here(const CtIr *ir, const Half *half) {
  return half->is_chain && half->arms[0].if_op == ct_ir_position(ir);
}

bool choice_goes_on(Front *f, Frame *frame, const Half *half) {
  if (!ends_here(f->ir, half)) {
    return false;
  }
  frame->if_op = half->arms[half->n_arms - 1].if_op;
  frame->is_chain = true;
  ct_ir_else(f->ir, frame->if_op);
  return true;
}

/* Closes the region of the right side of `or`. */
static void leave(CtIr *ir, const Frame *frame, const Half *half) {
  ct_ir_end(ir, frame->is_chain ? half->arms[0].if_op : frame->if_op);
}

/* The arms of a half that was completed before are one: its value, in the else of the frame's IF. */
static int list_arms(const Frame *frame, const Half *half, Arm *out) {
  if (half->value != 0) {
    out[0] = (Arm){.value = half->value, .if_op = frame->if_op, .is_else = true};
    return 1;
  }
  memcpy(out, half->arms, (size_t)half->n_arms * sizeof(Arm));
  return half->n_arms;
}

/* Makes selections of the chain's IFs, from the last one on, while they may be; returns how many IFs stay.
   The value, if none stays, is *value. */
static int flatten(CtIr *ir, const Half *half, CtVal var, CtVal *value) {
  CtVal set[2];
  int n = half->n_arms;
  for (; n > 0; n--) {
    const Arm *arm = &half->arms[n - 1];
    ct_ir_end(ir, arm->if_op);
    if (!ct_ir_flatten_if(ir, arm->if_op, var, set)) {
      break;
    }
    *value = ct_ir_select(ir, arm->cond, set[0], set[1]);
    if (n > 1) {
      ct_ir_set(ir, var, *value);
    }
  }
  return n;
}

void choice_end(lua_State *L, Front *f, const Frame *frame, Half *half, int idx) {
  CtIr *ir = f->ir;
  Arm *arms = lua_newuserdatauv(L, ((size_t)half->n_arms + 1) * sizeof *arms, 0);
  int n = list_arms(frame, half, arms);
  arms[n] = read_arm(L, idx);
  Chosen chosen = common_type(L, ir, arms, n + 1);
  CtVal var = ct_ir_var(ir, chosen.type, "chosen");
  ir->insts[var].untyped = chosen.untyped;
  ct_ir_set(ir, var, arm_value(L, ir, &arms[n], chosen));
  store_arms(L, ir, arms, n, var, chosen);
  CtVal value = 0;
  if (frame->is_chain) {
    half->n_ifs = flatten(ir, half, var, &value);
  }
  if (!frame->is_chain || half->n_ifs > 0) {
    leave(ir, frame, half);
    value = ct_ir_get(ir, var);
  }
  if (frame->is_chain) {
    half->is_chain = false;
    half->value = value;
  }
  value_push(L, value);
}

void choice_none(lua_State *L, Front *f, const Frame *frame, int half) {
  CtIr *ir = f->ir;
  Half *left = lua_touserdata(L, half);
  bool is_empty = ct_ir_position(ir) == 0;
  leave(ir, frame, left);
  if (frame->is_chain && !is_empty) { /* the next arm must not replace what the else does */
    left->cond = choice_taken(ir, left);
    left->is_chain = false;
  }
  lua_pushvalue(L, half);
}

/* Keeps in a bool that is returned, still to be read, whether an arm of either half is taken. */
static CtVal join_taken(CtIr *ir, const Frame *frame, const Half *left, const Half *right) {
  CtVal var = ct_ir_var(ir, CT_bool, "either");
  CtVal taken = choice_taken(ir, right);
  if (frame->is_chain) {
    note_taken(ir, left, var);
  } else {
    ct_ir_set_before(ir, var, frame->cond, frame->if_op);
  }
  ct_ir_set(ir, var, taken);
  return var;
}

void choice_join(lua_State *L, Front *f, const Frame *frame, const Half *left, const Half *right) {
  CtIr *ir = f->ir;
  bool is_chain = frame->is_chain && ends_here(ir, right);
  CtVal var = is_chain ? 0 : join_taken(ir, frame, left, right);
  Half *half = push_half(L, f, left->n_arms + right->n_arms);
  half->n_arms = list_arms(frame, left, half->arms);
  memcpy(half->arms + half->n_arms, right->arms, (size_t)right->n_arms * sizeof(Arm));
  half->n_arms += right->n_arms;
  half->n_ifs = half->n_arms;
  leave(ir, frame, left);
  half->is_chain = is_chain;
  half->cond = is_chain ? 0 : ct_ir_get(ir, var);
}
