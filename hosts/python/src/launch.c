/* launch.c: kernels, and kernels with a grid and a block: k[grid, block](arguments...). Both are called on the
   path of every launch, so they allocate nothing that the last call did not. */
#include <stddef.h>

#include "hosts/python/src/host.h"

/* The vectorcall protocol, whose names are in the limited API from 3.12 on; it is the same since 3.9. */
typedef PyObject *(*Vectorcall)(PyObject *self, PyObject *const *args, size_t nargsf,
                                PyObject *kwnames);
#define HAVE_VECTORCALL (1UL << 11)
#define ARGUMENTS_OFFSET ((size_t)1 << (8 * sizeof(size_t) - 1))
enum { MEMBER_PYSSIZET = 19, MEMBER_READONLY = 1 }; /* structmember.h, which is not in it either */
typedef struct Member {
  const char *name;
  int type;
  Py_ssize_t offset;
  int flags;
  const char *doc;
} Member;

typedef struct Launch {
  PyObject_HEAD Vectorcall call;
  State *state;
  cuttle_Kernel *kernel;
  PyObject *name;
  PyObject *parameters; /* their names, once somebody asked */
  PyObject *grid;       /* a function of the arguments, or NULL */
  cuttle_Launch options;
  bool has_stream; /* the caller's own choice, instead of the current one */
} Launch;

typedef struct Kernel {
  PyObject_HEAD State *state;
  cuttle_Kernel *kernel;
  PyObject *name;
  PyObject *parameters; /* their names, once somebody asked */
  PyObject *key;        /* of the last launch k[key], or NULL */
  Launch *last;
  struct Kernel *next; /* of the state's */
} Kernel;

static PyTypeObject *launch_type, *kernel_type;

/* {====== Grid and block ====== */

/* An integer, which True and False are not here, from 0 on. */
static bool read_extent(PyObject *o, uint32_t *out, const char *what) {
  PyObject *n = PyBool_Check(o) ? NULL : PyNumber_Index(o);
  if (n == NULL && (PyErr_Occurred() == NULL || PyErr_ExceptionMatches(PyExc_TypeError))) {
    PyErr_Format(PyExc_TypeError, "%s: %R; an integer%s was expected", what, o,
                 strcmp(what, "smem") == 0 ? "" : " or a tuple of up to three");
  }
  if (n == NULL) {
    return false;
  }
  int overflow;
  long long v = PyLong_AsLongLongAndOverflow(n, &overflow);
  bool fits = overflow == 0 && v >= 0 && v <= INT32_MAX;
  if (!fits) {
    PyErr_Format(PyExc_ValueError, "%s: %R; an integer from 0 to 2^31 - 1 was expected", what, n);
  }
  Py_DECREF(n);
  *out = fits ? (uint32_t)v : 0;
  return fits;
}

static bool read_dim3(PyObject *o, cuttle_Dim3 *out, const char *what) {
  *out = (cuttle_Dim3){1, 1, 1};
  if (!PyTuple_Check(o)) {
    return read_extent(o, &out->x, what);
  }
  Py_ssize_t n = PyTuple_Size(o);
  if (n < 1 || n > 3) {
    PyErr_Format(PyExc_ValueError, "%s: %zd extents; expected one to three", what, n);
    return false;
  }
  return read_extent(PyTuple_GetItem(o, 0), &out->x, what) &&
         (n < 2 || read_extent(PyTuple_GetItem(o, 1), &out->y, what)) &&
         (n < 3 || read_extent(PyTuple_GetItem(o, 2), &out->z, what));
}

/* {====== Calling ====== */

/* The grid that a function of the arguments chooses: it gets a dict of them by name. */
static bool choose_grid(Launch *l, int n, PyObject *const *objects, cuttle_Dim3 *out) {
  PyObject *names = names_of(l->state, l->kernel, &l->parameters);
  PyObject *dict = names == NULL ? NULL : names_dict(names, objects, n);
  PyObject *grid = dict == NULL ? NULL : PyObject_CallFunctionObjArgs(l->grid, dict, NULL);
  bool ok = grid != NULL && read_dim3(grid, out, "grid");
  Py_XDECREF(dict);
  Py_XDECREF(grid);
  return ok;
}

static PyObject *run(Launch *l, Call *c, PyObject *const *objects) {
  cuttle_Launch o = l->options;
  State *st = l->state;
  PyObject *result = Py_None;
  if ((l->grid != NULL && !choose_grid(l, c->n, objects, &o.grid)) || !state_enter(st)) {
    return NULL;
  }
  if (c->device >= 0 && !l->has_stream) {
    o.use_stream = 1;
    o.stream = c->stream;
  }
  PyThreadState *thread = wait_begin();
  cuttle_Status status = cuttle_launch_with(st->S, l->kernel, &o, c->n, c->args);
  wait_end(thread);
  uint64_t written = c->has_torch ? cuttle_written(st->S) : 0;
  if (!state_succeeded(st, status)) {
    result = NULL;
  }
  state_leave(st);
  if (result != NULL && written != 0 && !torch_was_written(c->n, objects, written)) {
    result = NULL;
  }
  Py_XINCREF(result);
  return result;
}

static PyObject *call_in_order(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  PyObject *result = NULL;
  Call c;
  if (!call_begin(&c, n)) {
    return NULL;
  }
  int i = 0;
  while (i < n && call_read(&c, i, args[i])) {
    i++;
  }
  if (i == n) {
    result = run((Launch *)self, &c, args);
  }
  call_end(&c);
  return result;
}

/* The arguments of a tuple. */
static PyObject *call_tuple(PyObject *self, PyObject *args) {
  PyObject *few[CALL_FEW] = {NULL};
  Py_ssize_t n = PyTuple_Size(args);
  PyObject **all = n <= CALL_FEW ? few : PyMem_Calloc((size_t)n, sizeof *all);
  if (all == NULL) {
    return PyErr_NoMemory();
  }
  for (Py_ssize_t i = 0; i < n; i++) {
    all[i] = PyTuple_GetItem(args, i);
  }
  PyObject *result = call_in_order(self, all, n);
  if (all != few) {
    PyMem_Free(all);
  }
  return result;
}

static PyObject *call_by_name(PyObject *self, PyObject *const *args, Py_ssize_t n,
                              PyObject *given) {
  Launch *l = (Launch *)self;
  PyObject *names = names_of(l->state, l->kernel, &l->parameters);
  PyObject *bound = names == NULL ? NULL : names_bind(names, l->name, args, n, given);
  PyObject *result = bound == NULL ? NULL : call_tuple(self, bound);
  Py_XDECREF(bound);
  return result;
}

static PyObject *launch_call(PyObject *self, PyObject *const *args, size_t nargsf,
                             PyObject *kwnames) {
  Py_ssize_t n = (Py_ssize_t)(nargsf & ~ARGUMENTS_OFFSET);
  return kwnames != NULL && PyTuple_Size(kwnames) > 0 ? call_by_name(self, args, n, kwnames)
                                                      : call_in_order(self, args, n);
}

/* The same as vectorcall has it: values of names after the others. */
static PyObject *call_dict(PyObject *self, PyObject *args, PyObject *kwargs) {
  PyObject *values = PyDict_Values(kwargs), *keys = PyDict_Keys(kwargs);
  PyObject *names = keys == NULL ? NULL : PyList_AsTuple(keys), *result = NULL;
  Py_ssize_t n = PyTuple_Size(args), n_values = PyDict_Size(kwargs);
  PyObject **all = PyMem_Calloc((size_t)(n + n_values), sizeof *all);
  for (Py_ssize_t i = 0; all != NULL && values != NULL && i < n + n_values; i++) {
    all[i] = i < n ? PyTuple_GetItem(args, i) : PyList_GetItem(values, i - n);
  }
  if (all != NULL && values != NULL && names != NULL) {
    result = call_by_name(self, all, n, names);
  } else if (PyErr_Occurred() == NULL) {
    PyErr_NoMemory();
  }
  PyMem_Free(all);
  Py_XDECREF(values);
  Py_XDECREF(keys);
  Py_XDECREF(names);
  return result;
}

/* For callers that do not know vectorcall. */
static PyObject *launch_call_tuple(PyObject *self, PyObject *args, PyObject *kwargs) {
  return kwargs != NULL && PyDict_Size(kwargs) > 0 ? call_dict(self, args, kwargs)
                                                   : call_tuple(self, args);
}

/* {====== Making launches ====== */

/* A grid, or a function of the arguments that gives one: borrowed. */
static bool read_grid(PyObject *grid, cuttle_Launch *o, PyObject **function) {
  bool is_function = PyCallable_Check(grid) == 1;
  *function = is_function ? grid : NULL;
  o->grid = (cuttle_Dim3){1, 1, 1};
  return is_function || read_dim3(grid, &o->grid, "grid");
}

static bool read_key(PyObject *key, cuttle_Launch *o, PyObject **function) {
  if (!PyTuple_Check(key) || PyTuple_Size(key) != 2) {
    PyErr_Format(PyExc_TypeError, "k[%R]: a kernel is launched with k[grid, block](arguments...)",
                 key);
    return false;
  }
  return read_grid(PyTuple_GetItem(key, 0), o, function) &&
         read_dim3(PyTuple_GetItem(key, 1), &o->block, "block");
}

static void set_grid(Launch *l, PyObject *function) {
  Py_XINCREF(function);
  Py_XDECREF(l->grid);
  l->grid = function;
}

static Launch *launch_new(const Kernel *k, const cuttle_Launch *o, PyObject *function) {
  Launch *l = (Launch *)host_new(launch_type);
  if (l != NULL) {
    Py_INCREF(k->state);
    Py_INCREF(k->name);
    l->state = k->state;
    l->kernel = k->kernel;
    l->name = k->name;
    l->options = *o;
    l->call = launch_call;
    set_grid(l, function);
  }
  return l;
}

/* k[grid, block]: the launch of the last time, if nobody else has it or it is the same. */
static PyObject *kernel_subscript(PyObject *self, PyObject *key) {
  Kernel *k = (Kernel *)self;
  if (key != k->key || k->last == NULL) {
    cuttle_Launch o = {.size = sizeof o};
    PyObject *function;
    if (!read_key(key, &o, &function)) {
      return NULL;
    }
    if (k->last != NULL && Py_REFCNT(k->last) == 1) {
      k->last->options = o;
      set_grid(k->last, function);
    } else {
      Py_CLEAR(k->last);
      k->last = launch_new(k, &o, function);
    }
    Py_INCREF(key);
    Py_XDECREF(k->key);
    k->key = key;
  }
  Py_XINCREF(k->last);
  return (PyObject *)k->last;
}

static bool read_stream(PyObject *o, Launch *l) {
  PyObject *n = PyObject_HasAttrString(o, "cuda_stream") ? PyObject_GetAttrString(o, "cuda_stream")
                : PyObject_HasAttrString(o, "ptr")       ? PyObject_GetAttrString(o, "ptr")
                                                         : PyNumber_Index(o);
  if (n == NULL && PyErr_ExceptionMatches(PyExc_TypeError)) {
    PyErr_Format(
        PyExc_TypeError,
        "stream: %R; a stream of PyTorch or CuPy, or the address of a CUstream, was expected", o);
  }
  l->has_stream = n != NULL;
  l->options.use_stream = 1;
  l->options.stream = n == NULL ? NULL : PyLong_AsVoidPtr(n);
  Py_XDECREF(n);
  return PyErr_Occurred() == NULL;
}

static bool is_text(PyObject *o, const char *text) {
  return PyUnicode_Check(o) && PyUnicode_CompareWithASCIIString(o, text) == 0;
}

static bool read_print_order(PyObject *o, cuttle_Launch *out) {
  bool is_known = is_text(o, "thread") || is_text(o, "run");
  out->print_order = is_text(o, "run") ? CUTTLE_PRINT_AS_RUN : CUTTLE_PRINT_BY_THREAD;
  if (!is_known) {
    PyErr_Format(PyExc_ValueError, "print_order: %R; 'thread' or 'run' was expected", o);
  }
  return is_known;
}

/* A field of the dict `check`: the bit that it sets. */
static bool read_check_field(PyObject *key, PyObject *value, unsigned *out) {
  bool is_on = value == Py_True;
  unsigned bit = is_text(key, "nan")        ? CUTTLE_CHECK_NAN
                 : is_text(key, "overflow") ? CUTTLE_CHECK_OVERFLOW
                 : is_text(key, "global")   ? CUTTLE_CHECK_NO_GLOBAL
                                            : 0;
  if (bit == 0 || !PyBool_Check(value)) {
    PyErr_Format(PyExc_ValueError,
                 "check: %R is %R; nan, overflow or global, which are True or False, were expected",
                 key, value);
    return false;
  }
  *out |= is_on != (bit == CUTTLE_CHECK_NO_GLOBAL) ? bit : 0;
  return true;
}

/* True, False, or a dict with fields, as in scripts. */
static bool read_check(PyObject *o, unsigned *out) {
  PyObject *key, *value;
  Py_ssize_t at = 0;
  bool is_dict = PyDict_Check(o);
  if (!is_dict && !PyBool_Check(o)) {
    PyErr_Format(PyExc_TypeError, "check: %R; True, or a dict such as {'nan': True}, was expected",
                 o);
    return false;
  }
  *out = is_dict || o == Py_True ? CUTTLE_CHECK : 0;
  while (is_dict && PyDict_Next(o, &at, &key, &value)) {
    if (!read_check_field(key, value, out)) {
      return false;
    }
  }
  return true;
}

/* The options of interp/launch/launch_options.def; None: it is not given. */
static PyObject *kernel_config(PyObject *self, PyObject *args, PyObject *kwargs) {
  static const char *const names[] = {"grid",        "block", "cluster",     "smem",
                                      "stream",      "pdl",   "cooperative", "deterministic",
                                      "print_order", "check", NULL};
  PyObject *grid, *block, *function,
      *cluster = Py_None, *stream = Py_None, *smem = Py_None, *pdl = Py_False,
      *cooperative = Py_False, *deterministic = Py_False, *print_order = Py_None, *check = Py_None;
  cuttle_Launch o = {.size = sizeof o};
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|$OOOOOOOO:config", (char **)names, &grid,
                                   &block, &cluster, &smem, &stream, &pdl, &cooperative,
                                   &deterministic, &print_order, &check) ||
      !host_read_flag("pdl", pdl, &o.pdl) ||
      !host_read_flag("cooperative", cooperative, &o.cooperative) ||
      !host_read_flag("deterministic", deterministic, &o.deterministic) ||
      !read_grid(grid, &o, &function) || !read_dim3(block, &o.block, "block") ||
      (cluster != Py_None && !read_dim3(cluster, &o.cluster, "cluster")) ||
      (smem != Py_None && !read_extent(smem, &o.shared_bytes, "smem")) ||
      (print_order != Py_None && !read_print_order(print_order, &o)) ||
      (check != Py_None && !read_check(check, &o.check))) {
    return NULL;
  }
  Launch *l = launch_new((Kernel *)self, &o, function);
  if (l != NULL && stream != Py_None && !read_stream(stream, l)) {
    Py_CLEAR(l);
  }
  return (PyObject *)l;
}

/* {====== Objects ====== */

static void launch_dealloc(PyObject *self) {
  Launch *l = (Launch *)self;
  Py_XDECREF(l->parameters);
  Py_XDECREF(l->grid);
  Py_XDECREF(l->state);
  Py_XDECREF(l->name);
  host_free(self);
}

static void forget_kernel(const Kernel *k) {
  Kernel **p = &k->state->kernels;
  while (*p != k) {
    p = &(*p)->next;
  }
  *p = k->next;
}

static void kernel_dealloc(PyObject *self) {
  Kernel *k = (Kernel *)self;
  forget_kernel(k);
  Py_XDECREF(k->parameters);
  Py_XDECREF(k->last);
  Py_XDECREF(k->key);
  Py_XDECREF(k->state);
  Py_XDECREF(k->name);
  host_free(self);
}

static PyObject *launch_repr(PyObject *self) {
  const Launch *l = (const Launch *)self;
  const cuttle_Launch *o = &l->options;
  if (l->grid != NULL) {
    return PyUnicode_FromFormat("<launch of kernel %U: grid %R, block (%u, %u, %u)>", l->name,
                                l->grid, o->block.x, o->block.y, o->block.z);
  }
  return PyUnicode_FromFormat("<launch of kernel %U: grid (%u, %u, %u), block (%u, %u, %u)>",
                              l->name, o->grid.x, o->grid.y, o->grid.z, o->block.x, o->block.y,
                              o->block.z);
}

static PyObject *kernel_repr(PyObject *self) {
  const Kernel *k = (const Kernel *)self;
  return PyUnicode_FromFormat("<kernel %U of %R>", k->name, k->state->name);
}

static PyObject *kernel_name(PyObject *self, void *none) {
  (void)none;
  Py_INCREF(((Kernel *)self)->name);
  return ((Kernel *)self)->name;
}

static PyObject *kernel_call(PyObject *self, PyObject *args, PyObject *kwargs) {
  (void)args;
  (void)kwargs;
  return PyErr_Format(PyExc_TypeError,
                      "a kernel needs a grid and a block; write %U[grid, block](...)",
                      ((Kernel *)self)->name);
}

static PyObject *kernel_signature(PyObject *self, void *none) {
  Kernel *k = (Kernel *)self;
  PyObject *names = names_of(k->state, k->kernel, &k->parameters);
  (void)none;
  return names == NULL ? NULL : names_signature(names);
}

static PyObject *launch_signature(PyObject *self, void *none) {
  Launch *l = (Launch *)self;
  PyObject *names = names_of(l->state, l->kernel, &l->parameters);
  (void)none;
  return names == NULL ? NULL : names_signature(names);
}

static PyObject *kernel_doc(PyObject *self, void *none) {
  const Kernel *k = (const Kernel *)self;
  PyObject *signature = kernel_signature(self, none);
  PyObject *doc = signature == NULL ? NULL
                                    : PyUnicode_FromFormat("%U%S\n\nA kernel of %R. Launch it by "
                                                           "%U[grid, block]%S.",
                                                           k->name, signature, k->state->name,
                                                           k->name, signature);
  Py_XDECREF(signature);
  return doc;
}

/* The object that Python has of the kernel already, or a new one. */
PyObject *kernel_new(State *st, cuttle_Kernel *kernel, PyObject *name) {
  Kernel *k = st->kernels;
  while (k != NULL && k->kernel != kernel) {
    k = k->next;
  }
  if (k != NULL) {
    Py_INCREF((PyObject *)k);
    return (PyObject *)k;
  }
  k = (Kernel *)host_new(kernel_type);
  if (k != NULL) {
    Py_INCREF(st);
    Py_INCREF(name);
    k->state = st;
    k->kernel = kernel;
    k->name = name;
    k->next = st->kernels;
    st->kernels = k;
  }
  return (PyObject *)k;
}

/* {====== Types ====== */

/* Kernels come from scripts alone. */
static PyObject *refuse_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  (void)args;
  (void)kwargs;
  return PyErr_Format(PyExc_TypeError,
                      "%R: a kernel comes from a script; write cuttle.load(path).name",
                      (PyObject *)type);
}

static PyMethodDef kernel_methods[] = {
    {"config", (PyCFunction)(void (*)(void))kernel_config, METH_VARARGS | METH_KEYWORDS,
     "config(grid, block, *, cluster=None, smem=0, stream=None, pdl=False, cooperative=False, "
     "deterministic=False, print_order='thread', check=False)\n"
     "The kernel with all options of a launch: call the result with the arguments."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef kernel_fields[] = {
    {"name", kernel_name, NULL, "The kernel's name.", NULL},
    {"__signature__", kernel_signature, NULL, "The kernel's parameters.", NULL},
    {"__doc__", kernel_doc, NULL, "The kernel's parameters, and how to launch it.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyGetSetDef launch_fields[] = {
    {"__signature__", launch_signature, NULL, "The kernel's parameters.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyTypeObject *new_type(PyObject *module, const char *name, PyType_Spec *spec) {
  PyObject *type = PyType_FromSpec(spec);
  if (type == NULL) {
    return NULL;
  }
  Py_INCREF(type); /* one for us */
  return PyModule_AddObject(module, name, type) == 0 ? (PyTypeObject *)type : NULL;
}

int launch_open_types(PyObject *module) {
  static Member launch_members[] = {
      {"__vectorcalloffset__", MEMBER_PYSSIZET, offsetof(Launch, call), MEMBER_READONLY, NULL},
      {NULL, 0, 0, 0, NULL}};
  PyType_Slot launch_slots[] = {HOST_SLOT(Py_tp_new, refuse_new),
                                HOST_SLOT(Py_tp_dealloc, launch_dealloc),
                                HOST_SLOT(Py_tp_call, launch_call_tuple),
                                HOST_SLOT(Py_tp_repr, launch_repr),
                                {Py_tp_members, launch_members},
                                {Py_tp_getset, launch_fields},
                                {0, NULL}};
  PyType_Slot kernel_slots[] = {HOST_SLOT(Py_tp_new, refuse_new),
                                HOST_SLOT(Py_tp_dealloc, kernel_dealloc),
                                HOST_SLOT(Py_tp_call, kernel_call),
                                HOST_SLOT(Py_tp_repr, kernel_repr),
                                HOST_SLOT(Py_mp_subscript, kernel_subscript),
                                {Py_tp_methods, kernel_methods},
                                {Py_tp_getset, kernel_fields},
                                {0, NULL}};
  PyType_Spec launch_spec = {"cuttle._cuttle.Launch", sizeof(Launch), 0,
                             Py_TPFLAGS_DEFAULT | HAVE_VECTORCALL, launch_slots};
  PyType_Spec kernel_spec = {"cuttle._cuttle.Kernel", sizeof(Kernel), 0, Py_TPFLAGS_DEFAULT,
                             kernel_slots};
  launch_type = new_type(module, "Launch", &launch_spec);
  kernel_type = launch_type == NULL ? NULL : new_type(module, "Kernel", &kernel_spec);
  return kernel_type == NULL ? -1 : 0;
}
