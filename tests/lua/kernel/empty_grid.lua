-- A launch of no blocks does nothing, but is checked and traced as any other.
local x = zeros(f32, 4)
local k = kernel("one", function(t) t[threadIdx.x] = 1.0 end)
for _, grid in ipairs {0, {0, 5}, {5, 0}, {5, 5, 0}} do
  k{grid = grid, block = 4}(x)
end
print(x[0], x[3])                  -- expect: 0.0	0.0
print(pcall(k{grid = 0, block = 4})) -- expect: false	tests/lua/kernel/empty_grid.lua:8: one: the kernel takes 1 argument (t), got 0

-- So that a tensor without elements needs no case of its own.
local empty = zeros(f32, {0, 8})
local rows = kernel("rows", function(A)
  local g = tile(A, {16, 8}, {blockIdx.x, 0})
  clear(g)
end)
rows{grid = cdiv(size(empty, 0), 16), block = 1}(empty)
print(size(empty))                 -- expect: 0
rows{grid = 2, block = 1}(zeros(f32, {32, 8}))
local launch = rows:prepare{grid = 0, block = 1}(empty)
launch()
