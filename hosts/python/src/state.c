/* state.c: cuttle._cuttle.State, an interpreter: opens one, runs scripts in it, finds kernels. */
#include <string.h>

#include "hosts/python/src/host.h"

/* {====== One thread at a time ======

   All of this is under the GIL, so a state that nobody uses is entered without a lock. Who comes second waits at
   the gate, which whoever leaves opens for one. */

static void open_gate(State *st) {
  if (st->depth == 0 && st->n_waiting > 0 && !st->is_gate_open) {
    st->is_gate_open = true;
    PyThread_release_lock(st->gate);
  }
}

/* False, with an exception: a handler of a signal raised. Then the next one may have the turn. */
static bool wait_at_gate(State *st) {
  bool ok = true, has_it;
  st->n_waiting++;
  while (ok && st->depth > 0) {
    ok = wait_lock(st->gate, &has_it);
    st->is_gate_open = st->is_gate_open && !has_it;
  }
  st->n_waiting--;
  if (!ok) {
    open_gate(st);
  }
  return ok;
}

static bool make_gate(State *st) {
  st->gate = PyThread_allocate_lock();
  if (st->gate == NULL) {
    PyErr_NoMemory();
    return false;
  }
  PyThread_acquire_lock(st->gate, WAIT_LOCK); /* it begins closed */
  return true;
}

/* In a child made by fork: who waited is gone, and so is who was in a call. Such an interpreter has stopped in the
   middle and is left as it is. */
static bool follow_fork(State *st) {
  if (st->forks == wait_forks()) {
    return true;
  }
  st->forks = wait_forks();
  st->n_waiting = 0;
  st->is_gate_open = false;
  if (st->depth > 0 && st->owner != PyThread_get_thread_ident()) {
    st->S = NULL;
    st->depth = 0;
    st->is_lost = true;
  }
  return make_gate(st); /* the old one may be held by nobody */
}

static const char *refusal(const State *st) {
  return st->S != NULL ? "this signal handler runs during a call of the module; set a flag "
                         "in the handler, or raise an exception to end the call"
         : st->is_lost
             ? "another thread was in a call of the module when the process was forked; load "
               "the script again in this process"
             : "the module is closed; load the script again";
}

bool state_enter(State *st) {
  unsigned long self = PyThread_get_thread_ident();
  if (!follow_fork(st) || (st->depth > 0 && st->owner != self && !wait_at_gate(st))) {
    return false;
  }
  if (st->S == NULL || st->is_asked) {
    PyErr_SetString(host_error, refusal(st));
    return false;
  }
  st->owner = self;
  st->depth++;
  return true;
}

/* {====== Memory of tensors that Python has ====== */

static void close_kept(State *st) {
  cuttle_State *S = st->kept;
  if (st->n_holds == 0 && S != NULL) {
    st->kept = NULL;
    PyThreadState *thread = wait_begin();
    cuttle_close(S);
    wait_end(thread);
  }
}

static void drop_now(State *st, cuttle_Hold *hold) {
  cuttle_State *S = st->S != NULL ? st->S : st->kept;
  if (S != NULL) { /* else it is lost */
    cuttle_drop(S, hold);
  }
  st->n_holds--;
  close_kept(st);
}

static void drop_later(State *st, cuttle_Hold *hold) {
  cuttle_Hold **more =
      (cuttle_Hold **)PyMem_Realloc((void *)st->dropped, (st->n_dropped + 1) * sizeof *st->dropped);
  if (more != NULL) { /* else the memory stays as long as the process */
    st->dropped = more;
    st->dropped[st->n_dropped++] = hold;
  }
}

void state_drop(State *st, cuttle_Hold *hold) {
  if (st->depth > 0) {
    drop_later(st, hold);
  } else {
    drop_now(st, hold);
  }
}

static void drop_all(State *st) {
  while (st->n_dropped > 0) {
    drop_now(st, st->dropped[--st->n_dropped]);
  }
}

void state_leave(State *st) {
  if (st->depth == 1) {
    drop_all(st);
  }
  st->depth--;
  open_gate(st);
}

PyObject *state_raise(const State *st, cuttle_Status status) {
  int line;
  const char *file = cuttle_error_place(st->S, &line);
  if (PyErr_Occurred() != NULL) {
    return NULL;
  }
  if (status == CUTTLE_NOMEM) {
    PyErr_SetString(PyExc_MemoryError, cuttle_error(st->S));
    return NULL;
  }
  return host_raise(cuttle_error(st->S), file, line);
}

bool state_succeeded(State *st, cuttle_Status status) {
  PyObject **thrown = st->thrown;
  if (thrown[0] == NULL) {
    return status == CUTTLE_OK || state_raise(st, status) != NULL;
  }
  PyErr_Restore(thrown[0], thrown[1], thrown[2]);
  thrown[0] = thrown[1] = thrown[2] = NULL;
  return false;
}

/* {====== Output ====== */

void state_keep_exception(State *st) {
  if (st->thrown[0] == NULL) {
    PyErr_Fetch(&st->thrown[0], &st->thrown[1], &st->thrown[2]);
  } else {
    PyErr_Clear();
  }
}

/* To Python's sys.stdout, where notebooks and tests look for it. Comes from a thread without the GIL. */
static void print(void *ud, const char *text, size_t len) {
  PyGILState_STATE gil = PyGILState_Ensure();
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyObject *out = PySys_GetObject("stdout");
  PyObject *s = PyUnicode_DecodeUTF8(text, (Py_ssize_t)len, "replace");
  if (out != NULL && out != Py_None && s != NULL) {
    PyFile_WriteObject(s, out, Py_PRINT_RAW);
  }
  Py_XDECREF(s);
  if (PyErr_Occurred() != NULL) {
    state_keep_exception(ud);
  }
  PyErr_Restore(type, value, trace);
  PyGILState_Release(gil);
}

/* Warnings are Python's; notes go to the logger "cuttle". */
static void tell(const char *line) {
  PyObject *logging = NULL, *logger = NULL, *done = NULL;
  if (strstr(line, "warning: ") != NULL) {
    PyErr_WarnEx(PyExc_RuntimeWarning, line, 1);
  } else {
    logging = PyImport_ImportModule("logging");
    logger = logging == NULL ? NULL : PyObject_CallMethod(logging, "getLogger", "s", "cuttle");
    done = logger == NULL ? NULL : PyObject_CallMethod(logger, "info", "ss", "%s", line);
  }
  Py_XDECREF(logging);
  Py_XDECREF(logger);
  Py_XDECREF(done);
}

static void take_note(void *ud, const char *line) {
  (void)ud;
  PyGILState_STATE gil = PyGILState_Ensure();
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  tell(line);
  if (PyErr_Occurred() != NULL) {
    PyErr_WriteUnraisable(NULL); /* warnings are errors: nobody can catch this one */
  }
  PyErr_Restore(type, value, trace);
  PyGILState_Release(gil);
}

/* {====== Opening and closing ====== */

static bool open_state(State *st, const char *device, size_t memory_limit, int sandbox) {
  cuttle_Options o = {.size = sizeof o,
                      .print = print,
                      .print_ud = st,
                      .log = take_note,
                      .poll = wait_poll,
                      .poll_ud = st,
                      .device = device,
                      .memory_limit = memory_limit,
                      .sandbox = sandbox};
  st->forks = wait_forks();
  if (!make_gate(st)) {
    return false;
  }
  st->S = cuttle_open(&o);
  if (st->S == NULL) {
    host_raise(cuttle_error(NULL), NULL, 0);
  }
  return st->S != NULL;
}

/* A number of bytes; 0: no limit. False with an exception. */
static bool read_limit(PyObject *o, size_t *out) {
  PyObject *n = PyBool_Check(o) ? NULL : PyNumber_Index(o);
  *out = n == NULL ? 0 : PyLong_AsSize_t(n);
  bool ok = n != NULL && PyErr_Occurred() == NULL;
  if (!ok) {
    PyErr_Format(PyExc_ValueError,
                 "memory_limit is %R; a number of bytes was expected, or 0 for no limit", o);
  }
  Py_XDECREF(n);
  return ok;
}

static PyObject *state_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  static const char *const names[] = {"name", "device", "memory_limit", "sandbox", NULL};
  PyObject *name, *bytes = NULL, *is_apart = Py_False;
  const char *device = NULL;
  size_t limit = 0;
  int sandbox = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "U|zOO", (char **)names, &name, &device, &bytes,
                                   &is_apart) ||
      (bytes != NULL && !read_limit(bytes, &limit)) ||
      !host_read_flag("sandbox", is_apart, &sandbox)) {
    return NULL;
  }
  State *st = (State *)host_new(type);
  if (st == NULL) {
    return NULL;
  }
  Py_INCREF(name);
  st->name = name;
  if (!open_state(st, device, limit, sandbox)) {
    Py_DECREF(st);
    return NULL;
  }
  return (PyObject *)st;
}

static void close_state(State *st) {
  cuttle_State *S = st->S;
  st->S = NULL;
  if (st->n_holds > 0) { /* the last tensor closes it */
    st->kept = S;
    return;
  }
  PyThreadState *thread = wait_begin();
  cuttle_close(S);
  wait_end(thread);
}

static void state_dealloc(PyObject *self) {
  State *st = (State *)self;
  if (!follow_fork(st)) {
    PyErr_Clear();
  }
  close_state(st);
  if (st->gate != NULL) {
    PyThread_release_lock(st->gate);
    PyThread_free_lock(st->gate);
  }
  PyMem_Free((void *)st->dropped);
  Py_XDECREF(st->name);
  for (int i = 0; i < 3; i++) {
    Py_XDECREF(st->thrown[i]);
  }
  host_free(self);
}

/* {====== Methods ====== */

static PyObject *finish(State *st, cuttle_Status status) {
  PyObject *result = state_succeeded(st, status) ? Py_None : NULL;
  state_leave(st);
  Py_XINCREF(result);
  return result;
}

static PyObject *state_run(PyObject *self, PyObject *args) {
  State *st = (State *)self;
  const char *text, *name = "=python";
  if (!PyArg_ParseTuple(args, "s|s", &text, &name) || !state_enter(st)) {
    return NULL;
  }
  PyThreadState *thread = wait_begin();
  cuttle_Status status = cuttle_dostring(st->S, text, name);
  wait_end(thread);
  return finish(st, status);
}

static PyObject *state_run_file(PyObject *self, PyObject *arg) {
  State *st = (State *)self;
  PyObject *path;
  if (PyUnicode_FSConverter(arg, &path) == 0) {
    return NULL;
  }
  const char *bytes = PyBytes_AsString(path);
  if (bytes == NULL || !state_enter(st)) {
    Py_DECREF(path);
    return NULL;
  }
  PyThreadState *thread = wait_begin();
  cuttle_Status status = cuttle_dofile(st->S, bytes);
  wait_end(thread);
  Py_DECREF(path);
  return finish(st, status);
}

static PyObject *state_kernel(PyObject *self, PyObject *name) {
  State *st = (State *)self;
  if (!PyUnicode_Check(name)) {
    return PyErr_Format(PyExc_TypeError, "kernel: %R; its name was expected", name);
  }
  PyObject *utf8 = PyUnicode_AsUTF8String(name);
  const char *text = utf8 == NULL ? NULL : host_name(utf8);
  PyObject *result = NULL;
  if (text != NULL && state_enter(st)) {
    cuttle_Kernel *k = cuttle_kernel(st->S, text);
    result = k == NULL ? state_raise(st, CUTTLE_ERROR) : kernel_new(st, k, name);
    state_leave(st);
  }
  Py_XDECREF(utf8);
  return result;
}

static PyObject *state_kernel_names(PyObject *self, PyObject *none) {
  State *st = (State *)self;
  const char *text = NULL;
  (void)none;
  if (!state_enter(st)) {
    return NULL;
  }
  PyObject *list = PyList_New(0);
  while (list != NULL && (text = cuttle_kernel_after(st->S, text)) != NULL) {
    PyObject *name = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
    if (name == NULL || PyList_Append(list, name) != 0) {
      Py_CLEAR(list);
    }
    Py_XDECREF(name);
  }
  state_leave(st);
  return list;
}

static PyObject *state_synchronize(PyObject *self, PyObject *none) {
  State *st = (State *)self;
  (void)none;
  if (!state_enter(st)) {
    return NULL;
  }
  PyThreadState *thread = wait_begin();
  cuttle_Status status = cuttle_synchronize(st->S);
  wait_end(thread);
  return finish(st, status);
}

static PyObject *state_close(PyObject *self, PyObject *none) {
  State *st = (State *)self;
  (void)none;
  bool is_open = follow_fork(st) && st->S != NULL, is_inside = false;
  if (is_open && state_enter(st)) {
    is_inside = st->depth > 1;
    if (!is_inside) {
      close_state(st);
    }
    state_leave(st);
  }
  if (is_inside) {
    PyErr_SetString(host_error, "close: called inside of a call of the module");
  }
  PyObject *result = PyErr_Occurred() == NULL ? Py_None : NULL;
  Py_XINCREF(result);
  return result;
}

/* From any thread, while another one is in a call: so without the lock. */
static PyObject *state_interrupt(PyObject *self, PyObject *none) {
  (void)none;
  cuttle_interrupt(((State *)self)->S);
  Py_INCREF(Py_None);
  return Py_None;
}

static PyObject *state_repr(PyObject *self) {
  return PyUnicode_FromFormat("<cuttle state of %R>", ((State *)self)->name);
}

static PyMethodDef methods[] = {
    {"run", state_run, METH_VARARGS, "run(text, name='=python'): runs a script's text."},
    {"run_file", state_run_file, METH_O, "run_file(path): runs a script."},
    {"kernel", state_kernel, METH_O, "kernel(name): the latest kernel of that name."},
    {"kernel_names", state_kernel_names, METH_NOARGS, "The names of all kernels, in order."},
    {"call", state_call, METH_VARARGS,
     "call(name, args=(), options=None): calls a function of the language; a list of its results."},
    {"has_function", state_has_function, METH_O, "has_function(name): is there one of that name?"},
    {"synchronize", state_synchronize, METH_NOARGS, "Waits for all launches."},
    {"interrupt", state_interrupt, METH_NOARGS, "Stops the call in progress, from any thread."},
    {"close", state_close, METH_NOARGS, "Closes the interpreter; its kernels are gone."},
    {NULL, NULL, 0, NULL}};

int state_open_type(PyObject *module) {
  PyType_Slot slots[] = {HOST_SLOT(Py_tp_new, state_new),
                         HOST_SLOT(Py_tp_dealloc, state_dealloc),
                         HOST_SLOT(Py_tp_repr, state_repr),
                         {Py_tp_methods, methods},
                         {0, NULL}};
  PyType_Spec spec = {"cuttle._cuttle.State", sizeof(State), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  PyObject *type = PyType_FromSpec(&spec);
  return type == NULL ? -1 : PyModule_AddObject(module, "State", type);
}
