-- luacheck: no unused args, no max line length
-- Plain copies that are compiled to asynchronous ones keep the order of what they write: with each other, where
-- they may write the same elements, and with boxes of TMA. Copies that are known to be apart wait for nothing.
-- needs sm_90
local names = {
  { "cp_async_wait_all", "wait" }, { "cp_async_4", "copy" }, { "__syncthreads", "sync" },
  { "tma_store_1d", "store" }, { "tma_load_1d", "load" }, { "^%s+x%[", "write" },
}
local function lines_of(f)
  local x, y, z = arange(f32, layout{64, 4}), zeros(f32, 64), arange(f32, 64)
  local launch = kernel("k", f, { static_shapes = true }){ grid = 1, block = 64 }
  local lines = {}
  for line in launch:source(x, y, z, 5):match("extern.*"):gmatch "[^\n]+" do
    for _, name in ipairs(names) do
      if line:find(name[1]) then lines[#lines + 1] = name[2] end
    end
  end
  return table.concat(lines, " ")
end

local function copied(x, s, i)
  copy(parallelize(x, layout(64), i), parallelize(s, layout(64), i))
end
local function two(body)
  return function(x, y, z, n)
    local s, i = shared(f32, layout{64, 2}), threadIdx.x
    body(s, x, z, i, n)
    sync_threads()
    y[i] = s[{ 63 - i, 0 }]
  end
end

print(lines_of(two(function(s, x, z, i) copied(x(_, 0), s(_, 0), i) copied(z, s(_, 0), i) end)))
-- expect: copy wait copy wait sync
print(lines_of(two(function(s, x, z, i) copied(x(_, 0), s(_, 0), i) copied(z, s(_, 1), i) end)))
-- expect: copy copy wait sync
print(lines_of(two(function(s, x, z, i, n) copied(x(_, 0), s(_, 0), i) copied(z, s(_, n % 2), i) end)))
-- expect: copy wait copy wait sync

-- In a loop, a copy of the turn before; not if a barrier stands between, or the places do not change.
print(lines_of(two(function(s, x, z, i, n)
  for k in range(n) do copied(x(_, k), s(_, k % 2), i) end
end))) -- expect: wait copy wait sync
print(lines_of(two(function(s, x, z, i, n)
  for k in range(n) do
    copied(x(_, k), s(_, 0), i)
    copied(z, s(_, 1), i)
    sync_threads()
  end
end))) -- expect: copy copy wait sync wait sync
print(lines_of(two(function(s, x, z, i, n)
  copied(z, s(_, 1), i)
  for k in range(n) do
    copied(x(_, k), s(_, 0), i)
    sync_threads()
  end
end))) -- expect: copy copy wait sync wait sync

-- A jump takes what is under way out of a loop, or to the next turn.
print(lines_of(two(function(s, x, z, i, n)
  for k in range(n) do
    copied(x(_, k), s(_, 0), i)
    if k == 3 then break end
    sync_threads()
  end
  x[{ i, 0 }] = 0
end))) -- expect: copy wait sync wait write wait sync
print(lines_of(two(function(s, x, z, i, n)
  for k in range(n) do
    x[{ i, 0 }] = 0
    copied(x(_, k), s(_, 0), i)
    if k == 3 then goto continue end
    sync_threads()
    ::continue::
  end
end))) -- expect: wait write copy wait sync wait sync
print(lines_of(two(function(s, x, z, i, n)
  while true do
    copied(x(_, n), s(_, 0), i)
    sync_threads()
    if s[0] > 3 then break end
    sync_threads()
  end
  x[{ i, 0 }] = 0
end))) -- expect: copy wait sync wait sync write wait sync

-- Boxes of TMA: one that is read from where the copy writes, or stored to where it reads; one that is loaded there.
local function boxes(body)
  return function(x, y, z, n)
    local s, t = shared(f32, 64), shared(f32, 64)
    local bar, i = mbarrier(1, 1), threadIdx.x
    sync_threads()
    copied(z, s, i)
    if i == 0 then body(s, t, tile(tma_tensor(y), { 64 }, { 0 }), tile(tma_tensor(z), { 64 }, { 0 }), bar) end
    sync_threads()
    x[{ i, 0 }] = s[i]
  end
end
print(lines_of(boxes(function(s, t, y) tma_store(s, y) end)))
-- expect: wait sync copy wait store wait sync write
print(lines_of(boxes(function(s, t, y, z) tma_store(t, z) end)))
-- expect: wait sync copy wait store wait sync write
print(lines_of(boxes(function(s, t, y) tma_store(t, y) end)))
-- expect: wait sync copy store wait sync write
print(lines_of(boxes(function(s, t, y, z, bar) tma_load(y, s, bar[0]) end)))
-- expect: wait sync copy wait load wait sync write
print(lines_of(boxes(function(s, t, y, z, bar) tma_load(y, t, bar[0]) end)))
-- expect: wait sync copy load wait sync write
