/* bind_reference_attention.c: attention of one head on the host, in double precision, of tensors of any
   float type. stdlib/attention_reference.lua calls it head by head: arguments and messages are its. */
#include <lauxlib.h>
#include <string.h>

#include "bind.h"
#include "diag.h"
#include "runtime/reference/attention.h"
#include "state.h"
#include "tensor.h"

static CtStatus widen(const Tensor *t, double *out, CtErr *err) {
  Dense d;
  CtStatus status = dense_open(&d, t, err);
  if (status != CT_OK) {
    return status;
  }
  const char *p = d.p;
  for (int64_t i = 0; i < d.n; i++, p += ct_dtype_bytes(t->dtype)) {
    out[i] = elem_load(t->dtype, p).f;
  }
  dense_close(&d);
  return CT_OK;
}

static CtStatus narrow(void *ud, CtDtype dtype, void *dst, int64_t n, CtErr *err) {
  const double *from = ud;
  size_t bytes = ct_dtype_bytes(dtype);
  (void)err;
  for (int64_t i = 0; i < n; i++) {
    elem_store(dtype, (char *)dst + (size_t)i * bytes, (Elem){.f = from[i]});
  }
  return CT_OK;
}

/* One head's tensors: Q, K, V and O as (D,S), so that a row's elements come one after another; LSE (S). */
enum { HEAD_Q, HEAD_K, HEAD_V, HEAD_O, HEAD_LSE, HEAD_COUNT };

static CtStatus compute(const CtAttention *a, const Tensor *const t[HEAD_COUNT], double *block,
                        CtErr *err) {
  double *q = block, *k = q + a->n_q * a->depth, *v = k + a->n_k * a->depth;
  double *o = v + a->n_k * a->depth_v, *lse = o + a->n_q * a->depth_v;
  double *inputs[] = {q, k, v};
  for (int i = HEAD_Q; i <= HEAD_V; i++) {
    CtStatus status = widen(t[i], inputs[i], err);
    if (status != CT_OK) {
      return status;
    }
  }
  ct_attention_f64(a, q, k, v, o, lse, lse + a->n_q);
  CtStatus status = tensor_generate(t[HEAD_O], narrow, o, err);
  return status == CT_OK ? tensor_generate(t[HEAD_LSE], narrow, lse, err) : status;
}

static int64_t mode_size(lua_State *L, const CtCx *cx, const Tensor *t, int mode) {
  CtInt n;
  CtErr err;
  diag_check(L, ct_size(cx, ct_mode(t->layout, mode), &n, &err), &err);
  return n.v;
}

/* _attention(Q, K, V, O, LSE, scale, causal): the shapes fit and the elements are floats. */
static int attention(lua_State *L) {
  CtCx cx = bind_enter(L);
  const Tensor *t[HEAD_COUNT];
  for (int i = 0; i < HEAD_COUNT; i++) {
    t[i] = tensor_check_host(L, i + 1, "reference.attention");
  }
  CtAttention a = {.n_q = mode_size(L, &cx, t[HEAD_Q], 1),
                   .n_k = mode_size(L, &cx, t[HEAD_K], 1),
                   .depth = mode_size(L, &cx, t[HEAD_Q], 0),
                   .depth_v = mode_size(L, &cx, t[HEAD_V], 0),
                   .scale = luaL_checknumber(L, HEAD_COUNT + 1),
                   .causal = lua_toboolean(L, HEAD_COUNT + 2)};
  size_t n = (size_t)((a.n_q + a.n_k) * (a.depth + a.depth_v) + a.n_q + a.n_k);
  CtAlloc alloc = t[HEAD_Q]->storage->alloc;
  double *block = ct_alloc(alloc, (n + 1) * sizeof *block);
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
