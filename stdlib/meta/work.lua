---@meta _
-- Topic: work: partitions, copies, products, barriers

--- A tile of a tensor: cuts it by a tiler and keeps the tile at a coordinate.
--- The tile's modes come first, then those of the rest against `_`. A projection picks entries of
--- tiler and coordinate: 1 keeps one, `_` drops it. Of a tensor, a tile that does not divide
--- an extent is an error without guard. Of a layout: the tile's layout, which runs over the end of such
--- an extent, and the index where it begins.
---
---     > t = arange(i32, {4, 6})
---     > tile(t, {2, 3}, {1, 1})
---     tensor i32 (2,3):(1,4) on cpu
---        14   18   22
---        15   19   23
---     > tile(t, {2, 3}, {0, _}).layout
---     (2,3,2):(1,4,12)
---     > tile(t, {2, 9, 3}, {1, 5, 1}, {1, _, 1}).layout
---     (2,3):(1,4)
---     > tile("(4,6)", {2, 3}, {1, 1})
---     (2,3):(1,4)     14
--- CuTe: local_tile. MoYe: @tile, local_tile.
--- See: zipped_divide, parallelize.
---@param t Tensor|Layout|string
---@param tiler Tiler the shape of a tile
---@param coord Coord which tile, as `{blockIdx.x, _}`
---@param proj? table
---@return Tensor
function tile(t, tiler, coord, proj) end

--- A thread's part of a tensor: its element of each tile.
--- The tiles have the shape of the thread layout. The thread layout says where thread i stands in
--- the tile. A projection picks modes of the thread layout: 1 keeps one, `_` drops it. In a kernel
--- the layout has as many threads as the block; one that does not divide the tensor is an error
--- without guard. Of a layout: the part's layout, and the index where it begins.
---
---     > t = arange(i32, {4, 6})
---     > parallelize(t, layout{2, 3}, 1)
---     tensor i32 (2,2):(2,12) on cpu
---         1   13
---         3   15
---     > parallelize(t, row_major{2, 3}, 1)
---     tensor i32 (2,2):(2,12) on cpu
---         4   16
---         6   18
---     > parallelize("(4,6)", layout{2, 3}, 1)
---     (2,2):(2,12)    1
--- CuTe: local_partition. MoYe: @parallelize, local_partition.
--- See: tile, explain, which lists what each thread owns.
---@param t Tensor|Layout|string
---@param threads Layout|Shape
---@param index integer the thread: `threadIdx.x`
---@param proj? table
---@return Tensor
function parallelize(t, threads, index, proj) end

--- The tensor, of which tiles may overhang.
--- Elements outside read as 0, and what is written there is dropped.
--- Every part of it knows what lies outside: tiles, shares of threads, slices. tile and parallelize
--- need not divide it. Comparisons stand only where the extents may need them, in front of whole
--- accesses. Before it is tiled, the coordinate of an element or slice may lie outside as well.
---
---     > last = kernel("last", function(x, y)
---     >>   local mine = parallelize(tile(guard(x), 4, blockIdx.x), layout(4), threadIdx.x)
---     >>   local r = fragment_like(mine)
---     >>   copy(mine, r)
---     >>   y[blockIdx.x * 4 + threadIdx.x] = r[0] + 1
---     >> end)
---     > y = zeros(i32, 8)
---     > last{grid = 2, block = 4}(arange(i32, 6), y)
---     > y
---     tensor i32 8:1 on cpu
---         1    2    3    4    5    6    1    1
--- CuTe: none; identity tensors, elem_less and copy_if by hand. MoYe: none.
--- See: tile, parallelize, copy.
---@param t Tensor of a kernel
---@return Tensor
function guard(t) end

--- A tensor without memory: each element is its own coordinate.
--- It goes through tile, parallelize, slices and divides as the data does, so an element of a part is the
--- coordinate in the whole. In a kernel the shape and the coordinates may hold run-time values.
---
---     > t = tile(identity_tensor{6, 8}, {2, 4}, {2, 1})
---     > t
---     tensor of coordinates (2,4):(1@0,1@1) from (4,4)
---     > t(1, 3), elem_less(t(1, 3), {6, 7})
---     (5,7)   false
--- CuTe: make_identity_tensor. MoYe: none.
--- See: identity, elem_less, copy_if, guard.
---@param shape Shape
---@return Tensor
function identity_tensor(shape) end

--- Copies the elements for which a predicate holds; the others stay.
--- The predicate is a tensor of bools of the same size (strides of 0 give one bool to many elements), or
--- a function of the coordinate in src, one argument a mode, that is asked for each while tracing.
---
---     > first = kernel("first", function(x, y, n)
---     >>   copy_if(function(i) return i < n end, tile(x, 4, 0), tile(y, 4, 0))
---     >> end)
---     > y = zeros(i32, 4)
---     > first{grid = 1, block = 1}(arange(i32, 4), y, 3)
---     > y
---     tensor i32 4:1 on cpu
---         0    1    2    0
--- A tiled copy or copy atom in front is as with copy. Of the elements that it takes at once the
--- first one's bool counts; a predicate of one bool for each such group, (1,M,N), will do. Atoms with
--- ZFILL write zeros where the predicate is false.
--- CuTe: copy_if. MoYe: none.
--- See: copy, guard, identity_tensor.
---@param pred Tensor|function
---@param src Tensor
---@param dst Tensor
---@overload fun(tc: TiledCopy|Atom, pred: Tensor|function, src: Tensor, dst: Tensor)
function copy_if(pred, src, dst) end

--- Copies the elements of a tensor to another one of the same sizes and type.
--- In a kernel it takes the widest access that both layouts and their alignment allow, and from
--- global to shared memory asynchronous ones where the device can; they are complete at the next
--- sync_threads.
---
---     > x, y = arange(i32, 4), zeros(i32, 4)
---     > copy(x, y)
---     > y
---     tensor i32 4:1 on cpu
---         0    1    2    3
--- With a tiled copy or a copy atom in front the atom's instruction does it, in kernels: mode 0 of
--- both tensors holds the elements that it takes at once, as partition_S and partition_D make them,
--- (V,M,N). A layout or an alignment that does not allow it is an error. After atoms of cp.async the
--- kernel waits itself (cp_async_wait); what ldmatrix and the like ask of a warp, all its lanes do
--- together.
--- CuTe: copy. MoYe: copyto!, whose destination comes first.
--- See: max_common_vector, cp_async_fence, cp_async_wait, tiled_copy, atom.
---@param src Tensor
---@param dst Tensor
---@overload fun(tc: TiledCopy|Atom, src: Tensor, dst: Tensor)
function copy(src, dst) end

--- Adds the product A * B' to C, by one thread; in a kernel.
--- A is (M,K), B (N,K) and C (M,N). k ascends. Option `order`: in which order the multiply-adds of
--- one k come; it is worth up to a tenth of the time. "columns" (the default), "rows", "serpentine"
--- (every second row backwards), "column_pairs", or loops over m and n from the outermost on, a step
--- behind the letter and ~ before a loop that turns at every second time: "n2 ~m ~n" are
--- column_pairs, "m2 ~n2 ~m ~n" squares of 2x2.
---
---     > k = kernel("product", function(A, B, C)
---     >>   local rA, rB, rC = fragment(f32, {2, 2}), fragment(f32, {2, 2}), fragment(f32, {2, 2})
---     >>   copy(A, rA) copy(B, rB) clear(rC)
---     >>   gemm(rA, rB, rC)
---     >>   copy(rC, C)
---     >> end, {static_shapes = true})
---     > A, B, C = arange(f32, {2, 2}), ones(f32, {2, 2}), zeros(f32, {2, 2})
---     > k{grid = 1, block = 1}(A, B, C)
---     > C
---     tensor f32 (2,2):(1,2) on cpu
---         2    2
---         4    4
--- CuTe: gemm. MoYe: gemm!.
---@param A Tensor (M,K)
---@param B Tensor (N,K)
---@param C Tensor (M,N)
---@param options? table
function gemm(A, B, C, options) end

--- Sets all elements of a tensor to zero, in a kernel or on the host.
---
---     > t = ones(f32, 4)
---     > clear(t)
---     > t
---     tensor f32 4:1 on cpu
---         0    0    0    0
--- CuTe: clear. MoYe: zeros!.
---@param t Tensor
function clear(t) end

--- Sets all elements of a tensor to a value, in a kernel or on the host.
---
---     > t = zeros(f32, 4)
---     > fill(t, 2.5)
---     > t
---     tensor f32 4:1 on cpu
---       2.5  2.5  2.5  2.5
--- CuTe: fill. MoYe: fill!.
---@param t Tensor
---@param value number|boolean
function fill(t, value) end

--- Y = alpha * X + beta * Y, element by element; in a kernel.
--- Where beta is 0, Y is not read: it may hold anything, as in BLAS.
---
---     > k = kernel("axpby", function(x, y) axpby(2, x, 10, y) end, {static_shapes = true})
---     > x, y = arange(i32, 4), ones(i32, 4)
---     > k{grid = 1, block = 1}(x, y)
---     > y
---     tensor i32 4:1 on cpu
---        10   12   14   16
--- CuTe: axpby. MoYe: axpby!.
---@param alpha number
---@param X Tensor
---@param beta number
---@param Y Tensor
function axpby(alpha, X, beta, Y) end

--- Waits for all threads of the block.
--- What they wrote to shared memory is visible after it. All threads of the block must come by, or
--- none.
---
---     > k = kernel("rotate", function(x)
---     >>   local s = shared(i32, 4)
---     >>   s[threadIdx.x] = x[threadIdx.x]
---     >>   sync_threads()
---     >>   x[threadIdx.x] = s[(threadIdx.x + 1) % 4]
---     >> end)
---     > t = arange(i32, 4)
---     > k{grid = 1, block = 4}(t)
---     > t
---     tensor i32 4:1 on cpu
---         1    2    3    0
--- CuTe: __syncthreads. MoYe: sync_threads().
function sync_threads() end

--- Waits for all threads of the warp.
--- What they wrote is visible to it after it.
--- CuTe: __syncwarp. MoYe: none.
---
---     > k = kernel("wait", function(x) sync_warp() end)
---     > k{grid = 1, block = 32}(zeros(i32, 4))
function sync_warp() end

--- Ends a group of asynchronous copies, in a kernel.
--- `cp_async_wait` counts groups.
---
---     > k = kernel("stage", function(x, y)
---     >>   local s = shared(i32, 4)
---     >>   copy(x, s)
---     >>   cp_async_fence()
---     >>   cp_async_wait(0)
---     >>   sync_threads()
---     >>   y[threadIdx.x] = s[threadIdx.x]
---     >> end, {static_shapes = true})
---     > x, y = arange(i32, 4), zeros(i32, 4)
---     > k{grid = 1, block = 4}(x, y)
---     > y
---     tensor i32 4:1 on cpu
---         0    1    2    3
--- CuTe: cp_async_fence. MoYe: cp_async_commit.
function cp_async_fence() end

--- Waits until at most n groups of asynchronous copies are pending.
--- Those of the thread; in a kernel. In a kernel that calls it plain copies no longer wait by
--- themselves. The other threads see the copies after the sync_threads that follows.
---
---     > k = kernel("stage", function(x, y)
---     >>   local s = shared(i32, 4)
---     >>   copy(x, s)
---     >>   cp_async_wait(0)
---     >>   sync_threads()
---     >>   y[threadIdx.x] = s[threadIdx.x]
---     >> end, {static_shapes = true})
---     > x, y = arange(i32, 4), zeros(i32, 4)
---     > k{grid = 1, block = 4}(x, y)
---     > y
---     tensor i32 4:1 on cpu
---         0    1    2    3
--- CuTe: cp_async_wait. MoYe: cp_async_wait.
---@param n? integer 0 to 7; 0 if it is not given
function cp_async_wait(n) end

--- A main loop over n tiles, the next ones under way while one is used.
--- Shared memory has a slot for each of `stages` tiles (2, or 1 with `store`). `load(k, slot)` begins to
--- copy tile k to its slot, asynchronously; where there is `store`, it copies to registers instead, and
--- `store(slot)` from there to the slot, after the computation. `compute(slot)` works with a tile in
--- shared memory. With `fetch(block, slot)`, which copies one of the tile's `blocks` to registers,
--- `compute(block)` works with these, and the next block comes meanwhile. `parts`: load is called at
--- each of the first blocks, with the block's number as third argument, so that the copies of a tile
--- are spread. The barriers and waits are pipeline's. All functions are traced into the kernel.
---
---     > sums = kernel("sums", function(x, y)
---     >>   local s, sum = shared(f32, {32, 3}), fragment(f32, 1)
---     >>   local tiles, mine = tile(x, 32, _), parallelize(s, layout{32, 1}, threadIdx.x)
---     >>   clear(sum)
---     >>   pipeline(size(tiles, 1), {
---     >>     stages = 3,
---     >>     load = function(k, slot)
---     >>       copy(parallelize(tiles(_, k), 32, threadIdx.x), mine(_, slot))
---     >>     end,
---     >>     compute = function(slot) sum[0] = sum[0] + s[{31 - threadIdx.x, slot}] end,
---     >>   })
---     >>   y[threadIdx.x] = sum[0]
---     >> end)
---     > y = zeros(f32, 32)
---     > sums{grid = 1, block = 32}(ones(f32, 160), y)
---     > y[7]
---     5.0
--- CuTe: none; the loops of its tutorials. MoYe: none; the loop of its manual.
--- See: cp_async_fence, cp_async_wait, copy, gemm.
---@param n integer how many tiles; may be a run-time value
---@param parts table load, compute; stages, store, fetch, blocks, parts
function pipeline(n, parts) end
