-- The kernels of attention for tensor cores, on the CPU engine, against reference.attention: tiles and
-- blocks of keys that overhang, groups without rows, heads in groups, causal in both directions, lazy,
-- f16, depths between those of configurations, packed sequences; nothing that check finds; and what the
-- configurations are not for.
local attention_of <const> = require "cuttle.attention"

local function near(a, b) return (allclose(a, b, {atol = 1e-2})) end

-- With `checked` in the options, under check, which raises what it finds.
local function run(Q, K, V, options)
  local checked = options.checked
  options.checked = nil
  local _, _, O, LSE, step = attention_of.prepare(Q, K, V, options)
  step.launch.check = checked and not device().sm
  step.kernel(step.launch)(table.unpack(step.args))
  return O, LSE
end

local function try(config, dtype, B, H, HK, S, SK, D, options)
  local Q, K = randn(dtype, row_major{B, H, S, D}), randn(dtype, row_major{B, HK, SK, D})
  local V = view(randn(dtype, {D * HK, SK, B}), layout({B, HK, SK, D}, {D * HK * SK, D, D * HK, 1}))
  options.config, options.lse = config, true
  local O, LSE = run(Q, K, V, options)
  local R, RL = reference.attention(Q, K, V, {
    causal = options.causal, scale = options.scale, lse = zeros(f64, row_major{B, H, S}),
    out = zeros(f64, row_major{B, H, S, D}) })
  return near(O, R) and allclose(LSE, RL, {atol = 1e-3})
end
print(try("hopper 192x80", bf16, 1, 2, 1, 250, 170, 128, {}))                            -- expect: true
print(try("hopper 192x80", bf16, 1, 2, 2, 250, 300, 128, {causal = true, lazy = true}))  -- expect: true
print(try("hopper 192x80", bf16, 1, 1, 1, 200, 170, 128, {causal = true, checked = true})) -- expect: true
print(try("hopper 192x128", f16, 2, 2, 1, 200, 333, 64, {causal = true, scale = 0.7}))   -- expect: true
print(try("hopper 192x128", bf16, 1, 1, 1, 333, 100, 64, {causal = true}))               -- expect: true
print(try("hopper 128x128", bf16, 1, 1, 1, 130, 140, 128, {lazy = true}))                -- expect: true
print(try("hopper 192x80", bf16, 1, 2, 1, 70, 100, 96, {causal = true}))                 -- expect: true
print(try("hopper 128x64", bf16, 1, 1, 1, 70, 100, 256, {}))                             -- expect: true
print(try("hopper 128x96", bf16, 1, 1, 1, 70, 130, 192, {}))                             -- expect: true
print(try("hopper 128x64", f16, 1, 1, 1, 140, 90, 192, {causal = true, checked = true})) -- expect: true
print(try("hopper 192x128", f16, 1, 1, 1, 70, 100, 40, {}))                              -- expect: true

print(try("mma 128x64", f16, 2, 2, 1, 70, 100, 64, {causal = true, scale = 0.7}))        -- expect: true
print(try("mma 128x64", bf16, 1, 1, 1, 140, 70, 64, {causal = true, checked = true}))    -- expect: true
print(try("mma 128x48", bf16, 1, 1, 1, 70, 150, 128, {lazy = true, checked = true}))     -- expect: true
print(try("mma 128x48", bf16, 1, 1, 1, 70, 100, 96, {causal = true}))                    -- expect: true
print(try("mma 128x32", bf16, 1, 1, 1, 70, 70, 128, {}))                                 -- expect: true
print(try("mma 64x64", bf16, 1, 1, 1, 40, 70, 256, {causal = true}))                     -- expect: true
print(try("mma 64x64", f16, 1, 1, 1, 70, 70, 33, {checked = true}))                      -- expect: true
print(try("sm75 128x64", f16, 1, 1, 1, 70, 70, 64, {causal = true, checked = true}))     -- expect: true

-- Packed sequences: of 0 queries, of 0 keys, with whole groups and parts of them. The values of the
-- one without queries are NaN, which nobody else gets to see.
local cu_q, cu_k = {0, 70, 70, 150, 290}, {0, 33, 60, 60, 180}
local packed_Q, packed_K = randn(bf16, row_major{2, 290, 64}), randn(bf16, row_major{1, 180, 64})
local packed_V = randn(bf16, row_major{1, 180, 64})
fill(view(packed_V(0, 33, _), row_major{27, 64}), 0 / 0)
for _, config in ipairs{"hopper 192x128", "mma 64x64"} do
  local options = {cu_seqlens_q = cu_q, cu_seqlens_k = cu_k, causal = true, lse = true,
    config = config, checked = true}
  local O, LSE = run(packed_Q, packed_K, packed_V, options)
  local R, RL = reference.attention(packed_Q, packed_K, packed_V, options)
  print(near(O, R), allclose(LSE, RL, {atol = 1e-3}))                                    -- expect: true	true
end                                                                                      -- expect: true	true

-- What TMA cannot describe: rows that are no multiples of 16 bytes; and a wider type of the result.
local narrow = view(randn(f16, {37, 50, 2}), layout({2, 50, 36}, {1850, 37, 1}))
local O = attention(narrow, narrow, narrow, {config = "mma 64x64", out = zeros(f32, {2, 50, 36})})
print(near(O, reference.attention(narrow, narrow, narrow)))                              -- expect: true

-- Maxima of rows whose scores are all negative, in blocks with larger and with smaller ones.
for at, case in ipairs{{"hopper 192x80", bf16, 5e-3}, {"hopper 192x96, f8", f8e4m3, 3e-2}} do
  local dtype, n = case[2], 400
  local Q, K = ones(dtype, row_major{1, 1, 64, 64}), zeros(dtype, row_major{1, 1, n, 64})
  for key = 0, n - 1 do
    fill(K(0, 0, key, _), key < 200 and -7 + 0.5 * (key % 13) or -6) -- scores are eight times that
  end
  local V = randn(dtype, row_major{1, 1, n, 64})
  local made, LSE = attention(Q, K, V, {config = case[1], lse = true})
  local R, RL = reference.attention(Q, K, V, {lse = zeros(f64, row_major{1, 1, 64}),
    out = zeros(f64, row_major{1, 1, 64, 64})})
  print(allclose(made, R, {atol = case[3]}), allclose(LSE, RL, {atol = 1e-2})) -- expect: true	true
end                                                                          -- expect: true	true
