/* dtype.c: the table of element types. */
#include "dtype.h"

#include <string.h>

#define KIND_FLOAT CT_CLASS_FLOAT, false
#define KIND_INT CT_CLASS_INT, false
#define KIND_UINT CT_CLASS_INT, true
#define KIND_BOOL CT_CLASS_BOOL, false

#define HAS_SIGN_INF true
#define HAS_SIGN_AWAY true
#define HAS_SIGN_SATURATES true
#define HAS_SIGN_FINITE true
#define HAS_SIGN_NUMBERS true
#define HAS_SIGN_UNSIGNED false
#define HAS_SIGN_SCALE false

const CtDtypeInfo ct_dtypes[CT_DTYPE_COUNT] = {
    [CT_VOID] = {.name = "void", .cuda = "void", .ctype = "void"},
/* clang-format off */
#define DTYPE(name, bits, kind, compute, cuda, ctype, npy, dlpack, ...)                            \
  [CT_##name] = {#name, cuda, npy, #ctype, bits, sizeof(ctype), CT_DLPACK_##dlpack,                \
                 KIND_##kind, false, CT_##compute, 0, 0},
#define FLOAT(name, bits, compute, cuda, ctype, npy, e, f, ends, narrow, widen, close, dlpack, ...) \
  [CT_##name] = {#name, cuda, npy, #ctype, bits, sizeof(ctype), CT_DLPACK_##dlpack,                \
                 KIND_FLOAT, HAS_SIGN_##ends, CT_##compute, e, f},
/* clang-format on */
#include "dtypes.def"
};

/* Casts keep zeros above the bits of a float; those of an integer fill its place. */
#define DTYPE(name, bits, kind, compute, cuda, ctype, ...)                                         \
  _Static_assert((bits) == 8 * sizeof(ctype), #name " has as many bits as its C type");
#define FLOAT(name, bits, compute, cuda, ctype, npy, e, f, ...)                                    \
  _Static_assert((bits) <= 8 * sizeof(ctype) && (bits) >= (e) + (f), #name " fits its C type");
#include "dtypes.def"

CtDtype ct_dtype_from_name(const char *name) {
  for (int t = CT_VOID + 1; t < CT_DTYPE_COUNT; t++) {
    if (strcmp(ct_dtypes[t].name, name) == 0) {
      return (CtDtype)t;
    }
  }
  return CT_VOID;
}

int64_t ct_dtype_min(CtDtype t) {
  const CtDtypeInfo *info = &ct_dtypes[t];
  if (info->cls == CT_CLASS_BOOL || (info->is_unsigned && info->bits < 64)) {
    return 0;
  }
  return info->bits < 64 ? -((int64_t)1 << (info->bits - 1)) : INT64_MIN;
}

int64_t ct_dtype_max(CtDtype t) {
  const CtDtypeInfo *info = &ct_dtypes[t];
  if (info->cls == CT_CLASS_BOOL) {
    return 1;
  }
  return info->bits < 64 ? ((int64_t)1 << (info->bits - !info->is_unsigned)) - 1 : INT64_MAX;
}

bool ct_dtype_holds(CtDtype t, CtDtype every) {
  if (t == every) {
    return true;
  }
  if (ct_is_float(t) && !ct_dtypes[t].has_sign) {
    return false;
  }
  if (ct_is_float(t) && ct_is_float(every)) {
    return ct_dtypes[every].fraction <= ct_dtypes[t].fraction &&
           ct_dtypes[every].exponent <= ct_dtypes[t].exponent;
  }
  if (ct_is_float(t) && ct_is_int(every)) {
    return ct_dtypes[every].bits - !ct_is_unsigned(every) <= ct_dtypes[t].fraction + 1 &&
           ct_dtypes[every].bits < (1 << (ct_dtypes[t].exponent - 1));
  }
  if (!ct_is_int(t) || !ct_is_int(every)) {
    return false;
  }
  int spare = ct_is_unsigned(every) && !ct_is_unsigned(t);
  return ct_dtypes[every].bits + spare <= ct_dtypes[t].bits &&
         (ct_is_unsigned(every) || !ct_is_unsigned(t));
}

int64_t ct_dtype_wrap(CtDtype t, int64_t v) {
  int shift = 64 - ct_dtypes[t].bits;
  uint64_t low = (uint64_t)v << shift;
  if (ct_dtypes[t].cls == CT_CLASS_BOOL) {
    return v != 0;
  }
  return ct_is_unsigned(t) ? (int64_t)(low >> shift) : (int64_t)low >> shift;
}
