-- matmul takes parts of one buffer that interleave but share no element, and refuses those that do; it
-- takes one tensor twice; a kernel is traced once for a configuration and an epilogue.
local X = rand(f32, { 6, 9 })
local function part(from, n) return tile(X, { 6, n }, { 0, from // n }) end

-- Rows 0 to 2 of X and rows 3 to 5 of it, column by column between each other.
local top, low = view(X, layout({ 3, 3 }, { 1, 6 })), tile(X, { 3, 3 }, { 1, 1 })
local want = reference.matmul(top, top)
matmul(top, top, low)
print(allclose(low, want))  -- expect: true

local function try(...)
  local ok, message = pcall(matmul, ...)
  print(ok or message:match "matmul: (.*);")
end
try(part(0, 3), part(0, 3), view(X, layout({ 6, 6 }, { 1, 6 })))  -- expect: C shares memory with A
try(rand(f32, { 6, 3 }), tile(X, { 2, 3 }, { 1, 1 }), view(X, layout({ 6, 2 }, { 1, 6 })))  -- expect: true
try(rand(f32, { 6, 3 }), tile(X, { 3, 3 }, { 1, 1 }), tile(X, { 6, 3 }, { 0, 1 }))  -- expect: C shares memory with B

-- The epilogue's function is traced with its kernel, not at each launch.
local n_traces = 0
local note = static_fn(function() n_traces = n_traces + 1 end)
local function relu(v)
  note()
  return max(v, 0.0)
end
local A, B, C = randn(f32, { 9, 7 }), randn(f32, { 5, 7 }), zeros(f32, { 9, 5 })
for _ = 1, 3 do matmul(A, B, C, { epilogue = relu }) end
print(n_traces)  -- expect: 1
local R, right = reference.matmul(A, B), true
for i = 0, size(C) - 1 do right = right and math.abs(C[i] - math.max(R[i], 0)) < 1e-5 end
print(right)  -- expect: true

-- Without a C: a new one, on A's device, of the type that fits.
for _, dtype in ipairs { f32, f64, f16, bf16, tf32, i8, i32 } do
  local N = matmul(ones(dtype, { 2, 3 }), ones(dtype, { 4, 3 }))
  print(dtype, N.dtype, N.layout, N[{ 1, 3 }])
end
-- expect: f32	f32	(2,4):(1,2)	3.0
-- expect: f64	f64	(2,4):(1,2)	3.0
-- expect: f16	f16	(2,4):(1,2)	3.0
-- expect: bf16	bf16	(2,4):(1,2)	3.0
-- expect: tf32	f32	(2,4):(1,2)	3.0
-- expect: i8	i32	(2,4):(1,2)	3
-- expect: i32	i32	(2,4):(1,2)	3
print(matmul(ones(f32, { 2, 3 }), ones(f32, { 4, 3, 5 })).layout)  -- expect: (2,4,5):(1,2,8)
