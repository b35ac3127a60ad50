---@meta _
-- Topic: mesh: many devices, and tensors that spread over them

--- A group of devices: named axes, and a layout from coordinates to ranks.
--- A rank is the number of a device, counted from 0. Functions of layouts treat a mesh as its
--- layout: `size(m)`, `size(m, "model")`, `rank(m)`. `==` compares meshes.
---@class Mesh
---@field layout Layout the layout from coordinates to ranks
---@field axes table names of the axes, the fastest first
---@field n integer how many ranks there are
---@field extent table the extent of each axis, by its name
---@field links? table the model of the links between devices, for plans; nil means the defaults
local Mesh = {}

Mesh.show = show
Mesh.explain = explain
Mesh.svg = svg
Mesh.latex = latex
Mesh.html = html

--- Makes a mesh of devices.
--- In a table, the axes are in alphabetical order. In a string, they are in the order given. The
--- first axis varies fastest: neighbours along it have ranks that differ by 1. A layout with
--- strides may number the ranks differently, but must use each number from 0 to size - 1 once. The
--- option `links` sets the model of the links between devices, such as {links = {node = 4}} for
--- machines with 4 devices.
---
---     > mesh{data = 2, model = 4}
---     mesh (data=2,model=4):(1,2)
---     > m = mesh"(model=4,data=2)"
---     > m:rank{data = 1, model = 2}, size(m, "model")
---     6       4
---     > mesh(L"(data=2,model=4):(4,1)"):rank{data = 1, model = 2}
---     6
--- CuTe: none. MoYe: none.
--- See: Mesh.sharding, Mesh.coord.
---@param axes table|string|Layout|Mesh
---@param options? table
---@return Mesh
function mesh(axes, options) end

--- The rank at a coordinate, which is 0 on each axis that is not named.
---
---     > mesh{data = 2, model = 4}:rank{model = 3}
---     6
---@param coord table
---@return integer
function Mesh:rank(coord) end

--- The coordinate of a rank, by the names of the axes.
---
---     > c = mesh{data = 2, model = 4}:coord(5)
---     > c.data, c.model
---     1       2
---@param rank integer
---@return table
function Mesh:coord(rank) end

--- The coordinate of a rank on one axis.
---
---     > mesh{data = 2, model = 4}:digit(5, "model")
---     2
---@param rank integer
---@param axis string
---@return integer
function Mesh:digit(rank, axis) end

--- How many ranks there are, or the extent of an axis.
---
---     > m = mesh{data = 2, model = 4}
---     > m:size(), m:size"model"
---     8       4
---@param axis? string
---@return integer
function Mesh:size(axis) end

--- How many ranks a group over these axes has.
---
---     > mesh{data = 2, model = 4, pipe = 3}:span{"data", "pipe"}
---     6
---@param axes? string|table the default is all axes
---@return integer
function Mesh:span(axes) end

--- The ranks whose coordinates differ from the given rank's only on these axes.
--- They are ordered by their coordinates on these axes; the first axis named varies fastest.
---
---     > mesh{data = 2, model = 4}:group(5, "model")
---     {1, 3, 5, 7}
---     > mesh{data = 2, model = 4}:group(5, {"model", "data"})
---     {0, 2, 4, 6, 1, 3, 5, 7}
---@param rank integer
---@param axes? string|table the default is all axes
---@return table
function Mesh:group(rank, axes) end

--- All groups over these axes.
---
---     > mesh{data = 2, model = 4}:groups"data"
---     {{0, 1}, {2, 3}, {4, 5}, {6, 7}}
---@param axes? string|table the default is all axes
---@return table
function Mesh:groups(axes) end

--- The index of a rank in its group over these axes, counted from 0.
---
---     > mesh{data = 2, model = 4}:place(5, "model")
---     2
---@param rank integer
---@param axes? string|table the default is all axes
---@return integer
function Mesh:place(rank, axes) end

--- How a tensor of this shape is spread over the mesh.
--- In a spec, `M@data` spreads mode M over axis data, `M@data@model` spreads it over both axes, and
--- `@model+` means that each rank along axis model has a summand. Along an axis that is not named,
--- each rank has a copy. In a spec with strides, a number is a stride in memory, and `1@model`
--- stands for an axis. A mode whose extent an axis does not divide is padded, so the last ranks
--- have fewer elements.
---
---     > m = mesh{data = 2, model = 4}
---     > m:sharding({1000, 64}, "(M@model,K)")
---     sharding (M@model,K) of (1000,64) over mesh (data=2,model=4):(1,2)
---     > m:sharding({1000, 64}, "(M@model,K)"):layout()
---     (M=(250,4),K=64):((1@0,1@2),250@0)
---     > m:sharding({1024, 64}, "((32,4,8),64):((1,1@model,32),256)"):owner{100, 0}
---     {6, 7}  4
--- CuTe: none. MoYe: none.
--- See: mesh.
---@param shape Shape|Layout|Tensor|nil nil if the spec gives all extents, as in "(M@data=1000)"
---@param spec string|Layout|Sharding
---@return Sharding
function Mesh:sharding(shape, spec) end

--- The steps that change a tensor's sharding to another; nothing runs.
--- Among all plans, this one needs the least transfer time according to a model of the links.
--- `bytes` is the largest number of bytes that any device receives. `options.links` sets the
--- model's numbers. `node` is the number of devices in a node. `link_bandwidth`,
--- `network_bandwidth` and `memory_bandwidth` are in bytes per second, and so is
--- `small_bandwidth`, which applies to the first `small` bytes in a node. `link_latency`,
--- `network_latency` and `launch` are in seconds. `send_recv` is the share of the bandwidth that
--- single messages reach.
---
---     > m = mesh{data = 2, model = 4}
---     > m:plan(bf16, {4096, 4096}, "(M,K,@model+)", "(M,K@model)")
---     plan of (4096,4096), 2 bytes an element, over mesh (data=2,model=4):(1,2)
---     from (M,K,@model+) to (M,K@model)
---     step  collective      axes     bytes    time  gives
---        1  reduce_scatter  model  25.2 MB  106 us  (M,K@model)
---           all                    25.2 MB  106 us
--- CuTe: none. MoYe: none.
--- See: Mesh.sharding.
---@param dtype DType
---@param shape Shape|Layout|Tensor|nil
---@param from string|Layout|Sharding
---@param to string|Layout|Sharding
---@param options? table {links = {...}}
---@return Plan
function Mesh:plan(dtype, shape, from, to, options) end

--- Steps from one sharding to another.
--- A step has `op`, `axes`, `from`, `to`, `bytes` and `seconds`. The `op` is all_gather,
--- reduce_scatter, all_reduce, all_to_all, permute, send_recv or local, which sends nothing.
---@class Plan
---@field from Sharding
---@field to Sharding
---@field steps table
---@field bytes integer the most bytes that a device receives in a step, added up over the steps
---@field seconds number the time according to the model
---@field item integer bytes per element
---@field links table the parameters of the model of the links
local Plan = {}

Plan.explain = explain

--- How the modes of a tensor are spread over the axes of a mesh.
--- An axis shards a mode, holds copies (it is replicated) or holds partial sums. A rank's part is
--- compact in the rank's memory and includes the padding. `==` compares shardings: two are equal if
--- they have the same parts, laid out in memory in the same way.
---@class Sharding
---@field mesh Mesh
---@field shape table the extents of the modes
---@field names table a name or false for each mode
---@field modes table factors of each mode, fastest first: {extent =, axis =} or {extent =, pos =}
---@field partial table the axes with partial sums, as keys
---@field order table a pair {mode, factor} for each factor in memory, the fastest first
local Sharding = {}

Sharding.show = show
Sharding.explain = explain
Sharding.svg = svg
Sharding.latex = latex
Sharding.html = html

--- The spec as a string; `m:sharding(s.shape, s:text())` equals s.
---
---     > mesh{data = 2}:sharding({1024}, "(1024):(1)"):text()
---     (_)
---@return string
function Sharding:text() end

--- The layout from coordinates of the padded tensor to memory and axes.
--- Basis 0 is the memory of a part, and basis i is axis i of the mesh.
---
---     > mesh{data = 2}:sharding({1024, 8}, "(M@data,K)"):layout()
---     (M=(512,2),K=8):((1@0,1@1),512@0)
---@return Layout
function Sharding:layout() end

--- The axes that neither shard a mode nor hold partial sums.
---
---     > mesh{data = 2, model = 4}:sharding({1024, 8}, "(M@data,K)"):replicated()
---     {"model"}
---@return table
function Sharding:replicated() end

--- The layout of a part, including its padding.
---
---     > mesh{data = 3}:sharding({1000, 8}, "(M@data,K)"):part_layout()
---     (M=334,K=8):(1,334)
---@return Layout
function Sharding:part_layout() end

--- The layout of the valid elements in a rank's part.
---
---     > mesh{data = 3}:sharding({1000, 8}, "(M@data,K)"):part_view(2)
---     (M=332,K=8):(1,334)
---@param rank integer
---@return Layout
function Sharding:part_view(rank) end

--- The extents of the valid elements in a rank's part; 0 if there are none.
---
---     > mesh{data = 3}:sharding({1000, 8}, "(M@data,K)"):valid(2)
---     {332, 8}
---@param rank integer
---@return table
function Sharding:valid(rank) end

--- The ranks that hold an element, and its offset in the memory of their parts.
---
---     > mesh{data = 2, model = 2}:sharding({1000, 8}, "(M@data,K)"):owner{501, 1}
---     {1, 3}  501
---@param coord Coord
---@return table, integer
function Sharding:owner(coord) end

--- Spreads a tensor over the mesh, like shard(t, spec, m).
---@param t Tensor
---@param spec string|Layout|Sharding
---@return Sharded
function Mesh:shard(t, spec) end

--- Makes a sharded tensor with uninitialised elements.
---
---     > mesh{data = 1}:tensor(f16, {64, 8}, "(M@data,K)").shape
---     (64,8)
---@param dtype DType
---@param shape Shape
---@param spec string|Layout|Sharding
---@return Sharded
function Mesh:tensor(dtype, shape, spec) end

--- Makes a sharded tensor of zeros.
---@param dtype DType
---@param shape Shape
---@param spec string|Layout|Sharding
---@return Sharded
function Mesh:zeros(dtype, shape, spec) end

--- Calls a function once for each rank of this process.
--- The function's argument is the rank (see Rank). The calls run as coroutines: each runs until it
--- waits in a collective. An error in one call ends the others. Mismatched collectives, and ranks
--- that would wait for ever, are errors that name the ranks and their lines. The result is a table
--- of the first result of each call, indexed by rank.
---
---     > d = device"cpu:2"
---     > mesh{data = 2}:run(function(r) return r.coord.data * 10 end)[1]
---     10
--- CuTe: none. MoYe: none.
--- See: Rank, Sharded.part.
---@param fn function
---@return table
function Mesh:run(fn) end
