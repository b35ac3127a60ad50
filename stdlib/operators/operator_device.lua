-- operator_device.lua: where an operator's kernels run: for which target they are written, and
-- memory on the device of its arguments. `place` is a tensor's device, "cpu" or "cuda:0".
local internal = ...
local memo = require "cuttle.memo"
local M = {}

local MULTIPROCESSORS <const> = 132 -- of a target that is not there: an H200's

--- What kernels are written for: the compute capability `sm`, 0 on the CPU engine; bytes of shared
--- memory of a block; n_sms and name of the device, if there is one. Of a text that is written for
--- another device (`cuttle emit`, export) they are those of that one.
function M.target(place)
  local emit_sm, _, emit_bytes = internal.launch.emit_sm()
  if emit_sm then return { sm = emit_sm, shared = emit_bytes, n_sms = MULTIPROCESSORS } end
  local device = place ~= "cpu" and device() or {}
  return { sm = device.sm or 0, shared = device.shared_bytes or math.huge, n_sms = device.n_sms,
           name = device.sm and device.name }
end

-- A block of it leaves a multiprocessor no room for another one.
local alone = kernel("alone", function(x)
  local all = shared(f32, 32768)
  all[threadIdx.x] = 0
  x[0] = all[0]
end)

--- How many clusters of n blocks run at once, if a multiprocessor holds one block: fewer than it
--- has room for, where groups of neighbouring multiprocessors are no multiples of n.
M.clusters = memo.by_arguments(function(place, n)
  local target, found = M.target(place), nil
  if target.name then
    found = alone { grid = n, block = 1024, cluster = n }:info(M.new(place, f32, 1))
  end
  return found and found.active_clusters or (target.n_sms or MULTIPROCESSORS) // n
end)

--- The tensor, or a copy on the device `place`.
function M.bring(place, t) return t.device == place and t or t:to(place) end

--- A new tensor on the device `place`.
function M.new(place, dtype, layout) return M.bring(place, tensor(dtype, layout)) end

-- While M.within runs: `work`, the memory of scratch tensors, or nil; how many f32 of it are `used`
-- now, and at `most`; the `place` of the last one.
local room

-- Scratch tensors begin at multiples of so many f32, for TMA and wide copies.
local ALIGNED <const> = 64

local function part_of(work, first, n, dtype, l)
  local elements = recast(slice(work, first, first + n), dtype)
  return view(slice(elements, 0, cosize(l)), l)
end

--- A new tensor that an operator needs beside its results, a part of the memory of M.within.
function M.scratch(place, dtype, l)
  l = layout(l)
  if not room then return M.new(place, dtype, l) end
  room.place = place
  local first, n = room.used, cdiv(cosize(l) * dtype.bytes, 4 * ALIGNED) * ALIGNED
  room.used = first + n
  room.most = math.max(room.most, room.used)
  local fits = n > 0 and room.work and room.work.device == place
    and room.used <= size(room.work)
  return fits and part_of(room.work, first, n, dtype, l) or M.new(place, dtype, l)
end

--- Calls f(...), and lets what it makes by M.scratch share memory with what is made later.
function M.released(f, ...)
  local used = room and room.used
  local results = table.pack(f(...))
  if room then room.used = used end
  return table.unpack(results, 1, results.n)
end

--- {most =, place =} of the scratch tensors of f(...): how many f32 of memory they take, and on
--- which device, nil if there are none; then its results. The memory is `work`, adjacent f32, as
--- far as it goes; nil: each has its own.
function M.within(work, f, ...)
  local outer, own = room, { work = work, used = 0, most = 0 }
  room = own
  local results = table.pack(pcall(f, ...))
  room = outer
  if not results[1] then error(results[2], 0) end
  return own, table.unpack(results, 2, results.n)
end

--- n words that are 0 at once, also while a graph is recorded: zeros would be when it runs, and
--- other launches may come before.
function M.zero_words(place, n)
  if not device().sm then return zeros(u32, n) end
  local list = {}
  for i = 1, n do list[i] = 0 end
  return internal.launch.table_on(u32, list, nil, place)
end

return M
