-- attention where values have another depth than queries and keys, as of latent attention's prompts,
-- on each template, against reference.attention: causal, heads in groups, packed sequences, the
-- gradients, under check; the reference against itself with padded values; and what is refused.
local gradients = dofile "tests/support/gradients.lua"

local run <const> = gradients.attention

local function is_near(O, LSE, R, RL)
  return allclose(O, R, {atol = O.dtype == f32 and 2e-5 or 1e-2}), allclose(LSE, RL, {atol = 1e-3})
end

local function operands(dtype, H, HK, S, SK, D, DV)
  return randn(dtype, row_major{1, H, S, D}), randn(dtype, row_major{1, HK, SK, D}),
    randn(dtype, row_major{1, HK, SK, DV})
end

local function try(config, dtype, S, SK, D, DV, options)
  local Q, K, V = operands(dtype, 2, 1, S, SK, D, DV)
  local O, LSE = run(Q, K, V, gradients.with(options, {config = config, lse = true}))
  return is_near(O, LSE, reference.attention(Q, K, V, gradients.with(options,
    {lse = zeros(f64, row_major{1, 2, S}), out = zeros(f64, row_major{1, 2, S, DV})})))
end
print(try("plain", f32, 20, 37, 40, 24, {}))                                        -- expect: true	true
print(try("plain", bf16, 20, 37, 24, 70, {causal = true}))                          -- expect: true	true
print(try("mma 64x64", bf16, 70, 130, 192, 128, {causal = true}))                   -- expect: true	true
print(try("mma 64x64", f16, 40, 70, 64, 100, {window = {30, 5}}))                   -- expect: true	true
print(try("mma 128x48", f16, 40, 70, 128, 40, {}))                                  -- expect: true	true
print(try("sm75 64x64", f16, 40, 70, 128, 64, {lazy = true}))                       -- expect: true	true
print(try("hopper 128x128, D 192", bf16, 200, 300, 192, 128, {}))                   -- expect: true	true
print(try("hopper 128x128, D 192", f16, 70, 300, 160, 96, {causal = true}))         -- expect: true	true
print(try("hopper 128x128, D 192", bf16, 70, 140, 192, 128, {softcap = 2.0, sinks = {0.5, -1}}))
-- expect: true	true
print(try("hopper 192x80", bf16, 70, 100, 64, 128, {causal = true}))                -- expect: true	true

-- The values of the sequence without queries are NaN.
local cu_q, cu_k = {0, 70, 70, 150}, {0, 33, 60, 160}
local Q, K = randn(bf16, row_major{2, 150, 192}), randn(bf16, row_major{1, 160, 192})
local V = randn(bf16, row_major{1, 160, 128})
fill(view(V(0, 33, _), row_major{27, 128}), 0 / 0)
for _, config in ipairs{"hopper 128x128, D 192", "mma 64x64", "plain"} do
  local options = {cu_seqlens_q = cu_q, cu_seqlens_k = cu_k, causal = true, lse = true,
    config = config}
  local O, LSE = run(Q, K, V, options)
  print(is_near(O, LSE, reference.attention(Q, K, V, options)))                     -- expect: true	true
end                                                                                 -- expect: true	true
                                                                                    -- expect: true	true

-- Values with zeros behind them give the same, and zeros.
local q, k, v = operands(f64, 2, 1, 5, 9, 8, 3)
local padded = zeros(f64, row_major{1, 1, 9, 8})
for i = 0, 8 do
  for d = 0, 2 do padded[{0, 0, i, d}] = v[{0, 0, i, d}] end
end
for _, options in ipairs{{causal = true}, {softcap = 2.0}} do
  local O, wide = reference.attention(q, k, v, options), reference.attention(q, k, padded, options)
  local same, rest = true, 0.0
  for i = 0, 4 do
    for d = 0, 7 do
      if d < 3 then
        same = same and O[{0, 1, i, d}] == wide[{0, 1, i, d}]
      else
        rest = rest + math.abs(wide[{0, 1, i, d}])
      end
    end
  end
  print(O.shape, same, rest)
end
-- expect: (1,2,5,3)	true	0.0
-- expect: (1,2,5,3)	true	0.0

manual_seed(1)
local function differentiate(config, dtype, S, SK, D, DV, options, own)
  local x, dO = {randn(dtype, row_major{2, S, D}), randn(dtype, row_major{1, SK, D}),
    randn(dtype, row_major{1, SK, DV})}, randn(dtype, row_major{2, S, DV})
  return gradients.try(x, dO, options, gradients.with({config = config}, own or {}), {1e-5, 2e-2})
end
print(differentiate("plain", f32, 30, 50, 40, 24, {causal = true}))                 -- expect: true
print(differentiate("plain", f32, 30, 50, 24, 40, {}))                              -- expect: true
print(differentiate("mma 64x32", bf16, 70, 50, 24, 100, {causal = true}))           -- expect: true
print(differentiate("hopper 64x64, D 192", bf16, 70, 70, 192, 160, {causal = true})) -- expect: true
print(differentiate("hopper 64x64, Dv 128", f16, 70, 200, 192, 128, {}))            -- expect: true
print(differentiate("hopper 64x64, Dv 128", bf16, 70, 70, 192, 128, {causal = true},
  {deterministic = true}))                                                          -- expect: true
print(differentiate("hopper 64x64, Dv 128", bf16, 70, 70, 136, 120, {softcap = 2.0})) -- expect: true
print(differentiate("hopper 64x64, Dv 128", bf16, 100, 100, 192, 128, {causal = true,
  cu_seqlens_q = {0, 30, 100}, cu_seqlens_k = {0, 70, 100}}))                       -- expect: true
print(differentiate("hopper 64x128", bf16, 70, 100, 64, 128, {}, {deterministic = true}))
-- expect: true

local function message(f, ...) print((select(2, pcall(f, ...)):gsub("^[^ ]+: ", ""))) end
local one = zeros(f32, row_major{1, 1, 4, 8})
message(attention, one, one, zeros(f32, row_major{1, 1, 4, 3}), {out = one})
-- expect: attention: out is (1,1,4,8); expected (1,1,4,3), as Q is (1,1,4,8) and V is (1,1,4,3)
message(attention, one, one, zeros(f32, row_major{1, 1, 4, 0}))
-- expect: attention: V is (1,1,4,0); the last mode, the depth of a value, must be at least 1
message(attention, one, zeros(f32, row_major{1, 1, 4, 3}), one)
-- expect: attention: Q is (1,1,4,8) and K is (1,1,4,3); the last mode, the depth D of a head, must be equal
device "cpu:2"
local m = mesh{rank = 2}
local spread = m:shard(one, "(_,_,_,_)")
message(attention, spread, spread, m:shard(zeros(f32, row_major{1, 1, 4, 3}), "(_,_,_,_)"))
-- expect: attention: the depth of K is 8 and that of V 3; sharded tensors must have one depth
