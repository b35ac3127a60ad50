-- Every MMA atom with scales: a tiled MMA of two warps partitions operands and scales, and the
-- product of small numbers is the exact one. Numbers of 4 bits lie in memory two a byte.
-- needs sm_120a
local here = device().sm and "cuda" or "cpu"
local n_run, n_wrong = 0, 0

local function filled(dtype, rows, columns, value)
  local t = zeros(dtype, row_major { rows, columns })
  for i = 0, rows - 1 do
    for j = 0, columns - 1 do t[{ i, j }] = value(i, j) end
  end
  return t
end

local function multiply(mma, A, SFA, B, SFB, C)
  kernel("scaled", function(a, sfa, b, sfb, c)
    local thr = mma:get_slice(threadIdx.x)
    local gA, gB, gC = thr:partition_A(a), thr:partition_B(b), thr:partition_C(c)
    local rA, rB, rC = thr:fragment_A(gA), thr:fragment_B(gB), thr:fragment_C(gC)
    local rSFA, rSFB = thr:partition_fragment_SFA(sfa), thr:partition_fragment_SFB(sfb)
    copy(gA, rA)
    copy(gB, rB)
    copy(thr:partition_SFA(sfa), rSFA)
    copy(thr:partition_SFB(sfb), rSFB)
    clear(rC)
    gemm(mma, { rA, rSFA }, { rB, rSFB }, rC)
    copy(rC, gC)
  end, { static_shapes = true }) { grid = 1, block = mma.threads }(A, SFA, B, SFB, C)
end

-- Rows of numbers times their scales.
local function scaled(t, scales, V)
  local numbers, by = t:totable(), scales:totable()
  for i, row in ipairs(numbers) do
    for k, x in ipairs(row) do row[k] = x * by[i][(k - 1) // V + 1] end
  end
  return numbers
end

local function is_right(a, A, SFA, B, SFB, C)
  local x, y = scaled(A, SFA, a.sf_vec_size), scaled(B, SFB, a.sf_vec_size)
  for i, got in ipairs(C:totable()) do
    for j, b in ipairs(y) do
      local sum = 0
      for k, v in ipairs(x[i]) do sum = sum + v * b[k] end
      if sum ~= got[j] then return print(a.name, i - 1, j - 1, sum, got[j]) end
    end
  end
  return true
end

for _, name in ipairs(atoms { family = "mma.sync" }) do
  local a = atom(name)
  if a.sf_vec_size then
    local mma = tiled_mma(a, { 2, 1 })
    local M, N, K, V = 32, 16, 2 * a.shape[3], a.sf_vec_size
    local A = filled(a.dtypes.a, M, K, function(i, k) return ((7 * i + 3 * k) % 13 - 6) / 2 end)
    local B = filled(a.dtypes.b, N, K, function(j, k) return ((5 * j + 11 * k) % 13 - 6) / 2 end)
    local SFA = filled(a.dtypes.sfa, M, K // V, function(i, k) return 2.0 ^ ((i + k) % 5 - 2) end)
    local SFB = filled(a.dtypes.sfb, N, K // V, function(j, k)
      return 2.0 ^ ((3 * j + k) % 5 - 2)
    end)
    local C = zeros(f32, row_major { M, N }):to(here)
    multiply(mma, A:to(here), SFA:to(here), B:to(here), SFB:to(here), C)
    n_run = n_run + 1
    n_wrong = n_wrong + (is_right(a, A, SFA, B, SFB, C:to "cpu") and 0 or 1)
  end
end
print(n_run, n_wrong)  -- expect: 27	0

-- A scale that is no number (255) makes its row NaN; one of another row does not.
local mma = tiled_mma "SM120_16x8x32_TN_VS<f8e4m3,f8e4m3,f32,f8ue8m0,32>"
local A = filled(f8e4m3, 16, 32, function() return 1 end)
local B = filled(f8e4m3, 8, 32, function(j) return j end)
local SFA, SFB = filled(f8ue8m0, 16, 1, function(i) return i == 3 and 0 / 0 or 2 end),
  filled(f8ue8m0, 8, 1, function() return 0.5 end)
local C = zeros(f32, row_major { 16, 8 }):to(here)
multiply(mma, A:to(here), SFA:to(here), B:to(here), SFB:to(here), C)
C = C:to "cpu"
print(C[{ 3, 0 }] ~= C[{ 3, 0 }], C[{ 4, 2 }])  -- expect: true	64.0

-- Layouts of a tiled MMA: from (thread, value) to (row, block).
print(tiled_mma("SM120_16x8x64_TN_VS<f4e2m1,f4e2m1,f32,f8ue4m3,16>"):tv_layout_SFA())
-- expect: ((2,2,8),(4,(1,1))):((8,0,1),(16,(0,0)))
print(mma:partition_shape_SFB { 16, 2 }, mma:thrfrg_SFB(L"(8,1)"))
-- expect: (1,2,2)	(((4,8),(1,1)),(1,(1,1))):(((0,1),(0,0)),(0,(0,0)))
