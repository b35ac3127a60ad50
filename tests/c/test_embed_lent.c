/* test_embed_lent.c: memory that the host lends for a launch, described by shape and strides; launches with
   options; the place of an error. */
#include "interp/cuttle.h"

#include <lauxlib.h>
#include <lua.h>
#include <stdatomic.h>

#include "heap.h"
#include "tap.h"

static cuttle_State *open_cpu(void) {
  cuttle_Options o = {.size = sizeof o, .device = "cpu", .no_environment = 1};
  return cuttle_open(&o);
}

static const char script[] = "local scale, counts = 1, {n = 0}\n"
                             "function count() counts.n = counts.n + 1 end\n"
                             "function n_traces() return counts.n end\n"
                             "function set_scale(s) scale = s end\n"
                             "kernel('axpy', function(a, x, y)\n"
                             "  count()\n"
                             "  local i = blockIdx.x * blockDim.x + threadIdx.x\n"
                             "  if i < size(y) then y[i] = a * x[i] * scale + y[i] end\n"
                             "end)\n"
                             "kernel('fill', function(x, v)\n"
                             "  if threadIdx.x < size(x) then x[threadIdx.x] = v end\n"
                             "end)\n"
                             "kernel('rows', function(a, out)\n"
                             "  local i = threadIdx.x\n"
                             "  if i < size(a, 0) then\n"
                             "    local s = 0.0\n"
                             "    for j = 0, size(a, 1) - 1 do s = s + a(i, j) end\n"
                             "    out[i] = s\n"
                             "  end\n"
                             "end)\n";

static cuttle_Memory vector(void *p, const int64_t *n, cuttle_DType dtype) {
  return (cuttle_Memory){.ptr = p, .shape = n, .rank = 1, .dtype = dtype, .device = -1};
}

static cuttle_Launch threads(uint32_t n) {
  return (cuttle_Launch){.size = sizeof(cuttle_Launch), .grid = {1, 1, 1}, .block = {n, 1, 1}};
}

static void is_ok(cuttle_State *S, cuttle_Status status, const char *name) {
  if (!IS_INT(status, CUTTLE_OK, "%s", name)) {
    tap_diag("%s", cuttle_error(S));
  }
}

static void is_error(cuttle_State *S, cuttle_Status status, const char *text, const char *name) {
  IS_INT(status, CUTTLE_ERROR, "%s", name);
  HAS_STR(cuttle_error(S), text, "%s: its message", name);
}

static cuttle_Status axpy(cuttle_State *S, cuttle_Kernel *k, double a, float *x, float *y,
                          int64_t n) {
  cuttle_Memory mx = vector(x, &n, CUTTLE_F32), my = vector(y, &n, CUTTLE_F32);
  cuttle_Arg args[] = {cuttle_float(a), cuttle_memory(&mx), cuttle_memory(&my)};
  cuttle_Launch o = threads(64);
  return cuttle_launch_with(S, k, &o, 3, args);
}

static void is_traced(cuttle_State *S, int n, const char *name) {
  char text[64];
  snprintf(text, sizeof text, "assert(n_traces() == %d, n_traces())", n);
  is_ok(S, cuttle_dostring(S, text, "=count"), name);
}

/* A launch at other addresses and with other numbers takes what the first one learned. */
static void test_again(cuttle_State *S) {
  cuttle_Kernel *k = cuttle_kernel(S, "axpy");
  _Alignas(64) float mem[4][32];
  for (int i = 0; i < 32; i++) {
    mem[0][i] = (float)i;
    mem[1][i] = mem[2][i] = 1;
    mem[3][i] = 2;
  }
  is_ok(S, axpy(S, k, 2, mem[0], mem[1], 32), "a launch with lent memory");
  IS_INT(mem[1][31], 63, "works in place");
  is_ok(S, axpy(S, k, 3, mem[0], mem[2], 32), "another address and number");
  IS_INT(mem[2][31], 94, "are what counts");
  IS_INT(mem[1][31], 63, "and the memory before is left alone");
  is_traced(S, 1, "nothing was traced anew");
  is_ok(S, axpy(S, k, 1, mem[3], mem[3], 32), "the same memory twice");
  IS_INT(mem[3][5], 4, "overlaps");
  is_ok(S, axpy(S, k, 1, mem[0] + 1, mem[1] + 1, 16), "a less aligned address");
  IS_INT(mem[1][16], 33 + 16, "is right, too");
  IS_INT(mem[1][17], 35, "and ends where it should");
  is_ok(S, cuttle_dostring(S, "set_scale(10)", NULL), "a captured value changes");
  is_ok(S, axpy(S, k, 1, mem[0], mem[2], 32), "and the next launch");
  IS_INT(mem[2][31], 94 + 310, "sees it");
  is_ok(S, cuttle_dostring(S, "set_scale(1)", NULL), "back");
  is_ok(S, axpy(S, k, 1, mem[0], mem[2], 32), "and the next launch");
  IS_INT(mem[2][31], 94 + 310 + 31, "sees that");
}

/* Lengths that a kernel takes for the same, as the same numbers divide them. */
static void test_lengths(cuttle_State *S) {
  enum { LENGTHS = 70 };
  cuttle_Kernel *k = cuttle_kernel(S, "axpy");
  float x[LENGTHS], y[LENGTHS];
  for (int i = 0; i < LENGTHS; i++) {
    x[i] = 1;
    y[i] = 0;
  }
  int n_ok = 0;
  for (int turn = 0; turn < 2; turn++) {
    for (int n = 1; n <= LENGTHS; n++) {
      n_ok += axpy(S, k, 1, x, y, n) == CUTTLE_OK;
    }
  }
  IS_INT(n_ok, 2 * LENGTHS, "launches of seventy lengths, twice");
  IS_INT(y[0], 2 * LENGTHS, "all of them have the first element");
  IS_INT(y[63], 2 * (LENGTHS - 63), "and those that are long enough the last thread's");
}

/* More kinds of arguments than a kernel remembers. */
static void test_many_kinds(cuttle_State *S) {
  enum { LENGTHS = 7, STRIDES = 5, KINDS = LENGTHS * STRIDES * 2, MOST = 64 * 4 };
  static const int64_t strides[STRIDES] = {1, 0, 3, 2, 4};
  cuttle_Kernel *k = cuttle_kernel(S, "axpy");
  static float x[MOST], y[MOST];
  for (int i = 0; i < MOST; i++) {
    x[i] = 1;
  }
  int n_ok = 0, n_long = 0;
  for (int i = 0; i < 2 * KINDS; i++) {
    const int64_t n = INT64_C(1) << i % LENGTHS;
    const int64_t sx = strides[i / LENGTHS % STRIDES], sy = i / LENGTHS / STRIDES % 2 + 1;
    cuttle_Memory mx = vector(x, &n, CUTTLE_F32), my = vector(y, &n, CUTTLE_F32);
    mx.stride = &sx;
    my.stride = &sy;
    cuttle_Arg args[] = {cuttle_float(1), cuttle_memory(&mx), cuttle_memory(&my)};
    cuttle_Launch o = threads(64);
    n_ok += cuttle_launch_with(S, k, &o, 3, args) == CUTTLE_OK;
    n_long += n == 64 && sy == 2;
  }
  IS_INT(n_ok, 2 * KINDS, "launches with seventy lengths and strides, twice");
  IS_INT(y[0], 2 * KINDS, "all of them have the first element");
  IS_INT(y[126], n_long, "and the longest ones that go in steps of two the last");
}

/* Whatever memory a launch is given, the next launch with the same finds what that one learned. */
static void test_kept(cuttle_State *S) {
  static const int64_t cases[][4] = {/* two extents, two strides */
                                     {4, 8, 8, 1},
                                     {1, 8, INT64_C(1) << 40, 1},
                                     {1, 8, INT32_MAX, 1},
                                     {1, 1, INT64_MAX, INT64_MAX},
                                     {0, 8, INT64_C(1) << 40, 1},
                                     {INT64_C(1) << 40, 0, 0, 1},
                                     {INT64_C(1) << 40, 1, 0, 1},
                                     {INT32_MAX - 1, 2, 0, 1},
                                     {4, 0, 3, 3}};
  enum { N_CASES = sizeof cases / sizeof *cases };
  float x[32] = {0};
  is_ok(S, cuttle_dostring(S, "first = kernel('first', function(x) x[0] = x[0] + 1.0 end)", NULL),
        "a kernel for any extents");
  cuttle_Kernel *k = cuttle_kernel(S, "first");
  cuttle_Launch o = threads(1);
  for (int i = 0; i < 3 * N_CASES; i++) {
    const int64_t *c = cases[i % N_CASES];
    cuttle_Memory m = {
        .ptr = x, .shape = c, .stride = c + 2, .rank = 2, .dtype = CUTTLE_F32, .device = -1};
    cuttle_Arg arg = cuttle_memory(&m);
    o.grid.x = c[0] != 0 && c[1] != 0;
    is_ok(S, cuttle_launch_with(S, k, &o, 1, &arg), "launch");
  }
  IS_INT(x[0], 3 * 6, "all of them ran that had an element");
  char text[100];
  snprintf(text, sizeof text, "local n = #debug.getuservalue(first, 4) assert(n <= %d, n)",
           N_CASES);
  is_ok(S, cuttle_dostring(S, text, NULL), "and each left one site");
}

static void test_layouts(cuttle_State *S) {
  cuttle_Kernel *k = cuttle_kernel(S, "rows");
  float a[12], out[4];
  for (int i = 0; i < 12; i++) {
    a[i] = (float)i;
  }
  const int64_t shape[] = {3, 4}, transposed[] = {4, 3}, stride[] = {1, 4}, n3 = 3, n4 = 4;
  cuttle_Memory ma = {.ptr = a, .shape = shape, .rank = 2, .dtype = CUTTLE_F32, .device = -1};
  cuttle_Memory mo = vector(out, &n3, CUTTLE_F32);
  cuttle_Arg args[] = {cuttle_memory(&ma), cuttle_memory(&mo)};
  cuttle_Launch o = threads(32);
  is_ok(S, cuttle_launch_with(S, k, &o, 2, args), "without strides the last mode is contiguous");
  IS_INT(out[1], 4 + 5 + 6 + 7, "row 1");
  ma.shape = transposed;
  ma.stride = stride;
  mo.shape = &n4;
  is_ok(S, cuttle_launch_with(S, k, &o, 2, args), "the transposed view by its strides");
  IS_INT(out[1], 1 + 5 + 9, "column 1");
  const int64_t backwards[] = {1, -4};
  ma.stride = backwards;
  is_error(S, cuttle_launch_with(S, k, &o, 2, args),
           "rows: argument 1 (a): mode 1 has extent 3 and stride -4", "a negative stride");
  ma.stride = stride;
  ma.ptr = NULL;
  is_error(S, cuttle_launch_with(S, k, &o, 2, args), "the pointer is NULL", "no memory");
  ma.ptr = a;
  ma.dtype = (cuttle_DType)99;
  is_error(S, cuttle_launch_with(S, k, &o, 2, args), "99 is not an element type", "a wrong type");
  ma.dtype = CUTTLE_F32;
  ma.rank = 33;
  is_error(S, cuttle_launch_with(S, k, &o, 2, args), "rank 33", "a wrong rank");
  ma.rank = 2;
  ma.device = 3;
  is_error(S, cuttle_launch_with(S, k, &o, 2, args),
           "memory with device = 3, a CUDA device; -1 is the host: cu",
           "a device that is not here");
}

/* Value `v` through every element type and back. */
static void test_types(cuttle_State *S) {
  static const struct {
    cuttle_DType dtype;
    const char *name;
    unsigned long long bits; /* of 3 */
    int bytes;
  } rows[] = {{CUTTLE_F64, "f64", 0x4008000000000000, 8},
              {CUTTLE_F32, "f32", 0x40400000, 4},
              {CUTTLE_TF32, "tf32", 0x40400000, 4},
              {CUTTLE_F16, "f16", 0x4200, 2},
              {CUTTLE_BF16, "bf16", 0x4040, 2},
              {CUTTLE_F8E4M3, "f8e4m3", 0x44, 1},
              {CUTTLE_F8E5M2, "f8e5m2", 0x42, 1},
              {CUTTLE_I64, "i64", 3, 8},
              {CUTTLE_I32, "i32", 3, 4},
              {CUTTLE_I16, "i16", 3, 2},
              {CUTTLE_I8, "i8", 3, 1},
              {CUTTLE_U64, "u64", 3, 8},
              {CUTTLE_U32, "u32", 3, 4},
              {CUTTLE_U16, "u16", 3, 2},
              {CUTTLE_U8, "u8", 3, 1}};
  is_ok(S, cuttle_dostring(S, "kernel('store', function(x) x[0] = cast(3, x.dtype) end)", NULL),
        "a kernel for any type");
  cuttle_Kernel *k = cuttle_kernel(S, "store");
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    unsigned long long memory = 0;
    const int64_t one = 1;
    cuttle_Memory m = vector(&memory, &one, rows[i].dtype);
    cuttle_Arg arg = cuttle_memory(&m);
    cuttle_Launch o = threads(1);
    is_ok(S, cuttle_launch_with(S, k, &o, 1, &arg), rows[i].name);
    OK(memory == rows[i].bits, "%s: %#llx", rows[i].name, memory);
  }
}

static void test_numbers(cuttle_State *S) {
  is_ok(S,
        cuttle_dostring(S,
                        "kernel('kinds', function(x, s, b, d) x[0] = cast(s, f64) + d\n"
                        "  if b then x[1] = 1.0 end end)",
                        NULL),
        "numbers of all kinds");
  cuttle_Kernel *k = cuttle_kernel(S, "kinds");
  double x[2] = {0, 0};
  const int64_t two = 2;
  cuttle_Memory m = vector(x, &two, CUTTLE_F64);
  cuttle_Arg args[] = {cuttle_memory(&m),
                       {.kind = CUTTLE_ARG_STATIC},
                       {.kind = CUTTLE_ARG_BOOL},
                       {.kind = CUTTLE_ARG_F64}};
  cuttle_Launch o = threads(1);
  for (int i = 1; i <= 3; i++) {
    args[1].u.i = i;
    args[2].u.i = i == 2;
    args[3].u.f = 0.1 * i;
    is_ok(S, cuttle_launch_with(S, k, &o, 4, args), "launch");
    OK(x[0] == i + 0.1 * i, "a constant and an f64: %.17g", x[0]);
    IS_INT(x[1], i >= 2, "a boolean");
  }
  args[1] = cuttle_int((int64_t)1 << 40);
  is_ok(S, cuttle_launch_with(S, k, &o, 4, args), "an integer of 64 bits");
  OK(x[0] == 1099511627776.0 + 0.1 * 3, "is whole");
  args[1] = cuttle_int(5);
  is_ok(S, cuttle_launch_with(S, k, &o, 4, args), "and one of 32");
  OK(x[0] == 5 + 0.1 * 3, "too: %.17g", x[0]);
}

static void test_constants(cuttle_State *S) {
  is_ok(S,
        cuttle_dostring(S,
                        "kernel('constants', function(x, y, l, at, what)\n"
                        "  y[0] = x[0] + l(at[2]) + #what end)",
                        NULL),
        "layouts, tuples and texts");
  cuttle_Kernel *k = cuttle_kernel(S, "constants");
  float x[2] = {1, 0}, y[2] = {0};
  const int64_t n = 2, one = 1;
  cuttle_Memory mx = vector(x, &n, CUTTLE_F32), my = vector(y, &n, CUTTLE_F32);
  cuttle_Arg args[] = {cuttle_memory(&mx),
                       cuttle_memory(&my),
                       cuttle_layout("(4,8):(1,40)"),
                       {.kind = CUTTLE_ARG_TUPLE, .u.text = "(3,(1,2))"},
                       {.kind = CUTTLE_ARG_TEXT, .u.text = "four"}};
  cuttle_Launch o = threads(1);
  for (int i = 0; i < 3; i++) {
    y[0] = 0;
    is_ok(S, cuttle_launch_with(S, k, &o, 5, args), "launch");
    OK(y[0] == 86, "by the layout: %g", (double)y[0]);
  }
  args[2] = cuttle_layout("(4,8):(8,1)");
  is_ok(S, cuttle_launch_with(S, k, &o, 5, args), "another layout");
  OK(y[0] == 15, "is another constant: %g", (double)y[0]);
  mx.shape = my.shape = &one; /* of one extent, and then the same memory, which is another trace */
  is_ok(S, cuttle_launch_with(S, k, &o, 5, args), "memory apart");
  my.ptr = x;
  is_ok(S, cuttle_launch_with(S, k, &o, 5, args), "memory that is shared");
  OK(x[0] == 15, "with the same constants: %g", (double)x[0]);
  args[2] = cuttle_layout("(4,");
  is_error(S, cuttle_launch_with(S, k, &o, 5, args), "layout", "a text that is no layout");
  args[2] = cuttle_layout(NULL);
  is_error(S, cuttle_launch_with(S, k, &o, 5, args), "argument 3 (l): the text is NULL", "no text");
}

/* An argument that the kernel does without, beside memory and beside a tensor. */
static void test_nil(cuttle_State *S) {
  is_ok(S,
        cuttle_dostring(S,
                        "kernel('biased', function(x, bias, y)\n"
                        "  y[0] = bias and x[0] + bias[0] or x[0] end)",
                        NULL),
        "a kernel that tests an argument");
  cuttle_Kernel *k = cuttle_kernel(S, "biased");
  float x[1] = {1}, bias[1] = {4}, y[1] = {0};
  const int64_t n = 1;
  cuttle_Memory mx = vector(x, &n, CUTTLE_F32), mb = vector(bias, &n, CUTTLE_F32),
                my = vector(y, &n, CUTTLE_F32);
  cuttle_Arg args[] = {cuttle_memory(&mx), cuttle_nil(), cuttle_memory(&my)};
  cuttle_Launch o = threads(1);
  for (int i = 0; i < 6; i++) {
    args[1] = i % 3 == 2 ? cuttle_memory(&mb) : cuttle_nil();
    is_ok(S, cuttle_launch_with(S, k, &o, 3, args), "launch");
    IS_INT(y[0], i % 3 == 2 ? 5 : 1, "with and without, in turns");
  }
  cuttle_Tensor *tx = cuttle_tensor_lend(S, &mx, NULL, NULL),
                *ty = cuttle_tensor_lend(S, &my, NULL, NULL);
  cuttle_Arg tensors[] = {cuttle_tensor(tx), cuttle_nil(), cuttle_tensor(ty)};
  x[0] = 3;
  is_ok(S, cuttle_launch_with(S, k, &o, 3, tensors), "with tensors");
  IS_INT(y[0], 3, "as well");
  cuttle_tensor_close(S, tx);
  cuttle_tensor_close(S, ty);
  args[0] = cuttle_nil();
  is_error(S, cuttle_launch_with(S, k, &o, 3, args), "x", "nil for what the kernel needs");
}

static void test_read_only(cuttle_State *S) {
  float x[4] = {1, 2, 3, 4}, y[4] = {0};
  const int64_t n = 4;
  cuttle_Kernel *k = cuttle_kernel(S, "axpy");
  cuttle_Memory mx = vector(x, &n, CUTTLE_F32), my = vector(y, &n, CUTTLE_F32);
  cuttle_Arg args[] = {cuttle_float(2), cuttle_memory(&mx), cuttle_memory(&my)};
  cuttle_Launch o = threads(32);
  mx.is_read_only = 1;
  is_ok(S, cuttle_launch_with(S, k, &o, 3, args), "what is read may be read-only");
  IS_INT(y[3], 8, "and is read");
  my.is_read_only = 1;
  is_error(S, cuttle_launch_with(S, k, &o, 3, args), "axpy: argument 3 (y) is read-only memory",
           "what is written may not");
  IS_INT(y[3], 8, "and nothing was written");
  my.is_read_only = 0;
  is_ok(S, cuttle_launch_with(S, k, &o, 3, args), "the next launch is as ever");
  IS_INT(y[3], 16, "and writes");
}

/* A tensor that is lent to be read: launches, functions and elements all ask. */
static void test_read_only_tensor(cuttle_State *S) {
  float x[4] = {1, 2, 3, 4}, y[4] = {0}, host[4] = {9, 9, 9, 9};
  const int64_t n = 4;
  cuttle_Kernel *k = cuttle_kernel(S, "axpy");
  cuttle_Memory mx = vector(x, &n, CUTTLE_F32), my = vector(y, &n, CUTTLE_F32);
  mx.is_read_only = 1;
  cuttle_Tensor *ro = cuttle_tensor_lend(S, &mx, NULL, NULL);
  cuttle_Tensor *rw = cuttle_tensor_lend(S, &my, NULL, NULL);
  cuttle_Arg reads[] = {cuttle_float(2), cuttle_tensor(ro), cuttle_tensor(rw)};
  cuttle_Arg writes[] = {cuttle_float(2), cuttle_tensor(rw), cuttle_tensor(ro)};
  cuttle_Dim3 g = {1, 1, 1}, b = {32, 1, 1};
  IS_INT(cuttle_tensor_written(rw), 0, "nothing is written yet");
  is_ok(S, cuttle_launch(S, k, g, b, 3, reads), "a tensor that is lent to be read is read");
  IS_INT(y[3], 8, "and another one written");
  OK(cuttle_tensor_written(rw) != 0 && cuttle_tensor_written(ro) == 0, "of which the host is told");
  is_error(S, cuttle_launch(S, k, g, b, 3, writes), "axpy: argument 3 (y) is read-only memory",
           "but it is not written");
  is_error(S, cuttle_tensor_write(S, ro, host, sizeof host), "read-only", "by the host neither");
  is_ok(S, cuttle_tensor_read(S, ro, host, sizeof host), "which may read it");
  OK(memcmp(x, host, sizeof x) == 0 && x[3] == 4, "as it was");
  cuttle_tensor_close(S, ro);
  cuttle_tensor_close(S, rw);
}

/* A kernel keeps what its last call was given; each call of a host and of a script is compared with that. */
static void test_by_turns(cuttle_State *S) {
  enum { TURNS = 6, N = 4 };
  static const char own[] = "local k = kernel('turns', function(a, x, y)\n"
                            "  if threadIdx.x < size(y) then\n"
                            "    y[threadIdx.x] = a * x[threadIdx.x] + y[threadIdx.x]\n"
                            "  end\n"
                            "end)\n"
                            "local x, y = ones(f32, 4), zeros(f32, 4)\n"
                            "function turn(a) k{grid = 1, block = 32}(a, x, y) return y[3] end\n";
  float x[2][N] = {{1, 1, 1, 1}, {10, 10, 10, 10}}, y[2][N] = {{0}};
  const int64_t n = N;
  const cuttle_Dim3 g = {1, 1, 1}, b = {32, 1, 1};
  is_ok(S, cuttle_dostring(S, own, "=turns"), "a kernel that a script launches, too");
  cuttle_Kernel *k = cuttle_kernel(S, "turns");
  for (int i = 0; i < TURNS; i++) {
    char text[64];
    int which = i / 2 % 2;
    cuttle_Memory mx = vector(x[which], &n, CUTTLE_F32), my = vector(y[which], &n, CUTTLE_F32);
    cuttle_Tensor *tx = cuttle_tensor_lend(S, &mx, NULL, NULL);
    cuttle_Tensor *ty = cuttle_tensor_lend(S, &my, NULL, NULL);
    cuttle_Arg args[] = {cuttle_float(i + 1), cuttle_tensor(tx), cuttle_tensor(ty)};
    is_ok(S, cuttle_launch(S, k, g, b, 3, args), "the host's launch");
    is_ok(S, cuttle_launch(S, k, g, b, 3, args), "and once more");
    snprintf(text, sizeof text, "assert(turn(%d) == %d)", i + 1, (i + 1) * (i + 2) / 2);
    is_ok(S, cuttle_dostring(S, text, "=turn"), "the script's");
    cuttle_tensor_close(S, tx);
    cuttle_tensor_close(S, ty);
  }
  OK(y[0][3] == 2 * (1 + 2 + 5 + 6) && y[1][0] == 10 * 2 * (3 + 4), "all with their own tensors");
}

/* Which arguments a launch wrote. */
static void test_written(cuttle_State *S) {
  float x[4] = {1, 2, 3, 4}, y[4] = {0};
  const int64_t n = 4;
  cuttle_Kernel *k = cuttle_kernel(S, "axpy");
  cuttle_Memory mx = vector(x, &n, CUTTLE_F32), my = vector(y, &n, CUTTLE_F32);
  cuttle_Arg args[] = {cuttle_float(2), cuttle_memory(&mx), cuttle_memory(&my)};
  cuttle_Launch o = threads(32);
  for (int i = 0; i < 3; i++) {
    is_ok(S, cuttle_launch_with(S, k, &o, 3, args), "launch");
    IS_INT(cuttle_written(S), 4, "y is written, x is not");
  }
}

/* An extent of 0: a grid runs nothing, a block is an error, a cluster that is left zero is none. */
static void test_empty_grids(cuttle_State *S) {
  float x[4] = {1, 2, 3, 4}, y[4] = {0};
  const int64_t n = 4;
  cuttle_Kernel *k = cuttle_kernel(S, "axpy");
  cuttle_Memory mx = vector(x, &n, CUTTLE_F32), my = vector(y, &n, CUTTLE_F32);
  cuttle_Tensor *ty = cuttle_tensor_lend(S, &my, NULL, NULL);
  cuttle_Arg args[] = {cuttle_float(2), cuttle_memory(&mx), cuttle_memory(&my)};
  cuttle_Arg held[] = {cuttle_float(2), cuttle_memory(&mx), cuttle_tensor(ty)};
  cuttle_Launch o = threads(32);
  for (int i = 0; i < 4; i++) {
    o.grid = (cuttle_Dim3){i != 0, i != 1, i != 2};
    is_ok(S, cuttle_launch_with(S, k, &o, 3, args), "a launch");
    is_ok(S, cuttle_launch(S, k, o.grid, o.block, 3, held), "of either kind");
    IS_INT(y[3], i < 3 ? 0 : 16, "an extent of 0 runs nothing");
    IS_INT(cuttle_written(S), i < 3 ? 0 : 4, "and writes nothing");
  }
  o.block = (cuttle_Dim3){32, 0, 0};
  is_error(S, cuttle_launch_with(S, k, &o, 3, args), "block (32,0,0) has 0 threads",
           "an empty block");
  o.block = (cuttle_Dim3){32, 1, 1};
  o.cluster = (cuttle_Dim3){1, 0, 0};
  is_error(S, cuttle_launch_with(S, k, &o, 3, args), "cluster (1,0,0)", "an empty cluster");
  cuttle_tensor_close(S, ty);
}

static void test_places(cuttle_State *S) {
  int line = -1;
  is_error(S, cuttle_dostring(S, "local x = 1\nerror('this', 1)", "@dir/a:b.lua"), "this",
           "an error");
  IS_STR(cuttle_error_place(S, &line), "dir/a:b.lua", "its file");
  IS_INT(line, 2, "its line");
  is_ok(S, cuttle_dostring(S, "x = 1", NULL), "no error");
  OK(cuttle_error_place(S, &line) == NULL && line == 0, "no place");
  is_error(S, cuttle_dostring(S, "error('12: no place: 3', 0)", NULL), "no place", "a text");
  OK(cuttle_error_place(S, NULL) == NULL, "without a place has none");
  OK(cuttle_error_place(NULL, &line) == NULL, "nor has NULL");
  is_ok(S, cuttle_dostring(S, "kernel('bad', function(x)\n\n  x[0] = {}\nend)", "@bad.lua"),
        "a kernel");
  const int64_t n = 1;
  float x = 0;
  cuttle_Memory m = vector(&x, &n, CUTTLE_F32);
  cuttle_Arg arg = cuttle_memory(&m);
  cuttle_Launch o = threads(1);
  is_error(S, cuttle_launch_with(S, cuttle_kernel(S, "bad"), &o, 1, &arg), "", "a launch fails");
  IS_STR(cuttle_error_place(S, &line), "bad.lua", "in its file");
  IS_INT(line, 3, "at its line");
}

static int n_freed;
static void count_free(void *ud, void *ptr, size_t bytes) {
  (void)ptr;
  n_freed += bytes == 24 && ud == &n_freed;
}

static void test_lend(cuttle_State *S) {
  float x[6] = {0, 1, 2, 3, 4, 5};
  const int64_t shape[] = {2, 3}, none[] = {0, 3};
  cuttle_Memory m = {.ptr = x, .shape = shape, .rank = 2, .dtype = CUTTLE_F32, .device = -1};
  cuttle_Tensor *t = cuttle_tensor_lend(S, &m, count_free, &n_freed);
  OK(t != NULL, "a tensor of lent memory: %s", cuttle_error(S));
  IS_INT(cuttle_tensor_bytes(t), 24, "spans it");
  cuttle_push_tensor(S, t);
  lua_setglobal(cuttle_lua(S), "t");
  is_ok(S,
        cuttle_dostring(S, "assert(tostring(t.layout) == '(2,3):(3,1)' and t[{1, 0}] == 3)", "=t"),
        "a script sees its layout");
  cuttle_tensor_close(S, t);
  IS_INT(n_freed, 1, "closing gives the memory back");
  is_error(S, cuttle_dostring(S, "return t[0]", "=t"), "is closed", "and scripts cannot use it");
  m.shape = none;
  m.ptr = NULL;
  t = cuttle_tensor_lend(S, &m, NULL, NULL);
  OK(t != NULL, "an empty tensor: %s", cuttle_error(S));
  cuttle_tensor_close(S, t);
  OK(cuttle_tensor_lend(S, NULL, NULL, NULL) == NULL, "no memory, no tensor");
  cuttle_tensor_close(S, NULL);
}

static int add_one(lua_State *L) {
  int *n = lua_touserdata(L, 1);
  *n += 1;
  lua_pushinteger(L, *n);
  lua_setglobal(L, "n_calls");
  return *n < 2 ? 1 : luaL_error(L, "the second call");
}

static void test_call(cuttle_State *S) {
  int n = 0;
  is_ok(S, cuttle_call(S, add_one, &n), "a function of the Lua API");
  is_ok(S, cuttle_dostring(S, "assert(n_calls == 1)", NULL), "has run in the state");
  is_error(S, cuttle_call(S, add_one, &n), "the second call", "and its error is a status");
  IS_INT(n, 2, "it got its argument");
  is_error(S, cuttle_call(S, NULL, &n), "the function is NULL", "no function");
}

static void test_options(cuttle_State *S) {
  cuttle_Kernel *k = cuttle_kernel(S, "axpy");
  is_error(S, cuttle_launch_with(S, k, NULL, 0, NULL), "cuttle_launch_with", "no options");
  cuttle_Launch o = threads(0);
  o.size = 0;
  is_error(S, cuttle_launch_with(S, k, &o, 0, NULL), "size", "no size");
  o = threads(2048);
  is_error(S, cuttle_launch_with(S, k, &o, 0, NULL), "axpy: block (2048,1,1)", "a large block");
  o = threads(1);
  is_error(S, cuttle_launch_with(S, k, &o, 0, NULL), "takes 3 arguments (a, x, y), got 0",
           "too few arguments");
  is_error(S, cuttle_launch_with(S, NULL, &o, 0, NULL), "the kernel is NULL", "no kernel");
  o.cluster = (cuttle_Dim3){3, 1, 1};
  is_error(S, cuttle_launch_with(S, k, &o, 0, NULL), "not a multiple of cluster (3,1,1)",
           "a cluster");
}

/* Failed launches and very many different ones leave the state as it was. */
static void test_many(cuttle_State *S) {
  static float x[300], y[300];
  cuttle_Kernel *k = cuttle_kernel(S, "fill");
  bool good = true;
  for (int64_t n = 1; n <= 200; n++) {
    cuttle_Memory m = vector(x + n % 3, &n, CUTTLE_F32);
    cuttle_Arg args[] = {cuttle_memory(&m), cuttle_float((double)n)};
    cuttle_Launch o = threads(256);
    good = good && cuttle_launch_with(S, k, &o, 2, args) == CUTTLE_OK && x[n % 3] == (float)n;
    good = good && cuttle_launch_with(S, k, &o, 1, args) == CUTTLE_ERROR;
    good = good && cuttle_launch_with(S, k, &o, 2, args) == CUTTLE_OK;
  }
  OK(good, "200 shapes and failures between: %s", cuttle_error(S));
  cuttle_Kernel *a = cuttle_kernel(S, "axpy");
  for (int i = 0; i < 1000; i++) {
    good = good && axpy(S, a, 1, x, y, 8) == CUTTLE_OK;
  }
  OK(good, "1000 launches alike");
}

/* {====== Memory that runs out at each point of a launch ====== */

/* Launches with shapes that no launch had before, with an allocation that fails later and later. */
static void test_no_memory(void) {
  Heap heap = {0};
  cuttle_Options o = {.size = sizeof o,
                      .device = "cpu",
                      .no_environment = 1,
                      .alloc = heap_alloc,
                      .alloc_ud = &heap};
  cuttle_State *S = cuttle_open(&o);
  is_ok(S, cuttle_dostring(S, script, "@lent.lua"), "a state that counts its memory");
  cuttle_Kernel *k = cuttle_kernel(S, "fill");
  float x[64];
  int n_failed = 0, n_other = 0;
  for (int64_t n = 1; n <= 60; n++) {
    cuttle_Memory m = vector(x, &n, CUTTLE_F32);
    cuttle_Arg args[] = {cuttle_memory(&m), cuttle_float((double)n)};
    cuttle_Launch l = threads(64);
    atomic_store(&heap.fail_at, atomic_load(&heap.n_calls) + n);
    cuttle_Status status = cuttle_launch_with(S, k, &l, 2, args);
    atomic_store(&heap.fail_at, 0);
    n_failed += status == CUTTLE_NOMEM;
    n_other += status != CUTTLE_NOMEM && status != CUTTLE_OK;
    n_other += cuttle_launch_with(S, k, &l, 2, args) != CUTTLE_OK || x[n - 1] != (float)n;
  }
  OK(n_failed > 0 && n_other == 0, "%d launches without memory, %d others that failed", n_failed,
     n_other);
  cuttle_close(S);
  IS_INT(heap.bytes, 0, "closing frees everything");
}

int main(void) {
  cuttle_State *S = open_cpu();
  is_ok(S, cuttle_dostring(S, script, "@lent.lua"), "the script");
  test_again(S);
  test_lengths(S);
  test_many_kinds(S);
  test_kept(S);
  test_layouts(S);
  test_types(S);
  test_numbers(S);
  test_constants(S);
  test_nil(S);
  test_read_only(S);
  test_read_only_tensor(S);
  test_by_turns(S);
  test_written(S);
  test_empty_grids(S);
  test_options(S);
  test_many(S);
  test_lend(S);
  test_call(S);
  test_places(S);
  cuttle_close(S);
  test_no_memory();
  return done_testing();
}
