-- attention of f8e4m3 against reference.attention of the same numbers: on the plain template, and on
-- Hopper's, whose errors are those of rounding probabilities to f8e4m3: not above what the reference
-- has that rounds them, too. Scales of tensors and heads, packed sequences, masks; under check.
local with = dofile "tests/support/gradients.lua".with

local function narrow(shape) return randn(f8e4m3, row_major(shape)) end

local function flat(t) return type(t) == "table" and t or view(t, layout{size(t)}):totable() end

-- The root of the mean square of differences, of the same of b.
local function distance(a, b)
  local sum, squares, y = 0, 0, flat(b)
  for i, x in ipairs(flat(a)) do sum, squares = sum + (x - y[i]) ^ 2, squares + y[i] ^ 2 end
  return math.sqrt(sum / squares)
end

local run <const> = dofile "tests/support/gradients.lua".attention

-- x as f8e4m3 has it: three bits behind the first one, and none below 2^-9.
local function rounded(x)
  if x == 0 then return x end
  local unit = 2.0 ^ (math.max(math.floor(math.log(x, 2)), -6) - 3)
  return math.floor(x / unit + 0.5) * unit
end

-- What a head's rounding of probabilities alone makes of O (S,Dv), of all keys, 256 being the
-- largest one of a row: its rows, one after another.
local function plain_rounding(Q, K, V)
  local O = {}
  for _, query in ipairs(Q) do
    local p, most, sum = {}, -math.huge, 0
    for k, key in ipairs(K) do
      local s = 0
      for d, x in ipairs(query) do s = s + x * key[d] end
      p[k] = s / math.sqrt(#query)
      most = math.max(most, p[k])
    end
    for k, s in ipairs(p) do
      p[k] = math.exp(s - most)
      sum = sum + p[k]
    end
    for d = 1, #V[1] do
      local o = 0
      for k, value in ipairs(V) do o = o + rounded(256 * p[k]) / 256 / sum * value[d] end
      O[#O + 1] = o
    end
  end
  return O
end

manual_seed(1)
do
  local Q, K, V = narrow{1, 1, 64, 64}, narrow{1, 1, 150, 64}, narrow{1, 1, 150, 64}
  local R = reference.attention(Q, K, V, {out = zeros(f64, row_major{1, 1, 64, 64})})
  local function rows(t) return t:totable()[1][1] end
  local simple = distance(plain_rounding(rows(Q), rows(K), rows(V)), R)
  local own = distance(run(Q, K, V, {config = "hopper 192x128, f8"}), R)
  print(simple > 0.01 and simple < 0.03, own < 1.1 * simple) -- expect: true	true
end

local function try(config, S, SK, D, DV, options)
  local Q, K, V = narrow{1, 2, S, D}, narrow{1, 1, SK, D}, narrow{1, 1, SK, DV}
  local O, LSE = run(Q, K, V, with(options, {config = config, lse = true}))
  local R, RL = reference.attention(Q, K, V, with(options, {lse = zeros(f64, row_major{1, 2, S}),
    out = zeros(f64, row_major{1, 2, S, DV})}))
  -- Sums of wgmma have some 14 bits.
  return O.dtype, distance(O, R) < (config == "plain" and 3e-3 or 3e-2), allclose(LSE, RL,
    {atol = config == "plain" and 1e-4 or 1e-2})
end
local scales <const> = {q_scale = {0.5, 1.5}, k_scale = 2.0, v_scale = {{3.0}}, causal = true}
print(try("plain", 20, 37, 40, 24, {}))                                 -- expect: bf16	true	true
print(try("plain", 20, 37, 40, 40, scales))                             -- expect: bf16	true	true
print(try("hopper 128x128, f8", 200, 300, 128, 128, scales))            -- expect: bf16	true	true
print(try("hopper 192x96, f8", 200, 500, 128, 128, scales))            -- expect: bf16	true	true
print(try("hopper 192x96, f8", 70, 400, 80, 96, {lazy = true}))        -- expect: bf16	true	true
print(try("hopper 128x128, f8", 70, 500, 96, 80, {}))                   -- expect: bf16	true	true
-- A probability times the factor of those that are kept would not fit 8 bits.
print(try("hopper 128x128, f8", 70, 200, 64, 64, {dropout = 0.6, seed = 3})) -- expect: bf16	true	true
print(try("hopper 192x128, f8", 70, 130, 64, 64, {lazy = true}))        -- expect: bf16	true	true
print(try("hopper 192x128, f8", 70, 130, 64, 48, {softcap = 2.0, window = {40, 9}, k_scale = 0.5}))
-- expect: bf16	true	true
print(try("hopper 128x128, f8, D 192", 70, 300, 192, 128, {causal = true})) -- expect: bf16	true	true
print(try("hopper 128x128, f8, Dv 192", 70, 300, 144, 192, {}))         -- expect: bf16	true	true
print(try("hopper 128x96, f8", 70, 300, 256, 208, {causal = true}))     -- expect: bf16	true	true

-- With `lazy`, maxima that grow from block to block, the last of which comes first: by little, and
-- by more than an exponential of f32 holds. Scores are those of the first element.
for _, most in ipairs{2, 448} do
  local Q, K, V = ones(f8e4m3, row_major{1, 1, 200, 64}), zeros(f8e4m3, row_major{1, 1, 600, 64}),
    narrow{1, 1, 600, 64}
  for key = 0, 599 do K[{0, 0, key, 0}] = most * (1 - key / 600) * (key % 7 == 0 and 1 or 0.5) end
  local options = {scale = 2.0, lazy = true}
  local R, RL = reference.attention(Q, K, V, with(options, {lse = zeros(f64, row_major{1, 1, 200}),
    out = zeros(f64, row_major{1, 1, 200, 64})}))
  for _, config in ipairs{"hopper 192x96, f8", "hopper 192x128, f8"} do
    local O, LSE = run(Q, K, V, with(options, {config = config, lse = true}))
    print(distance(O, R) < 4e-2, allclose(LSE, RL, {atol = 1e-2})) -- expect: true	true
  end                                                              -- expect: true	true
end                                                                -- expect: true	true
-- expect: true	true

-- Blocks of 128 tokens have scales of their own.
local of_blocks <const> = {q_scale = {{{0.5, 2.0}, {1.0, 1.5}}}, k_scale = {{{1.0, 0.25, 1.5}}},
  v_scale = {{{3.0, 0.125, 20.0}}}}
local causal_blocks <const> = with(of_blocks, {causal = true, q_scale = 0.5})
local softcap_blocks <const> = with(of_blocks, {softcap = 2.0, sinks = {1.0, -1.0}, lazy = true})
print(try("plain", 200, 300, 40, 24, causal_blocks))                    -- expect: bf16	true	true
print(try("hopper 128x128, f8", 200, 300, 64, 64, causal_blocks))       -- expect: bf16	true	true
print(try("hopper 192x128, f8", 200, 300, 64, 64, softcap_blocks))      -- expect: bf16	true	true
print(try("hopper 128x128, f8, D 256", 200, 300, 160, 256, causal_blocks)) -- expect: bf16	true	true

-- Packed sequences, with a scale for each; the values of one without queries are NaN.
do
  local cu_q, cu_k = {0, 70, 70, 150}, {0, 33, 60, 260}
  local Q, K, V = narrow{2, 150, 64}, narrow{1, 260, 64}, narrow{1, 260, 64}
  fill(view(V(0, 33, _), row_major{27, 64}), 0 / 0)
  local options = {cu_seqlens_q = cu_q, cu_seqlens_k = cu_k, causal = true, lse = true,
    k_scale = {{0.5}, {1.0}, {2.0}}, v_scale = {{{1.0, 3.0}}, {{2.0, 1.0}}, {{0.5, 1.5}}}}
  for _, config in ipairs{"hopper 192x128, f8", "plain"} do
    options.out = zeros(f16, row_major{2, 150, 64})
    local O, LSE = run(Q, K, V, with(options, {config = config}))
    local R, RL = reference.attention(Q, K, V,
      with(options, {out = zeros(f64, row_major{2, 150, 64})}))
    print(distance(O, R) < 3e-2, allclose(LSE, RL, {atol = 1e-3}))                 -- expect: true	true
  end                                                                              -- expect: true	true
end

local function message(...)
  print((select(2, pcall(attention, ...)):gsub("^[^ ]+: ", ""):gsub("on cuda:0", "on cpu")))
end
local Q, half = narrow{1, 2, 4, 16}, randn(f16, row_major{1, 2, 4, 16})
message(half, half, half, {q_scale = 2.0})
-- expect: attention: q_scale is for operands of f8e4m3, and Q is f16; multiply `scale` by it, or the result
message(Q, Q, Q, {k_scale = -1})
-- expect: attention: k_scale is -1; expected a positive number
message(Q, Q, Q, {v_scale = {1, 2, 3}})
-- expect: attention: v_scale is 3; expected (H), (B,H) or (B,H,N), N blocks of 128, here (1,2), or modes of 1 or fewer modes for equal elements
message(Q, Q, Q, {config = "hopper 192x96, f8", v_scale = {{{2.0}}}})
-- expect: attention: configuration 'hopper 192x96, f8' is not for this problem: f8e4m3, D = 16, on cpu; there are scales of blocks of 128, and its blocks have 96 keys
