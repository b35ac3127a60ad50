/* test_sandbox.c: scripts that attack the host of a sandbox: its time, memory, files and environment.
   Each runs in a process of its own, which is killed when it takes too long, with a watchdog thread that
   interrupts the state again and again, as a host with a deadline would. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "interp/cuttle.h"
#include "tap.h"

enum {
  SECONDS = 300,      /* until a process is killed: sanitizers and busy machines are slow */
  DEADLINE_MS = 40,   /* until the first interrupt */
  MANY = 1000 * 1000, /* instructions */
  ESCAPED = 100,      /* exit codes: the script went on after it was stopped */
  BROKEN,             /* the state does not work afterwards */
  NOT_OPEN
};

/* {====== A script in a process of its own ====== */

typedef struct Attack {
  const char *name, *script;
  uint64_t instructions; /* 0: no limit */
  cuttle_Status want;    /* CUTTLE_OK: ends by itself */
  const char *error;     /* part of the message; NULL: any */
} Attack;

static cuttle_State *_Atomic target;

static void *watch(void *arg) {
  struct timespec first = {0, DEADLINE_MS * 1000000L}, next = {0, 20 * 1000000L};
  const Attack *a = arg;
  if (a->instructions > 0 || a->want != CUTTLE_INTERRUPTED) {
    return NULL; /* it is to end without, on a slow machine too */
  }
  nanosleep(&first, NULL);
  while (atomic_load(&target) != NULL) {
    cuttle_interrupt(atomic_load(&target));
    nanosleep(&next, NULL);
  }
  return NULL;
}

/* What a stopped script prints shows that it went on. */
static void take_print(void *ud, const char *text, size_t len) {
  (void)ud;
  if (len >= 7 && strncmp(text, "escaped", 7) == 0) {
    _exit(ESCAPED);
  }
}

static cuttle_Options sandbox_options(void) {
  return (cuttle_Options){.size = sizeof(cuttle_Options),
                          .device = "cpu",
                          .no_environment = 1,
                          .sandbox = 1,
                          .memory_limit = (size_t)64 << 20,
                          .print = take_print};
}

/* What a state does after an attack, too. */
static const char works[] =
    "assert(size'(4,8)' == 32)\n"
    "local x = zeros(f32, 4) kernel('k', function(x) x[threadIdx.x] = 1.0 end){grid = 1, block = 4}(x)\n"
    "assert(x[3] == 1.0)\n"
    "device 'cpu:2' mesh{d = 2}:run(function(r) r:barrier() end) device 'cpu'";

static int run_attack(const Attack *a) {
  cuttle_Options o = sandbox_options();
  o.instruction_limit = a->instructions;
  pthread_t watchdog;
  cuttle_State *S = cuttle_open(&o);
  if (S == NULL) {
    return NOT_OPEN;
  }
  atomic_store(&target, S);
  pthread_create(&watchdog, NULL, watch, (void *)(uintptr_t)a);
  cuttle_Status status = cuttle_dostring(S, a->script, "=attack");
  bool told = a->error == NULL || strstr(cuttle_error(S), a->error) != NULL;
  if (status != a->want || !told) {
    tap_diag("%s", cuttle_error(S));
  }
  atomic_store(&target, NULL);
  pthread_join(watchdog, NULL);
  if (cuttle_dostring(S, works, "=after") != CUTTLE_OK) {
    tap_diag("%s", cuttle_error(S));
    return BROKEN;
  }
  cuttle_close(S);
  return told ? (int)status : BROKEN;
}

/* The exit status of fn, or of the signal that ended its process, negative; it has SECONDS. */
static int in_process(int (*fn)(const Attack *a), const Attack *a) {
  int status = 0;
  fflush(stdout);
  pid_t pid = fork();
  if (pid == 0) {
    int code = fn(a);
    fflush(stdout);
    _exit(code);
  }
  for (int ms = 0; waitpid(pid, &status, WNOHANG) == 0; ms += 5) {
    struct timespec t = {0, 5 * 1000000L};
    if (ms == SECONDS * 1000) {
      kill(pid, SIGKILL);
    }
    nanosleep(&t, NULL);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void test_attacks(const Attack *attacks, size_t n) {
  for (size_t i = 0; i < n; i++) {
    IS_INT(in_process(run_attack, &attacks[i]), attacks[i].want, "%s", attacks[i].name);
  }
}

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* {====== Time ====== */

#define ENDLESS "function() while true do end end"
#define CLOSES "setmetatable({}, {__close = " ENDLESS "})"

static const Attack time_attacks[] = {
    {"a loop", "while true do end print 'escaped'", 0, CUTTLE_INTERRUPTED, "interrupted"},
    {"pcall in a loop", "while true do pcall(" ENDLESS ") end", MANY, CUTTLE_INTERRUPTED, "limit"},
    {"nothing runs after pcall", "pcall(" ENDLESS ") print 'escaped'", MANY, CUTTLE_INTERRUPTED,
     "limit"},
    {"a message handler that does not end", "xpcall(" ENDLESS ", " ENDLESS ") print 'escaped'", 0,
     CUTTLE_INTERRUPTED, "interrupted"},
    {"a message handler under a limit", "xpcall(" ENDLESS ", " ENDLESS ") print 'escaped'", MANY,
     CUTTLE_INTERRUPTED, "limit"},
    {"no message handler runs after a stop", "xpcall(" ENDLESS ", function() print 'escaped' end)",
     MANY, CUTTLE_INTERRUPTED, "limit"},
    {"a message handler in C that calls Lua",
     "getmetatable('').__call = " ENDLESS " xpcall(" ENDLESS ", pcall)", MANY, CUTTLE_INTERRUPTED,
     NULL},
    {"a message handler of an error that tracing raises",
     "local x = zeros(f32, 1)\n"
     "kernel('k', function(x)\n"
     "  xpcall(function() table.sort({1, 2}, load'return true') end, load'while true do end')\n"
     "  x[0] = 1.0\n"
     "end){grid = 1, block = 1}(x) while true do end",
     0, CUTTLE_INTERRUPTED, NULL},
    {"a finalizer", "setmetatable({}, {__gc = " ENDLESS "})", 0, CUTTLE_ERROR, "no finalizers"},
    {"a finalizer that comes later",
     "local m = {} for i = 1, 1e4 do setmetatable({}, m) end m.__gc = " ENDLESS
     " for i = 1, 1e5 do local t = {} end",
     0, CUTTLE_OK, NULL},
    {"a finalizer of a tensor",
     "getmetatable(zeros(f32, 1)).__gc = " ENDLESS " for i = 1, 2e3 do zeros(f32, 9) end", 0,
     CUTTLE_OK, NULL},
    {"a finalizer of a coroutine's own",
     "local t = setmetatable({}, {__index = function() return " ENDLESS " end})\n"
     "setmetatable({}, t) for i = 1, 1e5 do local t = {} end",
     0, CUTTLE_OK, NULL},
    {"__close, when a coroutine is closed",
     "local co = coroutine.create(function() local x <close> = " CLOSES " coroutine.yield() end)\n"
     "coroutine.resume(co) coroutine.close(co) print 'escaped'",
     0, CUTTLE_INTERRUPTED, "interrupted"},
    {"__close, when a coroutine is stopped",
     "coroutine.wrap(function() local x <close> = " CLOSES " while true do end end)()", MANY,
     CUTTLE_INTERRUPTED, "limit"},
    {"__close, when the script is stopped", "local x <close> = " CLOSES " while true do end", 0,
     CUTTLE_INTERRUPTED, NULL},
    {"__close of many", "local function f() local x <close> = " CLOSES " return f() end f()", 0,
     CUTTLE_INTERRUPTED, NULL},
    {"short coroutines under a limit",
     "local function body() for i = 1, 200 do end end\n"
     "for k = 1, 1e7 do\n"
     "  coroutine.wrap(body)() if k > 15000 then print 'escaped' end end",
     MANY, CUTTLE_INTERRUPTED, "limit"},
    {"coroutines that yield under a limit",
     "while true do for v in coroutine.wrap(function()\n"
     "  for i = 1, 10 do coroutine.yield(i) end end) do end end",
     MANY, CUTTLE_INTERRUPTED, "limit"},
    {"coroutines in coroutines",
     "local function f() return coroutine.wrap(f)() end while true do pcall(f) end", 0,
     CUTTLE_INTERRUPTED, NULL},
    {"coroutine.wrap as a generator without end",
     "for v in coroutine.wrap(function() while true do coroutine.yield(1) end end) do end", 0,
     CUTTLE_INTERRUPTED, "interrupted"},
};

/* {====== Time in C functions ====== */

/* A table t as long as it likes, that has something everywhere and takes whatever it is given. */
#define LONG                                                                                       \
  "local t = setmetatable({}, {__len = function() return 1 << 60 end,"                             \
  " __index = type, __newindex = rawequal})\n"

static const Attack c_attacks[] = {
    {"a pattern that backtracks", "('a'):rep(40):find(('a*'):rep(30) .. 'b')", 0,
     CUTTLE_INTERRUPTED, "interrupted"},
    {"a pattern under a limit", "('a'):rep(40):match(('a*'):rep(30) .. 'b')", MANY,
     CUTTLE_INTERRUPTED, "limit"},
    {"gmatch", "for w in ('a'):rep(40):gmatch(('a*'):rep(30) .. 'b') do end", 0, CUTTLE_INTERRUPTED,
     "interrupted"},
    {"gsub", "('a'):rep(40):gsub(('a-'):rep(30) .. 'b', '')", 0, CUTTLE_INTERRUPTED, "interrupted"},
    {"gsub by a C function", "local s = ('a'):rep(1e6) while true do s:gsub('.', string.upper) end",
     0, CUTTLE_INTERRUPTED, "interrupted"},
    {"a deep pattern", "('a'):rep(300):find(('.-'):rep(250) .. 'b')", 0, CUTTLE_ERROR,
     "pattern too complex"},
    {"a balanced pattern", "local s = ('('):rep(1e6) s:find('%b()')", 0, CUTTLE_INTERRUPTED,
     "interrupted"},
    {"a plain search", "local s = ('a'):rep(1 << 23) s:find(('a'):rep(1 << 22) .. 'b', 1, true)", 0,
     CUTTLE_INTERRUPTED, "interrupted"},
    {"string.rep of nothing", "assert((''):rep(1 << 62) == '')", 0, CUTTLE_OK, NULL},
    {"string functions on long texts", "local s = ('a'):rep(1e7) while true do s:reverse() end", 0,
     CUTTLE_INTERRUPTED, "interrupted"},
    {"utf8 functions on long texts", "local s = ('a'):rep(1e7) while true do utf8.len(s) end", 0,
     CUTTLE_INTERRUPTED, "interrupted"},
    {"loading a long list", "load('return {' .. ('1,'):rep(2e5) .. '}')", 0, CUTTLE_OK, NULL},
    {"comparing long texts",
     "local a, b = ('a'):rep(1e7), ('a'):rep(1e7) while true do local c = a < b end", 0,
     CUTTLE_INTERRUPTED, "interrupted"},
    {"table.insert", LONG "table.insert(t, 1, 0)", 0, CUTTLE_INTERRUPTED, "interrupted"},
    {"table.remove", LONG "table.remove(t, 1)", 0, CUTTLE_INTERRUPTED, "interrupted"},
    {"table.move", LONG "table.move(t, 1, 1 << 60, 1, setmetatable({}, {__newindex = rawequal}))",
     0, CUTTLE_INTERRUPTED, "interrupted"},
    {"table.move of nothing", "table.move({}, 1, 1 << 60, 1, {})", 0, CUTTLE_INTERRUPTED,
     "interrupted"},
    {"table.move backwards", LONG "table.move(t, 1, 1 << 60, 2)", MANY / 10, CUTTLE_INTERRUPTED,
     "limit"},
    {"table.concat", "table.concat(setmetatable({}, {__index = table.concat}), '', 1, 1 << 60)", 0,
     CUTTLE_INTERRUPTED, "interrupted"},
    {"table.unpack",
     "local big = {} for i = 1, 1 << 20 do big[i] = i end for i = 2, 1 << 20 do big[i] = nil end\n"
     "local t = setmetatable({}, {__index = function() return next(big, 1) end})\n"
     "while true do table.unpack(t, 1, 1e5) end",
     0, CUTTLE_INTERRUPTED, "interrupted"},
    {"table.sort of long texts",
     "local a, t = ('a'):rep(1e7), {} local b = ('a'):rep(1e7)\n"
     "for i = 1, 1e5, 2 do t[i] = a t[i + 1] = b end table.sort(t)",
     0, CUTTLE_INTERRUPTED, "interrupted"},
    {"table.sort with an order in C",
     "local t = {} for i = 1, 2e5 do t[i] = {} end while true do pcall(table.sort, t, rawequal) end",
     0, CUTTLE_INTERRUPTED, "interrupted"},
    {"load by a reader in C that does not end", "load(math.random)", 0, CUTTLE_INTERRUPTED,
     "interrupted"},
    {"load by a reader in C", "load(string.upper)", 0, CUTTLE_OK, NULL},
    {"load by a reader that does not end",
     "local f = ('').upper load(setmetatable({}, {__call = f}) and function() return ' ' end)", 0,
     CUTTLE_INTERRUPTED, NULL},
};

/* {====== Long work of the library ====== */

/* Values whose operands are shared have 2^n ways to their leaves, and long chains of them deep ones. */
#define TERM(turns, step, use)                                                                     \
  "local k = kernel('k', function(x, n)\n"                                                         \
  "  local y = n for _ in unroll(" turns ") do " step " end\n" use "\n"                            \
  "end)\n"                                                                                         \
  "local l = k{grid = 1, block = 32} pcall(l, zeros(i32, 64), 3) pcall(l.source, l, zeros(i32, 64), 3)"
#define SHARED_TERM(use) TERM("45", "y = y * y + 1", use)
#define DEEP_TERM(use) TERM("19000", "y = y * n + 1", use)
#define AS_PLACE "local f = fragment(i32, 8) copy(tile(x, {8}, {y & 1}), f) x[0] = f[1]"
#define AS_EXTENT                                                                                  \
  "local s, b = shared(i32, 64), mbarrier(1, 1)\n"                                                 \
  "local g = tile(tma_tensor(view(x, {y})), {64}, {0})\n"                                          \
  "if threadIdx.x == 0 then tma_load(g, s, b[0]) end"
#define AS_CONDITION "if y > 5 and threadIdx.x < 8 then x[threadIdx.x] = y end sync_threads()"
#define AS_INDEX "local t = tile(x, {4}, {y % 2}) copy(t, t) x[(y + threadIdx.x) % 64] = 2"

/* A tile has as many elements as its layout says, whatever memory is behind it. */
#define HUGE_TILE(use)                                                                             \
  "kernel('k', function(x, n) local t = view(x, '1073741824:0') " use " end)"                      \
  "{grid = 1, block = 32}(zeros(i32, 64), 1 << 40)"
#define HUGE_PRODUCT(extent)                                                                       \
  "kernel('k', function(x) local t = view(x, '(" extent ",8):(0,0)')\n"                            \
  "  gemm(t, t, fragment(f32, '(" extent "," extent "):(0,0)'))\n"                                 \
  "end){grid = 1, block = 32}(zeros(f32, 64))"

static const Attack library_attacks[] = {
    {"a place with shared operands", SHARED_TERM(AS_PLACE), 0, CUTTLE_OK, NULL},
    {"an extent with shared operands", SHARED_TERM(AS_EXTENT), 0, CUTTLE_OK, NULL},
    {"a condition with shared operands", SHARED_TERM(AS_CONDITION), 0, CUTTLE_OK, NULL},
    {"sums with shared operands", TERM("45", "y = (y + 1) + (y + 2)", AS_INDEX), 0, CUTTLE_OK,
     NULL},
    {"sums of thread indices", TERM("45", "y = (y + threadIdx.x) + (y + 2)", AS_INDEX), 0,
     CUTTLE_OK, NULL},
    {"a deep place", DEEP_TERM(AS_PLACE), 0, CUTTLE_OK, NULL},
    {"a deep extent", DEEP_TERM(AS_EXTENT), 0, CUTTLE_OK, NULL},
    {"a deep condition", DEEP_TERM(AS_CONDITION), 0, CUTTLE_OK, NULL},
    {"a deep index", DEEP_TERM(AS_INDEX), 0, CUTTLE_OK, NULL},
    {"a deep sum", TERM("19000", "y = y + n * 64", AS_INDEX), 0, CUTTLE_OK, NULL},
    {"many variables",
     "local k = kernel('k', function(x)\n"
     "  for i in unroll(8000) do local y = x[0] if y > 1.0 then y = y + 1.0 end x[1] = y end\n"
     "end)\n"
     "assert(#k{grid = 1, block = 1}:source(zeros(f32, 8)) > 8000)",
     0, CUTTLE_OK, NULL},
    {"divisions far from their uses",
     "local k = kernel('k', function(x, n)\n"
     "  local all = {} for i in unroll(1, 18001) do all[i] = (n + i) // n end\n"
     "  for i in unroll(1, 18001) do all[-i] = (n - i) // n end\n"
     "  for i in unroll(1, 18001) do x[0] = all[i] end for i in unroll(1, 18001) do x[0] = all[-i] end\n"
     "end)\n"
     "assert(#k{grid = 1, block = 1}:source(zeros(i32, 8), 3) > 18000)",
     0, CUTTLE_OK, NULL},
    {"many fragments of one name",
     "local k = kernel('k', function(x, n)\n"
     "  for i in unroll(6000) do local f = fragment(i32, 1) f[0] = n x[i] = f[0] end\n"
     "end)\n"
     "k{grid = 1, block = 1}(zeros(i32, 6000), 3)",
     0, CUTTLE_OK, NULL},
    {"variables that need each other",
     "local k = kernel('k', function(x, n)\n"
     "  local y = n for i in unroll(1, 14001) do local z = y + 1 if n > i then z = z + 1 end y = z end\n"
     "  x[0] = y\n"
     "end)\n"
     "assert(#k{grid = 1, block = 1}:source(zeros(i32, 8), 3) > 14000)",
     0, CUTTLE_OK, NULL},
    {"jumps that lead nowhere",
     "local k = kernel('k', function(x, n)\n"
     "  for j in range(0, n) do for i in unroll(19000) do if x[i] == n then break end end end\n"
     "end)\n"
     "assert(#k{grid = 1, block = 1}:source(zeros(i32, 19000), 3) < 1000)",
     0, CUTTLE_OK, NULL},
    {"variables that live long",
     "local k = kernel('k', function(x)\n"
     "  local all = {} for i in unroll(1, 4001) do local y = x[i % 8] if x[0] > 1.0 then y = y + 1.0 end\n"
     "  all[i] = y end for i in unroll(1, 4001) do x[i % 8] = all[i] end\n"
     "end)\n"
     "assert(#k{grid = 1, block = 1}:source(zeros(f32, 8)) > 4000)",
     0, CUTTLE_OK, NULL},
    {"reference.matmul",
     "local z = zeros(f32, '(1000,1000):(0,0)') while true do reference.matmul(z, z) end", 0,
     CUTTLE_INTERRUPTED, "interrupted"},
    {"reference.matmul of integers",
     "local z = zeros(i32, '(1000,1000):(0,0)') while true do reference.matmul(z, z) end", 0,
     CUTTLE_INTERRUPTED, "interrupted"},
    {"reference.attention",
     "local z = zeros(f32, '(1,1,16000,64):(0,0,0,0)') reference.attention(z, z, z)", 0,
     CUTTLE_INTERRUPTED, "interrupted"},
    {"a kernel that spins",
     "kernel('k', function(x) while x[0] == 0.0 do x[0] = 0.0 end end){grid = 8, block = 64}(zeros(f32, 1))",
     0, CUTTLE_INTERRUPTED, "interrupted"},
    {"a kernel of many blocks",
     "kernel('k', function(x) x[0] = 1.0 end){grid = 2000000, block = 1024}(zeros(f32, 1))", 0,
     CUTTLE_INTERRUPTED, "interrupted"},
    {"a fill of more elements than ever end", HUGE_TILE("fill(t, 1)"), 0, CUTTLE_INTERRUPTED,
     "interrupted"},
    {"a copy of huge tiles", HUGE_TILE("copy(t, t)"), 0, CUTTLE_INTERRUPTED, "interrupted"},
    {"a copy of huge tiles by some lanes", HUGE_TILE("if threadIdx.x < 3 then copy(t, t) end"), 0,
     CUTTLE_INTERRUPTED, "interrupted"},
    {"an axpby of huge tiles", HUGE_TILE("axpby(2, t, 1, t)"), 0, CUTTLE_INTERRUPTED,
     "interrupted"},
    {"a fill of a huge fragment", HUGE_TILE("fill(fragment(i32, '(32768,32768):(0,0)'), 1)"), 0,
     CUTTLE_INTERRUPTED, "interrupted"},
    {"a fill of an extent that the launch gives", HUGE_TILE("fill(view(x, layout(n, 0)), 1)"), 0,
     CUTTLE_INTERRUPTED, "interrupted"},
    {"a product of huge tiles", HUGE_PRODUCT("100000"), 0, CUTTLE_INTERRUPTED, "interrupted"},
    {"a product whose offsets stand in tables", HUGE_PRODUCT("65536"), 0, CUTTLE_INTERRUPTED,
     "interrupted"},
    {"ranks that meet for ever",
     "device 'cpu:4' mesh{d = 4}:run(function(r) while true do r:barrier() end end)", 0,
     CUTTLE_INTERRUPTED, "interrupted"},
    {"a rank that never comes",
     "device 'cpu:4' mesh{d = 4}:run(function(r) if r.rank == 3 then while true do end end\n"
     "  r:barrier() end)",
     0, CUTTLE_INTERRUPTED, "interrupted"},
    {"a rank that takes all memory",
     "device 'cpu:2' local m = mesh{d = 2}\n"
     "local ok, e = pcall(function()\n"
     "  m:run(function(r) local s = 'x' while true do s = s .. s end end)\n"
     "end)\n"
     "assert(not ok and tostring(e):find 'not enough memory')\n"
     "m:run(function(r) r:barrier() end)",
     0, CUTTLE_OK, NULL},
    {"find_swizzle in a loop",
     "while true do find_swizzle('(64,64):(64,1)', {dtype = f32,\n"
     "  reads = {thr = layout{32, 1}, val = '(1,1)'}}) end",
     0, CUTTLE_INTERRUPTED, "interrupted"},
};

/* {====== The host's memory ====== */

/* tests/lua/cpu/access_outside.lua tries the other accesses: none needs what a sandbox takes away. */
#define TMA(use)                                                                                   \
  "local k = kernel('k', function(x, n, i)\n"                                                      \
  "  local s, b = shared(u32, 64), mbarrier(1, 1)\n"                                               \
  "  fill(s, 7) fence_proxy_async() sync_threads()\n"                                              \
  "  local g = tile(tma_tensor(view(x, layout(n, 1))), {64}, {i})\n"                               \
  "  if threadIdx.x == 0 then b[0]:arrive_expect_tx(256)" use                                      \
  "  tma_store_commit() tma_store_wait(0) end\n"                                                   \
  "end)\n"                                                                                         \
  "local bad = 0\n"                                                                                \
  "for i = 0, 16 do\n"                                                                             \
  "  local ok, e = pcall(k{grid = 1, block = 32}, zeros(u32, 64), 1 << 30, 1 << i)\n"              \
  "  bad = bad + (not ok and e:find 'out of bounds' and 0 or 1)\n"                                 \
  "end\n"                                                                                          \
  "assert(bad == 0)"

static const Attack memory_attacks[] = {
    {"TMA from beyond a tensor", TMA(" tma_load(g, s, b[0])"), 0, CUTTLE_OK, NULL},
    {"TMA to beyond a tensor", TMA(" tma_store(s, g)"), 0, CUTTLE_OK, NULL},
    {"TMA that adds beyond a tensor", TMA(" tma_store(s, g, {reduce = 'add'})"), 0, CUTTLE_OK,
     NULL},
};

/* {====== Small stacks ====== */

#define NESTS(body) "local function f(s) " body " end assert(not pcall(f, 'a'))\n"
#define ON_TOP(n, body)                                                                            \
  "local function deep(n) if n == 0 then " body " return 'b' end\n"                                \
  "  return (('a'):gsub('.', function() return deep(n - 1) end))\n"                                \
  "end\n"                                                                                          \
  "deep(" n ") local i = 0 repeat i = i + 1 until not pcall(deep, i)\n"
#define A_KERNEL "kernel('k', function(x, y) copy(tile(x, {4}, {0}), tile(y, {4}, {0})) end)"
#define TWO "zeros(f32, 4), zeros(f32, 4)"

/* Each runs in a thread with as much stack as docs/sandbox.md promises to be enough. */
static const Attack stack_attacks[] = {
    {"functions that call themselves through C",
     NESTS("return (s:gsub('.', f))") NESTS("return table.sort({1, 2, 3}, f)")
         NESTS("return coroutine.wrap(f)(s)") NESTS("error(select(2, pcall(f, s)))")
             NESTS("local t = setmetatable({}, {__tostring = f}) return ('%s'):format(t)"),
     0, CUTTLE_OK, NULL},
    {"a launch on top of such calls", ON_TOP("8", A_KERNEL "{grid = 1, block = 1}(" TWO ")"), 0,
     CUTTLE_OK, NULL},
    {"CUDA C on top of such calls",
     ON_TOP("8", "assert(#" A_KERNEL "{grid = 1, block = 1}:source(" TWO ") > 100)"), 0, CUTTLE_OK,
     NULL},
    {"profile, trace and timeline on top of such calls",
     ON_TOP("8", "local l = " A_KERNEL ":prepare{grid = 1, block = 1}(" TWO ")\n"
                 "for _, f in ipairs{profile, timeline} do assert(#tostring(f(l)) > 9) end\n"
                 "assert(#tostring(trace(l, {y = {0}})) > 9)"),
     0, CUTTLE_OK, NULL},
    {"matmul, attention and ranks on top of such calls",
     ON_TOP("4", "matmul(zeros(f16, {32, 32}), zeros(f16, {32, 32}))\n"
                 "local h = rand(f16, {1, 1, 32, 16}) attention(h, h, h)\n"
                 "device 'cpu:2' mesh{d = 2}:run(function(r) r:barrier() end) device 'cpu'"),
     0, CUTTLE_OK, NULL},
    {"a deep value", DEEP_TERM(AS_INDEX), 0, CUTTLE_OK, NULL},
    {"a deep extent", DEEP_TERM(AS_EXTENT), 0, CUTTLE_OK, NULL},
    {"many device functions",
     "local f = {} for i = 1, 250 do f[i] = device_fn(function(a) return a + i end) end\n"
     "local k = kernel('k', function(x) for _, g in ipairs(f) do x[0] = g(x[0]) end end)\n"
     "assert(#k{grid = 1, block = 1}:source(zeros(f32, 4)) > 250)",
     0, CUTTLE_OK, NULL},
};

static void *run_on_small_stack(void *ud) { return (void *)(intptr_t)run_attack(ud); }

static int in_small_thread(const Attack *a) {
  enum { KIB = 1024, PROMISED = 128 * KIB };
  pthread_attr_t attr;
  pthread_t thread;
  void *code = NULL;
  pthread_attr_init(&attr);
  pthread_attr_setstacksize(&attr, PROMISED);
  if (pthread_create(&thread, &attr, run_on_small_stack, (void *)(uintptr_t)a) != 0) {
    return NOT_OPEN;
  }
  pthread_join(thread, &code);
  return (int)(intptr_t)code;
}

/* What checks memory or does not optimise needs more. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
enum { NEEDS_MORE_STACK = 1 };
#else
enum { NEEDS_MORE_STACK = 0 };
#endif

static void test_stack(void) {
  if (NEEDS_MORE_STACK) {
    tap_diag("sanitizers take more stack: not tried");
    return;
  }
  for (size_t i = 0; i < COUNT(stack_attacks); i++) {
    const Attack *a = &stack_attacks[i];
    IS_INT(in_process(in_small_thread, a), a->want, "128 KiB of stack: %s", a->name);
  }
}

/* {====== Files and compilers ====== */

static const Attack file_attacks[] = {
    {"options of a compiler that write files",
     "kernel('k', function(x) x[0] = 1.0 end, {nvrtc_options = {'--create-pch=escaped.pch'}})", 0,
     CUTTLE_ERROR, "a sandboxed script cannot use it"},
    {"CUDA C that includes files",
     "local k = kernel('k', function(x)\n"
     "  x[0] = cuda('\\n#include \"/etc/passwd\"\\n1', {}, f32, function() return 1.0 end) end)\n"
     "k{grid = 1, block = 1}:source(zeros(f32, 1))",
     0, CUTTLE_ERROR, "cannot bring CUDA C of its own"},
    {"PTX that addresses all memory",
     "local k = kernel('k', function(x)\n"
     "  ptx('st.global.u32 [$p], 1;', nil, {p = x}, function(p) p[0] = 1 end) end)\n"
     "k{grid = 1, block = 1}:source(zeros(u32, 1))",
     0, CUTTLE_ERROR, "cannot bring PTX of its own"},
    {"a Lua twin in the place of CUDA C",
     "local x = zeros(f32, 1) kernel('k', function(x)\n"
     "  x[0] = cuda('?', {}, f32, function() return 7.0 end) end){grid = 1, block = 1}(x)\n"
     "assert(x[0] == 7.0)",
     0, CUTTLE_OK, NULL},
    {"a compiler in the process",
     "kernel('k', function(x) x[0] = 1.0 end){grid = 1, block = 1}:ptx(zeros(f32, 1))", 0,
     CUTTLE_ERROR, "compiles no CUDA C"},
    {"cuda_kernel", "assert(cuda_kernel == nil and require 'cuttle'.cuda_kernel == nil)", 0,
     CUTTLE_OK, NULL},
    {"another device than the host's", "device 'cuda'", 0, CUTTLE_ERROR,
     "'cuda' is not what the host gave this sandbox"},
    {"virtual devices of the CPU engine, which it always has",
     "device 'cpu:2' local sums = mesh{d = 2}:run(function(r)\n"
     "  local t = full(i32, 1, r.rank + 1) r:all_reduce(t) return t[0] end)\n"
     "assert(sums[0] == 3 and sums[1] == 3 and #devices() == 2) device 'cpu'",
     0, CUTTLE_OK, NULL},
    {"a tensor on another device", "zeros(f32, 4):to 'cuda:0'", 0, CUTTLE_ERROR,
     "'cuda:0' is not what the host gave"},
    {"no other device is listed", "assert(#devices() == 1)", 0, CUTTLE_OK, NULL},
    {"a profile, which shows lines of the script",
     "local k = kernel('k', function(x) x[threadIdx.x] = 2.0 end)\n"
     "local p = profile(k:prepare{grid = 1, block = 32}(zeros(f32, 32)))\n"
     "assert(tostring(p):find('store global x', 1, true))\n"
     "assert(p.kernels[1].lines[1].source:find('x[threadIdx.x] = 2.0', 1, true))\n"
     "assert(p:html():find('</html>', 1, true))",
     0, CUTTLE_OK, NULL},
};

/* Chunk names are the script's: none may be opened, though its own text is not kept. A FIFO would block. */
static int open_by_chunk_name(const Attack *a) {
  char dir[] = "/tmp/cuttle_sandbox_XXXXXX", path[64], script[512];
  if (mkdtemp(dir) == NULL) {
    return NOT_OPEN;
  }
  snprintf(path, sizeof path, "%s/fifo", dir);
  int made = mkfifo(path, 0600);
  snprintf(script, sizeof script,
           "local f = load('return function(x) x[0] = 1.0 end', '@%s')()\n"
           "for i = 1, 20 do load('return ' .. i, '@%s') end\n"
           "kernel('k', f){grid = 1, block = 1}(zeros(f32, 1))",
           path, path);
  Attack here = *a;
  here.script = script;
  int code = made == 0 ? run_attack(&here) : NOT_OPEN;
  unlink(path);
  rmdir(dir);
  return code;
}

/* {====== The environment ====== */

static const char compiles[] =
    "local x, k = zeros(f32, 32), kernel('k', function(x) x[threadIdx.x] = 2.0 end)\n"
    "local ok, e = pcall(function() return k{grid = 1, block = 32}:ptx(x) end)\n"
    "assert(ok or not e:find 'escaped.so', e)\n"
    "tostring(profile(k:prepare{grid = 1, block = 32}(x)))";

/* Compiles where the variables name a compiler that does not exist, and a folder; with no_environment neither
   is looked at. */
static int compile_with(int no_environment) {
  char dir[] = "/tmp/cuttle_sandbox_XXXXXX";
  cuttle_Options o = {.size = sizeof o, .device = "cpu", .no_environment = no_environment};
  if (mkdtemp(dir) == NULL) {
    return NOT_OPEN;
  }
  setenv("CUTTLE_NVRTC", "/nowhere/escaped.so", 1);
  setenv("CUTTLE_CACHE", dir, 1);
  cuttle_State *S = cuttle_open(&o);
  int status = (int)cuttle_dostring(S, compiles, "=compiles");
  cuttle_close(S);
  return rmdir(dir) == 0 ? status : ESCAPED; /* a folder with an entry stays */
}

static int compile_without_environment(const Attack *a) {
  (void)a;
  return compile_with(1);
}

static int compile_with_environment(const Attack *a) {
  (void)a;
  return compile_with(0);
}

static void test_files(void) {
  static const Attack by_name = {"", "", 0, CUTTLE_ERROR, "source"};
  test_attacks(file_attacks, COUNT(file_attacks));
  IS_INT(in_process(open_by_chunk_name, &by_name), CUTTLE_ERROR, "a chunk's name is no file");
  IS_INT(in_process(compile_without_environment, NULL), CUTTLE_OK,
         "no_environment: neither compiler nor cache are the environment's");
  IS_INT(in_process(compile_with_environment, NULL), CUTTLE_ERROR, "else they are");
}

/* A sandbox tunes by the model alone, without a compiler, and keeps no result in a file. */
static const char tunes[] = "local t = tune(function(c)\n"
                            "  local k = kernel('k', function(x) x[threadIdx.x] = 1.0 end)\n"
                            "  return k{grid = 1, block = c.n}\n"
                            "end, {n = {64, 32}}, {file = 'build/sandboxed.tune'})\n"
                            "local x = zeros(f32, 64)\n"
                            "t(x)\n"
                            "local config, row = t:config(x)\n"
                            "assert(row.how == 'predicted' and x[31] == 1.0)\n";

static void test_tune(void) {
  cuttle_Options o = sandbox_options();
  cuttle_State *S = cuttle_open(&o);
  IS_INT(cuttle_dostring(S, tunes, "=tunes"), CUTTLE_OK, "a sandbox tunes: %s", cuttle_error(S));
  cuttle_close(S);
  OK(access("build/sandboxed.tune", F_OK) != 0, "and writes no file");
}

/* {====== The same functions ====== */

/* Random calls of the functions that a sandbox replaces, and of the xpcall: a line of results each. */
static const char random_calls[] =
    "math.randomseed(7)\n"
    "local R, unpack = math.random, table.unpack\n"
    "local items = {'a', 'b', '.', '%a', '%d', '%w', '[ab]', '[^a]', '[a-c]', '%.', '%s', '(a)', '(.)', '()',\n"
    "  '%b()', '%f[%a]', '%1', '$', '^', '[]]', '[%a_]', '%z', '%U', '(', '(b', 'c)', ')', '%', '['}\n"
    "local suffixes = {'', '', '', '*', '+', '-', '?'}\n"
    "local letters = {'a', 'b', 'c', ' ', '(', ')', '1', 'A', '.', '\\0', ']'}\n"
    "local by = {'', '%0', '%1', '<%1>', '%%', 'z', '%2', function(a, b) return b or a end, {a = 'Q', b = 1}}\n"
    "local function text(n, of, suffix)\n"
    "  local t = {}\n"
    "  for i = 1, R(0, n) do t[i] = of[R(#of)] .. (suffix and suffix[R(#suffix)] or '') end\n"
    "  return table.concat(t)\n"
    "end\n"
    "local function index() if R(3) == 1 then return R(-2, 8) end end\n"
    "local function some() local t = {} for i = 1, R(0, 6) do t[i] = R(9) end return setmetatable(t, {}) end\n"
    "local function dump(t)\n"
    "  local r = {}\n"
    "  for i = -5, 15 do r[#r + 1] = tostring(rawget(t, i)) end\n"
    "  return table.concat(r, ',')\n"
    "end\n"
    "local function words(s, p)\n"
    "  local r = {}\n"
    "  for a, b in s:gmatch(p) do r[#r + 1] = tostring(a) .. tostring(b) if #r > 40 then break end end\n"
    "  return table.concat(r, ';')\n"
    "end\n"
    "for i = 1, 3000 do\n"
    "  local s, p, t, u, v = text(12, letters), text(6, items, suffixes), some(), some(), some()\n"
    "  local calls = {{string.find, s, p, R(-14, 14)}, {string.find, s, text(2, letters), R(-9, 9), true},\n"
    "    {string.match, s, p, R(-14, 14)}, {string.gsub, s, p, by[R(#by)], index()}, {words, s, p},\n"
    "    {table.insert, t, R(-1, 8), 99}, {table.remove, u, unpack{index()}}, {table.concat, t, ',', R(3), R(4)},\n"
    "    {table.unpack, t, R(3), R(5)}, {table.move, u, R(-2, 5), R(-2, 7), R(-3, 8), R(2) == 1 and v or nil},\n"
    "    {table.sort, v, R(2) == 1 and function(a, b) return a > b end or nil},\n"
    "    {xpcall, function(...) assert(R(2) == 1, s) return ... end, function(m) return {m, s} and s end, p}}\n"
    "  local line = {}\n"
    "  for _, call in ipairs(calls) do\n"
    "    local results = {pcall(unpack(call, 1, 6))}\n"
    "    for k = 1, results[1] and 4 or 1 do -- how messages name arguments is another matter\n"
    "      local x = results[k]\n"
    "      line[#line + 1] = type(x) == 'table' and dump(x) or tostring(x)\n"
    "    end\n"
    "  end\n"
    "  line[#line + 1] = dump(t) .. dump(u) .. dump(v)\n"
    "  print((table.concat(line, '|'):gsub('%z', '0')))\n"
    "end\n";

typedef struct Output {
  uint64_t hash; /* FNV-1a */
  size_t len;
} Output;

static void hash_print(void *ud, const char *text, size_t len) {
  Output *o = ud;
  for (size_t i = 0; i < len; i++) {
    o->hash = (o->hash ^ (unsigned char)text[i]) * 0x100000001b3U;
  }
  o->len += len;
}

static Output run_calls(int sandbox) {
  Output out = {0xcbf29ce484222325U, 0};
  cuttle_Options o = sandbox_options();
  o.sandbox = sandbox;
  o.print = hash_print;
  o.print_ud = &out;
  cuttle_State *S = cuttle_open(&o);
  if (cuttle_dostring(S, random_calls, "=calls") != CUTTLE_OK) {
    tap_diag("%s", cuttle_error(S));
    out.len = 0;
  }
  cuttle_close(S);
  return out;
}

static void test_same(void) {
  Output own = run_calls(0), guarded = run_calls(1);
  OK(own.len > 100000, "random calls give %zu characters", own.len);
  OK(own.len == guarded.len && own.hash == guarded.hash, "the same in a sandbox");
}

int main(void) {
  test_attacks(time_attacks, COUNT(time_attacks));
  test_attacks(c_attacks, COUNT(c_attacks));
  test_attacks(library_attacks, COUNT(library_attacks));
  test_attacks(memory_attacks, COUNT(memory_attacks));
  test_stack();
  test_files();
  test_tune();
  test_same();
  return done_testing();
}
