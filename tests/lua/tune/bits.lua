-- The contract of bits of tune: what is refused is what same_order refuses, and what is kept has the same bits.
local path = os.tmpname()
os.remove(path)
-- As on a machine without NVRTC: registers say nothing of bits. tune.lua and operators.lua compile.
require "cuttle.cubin".resources_of = function() end
io.stderr = io.open("/dev/null", "w") -- luacheck: ignore 122 -- what tune says is for people
local ORDER <const> = "another order of sums: "

-- {====== Kernels ======

-- A product: tiles of K, sums of parts of it, unrolled loops, and K split over blocks.
local M <const>, N <const>, K <const> = 32, 48, 96
local function product_kernel(c)
  return kernel("product", function(A, B, C)
    local gA, gB = tile(A, {c.bM, c.bK}, {blockIdx.x, _}), tile(B, {16, c.bK}, {blockIdx.y, _})
    local gC = tile(C, {c.bM, 16}, {blockIdx.x, blockIdx.y})
    local thr = tiled_mma("UniversalFMA<f32>", {8, 8, 1}):get_slice(threadIdx.x)
    local gc = thr:partition_C(gC)
    local acc = thr:fragment_C(gc)
    clear(acc)
    local function step(k)
      local a, b = thr:partition_A(gA(_, _, k)), thr:partition_B(gB(_, _, k))
      if c.sum == "parts" then
        local part = thr:fragment_C(gc)
        clear(part)
        gemm(tiled_mma("UniversalFMA<f32>", {8, 8, 1}), a, b, part)
        axpby(1.0, part, 1.0, acc)
      else
        gemm(tiled_mma("UniversalFMA<f32>", {8, 8, 1}), a, b, acc)
      end
    end
    if c.unroll then
      for k = 0, K // c.bK - 1 do step(k) end
    else
      for k in range(K // c.bK) do step(k) end
    end
    if c.sum == "atomic" then
      for i = 0, size(acc) - 1 do atomic_add(gc, i, acc[i]) end
    else
      copy(acc, gc)
    end
  end)
end
local function product_launch(c)
  return product_kernel(c){grid = {M // c.bM, N // 16}, block = 64}
end
local function product(c)
  local launch = product_launch(c)
  if c.sum ~= "split" then return launch end
  return function(A, B, C)
    launch(A, B, C)
    launch(A, B, C)
  end
end
local products = { bM = {16, 32}, bK = {8, 16, 48}, unroll = {false, true},
  sum = {"all", "parts", "atomic", "split"} }

-- Sums of rows: threads of a row, and numbers that a thread adds before it goes on.
local ROWS <const>, COLUMNS <const> = 24, 128
local function rows_launch(c)
  return kernel("rows", function(x, y)
    local row, lane = blockIdx.x * 4 + threadIdx.y, threadIdx.x
    for _ = 1, c.copies do
      local sum = 0.0
      for j in range(COLUMNS // (c.threads * c.vector)) do
        local part = 0.0
        local first = (j * c.threads + lane) * c.vector
        for v = 0, c.vector - 1 do part = part + x[{row, first + v}] end
        sum = sum + part
      end
      if c.odd and row == c.odd then sum = (sum + 1.0e7) - 1.0e7 end
      local d = c.threads // 2
      while d > 0 do
        sum = sum + shfl_xor(sum, d)
        d = d // 2
      end
      if lane == 0 then y[row] = sum end
    end
  end){grid = ROWS // 4, block = {c.threads, 4}}
end
local rows = { threads = {8, 16, 32}, vector = {1, 2, 4, 8}, copies = {1, 2} }

-- {====== Laws ======

local function name_of(c) return c.text end
local function on_device(t) return t:to(zeros(f32, 1).device) end

-- Orders of a configuration's sums, which each contract asks for again: of each of these elements.
local function orders_of(launch_of, tensor, elements, args)
  local known = {}
  return function(c)
    local key = ("%s %s %s %s"):format(c.bM or c.threads, c.bK or c.vector,
      c.unroll or c.copies, c.sum)
    if not known[key] then
      local launch, orders = launch_of(c), {}
      for i, at in ipairs(elements) do
        orders[i] = sum_order(launch, {[tensor] = at}, table.unpack(args))
      end
      known[key] = orders
    end
    return known[key]
  end
end

-- same_order of all elements, as users would ask.
local function is_same(mine, others)
  for i, order in ipairs(mine) do
    if not same_order(order, others[i]) then return false end
  end
  return true
end

local function bits_of(run, copies, result)
  run(table.unpack(copies))
  local t = copies[result]:to("cpu")
  local parts = {}
  for i = 0, size(t) - 1 do parts[i + 1] = string.pack("f", t[i]) end
  return table.concat(parts)
end

-- For each configuration that can be a contract: who keeps to it, by tune and by same_order, and bits.
local function law(name, make, launch_of, space, contracts, tensor, elements, args, result)
  local n_kept, n_refused, wrong = 0, 0, {}
  local orders = orders_of(launch_of, tensor, elements, args)
  for _, contract in ipairs(contracts) do
    local t = tune(make, space, { bits = contract, file = path, name = name })
    local best = t:tune(table.unpack(args))
    local expected, bits
    for _, c in ipairs(t.tried) do
      local refused = c.why ~= nil and c.why:find(ORDER, 1, true) == 1
      if c.config.sum == "split" then
        expected = false
        refused = c.why == "the order of its sums is not known: it launches more than one kernel, "
          .. "and a sum is followed in one launch only"
      else
        expected = c.config.sum ~= "atomic" and is_same(orders(c.config), orders(contract))
      end
      if expected == refused then wrong[#wrong + 1] = name_of(c) .. ": " .. tostring(c.why) end
      if expected then
        n_kept = n_kept + 1
        local copies = { table.unpack(args) }
        copies[result] = on_device(zeros(f32, shape(args[result])))
        local mine = bits_of(make(c.config), copies, result)
        bits = bits or mine
        if mine ~= bits then wrong[#wrong + 1] = name_of(c) .. " has other bits" end
        if c.config == best then best = nil end
      else
        n_refused = n_refused + 1
      end
    end
    if best then wrong[#wrong + 1] = "a refused one is the best" end
  end
  print(name, n_kept, n_refused, wrong[1])
end

local A, B = on_device(randn(f32, {M, K})), on_device(randn(f32, {N, K}))
local C = on_device(zeros(f32, {M, N}))
law("product", product, product_launch, products,
  { { bM = 16, bK = 8, unroll = false, sum = "all" },
    { bM = 32, bK = 16, unroll = true, sum = "parts" } },
  "C", { {0, 0}, {17, 30} }, { A, B, C }, 3)
-- expect: product	16	80	nil

local x, y = on_device(randn(f32, {ROWS, COLUMNS})), on_device(zeros(f32, ROWS))
law("rows", rows_launch, rows_launch, rows,
  { { threads = 8, vector = 1, copies = 1 }, { threads = 32, vector = 4, copies = 2 },
    { threads = 16, vector = 2, copies = 1 } }, "y", { {0}, {13} }, { x, y }, 2)
-- expect: rows	6	66	nil

-- {====== Orders ======

local function kept(t)
  local list = {}
  for _, c in ipairs(t.tried) do
    if not (c.why and c.why:find(ORDER, 1, true)) then list[#list + 1] = c.text end
  end
  return table.concat(list, "; ")
end
local like = { threads = 16, vector = 4, copies = 1 }
local others = { threads = 8, vector = 1, copies = 1 }
local order = sum_order(rows_launch(like), {y = {5}}, x, y)
local by_order = tune(rows_launch, rows, { bits = order, file = path, name = "order" })
by_order:tune(x, y)
print(kept(by_order))
-- expect: copies=1 threads=16 vector=4; copies=2 threads=16 vector=4
local by_config = tune(rows_launch, rows, { bits = like, file = path, name = "config" })
by_config:tune(x, y)
print(kept(by_config) == kept(by_order))   -- expect: true

-- The text is that of same_order.
local other = by_config.tried[1]
local _, why = same_order(sum_order(rows_launch(other.config), {y = {0}}, x, y),
  sum_order(rows_launch(like), {y = {0}}, x, y))
print(other.why == ORDER .. "y(0): " .. why) -- expect: true

-- One that differs in the last row only is refused for its order; one that differs in a row that nobody looks
-- at, for its bits.
local function odd_of(at)
  local t = tune(rows_launch, { { threads = 8, vector = 2, copies = 8 },
    { threads = 8, vector = 2, copies = 1, odd = at } },
    { bits = { threads = 8, vector = 2, copies = 8 }, file = path, name = "odd" })
  return t:tune(x, y).odd, (t.tried[2].why:gsub("level.*", "level"):gsub(";.*", ""))
end
print(odd_of(ROWS - 1))                    -- expect: nil	another order of sums: y(23): level
print(odd_of(1))                           -- expect: nil	other results: 1 of 24 elements differ by more than 0 + 0 * |b|

-- What is right is what the contract's own configuration computes, which the reference has to allow.
local function with_reference(value)
  local t = tune(rows_launch, rows, { bits = like, file = path, name = "reference",
    tolerance = { rtol = 0, atol = 100 },
    reference = function(_, out) copy(on_device(full(f32, ROWS, value)), out) end })
  return pcall(t.tune, t, x, y)
end
print((with_reference(0.0)))               -- expect: true
print((select(2, with_reference(1.0e6)):match "but it.*than the reference"))
-- expect: but it does not run: other results than the reference

-- {====== Results ======

-- A result that was found without the contract, or with another one, is none for a call with it.
local shared_file = os.tmpname()
os.remove(shared_file)
local function open(bits, unknown)
  return tune(rows_launch, rows,
    { bits = bits, unknown = unknown, file = shared_file, name = "shared" })
end
local found = open(nil):tune(x, y)
print(found ~= nil, select(2, open(nil, "nearest"):config(x, y)) ~= nil) -- expect: true	true
local function known(bits) return select(2, open(bits, "nearest"):config(x, y)) ~= nil end
local function why_not(bits) return (select(2, pcall(known, bits)):match "tune: .*") end
print(known(true), known(like), why_not(order))
-- expect: false	false	tune: shared: there is no result for f32(24,128) f32(24), so it is not known which configuration adds as `bits` requires; tune for these arguments first, where launches run
local slow = { threads = 16, vector = 4, copies = 2 }
local config = open(slow):tune(x, y)
print(config.threads, config.vector, known(slow), known(like), known(true)) -- expect: 16	4	true	false	false
open(order):tune(x, y)
print(known(order), why_not(sum_order(rows_launch(others), {y = {5}}, x, y)) ~= nil) -- expect: true	true

-- The order depends on the shapes, so a result of other shapes does not stand: the contract's own does.
local x2 = on_device(zeros(f32, {2 * ROWS, COLUMNS}))
local near, row = open(slow, "nearest"):config(x2, y)
print(near.threads, near.copies, row, select(2, open(nil, "nearest"):config(x2, y)) ~= nil) -- expect: 16	2	nil	true

-- What is known of a configuration is not found out again.
local n_made = 0
local function counted(c)
  local launch = rows_launch(c)
  return function(a, b)
    n_made = n_made + (a.device == "cpu" and 1 or 0)
    launch(a, b)
  end
end
local again = tune(counted, rows, { bits = like, file = path, name = "again" })
local counts = {}
for i = 1, 2 do
  n_made = 0
  again:tune(x, y)
  counts[i] = n_made
end
print(counts[1] - counts[2], #again.candidates - 1) -- expect: 23	23
os.remove(path)
os.remove(shared_file)
