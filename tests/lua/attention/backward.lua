-- attention_backward against central differences of reference.attention in double precision: types,
-- depths, heads in groups, lengths that differ, causal in both directions; nothing that check finds;
-- and what is refused.
local backward = require "cuttle.attention_backward"
local gradients = dofile "tests/support/gradients.lua"

-- The largest difference at some elements of x, of the gradient's largest element.
local function worst_of(x, gradient, loss)
  local most, worst, H <const> = 0, 0, 1e-4
  for i = 0, size(x) - 1 do most = math.max(most, math.abs(gradient[i])) end
  for _ = 1, 5 do
    local i = math.random(0, size(x) - 1)
    local old = x[i]
    x[i] = old + H
    local up = loss()
    x[i] = old - H
    worst = math.max(worst, math.abs((up - loss()) / (2 * H) - gradient[i]))
    x[i] = old
  end
  return worst / most
end

local function try(config, dtype, B, H, HK, S, SK, D, options)
  options.config = config
  local Q, dO = randn(dtype, row_major{B, H, S, D}), randn(dtype, row_major{B, H, S, D})
  local K = randn(dtype, row_major{B, HK, SK, D})
  local V = select(randn(dtype, row_major{B, SK, HK, D}), 0, 2, 1, 3)
  local O, LSE = attention(Q, K, V, {causal = options.causal, scale = options.scale, lse = true})
  local got, wide = gradients.checked(dO, Q, K, V, O, LSE, options), gradients.wide
  local q, k, v, g = wide(Q), wide(K), wide(V), wide(dO)
  local function loss()
    return gradients.dot(g, (reference.attention(q, k, v,
      {causal = options.causal, scale = options.scale})))
  end
  local limit = dtype == f32 and 1e-5 or 1e-2
  for i, x in ipairs{q, k, v} do
    local worst = worst_of(x, got[i], loss)
    if worst ~= worst or worst >= limit then
      return ("d%s: %g"):format(({"Q", "K", "V"})[i], worst)
    end
  end
  return true
end
manual_seed(1)
math.randomseed(1)
print(try("plain", f32, 1, 1, 1, 5, 7, 8, {}))                                          -- expect: true
print(try("plain", f32, 2, 4, 2, 20, 37, 40, {causal = true}))                          -- expect: true
print(try("plain", f16, 1, 2, 1, 37, 20, 16, {causal = true, scale = 0.3}))             -- expect: true
print(try("hopper 64x128", bf16, 1, 2, 1, 70, 130, 128, {}))                            -- expect: true
print(try("hopper 64x128", bf16, 1, 1, 1, 150, 140, 128, {causal = true}))              -- expect: true
print(try("hopper 64x128", f16, 1, 1, 1, 130, 150, 80, {causal = true, scale = 0.2}))   -- expect: true
print(try("hopper 128x128", bf16, 1, 2, 1, 140, 150, 64, {causal = true}))              -- expect: true
print(try("hopper 128x128", f16, 2, 1, 1, 40, 128, 40, {}))                             -- expect: true
print(try("mma 64x32", bf16, 1, 2, 1, 70, 90, 128, {}))                                 -- expect: true
print(try("mma 64x32", f16, 2, 1, 1, 90, 70, 33, {causal = true, scale = 0.3}))         -- expect: true
print(try("mma 64x32", bf16, 1, 1, 1, 40, 100, 96, {causal = true}))                    -- expect: true
print(try("hopper 64x64", bf16, 1, 2, 1, 70, 90, 256, {}))                              -- expect: true
print(try("hopper 64x64", f16, 1, 1, 1, 90, 70, 200, {causal = true, deterministic = true})) -- expect: true
print(try("hopper 64x64, D 192", bf16, 1, 2, 1, 70, 90, 192, {}))                       -- expect: true
print(try("hopper 64x64, D 192", f16, 1, 1, 1, 90, 70, 144, {causal = true, deterministic = true}))
-- expect: true

-- Where causal, blocks of four key heads come at once; here those of four and of two.
do
  local Q, dO = randn(bf16, row_major{2, 6, 40, 16}), randn(bf16, row_major{2, 6, 40, 16})
  local K, V = randn(bf16, row_major{2, 3, 140, 16}), randn(bf16, row_major{2, 3, 140, 16})
  local O, LSE = attention(Q, K, V, {causal = true, lse = true})
  local want = {attention_backward(dO, Q, K, V, O, LSE, {causal = true, config = "plain"})}
  for i, t in ipairs(gradients.checked(dO, Q, K, V, O, LSE,
    {causal = true, config = "hopper 64x128"})) do
    assert(allclose(t, want[i], {atol = 2e-2}), i)
  end
end

-- Without queries, keys or heads of queries, all are 0, at each launch of what was prepared.
local none, some = zeros(f32, row_major{1, 1, 0, 4}), randn(f32, row_major{1, 1, 3, 4})
local headless = zeros(f32, row_major{1, 0, 3, 4})
local function all_zero(Q, K)
  local O, LSE = attention(Q, K, K, {lse = true})
  local out = {randn(f32, Q.layout), randn(f32, K.layout), randn(f32, K.layout)}
  local launch = backward.prepare(Q, Q, K, K, O, LSE, {out = out})
  for _ = 1, 2 do
    for _, t in ipairs(out) do fill(t, 7) end
    launch()
    for _, t in ipairs(out) do
      if not allclose(t, zeros(f32, t.layout)) then return false end
    end
  end
  return true
end
print(all_zero(some, none), all_zero(none, some), all_zero(headless, some))   -- expect: true	true	true

local O, LSE
local function message(...)
  local text = select(2, pcall(attention_backward, ...)):gsub("^[^ ]+: ", "")
  print((text:gsub("on cuda:%d+;", "on cpu;")))
end
O, LSE = attention(some, some, some, {lse = true})
message(some, some, some, some, O)
-- expect: attention_backward: LSE is missing; expected the tensor that attention(Q, K, V, {lse = true}) returns second
message(some, some, some, some, O, LSE, {lazy = true})
-- expect: attention_backward: option 'lazy' is unknown; expected alibi, bias, causal, config, cu_seqlens_k, cu_seqlens_q, deterministic, documents, dropout, k_scale, mask, operands, out, q_scale, scale, score, score_gradient, seed, sinks, softcap, stream, v_scale or window
message(some, some, some, some, O, LSE, {out = {some}})
-- expect: attention_backward: out is a list of 1; expected a list of three tensors, {dQ, dK, dV}
message(some, some, some, some, O, LSE, {out = {O, some, some}})
-- expect: attention_backward: dQ shares memory with O; give dQ memory of its own
message(some, some, some, some, O, LSE, {config = "hopper 64x128"})
-- expect: attention_backward: configuration 'hopper 64x128' is not for this problem: f32, D = 4, on cpu; its kernel computes bf16 and f16
local odd = view(zeros(bf16, row_major{1, 1, 3, 24}), layout({1, 1, 3, 20}, {72, 72, 24, 1}))
message(odd, odd, odd, odd, odd, LSE, {config = "hopper 64x128"})
-- expect: attention_backward: configuration 'hopper 64x128' is not for this problem: bf16, D = 20, on cpu; its kernel takes multiples of 8 for D
message(some, some, some, some, O, LSE, {config = "fast"})
-- expect: attention_backward: there is no configuration 'fast'; there are 'hopper 128x128', 'hopper 64x128', 'hopper 64x64, Dv 128', 'hopper 64x64, D 192', 'hopper 64x64', 'mma 64x32', 'plain'
message(none, some, some, some, O, LSE)
-- expect: attention_backward: dO is (1,1,0,4); expected (1,1,3,4), as Q is (1,1,3,4):(0,0,4,1)
