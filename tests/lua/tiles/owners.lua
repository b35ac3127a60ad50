-- On the host: over all threads of a tiled MMA or copy each element belongs to as many threads as the
-- atoms of the other modes share it: one, where there are none.
device "cpu"
local function counts(n, each)
  local owners = {}
  for i = 1, n do owners[i] = 0 end
  each(function(part)
    for i = 0, size(part) - 1 do
      local at = part[i]
      owners[at + 1] = owners[at + 1] + 1
    end
  end)
  local first = owners[1]
  for i = 1, n do
    if owners[i] ~= first then return "uneven" end
  end
  return first
end

-- How many threads own each element of A (M,K), B (N,K) and C (M,N) of four tiles.
local function owners_of_mma(mma)
  local tile = mma:tile_shape()
  local function of(name, m, n)
    local t = arange(i32, { 2 * m, 2 * n })
    return counts(size(t), function(add)
      for i = 0, mma:size() - 1 do
        local thr = mma:get_slice(i)
        add(thr["partition_" .. name](thr, t))
      end
    end)
  end
  return of("A", tile[1], tile[3]), of("B", tile[2], tile[3]), of("C", tile[1], tile[2])
end

print(owners_of_mma(tiled_mma("SM80_16x8x16_F32F16F16F32_TN", { 2, 2 }, { 32, 32, 16 })))  -- expect: 2	2	1
print(owners_of_mma(tiled_mma("SM80_16x8x8_F32TF32TF32F32_TN", { 4, 1 })))  -- expect: 1	4	1
print(owners_of_mma(tiled_mma("UniversalFMA<f32>", { 8, 4 })))  -- expect: 4	8	1
print(owners_of_mma(tiled_mma("UniversalFMA<f64>")))  -- expect: 1	1	1
print(owners_of_mma(tiled_mma("SM80_8x8x16_S32S8U8S32_TN", "(2,2):(2,1)")))  -- expect: 2	2	1
print(owners_of_mma(tiled_mma("SM80_16x8x16_F16F16F16F16_TN", { 1, 2, 2 })))  -- expect: 2	1	2
-- An operand in shared memory is every thread's.
print(owners_of_mma(tiled_mma("SM90_64x8x16_F32F16F16_SS")))  -- expect: 128	128	1
-- A permutation gives a thread other columns, and each still has one owner.
print(owners_of_mma(tiled_mma("SM80_16x8x8_F16F16F16F16_TN", { 1, 2 }, { 16, L"(8,2,2):(1,16,8)" })))  -- expect: 2	1	1

local function owners_of_copy(copy, side)
  local tile = copy:tile_shape()
  local t = arange(i32, { 2 * tile[1], 2 * tile[2] })
  return counts(size(t), function(add)
    for i = 0, copy:size() - 1 do
      local thr = copy:get_slice(i)
      add(thr["partition_" .. side](thr, t))
    end
  end)
end

local copy = tiled_copy(atom("UniversalCopy<u128>", f32), "(8,4):(4,1)", "(1,4)")
print(owners_of_copy(copy, "S"), owners_of_copy(copy, "D"))  -- expect: 1	1
local mma = tiled_mma("SM80_16x8x16_F32F16F16F32_TN", { 2, 2 }, { 32, 32, 16 })
copy = tiled_copy_A(atom("SM75_U32x4_LDSM_N", f16), mma)
print(owners_of_copy(copy, "S"), owners_of_copy(copy, "D"))  -- expect: 2	2
copy = tiled_copy_C(atom("UniversalCopy<u32>", f32), mma)
print(owners_of_copy(copy, "S"), owners_of_copy(copy, "D"))  -- expect: 1	1

-- What each thread has of ldmatrix's destination are the elements that the MMA wants of it.
copy = tiled_copy_B(atom("SM75_U32x4_LDSM_N", f16), mma)
local B, same = arange(i32, { 32, 64 }), true -- f16 has these numbers
for i = 0, mma:size() - 1 do
  local loaded = copy:get_slice(i):partition_D(B)
  local wanted = mma:get_slice(i):partition_B(B)
  local fragment = mma:get_slice(i):fragment_B(wanted)
  local as_loaded = copy:get_slice(i):retile_D(fragment)
  for j = 0, size(wanted) - 1 do fragment[j] = wanted[j] end
  for j = 0, size(loaded) - 1 do same = same and as_loaded[j] == loaded[j] end
end
print(same)  -- expect: true

-- Sizes and shapes.
print(mma:size(), mma:tile_shape(), mma:tile_size(1), mma:permutation_mnk(2))  -- expect: 128	(32,32,16)	32	16
print(mma:partition_shape_A { 128, 64 }, mma:partition_shape_B { 128, 64 })  -- expect: ((2,2,2),4,4)	((2,2),8,4)
print(mma:partition_shape_C { 128, 128 })  -- expect: ((2,2),4,8)
local thr = mma:get_slice(0)
local fragment = thr:partition_fragment_A(zeros(f32, row_major { 128, 64 }))
print(fragment.dtype, fragment.layout)  -- expect: f16	((2,2,2),4,4):((1,2,4),32,8)
print(thr:partition_fragment_C(zeros(f32, { 64, 64 })).dtype)  -- expect: f32
