-- reference.matmul(A, B) = A * B' for all strides, against sums in Lua.
local function product(A, B)
  local C = zeros(A.dtype, {size(A, 0), size(B, 0)})
  for i = 0, size(A, 0) - 1 do
    for j = 0, size(B, 0) - 1 do
      local sum = 0
      for k = 0, size(A, 1) - 1 do
        sum = sum + A[{i, k}] * B[{j, k}]
      end
      C[{i, j}] = sum
    end
  end
  return C
end
for _, dtype in ipairs{f32, f64, i32, i64} do
  for _, shapes in ipairs{{"(5,7)", "(3,7)"}, {"(5,7):(7,1)", "(3,7):(7,1)"},
                          {"(5,7):(1,9)", "(3,7):(20,2)"}, {"((2,3),7):((1,20),2)", "(1,7)"},
                          {"(5,1)", "(4,1)"}, {"(1,6):(6,1)", "(1,6)"},
                          {"(33,18)", "(17,18):(18,1)"}} do
    local A, B = rand(dtype, shapes[1]), rand(dtype, shapes[2])
    local C = reference.matmul(A, B)
    local close, why = allclose(C, product(A, B))
    if not close then
      print(dtype, shapes[1], shapes[2], why)
    end
  end
end
local C = reference.matmul(rand(f32, {600, 70}), ones(f32, {3, 70}))
print(C.layout, C.dtype)                             -- expect: (600,3):(1,600)	f32
print(reference.matmul(zeros(f32, {2, 0}), zeros(f32, {3, 0}))[{1, 2}]) -- expect: 0.0
print(size(reference.matmul(zeros(f32, {0, 4}), zeros(f32, {3, 4}))))   -- expect: 0
print(reference.matmul(full(i32, {1, 2}, 1 << 20), full(i32, {1, 2}, 1 << 11))[0]) -- expect: 0
-- one rounding: the f32 sum of 2^24 + 1 + 1 would lose both ones
print(reference.matmul(from_table(f32, {{2 ^ 24, 1, 1}}), ones(f32, {1, 3}))[0] == 2 ^ 24 + 2) -- expect: true

local function try(f, ...)
  print((select(2, pcall(f, ...)):gsub("^[^:]*:%d+: ", "")))
end
-- expect: reference.matmul: A is (2,3) and B is (3,2); expected (M,K) and (N,K)
try(reference.matmul, zeros(f32, {2, 3}), zeros(f32, {3, 2}))
-- expect: reference.matmul: A is f32 and B is f64; expected two of one number type
try(reference.matmul, zeros(f32, {2, 3}), zeros(f64, {2, 3}))
-- expect: reference.matmul: V 3:1 has rank 1; expected a matrix (M,K)
try(function() local V = zeros(f32, 3) reference.matmul(V, V) end)
-- sums of narrow integers do not fit these
print(reference.matmul(full(i8, {1, 3}, 127), full(i8, {1, 3}, 127))[0])  -- expect: 48387
-- C of the type that sums of narrow elements have
local sums = reference.matmul(full(i8, {2, 3}, 100), full(i8, {2, 3}, 100), zeros(i32, {2, 2}))
print(sums[{1, 1}], reference.library(full(i8, {2, 3}, 100), full(i8, {2, 3}, 100), sums))  -- expect: 30000	none
print(reference.matmul(ones(f16, {2, 3}), ones(f16, {2, 3}), zeros(f32, {2, 2})).dtype)  -- expect: f32
