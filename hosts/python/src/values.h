/* values.h: element types as DLPack, texts and Cuttle name them; and values that say how a kernel takes them:
   cuttle.f64(1.0), cuttle.static(4), cuttle.view_as(x, "tf32"). */
#ifndef CUTTLE_PY_VALUES_H
#define CUTTLE_PY_VALUES_H

#include "hosts/python/src/host.h"

typedef struct Value {
  PyObject_HEAD PyObject *object;
  int kind;  /* a cuttle_ArgKind */
  int dtype; /* of memory */
} Value;

/* plain.c: argument i, a typed number or memory of another type. False with an exception. */
bool call_read_value(Call *c, int i, Value *v);

bool value_is_one(PyObject *object);

/* The element type of argument number i; false with an exception: Cuttle has none like it. */
bool value_read_dtype(DLDataType t, int i, cuttle_DType *out);
/* Do its elements share bytes? Then with an exception, since no other library can be told. */
bool value_is_packed(int dtype);
/* Of a cuttle_DType. */
DLDataType value_dl_dtype(int dtype);
const char *value_numpy_type(int dtype); /* as its array interface writes it; NULL: it has none */
const char *value_dtype_name(int dtype);
int value_dtype_bytes(int dtype); /* of an element's place */
/* By the text of a library's dtype, of types that DLPack has and NumPy has not: "torch.float8_e5m2", or
   "bfloat16" of the package ml_dtypes. 0: it is none. */
int value_dtype_of_text(PyObject *text, bool *is_torch);

/* Gives the module the type Value; returns it, not a new reference. NULL with an exception. */
PyObject *value_open_type(PyObject *module);

#endif
