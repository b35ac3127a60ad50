/* calls_host.c: random sequences of calls of cuttle.h: options, scripts, tensors, launches, and pointers that
   are NULL. A call that fails has a message of one line; memory that was lent is given back once. */
#include <lauxlib.h>
#include <lua.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bytes.h"
#include "interp/cuttle.h"

enum { SLOTS = 6, ARGS = 5, RANK = 3, INTERRUPT_MS = 100, MEMORY_MIB = 64 };

static const char *const layouts[] = {"4:1",
                                      "(4,8):(8,1)",
                                      "0:1",
                                      "1:0",
                                      "(4,8):(0,1)",
                                      "",
                                      "(",
                                      ")",
                                      "4:-1",
                                      "(4,8)",
                                      "1000000:0",
                                      "64",
                                      "(3,3):(2,2)",
                                      "_",
                                      "9223372036854775807:1",
                                      "(M=4,K=2)",
                                      "2:9223372036854775807",
                                      "((2,2),4):((1,2),4)",
                                      "(4,8):(1,4) x",
                                      "(2147483647,2147483647):(0,0)",
                                      "Sw<3,3,3> o 0 o (8,64):(64,1)"};
static const char *const dtypes[] = {"f32", "f64",  "i32",    "i64", "bool", "f16",
                                     "u8",  "tf32", "f8e4m3", "",    "void", "F32"};
static const char *const devices[] = {NULL, "cpu", "cpu", "auto", "", "gpu", "cuda:-1"};
static const char *const names[] = {"a", "b", "c", "d", "two\nlines", ""};
static const char *const scripts[] = {
    "kernel('a', function(x) x[threadIdx.x] = 1.0 end)",
    "kernel('b', function(n, x) local i = blockIdx.x * blockDim.x + threadIdx.x\n"
    "  if i < size(x) then x[i] = n end end)",
    "kernel('c', function(x, y) copy(x, y) printf('%d ', threadIdx.x) end)",
    "kernel('d', function(x, n) local s = shared(f32, {64}) s[threadIdx.x % 64] = n\n"
    "  sync_threads() x[0] = s[63 - threadIdx.x % 64] end)",
    "kernel('a', function(x) while x[0] == 0.0 do x[0] = 0.0 end end)",
    "kernel('b', function(...) local a = ... end)",
    "g = zeros(f32, 10) kernel('e', function(x) x[0] = g and 1.0 end)", "error('x\\ny')",
    "error({})", "error()", "while true do end", "local t = {} for i = 1, 1e9 do t[i] = {} end",
    "syntax error here", "\x1bLua", "t[0] = 1", "kept = t", "t:close()", "print(t, k)",
    "k{grid = 1, block = 32}(t)", "coroutine.wrap(function() error('inside') end)()",
    "setmetatable({}, {__gc = function() print('gc') end})",
    "for name in pairs(_G) do _G[name] = nil end", "print(('x'):rep(100000))",
    /* stopped in a sandbox only: elsewhere no hook reaches a handler of messages */
    "xpcall(function() while true do end end, function() while true do end end)"};

typedef struct Host {
  Bytes *in;
  cuttle_State *S;
  cuttle_Tensor *tensors[SLOTS];
  cuttle_Kernel *kernels[SLOTS];
  cuttle_Memory lent[ARGS]; /* of one launch, with their */
  int64_t extents[ARGS][2][RANK];
  int n_lent, n_back, is_sandboxed;
} Host;

static _Alignas(64) float memory[4096];

static void must(int ok) {
  if (!ok) {
    abort();
  }
}

/* {====== A thread that interrupts what takes long ====== */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cuttle_State *watched;

static void *interrupt_often(void *ud) {
  const struct timespec pause = {.tv_nsec = INTERRUPT_MS * 1000000L};
  for (;;) {
    nanosleep(&pause, NULL);
    pthread_mutex_lock(&lock);
    cuttle_interrupt(watched);
    pthread_mutex_unlock(&lock);
  }
  return ud;
}

static void watch(cuttle_State *S) {
  static int is_running;
  pthread_t thread;
  if (!is_running) {
    is_running = pthread_create(&thread, NULL, interrupt_often, NULL) == 0;
  }
  pthread_mutex_lock(&lock);
  watched = S;
  pthread_mutex_unlock(&lock);
}

/* {====== Callbacks ====== */

static void give_back(void *ud, void *ptr, size_t bytes) {
  (void)ptr;
  (void)bytes;
  ((Host *)ud)->n_back++;
}

static void read_text(void *ud, const char *text, size_t len) {
  volatile char sum = 0;
  (void)ud;
  for (size_t i = 0; i < len; i++) {
    sum = (char)(sum ^ text[i]);
  }
}

static void read_line(void *ud, const char *line) {
  (void)ud;
  must(strchr(line, '\n') == NULL);
}

/* {====== Calls ====== */

static void check(const Host *h, cuttle_Status status) {
  const char *msg = cuttle_error(h->S);
  must((int)status >= CUTTLE_OK && (int)status <= CUTTLE_INTERRUPTED);
  must(status == CUTTLE_OK || msg[0] != '\0');
  must(strchr(msg, '\n') == NULL);
}

static void check_made(const Host *h, const void *made) {
  check(h, made == NULL ? CUTTLE_ERROR : CUTTLE_OK);
}

static cuttle_Tensor **any_tensor(Host *h) { return &h->tensors[below(h->in, SLOTS)]; }
static cuttle_Kernel **any_kernel(Host *h) { return &h->kernels[below(h->in, SLOTS)]; }

static void run_script(Host *h) {
  static const char *const chunks[] = {NULL, "=s", "@f.lua"};
  const unsigned n = (unsigned)(sizeof scripts / sizeof *scripts) - (h->is_sandboxed ? 0 : 1);
  const char *text = once_in(h->in, 40) ? NULL : scripts[below(h->in, n)];
  check(h, cuttle_dostring(h->S, text, PICK(h->in, chunks)));
}

static void find_kernel(Host *h) {
  cuttle_Kernel **k = any_kernel(h);
  *k = cuttle_kernel(h->S, once_in(h->in, 40) ? NULL : PICK(h->in, names));
  check_made(h, *k);
}

static void make_tensor(Host *h) {
  cuttle_Tensor **t = any_tensor(h);
  cuttle_tensor_release(h->S, *t);
  *t = cuttle_tensor_new(h->S, PICK(h->in, dtypes), PICK(h->in, layouts));
  check_made(h, *t);
}

/* What is lent must be there: a tensor of more is let go at once. */
static void lend_tensor(Host *h) {
  cuttle_Tensor **t = any_tensor(h);
  cuttle_tensor_release(h->S, *t);
  *t = cuttle_tensor_wrap(h->S, once_in(h->in, 10) ? NULL : memory, PICK(h->in, dtypes),
                          PICK(h->in, layouts), PICK(h->in, devices), give_back, h);
  check_made(h, *t);
  h->n_lent += *t != NULL;
  if (*t != NULL && cuttle_tensor_bytes(*t) > sizeof memory) {
    cuttle_tensor_release(h->S, *t);
    *t = NULL;
  }
}

static void release_tensor(Host *h) {
  cuttle_Tensor **t = any_tensor(h);
  cuttle_tensor_release(h->S, *t);
  *t = NULL;
}

/* Memory of a launch: what spans more than there is, or is nothing like memory, has no pointer. */
static const cuttle_Memory *next_memory(Host *h, int i) {
  cuttle_Memory *m = &h->lent[i];
  int64_t last = 0, *shape = h->extents[i][0], *stride = h->extents[i][1];
  int fits = 1;
  for (int j = 0; j < RANK; j++) {
    shape[j] = once_in(h->in, 15) ? next_integer(h->in) : (int64_t)below(h->in, 8);
    stride[j] = once_in(h->in, 15) ? next_integer(h->in) : (int64_t)below(h->in, 16);
    fits = fits && shape[j] >= 0 && shape[j] < 8 && stride[j] >= 0 && stride[j] < 16;
    last += fits ? shape[j] * stride[j] : 0;
  }
  *m = (cuttle_Memory){.ptr = fits && (size_t)(last + 1) * 8 <= sizeof memory ? memory : NULL,
                       .shape = shape,
                       .stride = once_in(h->in, 5) ? NULL : stride,
                       .rank = once_in(h->in, 20) ? (int32_t)next_integer(h->in)
                                                  : (int32_t)below(h->in, RANK + 1),
                       .dtype = (cuttle_DType)below(h->in, CUTTLE_DTYPE_END + 1),
                       .device = once_in(h->in, 20) ? 99 : -1,
                       .is_read_only = once_in(h->in, 6)};
  if (m->rank > RANK) { /* more modes than there are numbers for: too many for anybody */
    m->rank = 1000;
  }
  return once_in(h->in, 30) ? NULL : m;
}

/* Memory by shape and strides; it is closed again at once, or when its place is taken. */
static void lend_memory(Host *h) {
  cuttle_Tensor **t = any_tensor(h);
  const cuttle_Memory *m = next_memory(h, 0);
  cuttle_tensor_close(h->S, *t);
  *t = cuttle_tensor_lend(h->S, m, give_back, h);
  check_made(h, *t);
  h->n_lent += *t != NULL;
  if (once_in(h->in, 2)) {
    cuttle_tensor_close(h->S, *t);
    *t = NULL;
  }
}

static void transfer(Host *h) {
  cuttle_Tensor *t = *any_tensor(h);
  size_t bytes = t == NULL ? 8 : cuttle_tensor_bytes(t);
  size_t told = once_in(h->in, 6) ? (size_t)next_integer(h->in) : bytes;
  char *copy = bytes < (1 << 22) ? calloc(1, bytes + 1) : NULL;
  if (copy != NULL) {
    check(h, once_in(h->in, 2) ? cuttle_tensor_read(h->S, t, copy, told)
                               : cuttle_tensor_write(h->S, t, copy, told));
  }
  free(copy);
}

static cuttle_Arg next_arg(Host *h, int i) {
  cuttle_Arg a = {.kind = (cuttle_ArgKind)below(h->in, CUTTLE_ARG_NIL + 2)};
  a.u.i = next_integer(h->in);
  if (a.kind == CUTTLE_ARG_FLOAT || a.kind == CUTTLE_ARG_F64) {
    a.u.f = (double)a.u.i;
  } else if (a.kind == CUTTLE_ARG_TENSOR) {
    a.u.tensor = *any_tensor(h);
  } else if (a.kind == CUTTLE_ARG_MEMORY) {
    a.u.memory = next_memory(h, i);
  } else if (a.kind >= CUTTLE_ARG_TEXT && a.kind <= CUTTLE_ARG_LAYOUT) {
    static const char *const texts[] = {NULL, "", "4", "(4,(2,3))", "(4,8):(8,1)", "(4,", "text"};
    a.u.text = texts[below(h->in, sizeof texts / sizeof texts[0])];
  }
  return a;
}

static uint32_t next_extent(Host *h, unsigned most) {
  return once_in(h->in, 12) ? (uint32_t)next_integer(h->in)
                            : below(h->in, most) + !once_in(h->in, 8);
}

static void launch(Host *h) {
  cuttle_Arg args[ARGS];
  int n = (int)below(h->in, ARGS);
  for (int i = 0; i < n; i++) {
    args[i] = next_arg(h, i);
  }
  cuttle_Dim3 grid = {next_extent(h, 4), next_extent(h, 2), next_extent(h, 2)};
  cuttle_Dim3 block = {next_extent(h, 80), next_extent(h, 2), 1};
  if (once_in(h->in, 2)) {
    check(h, cuttle_launch(h->S, *any_kernel(h), grid, block, n, args));
    return;
  }
  cuttle_Launch o = {.size = once_in(h->in, 20) ? 0 : sizeof o,
                     .grid = grid,
                     .block = block,
                     .cluster = {next_extent(h, 3), 1, 1},
                     .shared_bytes = next_extent(h, 100),
                     .use_stream = (int)below(h->in, 2),
                     .pdl = once_in(h->in, 10),
                     .cooperative = once_in(h->in, 10)};
  check(h, cuttle_launch_with(h->S, *any_kernel(h), &o, n, args));
}

static void synchronize(Host *h) { check(h, cuttle_synchronize(h->S)); }
static void interrupt(Host *h) { cuttle_interrupt(h->S); }
static void collect(Host *h) { lua_gc(cuttle_lua(h->S), LUA_GCCOLLECT); }

static void push_tensor(Host *h) {
  cuttle_Tensor *t = *any_tensor(h);
  if (t != NULL) {
    cuttle_push_tensor(h->S, t);
    lua_setglobal(cuttle_lua(h->S), "t");
  }
}

static void push_kernel(Host *h) {
  cuttle_Kernel *k = *any_kernel(h);
  if (k != NULL) {
    cuttle_push_kernel(h->S, k);
    lua_setglobal(cuttle_lua(h->S), "k");
  }
}

static void (*const calls[])(Host *h) = {run_script,  run_script,  find_kernel,    make_tensor,
                                         lend_tensor, lend_memory, release_tensor, transfer,
                                         launch,      launch,      launch,         synchronize,
                                         interrupt,   collect,     push_tensor,    push_kernel};

/* {====== A state ====== */

static cuttle_Options next_options(Bytes *in) {
  static const size_t limits[] = {0, 0, 1 << 20, 300000, 16 << 20};
  static const uint64_t counts[] = {0, 0, 1, 100000, UINT64_MAX};
  cuttle_Options o = {.size = sizeof o,
                      .device = PICK(in, devices),
                      .print = read_text,
                      .log = read_line,
                      .sandbox = (int)below(in, 2),
                      .no_environment = 1,
                      .memory_limit = PICK(in, limits),
                      .instruction_limit = PICK(in, counts)};
  o.memory_limit = o.memory_limit == 0 ? (size_t)MEMORY_MIB << 20 : o.memory_limit;
  if (once_in(in, 16)) { /* an older host, whose last fields are missing */
    o.size = offsetof(cuttle_Options, instruction_limit) + 8 * (size_t)below(in, 7);
  }
  return o;
}

const unsigned random_inputs = 250;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  Bytes in = {data, n, 0};
  cuttle_Options o = next_options(&in);
  Host h = {.in = &in, .S = cuttle_open(&o), .is_sandboxed = o.sandbox && o.size == sizeof o};
  if (h.S == NULL) {
    must(cuttle_error(NULL)[0] != '\0');
    return 0;
  }
  watch(h.S);
  while (in.at < in.n) {
    calls[below(&in, sizeof calls / sizeof *calls)](&h);
  }
  watch(NULL);
  cuttle_close(h.S);
  must(h.n_back == h.n_lent);
  return 0;
}
