-- matmul's template for tensor memory (gemm_tcgen05.lua) on the CPU engine: types, majors, ragged
-- tiles, batches, pairs of blocks and epilogues, against the reference in double precision. Numbers
-- are small integers, so that sums are exact.
-- needs sm_100a
local tap = dofile "tests/support/tap.lua"
local compiled = dofile "tests/support/compiled.lua"
local shell = dofile "tests/support/shell.lua"

local function integers(dtype, t, seed)
  for l = 0, (rank(t) > 2 and size(t, 2) or 1) - 1 do
    for i = 0, size(t, 0) - 1 do
      for j = 0, size(t, 1) - 1 do
        local at = rank(t) > 2 and { i, j, l } or { i, j }
        t[at] = (i * 7 + j * 3 + i * j + l + seed) % 5 - 2
      end
    end
  end
  return t
end

local function matrix(dtype, rows, columns, is_turned)
  return zeros(dtype, is_turned and layout{ rows, columns } or row_major{ rows, columns })
end

-- {====== Products ======

local cases <const> = {
  { "tcgen05 128x128x64", bf16, bf16, 256, 128, 128 },
  { "tcgen05 128x128x64", f16, f32, 200, 136, 72, true, true },
  { "tcgen05 128x128x64", bf16, f32, 136, 200, 72, true, false, true },
  { "tcgen05 256x128x64, pairs", bf16, bf16, 512, 256, 128 },
  { "tcgen05 256x128x64, pairs", bf16, f32, 200, 328, 136 },
  { "tcgen05 256x128x64, pairs", bf16, f32, 384, 256, 64 }, -- a block of a pair outside
  { "tcgen05 256x128x64, pairs", f16, f32, 328, 200, 72, true, false },
  { "tcgen05 256x128x64, pairs", f16, f16, 264, 264, 72, false, true },
  { "tcgen05 128x128x128", f8e5m2, bf16, 200, 136, 160 },
  { "tcgen05 256x128x128, pairs", f8e4m3, f32, 200, 328, 160 },
  { "tcgen05 128x128x32", tf32, f32, 136, 136, 40 },
  { "tcgen05 256x128x32, pairs", tf32, f32, 264, 264, 40 },
}
for _, case in ipairs(cases) do
  local name, dtype, out, m, n, k, a_turned, b_turned, c_turned = table.unpack(case)
  local A = integers(dtype, matrix(dtype, m, k, a_turned), 1)
  local B = integers(dtype, matrix(dtype, n, k, b_turned), 3)
  local C = matmul(A, B, matrix(out, m, n, c_turned), { config = name })
  local fA, fB = integers(f32, matrix(f32, m, k), 1), integers(f32, matrix(f32, n, k), 3)
  local want = reference.matmul(fA, fB)
  tap.ok(allclose(C, want, { rtol = out.bits == 16 and 4e-3 or 0 }), ("%s, %s to %s, %dx%dx%d")
    :format(name, dtype, out, m, n, k), select(2, allclose(C, want)))
end

-- {====== What is done with the sums ======

for _, name in ipairs { "tcgen05 128x128x64", "tcgen05 256x128x64, pairs" } do
  local m, n, k, batches = 136, 264, 72, 2
  local A = integers(f16, zeros(f16, layout({ m, k, batches }, { k, 1, m * k })), 1)
  local B = integers(f16, zeros(f16, layout({ n, k, batches }, { k, 1, n * k })), 2)
  local bias = integers(f32, zeros(f32, { n, 1 }), 4)
  local C = full(f32, layout({ m, n, batches }, { n, 1, m * n }), 2)
  matmul(A, B, C, { config = name, alpha = 0.5, beta = 2, bias = view(bias, L"264:1"),
    epilogue = function(v) return max(v, -8.0) end })
  local right = true
  local plain = matmul(A, B, zeros(f32, layout({ m, n, batches }, { n, 1, m * n })),
    { config = "simple 64x64x16" })
  for l = 0, batches - 1 do
    for i = 0, m - 1 do
      for j = 0, n - 1 do
        local want = math.max(0.5 * plain[{ i, j, l }] + 4 + bias[{ j, 0 }], -8.0)
        right = right and C[{ i, j, l }] == want
      end
    end
  end
  tap.ok(right, name .. ": alpha, beta, bias, epilogue, batches")
  local QA, QB = integers(f8e4m3, matrix(f8e4m3, 136, 160), 1),
    integers(f8e4m3, matrix(f8e4m3, 264, 160), 2)
  local sa = rand(f32, 136)
  local by_rows = name:gsub("64(,?)", "128%1", 1)
  by_rows = by_rows:find "256" and "tcgen05 256x128x128, pairs" or "tcgen05 128x128x128"
  local D = matmul(QA, QB, zeros(f32, row_major{ 136, 264 }), { config = by_rows, scale_a = sa,
    scale_b = 0.5 })
  local E = matmul(QA, QB, zeros(f32, row_major{ 136, 264 }), { scale_a = sa, scale_b = 0.5,
    config = "simple 64x64x16" })
  tap.ok(allclose(D, E, { rtol = 1e-6 }), by_rows .. ": scales of rows",
    select(2, allclose(D, E)))
end

-- {====== What is chosen, and what it becomes ======

local script <const> = os.tmpname()
local function emit(sm, text)
  shell.write_file(script, text)
  return (compiled(sm, "tcgen05", script))
end
local large <const> = [[
local A, B = zeros(%s, row_major{2304, 64}), zeros(%s, row_major{2304, 64})
matmul(A, B, zeros(bf16, row_major{2304, 2304}))
]]
local small <const> = [[
matmul(zeros(bf16, row_major{256, 128}), zeros(bf16, row_major{256, 128}))
]]
for sm, dtype in pairs { ["100a"] = "bf16", ["103a"] = "f8e4m3" } do
  local pairs_of_blocks = emit(sm, large:format(dtype, dtype))
  tap.ok(pairs_of_blocks:find("tcgen05.mma.cta_group::2", 1, true)
    and pairs_of_blocks:find("try_cancel", 1, true) and not pairs_of_blocks:find "error",
    ("a large %s product on %s is one of pairs"):format(dtype, sm), pairs_of_blocks)
  local text = emit(sm, small)
  tap.ok(text:find("tcgen05.mma.cta_group::1", 1, true) and not text:find "error",
    "a small one on " .. sm .. " of single blocks", text)
end
local text = emit("90a", small)
tap.ok(text:find "wgmma" and not text:find "tcgen05", "sm_90a has wgmma", text)
text = emit("120a", small)
tap.ok(text:find "mma.sync" and not text:find "tcgen05", "sm_120a has mma.sync", text)
os.remove(script)
tap.done()
