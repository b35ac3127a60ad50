-- matmul of operands with scales of 16 or 32 elements of K, MXFP8, MXFP4 and NVFP4, by
-- gemm_tcgen05.lua on the CPU engine, and of MXFP8 by the plain template, against the reference in
-- double precision of what the quantisers made; what is chosen for each target, and its instructions.
-- needs sm_100a
local tap = dofile "tests/support/tap.lua"
local compiled = dofile "tests/support/compiled.lua"
local shell = dofile "tests/support/shell.lua"
local rows = require "cuttle.rows"

local function nvfp4(x)
  local global = rows.nvfp4_global(x)
  local q, scale = rows.quantize_nvfp4(x, global)
  return q, scale, global[0]
end

local spread = kernel("spread", function(q, scale, out, block)
  local i = blockIdx.x
  for j = threadIdx.x, size(q, 1) - 1, 32 do
    out[{i, j}] = f32(q[{i, j}]) * f32(scale[{i, j // block}])
  end
end)

-- What a quantised matrix is, in f32, which has each product exactly.
local function in_f32(q, scale, block)
  local out = zeros(f32, row_major{ size(q, 0), size(q, 1) })
  spread{ grid = size(q, 0), block = 32 }(q, scale, out, block)
  return out
end

local function compare(what, quantize, block, m, n, k, config, out, options)
  local A, sa, ga = quantize(randn(f32, row_major{ m, k }))
  local B, sb, gb = quantize(randn(f32, row_major{ n, k }))
  local how = { config = config, scale_a = sa, scale_b = sb, alpha = (ga or 1) * (gb or 1) }
  for name, value in pairs(options or {}) do how[name] = value end
  local C = matmul(A, B, out, how)
  local want = reference.matmul(in_f32(A, sa, block), in_f32(B, sb, block))
  for i = 0, size(want) - 1 do want[i] = want[i] * how.alpha end
  local close = { rtol = C.dtype.bits == 16 and 8e-3 or 1e-5, atol = 1e-4 }
  local ok, why = allclose(C, want, close)
  tap.ok(ok, ("%s, %dx%dx%d, %s"):format(what, m, n, k, config or "by the rule"), why)
  return A, sa, B, sb, C
end

-- {====== Products ======

local mxfp8 <const>, fp4 <const> = "tcgen05 128x128x128, MXFP8", "tcgen05 128x128x256, FP4"
compare("NVFP4", nvfp4, 16, 128, 128, 512, fp4)
compare("NVFP4, ragged", nvfp4, 16, 136, 72, 288, nil, zeros(f32, row_major{ 136, 72 }))
compare("MXFP4", rows.quantize_mxfp4, 32, 72, 136, 288, fp4, zeros(f32, { 72, 136 }))
compare("MXFP8", rows.quantize_mxfp8, 32, 136, 72, 144, mxfp8, zeros(f32, row_major{ 136, 72 }))
compare("MXFP8 of e5m2", rows.quantize_mxfp8_e5m2, 32, 72, 136, 144, mxfp8)
compare("NVFP4", nvfp4, 16, 136, 264, 512, fp4 .. ", pairs")
compare("NVFP4", nvfp4, 16, 264, 136, 288, fp4 .. ", pairs", zeros(f32, row_major{ 264, 136 }))
compare("MXFP4", rows.quantize_mxfp4, 32, 136, 264, 320, fp4 .. ", pairs")
compare("MXFP8", rows.quantize_mxfp8, 32, 264, 392, 144, mxfp8 .. ", pairs")
compare("MXFP8", rows.quantize_mxfp8, 32, 264, 128, 144, mxfp8 .. ", pairs") -- one lies outside
compare("MXFP8 in words", rows.quantize_mxfp8, 32, 136, 72, 256, mxfp8, zeros(f32, { 136, 72 }))
compare("MXFP8, scales in columns", function(x)
  local q, scale = rows.quantize_mxfp8(x)
  local turned = zeros(f8ue8m0, { size(scale, 0), size(scale, 1) })
  for i = 0, size(scale) - 1 do
    local at = { i % size(scale, 0), i // size(scale, 0) }
    turned[at] = scale[at]
  end
  return q, turned
end, 32, 40, 72, 256, mxfp8)
compare("MXFP8", rows.quantize_mxfp8, 32, 40, 24, 144)
compare("MXFP8", rows.quantize_mxfp8, 32, 72, 136, 144, "simple 64x64x16", zeros(f32, { 72, 136 }))
do
  local A, sa, B, sb, C = compare("NVFP4", nvfp4, 16, 64, 40, 64, fp4, zeros(f32, { 64, 40 }))
  local bias = randn(f32, 40)
  local D = matmul(A, B, full(f32, { 64, 40 }, 2), { scale_a = sa, scale_b = sb, alpha = 2,
    beta = 3, bias = bias, epilogue = function(v) return max(v, 0.0) end })
  local plain = matmul(A, B, zeros(f32, { 64, 40 }), { scale_a = sa, scale_b = sb })
  local right = C.dtype == f32
  for i = 0, 63 do
    for j = 0, 39 do
      local v = math.max(2 * plain[{ i, j }] + 6 + bias[j], 0.0)
      right = right and math.abs(D[{ i, j }] - v) <= 1e-5 * math.max(1, math.abs(v))
    end
  end
  tap.ok(right, "NVFP4: alpha, beta, bias, epilogue")
  tap.is(tostring(matmul(A, B, { scale_a = sa, scale_b = sb }).dtype), "bf16", "a new C is bf16")
end

-- Batches: each has its own scales, or all have those of one.
do
  local A, sa = rows.quantize_mxfp4(randn(f32, row_major{ 64, 64 }))
  local B, sb = rows.quantize_mxfp4(randn(f32, row_major{ 64, 64 }))
  local function halves(t, k) return view(t, layout({ 32, k, 2 }, { k, 1, 32 * k })) end
  local B0, sb0 = tile(B, { 32, 64 }, { 0, 0 }), tile(sb, { 32, 2 }, { 0, 0 })
  local C = matmul(halves(A, 64), B0, zeros(f32, { 32, 32, 2 }), { scale_a = halves(sa, 2),
    scale_b = sb0 })
  local all = matmul(A, B, zeros(f32, { 64, 64 }), { scale_a = sa, scale_b = sb })
  local right = true
  for i = 0, 63 do
    for j = 0, 31 do right = right and C[{ i % 32, j, i // 32 }] == all[{ i, j }] end
  end
  tap.ok(right, "MXFP4: batches")
end

-- Groups of rows, by the plain template.
do
  local A, sa = rows.quantize_mxfp8(randn(f32, row_major{ 60, 64 }))
  local B, sb = rows.quantize_mxfp8(randn(f32, row_major{ 40, 64 }))
  local function halves(t, k) return view(t, layout({ 20, k, 2 }, { k, 1, 20 * k })) end
  local C = matmul(A, halves(B, 64), zeros(f32, row_major{ 60, 20 }), { scale_a = sa,
    scale_b = halves(sb, 2), groups = from_table(i32, { 25, 60 }) })
  local all = matmul(A, B, zeros(f32, row_major{ 60, 40 }), { scale_a = sa, scale_b = sb,
    config = "simple 64x64x16" })
  local right = true
  for i = 0, 59 do
    for j = 0, 19 do
      local want = all[{ i, (i < 25 and 0 or 20) + j }]
      right = right and math.abs(C[{ i, j }] - want) <= 1e-5 * (1 + math.abs(want))
    end
  end
  tap.ok(right, "MXFP8: groups")
end

-- {====== What is chosen, and what it becomes ======

local script <const> = os.tmpname()
local function emit(sm, text)
  shell.write_file(script, text)
  return (compiled(sm, "tcgen05 with scales", script))
end
local product <const> = [[
local A, S = zeros(%s, row_major{256, 256}), zeros(%s, row_major{256, 256 // %d})
matmul(A, A, zeros(bf16, row_major{256, 256}), {scale_a = S, scale_b = S})
]]
local nv <const> = product:format("f4e2m1", "f8ue4m3", 16)
local mx8 <const> = product:format("f8e5m2", "f8ue8m0", 32)
for sm, text in pairs{ ["100a"] = nv, ["103a"] = mx8 } do
  local made = emit(sm, text)
  local kind = text == nv and "kind::mxf4nvf4.block_scale" or "kind::mxf8f6f4.block_scale"
  tap.ok(made:find(kind, 1, true) and made:find("tcgen05.cp", 1, true) and not made:find "error",
    sm .. ": " .. kind, made)
end
local made = emit("90a", mx8)
tap.ok(made:find "matmul_f8e5m2" and not made:find "error" and not made:find "tcgen05",
  "90a: MXFP8 by the plain template", made)
local large <const> = nv:gsub("{256, 256 //", "{4096, 256 //"):gsub("{256, 256}", "{4096, 256}", 1)
  :gsub("bf16, row_major{256, 256}", "bf16, row_major{4096, 4096}")
made = emit("100a", large)
tap.ok(made:find "cta_group::2[^\n]*block_scale" and not made:find "error",
  "a large product is one of pairs", made)
made = emit("90a", nv)
tap.ok(made:find("no configuration multiplies f4e2m1", 1, true), "90a refuses NVFP4", made)
os.remove(script)
tap.done()
