/* wait.c: work without the GIL, and Ctrl-C during it. Python's handler only sets a flag, which nobody looks at
   before the call is over; so meanwhile another handler stops the call, and passes the signal on. */
#include <signal.h>

#include "hosts/python/src/host.h"

static struct sigaction former;
static cuttle_State *volatile waiting; /* of the main thread; NULL: none */
static unsigned long main_thread;

void wait_open(void) { main_thread = PyThread_get_thread_ident(); }

static void stop(int number) {
  cuttle_interrupt(waiting);
  former.sa_handler(number);
}

/* Is this Python's main thread, and does somebody there wait for the signal? */
static bool is_heard(void) {
  return PyThread_get_thread_ident() == main_thread && sigaction(SIGINT, NULL, &former) == 0 &&
         (former.sa_flags & SA_SIGINFO) == 0 && former.sa_handler != SIG_DFL &&
         former.sa_handler != SIG_IGN;
}

static bool listen(const State *st) {
  struct sigaction now = {.sa_handler = stop};
  if (waiting != NULL || !is_heard()) {
    return false;
  }
  sigemptyset(&now.sa_mask);
  now.sa_flags = former.sa_flags;
  waiting = st->S;
  if (sigaction(SIGINT, &now, NULL) != 0) {
    waiting = NULL;
  }
  return waiting != NULL;
}

Wait wait_begin(const State *st, bool is_long) {
  bool is_stoppable = is_long && listen(st);
  return (Wait){PyEval_SaveThread(), is_stoppable};
}

void wait_end(const Wait *w) {
  PyEval_RestoreThread(w->thread);
  if (w->is_stoppable) {
    (void)sigaction(SIGINT, &former, NULL);
    waiting = NULL;
  }
}
