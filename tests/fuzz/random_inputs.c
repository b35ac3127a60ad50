/* random_inputs.c: runs a fuzz target on random inputs, where there is no libFuzzer to choose them.
     calls_host [INPUTS [SEED [NUMBER]]]
   INPUTS: how many. NUMBER: that one alone. Prints TAP. An input that takes more than 10 s of a processor is a failure. */
#include <signal.h>
#include <stdbool.h>
#include <sys/time.h>

#include "bytes.h"
#include "tap.h"

enum { MAX_BYTES = 400, MOST_SECONDS = 10 };

/* xorshift64* */
static uint64_t next_random(uint64_t *state) {
  *state ^= *state >> 12;
  *state ^= *state << 25;
  *state ^= *state >> 27;
  return *state * 0x2545F4914F6CDD1Du;
}

static void run_input(uint64_t seed, uint64_t number) {
  uint8_t bytes[MAX_BYTES];
  uint64_t state = (seed << 40 ^ number) * 0x9E3779B97F4A7C15u | 1;
  size_t n = (size_t)(next_random(&state) >> 33) % MAX_BYTES;
  for (size_t i = 0; i < n; i++) {
    bytes[i] = (uint8_t)(next_random(&state) >> 56);
  }
  const struct itimerval timer = {.it_value = {.tv_sec = MOST_SECONDS}};
  setitimer(ITIMER_VIRTUAL, &timer, NULL);
  LLVMFuzzerTestOneInput(bytes, n);
}

/* {====== What runs when the process ends ====== */

typedef struct Input {
  uint64_t seed, number;
} Input;

static Input running;

static void tell_input(void) {
  fprintf(stderr, "# input %llu of seed %llu: run with 1 %llu %llu\n",
          (unsigned long long)running.number, (unsigned long long)running.seed,
          (unsigned long long)running.seed, (unsigned long long)running.number);
}

static void tell_abort(int signal_number) {
  tell_input();
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

/* There where a sanitizer is. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

/* gcc's UBSan knows no callbacks. */
const char *__ubsan_default_options(void);
const char *__ubsan_default_options(void) { return "abort_on_error=1"; }

static void tell_before_end(void) {
  signal(SIGABRT, tell_abort);
  signal(SIGVTALRM, tell_abort);
  if (__sanitizer_set_death_callback != NULL) {
    __sanitizer_set_death_callback(tell_input);
  }
}

static uint64_t argument(int argc, char **argv, int i, uint64_t other) {
  return i < argc ? strtoull(argv[i], NULL, 10) : other;
}

int main(int argc, char **argv) {
  uint64_t inputs = argument(argc, argv, 1, random_inputs), seed = argument(argc, argv, 2, 1),
           n = 0;
  if (argc > 3) {
    run_input(seed, argument(argc, argv, 3, 0));
    return 0;
  }
  tell_before_end();
  for (; n < inputs; n++) {
    running = (Input){seed, n};
    run_input(seed, n);
  }
  OK(n > 0, "%llu random sequences of calls", (unsigned long long)n);
  return done_testing();
}
