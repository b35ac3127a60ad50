-- Shipped rows of matmul for f32 on CUDA cores, by name: sizes that no tile divides, alpha and beta, a C with
-- other strides whose gaps stay, and K in parts. All compared with reference.matmul.
local tap = dofile "tests/support/tap.lua"

local function operand(rows, k, by_rows)
  return rand(f32, by_rows and row_major{ rows, k } or layout{ rows, k }, -1, 1)
end

local function check(name, majors, m, n, k, split)
  manual_seed(m + n + k)
  local A, B = operand(m, k, majors:sub(1, 1) == "T"), operand(n, k, majors:sub(2, 2) == "N")
  local memory, start, product = rand(f32, { m + 3, n }, -1, 1), zeros(f32, { m + 3, n }),
    zeros(f32, { m, n })
  copy(memory, start)
  local C = view(memory, layout({ m, n }, { 1, m + 3 }))
  matmul(A, B, C, { config = name, alpha = 2, beta = 0.5, split = split or 1 })
  reference.matmul(A, B, product)
  memory, start, product = memory:to("cpu"), start:to("cpu"), product:to("cpu") -- read one by one
  local worst, is_kept = 0, true
  for j = 0, n - 1 do
    for i = 0, m - 1 do
      local want = 2 * product[{ i, j }] + 0.5 * start[{ i, j }]
      worst = math.max(worst, math.abs(memory[{ i, j }] - want))
    end
    for i = m, m + 2 do is_kept = is_kept and memory[{ i, j }] == start[{ i, j }] end
  end
  tap.ok(worst <= 1e-5 + k * 2 ^ -21 and is_kept, ("%s, %s %dx%dx%d"):format(name, majors, m, n, k))
end

check("simt 256x128x16", "NT", 259, 131, 37)
check("simt 128x128x16 turned", "TN", 131, 130, 53)
check("simt 128x128x16 turned", "TN", 128, 128, 5)
check("simt 128x128x8 turned, 200 registers", "TN", 129, 135, 29)
check("simt 128x64x16 turned, pinned", "NN", 133, 67, 45)
check("simt 128x64x32 turned, 2 slices", "TN", 131, 69, 101)
check("simt 128x64x32 turned, 2 slices", "TN", 128, 64, 7)
check("simt 128x128x8 turned", "TN", 131, 65, 208, 16)
check("dots 32x16x32", "TN", 67, 9, 76)
check("dots 64x64x32", "TN", 32, 16, 640)
check("dots 16x32x32", "TN", 9, 67, 4)
check("dots 16x32x32", "TN", 16, 32, 576)
check("dots 32x32x32", "TN", 33, 65, 36)
check("dots 64x32x32", "TN", 65, 33, 128, 4)

-- What a row says of its shared memory is what its kernel has.
local configs, operator = require "cuttle.matmul_choice", require "cuttle.matmul"
local takes_f32 <const> = { ["cuttle.gemm_simt"] = true, ["cuttle.gemm_dots"] = true }
for _, row in ipairs(configs.list) do
  if takes_f32[row.template] then
    local majors = next(row.majors)
    local A, B = operand(64, 64, majors:sub(1, 1) == "T"), operand(64, 64, majors:sub(2, 2) == "N")
    local _, _, steps = operator.prepare(A, B, zeros(f32, { 64, 64 }), { config = row, split = 1 })
    local info = steps[1].kernel(steps[1].launch):info(table.unpack(steps[1].args))
    local says = require(row.template).shared_bytes(row, f32, majors)
    tap.is(says, info.shared_bytes, row.name .. ": shared memory")
  end
end
tap.done()
