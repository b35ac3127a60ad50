-- Operations of some lanes of a warp: random groups of lanes, each with its own mask, under a run-time
-- condition; compared with plain Lua, which takes every lane in turn.
local LANES <const> = 32

-- {====== What each operation gives, lane by lane ======

local function lanes_of(mask)
  local list = {}
  for lane = 0, LANES - 1 do
    if mask >> lane & 1 == 1 then list[#list + 1] = lane end
  end
  return list
end

-- The values of the lanes of a mask, combined in their order.
local function fold(f)
  return function(v, mask)
    local r
    for _, lane in ipairs(lanes_of(mask)) do r = r == nil and v[lane] or f(r, v[lane]) end
    return r
  end
end

local function bits_where(f)
  return function(v, mask, lane)
    local bits = 0
    for _, l in ipairs(lanes_of(mask)) do bits = f(v[l], v[lane]) and bits | 1 << l or bits end
    return bits
  end
end

local same = bits_where(function(a, b) return a == b end)
local positive = bits_where(function(a) return a > 0 end)
local word_ops = {
  add = function(a, b) return a + b end, min = math.min, max = math.max,
  ["and"] = function(a, b) return a & b end, ["or"] = function(a, b) return a | b end,
  xor = function(a, b) return a ~ b end,
}
local word_names = { "add", "min", "max", "and", "or", "xor" }

-- Each has an expression of the kernel over (v, o), which gives an i64, and what plain Lua says.
local function count(c) return where(c, i64(1), i64(0)) end
local operations = {
  { function(v, o) return ballot(v > 0, o) end, positive },
  { function(v, o) return count(vote_any(v > 5, o)) end, function(v, mask)
    return fold(math.max)(v, mask) > 5 and 1 or 0
  end },
  { function(v, o) return count(vote_all(v > -5, o)) end, function(v, mask)
    return fold(math.min)(v, mask) > -5 and 1 or 0
  end },
  { function(v, o) return match_any(v, o) end, same },
  { function(v, o) return match_any(cast(v, i64) << 40, o) end, same },
  { function(v, o) return match_any(cast(v, f32) * 0.5, o) end, same },
  { function(v, o) return (match_all(v, o)) end, function(v, mask, lane)
    return same(v, mask, lane) == mask and mask or 0
  end },
  { function(v, o) return count(select(2, match_all(v // 8, o))) end, function(v, mask)
    return fold(math.min)(v, mask) // 8 == fold(math.max)(v, mask) // 8 and 1 or 0
  end },
  { function(v, o) return warp_reduce(cast(v, f64), "add", o) end, fold(word_ops.add) },
  { function(v, o) return warp_reduce(cast(v, i64) << 33, "max", o) >> 33 << 40 >> 40 end,
    function(v, mask) return fold(math.max)(v, mask) << 40 >> 40 end },
  { function(v, o) return warp_scan(v, "add", o) end, function(v, mask, lane)
    return fold(word_ops.add)(v, mask & (2 << lane) - 1)
  end },
  { function(v, o) return warp_scan(v, "max", { mask = o.mask, exclusive = true, init = -99 }) end,
    function(v, mask, lane) return fold(math.max)(v, mask & (1 << lane) - 1) or -99 end },
  { function(v, o) return warp_scan(v, "add", { mask = o.mask, reverse = true }) end,
    function(v, mask, lane) return fold(word_ops.add)(v, mask & -1 << lane) end },
  { function(v, o)
    return warp_scan(v, "min", { mask = o.mask, reverse = true, exclusive = true, init = 99 })
  end, function(v, mask, lane) return fold(math.min)(v, mask & -2 << lane) or 99 end },
  -- the lanes in their order: the operation is associative only
  { function(v, o)
    local r = warp_reduce({ first = v, last = v }, function(a, b)
      return { first = a.first, last = b.last }
    end, o)
    return r.first * 1000 + r.last
  end, function(v, mask)
    local list = lanes_of(mask)
    return v[list[1]] * 1000 + v[list[#list]]
  end },
}
for _, name in ipairs(word_names) do
  local combine = fold(word_ops[name])
  operations[#operations + 1] = { function(v, o) return warp_reduce(v, name, o) end, combine }
  operations[#operations + 1] = { function(v, o)
    return warp_reduce(cast(v, u32), name, o)
  end, function(v, mask)
    local u = {}
    for lane, x in pairs(v) do u[lane] = x & 0xffffffff end
    return combine(u, mask) & 0xffffffff
  end }
end

-- {====== Random groups ======

-- A mask for each thread: its warp's threads with the same key. Key 3 takes no part.
local function groups(n)
  local keys, masks, values = {}, {}, {}
  local how = math.random(1, 4)
  for i = 0, n - 1 do
    local rare = math.random(8) == 1 and 1 or 0
    keys[i] = how == 1 and 0 or how == 2 and rare or math.random(0, 3)
    values[i] = how == 3 and math.random(-1, 1) or math.random(-20, 40)
  end
  for i = 0, n - 1 do
    local mask = 0
    for j = i - i % LANES, math.min(i - i % LANES + LANES, n) - 1 do
      if keys[j] == keys[i] then mask = mask | 1 << j % LANES end
    end
    masks[i] = mask
  end
  return keys, masks, values
end

local function to_tensor(dtype, t, n)
  local list = {}
  for i = 0, n - 1 do list[i + 1] = t[i] end
  return from_table(dtype, list):to(device().sm and "cuda" or "cpu")
end

local function kernel_of(n_block)
  return kernel("masked_" .. n_block, function(keys, masks, values, out)
    local i = threadIdx.x
    local v = values[i]
    if keys[i] < 3 then
      for k, op in ipairs(operations) do
        out[{ i, k - 1 }] = cast(op[1](v, { mask = masks[i] }), i64)
      end
    end
  end)
end

local function warp_values(values, i, n)
  local v = {}
  for lane = 0, math.min(LANES, n - i + i % LANES) - 1 do v[lane] = values[i - i % LANES + lane] end
  return v
end

math.randomseed(7)
local cases, wrong, told = 0, 0, false
for _, n in ipairs { 32, 50, 96, 7 } do
  local k = kernel_of(n)
  for _ = 1, 12 do
    local keys, masks, values = groups(n)
    local out = zeros(i64, { n, #operations })
    k { grid = 1, block = n }(to_tensor(i32, keys, n), to_tensor(u32, masks, n),
      to_tensor(i32, values, n), out)
    local got = out:totable()
    for i = 0, n - 1 do
      local v = warp_values(values, i, n)
      for o, op in ipairs(operations) do
        local want = keys[i] < 3 and op[2](v, masks[i], i % LANES) or 0
        local is = got[i + 1][o]
        cases = cases + 1
        if want ~= is then
          wrong = wrong + 1
          if not told then print("operation", o, "thread", i, "of", n, "want", want, "got", is) end
          told = true
        end
      end
    end
  end
end
print(cases, wrong)                      -- expect: 59940	0

-- {====== Shuffles of a group ======

-- Each kind, each width: where the source is a lane of the mask, the reader gets its value.
local shuffles = { shfl_up, shfl_down, shfl_xor, shfl_idx }
local function source(kind, lane, by, width)
  local first = lane - lane % width
  local j = ({ lane - by, lane + by, lane ~ by, first + by % width })[kind]
  local is_inside = kind == 1 and j >= first or kind ~= 1 and j < first + width
  return is_inside and j or lane
end

-- A lane whose source is no lane of its mask reads itself instead.
local widths = { 4, 16, 32 }
local exchange = kernel("exchange", function(masks, by, out)
  local i = threadIdx.x
  local mask = masks[i]
  if mask % 2 == 1 then
    for kind = 1, 4 do
      for w = 1, #widths do
        local options = { mask = mask, width = widths[w] }
        out[{ i, kind - 1, w - 1 }] = shuffles[kind](i * 1.5, by[{ i, kind - 1, w - 1 }], options)
      end
    end
  end
end)
cases, wrong = 0, 0
for distance = 0, 31, 3 do
  local _, masks = groups(LANES)
  local by, want = zeros(i32, { LANES, 4, #widths }), {}
  for w = 1, #widths do
    for kind = 1, 4 do
      for i = 0, LANES - 1 do
        local from = source(kind, i, distance, widths[w])
        local is_there = masks[i] >> from & 1 == 1
        by[{ i, kind - 1, w - 1 }] = is_there and distance or kind == 4 and i or 0
        local value = masks[i] % 2 == 1 and (is_there and from or i) * 1.5 or 0
        want[#want + 1] = { i + 1, kind, w, value }
        cases = cases + (is_there and from ~= i and masks[i] % 2 == 1 and 1 or 0)
      end
    end
  end
  local out = zeros(f32, { LANES, 4, #widths })
  exchange { grid = 1, block = LANES }(to_tensor(u32, masks, LANES), by, out)
  local got = out:totable()
  for _, of in ipairs(want) do
    if got[of[1]][of[2]][of[3]] ~= of[4] then wrong = wrong + 1 end
  end
end
print(cases > 500, wrong)                -- expect: true	0

-- {====== Conditions in conditions, and loops ======

-- The lanes that remain in a loop take part in each of its turns; those that left do not.
local turns = zeros(i32, { 64, 2 })
kernel("shrinking", function(turns)
  local i = threadIdx.x
  local lanes = ballot(i % 3 ~= 0)
  local mask, left, sum = lanes, i % 7, 0
  if i % 3 ~= 0 then
    while true do
      mask = ballot(left > 0, { mask = mask })
      if left <= 0 then break end
      sum = sum + popc(mask)
      left = left - 1
    end
    turns[{ i, 0 }] = sum
    local odd = i % 2 == 1
    local all_of = ballot(i % 3 ~= 0, { mask = lanes })
    local of_odd = ballot(odd, { mask = all_of })
    if odd then
      turns[{ i, 1 }] = popc(ballot(i > 20, { mask = of_odd }))
    else
      turns[{ i, 1 }] = -popc(ballot(i > 20, { mask = all_of & ~of_odd }))
    end
  end
end) { grid = 1, block = 64 }(turns)
local function loop_sum(i)
  local sum = 0
  for turn = 1, i % 7 do
    for j = i - i % 32, i - i % 32 + 31 do
      if j % 3 ~= 0 and j % 7 >= turn then sum = sum + 1 end
    end
  end
  return sum
end
turns = turns:to "cpu"
wrong = 0
for i = 0, 63 do
  local n = 0
  for j = i - i % 32, i - i % 32 + 31 do
    if j % 3 ~= 0 and j % 2 == i % 2 and j > 20 then n = n + 1 end
  end
  local want = i % 3 ~= 0 and { loop_sum(i), i % 2 == 1 and n or -n } or { 0, 0 }
  if turns[{ i, 0 }] ~= want[1] or turns[{ i, 1 }] ~= want[2] then wrong = wrong + 1 end
end
print(wrong)                             -- expect: 0

-- active_mask names lanes that are here: each thread's own at least. One atomic operation serves all
-- of them; the places are different whatever the mask is.
local n, places = zeros(i32, 1), zeros(i32, 300)
local append = kernel("append", function(values, n, places)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  if i < size(values) and values[i] % 3 == 1 then
    local mask = active_mask()
    local lane = threadIdx.x % 32
    local leader, first = ffs(mask) - 1, 0
    if lane == leader then first = atomic_add(n, 0, popc(mask)) end
    places[shfl_idx(first, leader, { mask = mask }) + popc(mask & (u32(1) << lane) - 1)] = i
  end
end)
append { grid = 5, block = 64 }(arange(i32, 300), n, places)
local list = places:totable()
table.sort(list)
local found = {}
for _, i in ipairs(list) do found[i] = true end
wrong = 0
for i = 1, 299, 3 do wrong = wrong + (found[i] and 0 or 1) end
print(n[0], wrong)                       -- expect: 100	0

-- sync_warp of a part: its lanes see what the others of them wrote.
local seen = zeros(i32, 32)
kernel("exchange_shared", function(seen)
  local s, i = shared(i32, 32), threadIdx.x
  local c = i % 4 < 2
  local mask = ballot(c)
  if c then
    s[i] = i
    sync_warp { mask = mask }
    seen[i] = s[i ~ 1]
  end
end) { grid = 1, block = 32 }(seen)
print(seen[0], seen[1], seen[2], seen[29]) -- expect: 1	0	0	28

-- Without a mask, match_any, match_all are of all lanes that have not ended.
local whole = zeros(u32, { 40, 2 })
kernel("whole", function(whole)
  local i = threadIdx.x
  if i == 39 then return end
  whole[{ i, 0 }] = match_any(i % 4)
  whole[{ i, 1 }] = (match_all(i // 32))
end) { grid = 1, block = 40 }(whole)
print(("%x %x %x %x"):format(whole[{ 1, 0 }], whole[{ 35, 0 }], whole[{ 0, 1 }], whole[{ 32, 1 }])) -- expect: 22222222 8 ffffffff 7f

-- Values of every type; conditions and values that are known while tracing.
local types = { f64, f32, f16, bf16, i64, i32, i16, i8, u64, u32, u16, u8 }
local bits, total = zeros(u32, { 32, #types }), zeros(i32, 32)
kernel("types", function(bits, total, k)
  local i = threadIdx.x
  local lanes = ballot(i < 20)
  if i < 20 then
    local o = { mask = lanes }
    for j, t in ipairs(types) do
      local all_of, same = match_all(cast(3, t), o)
      bits[{ i, j - 1 }] = match_any(cast(i % 2 + 1, t), o) ~ all_of
      total[i] = total[i] + where(same, 1, 0) + cast(shfl_idx(cast(i % 2, t), 3, o), i32)
    end
    total[i] = total[i] + popc(match_any(i > 4, o)) + warp_reduce(1, "add", o) * 100
  end
  local known = where(sync_threads_and(true), 100, 0) + where(sync_threads_or(false), 1000, 0)
  total[i] = total[i] + (sync_threads_count(k > 3) + known) * 10000
end) { grid = 1, block = 32 }(bits, total, 4)
wrong = 0
for i, row in ipairs(bits:totable()) do
  for _, is in ipairs(row) do
    local want = i > 20 and 0 or i % 2 == 1 and 0xaaaaa or 0x55555
    wrong = wrong + (is == want and 0 or 1)
  end
end
print(wrong, total[0], total[19], total[31]) -- expect: 0	1322029	1322039	1320000
