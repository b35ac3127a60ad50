/* arguments.c: Python objects as arguments of launches: numbers, and tensors of any library by DLPack, without
   copies. What a type of objects can do is found out once and remembered. */
#include <string.h>

#include "hosts/python/src/values.h"

/* {====== What types of objects can do ====== */

typedef enum Kind {
  KIND_OTHER, /* neither a tensor nor a number */
  KIND_INT,
  KIND_FLOAT,
  KIND_BOOL,
  KIND_VALUE,
  KIND_EXCHANGE, /* a tensor with the C exchange interface */
  KIND_CAPSULE,  /* a tensor with __dlpack__ */
  KIND_TORCH,    /* PyTorch's, of a version without the interface */
  KIND_INDEX,    /* a number with __index__, or */
  KIND_REAL,     /* with __float__ */
  KIND_TEXT,     /* constants: a text, */
  KIND_TUPLE,    /* a tuple of integers, */
  KIND_LAYOUT,   /* what has its text as _cuttle_text */
  KIND_NONE
} Kind;

typedef struct Row {
  PyObject *type;
  Kind kind;
  bool is_numpy; /* always on the host */
  bool is_cupy;
  bool is_immutable;   /* nobody writes such a tensor: JAX's */
  bool is_torch;       /* has a version and a negative bit */
  bool is_unversioned; /* its __dlpack__ does not know max_version */
  const DLExchange *exchange;
} Row;

enum { MAX_ROWS = 64, N_FIXED = 4 };
static Row rows[MAX_ROWS];
static int n_rows;

static PyObject *versioned_kwargs;          /* {"max_version": (1, 3)} */
static PyObject *no_args;                   /* () */
static PyObject *torch_pack, *torch_stream; /* functions of torch */
static PyObject *text_dlpack, *text_device; /* names of methods */

static Row *add_row(Row row) {
  if (n_rows == MAX_ROWS) { /* a program with that many types begins anew */
    for (int i = N_FIXED; i < n_rows; i++) {
      Py_CLEAR(rows[i].type);
    }
    n_rows = N_FIXED;
  }
  Row *r = &rows[n_rows++];
  *r = row;
  Py_INCREF(row.type);
  return r;
}

static Row *find_row(PyObject *type) {
  for (int i = 0; i < n_rows; i++) {
    if (rows[i].type == type) {
      return &rows[i];
    }
  }
  return NULL;
}

static bool has_attribute(PyObject *o, const char *name) { return PyObject_HasAttrString(o, name); }

/* Does a name that the type has begin so, up to a dot? As its __module__ "torch.nn.parameter" with "torch". */
static bool begins(PyObject *type, const char *attribute, const char *root) {
  PyObject *name = PyObject_GetAttrString(type, attribute);
  PyObject *utf8 = name == NULL ? NULL : PyUnicode_AsUTF8String(name);
  const char *text = utf8 == NULL ? NULL : PyBytes_AsString(utf8);
  size_t n = strlen(root);
  bool is = text != NULL && strncmp(text, root, n) == 0 && (text[n] == '\0' || text[n] == '.');
  PyErr_Clear();
  Py_XDECREF(name);
  Py_XDECREF(utf8);
  return is;
}

/* numpy.bool_, whose name is bool from NumPy 2 on. */
static bool is_numpy_bool(PyObject *type) {
  return begins(type, "__module__", "numpy") &&
         (begins(type, "__name__", "bool_") || begins(type, "__name__", "bool"));
}

/* From the capsule, or the integer that DLPack 1.2 had in its place. */
static const DLExchange *exchange_of(PyObject *type) {
  static const char *const attributes[] = {"__dlpack_c_exchange_api__",
                                           "__c_dlpack_exchange_api__"};
  const DLExchange *found = NULL;
  for (int i = 0; i < 2 && found == NULL; i++) {
    PyObject *o = PyObject_GetAttrString(type, attributes[i]);
    if (o != NULL && PyCapsule_IsValid(o, "dlpack_exchange_api")) {
      found = PyCapsule_GetPointer(o, "dlpack_exchange_api");
    } else if (o != NULL && PyLong_Check(o)) {
      found = PyLong_AsVoidPtr(o);
    }
    PyErr_Clear();
    Py_XDECREF(o);
  }
  while (found != NULL && found->version.major != DL_MAJOR) {
    found = found->older;
  }
  return found;
}

/* {====== torch without the C interface ====== */

static bool open_torch(void) {
  if (torch_pack == NULL) {
    torch_pack = torch_attribute("utils.dlpack.to_dlpack");
  }
  return torch_pack != NULL;
}

/* The current stream's number; false with an exception. */
static bool stream_of_torch(int device, void **out) {
  if (torch_stream == NULL) {
    torch_stream = torch_attribute("_C._cuda_getCurrentRawStream");
  }
  PyObject *n = torch_stream == NULL ? NULL : PyObject_CallFunction(torch_stream, "i", device);
  if (n == NULL) { /* no private function of that name: the public way */
    PyErr_Clear();
    PyObject *fn = torch_attribute("cuda.current_stream");
    PyObject *stream = fn == NULL ? NULL : PyObject_CallFunction(fn, "i", device);
    n = stream == NULL ? NULL : PyObject_GetAttrString(stream, "cuda_stream");
    Py_XDECREF(fn);
    Py_XDECREF(stream);
  }
  *out = n == NULL ? NULL : PyLong_AsVoidPtr(n);
  Py_XDECREF(n);
  return PyErr_Occurred() == NULL;
}

/* {====== Finding out ====== */

/* Asking a type runs code of Python, in which other threads may run: a row is added when it is whole. */
static Row *learn(PyObject *type) {
  Row row = {.type = type, .kind = KIND_OTHER, .exchange = exchange_of(type)};
  row.is_immutable = begins(type, "__module__", "jaxlib") || begins(type, "__module__", "jax");
  row.is_torch = has_attribute(type, "__torch_function__") && has_attribute(type, "is_neg");
  if (row.exchange != NULL) {
    row.kind = KIND_EXCHANGE;
  } else if (is_numpy_bool(type)) {
    row.kind = KIND_BOOL;
  } else if (has_attribute(type, "__dlpack__")) {
    bool is_torch = has_attribute(type, "__torch_function__") && open_torch();
    PyErr_Clear();
    row.kind = is_torch ? KIND_TORCH : KIND_CAPSULE;
    row.is_numpy = begins(type, "__module__", "numpy");
    row.is_cupy = begins(type, "__module__", "cupy");
  } else if (PyType_IsSubtype((PyTypeObject *)type, &PyFloat_Type)) {
    row.kind = KIND_FLOAT;
  } else if (PyType_IsSubtype((PyTypeObject *)type, &PyUnicode_Type)) {
    row.kind = KIND_TEXT;
  } else if (PyType_IsSubtype((PyTypeObject *)type, &PyTuple_Type)) {
    row.kind = KIND_TUPLE;
  } else if (has_attribute(type, "_cuttle_text")) {
    row.kind = KIND_LAYOUT;
  } else if (has_attribute(type, "__index__")) {
    row.kind = KIND_INDEX;
  } else if (has_attribute(type, "__float__")) {
    row.kind = KIND_REAL;
  }
  Row *other = find_row(type);
  return other != NULL ? other : add_row(row);
}

static inline Row *row_of(PyObject *object) {
  PyObject *type = (PyObject *)Py_TYPE(object);
  Row *r = find_row(type);
  return r != NULL ? r : learn(type);
}

PyObject *call_as_number(PyObject *object) {
  Kind kind = row_of(object)->kind;
  return kind == KIND_INDEX  ? PyNumber_Index(object)
         : kind == KIND_REAL ? PyNumber_Float(object)
                             : NULL;
}

bool call_is_bool(PyObject *object) { return row_of(object)->kind == KIND_BOOL; }

bool call_is_tensor(PyObject *object) {
  Kind kind = row_of(object)->kind;
  return kind == KIND_EXCHANGE || kind == KIND_CAPSULE || kind == KIND_TORCH ||
         (kind == KIND_VALUE && ((const Value *)object)->kind == CUTTLE_ARG_MEMORY);
}

bool call_is_torch(PyObject *object) { return row_of(object)->is_torch; }

/* {====== Tensors ====== */

static bool place_tensor(Call *c, int i, const DLTensor *t, bool is_read_only) {
  cuttle_Memory *m = &c->memory[i];
  if (!value_read_dtype(t->dtype, i, &m->dtype)) {
    return false;
  }
  switch (t->device.type) {
    case DL_CPU:
    case DL_CUDA_HOST: m->device = -1; break;
    case DL_CUDA:
    case DL_CUDA_MANAGED: m->device = t->device.id; break;
    default:
      PyErr_Format(PyExc_TypeError,
                   "argument %d is on a device of DLPack's type %d; the host (1) or a CUDA device "
                   "(2) was expected",
                   i + 1, (int)t->device.type);
      return false;
  }
  m->ptr = t->data == NULL ? NULL : (char *)t->data + t->byte_offset;
  m->shape = t->shape;
  m->stride = t->strides;
  m->rank = t->ndim;
  m->is_read_only = is_read_only;
  c->args[i] = cuttle_memory(m);
  return true;
}

/* The first CUDA tensor says in which stream the launch goes. */
static bool exchange_stream(Call *c, const DLExchange *x, int device) {
  if (c->device >= 0) {
    return true;
  }
  c->device = device;
  return x->current_stream == NULL || x->current_stream(DL_CUDA, device, &c->stream) == 0;
}

static void release_versioned(PyObject *capsule) {
  DLVersioned *v = PyCapsule_GetPointer(capsule, "cuttle");
  if (v != NULL && v->deleter != NULL) {
    v->deleter(v);
  }
}

static bool read_exchange_slowly(Call *c, int i, PyObject *object, const DLExchange *x,
                                 DLTensor *out, bool *is_read_only) {
  DLVersioned *v = NULL;
  if (x->managed_from_object(object, &v) != 0) {
    return false;
  }
  *out = v->tensor;
  *is_read_only = (v->flags & DL_READ_ONLY) != 0;
  c->held[i] = PyCapsule_New(v, "cuttle", release_versioned);
  if (c->held[i] == NULL && v->deleter != NULL) {
    v->deleter(v);
  }
  return c->held[i] != NULL;
}

static bool read_as_bytes(Call *c, int i, PyObject *object);

static bool read_exchange(Call *c, int i, PyObject *object, const Row *row) {
  const DLExchange *x = row->exchange;
  DLTensor t;
  bool is_read_only = false;
  bool ok = x->tensor_from_object != NULL
                ? x->tensor_from_object(object, &t) == 0
                : read_exchange_slowly(c, i, object, x, &t, &is_read_only);
  ok = ok ? place_tensor(c, i, &t, is_read_only) : read_as_bytes(c, i, object);
  return ok && (c->memory[i].device < 0 || exchange_stream(c, x, c->memory[i].device));
}

/* {====== Capsules ====== */

/* False, with advice: some stride is negative, which views such as x[::-1] have. */
static bool goes_forward(const DLTensor *t, int i) {
  for (int d = 0; t->strides != NULL && d < t->ndim; d++) {
    if (t->strides[d] < 0 && t->shape[d] > 1) {
      PyErr_Format(
          PyExc_ValueError,
          "argument %d has stride %lld in mode %d, as a view like x[::-1] has; strides must be "
          ">= 0. Pass a copy: numpy.ascontiguousarray(x)",
          i + 1, (long long)t->strides[d], d);
      return false;
    }
  }
  return true;
}

static bool read_versioned(Call *c, int i, PyObject *capsule) {
  const DLVersioned *v = PyCapsule_GetPointer(capsule, "dltensor_versioned");
  if (v == NULL) {
    return false;
  }
  if (v->version.major != DL_MAJOR) {
    PyErr_Format(PyExc_BufferError,
                 "argument %d comes as DLPack %d.%d; major version %d was expected", i + 1,
                 (int)v->version.major, (int)v->version.minor, DL_MAJOR);
    return false;
  }
  if ((v->flags & DL_IS_COPIED) != 0) {
    PyErr_Format(PyExc_BufferError,
                 "argument %d cannot be shared: its library made a copy, and what a kernel writes "
                 "would be lost",
                 i + 1);
    return false;
  }
  return goes_forward(&v->tensor, i) &&
         place_tensor(c, i, &v->tensor, (v->flags & DL_READ_ONLY) != 0);
}

/* The capsule stays as it is, so its own destructor lets the memory go when the call ends. */
static bool read_capsule(Call *c, int i, PyObject *capsule) {
  c->held[i] = capsule;
  if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
    return read_versioned(c, i, capsule);
  }
  const DLManaged *m = PyCapsule_GetPointer(capsule, "dltensor");
  return m != NULL && goes_forward(&m->tensor, i) && place_tensor(c, i, &m->tensor, false);
}

/* The element type that a library has but does not export: newer versions of torch, and for NumPy the package
   ml_dtypes, and bools before 1.25. Its memory goes as integers of as many bytes. 0: it is none of these. */
static int unexported_of(PyObject *object, bool *is_torch) {
  PyObject *dtype = PyObject_GetAttrString(object, "dtype");
  PyObject *text = dtype == NULL ? NULL : PyObject_Str(dtype);
  int found = text == NULL ? 0 : value_dtype_of_text(text, is_torch);
  PyErr_Clear(); /* it has no dtype */
  Py_XDECREF(dtype);
  Py_XDECREF(text);
  return found;
}

/* Some versions of torch do not export float8: the same memory as bytes. */
static bool read_float8(Call *c, int i, PyObject *object, int dtype) {
  PyErr_Clear();
  PyObject *bytes = open_torch() ? torch_attribute("uint8") : NULL;
  PyObject *view = bytes == NULL ? NULL : PyObject_CallMethod(object, "view", "O", bytes);
  PyObject *capsule = view == NULL ? NULL : PyObject_CallFunctionObjArgs(torch_pack, view, NULL);
  Py_XDECREF(bytes);
  Py_XDECREF(view);
  if (capsule == NULL || !read_capsule(c, i, capsule)) {
    return false;
  }
  c->memory[i].dtype = (cuttle_DType)dtype;
  return true;
}

/* After a failure: another way for what is such a type, else the exception stays. */
static bool read_as_bytes(Call *c, int i, PyObject *object) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  bool is_torch = false;
  int dtype = unexported_of(object, &is_torch);
  PyErr_Restore(type, value, trace);
  return is_torch && value_dtype_bytes(dtype) == 1 && read_float8(c, i, object, dtype);
}

static bool pack_torch(Call *c, int i, PyObject *object) {
  PyObject *capsule = PyObject_CallFunctionObjArgs(torch_pack, object, NULL);
  return capsule != NULL ? read_capsule(c, i, capsule) : read_as_bytes(c, i, object);
}

static bool read_torch(Call *c, int i, PyObject *object) {
  if (!pack_torch(c, i, object)) {
    return false;
  }
  int device = c->memory[i].device;
  if (device < 0 || c->device >= 0) {
    return true;
  }
  c->device = device;
  return stream_of_torch(device, &c->stream);
}

static bool stream_of_cupy(int device, void **out) {
  PyObject *cuda = PyImport_ImportModule("cupy.cuda");
  PyObject *stream =
      cuda == NULL ? NULL : PyObject_CallMethod(cuda, "get_current_stream", "i", device);
  PyObject *n = stream == NULL ? NULL : PyObject_GetAttrString(stream, "ptr");
  *out = n == NULL ? NULL : PyLong_AsVoidPtr(n);
  Py_XDECREF(cuda);
  Py_XDECREF(stream);
  Py_XDECREF(n);
  return PyErr_Occurred() == NULL;
}

/* __dlpack_device__(): false with an exception. */
static bool read_device(PyObject *object, long *type, long *id) {
  PyObject *pair = PyObject_CallMethodObjArgs(object, text_device, NULL);
  PyObject *t = pair == NULL ? NULL : PySequence_GetItem(pair, 0);
  PyObject *n = pair == NULL ? NULL : PySequence_GetItem(pair, 1);
  *type = t == NULL ? 0 : PyLong_AsLong(t);
  *id = n == NULL ? 0 : PyLong_AsLong(n);
  Py_XDECREF(pair);
  Py_XDECREF(t);
  Py_XDECREF(n);
  return PyErr_Occurred() == NULL;
}

/* __dlpack__(stream=, max_version=); `stream` NULL: that of the host, which has none. */
static PyObject *call_dlpack(PyObject *object, Row *row, PyObject *stream) {
  PyObject *method = PyObject_GetAttr(object, text_dlpack);
  PyObject *capsule = NULL, *kwargs = NULL;
  if (method != NULL && !row->is_unversioned) {
    kwargs = stream == NULL ? versioned_kwargs : PyDict_Copy(versioned_kwargs);
    bool ok =
        kwargs != NULL && (stream == NULL || PyDict_SetItemString(kwargs, "stream", stream) == 0);
    capsule = ok ? PyObject_Call(method, no_args, kwargs) : NULL;
    row->is_unversioned = ok && capsule == NULL && PyErr_ExceptionMatches(PyExc_TypeError);
    if (kwargs != versioned_kwargs) {
      Py_XDECREF(kwargs);
    }
  }
  if (method != NULL && row->is_unversioned) {
    PyErr_Clear();
    kwargs = stream == NULL ? NULL : Py_BuildValue("{sO}", "stream", stream);
    capsule = PyObject_Call(method, no_args, kwargs);
    Py_XDECREF(kwargs);
  }
  Py_XDECREF(method);
  return capsule;
}

/* The stream that the producer is to wait for: that of the launch. 1 is CUDA's default stream. */
static PyObject *consumer_stream(Call *c, const Row *row, int device) {
  if (c->device < 0) {
    c->device = device;
    if (row->is_cupy && !stream_of_cupy(device, &c->stream)) {
      return NULL;
    }
  }
  return c->stream == NULL ? PyLong_FromLong(1) : PyLong_FromVoidPtr(c->stream);
}

/* After a failure of NumPy: the array as integers, if its type is one of those. */
static bool read_as_integers(Call *c, int i, PyObject *object, Row *row) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  bool is_torch = false;
  int dtype = unexported_of(object, &is_torch);
  if (dtype == 0 || is_torch) {
    PyErr_Restore(type, value, trace);
    return false;
  }
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  PyObject *view =
      PyObject_CallMethod(object, "view", "s", value_dtype_bytes(dtype) == 1 ? "uint8" : "uint16");
  PyObject *capsule = view == NULL ? NULL : call_dlpack(view, row, NULL);
  Py_XDECREF(view);
  if (capsule == NULL || !read_capsule(c, i, capsule)) {
    return false;
  }
  c->memory[i].dtype = (cuttle_DType)dtype;
  return true;
}

static bool is_frozen(PyObject *array) {
  PyObject *flags = PyObject_GetAttrString(array, "flags");
  PyObject *writeable = flags == NULL ? NULL : PyObject_GetAttrString(flags, "writeable");
  bool is_false = writeable == Py_False;
  PyErr_Clear();
  Py_XDECREF(flags);
  Py_XDECREF(writeable);
  return is_false;
}

/* After a failure: which argument its library does not lend. */
static bool not_lent(int i, PyObject *object, const Row *row) {
  PyObject *type, *value, *trace;
  if (PyErr_ExceptionMatches(PyExc_BufferError)) {
    PyErr_Fetch(&type, &value, &trace);
    bool advise = row->is_numpy && is_frozen(object);
    PyErr_Format(PyExc_BufferError, "argument %d: %S%s", i + 1, value == NULL ? type : value,
                 advise ? " NumPy lends read-only arrays from 2.1 on; pass x.copy()" : "");
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
  }
  return false;
}

static bool read_by_capsule(Call *c, int i, PyObject *object, Row *row) {
  long type = DL_CPU, id = 0;
  PyObject *stream = NULL;
  if (!row->is_numpy && !read_device(object, &type, &id)) {
    return false;
  }
  if (type == DL_CUDA || type == DL_CUDA_MANAGED) {
    stream = consumer_stream(c, row, (int)id);
    if (stream == NULL) {
      return false;
    }
  }
  PyObject *capsule = call_dlpack(object, row, stream);
  Py_XDECREF(stream);
  if (capsule != NULL) {
    return read_capsule(c, i, capsule);
  }
  return (row->is_numpy && read_as_integers(c, i, object, row)) || not_lent(i, object, row);
}

static bool refuse(int i, PyObject *object) {
  PyErr_Format(PyExc_TypeError,
               "argument %d is %R; a number, a layout or a tensor was expected: an object with "
               "__dlpack__, as PyTorch, CuPy, NumPy and JAX have",
               i + 1, (PyObject *)Py_TYPE(object));
  return false;
}

/* {====== Calls ====== */

bool call_begin(Call *c, Py_ssize_t n) {
  c->n = 0;
  c->device = -1;
  c->has_torch = false;
  c->stream = NULL;
  c->block = NULL;
  c->args = c->few_args;
  c->memory = c->few_memory;
  c->held = c->few_held;
  if (n <= CALL_FEW) {
    return true;
  }
  size_t each = sizeof *c->args + sizeof *c->memory + sizeof *c->held;
  c->block = n > 1 << 20 ? NULL : PyMem_Malloc((size_t)n * each);
  if (c->block == NULL) {
    PyErr_NoMemory();
    return false;
  }
  c->memory = c->block;
  c->args = (cuttle_Arg *)(void *)(c->memory + n);
  c->held = (PyObject **)(void *)(c->args + n);
  return true;
}

/* What the libraries' interfaces do not say of their tensors. */
static bool finish_tensor(Call *c, int i, PyObject *object, const Row *row) {
  cuttle_Memory *m = &c->memory[i];
  m->is_read_only = m->is_read_only || row->is_immutable;
  c->has_torch = c->has_torch || row->is_torch;
  return !row->is_torch || torch_refuse_negative(i, object, m);
}

static bool read_tensor(Call *c, int i, PyObject *object, Row *row) {
  bool ok = row->kind == KIND_EXCHANGE  ? read_exchange(c, i, object, row)
            : row->kind == KIND_CAPSULE ? read_by_capsule(c, i, object, row)
                                        : read_torch(c, i, object);
  return ok && finish_tensor(c, i, object, row);
}

bool call_read(Call *c, int i, PyObject *object) {
  c->n = i + 1;
  c->held[i] = NULL;
  Row *row = row_of(object);
  switch (row->kind) {
    case KIND_EXCHANGE:
    case KIND_CAPSULE:
    case KIND_TORCH: return read_tensor(c, i, object, row);
    case KIND_INT: return call_read_int(c, i, object, CUTTLE_ARG_INT);
    case KIND_FLOAT:
    case KIND_REAL: return call_read_float(c, i, object, CUTTLE_ARG_FLOAT);
    case KIND_BOOL: return call_read_bool(c, i, object);
    case KIND_INDEX: return call_read_index(c, i, object, CUTTLE_ARG_INT);
    case KIND_VALUE: return call_read_value(c, i, (Value *)object);
    case KIND_TEXT: return call_put_text(c, i, object, CUTTLE_ARG_TEXT);
    case KIND_TUPLE: return call_read_tuple(c, i, object);
    case KIND_LAYOUT: return call_read_layout(c, i, object);
    case KIND_NONE: c->args[i] = cuttle_nil(); return true;
    case KIND_OTHER: break;
  }
  return refuse(i, object);
}

void call_end(Call *c) {
  for (int i = 0; i < c->n; i++) {
    Py_CLEAR(c->held[i]);
  }
  if (c->block != NULL) {
    PyMem_Free(c->block);
  }
}

/* {====== Opening ====== */

int arguments_open(PyObject *module) {
  versioned_kwargs = Py_BuildValue("{s(ii)}", "max_version", 1, 3);
  no_args = PyTuple_New(0);
  text_dlpack = PyUnicode_InternFromString("__dlpack__");
  text_device = PyUnicode_InternFromString("__dlpack_device__");
  PyObject *value = value_open_type(module);
  if (value == NULL || versioned_kwargs == NULL || no_args == NULL || text_dlpack == NULL ||
      text_device == NULL) {
    return -1;
  }
  add_row((Row){.type = (PyObject *)&PyLong_Type, .kind = KIND_INT});
  add_row((Row){.type = (PyObject *)&PyFloat_Type, .kind = KIND_FLOAT});
  add_row((Row){.type = (PyObject *)&PyBool_Type, .kind = KIND_BOOL});
  add_row((Row){.type = value, .kind = KIND_VALUE});
  add_row((Row){.type = (PyObject *)Py_TYPE(Py_None), .kind = KIND_NONE});
  return 0;
}
