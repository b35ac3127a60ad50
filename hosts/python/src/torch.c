/* torch.c: what PyTorch keeps of a tensor beside its memory, and DLPack does not tell. */
#include <string.h>

#include "hosts/python/src/values.h"

static PyObject *increment_version; /* torch's function; NULL: not looked for yet */

PyObject *torch_attribute(const char *path) {
  PyObject *o = PyImport_ImportModule("torch");
  char name[64];
  while (o != NULL && *path != '\0') {
    size_t n = strcspn(path, ".");
    memcpy(name, path, n);
    name[n] = '\0';
    path += n + (path[n] == '.');
    PyObject *next = PyObject_GetAttrString(o, name);
    Py_DECREF(o);
    o = next;
  }
  return o;
}

/* {====== The negative bit ======

   Elements of x.conj().imag are stored with the other sign. Such a part of complex numbers has no stride of 1, so
   that tensors that have one need not be asked. */

static bool may_be_negative(const cuttle_Memory *m) {
  bool is_float = m->dtype <= CUTTLE_F16;
  for (int i = 0; i < m->rank && is_float; i++) {
    is_float = m->shape[i] <= 1 || (m->stride != NULL && m->stride[i] != 1);
  }
  return is_float;
}

bool torch_refuse_negative(int i, PyObject *tensor, const cuttle_Memory *m) {
  PyObject *answer =
      may_be_negative(m) ? PyObject_CallMethod(tensor, "is_neg", NULL) : PyBool_FromLong(0);
  bool is_negative = answer == Py_True;
  Py_XDECREF(answer);
  if (is_negative) {
    PyErr_Format(PyExc_BufferError,
                 "argument %d has PyTorch's negative bit: its memory holds the elements with the "
                 "other sign; pass x.resolve_neg(), a copy",
                 i + 1);
  }
  return answer != NULL && !is_negative;
}

/* {====== Versions ======

   Autograd compares a tensor's version with what it was when an operation saved the tensor for its gradient. */

static bool find_function(void) {
  if (increment_version == NULL) {
    increment_version = torch_attribute("_C._increment_version");
  }
  if (increment_version == NULL) { /* no private function of that name: the public way */
    PyErr_Clear();
    increment_version = torch_attribute("autograd.graph.increment_version");
  }
  PyErr_Clear(); /* an older PyTorch has none: its tensors keep their versions */
  return increment_version != NULL;
}

static PyObject *tensor_of(PyObject *o) { return value_is_one(o) ? ((const Value *)o)->object : o; }

bool torch_was_written(int n, PyObject *const *objects, uint64_t written) {
  PyObject *list = find_function() ? PyList_New(0) : NULL;
  for (int i = 0; i < n && list != NULL; i++) {
    if ((written >> (i < CALL_LAST_BIT ? i : CALL_LAST_BIT) & 1) != 0 &&
        call_is_torch(tensor_of(objects[i])) && PyList_Append(list, tensor_of(objects[i])) != 0) {
      Py_CLEAR(list);
    }
  }
  PyObject *done =
      list == NULL ? NULL : PyObject_CallFunctionObjArgs(increment_version, list, NULL);
  if (done == NULL && PyErr_ExceptionMatches(PyExc_RuntimeError)) {
    PyErr_Clear(); /* tensors of inference have no version */
  }
  Py_XDECREF(list);
  Py_XDECREF(done);
  return PyErr_Occurred() == NULL;
}
