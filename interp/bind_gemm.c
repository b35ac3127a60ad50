/* bind_gemm.c: gemm(A, B, C) and gemm(mma, A, B, C) in kernels. An MMA is an atom, or a tiled MMA or a
   slice of one: tables (stdlib/tiled_mma.lua) that have the atom. */
#include <lauxlib.h>
#include <string.h>

#include "bind.h"
#include "front.h"
#include "tensor.h"

static CtGemmOrder to_order(lua_State *L, int idx) {
  CtGemmOrder order = {0};
  CtErr err;
  if (bind_push_option(L, idx, "gemm", "order") != LUA_TNIL &&
      ct_gemm_order_parse(luaL_tolstring(L, -1, NULL), &order, &err) != CT_OK) {
    diag_error(L, "gemm: %s", err.msg);
  }
  return order;
}

/* The MMA in argument 1, or NULL where that is a tensor. */
static const CtAtom *to_mma(lua_State *L) {
  CtDtype dtype;
  const CtAtom *atom = bind_test_atom(L, 1, &dtype);
  if (atom != NULL && atom->kind != CT_ATOM_MMA) {
    diag_error(L, "gemm: %s is an atom of copies; an atom of products was expected", atom->name);
  }
  return atom;
}

static int lang_gemm(lua_State *L) { /* [mma,] A, B, C[, {order =}] */
  CtIr *ir = front_here(L, "gemm");
  CtErr err;
  const CtAtom *atom = to_mma(L);
  int first = atom == NULL ? 1 : 2;
  CtView a = front_view(L, first, "gemm");
  CtView b = front_view(L, first + 1, "gemm");
  CtView c = front_view(L, first + 2, "gemm");
  CtGemmOrder order = to_order(L, first + 3);
  CtStatus status = atom == NULL ? ct_ir_gemm(ir, a, b, c, &order, &err)
                                 : ct_ir_mma(ir, atom, a, b, c, &order, &err);
  diag_check(L, status, &err);
  return 0;
}

static const luaL_Reg functions[] = {{"gemm", lang_gemm}, {NULL, NULL}};

void bind_open_gemm(lua_State *L) { luaL_setfuncs(L, functions, 0); }
