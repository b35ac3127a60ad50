-- cuttle check finds nothing in the kernels of matmul: one of each template, type and majorness, with
-- tiles that overhang and a C that is read, a product whose K is split, and products of groups.
local shell = dofile "tests/support/shell.lua"
local script = shell.file [[
package.path = "scripts/bench/?.lua;" .. package.path
local measured = require "configs"
local configs, operator = require "cuttle.matmul_choice", require "cuttle.matmul"
local seen = {}
local function try(row, dtype, a_by_k, b_by_k)
  local m, n, k = row.tile[1] + 3, row.tile[2] - 5, 3 * row.tile[3] - 2
  local A = rand(dtype, a_by_k and row_major{m, k} or layout{m, k})
  local B = rand(dtype, b_by_k and row_major{n, k} or layout{n, k})
  local C = zeros(dtype == i8 and i32 or dtype == tf32 and f32 or dtype, {m, n})
  local key = ("%s %s %s %s"):format(row.template, dtype, a_by_k, b_by_k)
  if seen[key] or not configs.can_compute(row, operator.problem(A, B, C)) then return end
  seen[key] = true
  matmul(A, B, C, {config = measured.by_name(row.name), beta = 1})
end
for _, row in ipairs(measured.all) do
  for _, dtype in ipairs{f32, f16, i8, f64, tf32} do
    for majors = 0, 3 do try(row, dtype, majors % 2 == 1, majors // 2 == 1) end
  end
end
matmul(rand(f32, {100, 512}), rand(f32, {60, 512}), {split = 4})

-- Matrices whose modes are nested.
matmul(rand(f16, L"((13,12),(64,3)):((64,960),(1,960))"), rand(f16, row_major{72, 192}),
  zeros(f16, row_major{156, 72}), {config = "hopper 256x128x64, gather", beta = 1})
for _, row in ipairs{{"mma 64x64x64", f16}, {"simt 64x64x16 turned", f32}, {"cpu 32x32x8", f32}} do
  local A = rand(row[2], L"((13,6),(16,3)):((16,1000),(1,208))")
  local B, C = rand(row[2], row_major{70, 48}), zeros(f32, L"((13,6),(10,7)):((1,130),(13,780))")
  matmul(A, B, C, {config = row[1], beta = 1})
end

-- Those for Hopper with small tiles: more tiles than blocks, and of K than stages.
local function try_hopper(fields)
  local config = {name = "small", template = "cuttle.gemm_hopper", blocks = 2, stages = 2, group = 2,
                  store = {1, 2}, order = "groups"}
  for key, value in pairs(fields) do config[key] = value end
  local A, B = rand(bf16, {200, 192}), rand(bf16, row_major{104, 192})
  matmul(A, B, zeros(f32, row_major{200, 104}), {config = config, bias = rand(f32, 104), beta = 1})
end
local function try_groups(config)
  local A, B, ends = rand(f16, row_major{150, 64}), rand(f16, {72, 64, 3}), from_table(i32, {70, 70, 147})
  matmul(A, B, zeros(f16, row_major{150, 72}), {config = config, groups = ends, beta = 1})
end
try_hopper{schedule = "cooperative", tile = {64, 128, 64}, registers = {40, 232}}
try_hopper{schedule = "ping-pong", tile = {128, 64, 64}, order = "hilbert"}
try_hopper{schedule = "cooperative", tile = {64, 64, 64}, groups = 1, cluster = 2}
try_groups("mma 64x64x64")
try_groups{name = "grouped", template = "cuttle.gemm_hopper", blocks = 2, stages = 2, group = 2,
  store = {1, 2}, order = "groups", schedule = "ping-pong", tile = {64, 64, 64}}
local function try_ended(fields)
  local config = {name = "small", template = "cuttle.gemm_hopper", blocks = 2, stages = 2, group = 2,
                  store = {1, 2}, order = "groups", scaled = true}
  for key, value in pairs(fields) do config[key] = value end
  local A, B = rand(bf16, row_major{200, 192}), rand(bf16, row_major{208, 192})
  matmul(A, B, zeros(bf16, row_major{200, 104}), {config = config, glu = true,
    outputs = {pre = zeros(f32, {200, 104}), peak = {zeros(f32, 200), "row_max"}},
    epilogue = function(gate, up, e)
      e.pre, e.peak = gate, gate
      return max(gate, 0.0) * up
    end})
  config.tile[3] = 128
  local X = reference.cast(rand(f32, 200 * 272), f8e4m3)
  X = view(X, row_major{200, 272})
  matmul(X, X, zeros(bf16, row_major{200, 200}), {config = config, scale_a = ones(f32, {200, 3}),
    scale_b = ones(f32, {2, 3})})
end
try_ended{schedule = "cooperative", tile = {64, 128, 64}}
try_ended{schedule = "ping-pong", tile = {128, 64, 64}}

-- An early launch reads no scales while the launch before still writes them.
do
  local config = {name = "early", template = "cuttle.gemm_hopper", schedule = "cooperative", stages = 2,
                  store = {1, 2}, tile = {64, 128, 128}, order = "groups", group = 2, blocks = 2,
                  scaled = true, pdl = true}
  local X = view(reference.cast(rand(f32, 72 * 256), f8e4m3), row_major{72, 256})
  local scales, C = tensor(f32, {72, 2}), zeros(bf16, row_major{72, 72})
  local multiply = operator.prepare(X, X, C, {config = config, scale_a = scales, scale_b = scales})
  kernel("fill", function(s) s[threadIdx.x] = 1 end){grid = 1, block = 144}(scales)
  multiply()
end

-- Packed weights: blocks with two tiles, whose passes are one, two and three. Here 132 blocks stay.
local packed = require "cuttle.packed_weights"
local weight = packed.pack_weights(reference.cast(rand(i32, {768, 64}, 0, 15), u8),
  {type = "u4", scales = reference.cast(rand(f32, {768, 1}), bf16)})
local function try_packed(columns, groups, schedule)
  local rows = columns * (schedule and 24 or 12)
  local X = view(reference.cast(rand(f32, rows * 64), bf16), row_major{rows, 64})
  matmul(X, weight, zeros(bf16, row_major{rows, 768}),
    {config = {columns = columns, groups = groups, schedule = schedule, stages = 2, depth = 2}})
end
for _, columns in ipairs{16, 96} do try_packed(columns, 1) end
for _, columns in ipairs{32, 64, 96} do try_packed(columns, 2, "ping-pong") end
]]
local pipe = assert(io.popen(("CUTTLE_DEVICE=cpu '%s' check %s 2>&1"):format(arg[-1], script)))
io.write(pipe:read("a"))  -- expect: check: no finding in 67 launches
pipe:close()
os.remove(script)
