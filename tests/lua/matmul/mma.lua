-- The kernel of matmul for tensor cores, on K of more tiles than its ring has stages: all its types and
-- majornesses, sizes that the tiles divide and others, batches, alpha, beta, C by rows and by columns, C
-- that goes through shared memory in parts. Elements are small integers, so every sum is exact.
-- On a GPU with --device=cuda: it needs sm_80.
local sm = device().sm
if sm and sm < 80 then
  print("done")
  return
end
local here = zeros(f32, 1).device

local function small(dtype, l)
  local lo = dtype == u8 and 0 or -2
  return view(reference.cast(rand(i32, cosize(l), lo, 2):to("cpu"), dtype):to(here), l)
end

local function operand(dtype, rows, depth, n, by_k, pad)
  local ld = (by_k and depth or rows) + pad
  local stride = by_k and { ld, 1, ld * rows } or { 1, ld, ld * depth }
  return small(dtype, layout({ rows, depth, n }, stride))
end

local function wrong_element(p, before)
  for l = 0, size(p.C, 2) - 1 do
    local R = reference.matmul(reference.cast(p.A(_, _, l), f64), reference.cast(p.B(_, _, l), f64))
      :to("cpu")
    for i = 0, size(R) - 1 do
      local m, n = i % size(R, 0), i // size(R, 0)
      local want = p.alpha * R[{ m, n }] + p.beta * before[{ m, n, l }]
      if p.C[{ m, n, l }] ~= want then
        return ("(%d,%d,%d) is %s, expected %s"):format(m, n, l, p.C[{ m, n, l }], want)
      end
    end
  end
end

local function try(dtype, out, config, a_by_k, b_by_k, ragged)
  local bM, bN, bK = table.unpack(config.tile)
  local off = ragged and 1 or 0
  local m, n, k = bM * 2 - 9 * off, bN - 5 * off, bK * (config.stages + 1) - 3 * off
  local p = { A = operand(dtype, m, k, 2, a_by_k, off), B = operand(dtype, n, k, 2, b_by_k, 0),
              C = small(out, ragged and row_major{ 2, m, n } or layout{ m, n, 2 }),
              alpha = ragged and 2 or 1, beta = ragged and 1 or 0 }
  if ragged then p.C = select(p.C, 1, 2, 0) end
  local before = reference.cast(p.C, f64):to("cpu")
  config.name, config.template = "tried", "cuttle.gemm_mma"
  matmul(p.A, p.B, p.C, { config = config, alpha = p.alpha, beta = p.beta })
  p.C = p.C:to("cpu") -- read one by one below
  local wrong = wrong_element(p, before)
  if wrong then
    print(dtype, out, p.A.layout, p.B.layout, p.C.layout, wrong)
  end
end

local cases = {
  { f16, f16, { tile = { 32, 32, 32 }, warps = { 1, 1 }, stages = 3 } },
  { f16, f32, { tile = { 64, 32, 64 }, warps = { 2, 1 }, stages = 2 } },
  { f16, f16, { tile = { 32, 64, 32 }, warps = { 1, 2 }, stages = 4, sums = "f16" } },
  { bf16, f64, { tile = { 32, 64, 32 }, warps = { 1, 1 }, stages = 2 } },
  { tf32, f32, { tile = { 32, 32, 32 }, warps = { 1, 1 }, stages = 3 } },
  { i8, i32, { tile = { 32, 32, 64 }, warps = { 1, 1 }, stages = 3 } },
  { u8, i32, { tile = { 64, 64, 64 }, warps = { 2, 2 }, stages = 3 } },
}
for _, case in ipairs(cases) do
  local dtype, out, config = table.unpack(case)
  for majors = 0, 3 do
    for ragged = 0, 1 do
      local own = {}
      for key, value in pairs(config) do own[key] = value end
      try(dtype, out, own, majors % 2 == 0, majors // 2 == 0, ragged == 1)
    end
  end
end
print("done")  -- expect: done
