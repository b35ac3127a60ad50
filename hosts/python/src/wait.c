/* wait.c: Ctrl-C while a call is in C without the GIL. Python's handler only sets a flag, which nobody looks at
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

bool wait_begin(const State *st) {
  struct sigaction now = {.sa_handler = stop};
  if (waiting != NULL || PyThread_get_thread_ident() != main_thread ||
      sigaction(SIGINT, NULL, &former) != 0 || (former.sa_flags & SA_SIGINFO) != 0 ||
      former.sa_handler == SIG_DFL || former.sa_handler == SIG_IGN) {
    return false; /* not Python's main thread, or nobody there who waits for it */
  }
  sigemptyset(&now.sa_mask);
  now.sa_flags = former.sa_flags;
  waiting = st->S;
  if (sigaction(SIGINT, &now, NULL) != 0) {
    waiting = NULL;
  }
  return waiting != NULL;
}

void wait_end(bool has_begun) {
  if (has_begun) {
    (void)sigaction(SIGINT, &former, NULL);
    waiting = NULL;
  }
}
