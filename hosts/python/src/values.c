/* values.c: see values.h. */
#include "hosts/python/src/values.h"

#include <string.h>

/* {====== Element types ====== */

enum {
  DL_INT = 0,
  DL_UINT = 1,
  DL_FLOAT = 2,
  DL_BFLOAT = 4,
  DL_BOOL = 6,
  DL_E4M3FN = 10,
  DL_E5M2 = 12
};

static const struct {
  uint8_t code, bits;
  cuttle_DType dtype;
} dtypes[] = {
    {DL_FLOAT, 32, CUTTLE_F32},    {DL_FLOAT, 16, CUTTLE_F16},  {DL_BFLOAT, 16, CUTTLE_BF16},
    {DL_E4M3FN, 8, CUTTLE_F8E4M3}, {DL_E5M2, 8, CUTTLE_F8E5M2}, {DL_FLOAT, 64, CUTTLE_F64},
    {DL_INT, 64, CUTTLE_I64},      {DL_INT, 32, CUTTLE_I32},    {DL_INT, 16, CUTTLE_I16},
    {DL_INT, 8, CUTTLE_I8},        {DL_UINT, 64, CUTTLE_U64},   {DL_UINT, 32, CUTTLE_U32},
    {DL_UINT, 16, CUTTLE_U16},     {DL_UINT, 8, CUTTLE_U8},     {DL_BOOL, 8, CUTTLE_BOOL}};

/* By cuttle_DType: texts, and bits. */
static const struct {
  const char *name;
  int bits;
} names[] = {{"", 0},       {"f64", 64},   {"f32", 32}, {"tf32", 32}, {"f16", 16}, {"bf16", 16},
             {"f8e4m3", 8}, {"f8e5m2", 8}, {"i64", 64}, {"i32", 32},  {"i16", 16}, {"i8", 8},
             {"u64", 64},   {"u32", 32},   {"u16", 16}, {"u8", 8},    {"bool", 8}};

enum { N_NAMES = sizeof names / sizeof names[0] };

static const char *name_of_code(int code) {
  static const char *const texts[] = {"int",
                                      "uint",
                                      "float",
                                      "opaque handle",
                                      "bfloat",
                                      "complex",
                                      "bool",
                                      "float8_e3m4",
                                      "float8_e4m3",
                                      "float8_e4m3b11fnuz",
                                      "float8_e4m3fn",
                                      "float8_e4m3fnuz",
                                      "float8_e5m2",
                                      "float8_e5m2fnuz",
                                      "float8_e8m0fnu",
                                      "float6_e2m3fn",
                                      "float6_e3m2fn",
                                      "float4_e2m1fn"};
  return (size_t)code < sizeof texts / sizeof texts[0] ? texts[code] : "unknown";
}

DLDataType value_dl_dtype(int dtype) {
  DLDataType t = {DL_FLOAT, 32, 1}; /* of tf32, too */
  for (size_t j = 0; j < sizeof dtypes / sizeof dtypes[0]; j++) {
    if ((int)dtypes[j].dtype == dtype) {
      t.code = dtypes[j].code;
      t.bits = dtypes[j].bits;
    }
  }
  return t;
}

const char *value_numpy_type(int dtype) {
  static const char *const texts[] = {
      [CUTTLE_F64] = "<f8", [CUTTLE_F32] = "<f4", [CUTTLE_TF32] = "<f4", [CUTTLE_F16] = "<f2",
      [CUTTLE_I64] = "<i8", [CUTTLE_I32] = "<i4", [CUTTLE_I16] = "<i2",  [CUTTLE_I8] = "|i1",
      [CUTTLE_U64] = "<u8", [CUTTLE_U32] = "<u4", [CUTTLE_U16] = "<u2",  [CUTTLE_U8] = "|u1",
      [CUTTLE_BOOL] = "|b1"};
  return texts[dtype];
}

const char *value_dtype_name(int dtype) { return names[dtype].name; }
int value_dtype_bits(int dtype) { return names[dtype].bits; }

bool value_read_dtype(DLDataType t, int i, cuttle_DType *out) {
  for (size_t j = 0; j < sizeof dtypes / sizeof dtypes[0]; j++) {
    if (dtypes[j].code == t.code && dtypes[j].bits == t.bits && t.lanes == 1) {
      *out = dtypes[j].dtype;
      return true;
    }
  }
  PyErr_Format(
      PyExc_TypeError,
      "argument %d has elements of type %s with %d bits and %d lanes; Cuttle has f64, f32, "
      "tf32, f16, bf16, f8e4m3, f8e5m2, i64, i32, i16, i8, u64, u32, u16, u8 and bool",
      i + 1, name_of_code(t.code), (int)t.bits, (int)t.lanes);
  return false;
}

/* {====== Values with a type of their own: cuttle.f64(1.0), cuttle.static(4), cuttle.view_as(x, "tf32") ====== */

static PyObject *value_type;

bool value_is_one(PyObject *object) { return (PyObject *)Py_TYPE(object) == value_type; }

static void value_dealloc(PyObject *self) {
  Py_XDECREF(((Value *)self)->object);
  host_free(self);
}

static int dtype_of_name(const char *name) {
  for (int i = 1; i < N_NAMES; i++) {
    if (strcmp(names[i].name, name) == 0) {
      return i;
    }
  }
  PyErr_Format(PyExc_ValueError,
               "'%s' is no element type; one of f64, f32, tf32, f16, bf16, f8e4m3, "
               "f8e5m2, i64, i32, i16, i8, u64, u32, u16, u8, bool was expected",
               name);
  return 0;
}

/* Value(kind, object[, dtype]) */
static PyObject *value_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  int kind;
  PyObject *object;
  const char *dtype = NULL;
  (void)kwargs;
  if (!PyArg_ParseTuple(args, "iO|z", &kind, &object, &dtype)) {
    return NULL;
  }
  int n = dtype == NULL ? 0 : dtype_of_name(dtype);
  if (dtype != NULL && n == 0) {
    return NULL;
  }
  Value *v = (Value *)host_new(type);
  if (v != NULL) {
    Py_INCREF(object);
    v->object = object;
    v->kind = kind;
    v->dtype = n;
  }
  return (PyObject *)v;
}

static PyObject *value_repr(PyObject *self) {
  const Value *v = (const Value *)self;
  return v->dtype != 0 ? PyUnicode_FromFormat("view_as(%R, '%s')", v->object, names[v->dtype].name)
                       : PyUnicode_FromFormat("%s(%R)",
                                              v->kind == CUTTLE_ARG_F64      ? "f64"
                                              : v->kind == CUTTLE_ARG_STATIC ? "static"
                                                                             : "i64",
                                              v->object);
}

PyObject *value_open_type(PyObject *module) {
  PyType_Slot slots[] = {HOST_SLOT(Py_tp_new, value_new),
                         HOST_SLOT(Py_tp_dealloc, value_dealloc),
                         HOST_SLOT(Py_tp_repr, value_repr),
                         {0, NULL}};
  PyType_Spec spec = {"cuttle._cuttle.Value", sizeof(Value), 0, Py_TPFLAGS_DEFAULT, slots};
  bool ok = PyModule_AddIntConstant(module, "KIND_MEMORY", CUTTLE_ARG_MEMORY) == 0 &&
            PyModule_AddIntConstant(module, "KIND_F64", CUTTLE_ARG_F64) == 0 &&
            PyModule_AddIntConstant(module, "KIND_I64", CUTTLE_ARG_I64) == 0 &&
            PyModule_AddIntConstant(module, "KIND_STATIC", CUTTLE_ARG_STATIC) == 0;
  PyObject *type = ok ? PyType_FromSpec(&spec) : NULL;
  if (type != NULL && PyModule_AddObject(module, "Value", type) != 0) {
    Py_CLEAR(type);
  }
  value_type = type;
  return type;
}
