---@meta _
-- Topic: products: products of tiles by a whole block, in one line

--- The sums of products of tiles, shared by the threads of a block.
--- The functions accumulator and dot make one. A thread holds some elements of each of its rows;
--- other lanes and warps hold the rest of these rows.
---
---     > product = kernel("product", function(A, B, C)
---     >>   local sA, sB = shared_like(A), shared_like(B)
---     >>   block_copy(A, sA)
---     >>   block_copy(B, sB)
---     >>   sync_threads()
---     >>   local acc = dot(sA, sB)                           -- an accumulator
---     >>   acc:map(function(v, m, n) return where(n <= m, v, 0.0) end)
---     >>   acc:store(C)
---     >> end, {static_shapes = true})
---     > A, B, C = ones(f16, row_major{16, 16}), ones(f16, row_major{16, 16}), zeros(f32, {16, 16})
---     > product{grid = 1, block = 32}(A, B, C)
---     > C[{3, 3}], C[{3, 4}]
---     16.0    0.0
--- CuTe: none; a TiledMMA and its fragment C. MoYe: none.
--- See: accumulator, dot, row_reduce, explain, which shows the choices made.
---@class Accumulator
---@field sums Tensor the thread's sums: a fragment (V,M,N)
---@field mma TiledMMA the tiled MMA that multiplies
---@field thr ThrMMA the thread's view of it
---@field shape table the shape {M, N} of the tile
---@field n_rows integer the number of rows of a thread
---@field threads integer how many threads share the product
local Accumulator = {}

--- The coordinates m, n of the thread's element i.
--- CuTe: an element of partition_C(identity_tensor). MoYe: none.
---@param i integer below size(acc.sums)
---@return integer m
---@return integer n
function Accumulator:at(i) end

--- Sets all sums to 0.
--- CuTe: clear. MoYe: none.
function Accumulator:clear() end

--- Replaces each sum with f(sum, m, n): a scale, mask, activation or bias.
--- It returns the accumulator.
--- CuTe: none. MoYe: none.
---@param f function a function of the sum and its coordinates in the tile
---@return Accumulator
function Accumulator:map(f) end

--- Copies the sums to a tile (M,N) in memory, cast to the tile's type.
--- The tile may be guarded. Other threads see shared memory after the next sync_threads.
--- CuTe: copy(tCrC, tCgC). MoYe: none.
---@param t Tensor a tile of the shape {M, N}
function Accumulator:store(t) end

--- Copies a tile (M,N) to the sums, cast to the type of the sums.
--- CuTe: copy(tCgC, tCrC). MoYe: none.
---@param t Tensor a tile of the shape {M, N}
function Accumulator:load(t) end

--- Loads a tile (M,K) into registers, for dot.
--- Use it for an operand that several products share. With f, each element becomes f(element, m,
--- k), cast to the element's type; this can scale or mask an operand.
--- CuTe: copy to partition_fragment_A. MoYe: none.
---@param t Tensor a tile (M,K) in shared or global memory
---@param f? function
---@return Tensor
function Accumulator:read_A(t, f) end

--- Loads a tile (N,K) into registers, for dot.
--- With f, each element becomes f(element, n, k), cast to the element's type.
--- CuTe: copy to partition_fragment_B. MoYe: none.
---@param t Tensor a tile (N,K) in shared or global memory
---@param f? function
---@return Tensor
function Accumulator:read_B(t, f) end

--- The coordinate m of the thread's row r.
--- CuTe: none. MoYe: none.
---@param r integer below acc.n_rows
---@return integer
function Accumulator:row(r) end

--- A fragment with one value for each of the thread's rows.
--- `value` is a number, or a function of the row's coordinate m. It is cast to the type of the
--- sums.
--- CuTe: none. MoYe: none.
---@param value? number|function the default is 0
---@return Tensor
function Accumulator:new_rows(value) end

--- Copies one value per row to a tensor of M elements, cast to its type.
--- Only one of the threads that share a row writes its value.
--- CuTe: none. MoYe: none.
---@param rows Tensor a fragment made by row_reduce or new_rows
---@param t Tensor a tensor of M elements
function Accumulator:store_rows(rows, t) end

--- Makes an accumulator of zeros for products of tiles like A and B.
--- A is a tile (M,K) and B a tile (N,K); further modes, such as slots, are ignored. Extents must be
--- known while tracing. If A is another accumulator, its sums are the operand. The product uses the
--- widest atom that fits the types, the target and the extents, and the threads of the block share
--- the sums. If no atom fits, the product uses plain FMAs; `explain(acc)` shows why. All threads of
--- the block must reach the call.
---
--- Options: `atom` is the name of a warp's atom. `warps = {m, n}` is how the warps share rows and
--- columns. With `threads = n`, only the first n threads of the block share the product. With
--- `tf32 = true`, f32 tiles are multiplied as tf32. With `wgmma = true`, warp groups of sm_90a
--- multiply, and each dot has its own barrier. Threads that cannot take part in the tile are idle;
--- explain says how many.
---
---     > text = kernel("text", function(A, B)
---     >>   explain(accumulator(shared_like(A), shared_like(B)))
---     >> end, {static_shapes = true})
---     > text{grid = 1, block = 128}(zeros(f16, row_major{128, 64}), zeros(f16, row_major{64, 64}))
---     product       (M,N,K) = (128,64,64)
---     atom          SM80_16x8x16_F32F16F16F32_TN: the widest that fits
---     threads       128: 4 x 1 warps
---     A             SM75_U32x4_LDSM_N: 16 bytes lie together along K
---     B             SM75_U32x4_LDSM_N: 16 bytes lie together along K
---     sums          64 of f32, in 4 rows of a thread
--- CuTe: none; make_tiled_mma and partition_fragment_C. MoYe: none.
--- See: dot, Accumulator, shared_like.
---@param A Tensor|Accumulator (M,K)
---@param B Tensor (N,K)
---@param options? table atom, warps, threads, tf32, wgmma
---@return Accumulator
function accumulator(A, B, options) end

--- Adds the product of two tiles to an accumulator: acc += A B'.
--- A is a tile (M,K) and B a tile (N,K), in shared or global memory; for a V of (K,N), pass
--- select(V, 1, 0). A may also be an accumulator, whose sums are cast to B's type, and both may be
--- registers from acc:read_A and acc:read_B. Without an accumulator, dot makes a zeroed one. dot
--- has no barrier: call sync_threads after writing the tiles and before dot, and again before the
--- tiles are overwritten. It returns the accumulator.
---
---     > product = kernel("product", function(A, B, C)
---     >>   local gA, gB = tile(A, {32, 32}, {blockIdx.x, _}), tile(B, {32, 32}, {blockIdx.y, _})
---     >>   local sA, sB = shared_like(gA, 3), shared_like(gB, 3)
---     >>   local acc = accumulator(sA, sB)
---     >>   pipeline(size(gA, 2), {
---     >>     stages = 3,
---     >>     load = function(k, slot)
---     >>       block_copy(gA(_, _, k), sA(_, _, slot))
---     >>       block_copy(gB(_, _, k), sB(_, _, slot))
---     >>     end,
---     >>     compute = function(slot) dot(sA(_, _, slot), sB(_, _, slot), acc) end,
---     >>   })
---     >>   acc:store(tile(C, {32, 32}, {blockIdx.x, blockIdx.y}))
---     >> end)
---     > A, B, C = rand(f16, {64, 96}), rand(f16, {64, 96}), zeros(f32, {64, 64})
---     > product{grid = {2, 2}, block = 64}(A, B, C)
---     > allclose(C, reference.matmul(A, B))
---     true
--- CuTe: none; partition, retile, copy and gemm. MoYe: none.
--- See: accumulator, row_reduce, pipeline, matmul.
---@param A Tensor|Accumulator (M,K)
---@param B Tensor (N,K)
---@param acc? Accumulator
---@return Accumulator
function dot(A, B, acc) end

--- Combines the sums of each row into one value per row.
--- The result is a fragment with acc.n_rows values. `op` is "add", "mul", "min", "max", "and",
--- "or", "xor" or an associative and commutative function of two values. All threads that share a
--- row get the same bits, on both engines. If several warps share rows, the call contains barriers,
--- so the whole block must reach it.
---
---     > largest = kernel("largest", function(A, B, y)
---     >>   local S = dot(A, B)                   -- tiles of global memory
---     >>   S:store_rows(row_reduce(S, "max"), y)
---     >> end, {static_shapes = true})
---     > A, B, y = arange(f16, row_major{16, 16}), ones(f16, row_major{8, 16}), zeros(f32, 16)
---     > largest{grid = 1, block = 32}(A, B, y)
---     > y[0], y[15]
---     1920.0  2160.0
--- CuTe: none. MoYe: none.
--- See: row_broadcast, Accumulator, reduce.
---@param acc Accumulator
---@param op string|function
---@return Tensor
function row_reduce(acc, op) end

--- Replaces each sum with f(sum, value of its row).
--- The rows of two accumulators match if M and the number of warps along M are equal. A factor
--- computed from scores may then scale outputs. It returns the accumulator.
---
---     > softmax = kernel("softmax", function(A, B, C)
---     >>   local S = dot(A, B)
---     >>   row_broadcast(S, row_reduce(S, "max"), function(v, top) return exp(v - top) end)
---     >>   row_broadcast(S, row_reduce(S, "add"), function(v, sum) return v / sum end)
---     >>   S:store(C)
---     >> end, {static_shapes = true})
---     > A, B, C = ones(f16, row_major{16, 16}), ones(f16, row_major{8, 16}), zeros(f32, {16, 8})
---     > softmax{grid = 1, block = 32}(A, B, C)
---     > C[{3, 7}]
---     0.125
--- CuTe: none. MoYe: none.
--- See: row_reduce, Accumulator.
---@param acc Accumulator
---@param rows Tensor a fragment made by row_reduce or acc:new_rows
---@param f function a function of a sum and its row's value
---@return Accumulator
function row_broadcast(acc, rows, f) end

--- Shared memory for a tile of global memory.
--- The memory is contiguous along the same mode as the tile. It is swizzled so that ldmatrix,
--- wgmma and 16-byte copies have no bank conflicts. With `stages`, there is a third mode with
--- that many slots. Modes of the tile after the first two are ignored.
---
---     > k = kernel("k", function(A)
---     >>   print(shared_like(tile(A, {64, 32}, {0, _}), 3).layout)
---     >> end)
---     > k{grid = 1, block = 32}(zeros(f16, row_major{64, 64}))
---     Sw<2,3,3> o 0 o (64,32,3):(32,1,2048)
--- CuTe: tile_to_shape of GMMA::Layout_K_SW128_Atom and the like. MoYe: none.
--- See: block_copy, shared, gmma_layout, find_swizzle.
---@param t Tensor a tile of two modes whose extents are known while tracing
---@param stages? integer slots
---@param dtype? DType the default is the type of the tile
---@return Tensor
function shared_like(t, stages, dtype) end

--- Copies a tile with all threads of the block.
--- The accesses are as wide as both layouts allow. From global to shared memory, the copy is
--- asynchronous if the device supports it, as with `copy`. If the types differ, elements are cast.
--- A guarded source reads as 0 outside its bounds. block_copy has no barrier: call sync_threads
--- before other threads read the tile, or let pipeline do it.
---
---     > turn = kernel("turn", function(A, B)
---     >>   local s = shared_like(A)
---     >>   block_copy(A, s)
---     >>   sync_threads()
---     >>   block_copy(select(s, 1, 0), B)
---     >> end, {static_shapes = true})
---     > A, B = arange(i32, {4, 6}), zeros(i32, {6, 4})
---     > turn{grid = 1, block = 32}(A, B)
---     > B[{5, 3}] == A[{3, 5}]
---     true
--- CuTe: cooperative_copy. MoYe: none.
--- See: shared_like, copy, pipeline.
---@param src Tensor a tile of two modes
---@param dst Tensor a tile with the same extents
---@param options? table the options of copy, such as `cache`
function block_copy(src, dst, options) end
