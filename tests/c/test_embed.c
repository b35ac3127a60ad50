/* test_embed.c: the interpreter as a library: states, limits, sandbox, tensors of the host, launches. */
#include "interp/cuttle.h"

#include <dirent.h>
#include <lauxlib.h>
#include <lua.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "heap.h"
#include "tap.h"
#include "threads.h"

static cuttle_Options cpu_options(Heap *heap) {
  cuttle_Options o = {.size = sizeof o, .device = "cpu", .no_environment = 1};
  if (heap != NULL) {
    o.alloc = heap_alloc;
    o.alloc_ud = heap;
  }
  return o;
}

static cuttle_State *open_cpu(Heap *heap) {
  cuttle_Options o = cpu_options(heap);
  return cuttle_open(&o);
}

/* {====== States and scripts ====== */

static void collect(void *ud, const char *text, size_t len) {
  char *to = ud;
  strncat(to, text, len);
}

/* A status other than expected prints the message. */
static void is_status(cuttle_State *S, cuttle_Status got, cuttle_Status want, const char *name) {
  if (!IS_INT(got, want, "%s", name)) {
    tap_diag("%s", cuttle_error(S));
  }
}

static void test_scripts(void) {
  char out[256] = "";
  Heap heap = {0};
  cuttle_Options o = cpu_options(&heap);
  o.print = collect;
  o.print_ud = out;
  cuttle_State *S = cuttle_open(&o);
  OK(S != NULL, "a state opens");
  IS_STR(cuttle_error(S), "", "no call has failed yet");
  is_status(S, cuttle_dostring(S, "print(L'(4,8)', 1) x = 3", NULL), CUTTLE_OK, "a text runs");
  IS_STR(out, "(4,8):(1,4)\t1\n", "print goes to the host");
  is_status(S, cuttle_dostring(S, "assert(x == 3)", NULL), CUTTLE_OK, "globals stay");
  is_status(S, cuttle_dostring(S, "\nlayout('(4')", "=config"), CUTTLE_ERROR,
            "an error is a status");
  IS_STR(cuttle_error(S), "config:2: layout: expected ')' at column 2 of '(4'", "with a message");
  is_status(S, cuttle_dostring(S, "x = = 1", "=config"), CUTTLE_ERROR, "a syntax error is one too");
  IS_STR(cuttle_error(S), "config:1: unexpected symbol near '='", "with a message");
  is_status(S, cuttle_dostring(S, "error({})", NULL), CUTTLE_ERROR, "an error without text");
  IS_STR(cuttle_error(S), "[string \"error({})\"]:1: the error is a table, not a message",
         "gets one");
  is_status(S, cuttle_dofile(S, "/nowhere/x.lua"), CUTTLE_ERROR, "a missing file is an error");
  HAS_STR(cuttle_error(S), "/nowhere/x.lua", "that names it");
  is_status(S, cuttle_dostring(S, "x = 1\nos.exit(3)", "=s"), CUTTLE_ERROR,
            "no script ends the host");
  HAS_STR(cuttle_error(S), "s:2: os.exit would end the host's process", "but is told so");
  is_status(S, cuttle_dostring(S, "assert(not pcall(os.exit, true, true))", NULL), CUTTLE_OK,
            "as by any error");
  is_status(S, cuttle_dostring(S, "return 1", NULL), CUTTLE_OK, "the state goes on");
  IS_STR(cuttle_error(S), "", "and forgets the message");
  IS_STR(cuttle_version(), CUTTLE_VERSION, "library and header agree");
  cuttle_close(S);
  IS_INT(heap.bytes, 0, "closing frees everything");
  cuttle_close(NULL);
}

static void test_options(void) {
  cuttle_Options old = {.size = offsetof(cuttle_Options, sandbox), .sandbox = 1};
  cuttle_State *S = cuttle_open(&old);
  is_status(S, cuttle_dostring(S, "assert(io and os)", NULL), CUTTLE_OK,
            "what an older host's options lack counts as zero");
  cuttle_close(S);
  S = cuttle_open(NULL);
  OK(S != NULL, "options may be absent");
  cuttle_close(S);
  cuttle_Options sizeless = {.sandbox = 1};
  OK(cuttle_open(&sizeless) == NULL, "options without a size open nothing");
  HAS_STR(cuttle_error(NULL), "`size` is not set", "and say so");
  struct {
    cuttle_Options known;
    int later;
  } newer = {{.size = sizeof newer, .device = "cpu"}, 0};
  S = cuttle_open(&newer.known);
  OK(S != NULL, "a later version's options that it leaves zero are none");
  IS_STR(cuttle_error(NULL), "", "and the message is gone");
  cuttle_close(S);
  newer.later = 1;
  OK(cuttle_open(&newer.known) == NULL, "one that it sets is an error");
  HAS_STR(cuttle_error(NULL), "does not know", "with a message");
  cuttle_Options o = {.size = sizeof o, .device = "gpu"};
  OK(cuttle_open(&o) == NULL, "an unknown device is an error at once");
  IS_STR(cuttle_error(NULL),
         "device: 'gpu' is unknown; auto, cpu, cpu:N, cuda or cuda:N was expected",
         "which names it");
  o.device = "";
  S = cuttle_open(&o);
  OK(S != NULL, "no text is no choice");
  cuttle_close(S);
  const char *given = getenv("CUTTLE_DEVICE");
  char before[64];
  snprintf(before, sizeof before, "%.63s", given == NULL ? "" : given);
  setenv("CUTTLE_DEVICE", "gpu", 1);
  OK(cuttle_open(NULL) == NULL, "nor is one of the environment opened");
  HAS_STR(cuttle_error(NULL), "CUTTLE_DEVICE: device: 'gpu' is unknown", "which is named");
  o.device = NULL;
  o.no_environment = 1;
  S = cuttle_open(&o);
  OK(S != NULL, "unless nobody looks there");
  cuttle_close(S);
  setenv("CUTTLE_DEVICE", before, 1);
}

/* {====== Limits ====== */

static void test_limit_out_of_range(void) {
  cuttle_Options o = {.size = sizeof o, .memory_limit = (size_t)-1};
  OK(cuttle_open(&o) == NULL, "a negative memory_limit is refused");
  OK(strstr(cuttle_error(NULL), "memory_limit") != NULL, "and named: %s", cuttle_error(NULL));
}

static void test_memory_limit(void) {
  Heap heap = {0};
  cuttle_Options o = cpu_options(&heap);
  o.memory_limit = 8 << 20;
  cuttle_State *S = cuttle_open(&o);
  is_status(S, cuttle_dostring(S, "local t = {} for i = 1, 1e9 do t[i] = {} end", NULL),
            CUTTLE_NOMEM, "a script that hoards is stopped");
  HAS_STR(cuttle_error(S), "not enough memory", "with a message");
  OK(heap.bytes <= 8 << 20, "the limit held: %lld bytes", (long long)heap.bytes);
  is_status(S, cuttle_dostring(S, "zeros(f64, {1024, 1024, 16})", NULL), CUTTLE_NOMEM,
            "tensors count too");
  is_status(S, cuttle_dostring(S, "assert(size'(4,8)' == 32)", NULL), CUTTLE_OK,
            "the state goes on");
  cuttle_close(S);
  IS_INT(heap.bytes, 0, "and frees everything");
}

#define HOARD "local t = {} while true do t[#t + 1] = zeros(f32, 1000) end"

/* Tensors that nobody uses any more take no memory from what runs next, in a call of its own or in the same one. */
static void test_memory_again(void) {
  Heap heap = {0};
  cuttle_Options o = cpu_options(&heap);
  o.memory_limit = 38 << 20;
  cuttle_State *S = cuttle_open(&o);
  is_status(S, cuttle_dostring(S, HOARD, NULL), CUTTLE_NOMEM, "a script that hoards tensors");
  OK(heap.bytes < 19 << 20, "what it had is free again: %lld bytes", (long long)heap.bytes);
  cuttle_close(S);
  o.memory_limit = 22 << 20;
  S = cuttle_open(&o);
  is_status(S,
            cuttle_dostring(S,
                            "device 'cpu:2' local m = mesh{d = 2}\n"
                            "local function sum(r) local t = full(i32, 4, 1) r:all_reduce(t) end\n"
                            "m:run(sum)\n"
                            "assert(not pcall(m.run, m, function(r) " HOARD " end))\n"
                            "m:run(sum)",
                            NULL),
            CUTTLE_OK, "ranks run again in the same script");
  cuttle_close(S);
}

static void test_instruction_limit(void) {
  cuttle_Options o = cpu_options(NULL);
  o.instruction_limit = 100000;
  cuttle_State *S = cuttle_open(&o);
  is_status(S, cuttle_dostring(S, "while true do end", NULL), CUTTLE_INTERRUPTED,
            "an endless loop ends");
  HAS_STR(cuttle_error(S), "the limit of 100000 instructions is reached", "with a message");
  is_status(S,
            cuttle_dostring(S, "while true do pcall(function() while true do end end) end", NULL),
            CUTTLE_INTERRUPTED, "pcall does not help it");
  is_status(S, cuttle_dostring(S, "coroutine.wrap(function() while true do end end)()", NULL),
            CUTTLE_INTERRUPTED, "nor does a coroutine");
  is_status(S, cuttle_dostring(S, "for i = 1, 1000 do end", NULL), CUTTLE_OK,
            "each call counts anew");
  cuttle_close(S);
}

static cuttle_State *interrupted;

static void on_alarm(int signal_number) {
  (void)signal_number;
  cuttle_interrupt(interrupted);
}

static void test_interrupt(void) {
  cuttle_State *S = interrupted = open_cpu(NULL);
  struct sigaction action = {.sa_handler = on_alarm};
  sigaction(SIGALRM, &action, NULL);
  alarm(1);
  is_status(S, cuttle_dostring(S, "while true do end", NULL), CUTTLE_INTERRUPTED,
            "a script is interrupted");
  alarm(1);
  is_status(S,
            cuttle_dostring(S,
                            "local x = zeros(f32, 1)\n"
                            "kernel('spin', function(x) while x[0] == 0.0 do x[0] = 0.0 end end)"
                            "{grid = 1, block = 32}(x)",
                            "=spin"),
            CUTTLE_INTERRUPTED, "and so is a kernel on the CPU engine");
  alarm(0);
  is_status(S, cuttle_dostring(S, "return 1", NULL), CUTTLE_OK, "the state goes on");
  cuttle_close(S);
}

/* {====== Sandbox ====== */

static void test_sandbox(void) {
  static const char *const absent[] = {"io",
                                       "os",
                                       "debug",
                                       "dofile",
                                       "loadfile",
                                       "collectgarbage",
                                       "load_npy",
                                       "save_npy",
                                       "export",
                                       "string.dump",
                                       "package.loadlib",
                                       "package.searchers",
                                       "package.cpath",
                                       "require'cuttle'.load_npy"};
  cuttle_Options o = cpu_options(NULL);
  o.sandbox = 1;
  cuttle_State *S = cuttle_open(&o);
  for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
    char text[128];
    snprintf(text, sizeof text, "assert(%s == nil)", absent[i]);
    is_status(S, cuttle_dostring(S, text, NULL), CUTTLE_OK, absent[i]);
  }
  is_status(S, cuttle_dostring(S, "assert(load('return 1')() == 1)", NULL), CUTTLE_OK,
            "load takes text");
  is_status(S, cuttle_dostring(S, "assert(load(function() return nil end))", NULL), CUTTLE_OK,
            "and functions");
  is_status(S, cuttle_dostring(S, "assert(load('\\27Lua', 'x', 'b') == nil)", NULL), CUTTLE_OK,
            "but no bytecode");
  is_status(S, cuttle_dostring(S, "\x1bLua", NULL), CUTTLE_ERROR, "nor does the host's text");
  is_status(S, cuttle_dostring(S, "require 'sandbox_escape'", NULL), CUTTLE_ERROR,
            "require finds no files");
  is_status(S,
            cuttle_dostring(S,
                            "package.preload.mine = function() return 7 end\n"
                            "assert(require 'mine' == 7 and require 'cuttle' and require 'string')",
                            NULL),
            CUTTLE_OK, "but modules of the host");
  is_status(S,
            cuttle_dostring(S,
                            "local x = zeros(f32, 4)\n"
                            "kernel('one', function(x) x[threadIdx.x] = 1.0 end)"
                            "{grid = 1, block = 4}(x)\n"
                            "assert(x[3] == 1.0)",
                            "=k"),
            CUTTLE_OK, "kernels run");
  is_status(S, cuttle_dostring(S, "assert(svg('2:1'):find('</svg>'))", NULL), CUTTLE_OK,
            "pictures are texts");
  is_status(S, cuttle_dostring(S, "latex('2:1', 'sandbox_escape.tex')", NULL), CUTTLE_ERROR,
            "and write no files");
  is_status(S, cuttle_dostring(S, "assert(html('2:1'):find('</html>'))", NULL), CUTTLE_OK,
            "pages are texts");
  is_status(S, cuttle_dostring(S, "L'2:1':html('sandbox_escape.html')", NULL), CUTTLE_ERROR,
            "and write no files either");
  is_status(S, cuttle_dostring(S, "write_file('sandbox_escape.txt', 'text')", NULL), CUTTLE_ERROR,
            "nor any others");
  cuttle_close(S);
}

/* {====== Tensors and kernels ====== */

static const char scale_script[] = "kernel('scale', function(a, x)\n"
                                   "  local i = blockIdx.x * blockDim.x + threadIdx.x\n"
                                   "  if i < size(x) then x[i] = a * x[i] end\n"
                                   "end)\n";

typedef struct Freed {
  int n;
  void *ptr;
  size_t bytes;
} Freed;

static void note_free(void *ud, void *ptr, size_t bytes) {
  Freed *f = ud;
  f->n++;
  f->ptr = ptr;
  f->bytes = bytes;
}

static void test_wrap(void) {
  float x[40];
  Freed freed = {0};
  cuttle_State *S = open_cpu(NULL);
  OK(cuttle_tensor_wrap(S, x, "f33", "4:1", NULL, note_free, &freed) == NULL, "no such type");
  IS_STR(
      cuttle_error(S),
      "cuttle_tensor_wrap: 'f33' is not an element type; f64, f32, tf32, f16, bf16, f8e4m3, "
      "f8e5m2, i64, i32, i16, i8, u64, u32, u16, u8, bool, f8ue8m0, f8ue4m3, f6e2m3, f6e3m2 or f4e2m1 was expected",
      "says so");
  OK(cuttle_tensor_wrap(S, x, "f32", "(4", NULL, note_free, &freed) == NULL, "malformed layout");
  IS_STR(cuttle_error(S), "layout: expected ')' at column 2 of '(4'", "says where");
  OK(cuttle_tensor_wrap(S, x, "f32", "4:-1", NULL, note_free, &freed) == NULL, "negative stride");
  HAS_STR(cuttle_error(S), "layout 4:-1 reaches index -3; strides must be >= 0", "says which");
  OK(cuttle_tensor_wrap(S, NULL, "f32", "4:1", NULL, note_free, &freed) == NULL, "no memory");
  HAS_STR(cuttle_error(S), "the pointer is NULL; the elements span 16 bytes", "says how much");
  OK(cuttle_tensor_wrap(S, x, "f32", "4:1", "gpu", note_free, &freed) == NULL, "no such device");
  OK(cuttle_tensor_wrap(S, x, "f32", "(2147483647,2147483647,2147483647)", NULL, note_free,
                        &freed) == NULL,
     "a size beyond 64 bits");
  HAS_STR(cuttle_error(S), "cuttle_tensor_wrap: the layout has more than 2^63", "says whose");
  OK(cuttle_tensor_wrap(S, (char *)x + 2, "f32", "4:1", NULL, note_free, &freed) == NULL,
     "an address that no float has");
  HAS_STR(cuttle_error(S), "is not a multiple of 4, the bytes of an element of f32", "says so");
  IS_INT(freed.n, 0, "nothing was freed for them");

  cuttle_Tensor *t = cuttle_tensor_wrap(S, x, "f32", "(4,8):(10,1)", NULL, note_free, &freed);
  OK(t != NULL, "memory becomes a tensor");
  IS_INT(cuttle_tensor_bytes(t), 38 * sizeof(float), "of the span of its layout");
  x[12] = 5.0F;
  cuttle_push_tensor(S, t);
  lua_setglobal(cuttle_lua(S), "t");
  is_status(S, cuttle_dostring(S, "assert(t[{1, 2}] == 5) t[{1, 3}] = 7 v = t(_, 3)", "=s"),
            CUTTLE_OK, "a script reads and writes it");
  OK(x[13] == 7.0F, "in place");
  cuttle_tensor_release(S, t);
  IS_INT(freed.n, 0, "a script still holds it");
  is_status(S, cuttle_dostring(S, "t = nil v = nil collectgarbage()", NULL), CUTTLE_OK,
            "until it forgets");
  IS_INT(freed.n, 1, "then it is freed once");
  OK(freed.ptr == x && freed.bytes == 38 * sizeof(float), "with what was lent");
  t = cuttle_tensor_wrap(S, x, "f32", "4:1", "cpu", note_free, &freed);
  cuttle_tensor_release(S, t);
  IS_INT(freed.n, 2, "without a script release frees at once");
  t = cuttle_tensor_new(S, "f32", "4:1");
  is_status(S,
            cuttle_dostring(S, "collectgarbage'stop' w = setmetatable({{}}, {__mode = 'v'})", NULL),
            CUTTLE_OK, "garbage that is not collected");
  cuttle_tensor_release(S, t);
  is_status(S, cuttle_dostring(S, "assert(w[1]) collectgarbage'restart'", NULL), CUTTLE_OK,
            "and release collects none for it");
  cuttle_tensor_release(S, NULL);
  t = cuttle_tensor_wrap(S, x, "f32", "4:1", NULL, note_free, &freed);
  cuttle_close(S);
  IS_INT(freed.n, 3, "closing frees what the host still holds");
}

static void test_transfer(void) {
  double data[6] = {0, 1, 2, 3, 4, 5}, back[6] = {9, 9, 9, 9, 9, 9};
  cuttle_State *S = open_cpu(NULL);
  cuttle_Tensor *t = cuttle_tensor_new(S, "f64", "(2,3)");
  IS_INT(cuttle_tensor_bytes(t), sizeof data, "a new tensor has its own memory");
  is_status(S, cuttle_tensor_read(S, t, back, sizeof back), CUTTLE_OK, "which can be read");
  OK(back[0] == 0.0 && back[5] == 0.0, "and is zero");
  is_status(S, cuttle_tensor_write(S, t, data, sizeof data), CUTTLE_OK, "written");
  is_status(S, cuttle_tensor_read(S, t, back, sizeof back), CUTTLE_OK, "and read again");
  OK(memcmp(data, back, sizeof data) == 0, "unchanged");
  is_status(S, cuttle_tensor_read(S, t, back, 8), CUTTLE_ERROR, "but only as a whole");
  IS_STR(cuttle_error(S), "cuttle_tensor_read: 8 bytes were given for a tensor of 48", "says why");
  cuttle_close(S);
}

static void test_launch(void) {
  float x[100];
  cuttle_Dim3 grid = {1, 1, 1}, block = {128, 1, 1};
  cuttle_State *S = open_cpu(NULL);
  OK(cuttle_kernel(S, "scale") == NULL, "a kernel that is not defined");
  IS_STR(cuttle_error(S),
         "cuttle_kernel: there is no kernel called 'scale'; scripts define one with "
         "kernel(\"scale\", function ...)",
         "says how to define one");
  is_status(S, cuttle_dostring(S, scale_script, "=scale"), CUTTLE_OK, "scripts define kernels");
  cuttle_Kernel *k = cuttle_kernel(S, "scale");
  OK(k != NULL, "the host finds them");
  OK(cuttle_kernel(S, "scael") == NULL, "a name that is nearly one");
  HAS_STR(cuttle_error(S), "function ...); did you mean 'scale'?", "says which");
  for (int i = 0; i < 100; i++) {
    x[i] = (float)i;
  }
  cuttle_Tensor *t = cuttle_tensor_wrap(S, x, "f32", "100", NULL, NULL, NULL);
  cuttle_Arg args[] = {cuttle_float(0.5), cuttle_tensor(t), cuttle_int(1)};
  is_status(S, cuttle_launch(S, k, grid, block, 2, args), CUTTLE_OK, "and launch them");
  OK(x[0] == 0.0F && x[1] == 0.5F && x[99] == 49.5F, "on their own array");
  is_status(S, cuttle_launch(S, k, grid, block, 3, args), CUTTLE_ERROR, "an argument too many");
  HAS_STR(cuttle_error(S), "scale", "names the kernel");
  is_status(S, cuttle_launch(S, k, grid, block, 1, args), CUTTLE_ERROR, "a missing argument");
  block.x = 100000;
  is_status(S, cuttle_launch(S, k, grid, block, 2, args), CUTTLE_ERROR,
            "a block beyond every device");
  block.x = 128;
  is_status(S, cuttle_synchronize(S), CUTTLE_OK, "nothing is in flight");
  cuttle_dostring(S, "kernel('scale', function(a, x) x[threadIdx.x] = a end)", "=again");
  OK(cuttle_kernel(S, "scale") != k, "the latest definition counts");
  is_status(S, cuttle_launch(S, k, grid, block, 2, args), CUTTLE_OK, "the earlier one stays");
  OK(x[99] == 24.75F, "what it was");
  cuttle_close(S);
}

static void test_argument_kinds(void) {
  double x[2] = {0, 0};
  cuttle_Dim3 one = {1, 1, 1};
  cuttle_Arg args[] = {{.kind = CUTTLE_ARG_F64, .u.f = 0.1},
                       {.kind = CUTTLE_ARG_I64, .u.i = INT64_C(1) << 40},
                       {.kind = CUTTLE_ARG_STATIC, .u.i = 3},
                       {.kind = CUTTLE_ARG_BOOL, .u.i = 1},
                       {.kind = CUTTLE_ARG_TENSOR}};
  cuttle_State *S = open_cpu(NULL);
  args[4].u.tensor = cuttle_tensor_wrap(S, x, "f64", "2", NULL, NULL, NULL);
  cuttle_dostring(S,
                  "kernel('sum', function(a, n, s, b, x)\n"
                  "  assert(s == 3)\n"
                  "  if b then x[0] = a x[1] = f64(n) + s end\n"
                  "end)",
                  "=sum");
  is_status(S, cuttle_launch(S, cuttle_kernel(S, "sum"), one, one, 5, args), CUTTLE_OK,
            "numbers of each kind");
  OK(x[0] == 0.1, "an f64 keeps its bits");
  OK(x[1] == 1099511627779.0, "an i64 its high half");
  cuttle_close(S);
}

/* {====== Launches as files ====== */

static int count_files(const char *folder) {
  int n = 0;
  DIR *dir = opendir(folder);
  for (const struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
    n += strstr(e->d_name, ".ctk") != NULL;
  }
  if (dir != NULL) {
    closedir(dir);
  }
  return n;
}

static void remove_files(const char *folder) {
  char path[400];
  DIR *dir = opendir(folder);
  for (const struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
    snprintf(path, sizeof path, "%s/%.200s", folder, e->d_name);
    if (e->d_name[0] != '.') {
      remove(path);
    }
  }
  if (dir != NULL) {
    closedir(dir);
  }
  rmdir(folder);
}

static void test_names(void) {
  cuttle_State *S = open_cpu(NULL);
  (void)cuttle_dostring(S, "kernel('b', function(x, n, ...) end) kernel('a', function() end)",
                        "=s");
  cuttle_Kernel *k = cuttle_kernel(S, "b");
  IS_STR(cuttle_kernel_parameter(S, k, 0), "x", "the first parameter");
  IS_STR(cuttle_kernel_parameter(S, k, 1), "n", "the second one");
  IS_STR(cuttle_kernel_parameter(S, k, 2), "...", "further ones");
  OK(cuttle_kernel_parameter(S, k, 3) == NULL && cuttle_kernel_parameter(S, k, -1) == NULL,
     "and no more");
  OK(cuttle_kernel_parameter(S, cuttle_kernel(S, "a"), 0) == NULL, "a kernel without any");
  OK(cuttle_kernel_parameter(S, NULL, 0) == NULL, "no kernel");
  IS_STR(cuttle_kernel_after(S, NULL), "a", "the first kernel");
  IS_STR(cuttle_kernel_after(S, "a"), "b", "the next one");
  OK(cuttle_kernel_after(S, "b") == NULL, "and no more");
  cuttle_close(S);
}

static void test_capture(void) {
  char folder[] = "/tmp/cuttle-capture-XXXXXX", longer[1000];
  static const char text[] = "local k = kernel('k', function(x, n) x[threadIdx.x + n] = 1 end)\n"
                             "function run(n) k{grid = 1, block = 4}(zeros(f32, 4), n) end";
  cuttle_State *S = open_cpu(NULL);
  memset(longer, 'x', sizeof longer - 1);
  longer[sizeof longer - 1] = '\0';
  OK(mkdtemp(folder) != NULL, "a folder");
  is_status(S, cuttle_dostring(S, text, "=k"), CUTTLE_OK, "a kernel");
  is_status(S, cuttle_capture(S, folder, 0), CUTTLE_OK, "launches are captured");
  is_status(S, cuttle_dostring(S, "run(0)", "=run"), CUTTLE_OK, "one that is right");
  OK(count_files(folder) == 0, "leaves no file");
  is_status(S, cuttle_dostring(S, "run(1)", "=run"), CUTTLE_ERROR, "one that is not");
  HAS_STR(cuttle_error(S), "; the launch is in ", "says where");
  OK(count_files(folder) == 1, "it is");
  is_status(S, cuttle_capture(S, folder, 1e-9), CUTTLE_OK, "with a time limit");
  is_status(S, cuttle_dostring(S, "run(0)", "=run"), CUTTLE_OK, "a launch that takes longer");
  OK(count_files(folder) == 2, "leaves a file");
  is_status(S, cuttle_capture(S, NULL, 0), CUTTLE_OK, "no more");
  is_status(S, cuttle_dostring(S, "run(1)", "=run"), CUTTLE_ERROR, "a fault");
  OK(count_files(folder) == 2, "leaves none then");
  is_status(S, cuttle_capture(S, longer, 0), CUTTLE_ERROR, "a name that is too long");
  OK(cuttle_capture(NULL, folder, 0) == CUTTLE_ERROR, "no state");
  is_status(S, cuttle_capture(S, folder, -1), CUTTLE_ERROR, "a time below 0");
  is_status(S, cuttle_capture(S, folder, NAN), CUTTLE_ERROR, "no number");
  cuttle_close(S);
  remove_files(folder);
}

/* {====== What a host may do wrong ====== */

static void test_null(void) {
  float x[4] = {0};
  cuttle_Dim3 one = {1, 1, 1};
  cuttle_State *S = open_cpu(NULL);
  OK(cuttle_dostring(NULL, "x = 1", NULL) == CUTTLE_ERROR, "a text for no state");
  OK(cuttle_synchronize(NULL) == CUTTLE_ERROR, "no state to wait for");
  OK(cuttle_kernel(NULL, "k") == NULL && cuttle_lua(NULL) == NULL, "a kernel of no state");
  cuttle_interrupt(NULL);
  cuttle_tensor_release(NULL, NULL);
  is_status(S, cuttle_dostring(S, NULL, NULL), CUTTLE_ERROR, "no text");
  IS_STR(cuttle_error(S), "cuttle_dostring: the text is NULL", "has a message");
  is_status(S, cuttle_dofile(S, NULL), CUTTLE_ERROR, "no path: standard input is not read");
  OK(cuttle_kernel(S, NULL) == NULL, "no name");
  HAS_STR(cuttle_error(S), "the name is NULL", "has a message");
  OK(cuttle_tensor_wrap(S, x, NULL, "4", NULL, NULL, NULL) == NULL, "no dtype");
  HAS_STR(cuttle_error(S), "the dtype is NULL", "has a message");
  OK(cuttle_tensor_new(S, "f32", NULL) == NULL, "no layout");
  HAS_STR(cuttle_error(S), "the layout is NULL", "has a message");
  OK(cuttle_tensor_wrap(S, x, "bool", "2:9223372036854775807", NULL, NULL, NULL) == NULL,
     "a layout of 2^63 bytes");
  HAS_STR(cuttle_error(S), "more bytes than memory can have", "has a message");
  is_status(S, cuttle_tensor_read(S, NULL, x, 16), CUTTLE_ERROR, "no tensor to read");
  cuttle_Tensor *t = cuttle_tensor_new(S, "f32", "4");
  is_status(S, cuttle_tensor_read(S, t, NULL, 16), CUTTLE_ERROR, "nowhere to read to");
  is_status(S, cuttle_tensor_write(S, t, NULL, 16), CUTTLE_ERROR, "nowhere to write from");
  HAS_STR(cuttle_error(S), "cuttle_tensor_write: the memory is NULL", "has a message");
  IS_INT(cuttle_tensor_bytes(NULL), 0, "no tensor has no bytes");
  is_status(S, cuttle_launch(S, NULL, one, one, 0, NULL), CUTTLE_ERROR, "no kernel");
  HAS_STR(cuttle_error(S), "the kernel is NULL", "has a message");
  cuttle_close(S);
}

/* One launch of `scale` with these arguments is an error that says so. */
static void refuse_launch(cuttle_State *S, int n, const cuttle_Arg *args, const char *error) {
  cuttle_Dim3 one = {1, 1, 1};
  is_status(S, cuttle_launch(S, cuttle_kernel(S, "scale"), one, one, n, args), CUTTLE_ERROR,
            "a wrong launch");
  HAS_STR(cuttle_error(S), error, "%s", error);
}

static void test_wrong_objects(void) {
  cuttle_Dim3 one = {1, 1, 1};
  cuttle_State *S = open_cpu(NULL), *other = open_cpu(NULL);
  cuttle_dostring(S, scale_script, "=scale");
  cuttle_dostring(other, scale_script, "=scale");
  cuttle_Tensor *t = cuttle_tensor_new(S, "f32", "4"),
                *foreign = cuttle_tensor_new(other, "f32", "4");
  cuttle_Arg args[] = {cuttle_float(1), cuttle_tensor(foreign)};
  refuse_launch(S, 2, NULL, "2 arguments at");
  refuse_launch(S, -1, args, "-1 arguments at");
  refuse_launch(S, 2, args, "scale: argument 2 (x): the tensor is not one that this state holds");
  args[1] = cuttle_tensor(NULL);
  refuse_launch(S, 2, args, "scale: argument 2 (x): the tensor is NULL");
  args[1].kind = (cuttle_ArgKind)77;
  refuse_launch(S, 2, args, "scale: argument 2 (x): 77 is not a kind of argument");
  args[1] = cuttle_tensor(t);
  is_status(S, cuttle_launch(S, cuttle_kernel(other, "scale"), one, one, 2, args), CUTTLE_ERROR,
            "another state's kernel");
  HAS_STR(cuttle_error(S), "not one of this state's", "has a message");
  cuttle_tensor_release(S, t);
  refuse_launch(S, 2, args, "released");
  is_status(S, cuttle_tensor_read(S, t, args, 16), CUTTLE_ERROR, "a released tensor is not read");
  cuttle_tensor_release(S, t);
  cuttle_close(other);
  cuttle_close(S);
}

typedef struct Nested {
  cuttle_State *S;
  cuttle_Status launched, ran;
  char error[128];
} Nested;

static void launch_in_print(void *ud, const char *text, size_t len) {
  Nested *n = ud;
  cuttle_Dim3 one = {1, 1, 1};
  if (len > 0 && text[0] == '7') {
    n->ran = cuttle_dostring(n->S, "x = 1 + 1", "=nested");
    n->launched = cuttle_launch(n->S, cuttle_kernel(n->S, "quiet"), one, one, 0, NULL);
    snprintf(n->error, sizeof n->error, "%s", cuttle_error(n->S));
    cuttle_close(n->S);
  }
}

static void test_callbacks(void) {
  Nested n = {.launched = CUTTLE_OK, .ran = CUTTLE_OK};
  cuttle_Dim3 one = {1, 1, 1};
  cuttle_Options o = cpu_options(NULL);
  o.print = launch_in_print;
  o.print_ud = &n;
  cuttle_State *S = n.S = cuttle_open(&o);
  cuttle_dostring(S,
                  "kernel('loud', function() printf('%d\\n', 7) end)\n"
                  "kernel('quiet', function() end)",
                  "=k");
  is_status(S, cuttle_launch(S, cuttle_kernel(S, "loud"), one, one, 0, NULL), CUTTLE_OK,
            "a kernel prints to a host that launches another");
  IS_INT(n.launched, CUTTLE_ERROR, "which is an error");
  HAS_STR(n.error, "only cuttle_interrupt may be", "that says so");
  IS_INT(n.ran, CUTTLE_ERROR, "as is a string; and nothing is closed");
  is_status(S, cuttle_launch(S, cuttle_kernel(S, "quiet"), one, one, 0, NULL), CUTTLE_OK,
            "afterwards it launches");
  cuttle_close(S);
}

/* {====== Threads ====== */

static void *run_thread(void *arg) {
  float *x = arg;
  cuttle_State *S = open_cpu(NULL);
  bool ok = cuttle_dostring(S, scale_script, "=scale") == CUTTLE_OK;
  cuttle_Tensor *t = cuttle_tensor_wrap(S, x, "f32", "1000", NULL, NULL, NULL);
  cuttle_Arg args[] = {cuttle_float(2.0), cuttle_tensor(t)};
  cuttle_Dim3 grid = {8, 1, 1}, block = {128, 1, 1};
  for (int i = 0; ok && i < 8; i++) {
    ok = cuttle_launch(S, cuttle_kernel(S, "scale"), grid, block, 2, args) == CUTTLE_OK;
  }
  cuttle_close(S);
  return ok ? x : NULL;
}

static void test_threads(void) {
  enum { N = 4 };
  static float x[N][1000];
  pthread_t threads[N];
  for (int i = 0; i < N; i++) {
    for (int k = 0; k < 1000; k++) {
      x[i][k] = (float)(i + k);
    }
    pthread_create(&threads[i], NULL, run_thread, x[i]);
  }
  bool ok = true;
  for (int i = 0; i < N; i++) {
    void *result;
    pthread_join(threads[i], &result);
    ok = ok && result != NULL && x[i][999] == (float)(i + 999) * 256.0F;
  }
  OK(ok, "states in four threads do not disturb each other");
}

/* {====== Out of memory at each request ====== */

static bool use_state(cuttle_State *S) {
  return cuttle_dostring(S,
                         "local l = composition('(20,2):(16,4)', {4, 5})\n"
                         "assert(size(l) == 20 and tostring(shape(l)) ~= '')\n"
                         "rand(f32, {4, 4}):totable()",
                         NULL) == CUTTLE_OK;
}

static void test_failing_allocator(void) {
  bool leaked = false, opened = false, used = false;
  long long n = 1;
  for (; n < 100000 && !used; n += 1 + n / 64) {
    Heap heap = {.fail_at = n};
    cuttle_State *S = open_cpu(&heap);
    opened = S != NULL;
    used = opened && use_state(S);
    cuttle_close(S);
    leaked = leaked || heap.bytes != 0;
  }
  OK(used, "with %lld requests everything works", n);
  OK(!leaked, "a failure of any request before leaks nothing");
}

int main(void) {
  test_scripts();
  test_options();
  test_limit_out_of_range();
  test_memory_limit();
  test_memory_again();
  test_instruction_limit();
  if (has_threads()) {
    test_interrupt();
  } else {
    SKIP(1, "no signals without threads");
  }
  test_sandbox();
  test_wrap();
  test_transfer();
  test_launch();
  test_argument_kinds();
  test_names();
  test_capture();
  test_null();
  test_wrong_objects();
  test_callbacks();
  if (has_threads()) {
    test_threads();
  } else {
    SKIP(1, "no second thread");
  }
  test_failing_allocator();
  return done_testing();
}
