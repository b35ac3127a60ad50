/* values.c: see values.h. */
#include "hosts/python/src/values.h"

#include <stdio.h>
#include <string.h>

/* {====== Element types ====== */

static const cuttle_DTypeInfo *info_of(int dtype) { return cuttle_dtype_info((cuttle_DType)dtype); }

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

/* A type of fewer bits than its place goes as the bytes that hold it, since DLPack would have it packed. */
static bool fills_its_place(const cuttle_DTypeInfo *info) { return info->bits == 8 * info->bytes; }

DLDataType value_dl_dtype(int dtype) {
  const cuttle_DTypeInfo *info = info_of(dtype);
  int code = fills_its_place(info) ? info->dlpack : DL_UINT;
  return (DLDataType){(uint8_t)code, (uint8_t)(8 * info->bytes), 1};
}

/* By DLPack's code and bits: the first type of them, so that f32 comes before tf32. 0: there is none. */
enum { DL_MAX_CODE = 31, DL_MAX_BITS = 64 };
static uint8_t by_dl[DL_MAX_CODE + 1][DL_MAX_BITS + 1];

static void fill_by_dl(void) {
  for (int i = 1; info_of(i) != NULL; i++) {
    const cuttle_DTypeInfo *info = info_of(i);
    uint8_t *at = &by_dl[info->dlpack][info->bits];
    *at = *at == 0 && fills_its_place(info) ? (uint8_t)i : *at;
  }
}

static int dtype_of_dl(DLDataType t) {
  return t.lanes == 1 && t.code <= DL_MAX_CODE && t.bits <= DL_MAX_BITS ? by_dl[t.code][t.bits] : 0;
}

const char *value_numpy_type(int dtype) {
  const char *own = info_of(dtype)->numpy;
  return own != NULL ? own : info_of(dtype_of_dl(value_dl_dtype(dtype)))->numpy;
}

const char *value_dtype_name(int dtype) { return info_of(dtype)->name; }
int value_dtype_bytes(int dtype) { return info_of(dtype)->bytes; }
bool value_is_packed(int dtype) {
  if (info_of(dtype)->per_byte > 1) {
    PyErr_Format(PyExc_TypeError,
                 "%d elements of %s share a byte, which other libraries cannot be told; use the "
                 "tensor's bytes, and recast(t, u8) or recast(bytes, %s) in the kernel",
                 (int)info_of(dtype)->per_byte, info_of(dtype)->name, info_of(dtype)->name);
    return true;
  }
  return false;
}

int value_dtype_of_text(PyObject *text, bool *is_torch) {
  static const char torch[] = "torch.";
  for (int i = 1; info_of(i) != NULL; i++) {
    int code = info_of(i)->dlpack;
    char full[80];
    snprintf(full, sizeof full, "%s%s%s", torch, name_of_code(code), code == DL_BFLOAT ? "16" : "");
    *is_torch = PyUnicode_CompareWithASCIIString(text, full) == 0;
    if (code > DL_FLOAT &&
        (*is_torch || PyUnicode_CompareWithASCIIString(text, full + sizeof torch - 1) == 0)) {
      return i;
    }
  }
  return 0;
}

/* "f64, f32, ..." */
static const char *all_names(char out[300]) {
  size_t n = 0;
  for (int i = 1; info_of(i) != NULL && n < 300; i++) {
    n += (size_t)snprintf(out + n, 300 - n, "%s%s", i > 1 ? ", " : "", info_of(i)->name);
  }
  return out;
}

bool value_read_dtype(DLDataType t, int i, cuttle_DType *out) {
  int dtype = dtype_of_dl(t);
  char names[300];
  *out = (cuttle_DType)dtype;
  if (dtype == 0) {
    PyErr_Format(PyExc_TypeError,
                 "argument %d has elements of type %s with %d bits, lanes: %d; Cuttle has %s",
                 i + 1, name_of_code(t.code), (int)t.bits, (int)t.lanes, all_names(names));
  }
  return dtype != 0;
}

/* {====== Values with a type of their own: cuttle.f64(1.0), cuttle.static(4), cuttle.view_as(x, "tf32") ====== */

static PyObject *value_type;

bool value_is_one(PyObject *object) { return (PyObject *)Py_TYPE(object) == value_type; }

static void value_dealloc(PyObject *self) {
  Py_XDECREF(((Value *)self)->object);
  host_free(self);
}

static int dtype_of_name(const char *name) {
  char names[300];
  for (int i = 1; info_of(i) != NULL; i++) {
    if (strcmp(info_of(i)->name, name) == 0) {
      return i;
    }
  }
  PyErr_Format(PyExc_ValueError, "'%s' is not an element type; one of %s was expected", name,
               all_names(names));
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
  bool is_view = kind == CUTTLE_ARG_MEMORY;
  int n = dtype == NULL ? 0 : dtype_of_name(dtype);
  if (is_view && dtype == NULL) {
    PyErr_SetString(PyExc_TypeError,
                    "view_as(x, None): an element type, such as \"tf32\", was expected");
  }
  if (PyErr_Occurred() != NULL) {
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
  return v->dtype != 0
             ? PyUnicode_FromFormat("view_as(%R, '%s')", v->object, value_dtype_name(v->dtype))
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
  fill_by_dl();
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
