-- sync_threads_count, _and and _or: random conditions in blocks of every shape, in loops whose turns follow
-- each other at once, compared with plain Lua; and the barrier orders memory.
local tally = kernel("tally", function(values, out)
  local i = threadIdx.x + threadIdx.y * blockDim.x
  for turn in range(size(values, 1)) do
    local v = values[{ i, turn }]
    local n = sync_threads_count(v > 0)
    local all_of = sync_threads_and(v > -3)
    local some = sync_threads_or(v > 8)
    out[{ i, turn }] = n * 4 + where(all_of, 2, 0) + where(some, 1, 0)
  end
end)

math.randomseed(11)
local TURNS <const> = 9
local where_to = device().sm and "cuda" or "cpu"
local cases, wrong = 0, 0
for _, block in ipairs { { 1 }, { 31 }, { 32 }, { 33 }, { 64, 3 }, { 100, 2 }, { 1024 } } do
  local n = block[1] * (block[2] or 1)
  local list, want = {}, {}
  for turn = 0, TURNS - 1 do
    local count, least, most = 0, 9, -9
    for i = 0, n - 1 do
      local v = math.random(turn % 3 == 0 and -2 or -3, turn % 2 == 0 and 8 or 9)
      if turn == 5 then v = math.random(-9, 0) end
      list[turn * n + i + 1] = v
      count, least, most = count + (v > 0 and 1 or 0), math.min(least, v), math.max(most, v)
    end
    want[turn] = count * 4 + (least > -3 and 2 or 0) + (most > 8 and 1 or 0)
  end
  local out = zeros(i32, { n, TURNS })
  tally { grid = 1, block = block }(from_table(i32, list, layout { n, TURNS }):to(where_to), out)
  out = out:to "cpu"
  for turn = 0, TURNS - 1 do
    for i = 0, n - 1 do
      cases = cases + 1
      if out[{ i, turn }] ~= want[turn] then wrong = wrong + 1 end
    end
  end
end
print(cases, wrong)                      -- expect: 13617	0

-- What is written before it is seen after it; the count is the same in all threads, so a loop over it
-- does not diverge: a bubble sort of a block's elements stops when no pair was exchanged.
local sort = kernel("sort", function(x, turns)
  local s, i = shared(i32, 64), threadIdx.x
  s[i] = x[i]
  sync_threads()
  local n, phase, swapped = 0, 0, 2
  while swapped > 0 do
    local at = 2 * i + phase
    local is_pair = at + 1 < 64
    local out_of_order = is_pair and s[at] > s[at + 1]
    if out_of_order then s[at], s[at + 1] = s[at + 1], s[at] end
    local did = sync_threads_count(out_of_order)
    swapped = where(did > 0, 2, swapped - 1)
    phase, n = 1 - phase, n + 1
  end
  x[i] = s[i]
  if i == 0 then turns[0] = n end
end)
local mixed = {}
for i = 1, 64 do mixed[i] = i * 37 % 64 end
local x, turns = from_table(i32, mixed):to(where_to), zeros(i32, 1)
sort { grid = 1, block = 64 }(x, turns)
local sorted = x:totable()
wrong = 0
for i = 1, 64 do wrong = wrong + (sorted[i] == i - 1 and 0 or 1) end
print(wrong, turns[0] <= 66)             -- expect: 0	true
