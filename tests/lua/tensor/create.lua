-- Tensors from a type and a shape or layout.
local A = zeros(f32, {2, 3})
print(A.dtype, A.layout, A.device)               -- expect: f32	(2,3):(1,2)	cpu
print(A.shape[1], A.shape[2])                    -- expect: 2	3
print(zeros(i32, 4).shape, A.name)               -- expect: 4	nil
print(A[{1, 2}], A[5], A(1, 2))                  -- expect: 0.0	0.0	0.0
print(ones(i64, {2, 2})[3], ones(bool, 1)[0])    -- expect: 1	true
print(full(f64, "(2,2):(2,1)", 0.1)[3])          -- expect: 0.1
print(full(f32, 1, 0.1)[0])                      -- expect: 0.10000000149012
local R = arange(i32, row_major{2, 3}, 10, 5)
print(R.layout, R[1], R[{1, 0}], R[{0, 1}])      -- expect: (2,3):(3,1)	15	15	20
print(arange(f32, {2, 2}, 1, 0.5)[3])            -- expect: 2.5
print(arange(f64, 5)(4))                         -- expect: 4.0
local B = arange(i32, "(4,8):(-1,4)")            -- a negative stride begins at its far end
print(B[0], B[3], B[{0, 7}])                     -- expect: 0	3	28
local P = full(f32, "(2,2):(1,5)", 3)            -- gaps between elements
print(P[{1, 1}])                                 -- expect: 3.0
print(size(zeros(f32, {0, 4})))                  -- expect: 0
print(tensor(f64, {3, 4}).layout)                -- expect: (3,4):(1,3)
print(zeros("i32", "8").dtype)                   -- expect: i32

local function try(f, ...)
  print((select(2, pcall(f, ...)):gsub("^[^:]*:%d+: ", "")))
end
-- expect: full: 3000000000 does not fit i32; expected -2147483648 to 2147483647
try(full, i32, 2, 3000000000)
-- expect: full: 2.5 is not an integer; the elements are i32
try(full, i32, 2, 2.5)
-- expect: full: got a boolean, but the elements are f32; expected a number
try(full, f32, 2, true)
-- expect: full: got a number, but the elements are bool; expected a boolean
try(full, bool, 2, 1)
-- expect: arange: elements of type bool cannot count; expected a number type
try(arange, bool, 2)
-- expect: zeros: the layout has more than 2^63 elements
try(zeros, f32, {1 << 62, 4})
-- expect: zeros: the tensor has more than 2^63 bytes
try(zeros, f64, 1 << 61)
-- expect: zeros: the tensor has more than 2^63 bytes
try(zeros, f32, "(2,2):(-9223372036854775807,9223372036854775807)")
