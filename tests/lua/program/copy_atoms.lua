-- The CUDA C of copies by atoms: each atom has its instruction, registers are taken as words, and what a
-- loop adds to swizzled addresses stays outside the swizzle.
local shell = dofile "tests/support/shell.lua"
local script = os.tmpname()
local file = assert(io.open(script, "w"))
file:write[[
local sw = composition(swizzle(3, 3, 3), "(8,(8,8)):(8,(1,64))")
local mma = tiled_mma("SM80_16x8x16_F32F16F16F32_TN", {2, 2}, {32, 32, 16})
local ld = tiled_copy_A(atom("SM75_U32x4_LDSM_N", f16), mma)
kernel("stages", function(A)
  local sA = shared(f16, tile_to_shape(sw, {64, 64, 4}))
  local thr, mine = mma:get_slice(threadIdx.x), ld:get_slice(threadIdx.x)
  local tCrA = thr:fragment_A(thr:partition_A(sA(_, _, 0)))
  local from, to = mine:partition_S(sA), mine:retile_D(tCrA)
  local stage = 0
  for k in range(size(A)) do
    for b = 0, 1 do copy(ld, from(_, _, b, stage), to(_, _, b)) end
    for b in range(2, 4) do copy(ld, from(_, _, b, stage), to(_, _, b)) end
    copy(tCrA, thr:partition_A(tile(A, {64, 64}, {0, 0})))
    stage = (stage + 1) % 4
  end
end, {static_shapes = true}){grid = 1, block = 128}(zeros(f16, {64, 64}))
]]
file:close()
local text = shell.cuttle("emit --sm=80 %s 2>/dev/null", script)
text = text:gsub("\n +", " ") -- long calls take more than one line
os.remove(script)
print(select(2, text:gsub("__align__%(16%) unsigned short tCrA", "")))  -- expect: 1
for call in text:gmatch(" (ldmatrix_x4%b());") do
  print((call:match(", sA (.*)%)$"):gsub("from_at[_%d]*", "t")))
end
-- expect: + swizzle<3, 3, 3>(t + t) + t + t + t + i * 2048
-- expect: + (swizzle<3, 3, 3>(t + t) ^ 144) + t + t + t + i * 2048
-- expect: + (swizzle<3, 3, 3>(t + t) ^ swizzle<3, 3, 3>(b * 128)) + t + t + t + i * 2048

-- Of each atom of a warp the instruction of its row.
script = os.tmpname()
file = assert(io.open(script, "w"))
file:write[[
for i, family in ipairs{"ldmatrix", "stmatrix", "movmatrix", "shfl"} do
  for j, name in ipairs(atoms{family = family}) do
    local a = atom(name, f16)
    local n_src, n_dst = size(a.src, 1) // 16, size(a.dst, 1) // 16
    kernel(name, function()
      local s, r = shared(f16, row_major{32, 8}), fragment(f16, {16, 2})
      local from, to = view(r(_, 0), n_src), view(r(_, 1), n_dst)
      if family == "ldmatrix" then from = s(threadIdx.x, _) end
      if family == "stmatrix" then to = s(threadIdx.x, _) end
      copy(a, from, to)
    end){grid = 1, block = 32}()
  end
end
]]
file:close()
text = shell.cuttle("emit --sm=90 %s 2>/dev/null", script)
os.remove(script)
local seen, missing = {}, {}
for instruction in text:gmatch("\"(%l+%.sync%.aligned%.[%w.]+) ") do seen[instruction] = true end
for _, family in ipairs { "ldmatrix", "stmatrix", "movmatrix" } do
  for _, name in ipairs(atoms { family = family }) do
    if not seen[atom(name).ptx] then missing[#missing + 1] = name end
  end
end
print(#missing, text:find("exchange_1(", 1, true) ~= nil, text:find("exchange_4(", 1, true) ~= nil)
-- expect: 0	true	true
