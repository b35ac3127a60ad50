-- attention on any device against reference.attention, checked while it runs: types, depths, heads
-- in groups, lengths that differ, causal, packed sequences, strides, and what is refused.
local function distance(a, b) return (allclose(a, b, {atol = a.dtype == f32 and 2e-5 or 1e-2})) end

local function dense(dtype, B, H, HK, S, SK, D, options)
  local Q, K = randn(dtype, row_major{B, H, S, D}), randn(dtype, row_major{B, HK, SK, D})
  local V = view(randn(dtype, {D * HK, SK, B}), layout({B, HK, SK, D}, {D * HK * SK, D, D * HK, 1}))
  local O, LSE = attention(Q, K, V, options)
  local R, RL = reference.attention(Q, K, V, {
    causal = options.causal, scale = options.scale, lse = zeros(f64, row_major{B, H, S}),
    out = zeros(f64, row_major{B, H, S, D}) })
  return distance(O, R) and (LSE == nil or distance(LSE, RL))
end
print(dense(f32, 2, 4, 2, 20, 37, 40, {lse = true}))                           -- expect: true
print(dense(f16, 1, 2, 1, 20, 37, 64, {causal = true, lse = true}))            -- expect: true
print(dense(bf16, 1, 2, 2, 37, 20, 64, {causal = true, lse = true}))           -- expect: true
print(dense(f32, 1, 1, 1, 3, 70, 16, {scale = 2.0}))                           -- expect: true
print(dense(f32, 2, 2, 2, 3, 0, 16, {lse = true}))                             -- expect: true

local cu_q, cu_k = {0, 20, 20, 33, 36}, {0, 40, 45, 45, 48}
local Q = randn(f32, row_major{2, 36, 16})
local K, V = randn(f32, row_major{1, 48, 16}), randn(f32, row_major{1, 48, 16})
local options = {cu_seqlens_q = cu_q, cu_seqlens_k = cu_k, causal = true, lse = true}
local O, LSE = attention(Q, K, V, options)
local R, RL = reference.attention(Q, K, V, options)
print(distance(O, R), distance(LSE, RL))                                       -- expect: true	true

local step = select(5, require "cuttle.attention".prepare(Q, K, V, options))
step.launch.check = not device().sm
step.kernel(step.launch)(table.unpack(step.args))

local function message(...)
  print((select(2, pcall(attention, ...)):gsub("^[^ ]+: ", "")))
end
message(Q, Q, Q, {scale = -1})
-- expect: attention: scale is -1; expected a positive number
message(Q, Q, Q, {scale = math.huge})
-- expect: attention: scale is inf; expected a positive number
message(Q, Q, Q, {config = "fast"})
-- expect: attention: there is no configuration 'fast'; there are 'hopper 192x128', 'hopper 192x80', 'hopper 128x128', 'hopper 128x128, D 192', 'hopper 128x96', 'hopper 128x64', 'hopper 192x128, f8', 'hopper 192x96, f8', 'hopper 128x128, f8', 'hopper 128x128, f8, D 192', 'hopper 128x128, f8, Dv 192', 'hopper 128x96, f8', 'hopper 128x128, f8, D 256', 'mma 128x64', 'mma 128x48', 'mma 128x32', 'mma 64x64', 'sm75 128x64', 'sm75 64x64', 'plain'
local D = zeros(f64, row_major{1, 1, 2, 4})
message(D, D, D)
-- expect: attention: the elements are f64, but sums are computed in f32; reference.attention accepts f64
