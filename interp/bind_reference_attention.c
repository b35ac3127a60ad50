/* bind_reference_attention.c: attention of one head on the host, in double precision, of tensors of any
   float type. stdlib/attention_reference.lua calls it head by head: arguments and messages are its. */
#include <lauxlib.h>

#include "bind.h"
#include "diag.h"
#include "runtime/reference/attention.h"
#include "state.h"
#include "tensor.h"

/* One head's tensors: Q, K, V and O as (D,S), so that a row's elements come one after another; LSE (S). */
enum { HEAD_Q, HEAD_K, HEAD_V, HEAD_O, HEAD_LSE, HEAD_COUNT };

static CtStatus compute(const CtAttention *a, const Tensor *const t[HEAD_COUNT], Elem *block,
                        CtErr *err) {
  Elem *q = block, *k = q + a->n_q * a->depth, *v = k + a->n_k * a->depth;
  Elem *o = v + a->n_k * a->depth_v, *lse = o + a->n_q * a->depth_v;
  Elem *inputs[] = {q, k, v};
  for (int i = HEAD_Q; i <= HEAD_V; i++) {
    CtStatus status = tensor_load(t[i], inputs[i], err);
    if (status != CT_OK) {
      return status;
    }
  }
  ct_attention_f64(a, &q->f, &k->f, &v->f, &o->f, &lse->f, &lse[a->n_q].f);
  CtStatus status = tensor_store(t[HEAD_O], o, err);
  return status == CT_OK ? tensor_store(t[HEAD_LSE], lse, err) : status;
}

/* _attention(Q, K, V, O, LSE, scale, causal): the shapes fit and the elements are floats. */
static int attention(lua_State *L) {
  CtCx cx = bind_enter(L);
  const Tensor *t[HEAD_COUNT];
  for (int i = 0; i < HEAD_COUNT; i++) {
    t[i] = tensor_check_host(L, i + 1, "reference.attention");
  }
  CtAttention a = {.n_q = bind_mode_size(L, &cx, t[HEAD_Q]->layout, 1).v,
                   .n_k = bind_mode_size(L, &cx, t[HEAD_K]->layout, 1).v,
                   .depth = bind_mode_size(L, &cx, t[HEAD_Q]->layout, 0).v,
                   .depth_v = bind_mode_size(L, &cx, t[HEAD_V]->layout, 0).v,
                   .scale = luaL_checknumber(L, HEAD_COUNT + 1),
                   .causal = lua_toboolean(L, HEAD_COUNT + 2)};
  size_t n = (size_t)((a.n_q + a.n_k) * (a.depth + a.depth_v) + a.n_q + a.n_k);
  CtAlloc alloc = t[HEAD_Q]->storage->alloc;
  Elem *block = ct_alloc(alloc, (n + 1) * sizeof *block);
  CtErr err;
  CtStatus status = block == NULL ? ct_fail_nomem(&err) : compute(&a, t, block, &err);
  ct_free(alloc, block, (n + 1) * sizeof *block);
  diag_check(L, status, &err);
  return 0;
}

/* reference.attention: the module's function of that name. */
static int call_module(lua_State *L) {
  state_push_module(L, "cuttle.attention_reference");
  lua_getfield(L, -1, "attention");
  lua_remove(L, -2);
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

void bind_add_reference_attention(lua_State *L, int module) {
  lua_pushcfunction(L, call_module);
  lua_setfield(L, -2, "attention");
  lua_pushvalue(L, module);
  lua_pushcfunction(L, attention);
  lua_setfield(L, -2, "_attention");
  lua_pop(L, 1);
}
