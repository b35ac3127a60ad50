---@meta _
-- Topic: clusters: blocks that run together, launches that overlap

--- The block's number in its cluster, counted from 0; x varies fastest.
--- A launch with `cluster = {x, y, z}` groups that many blocks into each cluster, and the blocks of
--- a cluster run at the same time. A cluster has up to 8 blocks, or up to 16 if the device allows
--- it. Without the option, each block is a cluster of its own, and the rank is 0.
---
---     > k = kernel("ranks", function(out)
---     >>   if threadIdx.x == 0 then out[blockIdx.x] = cluster_rank() end
---     >> end)
---     > t = zeros(i32, 6)
---     > k{grid = 6, block = 32, cluster = 3}(t)
---     > t
---     tensor i32 6:1 on cpu
---         0    1    2    0    1    2
--- CuTe: block_rank_in_cluster. MoYe: none.
--- See: help"sync_cluster".
---@return integer
function cluster_rank() end

--- How many blocks a cluster has.
--- The number is static. It comes from the launch option `cluster`; without the option, it is 1.
---
---     > k = kernel("sizes", function(out) out[blockIdx.x] = cluster_size() end)
---     > t = zeros(i32, 4)
---     > k{grid = 4, block = 1, cluster = {2, 1, 1}}(t)
---     > t
---     tensor i32 4:1 on cpu
---         2    2    2    2
--- CuTe: cluster_shape. MoYe: none.
---@return integer
function cluster_size() end

--- Waits until all threads of the cluster have called sync_cluster.
--- Afterwards, each thread sees what the others wrote to shared memory, in its own block or
--- another. Without clusters, it is the same as sync_threads. All lanes of a warp that have not
--- ended must call sync_cluster together.
---
---     > k = kernel("together", function(out)
---     >>   sync_cluster()
---     >>   out[blockIdx.x] = cluster_rank()
---     >> end)
---     > t = zeros(i32, 2)
---     > k{grid = 2, block = 1, cluster = 2}(t)
---     > t
---     tensor i32 2:1 on cpu
---         0    1
--- CuTe: cluster_sync. MoYe: none.
--- See: help"cluster_arrive".
function sync_cluster() end

--- The first half of a sync_cluster: arrives, and continues.
--- Call cluster_wait before the next cluster_arrive.
---
---     > k = kernel("halves", function(out)
---     >>   cluster_arrive()
---     >>   local mine = 2 * cluster_rank() -- work that needs no other block
---     >>   cluster_wait()
---     >>   out[blockIdx.x] = mine
---     >> end)
---     > t = zeros(i32, 2)
---     > k{grid = 2, block = 1, cluster = 2}(t)
---     > t
---     tensor i32 2:1 on cpu
---         0    2
--- CuTe: cluster_arrive. MoYe: none.
--- See: help"cluster_wait".
function cluster_arrive() end

--- The second half of a sync_cluster: waits until all threads have arrived.
--- Call cluster_arrive first.
--- CuTe: cluster_wait. MoYe: none.
--- See: help"cluster_arrive".
function cluster_wait() end

--- A barrier for the whole grid: waits for all threads of all blocks.
--- After the barrier, all threads see what any thread wrote before it. The launch must set
--- `cooperative = true`, so that all blocks run at the same time; without the option, the barrier
--- is an error. All threads of all blocks must arrive. If a block ends without arriving, the CPU
--- engine reports it, but a GPU waits for ever. A kernel may call sync_grid any number of times,
--- in different places.
---
---     > turn = kernel("turn", function(x, y)
---     >>   x[blockIdx.x] = 10 * blockIdx.x
---     >>   sync_grid()
---     >>   y[blockIdx.x] = x[(blockIdx.x + 1) % gridDim.x]
---     >> end)
---     > y = zeros(i32, 3)
---     > turn{grid = 3, block = 1, cooperative = true}(zeros(i32, 3), y)
---     > y
---     tensor i32 3:1 on cpu
---        10   20    0
--- CuTe: none (cooperative_groups: this_grid().sync()). MoYe: none.
--- See: help"sync_cluster", help"sync_threads".
function sync_grid() end

--- Waits until the writes of the previous launch are visible.
--- A launch with `pdl = true` may begin while the previous launch of its stream is still running.
--- It may read the results of that launch only after this call. Other launches do not overlap, so
--- the call does nothing in them. It also does nothing on the CPU engine and on GPUs before
--- compute capability 9.0. `cuttle check` finds accesses that are made too early.
---
---     > k = kernel("next", function(x)
---     >>   local i = threadIdx.x -- what needs nothing of the launch before comes first
---     >>   grid_dependency_wait()
---     >>   x[i] = 2 * x[i] + 1
---     >>   grid_dependency_launch()
---     >> end)
---     > t = zeros(f32, 4)
---     > k{grid = 1, block = 4, pdl = true}(t)
---     > k{grid = 1, block = 4, pdl = true}(t)
---     > t
---     tensor f32 4:1 on cpu
---         3    3    3    3
--- CuTe: cutlass::arch::wait_on_dependent_grids (griddepcontrol.wait). MoYe: none.
--- See: help"grid_dependency_launch".
function grid_dependency_wait() end

--- Lets the next launch begin.
--- If the next launch of the stream has `pdl = true`, it may begin once all blocks have called this
--- function. This is only a hint: to see the writes of this launch, the next one must still call
--- grid_dependency_wait.
--- CuTe: cutlass::arch::launch_dependent_grids (griddepcontrol.launch_dependents). MoYe: none.
--- See: help"grid_dependency_wait".
function grid_dependency_launch() end

--- The same shared tensor in another block of the cluster.
--- You may read and write it like any other tensor, and use it in copy, fill and atomic operations.
--- It is not accepted by copy atoms for shared memory, by tma_load or by wgmma products. The other
--- block must be running, so call sync_cluster before the first use and after the last. The rank
--- may be a run-time value and differ from thread to thread.
---
---     > k = kernel("sums", function(x, out)
---     >>   local s, sum = shared(f32, 4), 0.0
---     >>   s[threadIdx.x] = x[blockIdx.x * 4 + threadIdx.x]
---     >>   sync_cluster()
---     >>   for r in range(cluster_size()) do sum = sum + map_shared_rank(s, r)[threadIdx.x] end
---     >>   sync_cluster()
---     >>   out[blockIdx.x * 4 + threadIdx.x] = sum
---     >> end)
---     > t = zeros(f32, 8)
---     > k{grid = 2, block = 4, cluster = 2}(arange(f32, 8), t)
---     > t
---     tensor f32 8:1 on cpu
---         4    6    8   10    4    6    8   10
--- CuTe: set_block_rank (mapa). CUDA: map_shared_rank. MoYe: none.
--- See: sync_cluster, cluster_rank, st_async.
---@param t Tensor in shared memory
---@param rank integer
---@return Tensor
function map_shared_rank(t, rank) end

--- Stores a value to another block, and tells an mbarrier there.
--- The value goes to the element of t with this coordinate as the block with that rank has it, and
--- its bytes complete on the same block's mbarrier. The thread goes on at once. A thread of that
--- block sees the value once it has waited for the phase. So the receiver says how many bytes a
--- phase expects, by arrive_expect_tx. What the storing thread did before comes before the wait ends.
--- The elements have 32 or 64 bits. The launch needs clusters, and sync_cluster must come between
--- mbarrier and the first store. The rank may differ from thread to thread. st_async needs sm_90.
---
---     > k = kernel("sums", function(x, y)
---     >>   local slots, full = shared(f32, 2), mbarrier(1, 1)
---     >>   local sum = warp_reduce(x[blockIdx.x * 32 + threadIdx.x], "add")
---     >>   sync_cluster()
---     >>   if threadIdx.x < 2 then st_async(slots, cluster_rank(), sum, full[0], threadIdx.x) end
---     >>   if threadIdx.x == 0 then full[0]:arrive_expect_tx(2 * 4) end
---     >>   full[0]:wait(0)
---     >>   y[blockIdx.x] = slots[0] + slots[1]
---     >> end)
---     > y = zeros(f32, 2)
---     > k{grid = 2, block = 32, cluster = 2}(arange(f32, 64), y)
---     > y
---     tensor f32 2:1 on cpu
---       2016  2016
--- CuTe: store_shared_remote. PTX: st.async. MoYe: none.
--- See: map_shared_rank, mbarrier, sync_cluster.
---@param t Tensor in the block's own shared memory
---@param coordinate any as in t[coordinate]
---@param value number
---@param bar mbarrier
---@param rank integer
function st_async(t, coordinate, value, bar, rank) end
