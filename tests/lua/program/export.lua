-- `cuttle export` and export(...): what they write is plain C that compiles without a warning, as C
-- and as C++; a machine without a GPU is told so; arguments that do not fit are refused by name,
-- mode and rule; the same script gives the same bytes; and a launch gives the driver what the
-- interpreter's launch gives it. The driver is played by tests/export/recorder.c.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local cuttle, here = arg[-1], arg[0]:match "^(.*)tests/lua/" or "./"
local f = dofile "tests/support/folder.lua"
local folder, run, write, read = f.path, f.run, f.write, f.read
assert(os.execute(("mkdir -p '%s/lib' '%s/other'"):format(folder, folder)))
cuttle, here = f.absolute(cuttle), f.absolute(here)

local cpu <const> = "CUTTLE_DEVICE=cpu CUTTLE_LIBCUDA=/nowhere "
local function export(arguments, at)
  return run(("%s cd '%s' && %s '%s' export %s"):format("", at or ".", cpu, cuttle, arguments))
end

-- {====== Scripts ======

write("saxpy.lua", [[
local saxpy = kernel("saxpy", function(a, x, y)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  if i < size(x) then y[i] = a * x[i] + y[i] end
end)
for _, n in ipairs{1024, 1000} do
  local x, y = rand(f32, n), rand(f32, n)
  saxpy{grid = cdiv(n, 256), block = 256}(2.0, x, y)
end
local u, v = rand(f64, 77), rand(f64, 77)
saxpy{grid = 1, block = 256}(f32(0.5), u, v)
]])

write("boxes.lua", [[
local double = kernel("double", function(x, y)
  local sx = shared(f32, layout{32, 16})
  local full = mbarrier(1, 1)
  sync_threads()
  local gx = tile(tma_tensor(x), {32, 16}, {blockIdx.x, blockIdx.y})
  if threadIdx.x == 0 then
    full[0]:arrive_expect_tx(2048)
    tma_load(gx, sx, full[0])
  end
  full[0]:wait(0)
  local gy = tile(y, {32, 16}, {blockIdx.x, blockIdx.y})
  for i in range(threadIdx.x, 512, 128) do gy[i] = 2.0 * sx[i] end
end)
local x, y = rand(f32, {64, 48}), zeros(f32, {64, 48})
double{grid = {2, 3}, block = 128, cluster = {2, 1, 1}}(x, y)
]])

write("barrier.lua", [[
local k = kernel("turn", function(x, y, n, flag)
  assert(n > 2, "n is too small")
  x[blockIdx.x] = x[blockIdx.x] + n
  sync_grid()
  if flag then y[blockIdx.x] = x[(blockIdx.x + 1) % 4] end
end)
k{grid = 4, block = 32, cooperative = true}(rand(f32, 4), zeros(f32, 4), 7, true)
]])

write("product.lua", [[
local A, B = randn(bf16, row_major{128, 64}), randn(bf16, row_major{256, 64})
local C = zeros(bf16, row_major{128, 256})
matmul(A, B, C)
]])

write("scaled.lua", [[
local soft = kernel("soft", function(x, y, scale)
  local row = blockIdx.x
  local top = -1.0e30
  for i in range(size(x, 0)) do top = max(top, x[{i, row}]) end
  if threadIdx.x < size(x, 0) then
    y[{threadIdx.x, row}] = scale * exp(x[{threadIdx.x, row}] - top)
  end
end)
for _, t in ipairs{f32, f16} do soft{grid = 3, block = 64}(randn(t, {40, 3}), zeros(t, {40, 3}), 0.5) end
]])

write("layouts.lua", [[
local k = kernel("gather", function(x, y, l, n)
  for i in range(n) do y[i] = x[l(i)] end
end)
for _, l in ipairs{L"(4,8):(8,1)", L"(8,4):(4,1)"} do
  for _, size in ipairs{32, 33} do k{grid = 1, block = 1}(rand(f32, size), zeros(f32, 32), l, 32) end
end
]])

write("alone.lua", [[
local k = kernel("alone", function(x) x[0] = 1.0 end)
k{grid = 1, block = 1}(zeros(f32, {}))
]])

-- Lists of tensors: of columns of different lengths, in a record and as an argument.
write("lists.lua", [[
local k = kernel("axpys", function(a, o, ys, work)
  local w = work[blockIdx.x]
  local x, y = o.xs[w], ys[w]
  for j in range(size(x, 1)) do
    for i in range(threadIdx.x, size(x, 0), 32) do y[{i, j}] = a * x[{i, j}] + y[{i, j}] end
  end
end)
for _, sizes in ipairs{{5, 64, 33}, {16, 48}} do
  local o, ys, work = {xs = {}}, {}, {1, 1, 1, 1}
  for i, n in ipairs(sizes) do
    o.xs[i], ys[i], work[i] = rand(f32, {n, 2}), rand(f32, {n, 2}), #sizes + 1 - i
  end
  k{grid = #sizes, block = 32}(2.0, o, ys, from_table(i32, work))
end
]])

-- {====== Building ======

local compilers <const> = {
  { "gcc", "-std=c11" }, { "clang", "-std=c11" }, { "g++", "-std=c++17 -x c++" },
  { "clang++", "-std=c++17 -x c++" },
}
local flags <const> = "-Wall -Wextra -Wpedantic -Werror"
local link <const> = "-ldl -lpthread -lm"

local function has(compiler) return os.execute("command -v " .. compiler .. " > /dev/null 2>&1") end

local function build_plain(name)
  return run(("env -i PATH=\"$PATH\" cc -std=c11 %s.c %s_test.c -o test_%s %s"):format(name, name,
    name, link))
end

-- Builds the export's files with an empty environment: no include folder, no toolkit. Compilers tell
-- by their syntax alone what they warn of, so one makes the program; of the first export each does.
local function build(name, is_first)
  for _, row in ipairs(compilers) do
    if has(row[1]) then
      local ending = (is_first or row[1] == "gcc") and ("-o test_%s %s"):format(name, link)
        or "-fsyntax-only"
      local out, code = run(("env -i PATH=\"$PATH\" %s %s %s %s.c %s_test.c %s"):format(row[1],
        row[2], flags, name, name, ending))
      tap.ok(code == 0 and out == "", ("%s builds with %s %s"):format(name, row[1], row[2]), out)
    else
      tap.skip(name .. " builds with " .. row[1], "there is none")
    end
  end
  if not has "gcc" then build_plain(name) end
end

local out, code = export("--sm=90a --name=saxpy saxpy.lua")
if code ~= 0 and not read "saxpy.c" then
  tap.skip_all("nothing is exported here: " .. (out:match "[^\n]+" or ""))
end
tap.is(out, "./saxpy.h\n./saxpy.c\n./saxpy_test.c\n", "the command prints its files")

-- What a macro of C, a word of C++ or a header is called.
write("math.lua", [[
local k = kernel("errno", function(NULL, EOF, class, stdin, UINT_MAX, thread_local, NULL_)
  local i = threadIdx.x
  if i < size(NULL) then EOF[i] = NULL[i] * class + stdin + UINT_MAX + thread_local + NULL_ end
end)
k{grid = 1, block = 32}(rand(f32, 8), zeros(f32, 8), 1.0, 2, 3, 4, 5)
]])
export "--sm=90a math.lua"
tap.ok(read "errno_.h" and not read "errno.h", "no file hides a header of C")
export "--sm=90a --name=math math.lua"
tap.ok(read "math_.h" and not read "math.h", "by --name, too")

-- What an address is a multiple of: of as much as the kernel's accesses need, wherever examples lie.
write("aligned.lua", [[
local one = kernel("one", function(x, y)
  if threadIdx.x < size(x) then atomic_add(y, threadIdx.x, x[threadIdx.x]) end
end)
one{grid = 1, block = 128}(rand(f32, 77), zeros(f32, 77))
one{grid = 1, block = 128}(tile(rand(f32, 231), {77}, {1}), zeros(f32, 77))
local eight = kernel("eight", function(x, y)
  copy(tile(x, {8}, {threadIdx.x}), tile(y, {8}, {threadIdx.x}))
end)
eight{grid = 1, block = 32}(rand(f16, 256), zeros(f16, 256))
local pair = kernel("pair", function(x, y) y[threadIdx.x] = recast(x, f32)[threadIdx.x] end)
pair{grid = 1, block = 32}(rand(f16, 64), zeros(f32, 32))
]])
export "--sm=90a aligned.lua"
local header = read "aligned.h" or ""
local aligned = {}
for name, bytes in header:gmatch "(%w+): [^\n]-, (%d+) bytes aligned" do
  aligned[#aligned + 1] = name .. bytes
end
tap.is(table.concat(aligned, " "), "x4 y4 x16 y16 x4 y4", "bytes that addresses are multiples of")
tap.ok(not header:find "one_2", "an example that lies elsewhere is no other kernel")

for _, name in ipairs { "boxes", "barrier", "product", "layouts", "lists" } do
  out, code = export(("--sm=90a --name=%s %s.lua"):format(name, name))
  tap.ok(code == 0, name .. ".lua is exported", out)
end

if not has "cc" then
  tap.done()
end

local is_fake = true
local renamed = ""
for name, other in pairs { cuLaunchKernelEx = "launch", cuModuleLoadDataEx = "load",
  cuModuleGetFunction = "function", cuMemAlloc_v2 = "alloc", cuMemAllocHost_v2 = "alloc_host",
  cuMemAllocFromPoolAsync = "alloc_from_pool" } do
  renamed = ("%s -D%s=fake_%s"):format(renamed, name, other)
end
out, code = run(("cc -std=c11 -D_POSIX_C_SOURCE=200809L -shared -fPIC -I'%s' %s "
  .. "'%stests/c/fake_libcuda.c' '%stests/export/recorder.c' -o lib/libcuda.so.1"):format(here,
  renamed, here, here))
tap.ok(code == 0, "the recording driver builds", out)

for _, name in ipairs { "saxpy", "boxes", "barrier", "product", "lists" } do
  build(name, name == "saxpy")
  out, code = run(("env -i LD_LIBRARY_PATH=/nowhere ./test_%s"):format(name))
  is_fake = is_fake and (code == 77 and out == "1..0 # SKIP no device\n")
  tap.ok(code == 77 or has "nvidia-smi", name .. "_test says that there is no device", out)
end

-- {====== The same launches ======

-- What the driver was asked, by the interpreter and by the exported program.
build "errno_"
build_plain "layouts"
for _, name in ipairs { "saxpy", "boxes", "barrier", "product", "layouts", "lists" } do
  local inside = run(("rm -f inside; RECORD=inside CUTTLE_LIBCUDA=lib/libcuda.so.1 "
    .. "CUTTLE_DEVICE=cuda:0 '%s' %s.lua"):format(cuttle, name))
  local outside = run(("rm -f outside; CAPTURED=1 RECORD=outside LD_LIBRARY_PATH=lib ./test_%s")
    :format(name))
  local a, b = read "inside", read "outside"
  tap.ok(a and a == b and #a > 60, name .. ": the driver is asked the same", inside, outside, a, b)
end

-- Launches with other layouts are other functions, whatever else differs.
local layouts = read "layouts.h" or ""
for _, l in ipairs { "(4,8):(8,1)", "(8,4):(4,1)" } do
  local _, n = layouts:gsub(("l: %s, a constant"):format(l):gsub("%p", "%%%0"), "")
  tap.is(n, 2, l .. " is in a comment of each of its specialisations")
end
local found = {}
for entry in layouts:gmatch "layouts_status (layouts_[%w_]+_launch)%(" do
  found[#found + 1] = entry
end
tap.is(table.concat(found, " "), "layouts_gather_launch layouts_gather_2_launch",
  "a function for each layout")

-- {====== The same bytes ======

for _, name in ipairs { "saxpy", "product" } do
  local first = read(name .. ".c") .. read(name .. ".h") .. read(name .. "_test.c")
  export(("--sm=90a --name=%s ../%s.lua"):format(name, name), "other")
  local second = read("other/" .. name .. ".c") .. read("other/" .. name .. ".h")
    .. read("other/" .. name .. "_test.c")
  tap.ok(first == second, name .. " has the same bytes when it is exported elsewhere")
  tap.ok(not first:find(folder, 1, true), name .. " names no folder")
end

-- The driver reads PTX as a text of C.
local ptx = (read "saxpy.c" or ""):match "_ptx%[%d+%] = {\n(.-)\n};"
tap.ok(ptx and ptx:find ",0,$" and not ptx:find ",0,%s*%d", "PTX is a string that ends with 0", ptx)

-- {====== Arguments ======

write("refused.c", [[
#include "saxpy.h"
#include <stdio.h>
#include <string.h>

static float memory[8192];
static saxpy_error error;
static saxpy_args args;

static saxpy_tensor vector(void *data, int64_t n) {
  saxpy_tensor t;
  memset(&t, 0, sizeof t);
  t.data = data;
  t.dtype = SAXPY_F32;
  t.rank = 1;
  t.shape[0] = n;
  t.stride[0] = 1;
  return t;
}

static void reset(void) {
  args.a = 2.0f;
  args.x = vector(memory, 1024);
  args.y = vector(memory + 4096, 1024);
}

static void launch_null(void) {
  saxpy_dim3 grid = {4, 1, 1};
  saxpy_status status = saxpy_launch(NULL, &grid, NULL, &error);
  printf("%d %s\n", status, error.text);
}

static void launch_grid(unsigned x, unsigned y) {
  saxpy_dim3 grid = {x, y, 1};
  saxpy_status status = saxpy_launch(&args, &grid, NULL, &error);
  printf("%d %s\n", status, error.text);
  reset();
}

static void launch(void) { launch_grid(4, 1); }

int main(void) {
  reset();
  launch();
  args.y = vector(NULL, 0); /* libraries give what is empty any strides */
  args.y.stride[0] = 0;
  launch();
  args.y.dtype = SAXPY_BF16;
  launch();
  args.y.stride[0] = 2;
  launch();
  args.x.data = (char *)memory + 2;
  launch();
  args.x.shape[0] = 1003;
  launch();
  args.x.rank = 2;
  launch();
  args.x.data = NULL;
  launch();
  args.x = args.y;
  args.x.data = memory + 4096 + 4;
  launch();
  args.x.shape[0] = (int64_t)1 << 40;
  launch();
  launch_null();
  launch_grid(4, 65536);
  launch_grid(1u << 31, 1);
  return 0;
}
]])
out = run "cc -std=c11 -Wall -Wextra refused.c saxpy.c -o refused -ldl -lpthread && ./refused"
local no_device <const> =
  "2 saxpy: no device: libcuda.so.1: cannot open shared object file: No such file or directory"
local want <const> = {
  no_device,
  no_device,
  "1 saxpy: argument 3 (y): its elements are bf16; f32 was expected",
  "1 saxpy: argument 3 (y): the stride of mode 0 is 2; this kernel was exported for 1",
  "1 saxpy: argument 2 (x): its address 0x[%x]+ is not a multiple of 4 bytes, on which the kernel "
    .. "relies",
  "1 saxpy: argument 2 (x): the extent of mode 0 is 1003; a multiple of 8 was expected, as in the "
    .. "example (1000)",
  "1 saxpy: argument 2 (x): its rank is 2; 1 was expected",
  "1 saxpy: argument 2 (x): its address is NULL",
  "1 saxpy: argument 3 (y): it shares memory with argument 2 (x), and the kernel writes one "
    .. "of them; it was exported for tensors that do not",
  "1 saxpy: argument 2 (x): the extent of mode 0 is 1099511627776; 0 to 2146435070 was expected",
  "1 saxpy: the arguments are NULL",
  "1 saxpy: grid (4,65536,1); expected at most 65535 blocks in y and z, and less than 2^31 "
    .. "threads in x",
  "1 saxpy: grid (2147483648,1,1); expected at most 65535 blocks in y and z, and less than 2^31 "
    .. "threads in x",
}
local at = 0
for line in out:gmatch "[^\n]+" do
  at = at + 1
  if at > 2 or not has "nvidia-smi" then
    local pattern = (want[at] or ""):gsub("[%(%)%-%.]", "%%%0")
    tap.ok(line:find("^" .. pattern .. "$"), "refused: " .. (want[at] or "nothing more"), line)
  end
end
tap.is(at, #want, "as many as were launched")

-- A launch takes what there is no message against.
for _, name in ipairs { "saxpy", "boxes", "barrier", "scaled", "alone", "lists" } do
  export(("--sm=90a --name=it %s.lua"):format(name))
  out = run(("cc -std=c11 -Wall -Wextra %s -DEXPORTED='\"it.c\"' -I. '%stests/export/agree.c' "
    .. "-o agree %s && ./agree"):format(name == "lists" and "-DHAS_LISTS" or "", here, link))
  tap.is(out, "0 wrong, of both\n", name .. ": what is taken, and what is refused")
end

-- {====== Lists ======

write("table.c", [[
#include "lists.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int (*call)(void *, ...);
static void *library, *stream;
static lists_error error;
static lists_args args;
static lists_tensor xs[3], ys[3], work;
static float memory[6][256];
static int32_t order[4] = {3, 2, 1, 1};

static int (*find(const char *name))() {
  int (*f)();
  *(void **)&f = dlsym(library, name);
  return f;
}

static lists_tensor matrix(void *data, int64_t n) {
  lists_tensor t;
  memset(&t, 0, sizeof t);
  t.data = data;
  t.dtype = LISTS_F32;
  t.rank = 2;
  t.shape[0] = n;
  t.shape[1] = 2;
  t.stride[0] = 1;
  t.stride[1] = n;
  return t;
}

static void reset(void) {
  for (int i = 0; i < 3; i++) {
    xs[i] = matrix(memory[i], 10 + i);
    ys[i] = matrix(memory[3 + i], 10 + i);
  }
  args.a = 2.0f;
  args.o_xs.tensors = xs;
  args.ys.tensors = ys;
  args.o_xs.n = args.ys.n = 3;
  args.o_xs.keeps_table = args.ys.keeps_table = 0;
  args.work.data = order;
  args.work.dtype = LISTS_I32;
  args.work.rank = 1;
  args.work.shape[0] = 4;
  args.work.stride[0] = 1;
}

static void launch(int with_grid) {
  lists_dim3 grid = {3, 1, 1};
  lists_status status = lists_launch(&args, with_grid ? &grid : NULL, stream, &error);
  printf("%d%s%s\n", status, status == LISTS_OK ? "" : " ", error.text);
}

static void print_row(int i) {
  const int64_t *row = (const int64_t *)args.ys.table + 4 * i;
  printf("row %d %lld %lld\n", row[0] == (int64_t)(intptr_t)memory[3 + i], (long long)row[1],
         (long long)row[3]);
}

int main(void) {
  void *context = NULL, *graph = NULL;
  int device = 0;
  library = dlopen("libcuda.so.1", RTLD_NOW);
  int (*begin)(void *, int) = (int (*)(void *, int))find("cuStreamBeginCapture_v2");
  int (*end)(void *, void **) = (int (*)(void *, void **))find("cuStreamEndCapture");
  if (((int (*)(unsigned))find("cuInit"))(0) || ((int (*)(int *, int))find("cuDeviceGet"))(&device, 0) ||
      ((int (*)(void **, int))find("cuDevicePrimaryCtxRetain"))(&context, device) ||
      ((int (*)(void *))find("cuCtxSetCurrent"))(context) ||
      ((int (*)(void **, unsigned))find("cuStreamCreate"))(&stream, 0)) {
    return 1;
  }
  reset();
  launch(1);
  args.o_xs.table = calloc(3, LISTS_LIST_BYTES);
  args.ys.table = calloc(3, LISTS_LIST_BYTES);
  launch(1);
  print_row(0);
  print_row(2);
  memset(args.ys.table, 0, 3 * LISTS_LIST_BYTES);
  args.ys.keeps_table = 1;
  launch(1);
  print_row(0);
  reset();
  args.ys.n = 2;
  launch(1);
  print_row(1);
  launch(0);
  if (begin(stream, 2) != 0) return 1;
  launch(1);
  args.o_xs.keeps_table = args.ys.keeps_table = 1;
  launch(1);
  if (end(stream, &graph) != 0) return 1;
  args.ys.n = 0;
  launch(1);
  reset();
  args.o_xs.tensors = NULL;
  launch(1);
  reset();
  ys[2].dtype = LISTS_F16;
  launch(1);
  reset();
  xs[1].data = (char *)memory + 2;
  launch(1);
  reset();
  ys[1].stride[0] = 2;
  launch(1);
  return 0;
}
]])
-- The played driver's memory is the host's, so the program reads the tables.
out = run(("cc -std=gnu11 -w table.c lists.c -o table %s && RECORD=table.txt LD_LIBRARY_PATH=lib "
  .. "./table"):format(link))
local tables_want <const> = {
  "1 axpys: argument 2 (o.xs): its table is at (nil); memory of the GPU, aligned to 8 "
    .. "bytes, was expected",
  "0",
  "row 1 10 10",
  "row 1 12 12",
  "0",
  "row 0 0 0",
  "0",
  "row 1 11 11",
  "1 axpys: argument 2 (o.xs): the grid is NULL, which stands for that of the example, "
    .. "and the tensors of a list may be others; pass a grid",
  "1 axpys: argument 2 (o.xs): the list's table cannot be copied while the stream is "
    .. "captured; launch once before, then set keeps_table",
  "0",
  "1 axpys: argument 3 (ys): the list has 0 tensors; 1 to 536870911 were expected",
  "1 axpys: argument 2 (o.xs): the list has 3 tensors at NULL; 1 to 536870911 were expected",
  "1 axpys: argument 3 (ys): its elements are f16; f32 was expected; it is tensors[2] "
    .. "of the list",
  "1 axpys: argument 2 (o.xs): its address AT is not a multiple of 4 bytes, on which the "
    .. "kernel relies; it is tensors[1] of the list",
  "1 axpys: argument 3 (ys): the stride of mode 0 is 2; this kernel was exported for "
    .. "1; it is tensors[1] of the list",
}
tap.is(out:gsub("0x%x+", "AT"), table.concat(tables_want, "\n") .. "\n",
  "the tables of lists, and what is refused")
header = read "lists.h" or ""
tap.ok(header:find("ys: a list of f32 (n,2*n):(1,n), 4 bytes aligned", 1, true),
  "the header says what a list's tensors are", header)

-- {====== export(...) ======

write("call.lua", [[
device("cpu")
local k = kernel("twice", function(x) x[threadIdx.x] = x[threadIdx.x] * 2.0 end)
print(export(k, {{ones(f32, 32)}}, {grid = function(x) return size(x) // 32 end, block = 32,
  name = "t", sm = "80,90a"}))
print(export(k{grid = 1, block = 64}, {{ones(f32, 64)}, {ones(f64, 64)}}))
print(export(function(A, B, C)
  local T = matmul(A, B)
  matmul(T, B, C)
end, {{rand(f32, {32, 32}), rand(f32, {32, 32}), zeros(f32, {32, 32})}}, {name = "chain"}))
for _, f in ipairs {
  function() export(k, {{ones(f32, 32)}}) end,
  function() export(1, {{}}) end,
  function() export(tune(print, {n = {1}}), {{ones(f32, 32)}}) end,
  function() export(k{grid = 1, block = 32}, {}) end,
  function() export(k{grid = 1, block = 32}, {{ones(f32, 32)}}, {sm = "banana"}) end,
  function() export(k{grid = 1, block = 32}, {{ones(f32, 32)}}, {sm = "10000"}) end,
  function() export(k{grid = 1, block = 32}, {{ones(f32, 32)}}, {dri = "x"}) end,
  function() export(function(x) k{grid = 1, block = 32}(x) end, {{ones(f32, 32)}}) end,
  function()
    local l = kernel("l", function(xs) xs[1][0] = 0.0 end)
    export(function(x) l{grid = 1, block = 32}{x} end, {{ones(f32, 32)}}, {name = "f"})
  end,
} do print(select(2, pcall(f))) end
]])
out = run(cpu .. ("'%s' call.lua"):format(cuttle))
for _, line in ipairs {
  "./t.h\t./t.c\t./t_test.c", "./twice.h\t./twice.c\t./twice_test.c",
  "./chain.h\t./chain.c\t./chain_test.c",
  "export: a kernel needs grid and block; write export(k, examples, {grid = ..., block = ...})",
  "export: a number cannot be exported; a kernel, k{grid = ..., block = ...} or a function was "
    .. "expected",
  "export: a tuned function is exported in another one: function(x, y) tuned(x, y) end",
  "export: the examples are empty; a list of argument lists was expected, as in {{2.0, x, y}}",
  "export: sm: 'banana' is not a compute capability; 90 and 90a stand for 9.0",
  "export: sm: '10000' is not a compute capability; 90 and 90a stand for 9.0",
  "export: option 'dri' is unknown; did you mean 'dir'?",
  "export: a function needs a name; write export(f, examples, {name = \"f\"})",
  "export: l: argument 1 (xs) is a list of tensors, which launches in an exported function cannot "
    .. "have; export the kernel itself, or pass the tensors one by one",
} do
  tap.ok(out:find(line, 1, true), "export(...): " .. line, out)
end
build "twice"
build "chain"
tap.ok((read "chain.h" or ""):find("chain_workspace_bytes", 1, true), "a function has a workspace")

-- {====== Threads ======

out, code = run(("mkdir -p quiet && cc -std=c11 -shared -fPIC '%stests/export/quiet.c' "
  .. "-o quiet/libcuda.so.1"):format(here))
tap.ok(code == 0, "the quiet driver builds", out)
for _, sanitizer in ipairs { "", "-fsanitize=thread" } do
  out, code = run(("cc -std=c11 -D_POSIX_C_SOURCE=200809L -O1 -g %s -DEXPORTED='\"boxes.h\"' -I. "
    .. "'%stests/export/threads.c' boxes.c -o threads %s"):format(sanitizer, here, link))
  if code ~= 0 and sanitizer ~= "" then
    tap.skip("threads under " .. sanitizer, "the compiler has none")
  else
    tap.ok(code == 0, "the program with threads builds", out)
    out, code = run "LD_LIBRARY_PATH=quiet ./threads"
    tap.ok(code == 0 and out == "0 wrong\n", "threads launch at the same time " .. sanitizer, out)
  end
end

-- {====== The CPU twin ======

local libraries = cuttle:match "^(.*)/[^/]*$"
local core, headers = libraries .. "/libcuttle_core.a", libraries .. "/include/cuttle/ct.h"
local exists = shell.exists
if not exists(core) or not exists(headers)
  or os.execute(("nm '%s' 2>/dev/null | grep -q __asan_init"):format(core)) then
  tap.skip("the CPU twin", "there is no libcuttle_core.a, or a sanitized one")
else
  for _, name in ipairs { "scaled", "boxes", "barrier", "product", "lists" } do
    export(("--cpu --sm=90a --name=%s %s.lua"):format(name, name))
    local cc <const> = "cc -std=c11 %s -D%s_CPU -I'%s/include' %s.c %s_test.c -o cpu_%s '%s' %s"
    out, code = run(cc:format(flags, name:upper(), libraries, name, name, name, core,
      link))
    tap.ok(code == 0 and out == "", name .. " builds with its CPU twin", out)
    out, code = run("./cpu_" .. name)
    tap.ok(code == 0 and out:find ": the same bits" and not out:find "not ok",
      name .. ": the CPU twin gives the bits of the process", out)
  end
  build "scaled"

  -- Which bits a float sum has depends on the order of blocks, unless the launch promises otherwise.
  for _, promise in ipairs { "", ", deterministic = true" } do
    write("sums.lua", ([[
      local sums = kernel("sums", function(x, y) atomic_add(y, 0, x[blockIdx.x]) end)
      sums{grid = 64, block = 1%s}(rand(f32, 64), zeros(f32, 1))
    ]]):format(promise))
    export "--cpu --sm=90a --name=sums sums.lua"
    local text = read "sums_test.c"
    tap.is(text:find("STEPS = 0", 1, true) ~= nil, promise ~= "",
      "the twin's test takes any order of float sums" .. promise)
  end

  -- A launch in a file: with the data of the host, and as a program with a GPU writes it.
  write("capture.c", [[
#include "scaled.h"
#include <stdio.h>
#include <string.h>
int main(void) {
  static float x[120], y[120];
  scaled_args a;
  scaled_error error;
  memset(&a, 0, sizeof a);
  for (int i = 0; i < 120; i++) x[i] = (float)(i % 7);
  a.x = (scaled_tensor){x, SCALED_F32, 2, {40, 3}, {1, 40}};
  a.y = (scaled_tensor){y, SCALED_F32, 2, {40, 3}, {1, 40}};
  a.scale = 0.5f;
  int failed = scaled_capture(&a, NULL, 1, "host.ctk", &error) != SCALED_OK ||
               scaled_capture(&a, NULL, 0, "gpu.ctk", &error) != SCALED_OK ||
               scaled_launch_cpu(&a, NULL, &error) != SCALED_OK;
  int refused = scaled_capture(&a, NULL, 0, "/nowhere/at.ctk", &error) == SCALED_BAD_ARGUMENT &&
                scaled_capture(&a, NULL, 0, NULL, &error) == SCALED_BAD_ARGUMENT &&
                scaled_capture(NULL, NULL, 0, "gpu.ctk", &error) == SCALED_BAD_ARGUMENT &&
                scaled_launch_cpu(NULL, NULL, &error) == SCALED_BAD_ARGUMENT;
  printf("%d %d %.9g %.9g\n", failed, refused, (double)y[0], (double)y[119]);
  return 0;
}
]])
  write("replayed.lua", [[
local launch, args, info = replay "host.ctk"
launch()
print(("0 1 %.9g %.9g"):format(args[2][{0, 0}], args[2][{39, 2}]))
assert(info.why == "an exported kernel" and info.chunk == "scaled.lua")
]])
  out = run(("cc -std=c11 -DSCALED_CPU -I'%s/include' capture.c scaled.c -o capture '%s' %s && "
    .. "./capture"):format(libraries, core, link))
  tap.is(run(("'%s' --device=cpu replayed.lua"):format(cuttle)), out,
    "a launch of an exported kernel")
  out = run(("'%s' check gpu.ctk"):format(cuttle))
  tap.ok(out:find("no finding in 1 launch", 1, true), "without data", out)

  -- Strides of 0: few bytes have more elements than 32 bits count.
  write("spread.lua", [[
local k = kernel("spread", function(x, y)
  if threadIdx.x == 0 then y[0] = size(x) end
end)
local x = view(zeros(i32, 4), layout({2, 3}, {0, 0}))
k{grid = 1, block = 32}(x, zeros(i64, 2))
]])
  write("spread_out.c", [[
#include "spread.h"
#include <stdio.h>
#include <string.h>
int main(void) {
  static int x[4];
  static int64_t y[2];
  spread_args a;
  spread_error error;
  spread_dim3 grid = {1, 1, 1};
  memset(&a, 0, sizeof a);
  a.x = (spread_tensor){x, SPREAD_I32, 2, {4096, 4096}, {0, 0}};
  a.y = (spread_tensor){y, SPREAD_I64, 1, {2}, {1}};
  spread_status status = spread_launch_cpu(&a, &grid, &error);
  printf("%d %d\n", status, (int)y[0]);
  a.x.shape[0] = 262144;
  status = spread_launch_cpu(&a, &grid, &error);
  printf("%d %d\n", status, (int)y[0]);
  a.x.shape[0] = a.x.shape[1] = 65536;
  status = spread_launch_cpu(&a, &grid, &error);
  printf("%d %s\n", status, error.text);
  return 0;
}
]])
  export "--cpu --sm=90a spread.lua"
  out = run(("cc -std=c11 %s -DSPREAD_CPU -I'%s/include' spread_out.c spread.c -o spread_out '%s' "
    .. "%s && ./spread_out"):format(flags, libraries, core, link))
  tap.is(out, "0 16777216\n0 1073741824\n"
    .. "1 spread: argument 1 (x): it has more elements than the 2146435070 that this "
    .. "kernel can count; export it with an example of that size\n",
    "more elements than bytes")
end

-- A division that rounds up leads past the end of the memory: no further is read and written down.
write("rounded.lua", [[
local add = kernel("add", function(x, xs)
  if threadIdx.x == 0 then
    x[0] = x[0] + 1
    for i = 1, #xs do xs[i][0] = xs[i][0] + 1 end
  end
end)
local function rounded() return logical_divide(arange(f32, 10), 4) end
add{grid = 1, block = 32}(rounded(), {rounded(), rounded()})
]])
export("rounded.lua")
local sizes = {}
for bytes in (read "add_test.c" or ""):gmatch "add_example_1_%a+_%d%[(%d+)%]" do
  sizes[#sizes + 1] = bytes
end
tap.is(table.concat(sizes, " "), "40 40 40 40 40 40", "the memory of tensors that reach past it")

-- Elements that share bytes.
write("packed.lua", [[
kernel("k", function(x) x[0] = x[1] end){grid = 1, block = 1}(zeros(f4e2m1, 8))
]])
local refusal <const> = "packed.lua:1: export: two elements of f4e2m1 share a byte, which exported "
  .. "programs do not know; pass the bytes, and write recast(x, f4e2m1) in the kernel"
out = export "--sm=90a packed.lua"
tap.ok(out:find(refusal, 1, true), "elements of 4 bits are refused", out)

f.remove()
tap.done()
