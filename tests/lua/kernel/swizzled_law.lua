-- Random swizzles over random layouts in shared memory: where elements lie, through elements, tiles and
-- slices, held against the swizzled layout evaluated in plain Lua. Of few tiles the kernel knows each
-- coordinate; more of them, which unrolled take a compiler long, have coordinates of run time.
local THREADS <const>, ROOM <const>, UNROLLED <const> = 32, 4096, 32
math.randomseed(20)
local rnd = math.random

local function random_layout()
  local B, M = rnd(0, 3), rnd(0, 4)
  local S = rnd(B, 4) * (rnd(2) == 1 and 1 or -1)
  local m, n = 1 << rnd(2, 5), 1 << rnd(2, 5)
  local pad = rnd(3) == 1 and rnd(0, 5) or 0
  local stride = rnd(2) == 1 and {n + pad, 1} or {1, m + pad}
  local offset = rnd(3) == 1 and rnd(1, 99) or 0
  local plain = ("(%d,%d):(%d,%d)"):format(m, n, stride[1], stride[2])
  return L(("Sw<%d,%d,%d> o %d o %s"):format(B, M, S, offset, plain)), m, n, plain
end

-- Sw<B,M,S>(offset + i*di + j*dj), without the layout algebra.
local function place(C, i, j)
  local B, M, S, offset, di, dj =
    tostring(C):match("Sw<(%d+),(%d+),(-?%d+)> o (%d+) o .*:%((%d+),(%d+)%)")
  B, M, S = tonumber(B), tonumber(M), tonumber(S)
  local x = offset + i * di + j * dj
  local mask = (1 << B) - 1
  local bits = x >> (M + math.max(S, 0)) & mask
  return x ~ bits << (M + math.max(-S, 0))
end

local function run(C, m, n, tm, tn)
  local count, tiles = m * n, {m // tm, n // tn}
  local n_tiles <const> = tiles[1] * tiles[2]
  local A, raw = arange(f32, count), full(f32, ROOM, -1)
  local got, after = zeros(f32, {m, n}), full(f32, ROOM, -1)
  kernel(function(A, raw, got, after)
    local memory = shared(f32, ROOM)
    local s = view(memory, C)
    local own = shared(f32, C) -- memory of its own: the same layout
    local t = threadIdx.x
    for i = t, ROOM - 1, THREADS do memory[i] = -1 end
    sync_threads()
    for e = t, count - 1, THREADS do
      s[e] = A[e]
      own[e] = A[e]
    end
    sync_threads()
    for i = t, ROOM - 1, THREADS do raw[i] = memory[i] end
    sync_threads()
    local function move(x, y)
      local from = tile(own, {tm, tn}, {x, y})
      local r = fragment_like(from)
      copy(from, r)
      copy(r, tile(got, {tm, tn}, {x, y}))
      for i = 0, size(r) - 1 do r[i] = r[i] + 1000 end
      copy(r, tile(s, {tm, tn}, {x, y}))
    end
    if n_tiles <= UNROLLED then
      for y = 0, tiles[2] - 1 do
        for x = 0, tiles[1] - 1 do
          if t == x then move(x, y) end
        end
      end
    else
      for i = t, n_tiles - 1, THREADS do move(i % tiles[1], i // tiles[1]) end
    end
    sync_threads()
    for i = t, ROOM - 1, THREADS do after[i] = memory[i] end
  end){grid = 1, block = THREADS}(A, raw, got, after)
  raw, got, after = raw:to "cpu", got:to "cpu", after:to "cpu"
  local want = {}
  for i = 0, m - 1 do
    for j = 0, n - 1 do
      local e, p = i + j * m, place(C, i, j)
      assert(not want[p], "two elements at one place")
      want[p] = e
      if raw[p] ~= e or got[{i, j}] ~= e or after[p] ~= e + 1000 then
        error(("%s, tiles of (%d,%d): at (%d,%d), place %d: %s %s %s"):format(
          C, tm, tn, i, j, p, raw[p], got[{i, j}], after[p]))
      end
    end
  end
  for i = 0, ROOM - 1 do assert(want[i] or raw[i] == -1) end
end

local n = 0
for _ = 1, 40 do
  local C, m, k = random_layout()
  if C.swizzle then -- none is left of B = 0
    run(C, m, k, 1 << rnd(0, 2), 1 << rnd(0, 2))
    n = n + 1
  end
end
print(n > 20)  -- expect: true
