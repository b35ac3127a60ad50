-- Counts of many warps and blocks against sums over lanes in plain Lua: what is looked up (an access
-- like one that was seen) must be what would be counted.
device("cpu")
math.randomseed(20261122)
local SECTOR <const>, BANKS <const> = 32, 32

-- Sectors of one request of 4-byte elements, and wavefronts, at offset(lane) where that is not nil.
local function costs(offset)
  local sectors, n_sectors, words, most = {}, 0, {}, 0
  for lane = 0, 31 do
    local at = offset(lane)
    if at then
      local sector, bank = at * 4 // SECTOR, at % BANKS
      if not sectors[sector] then sectors[sector], n_sectors = true, n_sectors + 1 end
      words[bank] = words[bank] or { n = 0 }
      if not words[bank][at] then
        words[bank][at] = true
        words[bank].n = words[bank].n + 1
        most = math.max(most, words[bank].n)
      end
    end
  end
  return n_sectors, most
end

local k = kernel("walk", function(x, y, a, b, c, limit)
  local s = shared(f32, 4096)
  local t = threadIdx.x
  for i in range(0, 6) do
    s[t * a + i * b] = x[t * a + i * b + blockIdx.x * c]
    if t < limit then y[t + blockIdx.x * 7] = s[t * b + i] end
  end
end)

local function expected(n_blocks, n_threads, a, b, c, limit)
  local sum = { load_x = 0, store_y = 0, store_s = 0, load_s = 0, store_y_lanes = 0 }
  local function add(name, which, offset)
    sum[name] = sum[name] + (select(which, costs(offset)))
  end
  for block = 0, n_blocks - 1 do
    for warp = 0, (n_threads - 1) // 32 do
      local function thread(lane, f, most)
        local t = warp * 32 + lane
        if t < n_threads and t < most then return f(t) end
      end
      for i = 0, 5 do
        add("load_x", 1, function(l)
          return thread(l, function(t) return t * a + i * b + block * c end, n_threads)
        end)
        add("store_s", 2, function(l)
          return thread(l, function(t) return t * a + i * b end, n_threads)
        end)
        add("load_s", 2, function(l) return thread(l, function(t) return t * b + i end, limit) end)
        add("store_y", 1, function(l)
          return thread(l, function(t) return t + block * 7 end, limit)
        end)
      end
    end
  end
  return sum
end

-- Full warps and others; not one of all numbers, as a kernel is compiled for each.
local block_sizes <const> = {23, 32, 55, 64, 87, 96, 119, 128}

local function difference()
  local n_threads, n_blocks = block_sizes[math.random(#block_sizes)], math.random(1, 30)
  local a, b, c = math.random(0, 17), math.random(0, 20), math.random(0, 40)
  local limit = math.random(1, n_threads)
  local x, y = zeros(f32, 8192), zeros(f32, 1024)
  local launch = k:prepare{grid = n_blocks, block = n_threads}(x, y, a, b, c, limit)
  local want = expected(n_blocks, n_threads, a, b, c, limit)
  for _, line in ipairs(profile(launch).kernels[1].lines) do
    for _, access in ipairs(line.accesses) do
      local name = access.op .. "_" .. access.tensor
      if (access.sectors or access.wavefronts) ~= want[name] then
        return ("%s: %d, expected %d"):format(name, access.sectors or access.wavefronts, want[name])
      end
    end
  end
end

local n_wrong = 0
for _ = 1, 60 do
  local wrong = difference()
  if wrong then
    n_wrong = n_wrong + 1
    print(wrong)
  end
end
print(n_wrong) -- expect: 0
