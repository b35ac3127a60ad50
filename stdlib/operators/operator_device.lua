-- operator_device.lua: where an operator's kernels run: for which target they are written, and
-- memory on the device of its arguments. `place` is a tensor's device, "cpu" or "cuda:0".
local internal = ...
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

--- The tensor, or a copy on the device `place`.
function M.bring(place, t) return t.device == place and t or t:to(place) end

--- A new tensor on the device `place`.
function M.new(place, dtype, layout) return M.bring(place, tensor(dtype, layout)) end

--- n words that are 0 at once, also while a graph is recorded: zeros would be when it runs, and
--- other launches may come before.
function M.zero_words(place, n)
  if not device().sm then return zeros(u32, n) end
  local list = {}
  for i = 1, n do list[i] = 0 end
  return internal.launch.table_on(u32, list, nil, place)
end

return M
