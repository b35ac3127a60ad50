/* bind_reference_bits.c: what conversions are checked against: a cast by integer arithmetic on the host,
   and a comparison of bits. */
#include <lauxlib.h>
#include <string.h>

#include "interp/algebra/bind.h"
#include "interp/state/diag.h"
#include "runtime/base/convert.h"
#include "interp/state/state.h"
#include "interp/tensor/tensor.h"
#include "bind_blas.h"

/* {====== reference.cast ====== */

typedef struct Source {
  const Dense *from;
  CtDtype dtype;
} Source;

static CtStatus convert_all(void *ud, CtDtype dtype, void *dst, int64_t n, CtErr *err) {
  const Source *s = ud;
  size_t from_bytes = ct_dense_bytes(s->dtype, 1), bytes = ct_dense_bytes(dtype, 1);
  const char *p = s->from->p;
  char *q = dst;
  (void)err;
  for (int64_t i = 0; i < n; i++, p += from_bytes, q += bytes) {
    uint64_t bits = 0;
    memcpy(&bits, p, from_bytes); /* little-endian */
    bits = ct_convert(dtype, s->dtype, bits);
    memcpy(q, &bits, bytes);
  }
  return CT_OK;
}

/* reference.cast(t, dtype) -> a tensor of t's shape, column-major, on the current device */
static int cast(lua_State *L) {
  CtCx cx = bind_enter(L);
  const Tensor *t = tensor_check_host(L, 1, "reference.cast");
  CtDtype to = bind_to_dtype(L, 2, "reference.cast");
  CtLayout layout;
  CtErr err;
  Dense d;
  diag_check(L, ct_layout_make(&cx, t->layout.shape, NULL, &layout, &err), &err);
  const Tensor *out = tensor_push_here(L, "reference.cast", to, layout);
  diag_check(L, dense_open(&d, t, &err), &err);
  Source source = {&d, t->dtype};
  CtStatus status = tensor_generate(out, convert_all, &source, &err);
  dense_close(&d);
  diag_check(L, status, &err);
  return 1;
}

/* {====== reference.difference ====== */

/* The first element whose bits differ; n where none do. */
static int64_t first_difference(const Dense *a, const Dense *b, size_t bytes) {
  enum { CHUNK = 4096 };
  const char *p = a->p, *q = b->p;
  int64_t i = 0;
  while (a->n - i >= CHUNK && memcmp(p, q, CHUNK * bytes) == 0) {
    i += CHUNK;
    p += CHUNK * bytes;
    q += CHUNK * bytes;
  }
  while (i < a->n && memcmp(p, q, bytes) == 0) {
    i++;
    p += bytes;
    q += bytes;
  }
  return i;
}

/* reference.difference(a, b): the linear index of the first element whose bits differ, or nil. */
static int difference(lua_State *L) {
  const Tensor *a = tensor_check_host(L, 1, "reference.difference");
  const Tensor *b = tensor_check_host(L, 2, "reference.difference");
  CtErr err;
  Dense da, db;
  if (a->dtype != b->dtype) {
    return diag_error(L, "reference.difference: a is %s and b is %s; expected one type",
                      ct_dtypes[a->dtype].name, ct_dtypes[b->dtype].name);
  }
  diag_check(L, dense_open(&da, a, &err), &err);
  CtStatus status = dense_open(&db, b, &err);
  int64_t n = da.n, at = -1;
  bool same_size = status == CT_OK && db.n == n;
  if (status == CT_OK) {
    at = same_size ? first_difference(&da, &db, ct_value_bytes(a->dtype)) : -1;
    dense_close(&db);
  }
  dense_close(&da);
  diag_check(L, status, &err);
  if (!same_size) {
    return diag_error(L, "reference.difference: the tensors have different sizes");
  }
  if (at == n) {
    lua_pushnil(L);
  } else {
    lua_pushinteger(L, at);
  }
  return 1;
}

static const luaL_Reg functions[] = {{"cast", cast}, {"difference", difference}, {NULL, NULL}};

void bind_add_reference_bits(lua_State *L) { luaL_setfuncs(L, functions, 0); }
