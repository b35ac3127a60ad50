-- The CPU engine takes an address apart: one number for all threads, one for each thread, one for each element. These
-- may be so large that they wrap around, or that only some of them are inside the tensor. Sums inside are right, and
-- all others are errors, whatever the parts are.
local tap = dofile "tests/support/tap.lua"
local one <const> = {grid = 1, block = 32}
local most <const>, least <const> = math.maxinteger, math.mininteger

-- {====== Sums that are inside ======

local function check_inside(T, distance)
  local k = kernel("inside", function(x, y, z, w, far)
    local at = (i64(threadIdx.x) | far) - far
    y[at] = x[at]
    copy(tile(x, {4}, {at}), tile(z, {4}, {at}))
    local r = fragment(T, 4)
    copy(tile(x, {4}, {at}), r)
    if at < 16 then copy(r, tile(w, {4}, {at})) end
    if at >= 16 then fill(tile(w, {4}, {at}), 3) end
    if T.bits >= 32 then axpby(2, tile(x, {4}, {at}), 1, tile(w, {4}, {at})) end
  end)
  local function new(value) return full(T, 128, value) end
  local y, z, w = new(0), new(0), new(0)
  k(one)(new(2), y, z, w, i64(distance))
  local add = T.bits >= 32 and 4 or 0
  local got = {y[31], y[32], z[0], z[127], w[0] - add, w[127] - add}
  for i, v in ipairs(got) do got[i] = math.tointeger(v) end
  tap.is(table.concat(got, " "), "2 0 2 2 2 3", ("%s, parts of %d"):format(T, distance))
end

for _, T in ipairs {f64, f32, i64, i32, f16, i8} do
  for _, far in ipairs {1 << 39, 1 << 40, 1 << 41, 1 << 57, 1 << 61, 1 << 62, least} do
    check_inside(T, far)
  end
end

-- {====== Others ======

-- Thread i reads and writes element i * step + base, modulo 2^64.
local ways <const> = {
  element = function(x, y, at) y[threadIdx.x] = x[at] end,
  store = function(x, y, at) x[at] = y[threadIdx.x] end,
  copy = function(x, y, at) copy(tile(x, {2}, {at}), tile(y, {2}, {threadIdx.x})) end,
  fill = function(x, _, at) fill(tile(x, {2}, {at}), 1) end,
  guard = function(x, y, at)
    copy(tile(guard(x), {2}, {at}), tile(y, {2}, {threadIdx.x}))
  end,
  product = function(x, y, at)
    local s = f32(0)
    for j = 0, 7 do s = s + x[at + j] * y[j] end
    y[threadIdx.x] = s
  end,
}

-- Is every element that the threads access inside a tensor of n?
local function is_inside(step, base, n, width)
  for i = 0, 31 do
    local at = i * step + base
    if at < 0 or at > n - width then return false end
  end
  return true
end

local steps <const> = {1, 2, -1, 1 << 57, 1 << 58, 1 << 59, 1 << 60, 1 << 62, least, most,
  -(1 << 59)}
local bases <const> = {0, 31, 1, -1, least, least + 1, least + 2, least + 31, most, most - 31,
  -most + 1, 1 << 62, -(1 << 62), 1 << 57}

local function count_wrong(way)
  local n_wrong, n_inside = 0, 0
  local k = kernel("reach", function(x, y, step, base)
    way(x, y, i64(threadIdx.x) * step + base)
  end)
  for _, step in ipairs(steps) do
    for _, base in ipairs(bases) do
      local x, y = full(f32, 64, 7), zeros(f32, 64)
      local ok = pcall(k(one), x, y, i64(step), i64(base))
      local is = is_inside(step, base, 64, 1)
      n_wrong = n_wrong + (ok and not is and 1 or 0)
      n_inside = n_inside + (ok and 1 or 0)
    end
  end
  return n_wrong, n_inside
end

for _, name in ipairs {"element", "store", "product"} do
  local n_wrong, n_inside = count_wrong(ways[name])
  tap.ok(n_wrong == 0 and n_inside > 0, name .. ": all that reach outside are errors",
    n_wrong .. " of " .. #steps * #bases)
end
for _, name in ipairs {"copy", "fill", "guard"} do
  tap.ok(pcall(count_wrong, ways[name]), name .. ": none reaches outside the memory")
end
tap.done()
