-- A cooperative launch is counted as an ordinary one, although its blocks run in turns.
device("cpu")
package.path = "tests/support/?.lua;" .. package.path
local internal = require "internal"
local begin = internal.watch.profile_begin
local limit -- how many blocks are counted
internal.watch.profile_begin = function() return begin(0, limit) end -- no CUDA C is kept

-- Reads of sectors that blocks share, and of a column far away; writes of the block's own.
local mixed = kernel("mixed", function(x, y)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  local s = shared(f32, 64)
  s[threadIdx.x] = x[i % 96] + x[(i * 8) % size(x)]
  sync_threads()
  for k in range(3) do y[i] = s[63 - threadIdx.x] + k end
end)

-- All that was counted, as text. Patterns come in any order.
local function text(v)
  if type(v) ~= "table" then return type(v) == "function" and "f" or tostring(v) end
  local keys, parts = {}, {}
  for k in pairs(v) do keys[#keys + 1] = k ~= "patterns" and tostring(k) or nil end
  table.sort(keys)
  for _, k in ipairs(keys) do
    parts[#parts + 1] = k .. "=" .. text(v[k] == nil and v[tonumber(k)] or v[k])
  end
  return "{" .. table.concat(parts, ",") .. "}"
end

local x = rand(f32, 4096)
local function counted(cooperative, blocks)
  local report = profile(function()
    mixed{grid = blocks, block = 64, cooperative = cooperative}(x, zeros(f32, blocks * 64))
  end)
  return text(report.kernels)
end
for _, blocks in ipairs{1, 2, 33, 200} do
  print(blocks, counted(true, blocks) == counted(false, blocks))
end
-- expect: 1	true
-- expect: 2	true
-- expect: 33	true
-- expect: 200	true
local all = counted(true, 200)
limit = 7
print(counted(true, 200) == counted(false, 200), counted(true, 200) == all)
-- expect: true	false
