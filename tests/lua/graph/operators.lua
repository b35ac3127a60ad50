-- Operators in a graph, launched there for the first time. Runs on a GPU, too.
local exact = {rtol = 0, atol = 0}
local shape = row_major{1, 2, 64, 64}
local q, k, v, o = randn(f16, shape), randn(f16, shape), randn(f16, shape), zeros(f16, shape)
local g = graph(function() attention(q, k, v, {out = o}) end)
g()
print(allclose(o, attention(q, k, v), exact)) -- expect: true

local A, B, C = randn(f16, {64, 32}), randn(f16, {48, 32}), zeros(f32, {64, 48})
local h = graph(function(split) matmul(A, B, C, {split = split}) end, 1)
h()
local D = zeros(f32, {64, 48})
matmul(A, B, D, {split = 1})
print(allclose(C, D, exact)) -- expect: true
C:clear()
h(2)
print(allclose(C, D, {rtol = 1e-3, atol = 1e-3})) -- expect: true
