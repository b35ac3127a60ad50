-- Bits that attention promises: a row's are those of a call of that row alone, whatever else is in a
-- call; configurations have one order of sums where their templates say so, against sum_order; and
-- what cannot be kept is refused.
local attention_of <const> = require "cuttle.attention"
local here = device()
local D <const>, KEYS <const>, QUERIES <const> = 32, 70, 133

local function works_here(c)
  return not here.sm or (c.sm or here.sm) == here.sm and (c.sm_from or 0) <= here.sm
end

-- Row s of head h of batch b, as words.
local function row_bits(t, b, h, s)
  return table.concat(recast(t(b, h, s, _), t.dtype == f16 and u16 or u32):totable(), " ")
end

-- Queries first to first + n - 1 of one head, as a call of their own.
local function few(t, b, h, first, n)
  return view(t(b, h, first, _), layout({1, 1, n, D}, {0, 0, D, 1}))
end

-- Does each of some rows have the same bits alone, with some others and with all?
local function are_rows_alike(dtype, options)
  local Q, K = randn(dtype, row_major{2, 2, QUERIES, D}), randn(dtype, row_major{2, 1, KEYS, D})
  local all = attention(Q, K, K, options):to("cpu")
  local function check(b, h, first, n)
    local keys = view(K(b, 0, 0, _), layout({1, 1, KEYS, D}, {0, 0, D, 1}))
    local O = attention(few(Q, b, h, first, n), keys, keys, options):to("cpu")
    for s = 0, n - 1 do
      assert(row_bits(O, 0, 0, s) == row_bits(all, b, h, first + s),
        ("row %d of %d from %d on"):format(s, n, first))
    end
  end
  check(0, 1, 3, 1)
  check(1, 0, 132, 1)
  check(1, 1, 60, 73) -- of causal ones the last rows
  return true
end
print(are_rows_alike(f16, {bits = "batch_invariant"}))                      -- expect: true
print(are_rows_alike(f32, {bits = "batch_invariant"}))                      -- expect: true
for _, config in ipairs(attention_of.configs) do
  if works_here(config) and config.name:find "28" then
    local dtype, options = config.narrow and f8e4m3 or f16, {config = config.name}
    options.bits = config.name
    assert(are_rows_alike(dtype, options), config.name)
  end
end

-- Causal: a query's bits do not depend on queries and keys after it, so chunks of a prompt and
-- single tokens agree with the whole; nor on packing.
local function are_chunks_alike(options)
  local Q, K = randn(f16, row_major{1, 1, 100, D}), randn(f16, row_major{1, 1, 100, D})
  options.causal = true
  local all = attention(Q, K, K, options):to("cpu")
  for _, span in ipairs{{0, 33}, {33, 31}, {64, 1}, {99, 1}} do
    local first, n = span[1], span[2]
    local keys = few(K, 0, 0, 0, first + n)
    local O = attention(few(Q, 0, 0, first, n), keys, keys, options):to("cpu")
    for s = 0, n - 1 do assert(row_bits(O, 0, 0, s) == row_bits(all, 0, 0, first + s), s) end
  end
  local packed_Q, packed_K = view(Q, row_major{1, 100, D}), view(K, row_major{1, 100, D})
  options.cu_seqlens_q, options.cu_seqlens_k = {0, 0, 100}, {0, 0, 100}
  local O = view(attention(packed_Q, packed_K, packed_K, options), row_major{1, 1, 100, D})
  return row_bits(O:to("cpu"), 0, 0, 71) == row_bits(all, 0, 0, 71)
end
print(are_chunks_alike{bits = "batch_invariant"})                           -- expect: true
print(not works_here{sm_from = 80} or are_chunks_alike{bits = "mma 128x48"}) -- expect: true

-- The orders. Equal queries and keys: rows of a warp ask to be scaled alike, so trees are alike.
local query, keys = randn(f16, D):to("cpu"), ones(f16, row_major{1, 1, KEYS, D}):to("cpu")
local function order(name, n, at)
  local Q = view(query, layout({1, 1, n, D}, {0, 0, 0, 1}))
  local _, _, _, _, step = attention_of.prepare(Q, keys, keys, {config = name})
  return sum_order(step.kernel(step.launch), {O = {at, 5, 0, 0}}, table.unpack(step.args))
end
local names = {"plain", "mma 128x64", "mma 64x64", "mma 128x32", "sm75 64x64"}
local orders = {}
for i, name in ipairs(names) do orders[i] = order(name, 1, 0) end
local Q = view(query, layout({1, 1, 1, D}, {0, 0, 0, 1}))
for i, a in ipairs(names) do
  for j, b in ipairs(names) do
    local ok = pcall(attention, Q, keys, keys, {config = a, bits = b})
    assert(ok == same_order(orders[i], orders[j]), a .. " " .. b)
  end
end
print(same_order(orders[1], order("plain", 40, 39)))                        -- expect: true
print(same_order(orders[2], order("mma 128x64", 140, 135)))                 -- expect: true

-- What a contract cannot be kept with: neighbours that scale, which changes bits.
local function why(options, x, of)
  of = of or x
  print((select(2, pcall(attention, x, of, of, options)):gsub("^[^ ]+: ", "")))
end
why({bits = "mma 64x64", lazy = true}, Q)
-- expect: attention: lazy = true breaks bits = "mma 64x64": a row is scaled anew when another row of its warp needs it, so its bits depend on its neighbours; leave out `lazy`
why({bits = "mma 64x64", config = "mma 128x48"}, Q)
-- expect: attention: configuration 'mma 128x48' breaks the contract bits = "mma 64x64": at the level 'scores' it has mma of k = 16 over a depth of 64, and the contract mma of k = 16 over a depth of 32
why({bits = "mma 128x64", config = "mma 128x32"}, Q)
-- expect: attention: configuration 'mma 128x32' breaks the contract bits = "mma 128x64": at the level 'blocks' it has 32 keys each, the last block first, and the contract 64 keys each, the last block first
why({bits = true}, Q)
-- expect: attention: bits is of type boolean; expected "batch_invariant", a configuration or its name
why({config = {}}, Q)
-- expect: attention: config is a table whose template is nil; expected the name of a configuration, or a table like that of 'hopper 192x128', whose template is "cuttle.attention_hopper"

-- The reason for it: a query whose neighbours' scores grow has other bits beside them.
local small = randn(f16, row_major{1, 1, 8, D}):to("cpu")
local large = randn(f16, row_major{1, 1, 300, D}):to("cpu")
for s = 0, 7 do
  for d = 0, D - 1 do small[{0, 0, s, d}] = small[{0, 0, s, d}] * (s == 0 and 2 or 40) end
end
local function first_row(n, lazy)
  local O = attention(few(small, 0, 0, 0, n), large, large,
    {config = "mma 64x64", lazy = lazy, out = zeros(f32, row_major{1, 1, n, D}):to("cpu")})
  return row_bits(O, 0, 0, 0)
end
print(first_row(1, true) == first_row(8, true), first_row(1) == first_row(8)) -- expect: false	true
