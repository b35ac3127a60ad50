/* host.h: what the files of the extension share. It uses CPython's limited API only, so that one file serves
   Python 3.9 and later. */
#ifndef CUTTLE_PY_HOST_H
#define CUTTLE_PY_HOST_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03090000
#include <Python.h>
#include <stdbool.h>

#include "hosts/python/src/dlpack.h"
#include "interp/cuttle.h"

/* A function in a slot, which ISO C does not let become a void pointer unasked. */
#define HOST_SLOT(id, fn)                                                                          \
  { (id), __extension__(void *)(fn) }

/* {====== module.c ====== */

extern PyObject *host_error; /* cuttle.Error */
/* Raises cuttle.Error with the message and its place; `file` may be NULL. Returns NULL. */
PyObject *host_raise(const char *message, const char *file, int line);

/* A new object of a type made by PyType_FromSpec, all zero; frees one in its tp_dealloc. */
PyObject *host_new(PyTypeObject *type);
void host_free(PyObject *self);
/* True or False, the option called `name`. False with an exception. */
bool host_read_flag(const char *name, PyObject *o, int *out);
/* The text of a name, which lives as long as its bytes; NULL with an exception: it has a 0, where C would end it. */
const char *host_name(PyObject *utf8);

/* {====== streams.c ====== */

void host_open_streams(void);

/* {====== state.c: interpreters ====== */

typedef struct State {
  PyObject_HEAD cuttle_State *S;
  struct Kernel *kernels; /* that Python has, in a list */
  cuttle_State *kept;     /* S after close(), as long as Python has memory of it; else NULL */
  size_t n_holds;         /* tensors with memory of it */
  cuttle_Hold **dropped;  /* during a call, which ends first */
  size_t n_dropped;
  unsigned long owner;     /* the thread that is in it; it may enter again, */
  int depth;               /* so many times */
  PyThread_type_lock gate; /* where others wait, without the GIL */
  int n_waiting;
  bool is_gate_open;
  bool is_asked;  /* a handler of a signal runs during a call */
  bool is_lost;   /* another thread was in it when the process was forked */
  unsigned forks; /* wait_forks, when that was looked at */
  PyObject *name; /* of the script */
  PyObject *
      thrown[3]; /* what sys.stdout raised during the call: type, value, traceback; NULL: nothing */
} State;

int state_open_type(PyObject *module);
bool state_enter(State *st); /* false, with an exception: the state cannot be used */
void state_leave(State *st);
/* The exception for a status other than CUTTLE_OK, before state_leave; returns NULL. */
PyObject *state_raise(const State *st, cuttle_Status status);
/* Did the call succeed, and sys.stdout take all that it printed? False, with an exception: before state_leave. */
bool state_succeeded(State *st, cuttle_Status status);
/* Lets go of the memory of a tensor of the state, at once or when the call in progress has ended. */
void state_drop(State *st, cuttle_Hold *hold);
/* Keeps the exception that is set until the call has returned: none can pass through C. The first one counts. */
void state_keep_exception(State *st);

/* {====== wait.c: work without the GIL ====== */

void wait_open(void);
/* Lets go of the GIL, and takes it again. */
PyThreadState *wait_begin(void);
void wait_end(PyThreadState *thread);
/* The `poll` of a State's interpreter: runs the handlers of signals that came. One that raises stops the call. */
int wait_poll(void *ud);
/* Waits for a lock, for a while in the main thread. False, with an exception: a handler of a signal raised. */
bool wait_lock(PyThread_type_lock lock, bool *has_it);
/* How often this process was forked since the import. */
unsigned wait_forks(void);

/* {====== arguments.c: Python objects as arguments ====== */

enum { CALL_FEW = 12, CALL_LAST_BIT = 63 /* of what was written, for all later arguments */ };

/* The arguments of one call. What it holds is let go by call_end. */
typedef struct Call {
  int n;
  bool has_torch;
  int device;   /* number of the CUDA device of a tensor; -1: there is none so far */
  void *stream; /* its library's current one */
  cuttle_Arg *args;
  cuttle_Memory *memory;
  PyObject **held; /* a capsule whose memory is used, or NULL */
  void *block;     /* where the arrays are if they are many */
  cuttle_Arg few_args[CALL_FEW];
  cuttle_Memory few_memory[CALL_FEW];
  PyObject *few_held[CALL_FEW];
} Call;

int arguments_open(PyObject *module);
bool call_begin(Call *c, Py_ssize_t n);
/* Reads object number i; false with an exception. */
bool call_read(Call *c, int i, PyObject *object);
void call_end(Call *c);
/* plain.c: argument i, an object of that kind. False with an exception. */
bool call_read_int(Call *c, int i, PyObject *object, cuttle_ArgKind kind);
bool call_read_bool(Call *c, int i, PyObject *object);
bool call_read_float(Call *c, int i, PyObject *object, cuttle_ArgKind kind);
bool call_read_index(Call *c, int i, PyObject *object, cuttle_ArgKind kind); /* with __index__ */
bool call_put_text(Call *c, int i, PyObject *text,
                   cuttle_ArgKind kind); /* as UTF-8, which the call holds */
bool call_read_tuple(Call *c, int i, PyObject *object);
bool call_read_layout(Call *c, int i, PyObject *object);
/* Is it True, False or NumPy's? */
bool call_is_bool(PyObject *object);
/* Is it a tensor for call_read? */
bool call_is_tensor(PyObject *object);
/* A number of another type than int and float, such as numpy.float32, as one of these: a new reference. NULL without an
   exception: it is none. */
PyObject *call_as_number(PyObject *object);
/* Of PyTorch? */
bool call_is_torch(PyObject *object);

/* {====== torch.c ====== */

/* torch.a.b of "a.b"; NULL with an exception. */
PyObject *torch_attribute(const char *path);
/* False with an exception: the memory of tensor number i does not hold its elements. */
bool torch_refuse_negative(int i, PyObject *tensor, const cuttle_Memory *m);
/* Tells PyTorch which of n objects were written, a bit for each. False with an exception. */
bool torch_was_written(int n, PyObject *const *objects, uint64_t written);

/* {====== tensor.c: tensors that come back ====== */

/* The tensor at place idx of the Lua stack, a new reference. owner(ud, m): the object that lent memory which the host
   has, borrowed. NULL, without an exception if it is no such tensor. */
PyObject *tensor_of_result(State *st, int idx, PyObject *(*owner)(void *ud, const cuttle_Memory *m),
                           void *ud);
int tensor_open_type(PyObject *module);

/* {====== names.c: names of parameters ====== */

/* The names of a kernel's parameters, a tuple that *kept holds; "..." at the end stands for further ones. NULL with
   an exception. */
PyObject *names_of(State *st, cuttle_Kernel *kernel, PyObject **kept);
/* All arguments in order: n without names, and then those of the names `given`. A new tuple. */
PyObject *names_bind(PyObject *names, PyObject *kernel, PyObject *const *args, Py_ssize_t n,
                     PyObject *given);
/* The arguments by name, a new dict. */
PyObject *names_dict(PyObject *names, PyObject *const *args, Py_ssize_t n);
/* As inspect.Signature. */
PyObject *names_signature(PyObject *names);

/* {====== launch.c: kernels ====== */

int launch_open_types(PyObject *module);
PyObject *kernel_new(State *st, cuttle_Kernel *k, PyObject *name);

/* {====== language.c: functions of the language ====== */

/* state.call(name, args[, options]), state.has_function(name) */
PyObject *state_call(PyObject *self, PyObject *args);
PyObject *state_has_function(PyObject *self, PyObject *name);

#endif
