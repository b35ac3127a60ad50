-- packed_groups.lua: products of groups of rows with a packed weight each, against plain loops:
-- try(name, T, config, how). how: G, N, K, group, M rows of products, T rows of A; has_zeros, glu,
-- gather, scatter, add; C, the type of C, bf16 if T has 8 bits. Codes are small, scales powers of
-- two, so all sums are exact until C rounds them.
local packed = require "cuttle.packed_weights"
local formats = require "cuttle.packed_formats"
local operator = require "cuttle.matmul"
local here = zeros(f32, 1).device

local function host(t) return here == "cpu" and t or t:to("cpu") end
local function wide(t) return reference.cast(host(t), f64) end

local function random(dtype, low, high, l)
  return view(reference.cast(rand(i32, cosize(l), low, high):to("cpu"), dtype):to(here), l)
end

local function in_groups(n, k, G) return layout({n, k, G}, {k, 1, n * k}) end
local function gated(v, w, e) return (v + 2 * w) * e.factors[e.m] end
local function plain(v, e) return v * e.factors[e.m] end

-- Of M rows: ends of the groups, the last rows in none; rows of A, of C, and factors.
local function lists_of(how)
  local ends, from, to, factors = {}, {}, {}, {}
  for g = 1, how.G do ends[g] = how.M * g * g // (how.G * how.G + 1) end
  for i = 1, how.M do
    from[i] = not how.gather and i - 1 or i == 3 and -1 or i == 5 and how.T or i * 7 % how.T
    to[i] = not how.scatter and i - 1 or how.add and i * 5 % how.M or i * 2 % how.M
    factors[i] = i % 3 + 1
  end
  return ends, from, to, factors
end

local function expected_of(how, X, W, C, ends, from, to, factors)
  local want, products, g = wide(C), {}, 1
  for i = 1, ends[how.G] do
    while i > ends[g] do g = g + 1 end
    products[g] = products[g] or reference.matmul(X, W(_, _, g - 1))
    local R, row = products[g], from[i]
    for j = 0, size(C, 1) - 1 do
      local v = 0
      if row >= 0 and row < how.T then
        v = how.glu and R[{row, 2 * j}] + 2 * R[{row, 2 * j + 1}] or R[{row, j}]
      end
      want[{to[i], j}] = (how.add and want[{to[i], j}] or 0) + v * factors[i]
    end
  end
  return reference.cast(want, C.dtype)
end

return function(name, T, config, how)
  local format, of = formats.formats[name], in_groups(how.N, how.K // how.group, how.G)
  local S = T.bits == 8 and bf16 or T
  local w = packed.pack_weights(random(u8, 0, 1 << format.bits, in_groups(how.N, how.K, how.G)),
    {type = name, scales = random(S, 1, 3, of),
     zero_points = how.has_zeros and random(u8, 0, how.zeros_below or 1 << format.bits, of) or nil})
  local A = random(T, -2, 3, row_major{how.T, how.K})
  local C = full(how.C or S, row_major{how.M, how.glu and how.N // 2 or how.N}, 3)
  local ends, from, to, factors = lists_of(how)
  local function i32s(list) return from_table(i32, list):to(here) end
  local want = expected_of(how, wide(A), wide(w:dequantize(S)), C, ends, from, to, factors)
  local index = how.scatter and i32s(to) or nil
  local options = {groups = i32s(ends), gather = how.gather and i32s(from) or nil, glu = how.glu,
    scatter = how.add and {index, "add"} or index, config = config,
    operands = {factors = from_table(f32, factors):to(here)}, epilogue = how.glu and gated or plain}
  local _, which = operator.prepare(A, w, C, options)
  matmul(A, w, C, options)
  if type(config) ~= "table" then which = which:match "^%a+" end
  print(which, reference.difference(host(C), want))
end
