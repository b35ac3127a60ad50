-- Moving elements between host tensors.
local A, B = arange(f32, {3, 4}), zeros(f32, row_major{3, 4})
copy(A, B)
print(B[{2, 1}], B[11], B.layout)        -- expect: 5.0	11.0	(3,4):(4,1)
copy(A(_, 0), B(_, 3))
print(B[{2, 3}])                         -- expect: 2.0
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
-- expect: copy: A has shape (3,4) but S has 6; expected modes of the same sizes
try(function() local S = zeros(f32, 6) copy(A, S) end)
-- expect: copy: A has elements f32 but V has i32; expected the same type
try(function() copy(A, V) end)
-- expect: copy: argument 2 is missing; a tensor was expected
try(function() copy(A) end)
-- expect: fill: got a string, but the elements are f32; expected a number
try(function() fill(A, "x") end)
-- expect: to: argument 2 is a text; "cpu", "cuda" or "cuda:1" was expected
try(function() A:to("gpu") end)
