-- Comparing tensors.
local A = arange(f32, {4, 5})
local B = A:to("cpu")
print(allclose(A, B))                              -- expect: true
B[{2, 1}] = 6.5
B[{3, 4}] = 19.01
print(allclose(A, B))
-- expect: false	2 of 20 elements differ by more than 1e-05 + 0.0001 * |b|; the worst is (2,1): 6 and 6.5
print(allclose(A, B, {rtol = 0.1}))                -- expect: true
print(allclose(A, B, {atol = 0.5}))                -- expect: true
print((allclose(A, B, {rtol = 0, atol = 0.4})))    -- expect: false
local R = zeros(f64, row_major{4, 5})
for i = 0, 19 do R[i] = i end
print(allclose(A, R), allclose(R, A))              -- expect: true	true
local N = full(f32, 2, 0 / 0)
print((allclose(N, N)))                            -- expect: false
local H = full(f32, 2, math.huge)
print(allclose(H, H))                              -- expect: true
print((allclose(H, full(f32, 2, -math.huge))), (allclose(zeros(f32, 2), H))) -- expect: false	false
print(allclose(full(i64, 1, (1 << 60) + 1), full(i64, 1, 1 << 60)))
-- expect: false	1 of 1 elements differ by more than 0 + 0 * |b|; the worst is 0: 1152921504606846977 and 1152921504606846976
print(allclose(zeros(f32, {0, 3}), ones(f32, {0, 3}))) -- expect: true
print(allclose(full(bool, 1, true), full(bool, 1, false)))
-- expect: false	1 of 1 elements differ by more than 0 + 0 * |b|; the worst is 0: true and false

local function try(f, ...)
  print((select(2, pcall(f, ...)):gsub("^[^:]*:%d+: ", "")))
end
-- expect: allclose: A has shape (4,5) but C has (5,4); expected modes of the same sizes
try(function() local C = zeros(f32, {5, 4}) return allclose(A, C) end)
-- expect: allclose: the first tensor has shape (2,3) but the second tensor has 6; expected modes of the same sizes
try(function() return allclose(zeros(f32, {2, 3}), zeros(f32, 6)) end)
-- expect: allclose: argument 2 is a number; a tensor was expected
try(function() return allclose(A, 1) end)
-- expect: allclose: rtol = -1.0 is not a tolerance; expected a number >= 0
try(function() return allclose(A, B, {rtol = -1}) end)
-- expect: allclose: atol is a table; expected a number >= 0
try(function() return allclose(A, B, {atol = {}}) end)
