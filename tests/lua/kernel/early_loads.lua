-- Copies to registers that are used after a barrier only: the CUDA C holds them where the script has
-- them (load_early, and a __syncwarp behind the last of several); others are left to the compiler.
local blocks = {grid = 1, block = 32}

local function count(text, pattern) return select(2, text:gsub(pattern, "")) end

-- How often a kernel's CUDA C says it, without the function's own text; and whether its result is
-- the same as that of `right`.
local function early(name, body, dtype)
  local x, y = rand(dtype or f32, 512), zeros(dtype or f32, 512)
  local k = kernel((name:gsub(" ", "_")), body)
  k(blocks)(x, y)
  local text = k(blocks):source(x, y):match('extern "C".*')
  print(name, count(text, "load_early%("), count(text, "__syncwarp"))
  return x, y
end

-- The tile that comes next is fetched before this one is used.
local function staged(x, y)
  local s = shared(x.dtype, 128)
  local mine = tile(s, 4, threadIdx.x)
  local function part(k) return tile(x, 4, k * 32 + threadIdx.x) end
  local ty = tile(y, 4, threadIdx.x)
  local r = fragment(x.dtype, 4)
  copy(part(0), r)
  for k in range(4) do
    sync_threads()
    copy(r, mine)
    sync_threads()
    copy(part(min(k + 1, 3)), r)
    copy(tile(s, 4, 31 - threadIdx.x), ty)
  end
end
-- expect: staged f32	1	1
local x, y = early("staged f32", staged)
print(y[0] == x[384 + 124], y[127] == x[384 + 3]) -- expect: true	true
-- expect: staged f16	1	1
early("staged f16", staged, f16)

-- Two copies side by side end with one __syncwarp.
-- expect: two	2	1
early("two", function(x, y)
  local a, b, s = fragment(f32, 4), fragment(f32, 4), shared(f32, 256)
  fill(a, 0)
  fill(b, 0)
  for k in range(2) do
    copy(a, tile(s, 4, threadIdx.x))
    copy(b, tile(s, 4, threadIdx.x + 32))
    copy(tile(x, 4, k * 32 + threadIdx.x), a)
    copy(tile(x, 4, k * 32 + threadIdx.x + 64), b)
    sync_threads()
    copy(tile(s, 4, 31 - threadIdx.x), tile(y, 4, threadIdx.x))
    sync_threads()
  end
end)

-- Not where the registers are read before a barrier, where the tensor is written, where only some
-- threads copy, and outside of loops.
local function once(name, body)
  early(name, function(x, y)
    local r, s = fragment(f32, 4), shared(f32, 128)
    fill(r, 0)
    for k in range(2) do
      copy(r, tile(s, 4, threadIdx.x))
      body(tile(x, 4, k * 32 + threadIdx.x), r, tile(y, 4, threadIdx.x))
      sync_threads()
    end
    copy(tile(s, 4, threadIdx.x), tile(y, 4, threadIdx.x))
  end)
end
-- expect: as they come	1	1
once("as they come", function(from, r) copy(from, r) end)
-- expect: read at once	0	0
once("read at once", function(from, r, to) copy(from, r) copy(r, to) end)
-- expect: written	0	0
once("written", function(from, r) copy(from, r) from[0] = 1 end)
-- expect: some threads	0	0
once("some threads", function(from, r) if threadIdx.x < 16 then copy(from, r) end end)
-- expect: converted	0	0
early("converted", function(x, y)
  local r = fragment(f32, 4)
  for k in range(2) do
    copy(tile(x, 4, k * 32 + threadIdx.x), r)
    sync_threads()
  end
  copy(r, tile(recast(y, f32), 4, threadIdx.x))
end, f16)
-- expect: no loop	0	0
early("no loop", function(x, y)
  local r = fragment(f32, 4)
  copy(tile(x, 4, threadIdx.x), r)
  sync_threads()
  copy(r, tile(y, 4, threadIdx.x))
end)
