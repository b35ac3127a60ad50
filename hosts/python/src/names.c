/* names.c: the names of a kernel's parameters, and arguments that are given by them. */
#include <string.h>

#include "hosts/python/src/host.h"

/* A name of Lua that is a keyword of Python ends with an underline there. */
static PyObject *name_of(const char *text) {
  PyObject *module = PyImport_ImportModule("keyword");
  PyObject *is = module == NULL ? NULL : PyObject_CallMethod(module, "iskeyword", "s", text);
  PyObject *name = is == NULL ? NULL : PyUnicode_FromFormat("%s%s", text, is == Py_True ? "_" : "");
  Py_XDECREF(module);
  Py_XDECREF(is);
  return name;
}

static PyObject *read_names(State *st, cuttle_Kernel *kernel) {
  PyObject *list = PyList_New(0);
  const char *text = "";
  for (int i = 0; list != NULL && text != NULL; i++) {
    text = cuttle_kernel_parameter(st->S, kernel, i);
    PyObject *name = text == NULL ? NULL : name_of(text);
    if (text != NULL && (name == NULL || PyList_Append(list, name) != 0)) {
      Py_CLEAR(list);
    }
    Py_XDECREF(name);
  }
  PyObject *names = list == NULL ? NULL : PyList_AsTuple(list);
  Py_XDECREF(list);
  return names;
}

PyObject *names_of(State *st, cuttle_Kernel *kernel, PyObject **kept) {
  if (*kept == NULL && state_enter(st)) {
    *kept = read_names(st, kernel);
    state_leave(st);
  }
  return *kept;
}

static Py_ssize_t count_named(PyObject *names) {
  Py_ssize_t n = PyTuple_Size(names);
  PyObject *last = n == 0 ? NULL : PyTuple_GetItem(names, n - 1);
  return last != NULL && PyUnicode_CompareWithASCIIString(last, "...") == 0 ? n - 1 : n;
}

/* The place of a name; -1: there is none. */
static Py_ssize_t find(PyObject *names, Py_ssize_t n, PyObject *name) {
  for (Py_ssize_t i = 0; i < n; i++) {
    if (PyUnicode_Compare(PyTuple_GetItem(names, i), name) == 0) {
      return i;
    }
  }
  return -1;
}

static bool refuse(PyObject *names, PyObject *kernel, const char *what, PyObject *name,
                   const char *hint) {
  PyObject *comma = PyUnicode_FromString(", ");
  PyObject *list = comma == NULL ? NULL : PyUnicode_Join(comma, names);
  if (list != NULL) {
    PyErr_Format(PyExc_TypeError, "%U(%U): %s '%U'%s", kernel, list, what, name, hint);
  }
  Py_XDECREF(comma);
  Py_XDECREF(list);
  return false;
}

/* out[i] is a new reference. */
static bool place(PyObject *names, PyObject *kernel, PyObject *name, PyObject *value,
                  PyObject **out) {
  Py_ssize_t i = find(names, count_named(names), name);
  if (i < 0) {
    return refuse(names, kernel, "there is no parameter", name, "");
  }
  if (out[i] != NULL) {
    return refuse(names, kernel, "two values for parameter", name, "");
  }
  Py_INCREF(value);
  out[i] = value;
  return true;
}

static bool place_all(PyObject *names, PyObject *kernel, PyObject *const *args, Py_ssize_t n,
                      PyObject *given, PyObject **out) {
  for (Py_ssize_t i = 0; i < n; i++) {
    Py_INCREF(args[i]);
    out[i] = args[i];
  }
  for (Py_ssize_t i = 0; i < PyTuple_Size(given); i++) {
    if (!place(names, kernel, PyTuple_GetItem(given, i), args[n + i], out)) {
      return false;
    }
  }
  for (Py_ssize_t i = n; i < count_named(names); i++) {
    if (out[i] == NULL) {
      return refuse(names, kernel, "no value for parameter", PyTuple_GetItem(names, i),
                    "; None stands for one that the kernel does without");
    }
  }
  return true;
}

PyObject *names_bind(PyObject *names, PyObject *kernel, PyObject *const *args, Py_ssize_t n,
                     PyObject *given) {
  Py_ssize_t n_named = count_named(names), n_all = n > n_named ? n : n_named;
  PyObject **out = PyMem_Calloc((size_t)n_all + 1, sizeof *out);
  PyObject *bound = NULL;
  if (out == NULL) {
    return PyErr_NoMemory();
  }
  if (place_all(names, kernel, args, n, given, out)) {
    bound = PyTuple_New(n_all);
  }
  for (Py_ssize_t i = 0; i < n_all; i++) {
    if (bound != NULL) {
      PyTuple_SetItem(bound, i, out[i]); /* takes it */
    } else {
      Py_XDECREF(out[i]);
    }
  }
  PyMem_Free(out);
  return bound;
}

PyObject *names_dict(PyObject *names, PyObject *const *args, Py_ssize_t n) {
  PyObject *dict = PyDict_New();
  for (Py_ssize_t i = 0; dict != NULL && i < n && i < count_named(names); i++) {
    if (PyDict_SetItem(dict, PyTuple_GetItem(names, i), args[i]) != 0) {
      Py_CLEAR(dict);
    }
  }
  return dict;
}

PyObject *names_signature(PyObject *names) {
  PyObject *module = PyImport_ImportModule("cuttle.signature");
  PyObject *signature =
      module == NULL ? NULL : PyObject_CallMethod(module, "signature", "(O)", names);
  Py_XDECREF(module);
  return signature;
}
