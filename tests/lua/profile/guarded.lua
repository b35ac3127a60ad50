-- What guards leave out is not requested; whole tiles and ragged ones are counted alike.
device("cpu")
local k = kernel("ragged", function(A, B)
  local gA, gB = tile(guard(A), {64}, {blockIdx.x}), tile(guard(B), {64}, {blockIdx.x})
  local tA, tB = parallelize(gA, layout{32}, threadIdx.x), parallelize(gB, layout{32}, threadIdx.x)
  copy(tA, tB)
end)
local function counts(n)
  local A, B = arange(f32, n), zeros(f32, n)
  local p = profile(function() k{grid = cdiv(n, 64), block = 32}(A, B) end)
  assert(allclose(A, B))
  local t = p.kernels[1].totals
  return t.global_load_requests, t.global_load_bytes, t.global_load_sectors, t.global_store_bytes
end
print(counts(128))      -- expect: 4	512	16	512
print(counts(100))      -- expect: 4	400	13	400
print(counts(64 * 200)) -- expect: 400	51200	1600	51200
print(counts(65))       -- expect: 3	260	9	260
