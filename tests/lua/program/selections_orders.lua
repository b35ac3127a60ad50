-- The selections in other orders of their blocks and warps: `check` finds no deadlock, no race and
-- no bits that depend on the order. Tiles are small, so that blocks wait for each other. Then each
-- barrier and each order is left out or weakened, one at a time: `check` finds it. An argument: the
-- number of orders.
local check = require "cuttle.check"
local selections = require "cuttle.selections"
local tap = dofile "tests/support/tap.lua"
local n_orders = tonumber(arg[1]) or 20

local function orders(name, f)
  local findings, launches, ok, message = check.run(f, {orders = n_orders})
  tap.ok(ok and #findings == 0 and launches > 0, name, tostring(message), check.report(findings, 1))
end

-- A dependent launch is not judged by itself: f runs without the place.
local function is_found(m, f)
  return m.is_needed or m.launches == 0 and #check.run(f, {without = m}) > 0
end

-- f with each thing that orders something left out: `check` finds all but n_needless, which are
-- barriers that another one makes needless: the first of a block_scan in a loop, the last of a
-- loop.
local function mutants(name, n_needless, f)
  local findings, _, ok, message = check.run(f, {mutants = "each"})
  local lines, n = {}, 0
  for _, m in ipairs(findings.mutants) do
    n = n + 1
    if not is_found(m, f) then lines[#lines + 1] = ("%s:%d: %s"):format(m.chunk, m.line, m.what) end
  end
  tap.ok(ok and n > 0 and #lines == n_needless, ("%s: %d mutants"):format(name, n),
    tostring(message), table.concat(lines, "\n"))
end

local small <const> = {threads = 64, items = 3}
for _, dtype in ipairs{f32, f64} do
  for _, fixed in ipairs{false, true} do
    local name = ("scan of %s, %s order"):format(dtype, fixed and "fixed" or "any")
    local x = (fixed and rand or ones)(dtype, 9 * 192 - 3) -- sums in any order are the same
    local options = {config = small, deterministic = fixed}
    orders(name, function() selections.scan(x, "add", options) end)
    mutants(name, 0, function() selections.scan(x, "add", options) end)
  end
end

do
  local keys, values = rand(f32, 1300), zeros(u16, 1300)
  local long, config = rand(f32, 1300), {threads = 256, items = 2}
  orders("sort", function() selections.sort(long, {config = config}) end)
  mutants("sort", 0, function() selections.sort(keys, values, {config = config}) end)
end

do
  local x, config = rand(f32, 500), {threads = 64, items = 2}
  local function keep(v) return v > 0.5 end
  orders("compact", function() selections.compact(x, keep, {config = config}) end)
  mutants("compact", 0, function() selections.compact(x, keep, {config = config}) end)
  local flags = zeros(u8, 500)
  orders("unique", function() selections.runs(flags, {config = config}) end)
  orders("top_k", function() selections.top_k(x, 40) end)
  mutants("top_k", 2, function() selections.top_k(x, 40) end)
  local long = view(rand(f32, 2200), row_major{2, 1100})
  orders("top_k by groups", function() selections.top_k(long, 5) end)
  mutants("top_k by groups", 2, function() selections.top_k(long, 5) end)
  -- Writes what the draw reads, which waits for it.
  local first = kernel("first", function(t) t[threadIdx.x] = 0.25 end)
  local function drawn_from(t)
    first{grid = 1, block = 64}(t)
    selections.sample(t, {top_k = 5, top_p = 0.9})
  end
  local function from_list() drawn_from(long) end
  local function from_row() drawn_from(x) end
  orders("sample from a list", from_list)
  mutants("sample from a list", 0, from_list)
  orders("sample from a row", from_row)
  mutants("sample from a row", 2, from_row)
  local wide = rand(f32, row_major{1, 16384})
  for _, case in ipairs{ {"a list", {top_k = 5, top_p = 0.9}, 0}, {"all", {}, 0},
    {"the likely", {min_p = 0.3}, 1}, {"the least set", {top_p = 0.6}, 3} } do
    local name = "sample from a long row, " .. case[1]
    local function drawn()
      first{grid = 1, block = 64}(wide)
      selections.sample(wide, case[2])
    end
    orders(name, drawn)
    mutants(name, case[3], drawn)
  end
  orders("histogram", function() selections.histogram(x, 9, 0, 1) end)
  mutants("histogram", 0, function() selections.histogram(x, 9, 0, 1) end)
end

do
  local x, index = rand(f32, row_major{40, 3}), zeros(i32, 40)
  for i = 0, 39 do index[i] = i % 4 end
  local options = {deterministic = true}
  orders("scatter_add, fixed order", function()
    selections.scatter_add(zeros(f32, row_major{4, 3}), index, x, options)
  end)
  local long = rand(f32, 1200)
  local function reduce()
    selections.segment_reduce(long, "add", {offsets = from_table(i32, {0, 1200})})
  end
  orders("segment_reduce", reduce)
  mutants("segment_reduce", 0, reduce)
end

tap.done()
