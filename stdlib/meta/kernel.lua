---@meta _
-- Topic: kernels: functions that run once per thread, their memory and loops

--- A function that runs on a device: `k{grid =, block =}(...)` launches it.
--- The launch options are these. `grid` and `block` are integers or `{x, y, z}`. `smem` is the size
--- of dynamic shared memory in bytes. `stream` is the stream to launch in. `cluster` is how many
--- blocks run together (see cluster_rank); the grid must be a multiple of it. With `pdl = true`,
--- the launch may begin before the previous one has ended (see grid_dependency_wait). With
--- `cooperative = true`, all blocks run at the same time, so each may wait for any other, as in
--- sync_grid. If they do not all fit on the GPU, the launch is an error. `print_order` is
--- "thread", or "run" to print in the order in which the threads of a block run (see printf).
--- `deterministic = true` promises that the order of blocks and warps changes no bit of the results;
--- `check` then reports float sums that nothing orders. `check` is true or a table such as `{nan =
--- true, global = false}`: the launch runs on the CPU engine, and fails with a list of mistakes.
---
--- Arguments are tensors, numbers, booleans, lists of tensors (`{x, y}`) and tables that hold these
--- by name. Layouts, tuples such as `{128, 8}`, tilers, swizzles, element types, atoms, tiled
--- copies, tiled MMAs and strings are constants of the kernel. If `l` is a list in the kernel,
--- `l[i]` is one of its tensors, and `#l` is their number (see docs/kernels_memory.md, "Many
--- tensors").
---
---     > double = kernel("double", function(x)
---     >>   local i = blockIdx.x * blockDim.x + threadIdx.x
---     >>   if i < size(x) then x[i] = 2 * x[i] end
---     >> end)
---     > t = arange(f32, 6)
---     > double{grid = 2, block = 4}(t)
---     > t
---     tensor f32 6:1 on cpu
---         0    2    4    6    8   10
--- CuTe: __global__ functions. MoYe: @cuda.
---@class Kernel
---@operator call(table): Launch
local Kernel = {}

--- Makes a kernel from a function.
--- The first launch with arguments of a new kind traces the function. While tracing, the launch's
--- tensors and numbers are symbolic. Values that Lua already knows, such as captured numbers and
--- layouts, become constants of the kernel.
---
--- Options: `static_shapes` makes extents and strides constants. `contract = false` rounds
--- `a*b + c` twice. `min_blocks` is how many blocks must fit on a multiprocessor; like
--- __launch_bounds__, it limits the registers of a thread. `max_unroll`, by default 64, is how many
--- iterations of a loop are unrolled while tracing: a `for` with known bounds, or a `while` whose
--- condition is known. `nvrtc_options` is a list of strings.
---
--- `emission` is a table that changes how the kernel is written and compiled for a GPU, but not its
--- results. `registers`, 24 to 255, limits a thread's registers instead of the launch bounds.
--- `planned_registers` is the number that the compiler before ptxas plans for. `usage`, 0 to 10, by
--- default 5, is how freely ptxas uses registers to gain speed. `level`, 1 to 3, by default 3, is
--- its optimisation level. `unroll`, 1 to 16, is how many times the innermost loops are unrolled.
--- `order`, 1 to 16, is the order in which the kernel's tensors are declared. With `pin = true`,
--- integers that are computed before a loop are not computed again inside it. With
--- `cutlass = true`, the kernel's name ends with "_cutlass"; ptxas compiles such kernels by other
--- rules. Measure which of these options help (docs/kernels.md, "Variants of one kernel").
---
---     > k = kernel("add_one", function(x) x[threadIdx.x] = x[threadIdx.x] + 1 end)
---     > t = zeros(f32, 4)
---     > k{grid = 1, block = 4}(t)
---     > t
---     tensor f32 4:1 on cpu
---         1    1    1    1
--- CuTe: __global__. MoYe: @cuda threads= blocks=.
--- See: help"Kernel" about launches, help"Launch" about what a launch runs.
---@param name string letters, digits and _; may be left out
---@param fn function
---@param options? table
---@return Kernel
function kernel(name, fn, options) end

--- Binds a launch to its arguments, to make launching it again cheap.
---
---     > k = kernel("add_one", function(x) x[threadIdx.x] = x[threadIdx.x] + 1 end)
---     > t = zeros(f32, 4)
---     > again = k:prepare{grid = 1, block = 4}(t)
---     > again() again()
---     > t
---     tensor f32 4:1 on cpu
---         2    2    2    2
---@param config table the launch options
---@return fun(...): function # a function of the arguments that returns the launcher
function Kernel:prepare(config) end

--- Drops all traces: call it after changes that launches do not notice.
--- docs/kernels.md lists these changes.
---
---     > k = kernel("nothing", function(x) end)
---     > k:reset()
function Kernel:reset() end

--- A configured kernel, `k{...}`: call it to launch, or ask what it would run.
---@class Launch
---@operator call(any): nil
local Launch = {}

--- The CUDA C of a launch, with the lines of the script as comments.
---
---     > k = kernel("one", function(x) x[threadIdx.x] = 1 end)
---     > k{grid = 1, block = 4}:source(zeros(f32, 4)):match("__global__") ~= nil
---     true
---@param ... any the arguments of a launch
---@return string
function Launch:source(...) end

--- The IR as a string, with the branches decided while tracing.
--- A line like `static if true ; 12` means that the condition of the `if` in line 12 was true. The
--- kernel is traced again.
---
---     > k = kernel("nothing", function(x) end)
---     > type(k{grid = 1, block = 4}:ir(zeros(f32, 4)))
---     string
---@param ... any the arguments of a launch
---@return string
function Launch:ir(...) end

--- The PTX that NVRTC makes from the source; an error without NVRTC.
---@param ... any the arguments of a launch
---@return string
function Launch:ptx(...) end

--- The machine code that NVRTC makes from the source, as bytes.
--- It is the cubin that a launch would load, or the one for the GPU of `--sm`. Write it to a file
--- for `cuobjdump -sass` or `nvdisasm`. Without NVRTC, the call is an error.
---@param ... any the arguments of a launch
---@return string
function Launch:cubin(...) end

--- The machine code as text, below its script lines.
--- A line has the place of an instruction, the cycles that the assembler plans until the next one, w
--- if the instruction waits for the result of an earlier one, and its name. The hot loop is marked
--- with |. Operands need NVIDIA's `nvdisasm` on the PATH or in $CUDA_HOME/bin. Without NVRTC, the call
--- is an error.
--- See: `cuttle profile --sass script.lua`, which counts the hot loop by script lines.
---@param ... any the arguments of a launch
---@return string
function Launch:sass(...) end

--- The costs of a launch: memory, registers and the time of each step.
--- The result is a table with `shared_bytes`, `trace_ms`, `emit_ms`, `compile_ms` and `from_cache`.
--- On a CUDA device, it also has `registers`, `local_bytes` and `blocks_per_sm`. For a launch with
--- clusters, `active_clusters` is how many clusters the device runs at a time.
---
---     > k = kernel("tile", function(x) local s = shared(f32, 256) s[threadIdx.x] = x[threadIdx.x] end)
---     > k{grid = 1, block = 4}:info(zeros(f32, 4)).shared_bytes
---     1024
---@param ... any the arguments of a launch
---@return table
function Launch:info(...) end

--- Launches n times in a row from C, to measure launches without Lua's cost.
---
---     > k = kernel("add_one", function(x) x[threadIdx.x] = x[threadIdx.x] + 1 end)
---     > t = zeros(f32, 4)
---     > k{grid = 1, block = 4}:enqueue(10, t)
---     > t[0]
---     10.0
---@param n integer
---@param ... any the arguments of a launch
function Launch:enqueue(n, ...) end

--- Makes a number or boolean argument a constant of the kernel.
--- Captured numbers are constants already. If x is a table, all its numbers become constants.
--- Strings, element types and layouts are constants anyway, and are returned unchanged.
---
---     > k = kernel("tail", function(x, n) x[threadIdx.x] = n end)
---     > t = zeros(i32, 3)
---     > k{grid = 1, block = 3}(t, static(16))
---     > t, static(16)
---     tensor i32 3:1 on cpu
---        16   16   16 static(16)
--- CuTe: Int<16>, constant. MoYe: static, _16.
---@param value number|boolean|string|table|any
---@return any
function static(value) end

--- Makes some extents of a tensor argument constants of the kernel.
--- Pass the result to a launch instead of t. Other extents, and strides other than 0 and 1, remain
--- run-time values. Use it, for example, to give a fragment the size of one mode of an argument.
--- Each size has its own trace. A mode is a number, a name or a path. Without modes, all extents
--- and strides become constants, as with `static_shapes`.
---
---     > twice = kernel("twice", function(x)
---     >>   local row = fragment(f32, size(x, 1))
---     >>   copy(x(threadIdx.x, _), row)
---     >>   axpby(1, row, 1, row)
---     >>   copy(row, x(threadIdx.x, _))
---     >> end)
---     > t = arange(f32, {2, 3})
---     > twice{grid = 1, block = 2}(static_mode(t, 1))
---     > t
---     tensor f32 (2,3):(1,2) on cpu
---         0    4    8
---         2    6   10
--- CuTe: make_shape(m, Int<64>{}). MoYe: StaticInt in a layout.
--- See: help"static", help"dynamic".
---@param t Tensor a tensor on the host
---@param ... integer|string|integer[] modes
---@return Tensor
function static_mode(t, ...) end

--- Makes a known number a run-time value of the kernel.
--- A loop up to this value then runs in the kernel, and conditions on it are decided there. An
--- integer becomes an i32, or an i64 if necessary. Any other number has no type until it is
--- combined with a value that has one. On the host, the result is x itself.
---
---     > k = kernel("powers", function(x)
---     >>   local n, p = dynamic(size(x)), 1
---     >>   while p <= n do -- a loop of the kernel, whatever the size is
---     >>     x[p - 1] = p
---     >>     p = p * 2
---     >>   end
---     >> end, {static_shapes = true})
---     > t = zeros(i32, 8)
---     > k{grid = 1, block = 1}(t)
---     > t
---     tensor i32 8:1 on cpu
---         1    2    0    4    0    0    0    8
--- CuTe: none (an int instead of Int<N>). MoYe: none.
--- See: help"static", help"unroll".
---@param value number|boolean
---@return any
function dynamic(value) end

--- Runs the function f as plain Lua, even if a kernel calls it.
--- A kernel converts the functions that it calls and records what they do with run-time values. A
--- static function runs unchanged, at Lua's own speed. It runs once while the kernel is traced
--- (twice in the condition of a `while`), whatever conditions surround the call. It may do things
--- that kernels may not do, such as assign globals. Its arguments must be known while tracing. It
--- is an error if a run-time value or a tensor of the kernel is among the arguments, inside
--- tables that are arguments, or among the variables that f captures.
---
---     > primes = static_fn(function(n)
---     >>   local found = {}
---     >>   for i = 2, n do
---     >>     local is_prime = true
---     >>     for _, p in ipairs(found) do is_prime = is_prime and i % p ~= 0 end
---     >>     if is_prime then found[#found + 1] = i end
---     >>   end
---     >>   return found
---     >> end)
---     > k = kernel("k", function(x)
---     >>   for j, p in ipairs(primes(20)) do x[j - 1] = p end
---     >> end)
---     > t = zeros(i32, 8)
---     > k{grid = 1, block = 1}(t)
---     > t
---     tensor i32 8:1 on cpu
---         2    3    5    7   11   13   17   19
---@param f function
---@return function
function static_fn(f) end

--- Coordinates or extents of a launch along x, y and z, in a kernel.
---@class Index
---@field x integer
---@field y integer
---@field z integer
local Index = {}

--- The thread's position in its block, in a kernel.
--- `threadIdx.x`, `.y` and `.z` count from 0.
---
---     > k = kernel("numbers", function(x) x[threadIdx.x] = threadIdx.x end)
---     > t = zeros(i32, 4)
---     > k{grid = 1, block = 4}(t)
---     > t
---     tensor i32 4:1 on cpu
---         0    1    2    3
--- CuTe: threadIdx. MoYe: threadIdx(), which counts from 1.
---@type Index
threadIdx = nil

--- The block's position in the grid, in a kernel.
--- `blockIdx.x`, `.y` and `.z` count from 0.
---
---     > k = kernel("numbers", function(x) x[blockIdx.x] = blockIdx.x * 10 end)
---     > t = zeros(i32, 4)
---     > k{grid = 4, block = 1}(t)
---     > t
---     tensor i32 4:1 on cpu
---         0   10   20   30
--- CuTe: blockIdx. MoYe: blockIdx(), which counts from 1.
---@type Index
blockIdx = nil

--- How many threads a block has along x, y and z; constants of the kernel.
---
---     > k = kernel("numbers", function(x) x[blockIdx.x * blockDim.x + threadIdx.x] = blockDim.x end)
---     > t = zeros(i32, 4)
---     > k{grid = 2, block = 2}(t)
---     > t
---     tensor i32 4:1 on cpu
---         2    2    2    2
--- CuTe: blockDim. MoYe: blockDim().
---@type Index
blockDim = nil

--- How many blocks the grid has along x, y and z; in a kernel.
---
---     > k = kernel("numbers", function(x) x[blockIdx.x] = gridDim.x end)
---     > t = zeros(i32, 4)
---     > k{grid = 4, block = 1}(t)
---     > t
---     tensor i32 4:1 on cpu
---         4    4    4    4
--- CuTe: gridDim. MoYe: gridDim().
---@type Index
gridDim = nil

--- Memory that the threads of a block share, in a kernel.
--- The layout is static, and the contents are uninitialised. Write, call `sync_threads()`, then
--- read what others wrote. Without a layout, the result is the memory that the launch option
--- `smem = bytes` provides. It has one mode and is the same memory at each call, and its views may
--- have any run-time shape. A swizzled layout avoids bank conflicts in rows and columns. The
--- swizzle applies to the offset in memory; tiles and views keep it.
---
---     > k = kernel("reverse", function(x)
---     >>   local s = shared(x.dtype, 4)
---     >>   s[threadIdx.x] = x[threadIdx.x]
---     >>   sync_threads()
---     >>   x[threadIdx.x] = s[3 - threadIdx.x]
---     >> end)
---     > t = arange(i32, 4)
---     > k{grid = 1, block = 4}(t)
---     > t
---     tensor i32 4:1 on cpu
---         3    2    1    0
---     > k = kernel("reverse_any", function(x)
---     >>   local s = shared(x.dtype)
---     >>   s[threadIdx.x] = x[threadIdx.x]
---     >>   sync_threads()
---     >>   x[threadIdx.x] = s[size(s) - 1 - threadIdx.x]
---     >> end)
---     > k{grid = 1, block = 4, smem = 16}(t)
---     > t
---     tensor i32 4:1 on cpu
---         0    1    2    3
---     > k = kernel("swizzled", function(x)
---     >>   local s = shared(x.dtype, composition(swizzle(1, 0, 1), layout{2, 2}))
---     >>   s[threadIdx.x] = x[threadIdx.x]
---     >>   print(s)
---     >> end)
---     > k{grid = 1, block = 4}(t)
---     tensor s i32 Sw<1,0,1> o 0 o (2,2):(1,2) in shared memory
--- CuTe: make_tensor(make_smem_ptr(...), layout). MoYe: MoYeSharedArray.
---@param dtype DType
---@param layout? Shape
---@return Tensor
function shared(dtype, layout) end

--- A tensor in a thread's registers, in a kernel.
--- The layout and all coordinates are static, so a loop over a fragment needs static bounds. The
--- contents are uninitialised.
---
---     > k = kernel("squares", function(x)
---     >>   local r = fragment(x.dtype, 4)
---     >>   for i = 0, 3 do r[i] = i * i end
---     >>   copy(r, x)
---     >> end, {static_shapes = true})
---     > t = zeros(i32, 4)
---     > k{grid = 1, block = 1}(t)
---     > t
---     tensor i32 4:1 on cpu
---         0    1    4    9
--- CuTe: make_tensor<T>(layout). MoYe: MoYeArray{T}(undef, layout).
---@param dtype DType
---@param layout Shape
---@return Tensor
function fragment(dtype, layout) end

--- A thread's own array with run-time indices, in a kernel.
--- The array is in the GPU's local memory: each thread has its own elements, but an access costs as
--- much as an access to global memory that hits a cache. Use such arrays for stacks, heaps and
--- small histograms. If the indices are static, use `fragment`. The layout is static, and each
--- thread has at most 512 KB. The contents are uninitialised.
---
---     > k = kernel("digits", function(x)
---     >>   local h = local_array(i32, 3)
---     >>   clear(h)
---     >>   for i in range(size(x)) do h[x[i]] = h[x[i]] + 1 end
---     >>   for i in range(3) do x[i] = h[i] end
---     >> end)
---     > t = from_table(i32, {2, 0, 2, 2, 1})
---     > k{grid = 1, block = 1}(t)
---     > t
---     tensor i32 5:1 on cpu
---         1    1    3    2    1
--- CuTe: none. CUDA: T a[n]; of a thread. MoYe: none.
---@param dtype DType
---@param layout Shape
---@return Tensor
function local_array(dtype, layout) end

--- Turns a helper into one function of CUDA C, however often it is called.
--- A plain helper function is traced at each call, and its code is copied there. A device function
--- is traced once for each combination of argument types and of known numbers, strings and types.
--- It may return up to 16 values, read captured variables, and call other device functions. It may
--- call itself only with different known values. Tables of numbers are passed and returned field by
--- field, and keep their metatables. A device function takes no tensors or layouts, declares no
--- shared memory, and cannot call `assert` or `printf`. `{noinline = true}` forbids the compiler to
--- inline it, and `{name = "wave"}` sets its name in the CUDA C. On the CPU engine, or if a result
--- has no type yet, it is traced at each call like a plain helper. On the host, the result is f
--- itself.
---
---     > collatz = device_fn(function(n)
---     >>   local steps = 0
---     >>   while n ~= 1 do
---     >>     if n % 2 == 0 then n = n // 2 else n = 3 * n + 1 end
---     >>     steps = steps + 1
---     >>   end
---     >>   return steps
---     >> end, {name = "collatz"})
---     > k = kernel("steps", function(x) x[threadIdx.x] = collatz(threadIdx.x + 1) end)
---     > t = zeros(i32, 6)
---     > k{grid = 1, block = 6}(t)
---     > t
---     tensor i32 6:1 on cpu
---         0    1    7    2    5    8
---     > collatz(27)
---     111
--- CuTe: none. CUDA: __device__, __noinline__. MoYe: none.
---@param f function
---@param options? table `{name = text, noinline = boolean}`
---@return function
function device_fn(f, options) end

--- Constant memory, filled from a table of numbers, in a kernel.
--- Use it for coefficients, small filters and lookup tables. Each launch reads the table and, if
--- its contents have changed, compiles a kernel for the new contents. A GPU has 64 KiB for the
--- constants of a kernel. All lanes of a warp should read the same element, because the warp reads
--- different elements one after the other; `profile` counts these reads. Without a layout, the
--- result has the table's shape, as in from_table.
---
---     > weights = {0.25, 0.5, 0.25}
---     > k = kernel("smooth", function(x, y)
---     >>   local w, sum = constant(f32, weights), f32(0)
---     >>   for j in range(3) do sum = sum + w[j] * x[threadIdx.x + j] end
---     >>   y[threadIdx.x] = sum
---     >> end)
---     > y = zeros(f32, 2)
---     > k{grid = 1, block = 2}(from_table(f32, {0, 4, 8, 0}), y)
---     > y
---     tensor f32 2:1 on cpu
---         4    5
--- CuTe: none. CUDA: __constant__. MoYe: none.
---@param dtype DType
---@param data table
---@param layout? Shape
---@return Tensor
function constant(dtype, data, layout) end

--- A tensor at a given address in global memory, in a kernel.
--- Addresses come from `t.address` of a tensor on the host, or are computed from it, as for the
--- entries of pointer arrays or the pages of a pool. The address is that of index 0 of the layout,
--- which may contain run-time values. The address must be a multiple of the element's size. If you
--- know that it is a multiple of more bytes, pass `align`, which 16-byte copies need.
---
--- The CPU engine knows the tensors of the host, and reports an address outside all of them. It
--- also reports an access beyond the memory that contains the address. A GPU detects neither. The
--- address does not keep the memory alive.
---
---     > k = kernel("set", function(at) tensor_at(at[blockIdx.x], i32, 4)[threadIdx.x] = 7 end)
---     > x, y = zeros(i32, 4), zeros(i32, 4)
---     > k{grid = 2, block = 4}(from_table(u64, {x.address, y.address}))
---     > x[3], y[0]
---     7       7
--- CuTe: make_tensor(make_gmem_ptr(p), layout). MoYe: MoYeArray(p, layout).
---@param address integer
---@param dtype DType
---@param layout Shape
---@param options? table {align = bytes}: the address is a multiple of that many bytes, up to 32
---@return Tensor
function tensor_at(address, dtype, layout, options) end

--- A fragment with room for a tensor's elements, in a kernel.
--- The fragment is compact and has the tensor's shape.
---
---     > k = kernel("double", function(x)
---     >>   local mine = parallelize(x, layout(4), threadIdx.x)
---     >>   local r = fragment_like(mine)
---     >>   copy(mine, r)
---     >>   axpby(1, r, 1, r)
---     >>   copy(r, mine)
---     >> end, {static_shapes = true})
---     > t = arange(i32, 8)
---     > k{grid = 1, block = 4}(t)
---     > t
---     tensor i32 8:1 on cpu
---         0    2    4    6    8   10   12   14
--- CuTe: make_fragment_like, make_tensor_like. MoYe: make_fragment_like, similar.
---@param t Tensor a tensor whose shape is static
---@param dtype? DType the default is the type of t
---@return Tensor
function fragment_like(t, dtype) end

--- A loop of the kernel: `for i in range(start, stop, step)`.
--- The loop ends before stop. A single argument is stop, and start is then 0. With `{unroll = n}`
--- as the last argument, the compiler unrolls n iterations. A plain `for` with run-time bounds is
--- also a loop of the kernel. With static bounds, it is unrolled while tracing if it has at most 64
--- iterations. Outside kernels, `range(2, 5)` is the list `{2, 3, 4}`, for a space of `tune`.
---
---     > k = kernel("sum", function(x, y)
---     >>   local s = 0
---     >>   for i in range(size(x)) do s = s + x[i] end
---     >>   y[0] = s
---     >> end)
---     > x, y = arange(i32, 10), zeros(i32, 1)
---     > k{grid = 1, block = 1}(x, y)
---     > y[0]
---     45
--- CuTe: CUTE_NO_UNROLL. MoYe: @loopinfo.
---@param start integer
---@param stop? integer
---@param step? integer
---@param options? table
---@return fun(): integer
function range(start, stop, step, options) end

--- A loop of the kernel over the coordinates of a mode: `for k in axes(t, 2)`.
--- With `{unroll = n}` as the last argument, the compiler unrolls n iterations.
---
---     > k = kernel("rows", function(x, y)
---     >>   for j in axes(x, 1) do y[j] = x(0, j) + x(1, j) end
---     >> end)
---     > x, y = arange(i32, {2, 4}), zeros(i32, 4)
---     > k{grid = 1, block = 1}(x, y)
---     > y
---     tensor i32 4:1 on cpu
---         1    5    9   13
--- CuTe: a loop over size<I>. MoYe: axes.
---@param t Tensor|Layout
---@param mode integer
---@param options? table
---@return fun(): integer
function axes(t, mode, options) end

--- A loop that runs while tracing: `for i in unroll(start, stop, step)`.
--- The loop ends before stop. The bounds must be static; i is static too, so it may index
--- registers.
---
---     > k = kernel("powers", function(x)
---     >>   for i in unroll(0, 4) do x[i] = 1 << i end
---     >> end)
---     > t = zeros(i32, 4)
---     > k{grid = 1, block = 1}(t)
---     > t
---     tensor i32 4:1 on cpu
---         1    2    4    8
--- CuTe: CUTE_UNROLL. MoYe: @loopinfo unroll.
---@param start integer
---@param stop? integer
---@param step? integer
---@return fun(): integer
function unroll(start, stop, step) end

--- A tensor in tensor memory, where tcgen05 keeps sums.
--- A block has 128 lanes and 512 columns of 32 bits there. The shape is {128, columns} or {64,
--- columns}, perhaps with more modes: rows are lanes, and elements narrower than 32 bits share
--- words along a row. Scales (f8ue8m0, f8ue4m3) have 32 rows to a column. Another layout counts
--- elements down the lanes, then the columns. The block's first warp allocates a power of two of
--- columns, at least 32; put a barrier before the first use. Declare tensors at the kernel's top
--- level, the largest first, and give each back by tmem_dealloc. It needs sm_100a, 100f, 103a or 110a.
---
---     > k = kernel("k", function()
---     >>   local acc = tmem(f32, {128, 256})
---     >>   print(acc)
---     >>   sync_threads()
---     >>   tmem_dealloc(acc)
---     >> end)
---     > k{grid = 1, block = 128}()
---     tensor acc f32 (128,256):(1,128) in tensor memory
--- CuTe: TMEM::Allocator1Sm. PTX: tcgen05.alloc. MoYe: none.
--- See: tmem_dealloc, tmem_copy, tmem_layout.
---@param dtype Dtype of 8, 16 or 32 bits
---@param shape Shape|Layout
---@return Tensor
function tmem(dtype, shape) end

--- Gives a tensor in tensor memory back, in the block's first warp.
--- All threads may call it; the first warp must. Put a barrier before it, after the last use. A block
--- that ends without it leaves its columns to nobody; cuttle check reports that.
--- CuTe: TMEM::Allocator1Sm::free. PTX: tcgen05.dealloc. MoYe: none.
--- See: tmem.
---@param t Tensor made by tmem
function tmem_dealloc(t) end

--- The layout of a shape in tensor memory, as tmem has it.
--- Elements are counted down the 128 lanes of a column, then the columns.
---
---     > tmem_layout(f32, {128, 256})
---     (128,256):(1,128)
---     > tmem_layout(bf16, {64, 32})
---     ((16,4),(2,16)):((2,64),(1,256))
--- CuTe: tmem_frg_1sm. MoYe: none.
--- See: tmem.
---@param dtype Dtype of 8, 16 or 32 bits
---@param shape Shape {128, columns, ...} or {64, columns, ...}
---@return Layout
function tmem_layout(dtype, shape) end
