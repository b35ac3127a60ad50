/* test_wrong_arguments.c: calls all functions that a sandboxed script can reach, and those that only
   the library calls, with random values (tests/support/wrong_arguments.lua). Nothing that a call is
   given may end the process or hang: each number of rounds runs in a process of its own.
     test_wrong_arguments [ROUNDS [SEED [ROUND]]]
   ROUND: that round alone, in this process, and each call is printed before it is made. */
#include <lauxlib.h>
#include <lua.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "interp/cuttle.h"
#include "tap.h"

#define SCRIPT "tests/support/wrong_arguments.lua"

enum {
  ROUNDS = 20,           /* of a process */
  INTERRUPT_SECONDS = 2, /* what is slow is stopped, */
  HANG_SECONDS = 300,    /* and what cannot be stopped is a finding */
  MEMORY_MIB = 64
};

static cuttle_State *running;

static void interrupt(int signal_number) {
  (void)signal_number;
  cuttle_interrupt(running);
}

static void interrupt_every(int seconds) {
  struct sigaction act = {.sa_handler = interrupt, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &act, NULL);
  struct itimerval t = {.it_interval.tv_sec = seconds, .it_value.tv_sec = seconds};
  setitimer(ITIMER_REAL, &t, NULL);
}

static void drop_text(void *ud, const char *text, size_t len) {
  (void)ud;
  (void)text;
  (void)len;
}

static void show_text(void *ud, const char *text, size_t len) {
  (void)ud;
  fwrite(text, 1, len, stdout);
  fflush(stdout);
}

/* The library's own functions, which no script reaches, as the global INTERNAL. */
static void give_internals(lua_State *L) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  lua_getfield(L, -1, "cuttle.show");
  if (lua_getupvalue(L, -1, 2) != NULL) {
    lua_setglobal(L, "INTERNAL");
  }
  lua_settop(L, 0);
}

static void set_number(lua_State *L, const char *name, long value) {
  lua_pushinteger(L, value);
  lua_setglobal(L, name);
}

/* A state that has loaded the script; NULL: a message was printed. */
static cuttle_State *open_state(long seed, bool is_verbose) {
  cuttle_Options o = {.size = sizeof o,
                      .sandbox = 1,
                      .device = "cpu",
                      .no_environment = 1,
                      .memory_limit = (size_t)MEMORY_MIB << 20,
                      .print = is_verbose ? show_text : drop_text};
  cuttle_State *S = cuttle_open(&o);
  lua_State *L = cuttle_lua(S);
  give_internals(L);
  set_number(L, "SEED", seed);
  if (is_verbose) {
    set_number(L, "VERBOSE", 1);
  }
  if (cuttle_dofile(S, SCRIPT) != CUTTLE_OK) {
    fprintf(stderr, "# %s\n", cuttle_error(S));
    cuttle_close(S);
    return NULL;
  }
  return S;
}

static void run_round(cuttle_State *S, long i) {
  char text[64];
  snprintf(text, sizeof text, "round(%ld)", i);
  if (cuttle_dostring(S, text, "=round") == CUTTLE_ERROR) {
    fprintf(stderr, "# round %ld: %s\n", i, cuttle_error(S));
  }
}

/* In a process of its own. *round is shared with the parent. */
static int run_rounds(long seed, long first, volatile long *round) {
  running = open_state(seed, false);
  if (running == NULL) {
    return 1;
  }
  interrupt_every(INTERRUPT_SECONDS);
  for (*round = first; *round < first + ROUNDS; ++*round) {
    run_round(running, *round);
  }
  interrupt_every(0);
  cuttle_close(running);
  return 0;
}

static bool has_ended(pid_t child, int *status) {
  const struct timespec pause = {.tv_nsec = 10000000};
  for (long i = 0; i < HANG_SECONDS * 100L; i++) {
    if (waitpid(child, status, WNOHANG) == child) {
      return true;
    }
    nanosleep(&pause, NULL);
  }
  kill(child, SIGKILL);
  waitpid(child, status, 0);
  return false;
}

/* True: all of them returned. */
static bool run_process(long seed, long first, volatile long *round) {
  int status = 0;
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    _exit(run_rounds(seed, first, round));
  }
  bool ended = has_ended(child, &status);
  bool fine = ended && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (!fine) {
    tap_diag(
        "round %ld of seed %ld %s (status %d); test_wrong_arguments 1 %ld %ld prints its calls",
        *round, seed, ended ? "ended the process" : "does not end", status, seed, *round);
  }
  return fine;
}

/* A number that processes share. NULL: there is none. */
static volatile long *shared_number(void) {
  FILE *f = tmpfile();
  if (f == NULL || ftruncate(fileno(f), sizeof(long)) != 0) {
    return NULL;
  }
  void *p = mmap(NULL, sizeof(long), PROT_READ | PROT_WRITE, MAP_SHARED, fileno(f), 0);
  return p == MAP_FAILED ? NULL : p; /* the file goes with the process */
}

static long argument(int argc, char **argv, int i, long other) {
  return i < argc ? strtol(argv[i], NULL, 10) : other;
}

int main(int argc, char **argv) {
  long rounds = argument(argc, argv, 1, 120), seed = argument(argc, argv, 2, 1);
  long only = argument(argc, argv, 3, -1), n = 0;
  if (only >= 0) {
    running = open_state(seed, true);
    interrupt_every(INTERRUPT_SECONDS);
    run_round(running, only);
    cuttle_close(running);
    return 0;
  }
  volatile long *round = shared_number();
  if (round == NULL) {
    return skip_all("no memory to share with a process");
  }
  bool fine = true;
  for (; fine && n < rounds; n += ROUNDS) {
    fine = run_process(seed, n, round);
  }
  OK(fine, "wrong arguments end no process and hang none");
  tap_diag("%ld rounds of seed %ld", n, seed);
  return done_testing();
}
