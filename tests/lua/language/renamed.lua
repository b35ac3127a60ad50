-- Names that the language had before 0.1: an uncaught message says the name of today. The messages
-- are made by `cuttle` itself. A script may use the old names for its own variables.
local ct = require "cuttle"
local renamed = require "cuttle.renamed"
local cuttle = arg[-1]

-- The message of each input to one prompt, without its place and what they have in common.
local function prompt(inputs)
  local text = table.concat(inputs, "\n")
  local pipe <close> = assert(io.popen(("printf '%%s\\n' '%s' | '%s' 2>&1"):format(text, cuttle)))
  for line in pipe:lines() do
    line = line:match "^input %d+:1: (.*)"
    if line then print((line:gsub("^attempt to call a nil value ", ""))) end
  end
end

prompt {
  "any(true)",                 -- expect: (global 'any'); any is named vote_any since 0.1
  "cluster_sync()",            -- expect: (global 'cluster_sync'); cluster_sync is named sync_cluster since 0.1
  "exp2_approx(1)",            -- expect: (global 'exp2_approx'); exp2_approx is named fast.exp2 since 0.1
  "close(zeros(i32, 4))",      -- expect: (global 'close'); close is a method since 0.1: write x:close()
  'local c = require "cuttle" c.seed(1)',  -- expect: (field 'seed'); seed is named manual_seed since 0.1
  'L"(2,3)":mode(1)',          -- expect: a layout has no field 'mode'; mode is named get_mode since 0.1
  "zeros(i32, {2, 3}):group(0, 2)",        -- expect: a tensor has no field 'group'; group is named group_modes since 0.1
  'tiled_mma("SM80_16x8x16_F32F16F16F32_TN"):get_thread_slice(0)',
  -- expect: a tiled_mma has no field 'get_thread_slice'; get_thread_slice is named get_slice since 0.1
  'kernel("k", function(x) grid_barrier() end){grid = 1, block = 1}(zeros(i32, 4))',
  -- expect: (global 'grid_barrier'); grid_barrier is named sync_grid since 0.1
  "local t = {} t.seed(1)",    -- expect: (field 'seed')
}

-- A script's own variables of these names, local or global, on the host and in kernels.
local function close(x) return x + 1 end
any, mode = function(x) return x > 2 end, 7 -- luacheck: ignore 111
local k = kernel("own", function(x)
  x[threadIdx.x] = where(any(x[threadIdx.x]), close(1), mode) -- luacheck: ignore 113
end)
local x = arange(i32, 4)
k{grid = 1, block = 4}(x)
print(x[0], x[3], close(1))    -- expect: 7	2	2

-- No old name is a name of today, and each name of today exists.
local n = 0
for name, now in pairs(renamed.functions) do
  local value = ct
  for part in now:gmatch "[%w_]+" do value = value[part] end
  assert(ct[name] == nil and type(value) == "function", name)
  n = n + 1
end
for name in pairs(renamed.calls) do
  assert(ct[name] == nil, name)
  n = n + 1
end
print(n)                       -- expect: 17
