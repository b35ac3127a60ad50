-- Shuffles and votes: each kind, each width, whole and partial warps, every type, against what the
-- PTX ISA says of shfl.sync, computed here.
local sorted = dofile "tests/support/sorted.lua"
local function source(kind, lane, by, width)
  local first = lane - lane % width
  local last = first + width - 1
  local j
  if kind == "up" then
    j = lane - by
    return j >= first and j or lane
  elseif kind == "down" then
    j = lane + by
    return j <= last and j or lane
  elseif kind == "xor" then
    j = lane ~ by
    return j <= last and j or lane
  end
  return first + by % width
end

local functions = {up = shfl_up, down = shfl_down, xor = shfl_xor, idx = shfl_idx}
local widths = {1, 2, 4, 8, 16, 32}
local wrong, cases = 0, 0
for kind, shuffle in sorted(functions) do
  local out = zeros(i32, {64, #widths, 32})
  kernel("all_" .. kind, function(out)
    local i = threadIdx.x
    for w = 1, #widths do
      for by = 0, 31 do out[{i, w - 1, by}] = shuffle(i * 3, by, widths[w]) end
    end
  end){grid = 1, block = 64}(out)
  for w, width in ipairs(widths) do
    for by = 0, 31 do
      for i = 0, 63 do
        local want = 3 * (i - i % 32 + source(kind, i % 32, by, width))
        cases = cases + 1
        if out[{i, w - 1, by}] ~= want then wrong = wrong + 1 end
      end
    end
  end
end
print(cases, wrong)                      -- expect: 49152	0

-- The distance may differ from lane to lane, counts modulo 32, and the value may be of any type.
local f, d, l, b = zeros(f32, 32), zeros(f64, 32), zeros(i64, 32), zeros(bool, 32)
kernel("types", function(f, d, l, b)
  local i = threadIdx.x
  f[i] = shfl_idx(i * 0.5, 31 - i)
  d[i] = shfl_xor(cast(i, f64) / 3.0, 1)
  l[i] = shfl_down(cast(i, i64) * 10000000000, i + 32)
  b[i] = shfl_up(i % 2 == 0, 1)
end){grid = 1, block = 32}(f, d, l, b)
print(f[0], f[31], d[0] * 3, d[1], l[5], l[20]) -- expect: 15.5	0.0	1.0	0.0	100000000000	200000000000
print(b[0], b[1], b[2])                  -- expect: true	true	false

-- Narrow and unsigned ones keep their values.
local h, w, q = zeros(f16, 32), zeros(u8, 32), zeros(u64, 32)
kernel("narrow", function(h, w, q)
  local i = threadIdx.x
  h[i] = shfl_xor(cast(i * 0.25, f16), 3)
  w[i] = shfl_idx(cast(i + 224, u8), 31)
  q[i] = shfl_down(cast(i, u64) << 60, 1)
end){grid = 1, block = 32}(h, w, q)
print(h[0], h[31], w[0], q[6] >> 60)     -- expect: 0.75	7.0	255	7

-- The last warp of 50 threads has 18 lanes; threads that ended are no longer asked.
local sums, votes = zeros(i32, 50), zeros(u32, {50, 3})
kernel("partial", function(sums, votes)
  local i = threadIdx.x
  sums[i] = shfl_idx(i, 17)
  votes[{i, 0}] = ballot(i % 2 == 0)
  if i >= 40 then return end
  votes[{i, 1}] = ballot(true)
  votes[{i, 2}] = cast(where(vote_any(i == 35), 1, 0) + where(vote_all(i >= 32), 2, 0), u32)
end){grid = 1, block = 50}(sums, votes)
print(sums[0], sums[31], sums[32], sums[49]) -- expect: 17	17	49	49
print(votes[{0, 0}], votes[{49, 0}])     -- expect: 1431655765	87381
print(votes[{0, 1}], votes[{39, 1}])     -- expect: 4294967295	255
print(votes[{0, 2}], votes[{39, 2}])     -- expect: 0	3

-- Warps are cut from the block's threads in order of x, y, z.
local t = zeros(i32, {8, 4, 2})
kernel("three_modes", function(t)
  local x, y, z = threadIdx.x, threadIdx.y, threadIdx.z
  t[{x, y, z}] = shfl_up(x + 10 * y + 100 * z, 1)
end){grid = 1, block = {8, 4, 2}}(t)
print(t[{0, 0, 0}], t[{0, 1, 0}], t[{0, 0, 1}], t[{0, 3, 1}]) -- expect: 0	7	100	127

-- A vote is one answer for the warp, so a loop over it does not diverge.
local turns = zeros(i32, 64)
kernel("vote_loop", function(turns)
  local i, n = threadIdx.x, 0
  while vote_any(n < i) do n = n + 1 end
  turns[i] = n
end){grid = 1, block = 64}(turns)
print(turns[0], turns[31], turns[32], turns[63]) -- expect: 31	31	63	63

-- Sums over a warp, by all five distances, of a run-time number of rounds.
local s = zeros(f32, 32)
kernel("butterfly", function(s, rounds)
  local v = threadIdx.x + 0.0
  for _ in range(rounds) do
    for k = 0, 4 do v = v + shfl_xor(v, 1 << k) end
  end
  s[threadIdx.x] = v
end){grid = 1, block = 32}(s, 2)
print(s[0], s[31])                       -- expect: 15872.0	15872.0
