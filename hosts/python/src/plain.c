/* plain.c: Python objects that are no tensors as arguments of launches: numbers, and constants of the kernel. */
#include "hosts/python/src/values.h"

/* {====== Numbers ====== */

/* Is it one of 2**63 to 2**64 - 1? */
static bool is_u64(PyObject *object) {
  bool is = PyLong_AsUnsignedLongLong(object) != (unsigned long long)-1 || PyErr_Occurred() == NULL;
  PyErr_Clear();
  return is;
}

bool call_read_int(Call *c, int i, PyObject *object, cuttle_ArgKind kind) {
  int overflow;
  c->args[i].kind = kind;
  c->args[i].u.i = PyLong_AsLongLongAndOverflow(object, &overflow);
  if (overflow != 0) {
    PyErr_Format(PyExc_OverflowError, "argument %d is %R; integers of kernels have 64 bits%s",
                 i + 1, object,
                 is_u64(object) ? ": pass n - 2**64, and write cast(n, u64) in the kernel" : "");
  }
  return overflow == 0 && (c->args[i].u.i != -1 || PyErr_Occurred() == NULL);
}

bool call_read_bool(Call *c, int i, PyObject *object) {
  int is_true = PyObject_IsTrue(object);
  c->args[i].kind = CUTTLE_ARG_BOOL;
  c->args[i].u.i = is_true;
  return is_true >= 0;
}

bool call_read_float(Call *c, int i, PyObject *object, cuttle_ArgKind kind) {
  c->args[i].kind = kind;
  c->args[i].u.f = PyFloat_AsDouble(object);
  return c->args[i].u.f != -1.0 || PyErr_Occurred() == NULL;
}

bool call_read_index(Call *c, int i, PyObject *object, cuttle_ArgKind kind) {
  PyObject *n = PyNumber_Index(object);
  bool ok = n != NULL && call_read_int(c, i, n, kind);
  Py_XDECREF(n);
  return ok;
}

/* Memory as another element type of as many bits. */
static bool read_view(Call *c, int i, const Value *v) {
  int n = c->n;
  if (!call_read(c, i, v->object)) {
    return false;
  }
  c->n = n;
  if (value_is_packed(v->dtype)) {
    return false;
  }
  if (c->args[i].kind != CUTTLE_ARG_MEMORY ||
      value_dtype_bytes((int)c->memory[i].dtype) != value_dtype_bytes(v->dtype)) {
    PyErr_Format(PyExc_TypeError,
                 "argument %d: view_as(x, '%s') needs a tensor whose elements have %d "
                 "bits",
                 i + 1, value_dtype_name(v->dtype), 8 * value_dtype_bytes(v->dtype));
    return false;
  }
  c->memory[i].dtype = (cuttle_DType)v->dtype;
  return true;
}

/* cuttle.f64(x), cuttle.i64(n) or cuttle.static(n); a bool is no such number. */
static bool read_typed(Call *c, int i, Value *v) {
  bool is_float = v->kind == CUTTLE_ARG_F64, is_bool = call_is_bool(v->object);
  bool ok = !is_bool && (is_float ? call_read_float(c, i, v->object, CUTTLE_ARG_F64)
                                  : call_read_index(c, i, v->object, (cuttle_ArgKind)v->kind));
  if (!ok && (is_bool || PyErr_ExceptionMatches(PyExc_TypeError))) {
    PyErr_Format(PyExc_TypeError, "argument %d is %R; %s was expected in it", i + 1, (PyObject *)v,
                 is_float ? "a number" : "an integer");
  }
  return ok;
}

bool call_read_value(Call *c, int i, Value *v) {
  return v->kind == CUTTLE_ARG_MEMORY ? read_view(c, i, v) : read_typed(c, i, v);
}

/* {====== Constants of the kernel: texts, tuples of integers and layouts, by their texts ====== */

/* The text as UTF-8, which the call holds. */
bool call_put_text(Call *c, int i, PyObject *text, cuttle_ArgKind kind) {
  char *bytes = NULL;
  c->held[i] = PyUnicode_AsUTF8String(text);
  bool ok = c->held[i] != NULL && PyBytes_AsStringAndSize(c->held[i], &bytes, NULL) == 0;
  c->args[i].kind = kind;
  c->args[i].u.text = bytes;
  return ok;
}

static PyObject *text_of_tuple(PyObject *tuple);

/* Of an integer or a tuple of them; NULL with an exception. */
static PyObject *text_of_part(PyObject *o) {
  if (PyTuple_Check(o)) {
    return text_of_tuple(o);
  }
  PyObject *n = PyNumber_Index(o);
  PyObject *text = n == NULL ? NULL : PyObject_Str(n);
  Py_XDECREF(n);
  return text;
}

/* "(4,(2,3))" of (4, (2, 3)). */
static PyObject *text_of_tuple(PyObject *tuple) {
  Py_ssize_t n = PyTuple_Size(tuple);
  if (Py_EnterRecursiveCall(" in a tuple") != 0) {
    return NULL;
  }
  PyObject *text = PyUnicode_FromString("(");
  for (Py_ssize_t j = 0; j < n && text != NULL; j++) {
    PyObject *part = text_of_part(PyTuple_GetItem(tuple, j));
    PyObject *longer =
        part == NULL ? NULL : PyUnicode_FromFormat("%U%U%s", text, part, j + 1 < n ? "," : "");
    Py_XDECREF(part);
    Py_DECREF(text);
    text = longer;
  }
  Py_LeaveRecursiveCall();
  PyObject *whole = text == NULL ? NULL : PyUnicode_FromFormat("%U)", text);
  Py_XDECREF(text);
  return whole;
}

bool call_read_tuple(Call *c, int i, PyObject *object) {
  PyObject *text = text_of_tuple(object);
  bool ok = text != NULL && call_put_text(c, i, text, CUTTLE_ARG_TUPLE);
  if (text == NULL && PyErr_ExceptionMatches(PyExc_TypeError)) {
    PyErr_Format(PyExc_TypeError,
                 "argument %d is %R; a tuple of integers and of such tuples was expected, a "
                 "constant of the kernel. Others are for a function of the script: "
                 "module.call(name, args, None)",
                 i + 1, object);
  }
  Py_XDECREF(text);
  return ok;
}

bool call_read_layout(Call *c, int i, PyObject *object) {
  PyObject *text = PyObject_GetAttrString(object, "_cuttle_text");
  bool ok = text != NULL && call_put_text(c, i, text, CUTTLE_ARG_LAYOUT);
  Py_XDECREF(text);
  return ok;
}
