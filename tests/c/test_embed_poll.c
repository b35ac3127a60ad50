/* test_embed_poll.c: hosts that are asked while a call is in progress (the option `poll`), and hosts that fork. */
#include "interp/cuttle.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

enum { N = 4096, BLOCK = 64, HANG = 300 };

static float x[N];

static const char script[] = "kernel('inc', function(x)\n"
                             "  local i = blockIdx.x * blockDim.x + threadIdx.x\n"
                             "  x[i] = x[i] + 1\n"
                             "end)\n"
                             "kernel('long', function(x)\n"
                             "  local v = x[0]\n"
                             "  while v >= 0 do v = 1 - v end\n"
                             "end)\n";

typedef struct Host {
  cuttle_State *S;
  int n_asked, stop_at;
  cuttle_Status inside; /* of a call in the callback */
  char message[256];
} Host;

static int ask(void *ud) {
  Host *h = ud;
  h->n_asked++;
  h->inside = cuttle_dostring(h->S, "x = 1", "=inside");
  snprintf(h->message, sizeof h->message, "%s", cuttle_error(h->S));
  return h->n_asked == h->stop_at;
}

static cuttle_Status launch(cuttle_State *S, const char *name) {
  const int64_t shape[1] = {N}, stride[1] = {1};
  const cuttle_Memory m = {
      .ptr = x, .shape = shape, .stride = stride, .rank = 1, .dtype = CUTTLE_F32, .device = -1};
  const cuttle_Arg args[] = {cuttle_memory(&m)};
  return cuttle_launch(S, cuttle_kernel(S, name), (cuttle_Dim3){N / BLOCK, 1, 1},
                       (cuttle_Dim3){BLOCK, 1, 1}, 1, args);
}

static void clear(void) { memset(x, 0, sizeof x); }

static bool are_all(float v) {
  int n = 0;
  while (n < N && x[n] == v) {
    n++;
  }
  return n == N;
}

static cuttle_State *open_state(Host *host) {
  cuttle_Options o = {.size = sizeof o, .device = "cpu"};
  if (host != NULL) {
    o.poll = ask;
    o.poll_ud = host;
    o.interrupted_by_own_thread = 1;
  }
  cuttle_State *S = cuttle_open(&o);
  if (host != NULL) {
    host->S = S;
  }
  OK(cuttle_dostring(S, script, "=script") == CUTTLE_OK, "a state opens");
  return S;
}

static void test_poll(void) {
  Host host = {.stop_at = 3};
  cuttle_State *S = open_state(&host);
  cuttle_State *other = cuttle_open(&(cuttle_Options){.size = sizeof(cuttle_Options),
                                                      .device = "cpu",
                                                      .poll = ask,
                                                      .poll_ud = &(Host){.stop_at = -1}});
  host.n_asked = 0;
  IS_INT(cuttle_dostring(S, "while true do end", "=loop"), CUTTLE_INTERRUPTED,
         "a callback that says so stops a script");
  IS_INT(host.n_asked, 3, "when it says so");
  IS_INT(host.inside, CUTTLE_ERROR, "a call inside it fails");
  IS_STR(host.message,
         "called inside the poll callback, while a call of the state is in progress; only "
         "cuttle_interrupt may be",
         "with a message");
  cuttle_close(other);
  clear();
  host.n_asked = 0;
  IS_INT(launch(S, "long"), CUTTLE_INTERRUPTED, "and a kernel, while another thread runs blocks");
  IS_INT(host.n_asked, 3, "after some questions that let it go on");
  host.stop_at = -1;
  IS_INT(launch(S, "inc"), CUTTLE_OK, "the state goes on");
  OK(are_all(1.0f), "with the right results");
  cuttle_close(S);
}

static void in_child(bool (*test)(cuttle_State *), cuttle_State *S, const char *name) {
  int status = 0;
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    alarm(HANG);
    _exit(test(S) ? 0 : 1);
  }
  OK(waitpid(child, &status, 0) == child && status == 0, "%s", name);
}

static bool launches(cuttle_State *S) {
  clear();
  return launch(S, "inc") == CUTTLE_OK && launch(S, "inc") == CUTTLE_OK && are_all(2.0f);
}

static bool closes(cuttle_State *S) {
  cuttle_close(S);
  return true;
}

static bool launches_and_closes(cuttle_State *S) { return launches(S) && closes(S); }

static bool opens(cuttle_State *S) {
  cuttle_State *own =
      cuttle_open(&(cuttle_Options){.size = sizeof(cuttle_Options), .device = "cpu"});
  return cuttle_dostring(own, script, "=own") == CUTTLE_OK && launches_and_closes(own) && closes(S);
}

static bool stops(cuttle_State *S) {
  clear();
  return launch(S, "long") == CUTTLE_INTERRUPTED;
}

static void test_forks(void) {
  Host host = {.stop_at = 2};
  cuttle_State *S = open_state(NULL), *asked = open_state(&host);
  OK(launches(S), "a launch starts the engine's threads");
  in_child(launches, S, "a child of fork launches");
  in_child(closes, S, "a child closes what it inherited");
  in_child(launches_and_closes, S, "also after launches");
  in_child(opens, S, "a child opens a state of its own");
  host.n_asked = 0;
  in_child(stops, asked, "the callback is asked in a child, too");
  OK(launches(S), "the parent goes on");
  cuttle_close(asked);
  cuttle_close(S);
}

int main(void) {
  alarm(2 * HANG);
  test_poll();
  test_forks();
  return done_testing();
}
