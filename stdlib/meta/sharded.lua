---@meta _
-- Topic: sharded: tensors that spread over a mesh, and what its ranks do together

--- Spreads a tensor over the ranks of a mesh.
--- Each rank gets its part of the elements, in its own memory. The spec assigns modes to axes (see
--- Mesh.sharding). Along an axis of partial sums, `@model+`, the first rank gets the values and the
--- others get zeros. The mesh has at most as many ranks as there are devices: `device"cpu:8"` makes
--- 8 devices of the CPU engine. `m:shard(t, spec)` is the same.
---
---     > d = device"cpu:4"
---     > m = mesh{data = 2, model = 2}
---     > x = shard(arange(f32, {4, 4}), "(M@data,K)", m)
---     > x
---     sharded f32 (M@data,K) of (4,4) over mesh (data=2,model=2):(1,2)
---       rank 0: (M=2,K=4):(1,2) on cpu
---       rank 1: (M=2,K=4):(1,2) on cpu
---       rank 2: (M=2,K=4):(1,2) on cpu
---       rank 3: (M=2,K=4):(1,2) on cpu
---     > x:part(1)
---     tensor f32 (M=2,K=4):(1,2) on cpu
---         2    6   10   14
---         3    7   11   15
--- CuTe: none. MoYe: none.
--- See: reshard, mesh, Mesh.sharding.
---@param t Tensor
---@param spec string|Layout|Sharding
---@param m Mesh
---@return Sharded
function shard(t, spec, m) end

--- Redistributes a sharded tensor; the result shares no memory with x.
--- The collectives follow from the two shardings; `x:plan(spec)` shows them without running them.
--- reshard works on all ranks at once, so it cannot be called in m:run.
---
---     > d = device"cpu:4"
---     > x = shard(arange(f32, {4, 4}), "(M@data,K)", mesh{data = 4})
---     > y = reshard(x, "(M,K@data)")
---     > y:part(2)
---     tensor f32 (M=4,K=1):(1,0) on cpu
---         8
---         9
---        10
---        11
--- CuTe: none. MoYe: none.
--- See: shard, Sharded.plan.
---@param x Sharded
---@param spec string|Layout|Sharding
---@return Sharded
function reshard(x, spec) end

--- Another rank's part of a sharded tensor, for kernels of this rank.
--- A kernel uses the part like any other tensor: for loads, stores, atomic operations, copies and
--- TMA. The host cannot use it, and neither can a rank whose device cannot reach the other device's
--- memory. A rank's own part is an ordinary tensor. In m:run, launches of all ranks run at the same
--- time, so kernels may wait for flags of other ranks, with scope "sys". r:barrier() orders whole
--- launches. Call r:barrier() after x is filled and before the first launch with a peer tensor, and again
--- before x is closed. If ranks are processes, their devices must be in one machine, and all ranks
--- must make the first call of peer_tensor for x.
---
---     > d = device"cpu:2"
---     > m = mesh{data = 2}
---     > x = shard(arange(i32, 8), "(M@data)", m)
---     > y = m:zeros(i32, {8}, "(M@data)")
---     > get = kernel("get", function(theirs, mine) mine[threadIdx.x] = theirs[threadIdx.x] end)
---     > done = m:run(function(r)
---     >>   r:barrier()
---     >>   get{grid = 1, block = 4}(peer_tensor(x, 1 - r.rank), y:part(r.rank))
---     >> end)
---     > y:whole()
---     tensor i32 M=8:1 on cpu
---         4    5    6    7    0    1    2    3
--- CuTe: none. MoYe: none.
--- See: Rank.peers, atomic_load, Sharded.part.
---@param x Sharded
---@param rank integer
---@return Tensor
function peer_tensor(x, rank) end

--- A tensor that is spread over the ranks of a mesh.
--- Its parts, `x:part(rank)`, are ordinary tensors for kernels. If an axis does not divide the
--- extent of a mode, a part has padding after its valid elements. `x:close()` frees the memory.
--- `local x <close> = ...` does so at the end of its block.
---@class Sharded
---@field dtype DType
---@field layout Layout the layout: basis 0 is the memory of a part, basis i is axis i of the mesh
---@field mesh Mesh
---@field shape Tuple
---@field sharding Sharding
local Sharded = {}

--- The valid elements of a rank's part, as a tensor.
--- In m:run, the default is the running rank, and a launch or copy with another rank's part is an
--- error.
---
---     > m = mesh{data = 1}
---     > shard(arange(i32, 4), "(M@data)", m):part(0)
---     tensor i32 M=4:1 on cpu
---         0    1    2    3
---@param rank? integer
---@return Tensor
function Sharded:part(rank) end

--- Collects all elements in one tensor on the current device.
--- The modes of the result have the same order in memory as those of the parts.
---
---     > d = device"cpu:2"
---     > shard(arange(i32, 5), "(M@data)", mesh{data = 2}):whole()
---     tensor i32 M=5:1 on cpu
---         0    1    2    3    4
---@return Tensor
function Sharded:whole() end

--- The same elements with another sharding; see reshard.
---@param spec string|Layout|Sharding
---@return Sharded
function Sharded:reshard(spec) end

--- The steps that reshard would perform; print shows them.
---
---     > m = mesh{data = 1}
---     > x = m:zeros(f32, {64, 64}, "(M@data,K)")
---     > #x:plan("(M,K@data)").steps
---     0
--- See: Mesh.plan.
---@param spec string|Layout|Sharding
---@return Plan
function Sharded:plan(spec) end

--- The ranks that hold an element, and its offset in the memory of their parts.
---
---     > d = device"cpu:2"
---     > shard(arange(i32, 6), "(M@data)", mesh{data = 2}):owner(4)
---     {1}     1
---@param coord Coord
---@return table, integer
function Sharded:owner(coord) end

--- Frees the memory of all parts.
function Sharded:close() end

--- One rank of a mesh, in the function that m:run calls.
--- Its methods are collectives: all ranks of a group make the same call, and each waits for the
--- others. A group consists of the ranks whose coordinates differ only on the axes of the call. Its
--- ranks are ordered by these coordinates; the coordinate on the first axis varies fastest. An axis
--- is a name or a list of names; nil means all axes. Tensors must be compact; their elements are
--- used in the order of memory. The last argument of a collective may be a table:
--- `{reduce = "max", stream = s}`. The collective then runs in that stream, in parallel with
--- launches in other streams; use events to order them.
---@class Rank
---@field rank integer
---@field coord table its coordinate on each axis, by name
---@field mesh Mesh
local Rank = {}

--- Replaces t on each rank with the sum of the group's tensors.
---
---     > d = device"cpu:4"
---     > sums = mesh{data = 4}:run(function(r)
---     >>   local t = full(f32, 2, r.rank)
---     >>   r:all_reduce(t)
---     >>   return t
---     >> end)
---     > sums[0]
---     tensor f32 2:1 on cpu
---         6    6
--- CuTe: none. MoYe: none.
---@param t Tensor
---@param axis? string|table
---@param reduce? string|table "sum" (the default), "max" or "min"; or a table with `reduce` and `stream`
function Rank:all_reduce(t, axis, reduce) end

--- Collects the sources of the group, one after the other, on each rank.
---@param src Tensor
---@param dst Tensor as many elements as all sources together
---@param axis? string|table
---@param options? table `stream`
function Rank:all_gather(src, dst, axis, options) end

--- Adds the sources of the group; its rank i gets part i of the sum.
---@param src Tensor
---@param dst Tensor as many elements as src, divided by the number of ranks in the group
---@param axis? string|table
---@param reduce? string|table "sum" (the default), "max" or "min"; or a table with `reduce` and `stream`
function Rank:reduce_scatter(src, dst, axis, reduce) end

--- Sends part i of the source to rank i of the group.
---@param src Tensor
---@param dst Tensor as many elements as src
---@param axis? string|table
---@param options? table `stream`
function Rank:all_to_all(src, dst, axis, options) end

--- Copies one rank's t to each rank of the group.
---@param t Tensor
---@param axis? string|table
---@param root? integer|table the position of that rank in the group, by default 0; or a table
--- with `root` and `stream`
function Rank:broadcast(t, axis, root) end

--- Sends t to another rank, and waits until that rank has received it.
---@param t Tensor
---@param to integer
function Rank:send(t, to) end

--- Receives t from another rank.
---@param t Tensor
---@param from integer
function Rank:recv(t, from) end

--- Sends one tensor and receives another at the same time, as in a ring.
---
---     > d = device"cpu:4"
---     > mesh{ring = 4}:run(function(r)
---     >>   local mine, theirs = full(i32, 1, r.rank), zeros(i32, 1)
---     >>   r:send_recv(mine, (r.rank + 1) % 4, theirs, (r.rank + 3) % 4)
---     >>   return theirs[0]
---     >> end)[0]
---     3
---@param src Tensor
---@param to integer
---@param dst Tensor
---@param from integer
function Rank:send_recv(src, to, dst, from) end

--- The tensors of all ranks of the group, for kernels of this rank.
--- Each rank of the group calls peers with a tensor of the same shape. The rank's own tensor is t
--- itself; the others are like those from peer_tensor. The call is also a barrier. If ranks are
--- processes, t must be a part of a sharded tensor.
---
---     > d = device"cpu:2"
---     > mesh{data = 2}:run(function(r)
---     >>   local peers = r:peers(full(i32, 4, r.rank))
---     >>   return size(peers[1 - r.rank])
---     >> end)[0]
---     4
---@param t Tensor
---@param axis? string|table
---@return table # tensors by rank
function Rank:peers(t, axis) end

--- Waits until all ranks of the group have arrived.
---@param axis? string|table
function Rank:barrier(axis) end
