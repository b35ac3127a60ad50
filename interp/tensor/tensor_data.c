/* tensor_data.c: the elements of host tensors, wherever their memory is. */
#include <lauxlib.h>
#include <math.h>
#include <string.h>

#include "interp/state/diag.h"
#include "runtime/base/convert.h"
#include "runtime/base/size.h"
#include "runtime/layout/walk.h"
#include "tensor.h"

/* {====== Elements, by type ====== */

typedef struct ElemOps {
  Elem (*load)(const void *p);
  void (*store)(void *p, Elem e);
} ElemOps;

/* How one type is loaded and stored through its C type; `field` of Elem holds it. */
#define ELEM_OPS(load, store, ctype, field, wide)                                                  \
  static Elem load(const void *p) {                                                                \
    ctype v;                                                                                       \
    memcpy(&v, p, sizeof v);                                                                       \
    return (Elem){.field = (wide)v};                                                               \
  }                                                                                                \
  static void store(void *p, Elem e) {                                                             \
    ctype v = (ctype)e.field;                                                                      \
    memcpy(p, &v, sizeof v);                                                                       \
  }

/* A float type that C has not: by its bits. */
#define BITS_OPS(load, store, name, ctype)                                                         \
  static Elem load(const void *p) {                                                                \
    ctype bits;                                                                                    \
    memcpy(&bits, p, sizeof bits);                                                                 \
    return (Elem){.f = ct_float_of_bits(name, bits)};                                              \
  }                                                                                                \
  static void store(void *p, Elem e) {                                                             \
    ctype bits = (ctype)ct_bits_of_float(name, e.f);                                               \
    memcpy(p, &bits, sizeof bits);                                                                 \
  }

#define DTYPE(name, bits, kind, compute, cuda, ctype, ...)                                         \
  ELEM_OPS(load_##name, store_##name, ctype, i, int64_t)
#define FLOAT(name, bits, compute, cuda, ctype, ...)                                               \
  ELEM_OPS(load_##name, store_##name, ctype, f, double)
#define NARROW(name, bits, compute, cuda, ctype, ...)                                              \
  BITS_OPS(load_##name, store_##name, CT_##name, ctype)
#include "runtime/base/dtypes.def"

#define DTYPE(name, ...) [CT_##name] = {load_##name, store_##name},
static const ElemOps elem_ops[] = {
#include "runtime/base/dtypes.def"
};

Elem elem_load(CtDtype dtype, const void *p) { return elem_ops[dtype].load(p); }

void elem_store(CtDtype dtype, void *p, Elem e) { elem_ops[dtype].store(p, e); }

void elem_push(lua_State *L, CtDtype dtype, Elem e) {
  switch (ct_dtypes[dtype].cls) {
    case CT_CLASS_FLOAT: lua_pushnumber(L, e.f); break;
    case CT_CLASS_INT: lua_pushinteger(L, e.i); break;
    case CT_CLASS_BOOL: lua_pushboolean(L, e.i != 0); break;
    case CT_CLASS_NONE: CT_UNREACHABLE();
  }
}

static CtStatus wrong_type(lua_State *L, int idx, CtDtype dtype, const char *expected, CtErr *err) {
  ct_fail(err, CT_EINVAL, "got %s, but the elements are %s; expected %s", diag_push_kind(L, idx),
          ct_dtypes[dtype].name, expected);
  lua_pop(L, 1);
  return CT_EINVAL;
}

static CtStatus int_from_lua(lua_State *L, int idx, CtDtype dtype, Elem *out, CtErr *err) {
  int is_integral;
  lua_Integer v = lua_tointegerx(L, idx, &is_integral);
  if (!is_integral) {
    return ct_fail(err, CT_EINVAL, "%.14g is not an integer; the elements are %s",
                   lua_tonumber(L, idx), ct_dtypes[dtype].name);
  }
  if (!ct_dtype_fits(dtype, v)) {
    return ct_fail(err, CT_EINVAL, "%lld does not fit %s; expected %lld to %lld", (long long)v,
                   ct_dtypes[dtype].name, (long long)ct_dtype_min(dtype),
                   (long long)ct_dtype_max(dtype));
  }
  out->i = v;
  return CT_OK;
}

static CtStatus convert(lua_State *L, int idx, CtDtype dtype, Elem *out, CtErr *err) {
  if (ct_dtypes[dtype].cls == CT_CLASS_BOOL) {
    out->i = lua_toboolean(L, idx);
    return lua_isboolean(L, idx) ? CT_OK : wrong_type(L, idx, dtype, "a boolean", err);
  }
  if (lua_type(L, idx) != LUA_TNUMBER) { /* texts are no numbers here */
    return wrong_type(L, idx, dtype, "a number", err);
  }
  if (ct_is_int(dtype)) {
    return int_from_lua(L, idx, dtype, out, err);
  }
  out->f = lua_isinteger(L, idx) ? ct_round_int(dtype, CT_i64, lua_tointeger(L, idx))
                                 : lua_tonumber(L, idx);
  return CT_OK;
}

CtStatus elem_from_lua(lua_State *L, int idx, CtDtype dtype, const char *op, Elem *out,
                       CtErr *err) {
  CtStatus status = convert(L, idx, dtype, out, err);
  if (status != CT_OK && op != NULL) {
    ct_err_prefix(err, "%s", op);
  }
  return status;
}

/* {====== The memory of a tensor ====== */

CtStatus tensor_live(const Tensor *t, CtErr *err) {
  if (t->at != NULL) {
    return ct_fail(err, CT_EINVAL, "is a tensor of coordinates; expected one with memory");
  }
  if (t->storage == NULL) {
    return ct_fail(err, CT_EINVAL, "is closed; its memory was given back");
  }
  return CT_OK;
}

/* Bits below an element in its byte. */
static int shift_of(const Tensor *t, int64_t index) {
  return ct_dtype_is_packed(t->dtype) ? (int)((t->offset.v + index) & 1) * 4 : 0;
}

CtStatus tensor_get(const Tensor *t, int64_t index, Elem *out, CtErr *err) {
  uint64_t bits = 0;
  CtStatus status =
      ct_storage_get(t->storage, tensor_byte(t, index), &bits, ct_value_bytes(t->dtype), err);
  if (status == CT_OK) {
    bits = ct_dtype_is_packed(t->dtype) ? bits >> shift_of(t, index) & 15 : bits;
    *out = elem_load(t->dtype, &bits);
  }
  return status;
}

CtStatus tensor_set(const Tensor *t, int64_t index, Elem e, CtErr *err) {
  uint64_t bits = 0, other = 0;
  size_t at = tensor_byte(t, index);
  elem_store(t->dtype, &bits, e);
  if (ct_dtype_is_packed(t->dtype)) {
    CtStatus status = ct_storage_get(t->storage, at, &other, 1, err);
    if (status != CT_OK) {
      return status;
    }
    int shift = shift_of(t, index);
    bits = (other & ~((uint64_t)15 << shift)) | bits << shift;
  }
  return ct_storage_put(t->storage, at, &bits, ct_value_bytes(t->dtype), err);
}

/* The bytes that a walk touches: where they begin in the storage, and how many. */
typedef struct Span {
  size_t at, bytes;
} Span;

static Span span_of(const Tensor *t, const CtWalk *w) {
  size_t at = tensor_byte(t, w->lo);
  return (Span){at, tensor_byte(t, w->hi) + ct_value_bytes(t->dtype) - at};
}

/* All elements to dst, or from src if dst is NULL; `base` has byte `at` of the storage. */
static void move(const Tensor *t, CtWalk *w, char *base, size_t at, void *dst, const void *src) {
  size_t size = ct_value_bytes(t->dtype);
  int64_t first =
      t->offset.v - ct_dtype_count(t->dtype, (int64_t)at); /* of index 0, from base on */
  if (ct_dtype_is_packed(t->dtype) && dst != NULL) {
    ct_walk_gather_packed(w, base, first, dst);
  } else if (ct_dtype_is_packed(t->dtype)) {
    ct_walk_scatter_packed(w, base, first, src);
  } else if (dst != NULL) {
    ct_walk_gather(w, size, base + ct_dtype_byte(t->dtype, first), dst);
  } else {
    ct_walk_scatter(w, size, base + ct_dtype_byte(t->dtype, first), src);
  }
}

/* Device memory that is not dense goes through a copy of its span; a write keeps what lies between
   the elements. */
static CtStatus gather_device(const Tensor *t, CtWalk *w, char *stage, void *dst, CtErr *err) {
  Span s = span_of(t, w);
  CtStatus status = ct_storage_read(t->storage, s.at, stage, s.bytes, err);
  if (status == CT_OK) {
    move(t, w, stage, s.at, dst, NULL);
  }
  return status;
}

static CtStatus scatter_device(const Tensor *t, CtWalk *w, char *stage, const void *src,
                               CtErr *err) {
  Span s = span_of(t, w);
  CtStatus status = ct_storage_read(t->storage, s.at, stage, s.bytes, err);
  if (status == CT_OK) {
    move(t, w, stage, s.at, NULL, src);
    status = ct_storage_write(t->storage, s.at, stage, s.bytes, err);
  }
  return status;
}

static CtStatus transfer_device(const Tensor *t, CtWalk *w, void *dst, const void *src,
                                CtErr *err) {
  Span s = span_of(t, w);
  if (ct_walk_is_dense(w) && !ct_dtype_is_packed(t->dtype)) {
    return dst != NULL ? ct_storage_read(t->storage, s.at, dst, s.bytes, err)
                       : ct_storage_write(t->storage, s.at, src, s.bytes, err);
  }
  char *stage = ct_alloc(t->storage->alloc, s.bytes);
  if (stage == NULL) {
    return ct_fail_nomem(err);
  }
  CtStatus status =
      dst != NULL ? gather_device(t, w, stage, dst, err) : scatter_device(t, w, stage, src, err);
  ct_free(t->storage->alloc, stage, s.bytes);
  return status;
}

static void transfer_host(const Tensor *t, CtWalk *w, void *dst, const void *src) {
  if (dst == NULL) {
    Span s = span_of(t, w);
    ct_blank_write(t->storage->blank, s.at, s.bytes);
  }
  move(t, w, t->storage->host, 0, dst, src);
}

/* Copies elements to dst, or from src when dst is NULL. */
static CtStatus transfer(const Tensor *t, void *dst, const void *src, CtErr *err) {
  CtArena arena;
  CtWalk w;
  ct_arena_init(&arena, t->storage->alloc);
  CtStatus status = ct_walk_init(&w, &arena, t->layout, err);
  if (status == CT_OK && w.size > 0 && dst == NULL) {
    status = ct_storage_may_write(t->storage, err);
  }
  if (status == CT_OK && w.size > 0) {
    if (t->storage->device != NULL) {
      status = transfer_device(t, &w, dst, src, err);
    } else {
      transfer_host(t, &w, dst, src);
    }
  }
  ct_arena_clear(&arena);
  return status;
}

CtStatus tensor_gather(const Tensor *t, void *dst, CtErr *err) {
  return transfer(t, dst, NULL, err);
}

CtStatus tensor_scatter(const Tensor *t, const void *src, CtErr *err) {
  return transfer(t, NULL, src, err);
}

/* The elements where they are, if they lie dense on the host; else NULL. */
static void *dense_on_host(const Tensor *t, const CtWalk *w) {
  if (t->storage->device != NULL || !ct_walk_is_dense(w) || ct_dtype_is_packed(t->dtype)) {
    return NULL;
  }
  return (char *)t->storage->host + tensor_byte(t, 0);
}

/* Finds the elements in place, or makes memory for a copy of them. */
static CtStatus find_dense(Dense *d, const Tensor *t, void **in_place, CtErr *err) {
  CtArena arena;
  CtWalk w;
  *d = (Dense){.alloc = t->storage->alloc};
  *in_place = NULL;
  ct_arena_init(&arena, d->alloc);
  CtStatus status = ct_walk_init(&w, &arena, t->layout, err);
  if (status == CT_OK) {
    d->n = w.size;
    *in_place = dense_on_host(t, &w);
  }
  ct_arena_clear(&arena);
  if (status == CT_OK && *in_place == NULL) {
    if (!ct_dense_fits(t->dtype, d->n, &d->bytes)) {
      return ct_fail_nomem(err);
    }
    d->bytes += d->bytes == 0; /* an allocator may answer NULL to 0 bytes */
    d->copy = ct_alloc(d->alloc, d->bytes);
    status = d->copy == NULL ? ct_fail_nomem(err) : CT_OK;
  }
  return status;
}

CtStatus dense_open(Dense *d, const Tensor *t, CtErr *err) {
  void *in_place;
  CtStatus status = find_dense(d, t, &in_place, err);
  if (status == CT_OK && in_place == NULL) {
    status = tensor_gather(t, d->copy, err);
  }
  if (status != CT_OK) {
    dense_close(d);
    return status;
  }
  d->p = in_place != NULL ? in_place : d->copy;
  return CT_OK;
}

void dense_close(Dense *d) {
  ct_free(d->alloc, d->copy, d->bytes);
  d->copy = NULL;
}

CtStatus tensor_generate(const Tensor *t, TensorFill fn, void *ud, CtErr *err) {
  Dense d;
  void *in_place;
  CtStatus status = find_dense(&d, t, &in_place, err);
  if (status == CT_OK && in_place != NULL) { /* else tensor_scatter asks */
    status = ct_storage_may_write(t->storage, err);
  }
  if (status == CT_OK) {
    if (in_place != NULL) {
      ct_blank_write(t->storage->blank, tensor_byte(t, 0), ct_dense_bytes(t->dtype, (size_t)d.n));
    }
    status = fn(ud, t->dtype, in_place != NULL ? in_place : d.copy, d.n, err);
  }
  if (status == CT_OK && in_place == NULL) {
    status = tensor_scatter(t, d.copy, err);
  }
  dense_close(&d);
  return status;
}

Elem *tensor_new_elems(CtAlloc alloc, const int64_t *sizes, int n, size_t *bytes) {
  size_t total = 1;
  for (int i = 0; i < n; i++) {
    size_t size = 0;
    if (!ct_fits_memory(sizes[i], 1, &size) || total > SIZE_MAX - size) {
      return NULL;
    }
    total += size;
  }
  return ct_size_mul_overflow(total, sizeof(Elem), bytes) ? NULL : ct_alloc(alloc, *bytes);
}

CtStatus tensor_load(const Tensor *t, Elem *out, CtErr *err) {
  Dense d;
  CtStatus status = dense_open(&d, t, err);
  if (status != CT_OK) {
    return status;
  }
  const char *p = d.p;
  for (int64_t i = 0; i < d.n; i++, p += ct_dense_bytes(t->dtype, 1)) {
    out[i] = elem_load(t->dtype, p);
  }
  dense_close(&d);
  return CT_OK;
}

static CtStatus store_all(void *ud, CtDtype dtype, void *dst, int64_t n, CtErr *err) {
  const Elem *from = ud;
  (void)err;
  for (int64_t i = 0; i < n; i++) {
    elem_store(dtype, (char *)dst + ct_dense_bytes(dtype, (size_t)i), from[i]);
  }
  return CT_OK;
}

CtStatus tensor_store(const Tensor *t, Elem *from, CtErr *err) {
  return tensor_generate(t, store_all, from, err);
}
