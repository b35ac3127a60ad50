/* language.c: state.call(name, args, options): calls a function of the language. Numbers, texts, sequences,
   dictionaries, layouts and tensors go in; numbers, texts, tensors, lists and dictionaries come out, other values
   as (type, text). */
#include <lauxlib.h>
#include <lua.h>
#include <string.h>

#include "hosts/python/src/host.h"

enum { MAX_RANK = 8, MAX_TENSORS = 32, MAX_DEPTH = 16 };

typedef struct Request {
  State *st;
  PyObject *name, *args, *options;
  PyObject *result;      /* a list */
  PyObject *owned;       /* a list of what is in the arguments and in the result */
  PyThreadState *thread; /* while the GIL is let go; else NULL */
  Call call;             /* the tensors of the arguments, */
  int64_t extents[MAX_TENSORS][2][MAX_RANK]; /* their shapes and strides in the order asked for, */
  cuttle_Tensor *tensors[MAX_TENSORS];       /* what was made of them, */
  PyObject *objects[MAX_TENSORS];            /* and of what, borrowed */
  int n_tensors;
} Request;

static void push_object(lua_State *L, Request *q, PyObject *o, int depth);

/* Raises in Lua; the Python exception is what state_raise finds. */
static void fail(lua_State *L) { luaL_error(L, "a Python exception"); }

static void check(lua_State *L, bool ok) {
  if (!ok) {
    fail(L);
  }
}

/* The request owns it from here on, as Lua may raise before something else does. */
static PyObject *own(lua_State *L, Request *q, PyObject *o) {
  bool is_owned = o != NULL && PyList_Append(q->owned, o) == 0;
  Py_XDECREF(o);
  check(L, is_owned);
  return o;
}

/* {====== Tensors ====== */

/* Row-major strides where the library gives none. */
static void describe(Request *q, cuttle_Memory *m) {
  int64_t(*e)[MAX_RANK] = q->extents[q->n_tensors];
  int64_t stride = 1;
  for (int i = m->rank - 1; i >= 0; i--) {
    e[0][i] = m->shape[i];
    e[1][i] = m->stride != NULL ? m->stride[i] : stride;
    stride *= m->shape[i];
  }
  m->shape = e[0];
  m->stride = e[1];
}

/* Mode i of the result is mode order[i] of the memory. */
static bool reorder(Request *q, cuttle_Memory *m, PyObject *order) {
  int64_t(*e)[MAX_RANK] = q->extents[q->n_tensors];
  int64_t from[2][MAX_RANK];
  memcpy(from, e, sizeof from);
  if (PyTuple_Size(order) != m->rank) {
    PyErr_Format(PyExc_ValueError, "a tensor of rank %zd was expected, got one of rank %d",
                 PyTuple_Size(order), (int)m->rank);
    return false;
  }
  for (int i = 0; i < m->rank; i++) {
    long at = PyLong_AsLong(PyTuple_GetItem(order, i));
    if (at < 0 || at >= m->rank) {
      PyErr_SetString(PyExc_ValueError, "an order of modes has the numbers of all modes");
      return false;
    }
    e[0][i] = from[0][at];
    e[1][i] = from[1][at];
  }
  return true;
}

static void push_tensor(lua_State *L, Request *q, PyObject *o, PyObject *order) {
  int i = q->n_tensors;
  if (i == MAX_TENSORS) {
    PyErr_Format(PyExc_ValueError, "more than %d tensors in a call", MAX_TENSORS);
    fail(L);
  }
  check(L, call_read(&q->call, i, o));
  cuttle_Memory m = *q->call.args[i].u.memory;
  if (m.rank > MAX_RANK) {
    PyErr_Format(PyExc_ValueError, "a tensor of rank %d; at most %d was expected", (int)m.rank,
                 MAX_RANK);
    fail(L);
  }
  describe(q, &m);
  check(L, order == NULL || reorder(q, &m, order));
  q->tensors[i] = cuttle_tensor_lend(q->st->S, &m, NULL, NULL);
  if (q->tensors[i] == NULL) {
    luaL_error(L, "%s", cuttle_error(q->st->S));
  }
  q->objects[i] = o;
  q->n_tensors++;
  cuttle_push_tensor(q->st->S, q->tensors[i]);
}

/* (tensor, order of its modes)? */
static bool is_ordered(PyObject *o) {
  return PyTuple_Check(o) && PyTuple_Size(o) == 2 && PyTuple_Check(PyTuple_GetItem(o, 1)) &&
         call_is_tensor(PyTuple_GetItem(o, 0));
}

/* {====== Other values ====== */

static void push_text(lua_State *L, PyObject *o) {
  PyObject *utf8 = PyUnicode_AsUTF8String(o);
  char *text = NULL;
  Py_ssize_t n = 0;
  check(L, utf8 != NULL && PyBytes_AsStringAndSize(utf8, &text, &n) == 0);
  lua_pushlstring(L, text, (size_t)n);
  Py_XDECREF(utf8);
}

static long long read_int(PyObject *o) {
  int overflow;
  long long i = PyLong_AsLongLongAndOverflow(o, &overflow);
  if (overflow != 0) {
    PyErr_Format(PyExc_OverflowError, "%R does not fit in 64 bits, as integers of Lua do", o);
  }
  return i;
}

static void push_int(lua_State *L, PyObject *o) {
  long long i = read_int(o);
  check(L, PyErr_Occurred() == NULL);
  lua_pushinteger(L, i);
}

/* Of a type of its own. False: it is no number. */
static bool push_number(lua_State *L, PyObject *o) {
  PyObject *number = call_as_number(o);
  bool is_int = number != NULL && PyLong_Check(number);
  long long i = is_int ? read_int(number) : 0;
  double f = is_int || number == NULL ? 0 : PyFloat_AsDouble(number);
  Py_XDECREF(number);
  check(L, PyErr_Occurred() == NULL);
  if (is_int) {
    lua_pushinteger(L, i);
  } else if (number != NULL) {
    lua_pushnumber(L, f);
  }
  return number != NULL;
}

static void push_sequence(lua_State *L, Request *q, PyObject *o, int depth) {
  Py_ssize_t n = PySequence_Size(o);
  check(L, n >= 0);
  lua_createtable(L, (int)(n < 1000 ? n : 1000), 0);
  for (Py_ssize_t i = 0; i < n; i++) {
    push_object(L, q, own(L, q, PySequence_GetItem(o, i)), depth + 1);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* None is no key of Lua's, nor is NaN; a value None is not in the table. */
static void check_key(lua_State *L, PyObject *key) {
  if (lua_isnil(L, -1) || (lua_type(L, -1) == LUA_TNUMBER && !lua_rawequal(L, -1, -1))) {
    PyErr_Format(PyExc_TypeError, "a dict has the key %R; a text or a number was expected", key);
    fail(L);
  }
}

/* Of a copy: an object's own code, which reading it may run, can change the dict. */
static void push_dict(lua_State *L, Request *q, PyObject *o, int depth) {
  PyObject *key, *value, *items = own(L, q, PyDict_Copy(o));
  Py_ssize_t at = 0;
  lua_newtable(L);
  while (PyDict_Next(items, &at, &key, &value)) {
    push_object(L, q, key, depth + 1);
    check_key(L, key);
    push_object(L, q, value, depth + 1);
    lua_rawset(L, -3);
  }
}

/* An object with _cuttle_text is what the function `layout` makes of it. */
static bool push_layout(lua_State *L, PyObject *o) {
  PyObject *text = PyObject_GetAttrString(o, "_cuttle_text");
  if (text == NULL) {
    PyErr_Clear();
    return false;
  }
  lua_getglobal(L, "layout");
  push_text(L, text);
  Py_DECREF(text);
  lua_call(L, 1, 1);
  return true;
}

static void refuse(lua_State *L, PyObject *o) {
  PyErr_Format(PyExc_TypeError,
               "%R: a number, a text, a layout, a tensor, or a tuple, list or dict of these was "
               "expected",
               (PyObject *)Py_TYPE(o));
  fail(L);
}

static void push_object(lua_State *L, Request *q, PyObject *o, int depth) {
  luaL_checkstack(L, 8, NULL);
  if (depth > MAX_DEPTH) {
    PyErr_SetString(PyExc_ValueError, "arguments are nested too deeply");
    fail(L);
  }
  if (o == Py_None) {
    lua_pushnil(L);
  } else if (call_is_bool(o)) {
    int is_true = PyObject_IsTrue(o);
    check(L, is_true >= 0);
    lua_pushboolean(L, is_true);
  } else if (PyLong_Check(o)) {
    push_int(L, o);
  } else if (PyFloat_Check(o)) {
    lua_pushnumber(L, PyFloat_AsDouble(o));
  } else if (PyUnicode_Check(o)) {
    push_text(L, o);
  } else if (is_ordered(o)) {
    push_tensor(L, q, PyTuple_GetItem(o, 0), PyTuple_GetItem(o, 1));
  } else if (PyTuple_Check(o) || PyList_Check(o)) {
    push_sequence(L, q, o, depth);
  } else if (PyDict_Check(o)) {
    push_dict(L, q, o, depth);
  } else if (call_is_tensor(o)) {
    push_tensor(L, q, o, NULL);
  } else if (!push_number(L, o) && !push_layout(L, o)) {
    refuse(L, o);
  }
}

/* {====== Results ====== */

/* The argument that lent the memory; NULL: none did. */
static PyObject *lender_of(void *ud, const cuttle_Memory *m) {
  const Request *q = ud;
  for (int i = 0; i < q->n_tensors; i++) {
    const char *begin = q->call.args[i].u.memory->ptr, *at = m->ptr;
    size_t bytes = cuttle_tensor_bytes(q->tensors[i]);
    if (at >= begin && at < begin + bytes) {
      return q->objects[i];
    }
  }
  return NULL;
}

static PyObject *object_at(lua_State *L, Request *q, int idx) {
  PyObject *tensor;
  size_t n;
  const char *text;
  switch (lua_type(L, idx)) {
    case LUA_TNIL: Py_INCREF(Py_None); return Py_None;
    case LUA_TBOOLEAN: return PyBool_FromLong(lua_toboolean(L, idx));
    case LUA_TNUMBER:
      return lua_isinteger(L, idx) ? PyLong_FromLongLong(lua_tointeger(L, idx))
                                   : PyFloat_FromDouble(lua_tonumber(L, idx));
    case LUA_TSTRING:
      text = lua_tolstring(L, idx, &n);
      return PyUnicode_DecodeUTF8(text, (Py_ssize_t)n, "replace");
    case LUA_TUSERDATA:
      tensor = tensor_of_result(q->st, idx, lender_of, q);
      if (tensor != NULL || PyErr_Occurred() != NULL) {
        return tensor;
      }
      break;
    default: break;
  }
  const char *type = luaL_getmetafield(L, idx, "__name") == LUA_TSTRING ? lua_tostring(L, -1)
                                                                        : luaL_typename(L, idx);
  text = luaL_tolstring(L, idx, NULL);
  return Py_BuildValue("(ss)", type, text);
}

/* Are the table's keys 1 to n? */
static bool is_list(lua_State *L, int table) {
  lua_Unsigned n = 0;
  for (lua_pushnil(L); lua_next(L, table) != 0; lua_pop(L, 1)) {
    n++;
  }
  return n == lua_rawlen(L, table);
}

static PyObject *result_at(lua_State *L, Request *q, int idx, int depth);

static PyObject *list_at(lua_State *L, Request *q, int table, int depth) {
  PyObject *list = own(L, q, PyList_New(0));
  for (lua_Unsigned i = 1; i <= lua_rawlen(L, table); i++) {
    lua_rawgeti(L, table, (lua_Integer)i);
    check(L, PyList_Append(list, result_at(L, q, lua_gettop(L), depth)) == 0);
    lua_pop(L, 1);
  }
  return list;
}

static PyObject *dict_at(lua_State *L, Request *q, int table, int depth) {
  PyObject *dict = own(L, q, PyDict_New());
  for (lua_pushnil(L); lua_next(L, table) != 0; lua_pop(L, 1)) {
    int value = lua_gettop(L);
    PyObject *key = result_at(L, q, value - 1, depth);
    check(L, PyDict_SetItem(dict, key, result_at(L, q, value, depth)) == 0);
  }
  return dict;
}

static bool is_plain_table(lua_State *L, int idx) {
  bool has_metatable = lua_getmetatable(L, idx) != 0;
  lua_pop(L, has_metatable);
  return lua_istable(L, idx) && !has_metatable;
}

/* Borrowed from the request. Leaves the stack as it was. */
static PyObject *result_at(lua_State *L, Request *q, int idx, int depth) {
  luaL_checkstack(L, 4, NULL);
  if (!is_plain_table(L, idx)) {
    int top = lua_gettop(L);
    PyObject *o = own(L, q, object_at(L, q, idx));
    lua_settop(L, top); /* of a type, its name and text */
    return o;
  }
  if (depth == MAX_DEPTH) {
    PyErr_SetString(PyExc_ValueError, "results are nested too deeply");
    fail(L);
  }
  return is_list(L, idx) ? list_at(L, q, idx, depth + 1) : dict_at(L, q, idx, depth + 1);
}

static void take_results(lua_State *L, Request *q, int first) {
  int n = lua_gettop(L) - first + 1;
  for (int i = 0; i < n; i++) {
    check(L, PyList_Append(q->result, result_at(L, q, first + i, 0)) == 0);
  }
}

/* {====== The call ====== */

/* The option `stream`: that of the tensors, where they are on a CUDA device. */
static void push_options(lua_State *L, Request *q) {
  if (q->options == Py_None) {
    return;
  }
  push_dict(L, q, q->options, 0);
  if (q->call.device >= 0) {
    cuttle_push_stream(q->st->S, q->call.device, q->call.stream);
    lua_setfield(L, -2, "stream");
  }
}

/* Again, if it was let go. */
static void take_gil(Request *q) {
  PyThreadState *thread = q->thread;
  q->thread = NULL;
  if (thread != NULL) {
    wait_end(thread);
  }
}

/* Stack: ..., its name. */
static void push_function(lua_State *L) {
  lua_pushvalue(L, -1);
  lua_pushglobaltable(L);
  lua_insert(L, -2);
  int type = lua_gettable(L, -2);
  lua_remove(L, -2);
  if (type == LUA_TNIL) {
    luaL_error(L,
               "call: there is no function '%s'; a script defines one with function f(x) ... end",
               lua_tostring(L, -2));
  }
  if (type != LUA_TFUNCTION && luaL_getmetafield(L, -1, "__call") == LUA_TNIL) {
    luaL_error(L, "call: '%s' is a %s; a function was expected", lua_tostring(L, -2),
               luaL_typename(L, -1));
  }
  lua_pop(L, type == LUA_TFUNCTION ? 0 : 1);
}

static int call(lua_State *L) {
  Request *q = lua_touserdata(L, 1);
  push_text(L, q->name);
  push_function(L);
  int fn = lua_gettop(L);
  for (Py_ssize_t i = 0; i < PyTuple_Size(q->args); i++) {
    push_object(L, q, PyTuple_GetItem(q->args, i), 0);
  }
  push_options(L, q);
  q->thread = wait_begin();
  lua_call(L, lua_gettop(L) - fn, LUA_MULTRET);
  take_gil(q);
  take_results(L, q, fn);
  return 0;
}

/* Returns which were written, a bit for each. */
static uint64_t close_tensors(Request *q) {
  uint64_t written = 0;
  for (int i = 0; i < q->n_tensors; i++) {
    written |= (uint64_t)(cuttle_tensor_written(q->tensors[i]) != 0) << i;
    cuttle_tensor_close(q->st->S, q->tensors[i]);
  }
  call_end(&q->call);
  return written;
}

/* Leaves no result after a failure, whose exception is set. */
static void run_request(Request *q) {
  if (!call_begin(&q->call, MAX_TENSORS)) {
    Py_CLEAR(q->result);
    return;
  }
  cuttle_Status status = cuttle_call(q->st->S, call, q);
  take_gil(q);
  if (!state_succeeded(q->st, status)) {
    Py_CLEAR(q->result);
  }
  uint64_t written = close_tensors(q);
  if (written != 0 && q->call.has_torch && q->result != NULL &&
      !torch_was_written(q->n_tensors, q->objects, written)) {
    Py_CLEAR(q->result);
  }
}

/* False with an exception: it has a byte 0, or is no Unicode. */
static bool is_name(PyObject *name) {
  PyObject *utf8 = PyUnicode_AsUTF8String(name);
  bool is = utf8 != NULL && host_name(utf8) != NULL;
  Py_XDECREF(utf8);
  return is;
}

PyObject *state_call(PyObject *self, PyObject *args) {
  Request q = {.st = (State *)self, .options = Py_None};
  PyObject *given = NULL;
  if (!PyArg_ParseTuple(args, "U|OO", &q.name, &given, &q.options) || !is_name(q.name)) {
    return NULL;
  }
  if (q.options != Py_None && !PyDict_Check(q.options)) {
    PyErr_SetString(PyExc_TypeError, "options: a dict or None was expected");
    return NULL;
  }
  if (given != NULL && !PyTuple_Check(given) && !PyList_Check(given)) {
    PyErr_Format(PyExc_TypeError, "args: %R; a tuple or list of the arguments was expected", given);
    return NULL;
  }
  q.args = given == NULL ? PyTuple_New(0) : PySequence_Tuple(given);
  q.result = PyList_New(0);
  q.owned = PyList_New(0);
  bool is_ready = q.args != NULL && q.result != NULL && q.owned != NULL && state_enter(q.st);
  if (is_ready) {
    run_request(&q);
    state_leave(q.st);
  } else {
    Py_CLEAR(q.result);
  }
  Py_XDECREF(q.args);
  Py_XDECREF(q.owned);
  return q.result;
}

typedef struct Question {
  const char *name;
  bool is_function;
} Question;

static int find_function(lua_State *L) {
  Question *q = lua_touserdata(L, 1);
  lua_getglobal(L, q->name);
  q->is_function = lua_isfunction(L, -1) || /* a row_kernel is a table that is called */
                   (lua_istable(L, -1) && luaL_getmetafield(L, -1, "__call") != LUA_TNIL);
  return 0;
}

PyObject *state_has_function(PyObject *self, PyObject *name) {
  State *st = (State *)self;
  PyObject *utf8 = PyUnicode_AsUTF8String(name);
  Question q = {utf8 == NULL ? NULL : host_name(utf8), false};
  bool ok = q.name != NULL && state_enter(st);
  if (ok) {
    ok = state_succeeded(st, cuttle_call(st->S, find_function, &q));
    state_leave(st);
  }
  Py_XDECREF(utf8);
  return ok ? PyBool_FromLong(q.is_function) : NULL;
}
