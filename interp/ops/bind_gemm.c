/* bind_gemm.c: gemm(A, B, C), gemm(mma, A, B, C) and gemm(mma, {A, SFA}, {B, SFB}, C) in kernels, and
   the operations that order products by wgmma. An MMA is an atom, or a tiled MMA or a slice of one:
   tables (stdlib/language/tiled_mma.lua) that contain the atom. */
#include <lauxlib.h>
#include <string.h>

#include "access.h"
#include "call.h"
#include "interp/algebra/bind.h"
#include "interp/trace/front.h"
#include "interp/tensor/tensor.h"
#include "interp/trace/value.h"
#include "interp/openers.h"

static CtMmaOpts to_options(lua_State *L, int idx) {
  CtMmaOpts opts = {.accumulate = 0};
  CtErr err;
  if (lua_isnoneornil(L, idx)) {
    return opts;
  }
  if (!lua_istable(L, idx)) {
    diag_type_error(L, idx, "gemm", "a table of options, {order = ..., accumulate = ...},");
  }
  bind_check_names(L, idx, "gemm", BIND_NAMES("order", "accumulate"));
  if (lua_getfield(L, idx, "order") != LUA_TNIL &&
      ct_gemm_order_parse(luaL_tolstring(L, -1, NULL), &opts.order, &err) != CT_OK) {
    diag_error(L, "gemm: %s", err.msg);
  }
  if (lua_getfield(L, idx, "accumulate") != LUA_TNIL) {
    opts.accumulate = value_to(L, lua_gettop(L), CT_bool, "gemm: accumulate");
  }
  return opts;
}

/* The MMA in argument 1, or NULL if that is a tensor. */
static const CtAtom *to_mma(lua_State *L) {
  CtDtype dtype;
  const CtAtom *atom = bind_test_atom(L, 1, &dtype);
  if (atom != NULL && atom->kind != CT_ATOM_MMA) {
    diag_error(L, "gemm: %s is an atom of copies; an atom of products was expected", atom->name);
  }
  return atom;
}

/* An operand, or a table of an operand and its scales. */
typedef struct Operand {
  CtView x, scales;
  bool has_scales;
} Operand;

static Operand to_operand(lua_State *L, int idx) {
  int top = lua_gettop(L);
  if (!lua_istable(L, idx) || lua_getmetatable(L, idx)) { /* an object is no list */
    lua_settop(L, top);
    return (Operand){.x = access_view(L, idx, "gemm")};
  }
  if (lua_rawlen(L, idx) != 2) {
    diag_error(L,
               "gemm: argument %d is a table of %d values; a tensor, or {tensor, its scales}, "
               "was expected",
               idx, (int)lua_rawlen(L, idx));
  }
  lua_rawgeti(L, idx, 1);
  lua_rawgeti(L, idx, 2);
  Operand o = {.x = access_view(L, lua_gettop(L) - 1, "gemm"),
               .scales = access_view(L, lua_gettop(L), "gemm"),
               .has_scales = true};
  lua_pop(L, 2);
  return o;
}

static int lang_gemm(lua_State *L) { /* [mma,] A, B, C[, {order =, accumulate =}] */
  CtIr *ir = front_here(L, "gemm");
  CtErr err;
  const CtAtom *atom = to_mma(L);
  int first = atom == NULL ? 1 : 2;
  Operand of_a = to_operand(L, first), of_b = to_operand(L, first + 1);
  CtView a = of_a.x, b = of_b.x;
  CtView c = access_view(L, first + 2, "gemm");
  CtMmaOpts opts = to_options(L, first + 3);
  opts.sfa = of_a.has_scales ? &of_a.scales : NULL;
  opts.sfb = of_b.has_scales ? &of_b.scales : NULL;
  if (atom == NULL && (of_a.has_scales || of_b.has_scales)) {
    return diag_error(
        L, "gemm: operands have scales, but no MMA multiplies by them; give a tiled MMA first");
  }
  if (atom == NULL && opts.accumulate != 0) {
    return diag_error(
        L, "gemm: 'accumulate' is an option of wgmma atoms only; fill C with 0 to start its sums");
  }
  CtStatus status = atom == NULL ? ct_ir_gemm(ir, a, b, c, &opts.order, &err)
                                 : ct_ir_mma(ir, atom, a, b, c, &opts, &err);
  diag_check(L, status, &err);
  return 0;
}

/* The operations that order products by wgmma; a wait says how many groups may be pending. */
static const CallArg wait_args[] = {{call_count, 0, 7, "number of groups"}};
static const CallRow rows[] = {
    {"wgmma_fence", call_effect, CT_OP_WGMMA_FENCE, CALL_SM90A, CALL_NO_ARGS},
    {"wgmma_commit", call_effect, CT_OP_WGMMA_COMMIT, CALL_SM90A, CALL_NO_ARGS},
    {"wgmma_wait", call_effect, CT_OP_WGMMA_WAIT, CALL_SM90A, CALL_ARGS(wait_args)}};

/* Is a kernel being traced? Then new tensors are in its memory. */
static int is_tracing(lua_State *L) {
  lua_pushboolean(L, front_is_tracing(L));
  return 1;
}

/* _kernel.come_threads(n): the first and last number of the block's threads, from n on, that come here;
   nothing if there are none, or if that is not certain. */
static int come_threads(lua_State *L) {
  int64_t lo, hi;
  const CtIr *ir = front_ir(L);
  if (ir == NULL || !ct_ir_come_threads(ir, luaL_checkinteger(L, 1), &lo, &hi)) {
    return 0;
  }
  lua_pushinteger(L, lo);
  lua_pushinteger(L, hi);
  return 2;
}

static const luaL_Reg functions[] = {{"gemm", lang_gemm},
                                     {"_kernel.is_tracing", is_tracing},
                                     {"_kernel.come_threads", come_threads},
                                     {NULL, NULL}};

void bind_open_gemm(lua_State *L) {
  call_add_rows(L, rows, CT_ARRAY_LEN(rows));
  luaL_setfuncs(L, functions, 0);
}
