/* bind_warp.c: what threads of a warp do together, besides barriers: shuffles and votes; and the
   clock. */
#include <lauxlib.h>
#include <string.h>

#include "access.h"
#include "call.h"
#include "interp/algebra/bind.h"
#include "interp/trace/front.h"
#include "guard.h"
#include "interp/trace/value.h"
#include "interp/openers.h"

enum { LANES = 32 };

/* --- shuffles and votes --------------------------------------------------------------------------- */

/* CUDA's functions of a warp begin with the mask of the lanes that take part; `n` arguments, and
   `call`, are ours. */
static void refuse_mask(lua_State *L, int n, const char *op, const char *call) {
  bool is_mask =
      lua_isinteger(L, 1) && (lua_tointeger(L, 1) == UINT32_MAX || lua_tointeger(L, 1) == -1);
  if (lua_gettop(L) >= n && !lua_istable(L, n) && is_mask) {
    diag_error(L,
               "%s: a mask cannot be the first argument; write %s(%s) for the whole warp, or "
               "%s(%s, {mask = m})",
               op, op, call, op, call);
  }
}

static CtVal read_shuffled(Call *c, int idx, const CallArg *as) {
  refuse_mask(c->L, 3, c->row->name, "value, n");
  return call_value(c, idx, as);
}

static CtVal read_vote(Call *c, int idx, const CallArg *as) {
  refuse_mask(c->L, 2, c->row->name, "condition");
  return call_bool(c, idx, as);
}

static CtVal read_matched(Call *c, int idx, const CallArg *as) {
  refuse_mask(c->L, 2, c->row->name, "value");
  return call_value(c, idx, as);
}

/* Options: {mask = m}, of a shuffle also width. `with_width`: CallArg.hi. */
static void check_options(lua_State *L, int idx, const char *op, bool with_width) {
  if (!lua_istable(L, idx) || lua_getmetatable(L, idx) != 0) {
    diag_type_error(L, idx, op, "a table of options, {mask = m},");
  }
  bind_check_names(L, idx, op, BIND_NAMES("mask", with_width ? "width" : NULL));
}

/* The mask of the options at argument `lo`; 0: there is none. */
static CtVal read_mask(Call *c, int idx, const CallArg *as) {
  lua_State *L = c->L;
  CtVal mask = 0;
  int top = lua_gettop(L);
  idx = as->lo;
  if (lua_isnoneornil(L, idx) || (as->hi != 0 && lua_type(L, idx) == LUA_TNUMBER)) {
    return 0;
  }
  check_options(L, idx, c->row->name, as->hi != 0);
  if (lua_getfield(L, idx, "mask") != LUA_TNIL) {
    mask = value_to(L, top + 1, CT_u32, lua_pushfstring(L, "%s: mask", c->row->name));
  }
  lua_settop(L, top);
  return mask;
}

/* A shuffle's third argument is the width, or a table of options. */
static CtVal read_width(Call *c, int idx, const CallArg *as) {
  int top = lua_gettop(c->L);
  bool is_table = lua_istable(c->L, idx);
  if (is_table) {
    lua_getfield(c->L, idx, "width");
    idx = top + 1;
  }
  CtVal width = lua_isnoneornil(c->L, idx) ? LANES : call_count(c, idx, as);
  lua_settop(c->L, top);
  if ((width & (width - 1)) != 0) {
    diag_error(c->L, "%s: width %d is not a power of two; expected 1, 2, 4, 8, 16 or 32",
               c->row->name, (int)width);
  }
  return width;
}

static void shuffle(Call *c) {
  CtVal mask = c->arg[3];
  int width = (int)c->arg[2], kind = c->row->op;
  c->result[0] = mask == 0 ? ct_ir_shfl(c->ir, (CtShfl)kind, c->arg[0], c->arg[1], width)
                           : ct_ir_masked(c->ir, (CtMasked)kind, c->arg[0], c->arg[1], mask, width);
}

static CtVal is_nonzero(CtIr *ir, CtVal v) {
  CtVal zero = ct_ir_const_int(ir, (CtDtype)ct_inst(ir, v)->type, 0);
  return ct_ir_binary(ir, CT_OP_NE, v, zero);
}

static void vote(Call *c) {
  static const CtMasked kinds[] = {[CT_VOTE_ANY] = CT_MASKED_ANY,
                                   [CT_VOTE_ALL] = CT_MASKED_ALL,
                                   [CT_VOTE_BALLOT] = CT_MASKED_BALLOT};
  CtVote kind = (CtVote)c->row->op;
  if (c->arg[1] == 0) {
    c->result[0] = ct_ir_vote(c->ir, kind, c->arg[0]);
    return;
  }
  CtVal r = ct_ir_masked(c->ir, kinds[kind], c->arg[0], 0, c->arg[1], LANES);
  c->result[0] = kind == CT_VOTE_BALLOT ? r : is_nonzero(c->ir, r);
}

/* match_all's second result: do all lanes of the mask have the value? */
static void match(Call *c) {
  CtMasked kind = (CtMasked)c->row->op;
  c->result[0] = ct_ir_masked(c->ir, kind, c->arg[0], 0, c->arg[1], LANES);
  c->result[1] = kind == CT_MASKED_MATCH_ALL ? is_nonzero(c->ir, c->result[0]) : 0;
}

static void sync_warp(Call *c) {
  if (c->arg[0] == 0) {
    ct_ir_effect(c->ir, CT_OP_SYNC_WARP, 0);
  } else {
    ct_ir_sync_lanes(c->ir, c->arg[0]);
  }
}

static void active_mask(Call *c) { c->result[0] = ct_ir_active_mask(c->ir); }

static void counted(Call *c) { c->result[0] = ct_ir_counted(c->ir, (CtOp)c->row->op, c->arg[0]); }

static void read_clock(Call *c) { c->result[0] = ct_ir_clock(c->ir); }

/* A distance or lane counts modulo 32 at run time. */
#define SHUFFLE_ARGS(what)                                                                         \
  {                                                                                                \
    {.read = read_shuffled}, {call_i32, 0, LANES - 1, what}, {read_width, 1, LANES, "width"},      \
        {read_mask, 3, 1, NULL},                                                                   \
  }
static const CallArg distance_args[] = SHUFFLE_ARGS("distance"), mask_args[] = SHUFFLE_ARGS("mask"),
                     lane_args[] = SHUFFLE_ARGS("lane");
static const CallArg vote_args[] = {{.read = read_vote}, {.read = read_mask, .lo = 2}},
                     match_args[] = {{.read = read_matched}, {.read = read_mask, .lo = 2}},
                     sync_args[] = {{.read = read_mask, .lo = 1}},
                     condition_args[] = {{.read = call_bool}};

static const CallRow shuffles[] = {
    {"shfl_up", shuffle, CT_SHFL_UP, 0, CALL_ARGS(distance_args)},
    {"shfl_down", shuffle, CT_SHFL_DOWN, 0, CALL_ARGS(distance_args)},
    {"shfl_xor", shuffle, CT_SHFL_XOR, 0, CALL_ARGS(mask_args)},
    {"shfl_idx", shuffle, CT_SHFL_IDX, 0, CALL_ARGS(lane_args)}};

static const CallRow rows[] = {
    {"vote_any", vote, CT_VOTE_ANY, 0, CALL_ARGS(vote_args)},
    {"vote_all", vote, CT_VOTE_ALL, 0, CALL_ARGS(vote_args)},
    {"ballot", vote, CT_VOTE_BALLOT, 0, CALL_ARGS(vote_args)},
    {"match_any", match, CT_MASKED_MATCH_ANY, 0, CALL_ARGS(match_args)},
    {"match_all", match, CT_MASKED_MATCH_ALL, 0, CALL_ARGS(match_args)},
    {"active_mask", active_mask, 0, 0, CALL_NO_ARGS},
    {"sync_warp", sync_warp, 0, 0, CALL_ARGS(sync_args)},
    {"sync_threads_count", counted, CT_OP_BARRIER_COUNT, 0, CALL_ARGS(condition_args)},
    {"sync_threads_and", counted, CT_OP_BARRIER_AND, 0, CALL_ARGS(condition_args)},
    {"sync_threads_or", counted, CT_OP_BARRIER_OR, 0, CALL_ARGS(condition_args)},
    {"clock", read_clock, 0, 0, CALL_NO_ARGS}};

/* _kernel.reduce_lanes(v, op, mask): one instruction's reduction of an i32 or u32, for the standard library;
   nil if there is none. */
static int lang_reduce_lanes(lua_State *L) {
  static const char *const ops[] = {"add", "min", "max", "and", "or", "xor", NULL};
  CtIr *ir = front_here(L, "warp_reduce");
  CtVal v = value_to(L, 1, CT_VOID, "warp_reduce");
  CtDtype type = ct_dtype_compute((CtDtype)ct_inst(ir, v)->type);
  int op = 0;
  while (ops[op] != NULL &&
         (lua_type(L, 2) != LUA_TSTRING || strcmp(lua_tostring(L, 2), ops[op]) != 0)) {
    op++;
  }
  if (ops[op] == NULL || (type != CT_i32 && type != CT_u32)) {
    lua_pushnil(L);
    return 1;
  }
  CtVal mask = value_to(L, 3, CT_u32, "warp_reduce: mask");
  CtVal word = ct_ir_cast(ir, v, type);
  value_push(L, ct_ir_masked(ir, (CtMasked)(CT_MASKED_ADD + op), word, 0, mask, LANES));
  return 1;
}

/* The element type of a run-time value or a number, for the standard library. */
static int lang_dtype_of(lua_State *L) {
  CtIr *ir = front_here(L, "reduce");
  bind_push_dtype(L, (CtDtype)ct_inst(ir, value_shown(L, value_to(L, 1, CT_VOID, "reduce")))->type);
  return 1;
}

/* _kernel.widened(x): a run-time value of the type in which arithmetic has it; anything else as it is. For the standard
   library. */
static int lang_widened(lua_State *L) {
  lua_settop(L, 1);
  if (value_test(L, 1, NULL)) {
    (void)front_here(L, "reduce");
    value_push(L, value_operand(L, 1, "reduce"));
  }
  return 1;
}

/* _kernel.converts(x, type): does a place of that type take x as it is? For the standard library. */
static int lang_converts(lua_State *L) {
  CtVal v;
  CtDtype type = bind_to_dtype(L, 2, "reduce");
  bool is_number = lua_type(L, 1) == LUA_TNUMBER;
  const CtIr *ir = front_here(L, "reduce");
  if (value_test(L, 1, &v)) {
    lua_pushboolean(L, value_converts((CtDtype)ct_inst(ir, v)->type, type));
  } else {
    lua_pushboolean(L, is_number && (ct_is_float(type) || lua_isinteger(L, 1)));
  }
  return 1;
}

/* _kernel.whole_of(t): if t was cut out as whole(_, _, k), these two. */
static int lang_whole_of(lua_State *L) {
  const Tensor *t = tensor_test(L, 1);
  return t != NULL && t->in_kernel ? tensor_push_whole(L, 1) : 0;
}

/* _kernel.target_sm(): the compute capability, times 10, that the trace is for; nothing for the CPU engine. */
static int lang_target_sm(lua_State *L) {
  const CtTarget *target = &front_here(L, "dot")->target;
  lua_pushinteger(L, target->sm);
  return target->is_cuda ? 1 : 0;
}

/* _kernel.early_index(): the kernel's index arithmetic is to stand before its loops. */
static int lang_early_index(lua_State *L) {
  front_here(L, "dot")->early_index = true;
  return 0;
}

/* _kernel.space_of(t): "global", "shared", "registers" or "constant" for a tensor of a kernel; else nothing. */
static int lang_space_of(lua_State *L) {
  static const char *const names[] = {[CT_GLOBAL] = "global",
                                      [CT_SHARED] = "shared",
                                      [CT_REGISTER] = "registers",
                                      [CT_TENSOR] = "tensor",
                                      [CT_CONSTANT] = "constant"};
  const Tensor *t = tensor_test(L, 1);
  if (t == NULL || !t->in_kernel || t->at != NULL) {
    return 0;
  }
  lua_pushstring(L, names[t->space]);
  return 1;
}

static int lang_is_static(lua_State *L) {
  int64_t ignored;
  lua_pushboolean(L, value_known(L, 1, &ignored) || !value_test(L, 1, NULL));
  return 1;
}

static int lang_is_tracing(lua_State *L) {
  lua_pushboolean(L, front_is_tracing(L));
  return 1;
}

/* _kernel.overflow_where(c, holds): until _kernel.overflow_again, integers that wrap around are told only where c is `holds`.
   Returns what _kernel.overflow_again takes. */
static int lang_overflow_where(lua_State *L) {
  CtIr *ir = front_here(L, "reduce");
  if (!ir->finds_overflow) {
    return 0;
  }
  CtVal c = value_to(L, 1, CT_bool, "reduce");
  c = lua_toboolean(L, 2) ? c : ct_ir_unary(ir, CT_OP_LNOT, c);
  lua_pushinteger(L, (lua_Integer)ct_ir_overflow_where(ir, c));
  return 1;
}

static int lang_overflow_again(lua_State *L) {
  ct_ir_overflow_again(front_here(L, "reduce"), (CtVal)luaL_optinteger(L, 1, 0));
  return 0;
}

/* --- opening ------------------------------------------------------------------------------------------ */

static const luaL_Reg functions[] = {{"_kernel.reduce_lanes", lang_reduce_lanes},
                                     {"_kernel.dtype_of", lang_dtype_of},
                                     {"_kernel.widened", lang_widened},
                                     {"_kernel.converts", lang_converts},
                                     {"_kernel.target_sm", lang_target_sm},
                                     {"_kernel.whole_of", lang_whole_of},
                                     {"_kernel.space_of", lang_space_of},
                                     {"_kernel.is_static", lang_is_static},
                                     {"_kernel.is_tracing", lang_is_tracing},
                                     {"_kernel.early_index", lang_early_index},
                                     {"_kernel.overflow_where", lang_overflow_where},
                                     {"_kernel.overflow_again", lang_overflow_again},
                                     {NULL, NULL}};

void bind_open_warp(lua_State *L) { /* language table on top */
  call_add_rows(L, rows, CT_ARRAY_LEN(rows));
  call_add_field_rows(L, shuffles, CT_ARRAY_LEN(shuffles));
  luaL_setfuncs(L, functions, 0);
}
