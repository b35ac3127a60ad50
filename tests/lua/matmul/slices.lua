-- gemm_simt: blocks whose warps are in slices of K, fragments of B that are read first, and emission
-- in a configuration, all compared with plain loops; sizes that no tile divides.
local tap = dofile "tests/support/tap.lua"

local function config(fields)
  local row = { name = "test", device = "cuda", template = "cuttle.gemm_simt", sm = 80,
                types = { f32 = true }, lanes = { 8, 4 }, min_blocks = 1, order = "n2 ~m n",
                stages = 3 }
  for key, value in pairs(fields) do row[key] = value end
  return row
end

local function check(name, majors, m, n, k, options)
  manual_seed(m + n + k)
  local function operand(rows, by_rows)
    return rand(f32, by_rows and row_major{ rows, k } or layout{ rows, k }, -1, 1)
  end
  local A, B = operand(m, majors:sub(1, 1) == "T"), operand(n, majors:sub(2, 2) == "N")
  local C, want = full(f32, { m, n }, 2), zeros(f32, { m, n })
  matmul(A, B, C, options)
  reference.matmul(A, B, want)
  local tolerance = { rtol = 1e-5, atol = k * 2 ^ -22 }
  tap.ok(allclose(C, want, tolerance), ("%s, %s %dx%dx%d"):format(name, majors, m, n, k))
  return C
end

local two = config{ tile = { 64, 64, 16 }, warps = { 1, 2 }, slices = 2, turn = "async" }
local four = config{ tile = { 64, 64, 32 }, warps = { 1, 2 }, slices = 4, turn = "async" }
local tall = config{ tile = { 128, 64, 16 }, warps = { 2, 2 }, slices = 2, turn = "async",
                     emission = { unroll = 2, order = 2 } }
for _, majors in ipairs{ "TN", "NT", "NN", "TT" } do
  check("2 slices", majors, 70, 66, 50, { config = two })
  check("4 slices", majors, 64, 64, 96, { config = four })
end
check("2 slices of 128x64", "TN", 130, 70, 64, { config = tall })
check("2 slices, one tile of K", "TN", 64, 64, 3, { config = two })
check("2 slices, K by 2", "TN", 64, 128, 128, { config = two, split = 2 })

-- beta, and a bias: only the first slice finishes C
local A, B, C = ones(f32, { 64, 16 }), ones(f32, { 64, 16 }), full(f32, { 64, 64 }, 3)
matmul(A, B, C, { config = two, alpha = 2, beta = 1, bias = arange(f32, 64) })
tap.is(C[{ 5, 7 }], 2 * 16 + 3 + 7, "alpha, beta and bias are applied once")

-- the order of reads is none of the sums'
local plain = { tile = { 64, 64, 16 }, warps = { 1, 2 }, turn = "async" }
local first = check("A first", "TN", 64, 64, 80, { config = config(plain) })
plain.loads = "ba"
local second = check("B first", "TN", 64, 64, 80, { config = config(plain) })
tap.ok(allclose(first, second, { rtol = 0, atol = 0 }), "which is read first changes no bit")
tap.done()
