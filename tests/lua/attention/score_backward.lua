-- attention_backward with masks and scores against central differences of reference.attention in
-- double precision: each option on each template, several tiles, packed sequences; nothing that
-- check finds; the gradient of sinks; and what is refused.
local gradients = dofile "tests/support/gradients.lua"

local function try(config, dtype, shape_Q, shape_K, options, deterministic)
  local Q, dO = randn(dtype, row_major(shape_Q)), randn(dtype, row_major(shape_Q))
  local x = {Q, randn(dtype, row_major(shape_K)), randn(dtype, row_major(shape_K))}
  return gradients.try(x, dO, options, {config = config, deterministic = deterministic},
    {1e-5, 2e-2})
end

local function try_tiles(config, dtype, H, S, SK, D, options, deterministic)
  return try(config, dtype, {1, H, S, D}, {1, 1, SK, D}, options, deterministic)
end

-- Of 2 heads, S queries and SK keys.
local function options_of(S, SK)
  local slopes = from_table(f32, {0.5, 0.25})
  return {
    { window = {20, 5}, softcap = 1.5 },
    { window = {7, -1}, alibi = slopes, causal = true, sinks = from_table(f32, {0.5, -1}) },
    { bias = randn(f32, row_major{2, S, SK}), window = {-1, 9},
      score = function(s, q, _, h, _, t, x) return s * s * x + s + t[q] + 0.125 * h end,
      score_gradient = function(s, _, _, _, _, _, x) return 2.0 * x * s + 1.0 end,
      operands = {randn(f32, S), 0.25} },
    { mask = function(q, k, h) return (q // 8 + k // 8 + h) % 3 ~= 0 end, softcap = 2.0,
      dropout = 0.25, seed = 3 },
    { dropout = 0.5, seed = 123456789,
      documents = S == SK and {S // 3, S - S // 3} or nil,
      causal = true, softcap = 3.0 },
  }
end

manual_seed(1)
math.randomseed(1)
for i, options in ipairs(options_of(30, 40)) do
  print(i, try("plain", f32, {1, 2, 30, 12}, {1, 1, 40, 12}, options))
end
-- expect: 1	true
-- expect: 2	true
-- expect: 3	true
-- expect: 4	true
-- expect: 5	true
for i, options in ipairs(options_of(66, 132)) do
  print(i, try_tiles("hopper 64x128", bf16, 2, 66, 132, 32, options))
end
-- expect: 1	true
-- expect: 2	true
-- expect: 3	true
-- expect: 4	true
-- expect: 5	true
for i, options in ipairs(options_of(66, 70)) do
  local dtype = i == 2 and f16 or bf16
  print(i, try_tiles("mma 64x32", dtype, 2, 66, 70, 32, options))
end
-- expect: 1	true
-- expect: 2	true
-- expect: 3	true
-- expect: 4	true
-- expect: 5	true
local S <const> = 130
print(try_tiles("mma 64x32", bf16, 2, S, S, 64, options_of(S, S)[5]))
-- expect: true
print(try_tiles("hopper 128x128", f16, 2, S, S, 32, options_of(S, S)[5]))
-- expect: true
local window <const> = {window = {30, 10}}
print(try_tiles("hopper 64x128", bf16, 1, 200, 200, 32, window, true))
-- expect: true
for _, i in ipairs{1, 3, 5} do
  local n, nk = 66, 70
  print(i, try_tiles("hopper 64x64", bf16, 2, n, nk, 136, options_of(n, nk)[i]))
end
-- expect: 1	true
-- expect: 3	true
-- expect: 5	true

-- Packed sequences, of which one has no queries.
local packed = {cu_seqlens_q = {0, 20, 20, 70}, cu_seqlens_k = {0, 30, 40, 100}, window = {20, 3},
  alibi = from_table(f32, {{0.5, 0.1}, {0.2, 0.3}, {0.4, 0.6}})}
print(try("plain", f32, {2, 70, 12}, {1, 100, 12}, packed))               -- expect: true
print(try("hopper 64x128", bf16, {2, 70, 32}, {1, 100, 32}, packed))      -- expect: true
print(try("mma 64x32", bf16, {2, 70, 32}, {1, 100, 32}, packed))          -- expect: true

-- Tiles of queries that a mask hides from a tile of keys are not read for it: they are NaN here.
do
  local Q, K = randn(bf16, row_major{1, 1, 200, 32}), randn(bf16, row_major{1, 1, 200, 32})
  local options = {mask = function(q, k) return (q >= 128) == (k >= 128) end}
  local O, LSE = attention(Q, K, K, {mask = options.mask, lse = true})
  fill(view(Q, row_major{128, 32}), 0 / 0)
  options.config = "hopper 64x128"
  local _, dK = attention_backward(Q, Q, K, K, O, LSE, options)
  print(dK[{0, 0, 0, 0}] ~= dK[{0, 0, 0, 0}], dK[{0, 0, 128, 0}] == dK[{0, 0, 128, 0}])
end -- expect: true	true

local Q = randn(f32, row_major{1, 2, 4, 4})
local O, LSE = attention(Q, Q, Q, {lse = true})
print((select(2, pcall(attention_backward, Q, Q, Q, Q, O, LSE, {score = function(s) return s end}))
  :gsub("^[^ ]+: ", "")))
-- expect: attention_backward: the derivative of `score` is missing; give {score_gradient = function(s, q, k, h, b, operands...) ... end}
