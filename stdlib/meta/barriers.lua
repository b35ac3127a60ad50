---@meta _
-- Topic: barriers: mbarriers, named barriers and roles of warps

--- Barriers in shared memory that count arrivals and bytes; `b[i]` is one.
--- A barrier goes through phases. A phase is complete once all its arrivals have happened and all
--- expected bytes have been copied; then the next phase begins. Phases have the parities 0, 1, 0,
--- and so on. On a new barrier, wait(0) waits for the first phase, and wait(1) returns at once.
--- Threads that have waited see what other threads wrote before they arrived.
---
---     > sums = kernel("sums", function(x, y)
---     >>   local s, full = shared(f32, 32), mbarrier(1, 32)
---     >>   sync_threads()
---     >>   if threadIdx.x < 32 then
---     >>     s[threadIdx.x] = x[threadIdx.x]
---     >>     full[0]:arrive()
---     >>   else
---     >>     full[0]:wait(0)
---     >>     y[threadIdx.x - 32] = s[63 - threadIdx.x]
---     >>   end
---     >> end)
---     > y = zeros(f32, 32)
---     > sums{grid = 1, block = 64}(arange(f32, 32), y)
---     > y[0]
---     31.0
--- CuTe: ClusterBarrier, ClusterTransactionBarrier. PTX: mbarrier. MoYe: none.
---@class Mbarrier
local Mbarrier = {}

--- Arrives at the barrier; each thread that calls it counts once.
--- Threads that wait see what the thread wrote before. With a rank, the thread arrives at the
--- same barrier in the cluster's block of that rank. If threads have read what a tma_load is to
--- overwrite, each of them calls fence_proxy_async() before.
--- CuTe: ClusterBarrier::arrive. PTX: mbarrier.arrive. MoYe: none.
---@param rank? integer the rank of a block in the cluster; may be a run-time value
function Mbarrier:arrive(rank) end

--- Adds to the number of bytes that the current phase expects, and arrives.
--- A shared tensor stands for its size in bytes: call `full[0]:arrive_expect_tx(sA, sB)` before a
--- `tma_load` into each of them.
--- CuTe: ClusterTransactionBarrier::arrive_and_expect_tx. PTX: mbarrier.arrive.expect_tx. MoYe: none.
---@param bytes integer|Tensor a number, which may be a run-time value, or a shared tensor
---@param ... Tensor
function Mbarrier:arrive_expect_tx(bytes, ...) end

--- Adds to the number of bytes that the current phase expects from copies.
--- A shared tensor stands for its size in bytes.
--- CuTe: ClusterTransactionBarrier::expect_transaction. PTX: mbarrier.expect_tx. MoYe: none.
---@param bytes integer|Tensor a number, which may be a run-time value, or a shared tensor
---@param ... Tensor
function Mbarrier:expect_tx(bytes, ...) end

--- Waits until the phase with this parity is complete; needs sm_90.
--- CuTe: ClusterBarrier::wait. PTX: mbarrier.try_wait.parity. MoYe: none.
---@param parity integer 0 or 1; may be a run-time value
function Mbarrier:wait(parity) end

--- Whether, for the calling lane, the phase with this parity is complete.
--- CuTe: ClusterBarrier::try_wait. PTX: mbarrier.test_wait.parity. MoYe: none.
---@param parity integer 0 or 1; may be a run-time value
---@return boolean
function Mbarrier:test(parity) end

--- Makes n barriers in shared memory; each phase needs `count` arrivals.
--- Call mbarrier at the top level of the kernel, where thread 0 initialises the barriers. Other
--- threads and TMA copies may use them after the next sync_threads (in a cluster, sync_cluster).
--- CuTe: ClusterBarrier::init, cutlass::arch::fence_barrier_init. PTX: mbarrier.init. MoYe: none.
--- See: Mbarrier, pipeline_state.
---@param n integer
---@param count integer
---@return Mbarrier
function mbarrier(n, count) end

--- A warp's position in a ring of slots: `.slot` and `.parity`.
--- Both are variables of the kernel. The parity, for which consumers wait, changes whenever the
--- slots start over. A producer's state begins with {parity = 1}, so that it does not wait at
--- barriers that nobody has used yet.
---
---     > show_slots = kernel("show_slots", function(x)
---     >>   local state = pipeline_state(3)
---     >>   for i in range(size(x, 0)) do
---     >>     x[{i, 0}], x[{i, 1}] = state.slot, state.parity
---     >>     state:advance()
---     >>   end
---     >> end)
---     > t = zeros(i32, {5, 2})
---     > show_slots{grid = 1, block = 1}(t)
---     > t
---     tensor i32 (5,2):(1,5) on cpu
---         0    0
---         1    0
---         2    0
---         0    1
---         1    1
--- CuTe: cutlass::PipelineState. MoYe: none.
---@class PipelineState
---@field slot integer
---@field parity integer
local PipelineState = {}

--- Advances by one slot, or by `count`.
--- A warp group that processes every second tile uses `count` to skip the slots of the other group.
--- CuTe: PipelineState::operator++, PipelineState::advance. MoYe: none.
---@param count? integer must not be negative; may be a run-time value
function PipelineState:advance(count) end

--- A pipeline state for each thread, by default at slot 0 with parity 0.
--- CuTe: cutlass::PipelineState, make_producer_start_state, PipelineTmaAsync. MoYe: none.
--- See: PipelineState, mbarrier.
---@param n integer slots
---@param options? table `slot` and `parity`, which may be run-time values
---@return PipelineState
function pipeline_state(n, options) end

--- One of the block's barriers 1 to 15, at which some of its warps can meet.
---
---     > swap = kernel("swap", function(x)
---     >>   local s, pair = shared(f32, 128), named_barrier(1 + threadIdx.x // 64, 64)
---     >>   s[threadIdx.x] = x[threadIdx.x]
---     >>   pair:sync()
---     >>   x[threadIdx.x] = s[threadIdx.x ~ 32]
---     >> end)
---     > t = arange(f32, 128)
---     > swap{grid = 1, block = 128}(t)
---     > t[0], t[127]
---     32.0    95.0
--- CuTe: cutlass::arch::NamedBarrier. PTX: bar.sync, bar.arrive. MoYe: none.
---@class NamedBarrier
local NamedBarrier = {}

--- Arrives, and waits until all threads have arrived.
--- CuTe: NamedBarrier::sync. PTX: bar.sync. MoYe: none.
function NamedBarrier:sync() end

--- Arrives without waiting; only the warps that call sync wait.
--- CuTe: NamedBarrier::arrive. PTX: bar.arrive. MoYe: none.
function NamedBarrier:arrive() end

--- The named barrier with this number, for this many threads.
--- All threads that use the barrier must pass the same number and count.
--- CuTe: cutlass::arch::NamedBarrier. MoYe: none.
--- See: NamedBarrier, sync_threads.
---@param id integer 1 to 15, the same in all lanes of a warp; may be a run-time value
---@param threads integer a multiple of 32
---@return NamedBarrier
function named_barrier(id, threads) end

--- Gives each thread of the warp group n registers; needs sm_90a.
--- Producers use it to give up registers that consumers need. All warps of the group must call it.
--- A group that asks for more registers than it has waits until others have released enough.
--- CuTe: cutlass::arch::warpgroup_reg_alloc, warpgroup_reg_dealloc. PTX: setmaxnreg. MoYe: none.
---@param n integer a multiple of 8 from 24 to 256
function setmaxnreg(n) end

--- True in one lane of the warp, false in the others; needs sm_90.
--- All lanes of the warp must call it together.
--- CuTe: cute::elect_one_sync. PTX: elect.sync. MoYe: none.
---@return boolean
function elect_one() end

--- Makes a scheduler, by which blocks take each other's work.
--- It is for kernels whose warps have roles, and has a ring of responses for clc_try_cancel.
--- Declare it at the top level of the kernel, and put a barrier after it (in a cluster,
--- sync_cluster, and another one at the end). One thread of each block calls `fetch()`, which
--- asks until there is no work. Each reader makes its own `work()`, and goes on as long as
--- `is_valid` is true: `x`, `y` and `z` are the block's place in the grid, at first that of
--- blockIdx. `advance()` takes the next one. `readers` is the number of threads of a block
--- that call it, without the one that fetches. `stages` is how far readers may be apart, by
--- default 1. It needs sm_100.
---
---     > spread = kernel("spread", function(x)
---     >>   local scheduler = clc_scheduler{readers = 64}
---     >>   sync_threads()
---     >>   if threadIdx.x == 64 then
---     >>     scheduler:fetch()
---     >>   elseif threadIdx.x < 64 then
---     >>     local work = scheduler:work()
---     >>     while work.is_valid do
---     >>       x[{threadIdx.x, work.x}] = x[{threadIdx.x, work.x}] + 1
---     >>       work:advance()
---     >>     end
---     >>   end
---     >> end)
---     > x = zeros(i32, {64, 6})
---     > spread{grid = 6, block = 96}(x)
---     > allclose(x, ones(i32, {64, 6}))
---     true
--- CuTe: PersistentTileSchedulerSm100, PipelineCLCFetchAsync. MoYe: none.
--- See: clc_try_cancel, raster.
---@param p {readers: integer, stages?: integer}
---@return any
function clc_scheduler(p) end
