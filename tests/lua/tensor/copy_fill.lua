-- Moving elements between host tensors.
local A, B = arange(f32, {3, 4}), zeros(f32, row_major{3, 4})
copy(A, B)
print(B[{2, 1}], B[11], B.layout)        -- expect: 5.0	11.0	(3,4):(4,1)
copy(A(_, 0), B(_, 3))
print(B[{2, 3}])                         -- expect: 2.0
-- Of any two shapes: element i of one is element i of the other, as in a kernel.
local S, D = arange(i32, row_major{8, 3}), { zeros(i32, 24), zeros(i32, "((2,2),6):((6,12),1)") }
local in_kernel = kernel("in_kernel", function(s, d) copy(s, d) end, {static_shapes = true})
for _, d in ipairs(D) do
  copy(S, d)
  local other = zeros(i32, d.layout)
  in_kernel{grid = 1, block = 1}(S, other)
  print(d[1], d[10], d[23], allclose(d, other))
end
-- expect: 1	10	23	true
-- expect: 1	10	23	true
local V = arange(i32, 6)
local W = arange(i32, 8)
copy(view(W, 4), view(W, "4:2"))         -- onto itself: as if read whole before
print(W[0], W[2], W[4], W[6], W[5])      -- expect: 0	1	2	3	5
fill(B(1, _), 9)
print(B[{1, 0}], B[{1, 3}], B[{0, 1}])   -- expect: 9.0	9.0	3.0
B:clear()
print(B[{1, 3}])                         -- expect: 0.0
B:fill(2)
print(B[{1, 3}])                         -- expect: 2.0
local C = A:to("cpu")
C[0] = 50
print(A[0], C[0], C.device)              -- expect: 0.0	50.0	cpu
local N = arange(i32, "4:-1"):to("cpu")
print(N[0], N[3])                        -- expect: 0	3

local function try(f, ...)
  print((select(2, pcall(f, ...)):gsub("^[^:]*:%d+: ", "")))
end
-- expect: copy: A (3,4):(1,3) and S 6:1 have different sizes; the sizes must agree
try(function() local S = zeros(f32, 6) copy(A, S) end)
-- expect: copy: the source (4,2):(1,4) and the destination 9:1 have different sizes; the sizes must agree
try(function() copy(zeros(f32, {4, 2}), zeros(f32, 9)) end)
-- expect: copy: the source has elements f32 but the destination has i32; expected the same type
try(function() copy(zeros(f32, 4), zeros(i32, 4)) end)
-- expect: copy: A has elements f32 but V has i32; expected the same type
try(function() copy(A, V) end)
-- expect: copy: argument 2 is missing; a tensor was expected
try(function() copy(A) end)
-- expect: fill: got a string, but the elements are f32; expected a number
try(function() fill(A, "x") end)
-- expect: to: 'gpu' is not a device; "cpu", "cuda" or "cuda:1" was expected
try(function() A:to("gpu") end)
-- expect: to: argument 1 is a number; "cpu", "cuda" or "cuda:1" was expected
try(function() A:to(1) end)
-- expect: to: 2 arguments; 1 was expected; a call in parentheses returns only its first value
try(function() A:to("cpu", 1) end)
-- expect: to: 3 arguments; 2 were expected; a call in parentheses returns only its first value
try(function() A.to(A, "cpu", 1) end)
