-- What a guard leaves out is 0, and the trace says so, as of boxes of TMA; tensors of nested modes, as of
-- tile_to_shape, have one number for each mode.
local k = kernel("edge", function(x, y)
  local s = shared(f32, tile_to_shape(row_major{4, 4}, {8, 8}))
  local part = tile(guard(x), {8, 8}, {blockIdx.x, 0})
  copy(parallelize(part, {8, 8}, threadIdx.x), parallelize(s, {8, 8}, threadIdx.x))
  sync_threads()
  local i = threadIdx.x % 8
  if threadIdx.x < 8 then y[{i, blockIdx.x}] = s[{i, 6}] + s[{i, 7}] end
end)
local x, y = rand(f32, {12, 7}), zeros(f32, {8, 2})
local launch = k{grid = 2, block = 64}
local function moves(i)
  local text = tostring(trace(launch, {y = {i, 1}}, x, y))
  for line in text:gmatch("\n      ([^\n]*->[^\n]*)") do print(line) end
end
moves(2)
-- expect: x(10,6), 0 outside x -> s(2,6..7), threads 50 58
-- expect: s(2,6..7) -> y(2,1), thread 2
moves(6)
-- expect: 0 outside x -> s(6,6..7), threads 54 62
-- expect: s(6,6..7) -> y(6,1), thread 6

-- An error says the same of where it is.
print((select(2, pcall(function()
  kernel("outside", function(out, n)
    local s = shared(f32, tile_to_shape(row_major{4, 4}, {8, 8}))
    s[{n, 7}] = 1.0
    out[0] = s[{0, 0}]
  end){grid = 1, block = 1}(zeros(f32, 1), 9)
end)):match("write of s [^;]*")))
-- expect: write of s at (1,11), extent (8,8), by thread (0,0,0) of block (0,0,0)
