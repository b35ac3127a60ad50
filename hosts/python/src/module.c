/* module.c: the extension module cuttle._cuttle, and its exception. */
#include <string.h>

#include "hosts/python/src/host.h"

PyObject *host_error;

PyObject *host_new(PyTypeObject *type) {
  allocfunc alloc = __extension__(allocfunc) PyType_GetSlot(type, Py_tp_alloc);
  return alloc(type, 0);
}

void host_free(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  freefunc release = __extension__(freefunc) PyType_GetSlot(type, Py_tp_free);
  release(self);
  Py_DECREF(type); /* each object of such a type holds it */
}

bool host_read_flag(const char *name, PyObject *o, int *out) {
  bool is_flag = PyBool_Check(o);
  *out = o == Py_True;
  if (!is_flag) {
    PyErr_Format(PyExc_TypeError, "%s: %R; True or False was expected", name, o);
  }
  return is_flag;
}

const char *host_name(PyObject *utf8) {
  char *text = NULL;
  return PyBytes_AsStringAndSize(utf8, &text, NULL) == 0 ? text : NULL;
}

/* Sets an attribute and lets go of the value. */
static bool set_attribute(PyObject *o, const char *name, PyObject *value) {
  bool ok = value != NULL && PyObject_SetAttrString(o, name, value) == 0;
  Py_XDECREF(value);
  return ok;
}

static PyObject *text_or_none(const char *text) {
  if (text == NULL) {
    Py_INCREF(Py_None);
    return Py_None;
  }
  return PyUnicode_DecodeFSDefault(text);
}

static PyObject *line_or_none(int line) {
  if (line == 0) {
    Py_INCREF(Py_None);
    return Py_None;
  }
  return PyLong_FromLong(line);
}

/* Without the function of cuttle.h that begins it: nobody called that in Python. */
static const char *without_function(const char *message) {
  static const char prefix[] = "cuttle_";
  const char *colon = strstr(message, ": ");
  size_t name = strspn(message, "abcdefghijklmnopqrstuvwxyz_");
  bool begins = strncmp(message, prefix, sizeof prefix - 1) == 0 && message + name == colon;
  return begins ? colon + 2 : message;
}

PyObject *host_raise(const char *message, const char *file, int line) {
  message = without_function(message);
  PyObject *text = PyUnicode_DecodeUTF8(message, (Py_ssize_t)strlen(message), "replace");
  PyObject *e = text == NULL ? NULL : PyObject_CallFunctionObjArgs(host_error, text, NULL);
  Py_XDECREF(text);
  if (e != NULL && set_attribute(e, "file", text_or_none(file)) &&
      set_attribute(e, "line", line_or_none(line))) {
    PyErr_SetObject(host_error, e);
  }
  Py_XDECREF(e);
  return NULL;
}

static PyObject *new_error(void) {
  PyObject *fields = Py_BuildValue("{sOsO}", "file", Py_None, "line", Py_None);
  PyObject *e = fields == NULL
                    ? NULL
                    : PyErr_NewExceptionWithDoc(
                          "cuttle.Error",
                          "An error of a script, an argument or a device. `file` and `line` are "
                          "its place in the script, or None if it has none.",
                          PyExc_RuntimeError, fields);
  Py_XDECREF(fields);
  return e;
}

static int open_module(PyObject *m) {
  host_error = new_error();
  if (host_error == NULL) {
    return -1;
  }
  Py_INCREF(host_error);
  if (PyModule_AddObject(m, "Error", host_error) != 0 ||
      PyModule_AddStringConstant(m, "__version__", CUTTLE_VERSION) != 0) {
    return -1;
  }
  return arguments_open(m) == 0 && state_open_type(m) == 0 && tensor_open_type(m) == 0
             ? launch_open_types(m)
             : -1;
}

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                        "_cuttle",
                                        "The interpreter of Cuttle.",
                                        -1,
                                        NULL,
                                        NULL,
                                        NULL,
                                        NULL,
                                        NULL};

/* NOLINTNEXTLINE(readability-identifier-naming): Python looks for this name */
PyMODINIT_FUNC PyInit__cuttle(void);
/* NOLINTNEXTLINE(readability-identifier-naming) */
PyMODINIT_FUNC PyInit__cuttle(void) {
  host_open_streams();
  wait_open();
  PyObject *m = PyModule_Create(&definition);
  if (m != NULL && open_module(m) != 0) {
    Py_DECREF(m);
    return NULL;
  }
  return m;
}
