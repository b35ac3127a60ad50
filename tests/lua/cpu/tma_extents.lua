-- The extents of a tensor map are the script's numbers: a box of a tensor that ends before it begins has no
-- element, and one that ends further away than any address is out of bounds. Sanitizers see how they are computed.
-- needs sm_90
local tap = dofile "tests/support/tap.lua"

local k = kernel("k", function(x, y, n, i)
  local s, b = shared(u32, 64), mbarrier(1, 1)
  fill(s, 7)
  fence_proxy_async()
  sync_threads()
  local g = tile(tma_tensor(view(x, layout(n, 1))), {64}, {i})
  if threadIdx.x == 0 then
    b[0]:arrive_expect_tx(256)
    tma_load(g, s, b[0])
  end
  b[0]:wait(0)
  for j in range(threadIdx.x, 64, 32) do y[j] = s[j] end
end)

local function load(n, i)
  local x, y = full(u32, 64, 5), zeros(u32, 64)
  local ok, message = pcall(k{grid = 1, block = 32}, x, y, n, i)
  return ok and ("%d %d"):format(y[0], y[63]) or message
end

tap.is(load(64, 0), "5 5", "a tensor as large as its memory")
for _, n in ipairs{0, -1, math.mininteger, math.mininteger + 1, -(1 << 61)} do
  tap.is(load(n, 0), "0 0", ("no element of %d"):format(n))
  tap.is(load(n, 3), "0 0", "nor further on")
end
for _, n in ipairs{1 << 40, 1 << 61, math.maxinteger} do
  tap.is(load(n, 0), "5 5", ("a box inside the memory, of %d"):format(n))
  tap.ok(load(n, 3):find "out of bounds", "and one outside it")
end
tap.done()
