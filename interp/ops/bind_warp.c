/* bind_warp.c: what threads of a kernel do together, besides barriers: shuffles and votes of a
   warp, atomic operations, fences; and the clock. */
#include <lauxlib.h>
#include <string.h>

#include "access.h"
#include "call.h"
#include "interp/algebra/bind.h"
#include "interp/trace/front.h"
#include "guard.h"
#include "interp/trace/value.h"
#include "interp/openers.h"
#include "access.h"

enum { LANES = 32 };

/* --- shuffles and votes --------------------------------------------------------------------------- */

/* CUDA's functions of a warp begin with the mask of the lanes that take part; `n` arguments, and
   `call`, are ours. */
static void refuse_mask(lua_State *L, int n, const char *op, const char *call) {
  bool is_mask =
      lua_isinteger(L, 1) && (lua_tointeger(L, 1) == UINT32_MAX || lua_tointeger(L, 1) == -1);
  if (lua_gettop(L) >= n && !lua_istable(L, n) && is_mask) {
    diag_error(L,
               "%s: a mask of lanes is no first argument; write %s(%s) for the whole warp, or "
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
  for (lua_pushnil(L); lua_next(L, idx) != 0; lua_pop(L, 1)) {
    const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";
    if (strcmp(key, "mask") != 0 && !(with_width && strcmp(key, "width") == 0)) {
      diag_error(L, "%s: option '%s' is unknown; expected mask%s", op, luaL_tolstring(L, -2, NULL),
                 with_width ? " or width" : "");
    }
  }
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

static const CallRow rows[] = {
    {"shfl_up", shuffle, CT_SHFL_UP, 0, CALL_ARGS(distance_args)},
    {"shfl_down", shuffle, CT_SHFL_DOWN, 0, CALL_ARGS(distance_args)},
    {"shfl_xor", shuffle, CT_SHFL_XOR, 0, CALL_ARGS(mask_args)},
    {"shfl_idx", shuffle, CT_SHFL_IDX, 0, CALL_ARGS(lane_args)},
    {"any", vote, CT_VOTE_ANY, 0, CALL_ARGS(vote_args)},
    {"all", vote, CT_VOTE_ALL, 0, CALL_ARGS(vote_args)},
    {"ballot", vote, CT_VOTE_BALLOT, 0, CALL_ARGS(vote_args)},
    {"match_any", match, CT_MASKED_MATCH_ANY, 0, CALL_ARGS(match_args)},
    {"match_all", match, CT_MASKED_MATCH_ALL, 0, CALL_ARGS(match_args)},
    {"active_mask", active_mask, 0, 0, CALL_NO_ARGS},
    {"sync_warp", sync_warp, 0, 0, CALL_ARGS(sync_args)},
    {"sync_threads_count", counted, CT_OP_BARRIER_COUNT, 0, CALL_ARGS(condition_args)},
    {"sync_threads_and", counted, CT_OP_BARRIER_AND, 0, CALL_ARGS(condition_args)},
    {"sync_threads_or", counted, CT_OP_BARRIER_OR, 0, CALL_ARGS(condition_args)},
    {"fence", call_effect, CT_OP_FENCE, 0, CALL_NO_ARGS},
    {"clock", read_clock, 0, 0, CALL_NO_ARGS}};

/* --- atomic operations ------------------------------------------------------------------------------ */

static const CtOp atomic_ops[] = {
    CT_OP_ATOMIC_ADD, CT_OP_ATOMIC_MIN,  CT_OP_ATOMIC_MAX, CT_OP_ATOMIC_AND,  CT_OP_ATOMIC_OR,
    CT_OP_ATOMIC_XOR, CT_OP_ATOMIC_EXCH, CT_OP_ATOMIC_CAS, CT_OP_ATOMIC_LOAD, CT_OP_ATOMIC_STORE};

/* A tensor of the kernel that threads share, with elements that the operation supports. */
static const Tensor *to_shared_tensor(lua_State *L, CtOp op) {
  const char *name = ct_ops[op].text;
  const Tensor *t = tensor_check_live(L, 1, name);
  tensor_check_memory(L, 1, name);
  if (!t->in_kernel) {
    diag_error(L, "%s: %s is a tensor of the host; pass it to the kernel as an argument", name,
               tensor_push_title(L, 1));
  }
  if (t->space == CT_CONSTANT) {
    diag_error(L,
               "%s: %s is constant memory, which kernels only read; take shared or global memory",
               name, tensor_push_title(L, 1));
  }
  if (t->space == CT_REGISTER) {
    diag_error(L,
               "%s: %s is a fragment, which belongs to one thread; shared or global memory was "
               "expected",
               name, tensor_push_title(L, 1));
  }
  const CtIr *ir = front_ir(L);
  if (ct_dtypes[t->dtype].bits == 16 && ir->bufs[t->buf].remote != 0) {
    diag_error(
        L,
        "%s: %s is in another block's shared memory, which has no such operation on %s; take f32",
        name, tensor_push_title(L, 1), ct_dtypes[t->dtype].name);
  }
  if (!ct_ir_has_atomic(op, t->dtype)) {
    bool of_bits = ct_is_float(t->dtype);
    diag_error(L, "%s: no such operation on %s; expected %s", name, ct_dtypes[t->dtype].name,
               of_bits && ct_ir_has_atomic(CT_OP_ATOMIC_EXCH, t->dtype)
                   ? "integers of 32 or 64 bits"
               : op == CT_OP_ATOMIC_ADD ? "f16, bf16, f32, f64 and integers of 32 or 64 bits"
                                        : "f32, f64 and integers of 32 or 64 bits");
  }
  return t;
}

/* The bits of a value of 16 bits, in a u32. */
static CtVal bits_of_half(CtIr *ir, CtVal v) {
  return ct_ir_cast(ir, ct_ir_bitcast(ir, v, CT_u16), CT_u32);
}

static CtVal half_of_bits(CtIr *ir, CtVal bits, CtDtype t) {
  return ct_ir_bitcast(ir, ct_ir_cast(ir, bits, CT_u16), t);
}

/* The offset of two elements that one word holds. */
static CtVal offset_of_two(lua_State *L, CtIr *ir, const Tensor *t, CtTuple crd) {
  CtVal offset = access_offset(L, t, crd, "atomic_add");
  const CtBuf *buf = &ir->bufs[t->buf];
  if (t->guard != NULL || (t->is_guarded && t->is_whole)) {
    diag_error(
        L,
        "atomic_add: %s is guarded, and of two elements one may be outside; add them one by one, "
        "or leave the guard out",
        tensor_push_title(L, 1));
  }
  if (ct_buf_is_swizzled(buf) && buf->swizzle.base == 0) {
    diag_error(L,
               "atomic_add: the swizzle of %s keeps no two elements together; choose one with a "
               "larger M, or add them one by one",
               tensor_push_title(L, 1));
  }
  if (ct_inst(ir, offset)->facts.div % 2 != 0 || buf->align < 4) {
    diag_error(
        L,
        "atomic_add: two elements of %s at once must begin at an even offset, and this one is "
        "not known to; write 2 * i for the coordinate, or add them one by one",
        tensor_push_title(L, 1));
  }
  return offset;
}

/* tensor, coordinate, lo, hi: adds to an element and the next in memory, rounding each by itself.
   Returns the old values of both. */
static int add_two(lua_State *L, CtIr *ir, const Tensor *t, CtTuple crd) {
  if (t->dtype != CT_f16 && t->dtype != CT_bf16) {
    return diag_error(L, "atomic_add: %s is %s; two elements at once are of f16 or bf16",
                      tensor_push_title(L, 1), ct_dtypes[t->dtype].name);
  }
  CtVal sixteen = ct_ir_const_int(ir, CT_u32, 16), offset = offset_of_two(L, ir, t, crd);
  CtVal lo = bits_of_half(ir, value_to(L, 3, t->dtype, "atomic_add"));
  CtVal hi = bits_of_half(ir, value_to(L, 4, t->dtype, "atomic_add"));
  hi = ct_ir_binary(ir, CT_OP_SHL, hi, sixteen);
  CtVal old =
      ct_ir_atomic(ir, CT_OP_ATOMIC_ADD2, t->buf, offset, ct_ir_binary(ir, CT_OP_OR, lo, hi), 0);
  value_push(L, half_of_bits(ir, old, t->dtype));
  value_push(L, half_of_bits(ir, ct_ir_binary(ir, CT_OP_SHR, old, sixteen), t->dtype));
  return 2;
}

static int lang_atomic(lua_State *L) { /* tensor, coordinate[, compare][, value] */
  CtOp op = (CtOp)lua_tointeger(L, lua_upvalueindex(1));
  const char *name = ct_ops[op].text;
  CtIr *ir = front_here(L, name);
  const Tensor *t = to_shared_tensor(L, op);
  CtCx cx = bind_enter(L);
  int n_values = ct_ops[op].n_args - 1;
  if (op == CT_OP_ATOMIC_ADD && lua_gettop(L) == 4) {
    return add_two(L, ir, t, bind_to_tuple(L, 2, &cx, name));
  }
  if (lua_gettop(L) != 2 + n_values) {
    static const char *const values[] = {"", ", value", ", compare, value"};
    return diag_error(L, "%s: %d arguments; %s(tensor, coordinate%s) was expected", name,
                      lua_gettop(L), name, values[n_values]);
  }
  CtTuple crd = bind_to_tuple(L, 2, &cx, name);
  GuardedAccess access;
  CtVal old = 0, value = 0, compare = 0;
  if (n_values > 0) {
    value = value_to(L, 2 + n_values, t->dtype, name);
  }
  if (n_values > 1) {
    compare = value_to(L, 3, t->dtype, name);
  }
  bool is_void = ct_ops[op].result == CT_RES_VOID;
  if (guard_open(L, t, crd, is_void ? CT_VOID : t->dtype, &access)) {
    old = ct_ir_atomic(ir, op, t->buf, access_offset(L, t, crd, name), value, compare);
  }
  old = guard_close(L, &access, is_void ? 0 : old);
  if (is_void) {
    return 0;
  }
  value_push(L, old);
  return 1;
}

/* _reduce_lanes(v, op, mask): one instruction's reduction of an i32 or u32, for the standard library;
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
  bind_push_dtype(L, (CtDtype)ct_inst(ir, value_to(L, 1, CT_VOID, "reduce"))->type);
  return 1;
}

/* _whole_of(t): if t was cut out as whole(_, _, k), these two. */
static int lang_whole_of(lua_State *L) {
  const Tensor *t = tensor_test(L, 1);
  return t != NULL && t->in_kernel ? tensor_push_whole(L, 1) : 0;
}

/* _target_sm(): the compute capability, times 10, that the trace is for; nothing for the CPU engine. */
static int lang_target_sm(lua_State *L) {
  const CtTarget *target = &front_here(L, "dot")->target;
  lua_pushinteger(L, target->sm);
  return target->is_cuda ? 1 : 0;
}

/* _early_index(): the kernel's index arithmetic is to stand before its loops. */
static int lang_early_index(lua_State *L) {
  front_here(L, "dot")->early_index = true;
  return 0;
}

/* _space_of(t): "global", "shared", "registers" or "constant" for a tensor of a kernel; else nothing. */
static int lang_space_of(lua_State *L) {
  static const char *const names[] = {[CT_GLOBAL] = "global",
                                      [CT_SHARED] = "shared",
                                      [CT_REGISTER] = "registers",
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

/* --- opening ------------------------------------------------------------------------------------------ */

static const luaL_Reg functions[] = {{"_reduce_lanes", lang_reduce_lanes},
                                     {"_dtype_of", lang_dtype_of},
                                     {"_target_sm", lang_target_sm},
                                     {"_whole_of", lang_whole_of},
                                     {"_space_of", lang_space_of},
                                     {"_is_static", lang_is_static},
                                     {"_is_tracing", lang_is_tracing},
                                     {"_early_index", lang_early_index},
                                     {NULL, NULL}};

void bind_open_warp(lua_State *L) { /* language table on top */
  call_add_rows(L, rows, CT_ARRAY_LEN(rows));
  luaL_setfuncs(L, functions, 0);
  for (size_t i = 0; i < CT_ARRAY_LEN(atomic_ops); i++) {
    lua_pushinteger(L, (lua_Integer)atomic_ops[i]);
    lua_pushcclosure(L, lang_atomic, 1);
    lua_setfield(L, -2, ct_ops[atomic_ops[i]].text);
  }
}
