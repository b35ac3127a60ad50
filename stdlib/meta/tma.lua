---@meta _
-- Topic: boxes: copies of tiles by the tensor memory accelerator

--- The coordinates of a tensor's elements, for tma_load and tma_store.
--- Tile and slice the result like an identity tensor; it remembers the tensor. Elements of a tile
--- outside the tensor are loaded as 0 and not stored. If a view has more elements than its
--- memory, and a box reaches elements beyond the memory, the CPU engine reports this; a GPU does
--- not. The tensor must be an argument of the kernel and have at most 5 modes. One mode must have
--- stride 1, and the strides of the others must be multiples of 16 bytes. The tensor must begin
--- at a multiple of 16 bytes, and so must its tiles along the mode of stride 1.
--- See: identity_tensor, gmma_layout.
---
---     > k = kernel("coordinates", function(A)
---     >>   print(tile(tma_tensor(A), {8, 16}, {1, _}))
---     >> end)
---     > k{grid = 1, block = 1}(zeros(f32, row_major{32, 64}))
---     tensor of coordinates (8,16,?):(1@0,1@1,16@1) from (8,0)
--- CuTe: make_tma_copy, make_tma_atom, get_tma_tensor. PTX: tensormap. MoYe: none.
---@param A Tensor in global memory
---@param options? {promotion: integer} bytes fetched into the L2 cache at once: 0, 64, 128, 256
---@return Tensor # a tensor of coordinates
function tma_tensor(A, options) end

--- Begins to copy a tile to shared memory; an mbarrier counts the bytes.
--- One thread calls tma_load after it has set the number of bytes that the barrier expects
--- (`arrive_expect_tx`). Threads that read the tile wait for the barrier. The shared layout
--- determines the rest: the order of modes, panels, and the swizzle of 32, 64 or 128 bytes. Shared
--- memory is aligned as the swizzle requires. tma_load needs sm_90.
---
--- With `multicast`, each block of the cluster whose bit is set gets the tile at the same place,
--- and its own barrier counts the bytes. With `pair`, the barrier of the even block counts them, of
--- the two blocks whose ranks differ only in the last bit; that needs sm_100a.
---
---     > k = kernel("through_shared", function(A, B)
---     >>   local s, full = shared(A.dtype, row_major{8, 16}), mbarrier(1, 1)
---     >>   sync_threads()
---     >>   if threadIdx.x == 0 then
---     >>     full[0]:arrive_expect_tx(8 * 16 * 4)
---     >>     tma_load(tile(tma_tensor(A), {8, 16}, {blockIdx.x, 0}), s, full[0])
---     >>     full[0]:wait(0)
---     >>     tma_store(s, tile(tma_tensor(B), {8, 16}, {blockIdx.x, 0}))
---     >>     tma_store_commit()
---     >>     tma_store_wait(0)
---     >>   end
---     >> end)
---     > A, B = rand(f32, row_major{20, 16}), zeros(f32, row_major{20, 16})
---     > k{grid = 3, block = 32}(A, B)
---     > allclose(A, B)
---     true
--- CuTe: SM90_TMA_LOAD, SM100_TMA_2SM_LOAD, and their _MULTICAST. PTX: cp.async.bulk.tensor. MoYe: none.
---@param src Tensor a tile of a tma_tensor
---@param dst Tensor in shared memory, of the same shape
---@param bar MbarrierElement e.g. `full[0]`
---@param options? {multicast: integer, pair: boolean} bit i: the block of rank i, also at run time
function tma_load(src, dst, bar, options) end

--- Begins to copy a tile from shared memory, in the next group of stores.
--- One thread calls tma_store. If ordinary stores wrote the shared memory, the writers must first
--- call `fence_proxy_async()` and then a barrier. The option `reduce` combines the new elements
--- with the old ones: "add", "min", "max", "and", "or" or "xor". tma_store needs sm_90.
---
--- With an mbarrier and a rank, dst is shared memory, too. The block of the cluster with that rank
--- gets the bytes at the same place, and its own mbarrier counts them, as those of a tma_load. There
--- is no group to wait for. A thread of that block sees the tile after its wait for the phase; src
--- may be written again once this block has learnt of that. Elements of src and dst lie side by
--- side, a multiple of 16 bytes. sync_cluster must come between mbarrier and the first copy.
--- See: tma_store_commit, tma_store_wait, st_async; tma_load has an example.
--- CuTe: SM90_TMA_STORE, SM90_TMA_REDUCE_ADD, copy. PTX: cp.reduce.async.bulk. MoYe: none.
---@param src Tensor in shared memory
---@param dst Tensor a tile of a tma_tensor, of the same shape
---@param options? {reduce: string}
---@overload fun(src: Tensor, dst: Tensor, bar: MbarrierElement, rank: integer)
function tma_store(src, dst, options) end

--- Ends a group, which contains this thread's stores since the previous group.
--- CuTe: tma_store_arrive. PTX: cp.async.bulk.commit_group. MoYe: none.
function tma_store_commit() end

--- Waits until at most n groups of this thread's stores are pending.
--- Afterwards, the stores of all earlier groups have read their shared memory, so it may be written
--- again. With `done = true`, their writes are complete too.
--- CuTe: tma_store_wait. PTX: cp.async.bulk.wait_group. MoYe: none.
---@param n? integer the number of groups; the default is 0
---@param options? {done: boolean}
function tma_store_wait(n, options) end

--- Makes ordinary writes to shared memory visible to TMA and wgmma.
--- It also orders earlier reads before the writes of a tma_load: what a thread reads may still be on
--- its way when it gives the slot back. Each thread that wrote or read calls the fence; then all
--- threads reach a barrier, and one of them starts the copy. With "global", the fence applies to
--- global memory: later calls of tma_load see what threads of this launch wrote there. In this case,
--- only the loading thread calls the fence, after it has waited for the writes.
--- CuTe: tma_store_fence, cutlass::arch::fence_view_async_shared. PTX: fence.proxy.async. MoYe: none.
---@param space? string "shared" (the default) or "global"
function fence_proxy_async(space) end

--- Makes this thread's copies of tensor memory part of what it hands on.
--- Call it after them, before the arrival or barrier that tells other threads.
--- CuTe: tcgen05_before_thread_sync. PTX: tcgen05.fence::before_thread_sync. MoYe: none.
--- See: tcgen05_after_thread_sync.
function tcgen05_before_thread_sync() end

--- Keeps later uses of tensor memory after the wait or barrier before it.
--- Call it after a wait, before a product or copy that touches what other threads, or products,
--- have used.
--- CuTe: tcgen05_after_thread_sync. PTX: tcgen05.fence::after_thread_sync. MoYe: none.
--- See: tcgen05_before_thread_sync, tcgen05_commit.
function tcgen05_after_thread_sync() end
