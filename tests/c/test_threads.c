/* test_threads.c: states in several threads at a time, and interrupts from outside of a state's own:
   another thread's, and those of a signal handler that runs in another thread. `make tsan` runs this
   under ThreadSanitizer. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "interp/cuttle.h"
#include "tap.h"

enum { SECONDS = 300 }; /* for all of it, under sanitizers on a busy machine */

static void drop(void *ud, const char *text, size_t len) {
  (void)text;
  atomic_fetch_add((atomic_llong *)ud, (long long)len);
}

static atomic_llong n_printed;

static cuttle_State *open_state(int sandbox) {
  cuttle_Options o = {.size = sizeof o,
                      .device = "cpu",
                      .no_environment = 1,
                      .sandbox = sandbox,
                      .memory_limit = (size_t)64 << 20,
                      .print = drop,
                      .print_ud = &n_printed};
  return cuttle_open(&o);
}

static void pause_us(long us) {
  struct timespec t = {0, us * 1000};
  nanosleep(&t, NULL);
}

/* {====== States side by side ====== */

static const char kernels[] =
    "kernel('k', function(a, x, y)\n"
    "  local i = blockIdx.x * blockDim.x + threadIdx.x\n"
    "  local s = shared(f32, {64})\n"
    "  s[threadIdx.x] = x[i]\n"
    "  sync_threads()\n"
    "  atomic_add(y, 0, 1)\n"
    "  x[i] = a * s[63 - threadIdx.x] + warp_scan(x[i], 'add')\n"
    "  printf('%d\\n', i)\n"
    "end)\n"
    "for i = 1, 20 do assert(size(composition('(20,2):(16,4)', '(4,5):(1,4)')) == 20) end\n";

static void *use_state(void *arg) {
  enum { N = 1024, LAUNCHES = 3 };
  float x[N] = {0};
  int y[1] = {0};
  cuttle_State *S = open_state(arg != NULL);
  bool ok = cuttle_dostring(S, kernels, "=kernels") == CUTTLE_OK;
  cuttle_Arg args[] = {cuttle_float(1),
                       cuttle_tensor(cuttle_tensor_wrap(S, x, "f32", "1024", NULL, NULL, NULL)),
                       cuttle_tensor(cuttle_tensor_wrap(S, y, "i32", "1", NULL, NULL, NULL))};
  for (int i = 0; i < LAUNCHES; i++) {
    ok = ok && cuttle_launch(S, cuttle_kernel(S, "k"), (cuttle_Dim3){16, 1, 1},
                             (cuttle_Dim3){64, 1, 1}, 3, args) == CUTTLE_OK;
  }
  ok = ok && y[0] == LAUNCHES * N;
  cuttle_close(S);
  return ok ? &n_printed : NULL;
}

static void test_states(void) {
  enum { N = 4 };
  pthread_t threads[N];
  bool ok = true;
  for (int i = 0; i < N; i++) {
    pthread_create(&threads[i], NULL, use_state, i % 2 == 0 ? &n_printed : NULL);
  }
  for (int i = 0; i < N; i++) {
    void *result;
    pthread_join(threads[i], &result);
    ok = ok && result != NULL;
  }
  OK(ok, "states in four threads do not disturb each other");
}

/* {====== Interrupts from outside ====== */

/* Coroutines inside coroutines, made and dropped all the time. */
static const char coroutines[] = "function f()\n"
                                 "  for k = 1, 300 do\n"
                                 "    local outer = coroutine.wrap(function()\n"
                                 "      for i = 1, 10 do\n"
                                 "        coroutine.yield(coroutine.wrap(function()\n"
                                 "          local s = 0 for j = 1, 50 do s = s + j end return s\n"
                                 "        end)())\n"
                                 "      end\n"
                                 "    end)\n"
                                 "    for v in outer do end\n"
                                 "  end\n"
                                 "end\n";

static cuttle_State *_Atomic target; /* that is interrupted; NULL: none */

static void *interrupt_often(void *arg) {
  (void)arg;
  for (long us = 1; atomic_load(&target) != NULL; us = us * 7 % 251 + 1) {
    cuttle_interrupt(atomic_load(&target));
    pause_us(us);
  }
  return NULL;
}

/* Runs the text n times while another thread interrupts; every status is one of the two. */
static void run_interrupted(cuttle_State *S, const char *text, int n, const char *name) {
  int n_status[4] = {0};
  pthread_t dog;
  atomic_store(&target, S);
  pthread_create(&dog, NULL, interrupt_often, NULL);
  for (int i = 0; i < n; i++) {
    n_status[cuttle_dostring(S, text, "=text")]++;
  }
  atomic_store(&target, NULL);
  pthread_join(dog, NULL);
  OK(n_status[CUTTLE_OK] + n_status[CUTTLE_INTERRUPTED] == n && n_status[CUTTLE_INTERRUPTED] > 0,
     "%s: %d ended, %d were interrupted", name, n_status[CUTTLE_OK], n_status[CUTTLE_INTERRUPTED]);
}

static void test_interrupts(int sandbox) {
  cuttle_State *S = open_state(sandbox);
  OK(cuttle_dostring(S, coroutines, "=coroutines") == CUTTLE_OK, "functions are there");
  OK(cuttle_dostring(S,
                     "x = full(f32, 4, 1.0)\n"
                     "spin = kernel('spin', function(x)\n"
                     "  while x[blockIdx.x] == 0.0 do x[blockIdx.x] = 0.0 end\n"
                     "end){grid = 4, block = 64}\n"
                     "spin(x) x = zeros(f32, 4)",
                     "=spin") == CUTTLE_OK,
     "a kernel is there");
  run_interrupted(S, "f()", 100, "a script that makes coroutines");
  run_interrupted(S, "while true do end", 20, "a loop");
  run_interrupted(S, "spin(x)", 20, "a kernel");
  OK(cuttle_dostring(S, "f()", "=after") == CUTTLE_OK, "the state goes on");
  cuttle_close(S);
}

/* {====== Signals that another thread gets ====== */

static void on_alarm(int signal_number) {
  (void)signal_number;
  cuttle_interrupt(atomic_load(&target));
}

static void *run_job(void *arg) {
  cuttle_State *S = arg;
  int n_interrupted = 0;
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, NULL); /* the signals are for the main thread */
  for (int i = 0; i < 50; i++) {
    n_interrupted += cuttle_dostring(S, "f() while true do end", "=job") == CUTTLE_INTERRUPTED;
  }
  atomic_store(&target, NULL);
  return n_interrupted == 50 ? S : NULL;
}

static void test_signals(void) {
  cuttle_State *S = open_state(0);
  struct sigaction action = {.sa_handler = on_alarm};
  void *result;
  pthread_t worker;
  sigaction(SIGALRM, &action, NULL);
  OK(cuttle_dostring(S, coroutines, "=coroutines") == CUTTLE_OK, "functions are there");
  atomic_store(&target, S);
  pthread_create(&worker, NULL, run_job, S);
  for (long us = 1; atomic_load(&target) != NULL; us = us * 7 % 251 + 1) {
    raise(SIGALRM);
    pause_us(us);
  }
  pthread_join(worker, &result);
  OK(result != NULL, "signal handlers of another thread stop each call");
  cuttle_close(S);
}

static void *end_process(void *arg) {
  (void)arg;
  sleep(SECONDS);
  tap_diag("still running after %d s", SECONDS);
  _exit(1);
}

int main(void) {
  pthread_t limit;
  pthread_create(&limit, NULL, end_process, NULL);
  pthread_detach(limit);
  test_states();
  test_interrupts(0);
  test_interrupts(1);
  test_signals();
  return done_testing();
}
