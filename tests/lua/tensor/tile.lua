-- tile and parallelize of host tensors and of layouts; the parts look at the same memory.
local A = arange(i32, {6, 8})
local T = tile(A, {3, 4}, {1, 1})
print(T.layout, T[{0, 0}], T[{2, 3}])              -- expect: (3,4):(1,6)	27	47
print(tile(A, {3, 4}, {1, _}).layout)              -- expect: (3,4,2):(1,6,24)
print(tile(A, {3, 4}, {_, 1})(0, 0, 1))            -- expect: 27
print(A:tile({3, 4}, {0, 1})[0])                   -- expect: 24
local P = parallelize(T, layout{3, 2}, 4)          -- thread 4 is (1,1)
print(P.layout, P[0], P[1])                        -- expect: (1,2):(0,12)	34	46
P[0] = -1
print(A[{4, 5}])                                   -- expect: -1
print(tile("(6,8):(1,6)", {3, 4}, {1, 1}))         -- expect: (3,4):(1,6)	27
print(parallelize("(6,8)", layout{3, 2}, 4))       -- expect: (2,4):(3,12)	7
print(tile(A, {3, 4, 8}, {1, 1, _}, {1, 1, _}).layout)   -- expect: (3,4):(1,6)
print(tile(A, {3, 100, 4}, {1, 7, _}, {1, _, 1}).layout) -- expect: (3,4,2):(1,6,24)
print(parallelize(A, layout{3, 4}, 5, {1, _}).layout)    -- expect: (2,8):(3,6)
local V = arange(f32, 12)
print(tile(V, 4, 2).layout, tile(V, 4, 2)[1])      -- expect: (4):(1)	9.0
print(tile(V, {4}, {2})[1])                        -- expect: 9.0
-- every element belongs to one thread of one tile
local seen = {}
for i = 0, 1 do
  for j = 0, 1 do
    for t = 0, 5 do
      local part = parallelize(tile(arange(i32, {6, 8}), {3, 4}, {i, j}), layout{3, 2}, t)
      for k = 0, size(part) - 1 do
        seen[part[k]] = (seen[part[k]] or 0) + 1
      end
    end
  end
end
local once = 0
for i = 0, 47 do
  once = once + (seen[i] == 1 and 1 or 0)
end
print(once)                                        -- expect: 48

local function try(f, ...)
  print((select(2, pcall(f, ...)):gsub("^[^:]*:%d+: ", "")))
end
local B = zeros(f32, {2048, 256})
-- expect: tile: tiler (128,8,4) has rank 3 but B (2048,256):(1,2048) has rank 2; write one tile size per mode
try(function() tile(B, {128, 8, 4}, {0, 0, 0}) end)
local C = zeros(f32, {64, 256})
-- expect: tile: tiler (128,8) is larger than C (64,256):(1,64) in mode 0: 128 > 64; choose a smaller tile
try(function() tile(C, {128, 8}, {0, 0}) end)
local D = zeros(f32, {100, 8})
-- expect: tile: extent 100 of mode 0 of D is not a multiple of the tile's 32; pad the tensor
try(function() tile(D, {32, 8}, {0, 0}) end)
-- expect: tile: coordinate (2,_) is outside the (2,2) tiles of A (6,8):(1,6)
try(function() tile(A, {3, 4}, {2, _}) end)
-- expect: tile: coordinate 4 is outside the (2,2) tiles of A (6,8):(1,6)
try(function() tile(A, {3, 4}, 4) end)
-- expect: parallelize: thread layout (4,2):(1,4) is larger than T (3,4):(1,6) in mode 0: 4 > 3; choose fewer threads there
try(function() parallelize(T, layout{4, 2}, 0) end)
-- expect: parallelize: extent 4 of mode 1 of T is not a multiple of the thread layout's 3; pad the tensor
try(function() parallelize(T, layout{3, 3}, 0) end)
-- expect: parallelize: there is no thread 6 in thread layout (3,2):(1,3); expected 0 to 5
try(function() parallelize(T, layout{3, 2}, 6) end)
-- expect: parallelize: thread layout (3,2,2):(1,3,6) has rank 3 but T (3,4):(1,6) has rank 2; write one extent per mode
try(function() parallelize(T, layout{3, 2, 2}, 0) end)
