-- In a kernel a swizzled layout and a swizzle give indices of run-time coordinates: a transpose
-- through shared memory without bank conflicts. Tensors with swizzled layouts: swizzled_tensors.lua.
local S = L"Sw<3,0,3> o 0 o (8,8):(8,1)"
local sw = swizzle(3, 0, 3)

local transpose = kernel("transpose", function(x, y, z)
  local s = shared(f32, { 64 })
  local i, j = threadIdx.x % 8, threadIdx.x // 8
  s[S(i, j)] = x[{ i, j }]
  sync_threads()
  y[{ i, j }] = s[S(j, i)]
  z[threadIdx.x] = sw(threadIdx.x)
end)

local x, y, z = arange(f32, 64), zeros(f32, { 8, 8 }), zeros(i32, { 64 })
transpose { grid = 1, block = 64 }(view(x, "(8,8):(1,8)"), y, z)
for i = 0, 7 do
  for j = 0, 7 do
    assert(y[{ i, j }] == x[8 * i + j])
    assert(z[8 * i + j] == sw(8 * i + j))
  end
end
print(y[{ 3, 5 }], z[29])  -- expect: 29.0	30
