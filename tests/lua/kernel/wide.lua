-- Tensors of more than 2^31 elements: arithmetic with block numbers and coordinates has 64 bits. Strides
-- of 0 make such tensors without the memory.
local few = zeros(i32, 4)
local huge = view(few, layout({ 4, 1 << 31 }, { 1, 0 }))
local fives = view(full(i32, 4, 5), layout({ 4, 1 << 31 }, { 1, 0 }))

local marks = kernel("marks", function(a, b, out, first)
  local column = tile(guard(a), { 4, 1000 }, { 0, blockIdx.x + first })
  local mine = parallelize(column, layout { 4, 8 }, threadIdx.x)
  local r = fragment_like(mine, i32)
  clear(r)
  for i = 0, size(r) - 1 do r[i] = 1 end
  fill(mine, 5)
  local i = guard(b)[{ 1, blockIdx.x * 1073741824 }]   -- in range for blocks 0 and 1
  atomic_add(out, 0, where(i == 5, 1, 0))
end)
local out = zeros(i32, 1)
marks { grid = 2, block = 32 }(huge, fives, out, (1 << 31) // 1000 - 1)
print(few[0], few[3], out[0])  -- expect: 5	5	64

local config = marks { grid = 2, block = 32 }
local function source(t) return config:source(t, t, out, 7) end
local function has(text, what) return text:find(what, 1, true) ~= nil end
local wide, narrow = source(huge), source(view(few, layout({ 4, 1 << 20 }, { 1, 0 })))
print(has(wide, "long long a_shape1"), has(wide, "(long long)"), has(narrow, "long long"))
-- expect: true	true	false

-- No product of a block number is left at 32 bits.
local far = kernel("far", function(a)
  fill(parallelize(tile(guard(a), 1 << 20, blockIdx.x), layout(32), threadIdx.x), 1)
end)
local text = far { grid = 1, block = 32 }:source(view(few, layout({ (1 << 33) + 1 }, { 0 })))
print(has(text, "(long long)bid_x * 1048576"), text:find("[^)]bid_x %* ") ~= nil)  -- expect: true	false

-- Extents just below 2^31 count with 64 bits, too: the last tile ends behind them.
text = far { grid = 1, block = 32 }:source(view(few, layout({ (1 << 31) - 2 }, { 0 })))
print(has(text, "long long a_shape0"))  -- expect: true

-- With the memory for it (CUTTLE_TEST_BIG=1): bytes behind the 2^31st.
if os.getenv("CUTTLE_TEST_BIG") then
  local n = (1 << 31) + 5000
  local bytes = zeros(u8, n)
  local ends = kernel("ends", function(x, first)
    local mine = parallelize(tile(guard(x), 4096, blockIdx.x + first), layout(64), threadIdx.x)
    fill(mine, 7)
  end)
  ends { grid = 3, block = 64 }(bytes, cdiv(n, 4096) - 3)
  local from = (cdiv(n, 4096) - 3) * 4096
  for i = from - 100, n - 1 do assert(bytes[i] == (i >= from and 7 or 0), i) end
  assert(bytes[n - (1 << 31)] == 0 and bytes[0] == 0 and bytes[4999] == 0)
end
