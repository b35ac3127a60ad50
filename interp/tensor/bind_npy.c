/* bind_npy.c: load_npy and save_npy. An array in Fortran order becomes a column-major tensor, one
   in C order a row-major one, so elements are read straight into place. */
#include <lauxlib.h>
#include <string.h>

#include "interp/algebra/bind.h"
#include "interp/openers.h"
#include "interp/state/diag.h"
#include "runtime/base/npy.h"
#include "runtime/layout/walk.h"
#include "interp/state/state.h"
#include "tensor.h"

/* {====== Loading ====== */

/* An open file, as a userdata, so that it is closed on every way out. */
typedef struct Source {
  FILE *file;
} Source;

#define SOURCE_TYPE "cuttle.npy"

static int close_source(lua_State *L) {
  Source *s = luaL_checkudata(L, 1, SOURCE_TYPE);
  if (s->file != NULL) {
    fclose(s->file);
    s->file = NULL;
  }
  return 0;
}

static Source *push_source(lua_State *L) {
  Source *s = lua_newuserdatauv(L, sizeof *s, 0);
  s->file = NULL;
  luaL_setmetatable(L, SOURCE_TYPE);
  return s;
}

/* n or (n0,n1,...); an array without dimensions has one element. */
static CtLayout array_layout(lua_State *L, const CtCx *cx, const CtNpy *h) {
  CtInt extents[CT_NPY_MAX_RANK];
  CtLayout layout = {NULL, NULL};
  CtErr err;
  for (int i = 0; i < h->rank; i++) {
    extents[i] = ct_int(h->shape[i]);
  }
  CtTuple shape = h->rank < 2 ? ct_leaf(cx->arena, ct_int(h->n_elems))
                              : ct_tuple_ints(cx->arena, h->rank, extents);
  CtStatus status = shape == NULL      ? ct_fail_nomem(&err)
                    : h->fortran_order ? ct_layout_make(cx, shape, NULL, &layout, &err)
                                       : ct_layout_row_major(cx, shape, &layout, &err);
  diag_check(L, status, &err);
  return layout;
}

/* NumPy's bools may be any byte; ours are 0 and 1. */
static void normalise_bools(CtDtype dtype, void *p, size_t n) {
  uint8_t *byte = p;
  for (size_t i = 0; dtype == CT_bool && i < n; i++) {
    byte[i] = byte[i] != 0;
  }
}

/* Reads into the tensor's memory, on a device by way of the host. */
static CtStatus read_elements(const char *path, FILE *file, const CtNpy *h, const Tensor *t,
                              CtErr *err) {
  CtStorage *s = t->storage;
  void *stage = s->device == NULL ? s->host : ct_alloc(s->alloc, h->data_bytes + 1);
  if (stage == NULL) {
    return ct_fail_nomem(err);
  }
  CtStatus status = ct_npy_read(path, file, h, stage, err);
  if (status == CT_OK) {
    normalise_bools(h->dtype, stage, h->data_bytes);
  }
  if (s->device != NULL) {
    status = status == CT_OK ? ct_storage_write(s, 0, stage, h->data_bytes, err) : status;
    ct_free(s->alloc, stage, h->data_bytes + 1);
  }
  return status;
}

/* load_npy(path) -> tensor */
static int load_npy(lua_State *L) {
  const char *path = state_check_path(L, 1, "load_npy");
  CtCx cx = bind_enter(L);
  CtNpy h;
  CtErr err;
  Source *source = push_source(L);
  diag_check(L, ct_npy_open(state_of(L)->alloc, path, &source->file, &h, &err), &err);
  CtLayout layout = array_layout(L, &cx, &h);
  const Tensor *t = tensor_push_here(L, "load_npy", h.dtype, layout);
  CtStatus status = read_elements(path, source->file, &h, t, &err);
  fclose(source->file);
  source->file = NULL;
  diag_check(L, status, &err);
  return 1;
}

/* {====== Saving ====== */

/* The same layout with its modes in reverse: its linear order is C order. */
static CtStatus reverse_modes(const CtCx *cx, CtLayout l, CtLayout *out, CtErr *err) {
  int rank = ct_layout_rank(l);
  if (rank < 2) {
    *out = l;
    return CT_OK;
  }
  CtLayout *modes = ct_arena_alloc(cx->arena, (size_t)rank * sizeof *modes);
  if (modes == NULL) {
    return ct_fail_nomem(err);
  }
  for (int i = 0; i < rank; i++) {
    modes[i] = ct_mode(l, rank - 1 - i);
  }
  return ct_layout_concat(cx, rank, modes, out, err);
}

static CtStatus is_dense(const CtCx *cx, CtLayout l, bool *out, CtErr *err) {
  CtWalk w;
  CtStatus status = ct_walk_init(&w, cx->arena, l, err);
  if (status == CT_OK) {
    *out = ct_walk_is_dense(&w);
  }
  return status;
}

/* Fortran order where only that is the order of the memory, else C order. The linear order of
   *ordered is that of the file. */
static CtStatus describe(const CtCx *cx, const Tensor *t, CtNpy *h, CtLayout *ordered, CtErr *err) {
  CtLayout reversed;
  bool is_col = false, is_row = false;
  CtStatus status = reverse_modes(cx, t->layout, &reversed, err);
  status = status == CT_OK ? is_dense(cx, t->layout, &is_col, err) : status;
  if (status == CT_OK) {
    status = is_dense(cx, reversed, &is_row, err);
  }
  *h = (CtNpy){.dtype = t->dtype, .fortran_order = is_col && !is_row};
  *ordered = h->fortran_order ? t->layout : reversed;
  h->rank = ct_layout_rank(t->layout);
  if (status == CT_OK && h->rank > CT_NPY_MAX_RANK) {
    return ct_fail(err, CT_EUNSUPPORTED, "save_npy: %d modes are too many; at most %d fit a file",
                   h->rank, CT_NPY_MAX_RANK);
  }
  for (int i = 0; status == CT_OK && i < h->rank; i++) {
    CtInt n;
    status = ct_size(cx, ct_mode(t->layout, i), &n, err);
    h->shape[i] = status == CT_OK ? n.v : 0;
  }
  return status;
}

/* save_npy(path, t) */
static int save_npy(lua_State *L) {
  const char *path = state_check_path(L, 1, "save_npy");
  CtCx cx = bind_enter(L);
  const Tensor *t = tensor_check_host(L, 2, "save_npy");
  Tensor ordered = *t; /* the same memory, its elements in the order of the file */
  CtNpy h;
  Dense d;
  CtErr err;
  if (ct_dtypes[t->dtype].npy == NULL) {
    return diag_error(L, "save_npy: NumPy has no element type for %s", ct_dtypes[t->dtype].name);
  }
  diag_check(L, describe(&cx, t, &h, &ordered.layout, &err), &err);
  CtStatus status = dense_open(&d, &ordered, &err);
  if (status == CT_OK) {
    status = ct_npy_save(state_of(L)->alloc, path, &h, d.p, &err);
    dense_close(&d);
  }
  diag_check(L, status, &err);
  return 0;
}

/* {====== Registration ====== */

static const luaL_Reg functions[] = {{"load_npy", load_npy}, {"save_npy", save_npy}, {NULL, NULL}};

static const luaL_Reg source_meta[] = {{"__gc", close_source}, {NULL, NULL}};
static const luaL_Reg no_methods[] = {{NULL, NULL}};

void bind_open_npy(lua_State *L) {
  bind_new_type(L, SOURCE_TYPE, source_meta, no_methods);
  luaL_setfuncs(L, functions, 0);
}
