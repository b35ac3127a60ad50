/* dtype.h: element types. Everything that depends on the type of an element is a column of
   dtypes.def or a table with one row per CtDtype. */
#ifndef CT_DTYPE_H
#define CT_DTYPE_H

#include "base.h"

typedef enum CtDtype {
  CT_VOID, /* of IR operations without a result */
#define X(name, bits, class, cuda, ctype, npy) CT_##name,
#include "dtypes.def"
#undef X
  CT_DTYPE_COUNT
} CtDtype;

typedef enum CtDtypeClass {
  CT_CLASS_NONE,
  CT_CLASS_FLOAT,
  CT_CLASS_INT,
  CT_CLASS_BOOL
} CtDtypeClass;

typedef struct CtDtypeInfo {
  const char *name; /* as in scripts: "f32" */
  const char *cuda; /* as in CUDA C: "float" */
  const char *npy;  /* NumPy descr, little-endian; NULL where NumPy has none */
  int bits;
  CtDtypeClass cls;
} CtDtypeInfo;

extern const CtDtypeInfo ct_dtypes[CT_DTYPE_COUNT];

CtDtype ct_dtype_from_name(const char *name); /* CT_VOID when there is none */
static inline size_t ct_dtype_bytes(CtDtype t) { return (size_t)ct_dtypes[t].bits / 8; }
static inline bool ct_is_float(CtDtype t) { return ct_dtypes[t].cls == CT_CLASS_FLOAT; }
static inline bool ct_is_int(CtDtype t) { return ct_dtypes[t].cls == CT_CLASS_INT; }

#endif
