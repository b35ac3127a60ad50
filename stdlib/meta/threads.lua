---@meta _
-- Topic: threads: shuffles, votes, reductions, atomic operations, messages from kernels

--- The value of the lane that is `distance` lanes below, in the same warp.
--- Lanes are the threads of a warp: thread i of the block (x fastest) is lane i % 32 of warp i //
--- 32. If the segment of `width` lanes has no such lane, a lane keeps its own value. All lanes of
--- the warp that have not ended must call shfl_up together; reading a lane that has ended returns
--- an arbitrary value. Run-time distances are taken modulo 32. Values may have any type; in a
--- table of numbers, each field is moved.
---
--- With `{mask = m}`, only the lanes of the mask take part; m is a u32, as from ballot. All of
--- these lanes must reach the call together, with the same mask, and no other lane may reach it.
--- Such a call may be under a run-time condition. A lane may read only from a lane of its mask.
---
---     > k = kernel("left", function(x)
---     >>   x[threadIdx.x] = shfl_up(threadIdx.x, 1, 4)
---     >> end)
---     > t = zeros(i32, 8)
---     > k{grid = 1, block = 8}(t)
---     > t
---     tensor i32 8:1 on cpu
---         0    0    1    2    4    4    5    6
--- CuTe: __shfl_up_sync. MoYe: shfl_up_sync.
---@param value number|table
---@param distance integer 0 to 31
---@param width? integer|table a power of two, by default 32; or `{mask = m, width = n}`
---@return number
function shfl_up(value, distance, width) end

--- The value of the lane that is `distance` lanes above; see shfl_up.
---
---     > k = kernel("right", function(x)
---     >>   x[threadIdx.x] = shfl_down(threadIdx.x, 1, 4)
---     >> end)
---     > t = zeros(i32, 8)
---     > k{grid = 1, block = 8}(t)
---     > t
---     tensor i32 8:1 on cpu
---         1    2    3    3    5    6    7    7
--- CuTe: __shfl_down_sync. MoYe: shfl_down_sync.
---@param value number
---@param distance integer 0 to 31
---@param width? integer|table a power of two, by default 32; or `{mask = m, width = n}`
---@return number
function shfl_down(value, distance, width) end

--- The value of the lane whose number is this lane's number XOR a mask.
--- The rules are the same as for shfl_up.
---
---     > k = kernel("swap", function(x)
---     >>   x[threadIdx.x] = shfl_xor(threadIdx.x, 1)
---     >> end)
---     > t = zeros(i32, 8)
---     > k{grid = 1, block = 8}(t)
---     > t
---     tensor i32 8:1 on cpu
---         1    0    3    2    5    4    7    6
--- CuTe: __shfl_xor_sync. MoYe: shfl_xor_sync.
---@param value number
---@param mask integer 0 to 31
---@param width? integer|table a power of two, by default 32; or `{mask = m, width = n}`
---@return number
function shfl_xor(value, mask, width) end

--- The value of a given lane of the segment, modulo the width; see shfl_up.
---
---     > k = kernel("first", function(x)
---     >>   x[threadIdx.x] = shfl_idx(threadIdx.x, 1, 4)
---     >> end)
---     > t = zeros(i32, 8)
---     > k{grid = 1, block = 8}(t)
---     > t
---     tensor i32 8:1 on cpu
---         1    1    1    1    5    5    5    5
--- CuTe: __shfl_sync. MoYe: shfl_sync.
---@param value number
---@param lane integer 0 to 31
---@param width? integer|table a power of two, by default 32; or `{mask = m, width = n}`
---@return number
function shfl_idx(value, lane, width) end

--- Whether a condition is true in any lane of the warp.
--- All lanes that have not ended must make the call together, and all get the same answer. With
--- `{mask = m}`, only the lanes of the mask take part; see shfl_up.
---
---     > k = kernel("some", function(x)
---     >>   x[threadIdx.x] = where(vote_any(threadIdx.x == 40), 1, 0)
---     >> end)
---     > t = zeros(i32, 64)
---     > k{grid = 1, block = 64}(t)
---     > t[0], t[63]
---     0       1
--- CuTe: __any_sync. MoYe: vote_any_sync.
---@param condition boolean
---@param options? table `{mask = m}`
---@return boolean
function vote_any(condition, options) end

--- Whether a condition is true in all lanes of the warp; see vote_any.
---
---     > k = kernel("each", function(x)
---     >>   x[threadIdx.x] = where(vote_all(threadIdx.x < 40), 1, 0)
---     >> end)
---     > t = zeros(i32, 64)
---     > k{grid = 1, block = 64}(t)
---     > t[0], t[63]
---     1       0
--- CuTe: __all_sync. MoYe: vote_all_sync.
---@param condition boolean
---@param options? table `{mask = m}`
---@return boolean
function vote_all(condition, options) end

--- The lanes of the warp in which a condition is true, one bit each.
--- Bit i of the result, a u32, belongs to lane i. The rules are the same as for vote_any.
---
---     > k = kernel("odd", function(x)
---     >>   x[threadIdx.x] = ballot(threadIdx.x % 2 == 1)
---     >> end)
---     > t = zeros(u32, 4)
---     > k{grid = 1, block = 4}(t)
---     > t
---     tensor u32 4:1 on cpu
---        10   10   10   10
--- CuTe: __ballot_sync. MoYe: vote_ballot_sync.
---@param condition boolean
---@param options? table `{mask = m}`
---@return integer # a u32
function ballot(condition, options) end

--- The lanes of the warp that have the same value, one bit each.
--- Values may have any type; their bits are compared. With `{mask = m}`, only the lanes of the mask
--- take part; see shfl_up.
---
---     > k = kernel("classes", function(x)
---     >>   x[threadIdx.x] = match_any(threadIdx.x % 3)
---     >> end)
---     > t = zeros(u32, 6)
---     > k{grid = 1, block = 6}(t)
---     > t
---     tensor u32 6:1 on cpu
---         9   18   36    9   18   36
--- CuTe: __match_any_sync. MoYe: none.
---@param value number
---@param options? table `{mask = m}`
---@return integer # a u32, including the calling lane
function match_any(value, options) end

--- Whether all lanes of the warp have the same value.
--- The first result is the mask of the lanes that take part, or 0 if their values differ; the
--- second is whether the values are equal. The rules are the same as for match_any.
---
---     > k = kernel("same", function(x, v)
---     >>   local lanes, same = match_all(v[threadIdx.x])
---     >>   if threadIdx.x == 0 then x[0] = where(same, lanes, 0) end
---     >> end)
---     > t = zeros(u32, 1)
---     > k{grid = 1, block = 8}(t, full(i32, 8, 5))
---     > t[0]
---     255
--- CuTe: __match_all_sync. MoYe: none.
---@param value number
---@param options? table `{mask = m}`
---@return integer # a u32: the mask, or 0
---@return boolean
function match_all(value, options) end

--- The lanes of the warp that reach this place together, one bit each.
--- The calling lane is one of them. On a GPU, the lanes of a warp need not run in step, so some
--- lanes for which the surrounding conditions are true may be missing. Use active_mask only if any
--- group of lanes will do. To find the lanes in which a condition is true, call ballot(condition)
--- before the `if`.
---
---     > k = kernel("count", function(n)
---     >>   if threadIdx.x % 3 == 0 then
---     >>     local here = active_mask()
---     >>     if threadIdx.x == ffs(here) - 1 then atomic_add(n, 0, popc(here)) end
---     >>   end
---     >> end)
---     > n = zeros(i32, 1)
---     > k{grid = 1, block = 32}(n)
---     > n[0]
---     11
--- CuTe: __activemask. MoYe: none.
---@return integer # a u32
function active_mask() end

--- Adds a value to an element atomically; returns the old value.
--- It works for f16, bf16, f32, f64 and integers of 32 or 64 bits, in shared and global memory. The
--- order of threads is not fixed, so the last bits of float sums may differ from run to run. For
--- f16 and bf16, the same instruction can add a second value to the next element in memory; both
--- old values are then returned. The first element must be known to have an even offset.
---
---     > k = kernel("k", function(t) atomic_add(t, threadIdx.x % 2, 1) end)
---     > t = zeros(i32, 2)
---     > k{grid = 4, block = 32}(t)
---     > t
---     tensor i32 2:1 on cpu
---        64   64
---     > two = kernel("two", function(t) atomic_add(t, threadIdx.x % 2 * 2, 1, 0.5) end)
---     > h = zeros(f16, 4)
---     > two{grid = 1, block = 32}(h)
---     > h
---     tensor f16 4:1 on cpu
---        16    8   16    8
---
--- The last argument of atomic operations may be a table of options. `scope` is "gpu", for threads
--- of this device, or "sys", which includes threads of other devices. `order` is "relaxed",
--- "acquire", "release" or "acq_rel". After an operation that acquires, the thread sees what
--- another thread wrote before the operation that released. For this, the scope of each operation
--- must include both threads.
--- CuTe: atomicAdd; with scope "sys": atomicAdd_system. MoYe: CUDA.atomic_add!.
---@param t Tensor in shared or global memory
---@param coord Coord
---@param value number
---@param next? number a value to add to the next element
---@param options? table scope: "gpu" (the default) or "sys"; order: "relaxed" (the default), ...
---@return number # the old value
---@return number # with two values: the old value of the next element
function atomic_add(t, coord, value, next, options) end

--- Replaces an element with the smaller of itself and a value.
--- The rules are the same as for atomic_add. If one of the two is a NaN, the result is the other.
---
---     > k = kernel("k", function(t) atomic_min(t, 1, threadIdx.x - 5) end)
---     > t = zeros(i32, 2)
---     > k{grid = 4, block = 32}(t)
---     > t
---     tensor i32 2:1 on cpu
---         0   -5
--- CuTe: atomicMin. MoYe: CUDA.atomic_min!.
---@param t Tensor in shared or global memory
---@param coord Coord
---@param value number
---@param options? table the options of atomic_add
---@return number # the old value
function atomic_min(t, coord, value, options) end

--- Replaces an element with the larger of itself and a value.
--- The rules are the same as for atomic_add. If one of the two is a NaN, the result is the other.
---
---     > k = kernel("k", function(t) atomic_max(t, 1, threadIdx.x) end)
---     > t = zeros(i32, 2)
---     > k{grid = 4, block = 32}(t)
---     > t
---     tensor i32 2:1 on cpu
---         0   31
--- CuTe: atomicMax. MoYe: CUDA.atomic_max!.
---@param t Tensor in shared or global memory
---@param coord Coord
---@param value number
---@param options? table the options of atomic_add
---@return number # the old value
function atomic_max(t, coord, value, options) end

--- Replaces an element with the bitwise AND of itself and a value.
--- It works only for integers. The rules are the same as for atomic_add.
---
---     > k = kernel("k", function(t) atomic_and(t, 0, ~threadIdx.x) end)
---     > t = full(i32, 2, 255)
---     > k{grid = 4, block = 32}(t)
---     > t
---     tensor i32 2:1 on cpu
---       224  255
--- CuTe: atomicAnd. MoYe: CUDA.atomic_and!.
---@param t Tensor in shared or global memory
---@param coord Coord
---@param value number
---@param options? table the options of atomic_add
---@return number # the old value
function atomic_and(t, coord, value, options) end

--- Replaces an element with the bitwise OR of itself and a value.
--- It works only for integers. The rules are the same as for atomic_add.
---
---     > k = kernel("k", function(t) atomic_or(t, 0, 1 << blockIdx.x) end)
---     > t = zeros(i32, 2)
---     > k{grid = 4, block = 32}(t)
---     > t
---     tensor i32 2:1 on cpu
---        15    0
--- CuTe: atomicOr. MoYe: CUDA.atomic_or!.
---@param t Tensor in shared or global memory
---@param coord Coord
---@param value number
---@param options? table the options of atomic_add
---@return number # the old value
function atomic_or(t, coord, value, options) end

--- Replaces an element with the exclusive OR of itself and a value.
--- It works only for integers. The rules are the same as for atomic_add.
---
---     > k = kernel("k", function(t) atomic_xor(t, 0, threadIdx.x) end)
---     > t = full(i32, 2, 7)
---     > k{grid = 4, block = 32}(t)
---     > t
---     tensor i32 2:1 on cpu
---         7    7
--- CuTe: atomicXor. MoYe: CUDA.atomic_xor!.
---@param t Tensor in shared or global memory
---@param coord Coord
---@param value number
---@param options? table the options of atomic_add
---@return number # the old value
function atomic_xor(t, coord, value, options) end

--- Replaces an element with a value and returns the old value; see atomic_add.
---
---     > k = kernel("k", function(t) atomic_exch(t, 0, 9) end)
---     > t = zeros(i32, 2)
---     > k{grid = 4, block = 32}(t)
---     > t
---     tensor i32 2:1 on cpu
---         9    0
--- CuTe: atomicExch. MoYe: CUDA.atomic_xchg!.
---@param t Tensor in shared or global memory
---@param coord Coord
---@param value number
---@param options? table the options of atomic_add
---@return number # the old value
function atomic_exch(t, coord, value, options) end

--- Replaces an element if it equals a given value; returns the old value.
--- If the element does not equal `compare` bit for bit, it does not change. The rules are the same
--- as for atomic_add. Lanes of a warp run in step, so a lane must not wait for a lock that another
--- lane of its warp holds.
---
---     > k = kernel("k", function(t) atomic_cas(t, 0, 0, 9) atomic_cas(t, 1, 5, 9) end)
---     > t = zeros(i32, 2)
---     > k{grid = 4, block = 32}(t)
---     > t
---     tensor i32 2:1 on cpu
---         9    0
--- CuTe: atomicCAS. MoYe: CUDA.atomic_cas!.
---@param t Tensor in shared or global memory
---@param coord Coord
---@param compare number
---@param value number
---@param options? table the options of atomic_add
---@return number # the old value
function atomic_cas(t, coord, compare, value, options) end

--- Reads an element that other threads may be writing.
--- Afterwards, this thread sees everything that the writer wrote before its atomic_store or fence.
--- Use it in a loop that waits for a flag, because the compiler may perform a plain read only once.
--- On the CPU engine, a wait that nothing can end is an error that names the loop.
---
---     > k = kernel("k", function(t) t[1] = atomic_load(t, 0) end)
---     > t = ones(i32, 2)
---     > k{grid = 4, block = 32}(t)
---     > t
---     tensor i32 2:1 on cpu
---         1    1
---
--- `{scope = "sys"}` also waits for flags that other devices write. `{order = "relaxed"}` orders
--- nothing, so the loop must be followed by a fence.
--- CuTe: ld.acquire.gpu, ld.acquire.sys. MoYe: none.
---@param t Tensor in shared or global memory
---@param coord Coord
---@param options? table scope: "gpu" or "sys"; order: "acquire" or "relaxed"
---@return number # the old value
function atomic_load(t, coord, options) end

--- Writes an element that other threads may be reading with atomic_load.
--- Threads that see this value also see everything that this thread wrote earlier.
---
---     > k = kernel("k", function(t) atomic_store(t, 1, 3) end)
---     > t = zeros(i32, 2)
---     > k{grid = 4, block = 32}(t)
---     > t
---     tensor i32 2:1 on cpu
---         0    3
---
--- `{scope = "sys"}` includes threads of other devices. `{order = "relaxed"}` orders nothing, so a
--- fence must come before the store.
--- CuTe: st.release.gpu, st.release.sys. MoYe: none.
---@param t Tensor in shared or global memory
---@param coord Coord
---@param value number
---@param options? table scope: "gpu" or "sys"; order: "release" or "relaxed"
function atomic_store(t, coord, value, options) end

--- Orders this thread's writes to memory, for all threads of the device.
--- No thread sees a write from after the fence without also seeing the writes from before it. A
--- fence does not wait for other threads.
---
---     > k = kernel("publish", function(t)
---     >>   t[0] = 5
---     >>   fence()
---     >>   atomic_store(t, 1, 1)
---     >> end)
---     > t = zeros(i32, 2)
---     > k{grid = 1, block = 1}(t)
---     > t
---     tensor i32 2:1 on cpu
---         5    1
---
--- `fence{scope = "sys"}` orders the writes for threads of other devices too. With
--- `order = "acq_rel"`, the fence only acquires and releases, which is faster than the default
--- "seq_cst".
--- CuTe: __threadfence, __threadfence_system, fence.acq_rel. MoYe: CUDA.threadfence.
--- See: sync_threads, which orders memory within a block.
---@param options? table scope: "gpu" or "sys"; order: "seq_cst" or "acq_rel"
function fence(options) end

--- An i64 counter that grows with time.
--- It counts cycles of the multiprocessor or, on the CPU engine, nanoseconds.
---
---     > k = kernel("time", function(t)
---     >>   local before = clock()
---     >>   sync_threads()
---     >>   t[0] = clock() - before
---     >> end)
---     > t = zeros(i64, 1)
---     > k{grid = 1, block = 1}(t)
---     > t[0] >= 0
---     true
--- CuTe: clock64. MoYe: CUDA.clock.
---@return integer
function clock() end

--- Marks a moment in a kernel with a name, which `timeline` shows.
--- On the CPU engine, `timeline` shows when each warp reaches the mark, according to its model of
--- time. With `device = true`, a GPU records the time, warp by warp. Outside `timeline`, marks do
--- not exist: the CUDA C is the same without them. The name has 1 to 40 characters. A GPU does not
--- record marks in functions that are not inlined.
---
---     > k = kernel("meet", function()
---     >>   mark("begin")
---     >>   sync_threads()
---     >>   mark("met")
---     >> end)
---     > t = timeline(k:prepare{grid = 1, block = 64}())
---     > t.rows[1].marks[2].name, t.rows[1].marks[2].at
---     met     21
--- CuTe: none. MoYe: none.
---@param name string
function mark(name) end

--- Prints from a thread of a kernel, with Lua's formats.
--- `%d %i %u %x %X %o %c` print integers of all types, and `%f %e %g %a` print numbers. `%s` prints
--- run-time booleans and anything known while tracing. The output appears when the launch has ended
--- (on a GPU, at the next wait), ordered by block and thread. The launch option
--- `print_order = "run"` keeps the order in which the threads of a block printed. Each stream keeps
--- 1 MiB of output; if there is more, a line says how much was dropped.
---
--- `assert(condition, text)` stops a thread whose run-time condition is false. The launch then
--- fails (on a GPU, at the next wait) with an error that names the line, the thread and the block.
--- `error(text)` under a run-time condition does the same.
---
---     > k = kernel("greet", function(n)
---     >>   printf("thread %d of %d\n", threadIdx.x, n)
---     >> end)
--- CuTe: printf. MoYe: @cuprintf.
---@param format string
---@param ... any
function printf(format, ...) end

--- Combines the values of a warp's lanes with an operation.
--- All lanes get the result. The operation is "add", "mul", "min", "max", "and", "or", "xor", or a
--- function of two values, which must be associative and commutative. Each segment of `width` lanes
--- is combined by halves: first, lane i with the lane that is `width` / 2 away. All threads of
--- the warp must make the call together.
---
--- The value may be a table of numbers, such as `{value = v, index = i}`, with a function of two
--- such tables that returns a third. That function need only be associative: the lanes are
--- combined in their order, neighbours first. Keys and types must stay the same.
---
--- With `{mask = m}`, the lanes of the mask are combined, in order; shfl_up has the rules for
--- masks. In this case, too, a function need only be associative. From sm_80 on, every operation
--- except "mul" is then one instruction for i32 and u32.
---
---     > k = kernel("sums", function(x) x[threadIdx.x] = warp_reduce(threadIdx.x, "add", 4) end)
---     > t = zeros(i32, 8)
---     > k{grid = 1, block = 8}(t)
---     > t
---     tensor i32 8:1 on cpu
---         6    6    6    6   22   22   22   22
--- CuTe: __reduce_add_sync, __reduce_min_sync, __reduce_max_sync. MoYe: CUDA.reduce_warp.
---@param value number|table
---@param op string|function
---@param width? integer|table a power of two, by default 32; or `{mask = m}`
---@return number|table
function warp_reduce(value, op, width) end

--- Combines the values of a block's threads with an operation.
--- All threads get the result. block_reduce combines the lanes like warp_reduce, and then the warps
--- through shared memory. It is also a barrier. Tables are combined in the order of the threads.
---
---     > k = kernel("largest", function(x, y)
---     >>   local all = block_reduce(x[threadIdx.x], "max")
---     >>   if threadIdx.x == 0 then y[0] = all end
---     >> end)
---     > y = zeros(i32, 1)
---     > k{grid = 1, block = 100}(arange(i32, 100), y)
---     > y[0]
---     99
--- CuTe: none. MoYe: CUDA.reduce_block.
---@param value number|table
---@param op string|function
---@return number|table
function block_reduce(value, op) end

--- For each lane, combines the values of the warp's lanes up to this one.
--- The operations are those of warp_reduce; a function need only be associative. With
--- `exclusive = true`, the result covers only the lanes before this one. The first lane then gets
--- `init`, which is required for functions and for minima and maxima of integers. With `mask`, the
--- scan covers only the lanes of the mask; see warp_reduce. With `reverse = true`, the scan begins at
--- the last lane: a function gets the values of later lanes first.
---
---     > k = kernel("sums", function(x) x[threadIdx.x] = warp_scan(threadIdx.x, "add") end)
---     > t = zeros(i32, 8)
---     > k{grid = 1, block = 8}(t)
---     > t
---     tensor i32 8:1 on cpu
---         0    1    3    6   10   15   21   28
--- CuTe: none. MoYe: none.
---@param value number|table
---@param op string|function
---@param options? table `{exclusive = true, init = value, mask = m, reverse = true}`
---@return number|table
function warp_scan(value, op, options) end

--- Combines the values of a block up to each thread; also returns the total.
--- It works like warp_scan, and is also a barrier.
---
---     > k = kernel("places", function(x, n)
---     >>   local i = threadIdx.x
---     >>   local place, total = block_scan(where(i % 3 == 0, 1, 0), "add", {exclusive = true})
---     >>   if i % 3 == 0 then x[place] = i end
---     >>   if i == 0 then n[0] = total end
---     >> end)
---     > t, n = zeros(i32, 6), zeros(i32, 1)
---     > k{grid = 1, block = 12}(t, n)
---     > n[0], t
---     4       tensor i32 6:1 on cpu
---         0    3    6    9    0    0
--- CuTe: none. MoYe: none.
---@param value number|table
---@param op string|function
---@param options? table `{exclusive = true, init = value, reverse = true}`
---@return number|table scan
---@return number|table all
function block_scan(value, op, options) end

--- Combines the elements of a tensor, in order, with an operation.
--- The operations are those of warp_reduce; a function need not be associative. `init`, if given,
--- comes first. Outside kernels, the tensor must be on the host.
---
---     > reduce(arange(f32, 5), "add"), reduce(arange(f32, 5), "max", 10.0)
---     10.0    10.0
--- CuTe: none. MoYe: sum.
---@param t Tensor
---@param op string|function
---@param init? number
---@return number
function reduce(t, op, init) end

--- Sets the elements of a tensor to a function of the elements of others.
--- All tensors must have the same size. `transform(t, f)` means `transform(t, t, f)`. In a kernel,
--- each thread that calls it processes all elements. Outside kernels, the tensors must be on the
--- host.
---
---     > x, y = arange(f32, 4), zeros(f32, 4)
---     > transform(x, y, function(v) return v * v end)
---     > transform(x, y, y, function(a, b) return b - a end)
---     > y
---     tensor f32 4:1 on cpu
---         0    0    2    6
--- CuTe: transform. MoYe: map!.
---@param a Tensor the source; also the destination if it is the only tensor
---@param ... Tensor|function more sources, the destination, the function
function transform(a, ...) end
