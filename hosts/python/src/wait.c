/* wait.c: work without the GIL, and what happens to a process meanwhile: signals and forks. Python's own handlers
   of signals only note that one came, and its functions run in the main thread later. So the call in progress
   there asks now and then (the `poll` of its interpreter), as does a thread that waits for its turn. */
#include <pthread.h>

#include "hosts/python/src/host.h"

enum { LOOK_US = 50 * 1000 };

static unsigned long main_thread;
static unsigned forks; /* that lie between the import and this process */

static void note_fork(void) {
  main_thread = PyThread_get_thread_ident();
  forks++;
}

void wait_open(void) {
  main_thread = PyThread_get_thread_ident();
  (void)pthread_atfork(NULL, NULL, note_fork);
}

unsigned wait_forks(void) { return forks; }

PyThreadState *wait_begin(void) { return PyEval_SaveThread(); }
void wait_end(PyThreadState *thread) { PyEval_RestoreThread(thread); }

static bool is_main(void) { return PyThread_get_thread_ident() == main_thread; }

int wait_poll(void *ud) {
  State *st = ud;
  if (!is_main()) {
    return 0;
  }
  PyGILState_STATE gil = PyGILState_Ensure();
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  st->is_asked = true;
  bool raised = PyErr_CheckSignals() != 0;
  st->is_asked = false;
  if (raised) {
    state_keep_exception(st);
  }
  PyErr_Restore(type, value, trace);
  PyGILState_Release(gil);
  return raised;
}

bool wait_lock(PyThread_type_lock lock, bool *has_it) {
  PY_TIMEOUT_T time = is_main() ? LOOK_US : -1;
  PyThreadState *thread = wait_begin();
  *has_it = PyThread_acquire_lock_timed(lock, time, 1) == PY_LOCK_ACQUIRED;
  wait_end(thread);
  return PyErr_CheckSignals() == 0;
}
