-- tiled_copy_if.lua: CuTe's tutorial of that name: copies a matrix whose sizes no tile divides, in
-- three ways. An identity tensor is divided as the data is, so its elements are the coordinates of
-- the data's, and elem_less tells which are inside. guard does all of that by itself.
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

-- Four neighbouring rows of every eighth column, (4,8), by accesses of 16 bytes; one question each.
local function vectors(t)
  return tile(t, {4, 8}, {threadIdx.x % 32, _})(_, threadIdx.x // 32, _)
end
local vectorised = kernel("copy_if_vectorised", function(S, D)
  local coords = vectors(part(identity_tensor(shape(S))))
  local inside = fragment(bool, 8)
  for j = 0, 7 do inside[j] = elem_less(coords(0, j), shape(S)) end
  copy_if(view(inside, layout({4, 8}, {0, 1})), vectors(part(S)), vectors(part(D)))
end)

local guarded = kernel("copy_guarded", function(S, D)
  copy(vectors(part(guard(S))), vectors(part(guard(D))))
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
