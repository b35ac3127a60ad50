-- Predicates in the CUDA C: none where tiles are known to divide, else only for the modes that may
-- overhang; vectors stay vectors where the extent is a multiple; cp.async writes the zeros.
local function make(mark)
  return kernel("load_tile", function(A, out)
    local s = shared(A.dtype, { 64, 8 })
    local function mine(t) return tile(t, { 4, 1 }, { threadIdx.x % 16, threadIdx.x // 16 }) end
    copy(mine(tile(mark(A), { 64, 8 }, { blockIdx.x, blockIdx.y })), mine(s))
    sync_threads()
    copy(mine(s), mine(tile(mark(out), { 64, 8 }, { blockIdx.x, blockIdx.y })))
  end)
end
local guarded, plain = make(guard), make(function(t) return t end)
local fixed = kernel("fixed", function(x)
  fill(parallelize(tile(guard(x), 64, blockIdx.x), layout(32), threadIdx.x), 1)
end, { static_shapes = true })

local function source(k, shape)
  return k { grid = 1, block = 128 }:source(zeros(f32, shape), zeros(f32, shape))
end
local function count(text, what) return select(2, text:gsub(what, "")) end

-- Sizes that the tiles divide: the same text as without guard.
print(source(guarded, { 128, 16 }) == source(plain, { 128, 16 }))  -- expect: true
print(source(guarded, { 64, 8 * 7 }) == source(plain, { 64, 8 * 7 }))  -- expect: true

-- Rows are a multiple of the vector, columns of the tile: one comparison before each access of 16 bytes.
local text = source(guarded, { 100, 16 })
print(count(text, "cp_async_16_zfill%(s_ptr, A_ptr, A_coord < A_shape0%)"),
  count(text, "< %w+_shape1"),
  count(text, "reinterpret_cast<float4%*>"))  -- expect: 1	0	1
print(count(text, "< out_shape0"))  -- expect: 1

-- Only columns overhang.
text = source(guarded, { 128, 13 })
print(count(text, "< %w+_shape0"), count(text, "< %w+_shape1"), count(text, "float4"))  -- expect: 0	2	2

-- Both, and no vectors: the comparison of the columns stands in front of the loop over rows.
text = source(guarded, { 101, 13 })
print(count(text, "bool inside = A_coord_2 < A_shape1;"),
  count(text, "inside && A_coord %+ i < A_shape0"),
  count(text, "float4"))  -- expect: 1	1	0

-- Static extents: a multiple, none, and one where every element is inside or outside by itself.
local function static_source(n) return fixed { grid = 1, block = 32 }:source(zeros(f32, n)) end
print(count(static_source(256), "if %("), count(static_source(65), "if %("))  -- expect: 0	1
-- A single tile that fits: the loop, and whether it is this block's.
print(count(static_source(64), "< %d+"), count(static_source(65), "< 65"))  -- expect: 2	1

-- No requirement is recorded: the same trace serves any size of its kind.
local k = kernel("any", function(x)
  fill(parallelize(tile(guard(x), 64, blockIdx.x), layout(32), threadIdx.x), 1)
end)
print(count(k { grid = 1, block = 32 }:ir(zeros(f32, 3)), "require"))  -- expect: 0
for _, n in ipairs { 3, 5, 129, 1001 } do
  local x = zeros(f32, n)
  k { grid = cdiv(n, 64), block = 32 }(x)
  for i = 0, n - 1 do assert(x[i] == 1, n) end
end
