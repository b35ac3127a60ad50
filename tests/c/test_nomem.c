/* test_nomem.c: what happens when memory runs out. Each script of tests/support/nomem runs with its n-th
   allocation failing, and with that and all later ones: it says so (CUTTLE_NOMEM) or does without, frees
   all it has, and then runs in the same state as if nothing had been.
     test_nomem [NUMBERS [SCRIPT [N]]]
   NUMBERS n are tried of each script, and lie everywhere; 0: all of them. N: that one alone, in this process. */
#include <dirent.h>
#include <lua.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "interp/cuttle.h"
#include "heap.h"
#include "tap.h"

#define FOLDER "tests/support/nomem"

enum { MAX_SCRIPTS = 64, HANG_SECONDS = 300, NUMBERS = TAP_IS_SANITIZED ? 8 : 32 };

/* {====== One state ====== */

static void drop_text(void *ud, const char *text, size_t len) {
  (void)ud;
  (void)text;
  (void)len;
}

static cuttle_State *open_state(Heap *h) {
  cuttle_Options o = {
      .size = sizeof o, .device = "cpu", .alloc = heap_alloc, .alloc_ud = h, .print = drop_text};
  return cuttle_open(&o);
}

/* {====== One failure ====== */

/* Runs the script in the state with allocation n failing; then again. 0: all is well; else what was
   found was printed. Garbage waits: Lua drops a finalizer that there is no memory to call, and with it
   what the finalizer would have freed. */
static int run_failing(cuttle_State *S, Heap *h, const char *script, long long n, bool fails_on) {
  int found = 0;
  h->n_calls = 0;
  h->fails_once = !fails_on;
  h->fail_at = n;
  lua_gc(cuttle_lua(S), LUA_GCSTOP);
  cuttle_Status status = cuttle_dofile(S, script);
  h->fail_at = 0;
  lua_gc(cuttle_lua(S), LUA_GCRESTART);
  if (status != CUTTLE_OK && status != CUTTLE_NOMEM) {
    tap_diag("%s %lld%s: %s", script, n, fails_on ? " on" : "", cuttle_error(S));
    found = 1;
  }
  if (cuttle_dofile(S, script) != CUTTLE_OK) {
    tap_diag("%s %lld%s, afterwards: %s", script, n, fails_on ? " on" : "", cuttle_error(S));
    found = 1;
  }
  cuttle_close(S);
  if (h->bytes != 0) {
    tap_diag("%s %lld%s: %lld bytes were lost", script, n, fails_on ? " on" : "",
             (long long)h->bytes);
    found = 1;
  }
  fflush(stdout);
  return found;
}

/* The same in a process of its own, with a copy of the state. */
static bool is_fine(cuttle_State *S, Heap *h, const char *script, long long n, bool fails_on) {
  int status = 0;
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    alarm(HANG_SECONDS);
    _exit(run_failing(S, h, script, n, fails_on));
  }
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) > 1) {
    tap_diag("%s %lld%s: the process ended with status %d", script, n, fails_on ? " on" : "",
             status);
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* {====== All of a script ====== */

/* How many allocations the script makes; 0: it fails by itself. */
static long long count_calls(const char *script) {
  Heap h = {0};
  cuttle_State *S = open_state(&h);
  h.n_calls = 0;
  cuttle_Status status = cuttle_dofile(S, script);
  long long n = h.n_calls;
  if (status != CUTTLE_OK) {
    tap_diag("%s: %s", script, cuttle_error(S));
    n = 0;
  }
  cuttle_close(S);
  return n;
}

static long long gcd(long long a, long long b) { return b == 0 ? a : gcd(b, a % b); }

/* A step by which all numbers below n are reached, far apart at first. */
static long long step_of(long long n) {
  long long step = (long long)((double)n * 0.6180339887) | 1;
  while (gcd(step, n) != 1) {
    step++;
  }
  return step;
}

static void test_script(const char *script, long long numbers) {
  long long n = count_calls(script), runs = 0, bad = 0;
  Heap h = {0};
  cuttle_State *S = open_state(&h); /* before it is copied: no thread is running yet */
  for (long long i = 0; i < n && bad < 5 && (numbers == 0 || i < numbers); i++) {
    long long at = 1 + i * step_of(n) % n;
    bad += !is_fine(S, &h, script, at, false);
    bad += !is_fine(S, &h, script, at, true);
    runs += 2;
  }
  cuttle_close(S);
  OK(n > 0 && bad == 0, "%s: %lld runs of %lld allocations", script, runs, n);
}

static int compare(const void *a, const void *b) { return strcmp(a, b); }

static int list_scripts(char names[MAX_SCRIPTS][300]) {
  int n = 0;
  DIR *dir = opendir(FOLDER);
  for (const struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL && n < MAX_SCRIPTS;) {
    if (strstr(e->d_name, ".lua") != NULL) {
      snprintf(names[n++], sizeof names[0], FOLDER "/%s", e->d_name);
    }
  }
  if (dir != NULL) {
    closedir(dir);
  }
  qsort(names, (size_t)n, sizeof names[0], compare);
  return n;
}

static int run_one(const char *script, long long n) {
  int found = 0;
  for (int on = 0; on < 2; on++) {
    Heap h = {0};
    found += run_failing(open_state(&h), &h, script, n, on != 0);
  }
  return found;
}

int main(int argc, char **argv) {
  static char scripts[MAX_SCRIPTS][300];
  setenv("CUTTLE_NVRTC", "/nowhere", 1); /* what it compiles is no memory of ours, and takes long */
  long long numbers = argc > 1 ? strtoll(argv[1], NULL, 10) : NUMBERS;
  int n = list_scripts(scripts);
  if (argc > 3) {
    return run_one(argv[2], strtoll(argv[3], NULL, 10));
  }
  for (int i = 0; i < n; i++) {
    if (argc < 3 || strstr(scripts[i], argv[2]) != NULL) {
      test_script(scripts[i], numbers);
    }
  }
  OK(n > 0, "there are scripts");
  return done_testing();
}
