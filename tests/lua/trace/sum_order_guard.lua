-- What a guard leaves out is 0 and no term of a sum, whatever reads the tile: a copy to a fragment
-- or to shared memory, a scalar, a box of TMA, a product.
-- needs sm_90
local N <const> = 6

local function sum_of(s, part)
  for i = 0, 3 do s = s + part[i] end
  return s
end

local kinds <const> = {
  fragment = function(x, y)
    local s, r = 0.0, fragment(f32, 4)
    for k in range(2) do
      copy(tile(guard(x), { 4 }, { k }), r)
      s = sum_of(s, r)
    end
    y[0] = s
  end,
  shared = function(x, y)
    local s, part = 0.0, shared(f32, 4)
    for k in range(2) do
      copy(tile(guard(x), { 4 }, { k }), part)
      sync_threads()
      s = sum_of(s, part)
      sync_threads()
    end
    y[0] = s
  end,
  box = function(x, y)
    local s, part, full = 0.0, shared(f32, 4), mbarrier(1, 1)
    sync_threads()
    for k = 0, 1 do
      full[0]:arrive_expect_tx(part)
      tma_load(tile(tma_tensor(x), { 4 }, { k }), part, full[0])
      full[0]:wait(k)
      s = sum_of(s, part)
      sync_threads()
    end
    y[0] = s
  end,
  scalars = function(x, y)
    local s = 0.0
    for k in range(2) do
      local part = tile(guard(x), { 4 }, { k })
      for i = 0, 3 do s = s + part[i] end
    end
    y[0] = s
  end,
  choices = function(x, y)
    local s = 0.0
    for k in range(8) do
      local v = 0.0
      if k < N then v = x[k] end
      s = s + v
    end
    y[0] = s
  end,
}

local function clamped(x, y)
  local s = 0.0
  for k in range(2) do
    for i = 0, 3 do s = s + x[min(4 * k + i, N - 1)] end
  end
  y[0] = s
end

local x = from_table(f32, { 1, 2, 3, 4, 5, 6 })
local function order_of(f)
  return sum_order(kernel("k", f){ grid = 1, block = 1 }, { y = { 0 } }, x, zeros(f32, 1))
end
local other = order_of(clamped)
print(other.n_terms)  -- expect: 8
for name, f in pairs(kinds) do
  local order = order_of(f)
  if order.n_terms ~= N or same_order(order, other) or not same_order(order, order_of(f)) then
    print(name, order)
  end
end

-- The names of the elements in a tree, in order.
local function elements(node, list)
  if node.op == "leaf" then list[#list + 1] = node.tensor .. node.offset end
  for _, operand in ipairs(node) do elements(operand, list) end
  return list
end
print(table.concat(elements(order_of(kinds.fragment).tree, {}), " "))  -- expect: x0 x1 x2 x3 x4 x5

-- Factors of a product stay together, also where one of them is left out.
local function dot_of(n)
  local a, b = ones(f32, { 1, n }), ones(f32, { 1, 8 })
  return sum_order(kernel("product", function(a, b, y)
    local ra, rb, rc = fragment(f32, { 1, 4 }), fragment(f32, { 1, 4 }), fragment(f32, { 1, 1 })
    clear(rc)
    for k in range(2) do
      copy(tile(guard(a), { 1, 4 }, { 0, k }), ra)
      copy(tile(guard(b), { 1, 4 }, { 0, k }), rb)
      gemm(ra, rb, rc)
    end
    y[0] = rc[0]
  end){ grid = 1, block = 1 }, { y = { 0 } }, a, b, zeros(f32, 1))
end
local dot = dot_of(6)
print(table.concat(elements(dot.tree, {}), " "))
-- expect: b7 b6 a5 b5 a4 b4 a3 b3 a2 b2 a1 b1 a0 b0
print(same_order(dot, dot_of(6)), (same_order(dot, dot_of(8))))  -- expect: true	false
