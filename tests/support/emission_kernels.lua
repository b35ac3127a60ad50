-- emission_kernels.lua: kernels for the tests of the option `emission`, and variants of it.
local configs = require "cuttle.matmul_choice"
local M = {}

M.variants = {
  { registers = 64 }, { registers = 200 }, { planned_registers = 48 }, { usage = 0 },
  { usage = 10 }, { level = 1 }, { level = 2 }, { unroll = 2 }, { unroll = 4 }, { order = 2 },
  { order = 3 }, { order = 4 }, { order = 16 }, { pin = true }, { cutlass = true },
  { registers = 96, usage = 7, level = 2, unroll = 3, order = 6, pin = true, cutlass = true },
}

--- "order=2 pin=true"
function M.text(emission)
  local words = {}
  for name, value in pairs(emission) do words[#words + 1] = name .. "=" .. tostring(value) end
  table.sort(words)
  return table.concat(words, " ")
end

local function random(dtype, shape)
  manual_seed(7)
  return rand(dtype, shape, -1, 1)
end

-- A loop over memory with fragments and two shared arrays; index arithmetic before it.
local function blends(emission)
  local k = kernel("blends", function(x, y, n)
    local a, b, c = fragment(f32, 4), fragment(f32, 4), fragment(i32, 4)
    local s, t = shared(f32, 128), shared(i32, 128)
    local i = blockIdx.x * blockDim.x + threadIdx.x
    local at = threadIdx.x // 8 * 5 + blockIdx.x
    local far = at * 3 + threadIdx.x % 8
    for j = 0, 3 do a[j], b[j], c[j] = x[i] + j, x[(at + j) % size(x)], far - j end
    s[threadIdx.x], t[threadIdx.x] = a[0] * 0.5, far
    sync_threads()
    for r in range(n) do
      for j = 0, 3 do
        a[j] = a[j] * b[j] + s[(far + r) % 128]
        c[j] = c[j] + t[(at + r * far) % 128]
      end
    end
    y[i] = (a[0] + a[1]) + (a[2] + a[3]) + cast(c[0] ~ c[3], f32)
  end, { emission = emission })
  local x, y = random(f32, 256), zeros(f32, 256)
  return { name = "blends", launch = k{ grid = 2, block = 128 }, args = { x, y, 11 }, result = y }
end

-- A loop in a loop, shuffles, and a loop that ends by what it computes.
local function waves(emission)
  local k = kernel("waves", function(x, y)
    local lane, row = threadIdx.x % 32, blockIdx.x * 4 + threadIdx.x // 32
    local most, sum = -3.0e38, 0.0
    for j in range(lane, size(x, 1), 32) do most = max(most, x[{ row, j }]) end
    for step in range(5) do most = max(most, shfl_xor(most, 1 << step)) end
    for j in range(lane, size(x, 1), 32) do
      for _ in range(2) do sum = sum + exp(x[{ row, j }] - most) end
    end
    local left = 40
    while sum > 2.0 and left > 0 do sum, left = sum * 0.75, left - 1 end
    y[{ row, lane }] = sum + left
  end, { emission = emission })
  local x, y = random(f32, row_major{ 8, 200 }), zeros(f32, { 8, 32 })
  return { name = "waves", launch = k{ grid = 2, block = 128 }, args = { x, y }, result = y }
end

local function config_of(name, emission)
  for _, row in ipairs(configs.list) do
    if row.name == name then
      local own = {}
      for key, value in pairs(row) do own[key] = value end
      own.emission = emission
      return own
    end
  end
end

local function product(name, dtype, majors, emission)
  local function operand(is_turned)
    return random(dtype, is_turned and row_major{ 72, 40 } or layout{ 72, 40 })
  end
  local A, B = operand(majors:sub(1, 1) == "T"), operand(majors:sub(2, 2) == "N")
  local C = zeros(dtype, { 72, 72 })
  local _, _, steps = require "cuttle.matmul".prepare(A, B, C,
    { config = config_of(name, emission), split = 1 })
  return { name = name, launch = steps[1].kernel(steps[1].launch), args = steps[1].args,
           result = C }
end

--- The kernels that a GPU of that capability has, each {name =, launch =, args =, result =}. What
--- moves registers between warps takes no limit of them.
function M.kernels(emission, sm)
  local list = { blends(emission), waves(emission) }
  local function add(name, dtype, majors)
    list[#list + 1] = product(name, dtype, majors, emission)
  end
  add("simple 64x64x8", f32, "NT")
  if sm >= 80 then
    add("simt 64x64x16 turned", f32, "TN")
    add("mma 64x64x64", bf16, "TN")
  end
  if sm == 90 then add("hopper 64x64x64", bf16, "TN") end
  return list
end

return M
