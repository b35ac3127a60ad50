/* test_embed_taps.c: what takes part in launches (interp/launch/launch_tap.h), where a host launches or is called while
   one is under way. */
#include "interp/cuttle.h"

#include <lauxlib.h>
#include <lua.h>

#include "tap.h"

enum { N = 32 };

static cuttle_State *S;
static float x[N], y[N];
static cuttle_Status lent;
static float seen; /* of y when the launch was over */

static const char script[] =
    "local _, internal = debug.getupvalue(package.preload['cuttle.show'], 2)\n"
    "launch, export = internal.launch, internal.export\n"
    "kernel('axpy', function(a, x, y)\n"
    "  local i = threadIdx.x\n"
    "  y[i] = a * x[i] + y[i]\n"
    "end)\n"
    "loud = kernel('loud', function() printf('now\\n') end)\n"
    "race = kernel('race', function(x) x[threadIdx.x] = x[0] + 1.0 end)\n"
    "function is_found() return not pcall(race{grid = 1, block = 32, check = true}, X) end\n"
    "X = zeros(f32, 32)\n";

static void runs(const char *text, const char *name) {
  if (!IS_INT(cuttle_dostring(S, text, "=taps"), CUTTLE_OK, "%s", name)) {
    tap_diag("%s", cuttle_error(S));
  }
}

/* lend(): launches axpy with memory of the host's. */
static int lend(lua_State *L) {
  const int64_t n = N;
  cuttle_Memory mx = {.ptr = x, .shape = &n, .rank = 1, .dtype = CUTTLE_F32, .device = -1};
  cuttle_Memory my = mx;
  my.ptr = y;
  cuttle_Arg args[] = {cuttle_float(2), cuttle_memory(&mx), cuttle_memory(&my)};
  cuttle_Launch o = {.size = sizeof o, .grid = {1, 1, 1}, .block = {N, 1, 1}};
  lent = cuttle_launch_with(S, cuttle_kernel(S, "axpy"), &o, 3, args);
  seen = y[3];
  return lent == CUTTLE_OK ? 0 : luaL_error(L, "%s", cuttle_error(S));
}

static void print(void *ud, const char *text, size_t len) {
  (void)ud;
  if (len == 4 && strncmp(text, "now\n", len) == 0) {
    lua_State *L = cuttle_lua(S);
    lua_getglobal(L, "now");
    lua_call(L, 0, 0);
  }
}

/* Memory that is lent for one launch must not outlive it, so what would keep it refuses the launch. */
static void test_lent(void) {
  x[3] = 1;
  runs("lend()", "a launch with memory of the host's");
  runs("ok, why = pcall(graph, lend)", "a graph of it");
  IS_INT(lent, CUTTLE_ERROR, "is refused");
  runs(
      "assert(not ok and why:find('graph: axpy is launched with memory that the host lends', 1, true), why)",
      "and says why");
  runs(
      "do\n"
      "  local session <close> = launch.launches(function() told = true end)\n"
      "  ok, why = pcall(lend)\n"
      "end\n"
      "assert(not ok and not told and why:find('tune: axpy is launched with memory', 1, true), why)",
      "so is one whose arguments are handed over");
  IS_INT(y[3], 2, "which did not run");
  runs("profile(lend)", "one that is only counted");
  IS_INT(lent, CUTTLE_OK, "is as ever");
  IS_INT(y[3], 4, "and runs");
}

/* Launches of ranks wait for each other; the host has its memory back when its call returns. */
static void test_ranks(void) {
  float before = y[3];
  runs("mesh'(data=2)':run(function(r) if r.rank == 1 then lend() end end)", "a rank's launch");
  IS_INT(seen, before + 2, "has run when the host goes on");
  runs("mesh'(data=2)':run(function(r) race{grid = 1, block = 1}(X) lend() end)",
       "beside others that wait");
  IS_INT(seen, before + 6, "too");
}

/* What a kernel prints may end the session that times its launch, and begin another one. */
static void test_times(void) {
  runs("session = launch.time_launches()\n"
       "function now() session:close() session = launch.time_launches() end\n"
       "loud{grid = 1, block = 1}()\n"
       "assert(#session:finish() == 0)",
       "a session that began during a launch does not time it");
  runs("function now() session:mode 'time' end\n"
       "session:mode 'count'\n"
       "loud{grid = 1, block = 1}()\n"
       "local rows = session:finish()\n"
       "assert(rows[1].launches == 1 and #rows[1].samples == 0)",
       "a launch that is counted when it begins is not timed when it ends");
  runs("function now() end\n"
       "loud{grid = 1, block = 1}()\n"
       "local rows = session:finish()\n"
       "assert(rows[1].launches == 2 and #rows[1].samples == 1 and rows[1].samples[1].ms < 1e5)\n"
       "session:close()",
       "the next one is timed");
}

/* The check of a launch is over, however those that look at the launch as well end. */
static void test_check(void) {
  runs("assert(is_found())", "a race");
  runs(
      "collectgarbage 'stop'\n"
      "do\n"
      "  local session <close> = export.begin(function() return {} end, function() error 'taken' end)\n"
      "  local ok, why = pcall(race{grid = 1, block = 32, check = true}, X)\n"
      "  assert(not ok and why:find 'taken', why)\n"
      "end\n"
      "local found = is_found()\n"
      "collectgarbage 'restart'\n"
      "assert(found)",
      "is found after a session raised");
}

/* A launch of the host's with these options, of a kernel that takes x: does the message have the words? NULL: it ends
   well. */
static void ends(const char *name, cuttle_Launch o, const char *words) {
  const int64_t n = N;
  cuttle_Memory mx = {.ptr = x, .shape = &n, .rank = 1, .dtype = CUTTLE_F32, .device = -1};
  cuttle_Arg args[] = {cuttle_memory(&mx)};
  o.size = sizeof o;
  o.grid = (cuttle_Dim3){1, 1, 1};
  o.block = (cuttle_Dim3){N, 1, 1};
  cuttle_Status status = cuttle_launch_with(S, cuttle_kernel(S, name), &o, 1, args);
  const char *why = cuttle_error(S);
  OK(words == NULL ? status == CUTTLE_OK : status != CUTTLE_OK && strstr(why, words) != NULL,
     "%s: %s", name, why);
}

/* Each option of a launch means the same as in a script. */
static void test_options(void) {
  runs("kernel('sum', function(x) atomic_add(x, 0, 0.5) end)\n"
       "kernel('root', function(x) x[threadIdx.x] = sqrt(x[threadIdx.x] - 8.0) end)\n"
       "kernel('say', function(x) for i = 1, 2 do printf('%d ', threadIdx.x) end end)",
       "three kernels");
  cuttle_Launch none = {0};
  ends("race", none, NULL);
  ends("race", (cuttle_Launch){.check = CUTTLE_CHECK}, "race: ");
  ends("race", none, NULL);
  ends("race", (cuttle_Launch){.check = CUTTLE_CHECK | CUTTLE_CHECK_NO_GLOBAL}, NULL);
  ends("root", (cuttle_Launch){.check = CUTTLE_CHECK}, NULL);
  memset(x, 0, sizeof x);
  ends("root", (cuttle_Launch){.check = CUTTLE_CHECK | CUTTLE_CHECK_NAN}, "nan: ");
  memset(x, 0, sizeof x);
  ends("sum", (cuttle_Launch){.check = CUTTLE_CHECK}, NULL);
  ends("sum", (cuttle_Launch){.check = CUTTLE_CHECK, .deterministic = 1}, "deterministic = true");
  ends("race", (cuttle_Launch){.check = CUTTLE_CHECK_NAN}, "`check` is 0 or CUTTLE_CHECK");
  ends("race", (cuttle_Launch){.check = 17}, "`check` is 0 or CUTTLE_CHECK");
  ends("say", (cuttle_Launch){.print_order = (cuttle_PrintOrder)7}, "`print_order` is");
  ends("race", (cuttle_Launch){.pdl = 1, .cooperative = 1}, "leave one of the two options out");
  ends("race", (cuttle_Launch){.shared_bytes = 1u << 31}, "bytes of dynamic shared memory");
}

int main(void) {
  cuttle_Options o = {.size = sizeof o, .device = "cpu:2", .no_environment = 1, .print = print};
  S = cuttle_open(&o);
  lua_State *L = cuttle_lua(S);
  lua_register(L, "lend", lend);
  runs(script, "the script");
  test_lent();
  test_ranks();
  test_times();
  test_check();
  test_options();
  cuttle_close(S);
  return done_testing();
}
