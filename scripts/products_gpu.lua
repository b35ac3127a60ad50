-- products_gpu.lua: products that a GPU takes by wgmma, beside the plain kernel, whole and bit for
-- bit: elements are small integers, so each sum is exact. Every type and majorness; few rows; many
-- batches; f8 with scales of all kinds, which are powers of two. About two minutes on an H200.
--   cuttle scripts/products_gpu.lua [WORD...]
-- takes the problems whose lines have each of the words. On the CPU engine all are small. Prints a
-- line for each, with its configuration; the exit code is 1 if one is wrong.
package.path = "scripts/bench/?.lua;" .. package.path
local data = require "data"
local operator = require "cuttle.matmul"
local is_small <const> = not device().sm
local PLAIN <const> = is_small and "cpu 32x32x8" or "simple 64x64x16"
local BLOCK <const> = 128

-- Calls f(i) for all of a thread's part of n elements.
local function each(n, f)
  for i in range(blockIdx.x * blockDim.x + threadIdx.x, n, gridDim.x * blockDim.x) do f(i) end
end

local round_kernel = kernel("round", function(x, whole)
  each(size(x), function(i) whole[i] = cast(min(max(x[i], -2.0), 2.0), i32) end)
end)
local into_kernel = kernel("into", function(whole, t)
  each(size(whole), function(i)
    t[i] = cast(t.dtype == u8 and abs(whole[i]) or whole[i], t.dtype)
  end)
end)
local launch <const> = { grid = 512, block = 256 }

-- Integers from -2 to 2, of u8 from 0.
local function small(dtype, rows, depth, l, by_k, seed)
  local n = rows * depth * l
  local x, whole, t = data.normal(f32, n, seed), tensor(i32, n), tensor(dtype, n)
  round_kernel(launch)(x, whole)
  into_kernel(launch)(whole, t)
  x:close()
  whole:close()
  local strides = by_k and { depth, 1, rows * depth } or { 1, rows, rows * depth }
  return view(t, layout({ rows, depth, l }, strides))
end

local powers_kernel = kernel("powers", function(x)
  each(size(x), function(i)
    x[i] = where(i % 3 == 0, f32(0.5), where(i % 3 == 1, f32(1.0), f32(2.0)))
  end)
end)
local function scales(extents)
  local x = tensor(f32, layout(extents))
  powers_kernel(launch)(x)
  return x
end

local scales_of <const> = {
  rows = function(m, n) return scales { m }, scales { n } end,
  ["1x128 by 128x128"] = function(m, n, deep)
    return scales { m, deep }, scales { cdiv(n, BLOCK), deep }
  end,
  ["1x128 by 1x128"] = function(m, n, deep) return scales { m, deep }, scales { n, deep } end,
}

local failed, n_problems = 0, 0

local function line_of(p)
  return ("%s %s %dx%dx%d%s, C %s%s"):format(p.dtype, p.majors, p.m, p.n, p.k,
    p.l > 1 and " x " .. p.l or "", p.out, p.scaled and ", scales of " .. p.scaled or "")
end

local function wanted(line)
  for _, word in ipairs(arg) do
    if not line:find(word, 1, true) then return false end
  end
  return true
end

local function try(p)
  p.l = p.l or 1
  if is_small then p.m, p.n, p.k, p.l = min(p.m, 136), min(p.n, 144), min(p.k, 272), min(p.l, 3) end
  local line = line_of(p)
  if not wanted(line) then return end
  n_problems = n_problems + 1
  local A = small(p.dtype, p.m, p.k, p.l, p.majors:sub(1, 1) == "T", 1)
  local B = small(p.dtype, p.n, p.k, p.l, p.majors:sub(2, 2) == "N", 2)
  local extents, strides = { p.m, p.n, p.l }, { p.n, 1, p.m * p.n }
  local C = tensor(p.out, layout(extents, strides))
  local want = tensor(p.out, layout(extents, strides))
  local how = { config = p.config }
  if p.scaled then how.scale_a, how.scale_b = scales_of[p.scaled](p.m, p.n, cdiv(p.k, BLOCK)) end
  data.poison(C)
  local _, name = operator.prepare(A, B, C, how)
  matmul(A, B, C, how)
  how.config = PLAIN
  matmul(A, B, want, how)
  local unequal = data.compare(C, want).unequal
  failed = failed + (unequal == 0 and 0 or 1)
  print(("%s - %s by %s%s"):format(unequal == 0 and "ok" or "not ok", line, name,
    unequal == 0 and "" or (": %d differ"):format(unequal)))
  for _, t in ipairs { A, B, C, want } do t:close() end
end

local majors <const> = { "TN", "NT", "NN", "TT" }
local types <const> = { { tf32, f32 }, { i8, i32 }, { u8, i32 }, { f8e4m3, bf16 },
                        { f8e5m2, f32 }, { bf16, bf16 }, { f16, f32 } }
for _, t in ipairs(types) do
  for _, major in ipairs(majors) do
    try { dtype = t[1], out = t[2], majors = major, m = 2048, n = 2048, k = 1024 }
    try { dtype = t[1], out = t[2], majors = major, m = 1040, n = 4112, k = 528 }
  end
  for _, m in ipairs { 16, 32, 48, 64, 96, 128 } do
    try { dtype = t[1], out = t[2], majors = "TN", m = m, n = 4096, k = 2048 }
  end
  for _, l in ipairs { 24, 300 } do
    try { dtype = t[1], out = t[2], majors = "TN", m = 512, n = 384, k = 256, l = l }
  end
end
for _, m in ipairs { 128, 1024, 4096 } do
  for name in pairs(scales_of) do
    try { dtype = f8e4m3, out = bf16, majors = "TN", m = m, n = 2048, k = 1152, scaled = name }
  end
end
print(("%d products, %d wrong"):format(n_problems, failed))
os.exit(failed == 0, true)
