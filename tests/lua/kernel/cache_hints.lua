-- cache_hint(t, hint), copy(..., {cache = hint}) and prefetch: hints change no result, on no device.
-- The text has the instruction of each hint.
local tap = dofile "tests/support/tap.lua"
local N <const> = 64
local hints = {"streaming", "global", "last_use", "volatile", "write_through", "read_only",
  "no_allocate", "evict_first", "evict_last"}

local function equal(got, want)
  for i = 0, size(got) - 1 do
    if got[i] ~= want(i) then return false end
  end
  return true
end

-- Every access with every hint: elements, vectors, parts under a guard, cp.async, sums.
local function moves(hint, T)
  local writes = hint ~= "read_only" and hint or "streaming"
  local x, y, z = arange(T, 4 * N), zeros(T, 4 * N), zeros(T, 4 * N)
  local w = zeros(T, 4 * N - 3)
  kernel("moves", function(x, y, z, w)
    local i = threadIdx.x
    local xs, ys, zs = cache_hint(x, hint), cache_hint(y, writes), cache_hint(z, writes)
    for j = 0, 3 do zs[i + N * j] = xs[i + N * j] end
    local r = fragment(T, 4)
    copy(tile(xs, {4}, {i}), r)
    copy(r, tile(ys, {4}, {i}))
    copy(tile(cache_hint(guard(x), hint), {3}, {i + 1}),
      tile(guard(cache_hint(w, writes)), {3}, {i + 1}))
    if T.bits >= 32 then axpby(2, tile(xs, {4}, {i}), 1, tile(ys, {4}, {i})) end
    sync_threads()
    if i == 0 then fill(tile(zs, {4}, {1}), 7) end
    local s, other = shared(T, 4 * N), shared(T, 4 * N)
    copy(tile(xs, {4}, {i}), tile(s, {4}, {i}))
    copy(tile(x, {4}, {i}), tile(other, {4}, {i}), {cache = hint})
    sync_threads()
    if i == 1 then zs[0], zs[1] = s[4 * N - 1], other[4 * N - 2] end
  end){grid = 1, block = N}(x, y, z, w)
  local function number(v) return T == bool and (v ~= 0) or v end
  local sum = T.bits >= 32 and 3 or 1
  return equal(y, function(i) return number(sum * i) end)
    and equal(z, function(i)
      return i < 2 and 4 * N - 1 - i or i >= 4 and i < 8 and 7 or i
    end)
    and equal(w, function(i) return i >= 3 and i < 3 * N + 3 and i < 4 * N - 3 and i or 0 end)
end
for _, hint in ipairs(hints) do
  for _, T in ipairs{f32, f16, i16, u64, f64} do
    tap.ok(moves(hint, T), ("%s, %s"):format(hint, T))
  end
end

-- What was stored through one of two names of a tensor is read through the other.
for _, hint in ipairs(hints) do
  if hint ~= "read_only" then
    local x, y = zeros(i32, N), zeros(i32, N)
    kernel("in_place", function(x, y)
      local i = threadIdx.x
      local xs = cache_hint(x, hint)
      x[i] = i
      xs[i] = xs[i] + 5
      local before = x[i]
      xs[i] = before * 2
      y[i] = cast(recast(xs, u32)[i], i32) + before
    end){grid = 1, block = N}(x, y)
    tap.ok(equal(y, function(i) return 3 * (i + 5) end), hint .. " keeps stores and loads in order")
  end
end

-- Prefetching nothing, a line, and one past the end.
local p, q = arange(f32, N), zeros(f32, N)
kernel("ahead", function(p, q)
  local i = threadIdx.x
  prefetch(p)
  prefetch({p, i}, "L1")
  prefetch(tile(p, {4}, {i // 4}), "L2")
  q[i] = p[i]
end){grid = 1, block = N}(p, q)
tap.ok(equal(q, function(i) return i end), "prefetch changes nothing")

-- The text, as PTX where NVRTC is.
local function ptx_of(f, ...)
  local k = kernel("text", f){grid = 1, block = 32}
  local ok, text = pcall(k.ptx, k, ...)
  return ok and text or nil, text
end
local words = {
  streaming = {"ld.global.cs.", "st.global.cs."}, global = {"ld.global.cg.", "st.global.cg."},
  last_use = {"ld.global.lu."}, volatile = {"ld.global.cv."}, write_through = {"st.global.wt."},
  read_only = {"ld.global.nc."},
  no_allocate = {"ld.global.nc.L1::no_allocate", "st.global.L1::no_allocate"},
  evict_first = {"ld.global.nc.L1::evict_first", "st.global.L1::evict_first"},
  evict_last = {"ld.global.nc.L1::evict_last", "st.global.L1::evict_last"},
}
for _, hint in ipairs(hints) do
  local text, why = ptx_of(function(x, y)
    local i = threadIdx.x
    local r = fragment(f32, 4)
    copy(tile(x, {4}, {i}), r, {cache = hint})
    copy(r, tile(y, {4}, {i}), {cache = hint ~= "read_only" and hint or "streaming"})
    if hint == "read_only" then y[i] = cache_hint(x, hint)[i] end
  end, arange(f32, 4 * N), zeros(f32, 4 * N))
  for _, word in ipairs(words[hint]) do
    if not text then
      tap.skip(hint .. ": " .. word, why:match "^[^\n;]*")
    else
      tap.ok(text:find(word, 1, true), hint .. ": " .. word, text)
      local four = word:gsub("%.$", "") .. "[%w:_.]*%.v4"
      tap.ok(text:find(four), hint .. ": four at once, " .. word, text)
    end
  end
end

-- A tensor that the kernel writes keeps its order: our function, not CUDA's.
local function source_of(f, ...)
  return kernel("text", f){grid = 1, block = 32}:source(...)
end
local function has(name, text, want)
  tap.ok(text:find(want, 1, true), name, text .. "\nhas not: " .. want)
end
local f, g = arange(f32, N), zeros(f32, N)
has("a tensor that is only read", source_of(function(x, y)
  y[0] = cache_hint(x, "streaming")[1]
end, f, g), "y[0] = __ldcs(&x[1]);")
has("a tensor that is written too", source_of(function(x)
  x[0] = cache_hint(x, "streaming")[1]
end, f), "x[0] = load_streaming(&x[1]);")
has("a store", source_of(function(x, y)
  cache_hint(y, "streaming")[0] = x[1]
end, f, g), "__stcs(&y[0], x[1]);")
tap.done()
