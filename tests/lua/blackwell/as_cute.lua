-- Layouts and descriptors of tcgen05 as CuTe has them: as_cute.out is what a C++ program prints that asks
-- CuTe's headers on the host (CUTLASS 7107b055), with the `_` of static integers taken out.
local shell = dofile "tests/support/shell.lua"
for _, name in ipairs(atoms { family = "tcgen05" }) do
  local a = atom(name)
  if name:find "2x1SM" then
    print(("%s %d %s %s %s %s"):format(name, a.descriptor, a.thr_id, a.layout_a, a.layout_b,
      a.layout_c))
  elseif name:find "_SS<" then
    print(name .. " " .. a.descriptor)
  end
end

for _, name in ipairs(atoms { family = "tcgen05.ld" }) do
  print(("%s %s"):format(name, coalesce(atom(name).dst, { 1, 1 })))
end

for _, family in ipairs { "ld.global", "st.global" } do
  for _, name in ipairs(atoms { family = family }) do
    local a = atom(name)
    print(("%s %s %s %s"):format(name, a.src, a.dst, a.ref))
  end
end

-- Scales of 128 rows: lane, column and byte.
for _, dtype in ipairs { f8ue8m0, f8ue4m3 } do
  local l = tmem_layout(dtype, { 128, 8 })
  for _, row in ipairs { 0, 1, 31, 32, 77, 127 } do
    local line = ("%s row %d:"):format(dtype, row)
    for k = 0, 7 do
      local at = l(row, k)
      line = line .. (" %d/%d.%d"):format(at // 4 % 128, at // 512, at % 4)
    end
    print(line)
  end
end

-- The upper word of the descriptor of A's tile, and its lower word without the address, in the CUDA C
-- for sm_100a.
local tiles = [[
local names = {
  [tostring(f16)] = "SM100_MMA_F16BF16_SS<f16,f16,f32,128,16>",
  [tostring(f8e4m3)] = "SM100_MMA_F8F6F4_SS<f8e4m3,f8e4m3,f32,128,16>",
  [tostring(f32)] = "SM100_MMA_TF32_SS<tf32,tf32,f32,128,16>",
}
local function words(major, dtype, bytes)
  local mma, k = tiled_mma(names[tostring(dtype)]), 256 // dtype.bits
  kernel("words", function()
    local sA = shared(dtype, tile_to_shape(gmma_layout(dtype, major, bytes), { 128, 4 * k }))
    local sB = shared(dtype, tile_to_shape(gmma_layout(dtype, "K", 32), { 16, k }))
    local acc, thr = tmem(f32, { 128, 16 }), mma:get_slice(0)
    fill(sA, 0)
    fill(sB, 0)
    fence_proxy_async()
    sync_threads()
    if threadIdx.x == 0 then
      gemm(mma, thr:partition_A(tile(sA, { 128, k }, { 0, 0 })), thr:partition_B(sB),
        thr:partition_C(acc))
    end
    sync_threads()
    tmem_dealloc(acc)
  end) { grid = 1, block = 32 }()
end
for _, row in ipairs { { "K", f16 }, { "K", f8e4m3 }, { "K", f32 }, { "MN", f16 } } do
  for _, bytes in ipairs { 0, 32, 64, 128 } do words(row[1], row[2], bytes) end
end
]]
local path <const> = os.tmpname()
local file <close> = assert(io.open(path, "w"))
file:write(tiles)
file:close()
local text = shell.cuttle("emit --sm=100a %s", path)
os.remove(path)
local lower = text:gmatch "wgmma_start%(sA, (0x%x+)u%)"
local upper = text:gmatch "wgmma_descriptor<(0x%x+)u>%(a"
for _, name in ipairs { "K f16", "K f8e4m3", "K f32", "MN f16" } do
  for _, bytes in ipairs { 0, 32, 64, 128 } do
    print(("%s %d 128 %s %s"):format(name, bytes, upper(), lower()))
  end
end
