-- tiled_copy_if.lua: CuTe's tutorial of that name: copies a matrix whose sizes no tile divides, in
-- CuTe's two ways and in a third one. An identity tensor is divided like the data, so its elements
-- are the data's coordinates, and elem_less tells which are inside. guard does this by itself.
-- Usage: cuttle tiled_copy_if.lua [M N]
local M, N = tonumber(arg[1] or 528), tonumber(arg[2] or 300)
local block = {128, 64}
local threads = layout{32, 8}

-- The block's tile. tiled_divide cuts beyond the end of a tensor, too: ((128,64), m, n).
local function part(t) return tiled_divide(t, block)({_, _}, blockIdx.x, blockIdx.y) end

-- A thread's elements are 32 rows and 8 columns apart, (4,8); it asks for each one.
local scalar = kernel("copy_if_scalar", function(S, D)
  local function mine(t) return parallelize(part(t), threads, threadIdx.x) end
  local coords = mine(identity_tensor(shape(S)))
  copy_if(function(i, j) return elem_less(coords(i, j), shape(S)) end, mine(S), mine(D))
end)

-- Four neighbouring rows at once, by accesses of 16 bytes, through registers; one question each.
local copy_16 = tiled_copy(atom("UniversalCopy<u128>", f32), threads, layout{4, 1})
local vectorised = kernel("copy_if_vectorised", function(S, D)
  local thr_copy = copy_16:get_slice(threadIdx.x)
  local thr_S, thr_D = thr_copy:partition_S(part(S)), thr_copy:partition_D(part(D)) -- (CPY,M,N)
  local coords = thr_copy:partition_S(part(identity_tensor(shape(S))))
  local function inside(v, m, n) return elem_less(coords(v, m, n), shape(S)) end
  local fragment = fragment_like(thr_S)
  copy_if(copy_16, inside, thr_S, fragment)
  copy_if(copy_16, inside, fragment, thr_D)
end)

-- guard asks by itself, and copy takes the widest accesses that M allows.
local guarded = kernel("copy_guarded", function(S, D)
  local thr_copy = copy_16:get_slice(threadIdx.x)
  local thr_S, thr_D = thr_copy:partition_S(part(guard(S))), thr_copy:partition_D(part(guard(D)))
  local fragment = fragment_like(thr_S)
  copy(thr_S, fragment)
  copy(fragment, thr_D)
end)

local S, all_ok = rand(f32, {M, N}), true
local function run(name, k)
  local D = zeros(f32, {M, N})
  local launch = k:prepare{grid = cdiv({M, N}, block), block = size(threads)}(S, D)
  launch()
  local ok = allclose(D, S, {rtol = 0, atol = 0})
  local ms = bench(launch)
  print(("%-18s %dx%d f32 on %s: %s, %.4f ms, %.1f GB/s"):format(name, M, N, device().name,
    ok and "correct" or "wrong", ms, 8 * M * N / ms * 1e-6))
  all_ok = all_ok and ok
end
run("copy_if", scalar)
if M % 4 == 0 then run("copy_if, vectors", vectorised) end
run("guard", guarded)
os.exit(all_ok, true)
