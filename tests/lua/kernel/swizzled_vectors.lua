-- Tiles of f16 under the swizzle that CuTe gives them: 8 elements stay together, and are moved at once,
-- asynchronously where the device can; across threads and rows the swizzle is computed once.
local tap = dofile "tests/support/tap.lua"
local S = tile_to_shape(composition(swizzle(3, 3, 3), row_major{8, 64}), {64, 64})
local threads = layout{1, 1, 16, 8}

local function make(shape)
  return kernel("vectors", function(A, B)
    local s, t = shared(f16, shape), threadIdx.x
    local function pieces(x) return parallelize(flat_divide(x, {1, 8}), threads, t) end
    copy(pieces(tile(A, {64, 64}, {0, 0})), pieces(s))
    cp_async_wait(0)
    sync_threads()
    local from = pieces(s)
    local r = fragment_like(from)
    copy(from, r)
    copy(r, pieces(tile(B, {64, 64}, {0, 0})))
  end, {static_shapes = true})
end

local report = tap.ok

local A, B = zeros(f16, row_major{64, 64}), zeros(f16, row_major{64, 64})
for i = 0, 4095 do A[i] = i % 1024 end
local launch = make(S){grid = 1, block = 128}
launch(A, B)
report(allclose(A, B, {rtol = 0, atol = 0}), "copied there and back")

local source = launch:source(A, B):gsub("%s+", " ") -- long lines are broken
local to, from = "s + swizzle<3, 3, 3>(B_at) + i * 1024", "A_ptr + i * 1024"
local has_async = source:find("cp_async", 1, true) -- from sm_80 on
for _, text in ipairs{
  has_async and ("(%s, %s)"):format(to, from)
    or ("(%s) = *reinterpret_cast<const uint4*>(%s)"):format(to, from),
  "*reinterpret_cast<const uint4*>(s + swizzle<3, 3, 3>(B_at) + i * 1024)",
} do
  report(source:find(text, 1, true), text, source)
end

-- What a narrower run allows: 4 elements, 8 bytes.
local less = make(tile_to_shape(composition(swizzle(3, 2, 4), row_major{8, 64}), {64, 64}))
local text = less{grid = 1, block = 128}:source(A, B)
report(text:find("const uint2*", 1, true) and not text:find("const uint4*>(s", 1, true),
  "accesses are as wide as what stays together", text)

local ok, ptx = pcall(launch.ptx, launch, A, B)
if not ok and ptx:find("cannot load", 1, true) then
  tap.skip("16 bytes at a time", "no NVRTC")
else
  local n = 0
  for address in ptx:gmatch("ld%.shared%.v4%.[bu]32[^[]*(%b[])") do
    n = n + (address:find("^%[%%rd?%d+%+?%d*%]$") and 1 or 0)
  end
  report(ok and n == 4 and not ptx:find("ld%.shared%.[^v]"), "16 bytes at a time", ptx)
end
tap.done()
