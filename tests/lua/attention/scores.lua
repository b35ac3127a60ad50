-- Masks and scores in the kernels of attention, against reference.attention, under check: each option
-- on each template, several blocks of keys, queries that see none, packed sequences; the blocks that a
-- window leaves out; kernels of the same function are made once.
manual_seed(1)

local function flat(t) return view(t, layout{size(t)}):totable() end

local function distance(a, b)
  local worst, y = 0, flat(b)
  for i, x in ipairs(flat(a)) do
    local d = x == y[i] and 0 or math.abs(x - y[i])
    worst = (d ~= d or d > worst) and d or worst
  end
  return worst
end

local run <const> = dofile "tests/support/gradients.lua".attention

local function agrees(Q, K, V, options, config)
  options.config, options.lse = config, true
  local O, LSE = run(Q, K, V, options)
  options.out, options.lse = zeros(f64, row_major(shape(Q))), zeros(f64, row_major(shape(LSE)))
  local R, RL = reference.attention(Q, K, V, options)
  options.out = nil
  return distance(O, R) < (Q.dtype == f32 and 2e-6 or 1e-2) and distance(LSE, RL) < 3e-6
end

-- Of 2 heads, S queries and SK keys.
local function each_option(S, SK)
  local slopes, bias = from_table(f32, {0.5, 0.25}), randn(bf16, row_major{2, S, SK})
  return {
    { window = {20, 5}, softcap = 2.0 },
    { window = {7, -1}, alibi = slopes },
    { causal = true, window = {60, -1}, sinks = {9, -1}, lazy = true },
    { bias = bias, score = function(s, q, k, h, b, t, x)
        if q > k then s = s + 1.0 end
        return s * 0.5 + t[q] * x + 0.125 * h - b
      end, operands = {randn(f32, S), 0.25} },
    { mask = function(q, k, h) return (q // 8 + k // 8 + h) % 3 ~= 0 end, alibi = slopes,
      causal = true },
    { causal = true, dropout = 0.3, seed = 7,
      documents = S == SK and {S // 3, 0, S - S // 3} or nil },
  }
end

local function each_agrees(config, dtype, S, SK, D, first, last)
  local Q, K = randn(dtype, row_major{1, 2, S, D}), randn(dtype, row_major{1, 1, SK, D})
  local V, wrong = randn(dtype, row_major{1, 1, SK, D}), {}
  for i, options in ipairs(each_option(S, SK)) do
    if i >= (first or 1) and i <= (last or 6) and not agrees(Q, K, V, options, config) then
      wrong[#wrong + 1] = i
    end
  end
  return #wrong == 0 and "right" or table.concat(wrong, " ")
end
print(each_agrees("plain", f32, 40, 56, 20))       -- expect: right
print(each_agrees("plain", f32, 50, 50, 16, 6, 6))           -- expect: right
print(each_agrees("mma 64x64", bf16, 130, 130, 40))          -- expect: right
print(each_agrees("mma 64x64", f16, 80, 40, 32, 3, 3))       -- expect: right
print(each_agrees("sm75 128x64", f16, 40, 140, 32, 1, 1))    -- expect: right
print(each_agrees("hopper 192x80", bf16, 70, 250, 32))       -- expect: right
print(each_agrees("hopper 192x128", f16, 200, 140, 32, 3, 3)) -- expect: right

-- Packed sequences, one without queries and one without keys.
local cu_q, cu_k = {0, 30, 30, 60, 100}, {0, 33, 60, 60, 160}
for config, dtype in pairs{plain = f32, ["mma 64x64"] = bf16, ["hopper 192x80"] = bf16} do
  local Q = randn(dtype, row_major{2, 100, 32})
  local K, V = randn(dtype, row_major{1, 160, 32}), randn(dtype, row_major{1, 160, 32})
  local ok = agrees(Q, K, V, { cu_seqlens_q = cu_q, cu_seqlens_k = cu_k, window = {40, 3},
    sinks = {0.5, -2}, score = function(s, q, k, h, b) return s + 0.01 * q - 0.02 * k * h + b end },
    config)
  if not ok then print(config) end
end

-- Blocks outside of the window are not read: what is there is NaN.
for config, dtype in pairs{plain = f32, ["mma 64x64"] = bf16, ["hopper 192x80"] = bf16} do
  local Q, K = randn(dtype, row_major{1, 1, 40, 64}), randn(dtype, row_major{1, 1, 400, 64})
  local V = randn(dtype, row_major{1, 1, 400, 64})
  for _, t in ipairs{K, V} do fill(view(t, row_major{240, 64}), 0 / 0) end
  local near = run(Q, K, V, {config = config, window = {30, 0}})
  local far = run(Q, K, V, {config = config, window = {360, 0}})
  print(near[0] == near[0], far[0] ~= far[0])                -- expect: true	true
end                                                          -- expect: true	true
-- expect: true	true

-- Nor are those of which a mask hides all: a tile and a block of keys begin with rows of NaN.
for _, config in ipairs{"mma 64x64", "hopper 192x80"} do
  local Q, K = randn(bf16, row_major{2, 1, 70, 64}), randn(bf16, row_major{2, 1, 300, 64})
  local V = randn(bf16, row_major{2, 1, 300, 64})
  local function fill_first(x)
    for _, t in ipairs{K, V} do fill(view(t, layout({128, 64}, {64, 1})), x) end
  end
  for _, mask in ipairs {
    function(_, k) return k >= 160 end,
    function(q, k, h, b) return k >= 170 + 80 * b and q > 20 - 10 * h end,
  } do
    local options = {config = config, mask = mask}
    fill_first(0 / 0)
    local O = run(Q, K, V, options)
    fill_first(0)
    print(distance(O, reference.attention(Q, K, V, options)) < 1e-2)  -- expect: true
  end
end
-- expect: true
-- expect: true
-- expect: true

-- A kernel for each function, not for each call; numbers and tensors are arguments.
local Q = randn(f32, row_major{1, 2, 8, 8})
local function bend(s, _, _, _, _, x) return s * x end
local kernels = {}
for i = 1, 3 do
  local step = select(3, run(Q, Q, Q, {score = bend, operands = {0.5 * i}, window = {i, 0}}))
  kernels[step.kernel] = true
end
print(next(kernels, (next(kernels))))                        -- expect: nil

print((select(2, pcall(attention, Q, Q, Q, {window = {1, 1}, bits = "batch_invariant"}))
  :gsub("^[^ ]+: ", "")))
-- expect: attention: bits = "batch_invariant" is for attention without masks and scores beside `causal`; leave out window left right
print((select(2, pcall(attention, Q, Q, Q, {score = function() end})):gsub("^[^ ]+: ", "")))
-- expect: attention: the function `score` returns nothing; expected the new score, a number

-- Nothing holds functions whose kernels were made, and which the script gives up.
local held = setmetatable({}, { __mode = "k" })
local function use_functions()
  local x = 0.5
  local function mask(q, k) return k <= q + x end
  local function twice(s) return 2.0 * s + x end
  held[mask], held[twice] = true, true
  attention(Q, Q, Q, {mask = mask, score = twice})
end
use_functions()
attention(Q, Q, Q)
collectgarbage()
collectgarbage()
print(next(held))                                            -- expect: nil
