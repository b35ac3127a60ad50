-- A tensor's memory can be given back before the collector does it.
local A = zeros(f32, 4)
local V = view(A, {2, 2})
A:close()
A:close()
print(A)                              -- expect: tensor f32 4:1, closed
print(A.device, A.layout, V[{1, 1}])  -- expect: nil	4:1	0.0
print(pcall(function() return A[0] end))
-- expect: false	tests/lua/tensor/close.lua:8: A is closed; its memory was given back
print(pcall(fill, A, 1))
-- expect: false	tests/lua/tensor/close.lua:10: fill: A is closed; its memory was given back
print(pcall(A.tile, A, 2, 0))
-- expect: false	tests/lua/tensor/close.lua:12: tile: A is closed; its memory was given back
local kept
do
  local B <close> = ones(f32, 4)
  kept = B
  print(B[0])                         -- expect: 1.0
end
print(kept)                           -- expect: tensor f32 4:1, closed
V:close()
print(V)                              -- expect: tensor f32 (2,2):(1,2), closed
for _ = 1, 200 do                     -- 3.2 GB in all: collected as it goes
  zeros(f64, 2000000)
end
