/* bind_reference_attention.c: attention of one head on the host, in double precision, of tensors of any
   float type. stdlib/operators/attention_reference.lua calls it head by head: arguments and messages are its. */
#include <lauxlib.h>

#include "interp/algebra/bind.h"
#include "interp/state/diag.h"
#include "runtime/reference/attention.h"
#include "interp/state/state.h"
#include "interp/tensor/tensor.h"
#include "interp/state/state_language.h"
#include "bind_blas.h"

/* One head's tensors: Q, K, V and O as (D,S), so that a row's elements come one after another; LSE (S). */
enum { HEAD_Q, HEAD_K, HEAD_V, HEAD_O, HEAD_LSE, HEAD_COUNT };

static CtStatus compute(const CuttleState *s, const CtAttention *a,
                        const Tensor *const t[HEAD_COUNT], Elem *block, CtErr *err) {
  Elem *q = block, *k = q + a->n_q * a->depth, *v = k + a->n_k * a->depth;
  Elem *o = v + a->n_k * a->depth_v, *lse = o + a->n_q * a->depth_v;
  Elem *inputs[] = {q, k, v};
  for (int i = HEAD_Q; i <= HEAD_V; i++) {
    CtStatus status = tensor_load(t[i], inputs[i], err);
    if (status != CT_OK) {
      return status;
    }
  }
  if (!ct_attention_f64(a, &q->f, &k->f, &v->f, &o->f, &lse->f, &lse[a->n_q].f, &s->interrupt)) {
    return ct_fail(err, CT_EINTERRUPTED, "reference.attention: interrupted");
  }
  CtStatus status = tensor_store(t[HEAD_O], o, err);
  return status == CT_OK ? tensor_store(t[HEAD_LSE], lse, err) : status;
}

/* Whether the tensors are of floats and have the shapes that `a` says. */
static bool fit(lua_State *L, const CtCx *cx, const Tensor *const t[HEAD_COUNT],
                const CtAttention *a) {
  const struct {
    int64_t rows, columns;
  } shapes[HEAD_COUNT] = {[HEAD_Q] = {a->depth, a->n_q},
                          [HEAD_K] = {a->depth, a->n_k},
                          [HEAD_V] = {a->depth_v, a->n_k},
                          [HEAD_O] = {a->depth_v, a->n_q},
                          [HEAD_LSE] = {a->n_q, 1}};
  for (int i = 0; i < HEAD_COUNT; i++) {
    int64_t columns = i == HEAD_LSE ? 1 : bind_mode_size(L, cx, t[i]->layout, 1).v;
    if (!ct_is_float(t[i]->dtype) || bind_mode_size(L, cx, t[i]->layout, 0).v != shapes[i].rows ||
        columns != shapes[i].columns) {
      return false;
    }
  }
  return true;
}

/* _launch.attention(Q, K, V, O, LSE, scale, causal). */
static int attention(lua_State *L) {
  CtCx cx = bind_enter(L);
  const Tensor *t[HEAD_COUNT];
  for (int i = 0; i < HEAD_COUNT; i++) {
    t[i] = tensor_check_host(L, i + 1, "reference.attention");
    luaL_argcheck(L, ct_layout_rank(t[i]->layout) == (i == HEAD_LSE ? 1 : 2), i + 1, "modes");
  }
  CtAttention a = {.n_q = bind_mode_size(L, &cx, t[HEAD_Q]->layout, 1).v,
                   .n_k = bind_mode_size(L, &cx, t[HEAD_K]->layout, 1).v,
                   .depth = bind_mode_size(L, &cx, t[HEAD_Q]->layout, 0).v,
                   .depth_v = bind_mode_size(L, &cx, t[HEAD_V]->layout, 0).v,
                   .scale = luaL_checknumber(L, HEAD_COUNT + 1),
                   .causal = lua_toboolean(L, HEAD_COUNT + 2)};
  if (!fit(L, &cx, t, &a)) {
    return diag_error(L, "reference.attention: the shapes or types of a head do not fit");
  }
  /* Q, K, V, O and LSE, and a row of scores: each but that is as large as a tensor. */
  const int64_t sizes[] = {a.n_q * a.depth,   a.n_k * a.depth, a.n_k * a.depth_v,
                           a.n_q * a.depth_v, a.n_q,           a.n_k};
  CtAlloc alloc = t[HEAD_Q]->storage->alloc;
  size_t bytes;
  Elem *block = tensor_new_elems(alloc, sizes, (int)CT_ARRAY_LEN(sizes), &bytes);
  CtErr err;
  CtStatus status = block == NULL ? ct_fail_nomem(&err) : compute(state_of(L), &a, t, block, &err);
  ct_free(alloc, block, bytes);
  diag_check(L, status, &err);
  return 0;
}

/* The functions of modules that are fields of `reference`. */
static const struct {
  const char *name, *module;
} references[] = {{"attention", "cuttle.attention_reference"},
                  {"attention_decode", "cuttle.attention_decode_reference"}};

/* One of them. Upvalue 1: its number. */
static int call_module(lua_State *L) {
  lua_Integer i = lua_tointeger(L, lua_upvalueindex(1));
  diag_check_count(L, references[i].name, lua_gettop(L), 4);
  state_push_function(L, references[i].module, references[i].name);
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

void bind_add_reference_attention(lua_State *L, int module) {
  for (size_t i = 0; i < CT_ARRAY_LEN(references); i++) {
    lua_pushinteger(L, (lua_Integer)i);
    lua_pushcclosure(L, call_module, 1);
    lua_setfield(L, -2, references[i].name);
  }
  lua_pushvalue(L, module);
  lua_pushcfunction(L, attention);
  lua_setfield(L, -2, "_launch.attention");
  lua_pop(L, 1);
}
