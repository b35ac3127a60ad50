-- The figures of `profile` are what Nsight Compute counted on a GPU (tests/profile/README.md), kernel by
-- kernel. Copies that are cp.async there are loads and stores here.
device("cpu")
package.path = "tests/support/?.lua;" .. package.path
local internal = require "internal"
local begin = internal.watch.profile_begin
internal.watch.profile_begin = function(_, ...) return begin(0, ...) end -- no CUDA C is kept: nothing to compile
local counted, n_values = {}, 0
for row in io.lines("tests/profile/counters.csv") do
  local kernel, metric, value = row:match("^([%w_]+),([%w_]+)%.sum,(%d+)$")
  if kernel then
    counted[kernel] = counted[kernel] or setmetatable({}, { __index = function() return 0 end })
    counted[kernel][metric] = tonumber(value)
    n_values = n_values + 1
  end
end
print(n_values > 170) -- expect: true

local LSU <const> = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_"
local CONFLICTS <const> = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_"
local GLOBAL <const> = "l1tex__t_%s_pipe_lsu_mem_global_op_%s"

-- totals of profile -> what the counters say.
local expected = {
  global_load_requests = function(c) return c[GLOBAL:format("requests", "ld")] end,
  global_load_sectors = function(c) return c[GLOBAL:format("sectors", "ld")] end,
  global_store_requests = function(c) return c[GLOBAL:format("requests", "st")] end,
  global_store_sectors = function(c) return c[GLOBAL:format("sectors", "st")] end,
  shared_load_wavefronts = function(c) return c[LSU .. "ld"] end,
  shared_load_conflicts = function(c) return c[CONFLICTS .. "ld"] end,
  shared_store_wavefronts = function(c)
    return c[LSU .. "st"] + c.smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts
  end,
  shared_store_conflicts = function(c) return c[CONFLICTS .. "st"] + c[CONFLICTS .. "ldgsts"] end,
  shared_store_requests = function(c)
    return c.smsp__inst_executed_op_shared_st + c.smsp__inst_executed_op_ldgsts
  end,
  fma = function(c) return c.smsp__sass_thread_inst_executed_op_ffma_pred_on end,
}

-- The counter of instructions that load from shared memory counts more than these where there is cp.async.
local function add_loads(c)
  if c.smsp__inst_executed_op_ldgsts == 0 then
    return c.smsp__inst_executed_op_shared_ld
  end
end

local p = profile(function() dofile("tests/profile/kernels.lua") end)
local n_kernels = 0
for _, k in ipairs(p.kernels) do
  local c = counted[k.name]
  n_kernels = n_kernels + 1
  for field, of in pairs(expected) do
    local got = k.totals[field]
    if got ~= of(c) then print(("%s: %s is %s, the GPU's %s"):format(k.name, field, got, of(c))) end
  end
  local loads = add_loads(c)
  if loads and loads ~= k.totals.shared_load_requests then
    print(("%s: shared_load_requests is %s, the GPU's %s"):format(k.name,
      k.totals.shared_load_requests, loads))
  end
end
print(n_kernels) -- expect: 26
