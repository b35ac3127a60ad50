/* tensor.c: cuttle.Tensor, what functions of the language return: memory that libraries take by DLPack, and NumPy
   by its array interface. It holds the memory, whether the script does or not. */
#include <string.h>

#include "hosts/python/src/values.h"

enum { MAX_RANK = 32 };

typedef struct Tensor {
  PyObject_HEAD State *state;
  cuttle_Hold *hold; /* of memory of the language; NULL: */
  PyObject *owner;   /* this object has it */
  cuttle_Memory m;
  int64_t extents[2 * MAX_RANK];
} Tensor;

/* A tensor in a capsule, which holds the object. */
typedef struct Shared {
  union {
    DLManaged plain;
    DLVersioned versioned;
  } u;
  PyObject *tensor;
} Shared;

static PyTypeObject *tensor_type;

/* {====== Making ====== */

static bool is_empty(const cuttle_Memory *m) {
  bool is = false;
  for (int i = 0; i < m->rank; i++) {
    is = is || m->shape[i] == 0;
  }
  return is;
}

/* One without elements uses nobody's memory. */
PyObject *tensor_of_result(State *st, int idx, PyObject *(*owner)(void *ud, const cuttle_Memory *m),
                           void *ud) {
  cuttle_Memory m;
  int64_t extents[2 * MAX_RANK];
  if (cuttle_describe(st->S, idx, &m, extents, MAX_RANK) == 0) {
    return NULL;
  }
  cuttle_Hold *hold = cuttle_hold(st->S, idx);
  PyObject *lender = hold == NULL ? owner(ud, &m) : NULL;
  bool is_kept = hold != NULL || lender != NULL || is_empty(&m);
  Tensor *t = is_kept ? (Tensor *)host_new(tensor_type) : NULL;
  if (t == NULL) {
    cuttle_drop(st->S, hold);
    return NULL;
  }
  Py_INCREF(st);
  Py_XINCREF(lender);
  t->state = st;
  t->hold = hold;
  t->owner = lender;
  st->n_holds += hold != NULL;
  memcpy(t->extents, extents, sizeof extents);
  t->m = m;
  t->m.shape = t->extents;
  t->m.stride = t->extents + MAX_RANK;
  return (PyObject *)t;
}

static void tensor_dealloc(PyObject *self) {
  Tensor *t = (Tensor *)self;
  if (t->hold != NULL) {
    state_drop(t->state, t->hold);
  }
  Py_XDECREF(t->owner);
  Py_XDECREF(t->state);
  host_free(self);
}

/* {====== DLPack ====== */

static DLTensor dl_tensor(Tensor *t) {
  return (DLTensor){
      .data = t->m.ptr,
      .device = {t->m.device < 0 ? DL_CPU : DL_CUDA, t->m.device < 0 ? 0 : t->m.device},
      .ndim = t->m.rank,
      .dtype = value_dl_dtype((int)t->m.dtype),
      .shape = t->extents,
      .strides = t->extents + MAX_RANK};
}

/* Comes from any thread. */
static void release(Shared *s) {
  PyGILState_STATE gil = PyGILState_Ensure();
  Py_DECREF(s->tensor);
  PyMem_Free(s);
  PyGILState_Release(gil);
}

static void delete_plain(DLManaged *m) { release(m->context); }
static void delete_versioned(DLVersioned *v) { release(v->context); }

/* Nobody has taken what is in the capsule, or else it has another name. */
static void end_capsule(PyObject *capsule) {
  const char *name = PyCapsule_GetName(capsule);
  if (name != NULL && strncmp(name, "dltensor", 8) == 0) {
    Shared *s = PyCapsule_GetContext(capsule);
    release(s);
  }
}

static PyObject *new_capsule(Tensor *t, bool is_versioned) {
  if (value_is_packed((int)t->m.dtype)) {
    return NULL;
  }
  Shared *s = PyMem_Calloc(1, sizeof *s);
  if (s == NULL) {
    return PyErr_NoMemory();
  }
  s->tensor = (PyObject *)t;
  if (is_versioned) {
    s->u.versioned = (DLVersioned){.version = {DL_MAJOR, 0},
                                   .context = s,
                                   .deleter = delete_versioned,
                                   .flags = t->m.is_read_only ? DL_READ_ONLY : 0,
                                   .tensor = dl_tensor(t)};
  } else {
    s->u.plain = (DLManaged){.tensor = dl_tensor(t), .context = s, .deleter = delete_plain};
  }
  PyObject *capsule =
      PyCapsule_New(&s->u, is_versioned ? "dltensor_versioned" : "dltensor", end_capsule);
  if (capsule == NULL || PyCapsule_SetContext(capsule, s) != 0) {
    PyMem_Free(s);
    return NULL;
  }
  Py_INCREF(s->tensor);
  return capsule;
}

/* What a consumer of CUDA memory does in its stream comes after what was launched so far. */
static bool is_ready(const Tensor *t, PyObject *stream) {
  long number = PyLong_Check(stream) ? PyLong_AsLong(stream) : 0;
  if (t->m.device < 0 || number == -1) {
    return PyErr_Occurred() == NULL;
  }
  PyErr_Clear(); /* a stream's address */
  PyObject *done = t->state->S == NULL
                       ? Py_None
                       : PyObject_CallMethod((PyObject *)t->state, "synchronize", NULL);
  return done != NULL;
}

static bool has_major(PyObject *version) {
  PyObject *major = version == Py_None ? NULL : PySequence_GetItem(version, 0);
  bool is = major != NULL && PyLong_AsLong(major) >= DL_MAJOR;
  Py_XDECREF(major);
  return is;
}

/* The device that a consumer asks for, None or a pair: false with an exception if it is another one. */
static bool is_on(Tensor *t, PyObject *device) {
  DLDevice own = dl_tensor(t).device;
  PyObject *here = Py_BuildValue("(ii)", (int)own.type, (int)own.id);
  int is_here =
      here == NULL || device == Py_None ? 1 : PyObject_RichCompareBool(here, device, Py_EQ);
  Py_XDECREF(here);
  if (is_here == 0) {
    PyErr_Format(PyExc_BufferError,
                 "dl_device is %R; a cuttle.Tensor stays on its own device, (%d, %d)", device,
                 (int)own.type, (int)own.id);
  }
  return is_here == 1 && PyErr_Occurred() == NULL;
}

static PyObject *tensor_dlpack(PyObject *self, PyObject *args, PyObject *kwargs) {
  static const char *const names[] = {"stream", "max_version", "dl_device", "copy", NULL};
  Tensor *t = (Tensor *)self;
  PyObject *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO:__dlpack__", (char **)names, &stream,
                                   &version, &device, &copy)) {
    return NULL;
  }
  bool is_versioned = has_major(version);
  if (copy == Py_True || (t->m.is_read_only && !is_versioned)) {
    PyErr_SetString(PyExc_BufferError, copy == Py_True
                                           ? "a cuttle.Tensor shares its memory and makes no copies"
                                           : "the memory is read-only, which DLPack can express "
                                             "from version 1.0 on; pass max_version=(1, 0)");
    return NULL;
  }
  return PyErr_Occurred() != NULL || !is_on(t, device) || !is_ready(t, stream)
             ? NULL
             : new_capsule(t, is_versioned);
}

static PyObject *tensor_dlpack_device(PyObject *self, PyObject *none) {
  DLTensor d = dl_tensor((Tensor *)self);
  (void)none;
  return Py_BuildValue("(ii)", (int)d.device.type, (int)d.device.id);
}

/* {====== Fields ====== */

static PyObject *tuple_of(const int64_t *numbers, int n, int64_t by) {
  PyObject *tuple = PyTuple_New(n);
  for (int i = 0; tuple != NULL && i < n; i++) {
    PyTuple_SetItem(tuple, i, PyLong_FromLongLong(numbers[i] * by));
  }
  return tuple;
}

static PyObject *tensor_shape(PyObject *self, void *none) {
  const Tensor *t = (const Tensor *)self;
  (void)none;
  return tuple_of(t->m.shape, t->m.rank, 1);
}

static PyObject *tensor_strides(PyObject *self, void *none) {
  const Tensor *t = (const Tensor *)self;
  (void)none;
  return tuple_of(t->m.stride, t->m.rank, 1);
}

static PyObject *tensor_dtype(PyObject *self, void *none) {
  (void)none;
  return PyUnicode_FromString(value_dtype_name((int)((const Tensor *)self)->m.dtype));
}

static PyObject *tensor_device(PyObject *self, void *none) {
  const Tensor *t = (const Tensor *)self;
  (void)none;
  return t->m.device < 0 ? PyUnicode_FromString("cpu")
                         : PyUnicode_FromFormat("cuda:%d", (int)t->m.device);
}

/* NumPy's array interface, of the host's memory and types that NumPy has. */
static PyObject *tensor_interface(PyObject *self, void *none) {
  const Tensor *t = (const Tensor *)self;
  const char *type = value_numpy_type((int)t->m.dtype);
  (void)none;
  if (value_is_packed((int)t->m.dtype)) {
    return NULL;
  }
  if (t->m.device >= 0 || type == NULL) {
    PyErr_SetString(PyExc_AttributeError, "__array_interface__");
    return NULL;
  }
  int bytes = value_dtype_bytes((int)t->m.dtype);
  PyObject *address = PyLong_FromVoidPtr(t->m.ptr);
  PyObject *result =
      address == NULL
          ? NULL
          : Py_BuildValue("{sNsssNs(NO)si}", "shape", tensor_shape(self, NULL), "typestr", type,
                          "strides", tuple_of(t->m.stride, t->m.rank, bytes), "data", address,
                          t->m.is_read_only ? Py_True : Py_False, "version", 3);
  return result;
}

static PyObject *tensor_repr(PyObject *self) {
  const Tensor *t = (const Tensor *)self;
  PyObject *shape = tensor_shape(self, NULL), *device = tensor_device(self, NULL);
  PyObject *text = shape == NULL || device == NULL
                       ? NULL
                       : PyUnicode_FromFormat("<cuttle.Tensor %s %R on %U>",
                                              value_dtype_name((int)t->m.dtype), shape, device);
  Py_XDECREF(shape);
  Py_XDECREF(device);
  return text;
}

/* {====== The type ====== */

static PyObject *refuse_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  (void)args;
  (void)kwargs;
  return PyErr_Format(
      PyExc_TypeError,
      "%R: a tensor comes from a function of the language, as in module.call(\"zeros\", (\"f32\", "
      "4))",
      (PyObject *)type);
}

static PyMethodDef methods[] = {
    {"__dlpack__", (PyCFunction)(void (*)(void))tensor_dlpack, METH_VARARGS | METH_KEYWORDS,
     "The tensor for another library: numpy.from_dlpack(t), torch.from_dlpack(t)."},
    {"__dlpack_device__", tensor_dlpack_device, METH_NOARGS, "Type and number of the device."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef fields[] = {
    {"shape", tensor_shape, NULL, "The extents.", NULL},
    {"strides", tensor_strides, NULL, "The strides, in elements.", NULL},
    {"dtype", tensor_dtype, NULL, "The element type's name in the language.", NULL},
    {"device", tensor_device, NULL, "cpu, or cuda:N.", NULL},
    {"__array_interface__", tensor_interface, NULL, "For NumPy.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

int tensor_open_type(PyObject *module) {
  PyType_Slot slots[] = {HOST_SLOT(Py_tp_new, refuse_new),
                         HOST_SLOT(Py_tp_dealloc, tensor_dealloc),
                         HOST_SLOT(Py_tp_repr, tensor_repr),
                         {Py_tp_methods, methods},
                         {Py_tp_getset, fields},
                         {0, NULL}};
  PyType_Spec spec = {"cuttle.Tensor", sizeof(Tensor), 0, Py_TPFLAGS_DEFAULT, slots};
  PyObject *type = PyType_FromSpec(&spec);
  if (type == NULL) {
    return -1;
  }
  Py_INCREF(type); /* one for us */
  tensor_type = (PyTypeObject *)type;
  return PyModule_AddObject(module, "Tensor", type);
}
