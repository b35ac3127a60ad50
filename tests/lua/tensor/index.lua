-- Elements: by coordinate, by linear coordinate, by nested coordinate; all kinds of wrong ones.
local A = arange(i32, {4, 8})
print(A[{1, 2}], A[9], A(1, 2), A(9), A({1, 2}))   -- expect: 9	9	9	9	9
A[{3, 7}] = -1
A[0] = 7.0
print(A[31], A[0])                                 -- expect: -1	7
local N = arange(f32, "(4,(2,3)):(1,(4,8))")
print(N[{1, {1, 2}}], N[{1, 5}], N(1, {1, 2}))     -- expect: 21.0	21.0	21.0
local F = zeros(f32, 3)
F[1] = 1 / 3
print(F[1] == 1 / 3, math.abs(F[1] - 1 / 3) < 1e-7) -- expect: false	true
local T = zeros(bool, 2)
T[1] = true
print(T[0], T[1])                                  -- expect: false	true
print((select(2, pcall(function() return A.nonsense end))):match "a tensor.*")
-- expect: a tensor has no field 'nonsense'; help"Tensor" lists what it has

local C = zeros(f32, {4, 8})
local function try(f, ...)
  print((select(2, pcall(f, ...)):gsub("^[^:]*:%d+: ", "")))
end
-- expect: C[{5,9}]: coordinate (5,9) is outside the shape (4,8)
try(function() return C[{5, 9}] end)
-- expect: C[{-1,0}]: coordinate (-1,0) is outside the shape (4,8)
try(function() return C[{-1, 0}] end)
-- expect: C[32]: coordinate 32 is outside the shape (4,8); counting starts at 0
try(function() return C[32] end)
-- expect: C(4,0): coordinate (4,0) is outside the shape (4,8); counting starts at 0
try(function() return C(4, 0) end)
-- expect: C[{5,9}]: coordinate (5,9) is outside the shape (4,8)
try(function() C[{5, 9}] = 1 end)
-- expect: C(_,8): coordinate (_,8) is outside the shape (4,8); counting starts at 0
try(function() return C(_, 8) end)
-- expect: C[{1,2}]: got a string, but the elements are f32; expected a number
try(function() C[{1, 2}] = "1" end)
-- expect: C[{1,2}]: got nil, but the elements are f32; expected a number
try(function() C[{1, 2}] = nil end)
-- expect: A[3]: 1.5 is not an integer; the elements are i32
try(function() A[3] = 1.5 end)
-- expect: C[{1,_}]: `_` keeps a mode, and [] is one element; write t(...) for a slice
try(function() return C[{1, _}] end)
-- expect: a tensor has no field 'size' to assign; elements are t[{i,j}]
try(function() C.size = 3 end)
_G.D = zeros(f32, 2)
-- expect: D[2]: coordinate 2 is outside the shape 2; counting starts at 0
try(function() return _G.D[2] end)
-- expect: the tensor[2]: coordinate 2 is outside the shape 2; counting starts at 0
try(function() return zeros(f32, 2)[2] end)
