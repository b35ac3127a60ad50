-- attention_backward of packed sequences, against the plain kernel with one sequence at a time;
-- neither NaN of other sequences, nor sequences without queries or keys are in the way. Under check.
local gradients = dofile "tests/support/gradients.lua"

local function numbers(t, out)
  out = out or {}
  for _, v in ipairs(t) do
    if type(v) == "table" then numbers(v, out) else out[#out + 1] = v end
  end
  return out
end

-- Rows [first, first + n) of a tensor (H,T,D) or (H,T).
local function rows(t, first, n)
  local strides = stride(t)
  if rank(t) == 2 then return view(t(_, first), layout({size(t, 0), n}, {strides[1], 1})) end
  return view(t(_, first, _), layout({size(t, 0), n, size(t, 2)}, {strides[1], strides[2], 1}))
end

-- The largest difference, of the largest element; NaN counts as infinite.
local function distance(got, want)
  local x, y, most, worst = numbers(got:totable()), numbers(want:totable()), 1e-30, 0
  for i, v in ipairs(x) do
    most = math.max(most, math.abs(y[i]))
    worst = v == v and math.max(worst, math.abs(v - y[i])) or math.huge
  end
  return worst / most
end

local function starts(lengths, i)
  local list = {0}
  for j, pair in ipairs(lengths) do list[j + 1] = list[j] + pair[i] end
  return list
end

-- With a sequence `poisoned` whose elements are all NaN.
local function try(config, dtype, H, HK, lengths, D, causal, poisoned)
  local from_q, from_k = starts(lengths, 1), starts(lengths, 2)
  local n, nk = from_q[#from_q], from_k[#from_k]
  local Q, dO = randn(dtype, row_major{H, n, D}), randn(dtype, row_major{H, n, D})
  local K, V = randn(dtype, row_major{HK, nk, D}), randn(dtype, row_major{HK, nk, D})
  local options = {causal = causal, cu_seqlens_q = from_q, cu_seqlens_k = from_k}
  local O, LSE = attention(Q, K, V, {causal = causal, cu_seqlens_q = from_q, lse = true,
                                     cu_seqlens_k = from_k})
  for _, t in ipairs(poisoned and {Q, dO, O, K, V} or {}) do
    local from = t.shape == Q.shape and from_q or from_k
    fill(rows(t, from[poisoned], from[poisoned + 1] - from[poisoned]), 0 / 0)
  end
  options.config = config
  local got = gradients.checked(dO, Q, K, V, O, LSE, options)
  local limit = dtype == f32 and 1e-6 or 1e-2
  for i, pair in ipairs(lengths) do
    local function of_q(t) return rows(t, from_q[i], pair[1]) end
    local function of_k(t) return rows(t, from_k[i], pair[2]) end
    local want
    if pair[1] == 0 or pair[2] == 0 then
      for j, t in ipairs(got) do
        local count, of = pair[j == 1 and 1 or 2], j == 1 and of_q or of_k
        if count > 0 and not allclose(of(t), zeros(t.dtype, of(t).shape)) then
          return ("sequence %d, gradient %d is not 0"):format(i, j)
        end
      end
    elseif i ~= poisoned then
      want = {attention_backward(of_q(dO), of_q(Q), of_k(K), of_k(V), of_q(O), of_q(LSE),
        {causal = causal, config = "plain"})}
    end
    for j, part in ipairs(want and {of_q(got[1]), of_k(got[2]), of_k(got[3])} or {}) do
      local worst = distance(part, want[j])
      if worst > limit then return ("sequence %d, gradient %d: %g"):format(i, j, worst) end
    end
  end
  return true
end
manual_seed(1)
local short <const> = { {30, 20}, {17, 40}, {0, 9}, {20, 0}, {33, 50} }
local long <const> = { {70, 50}, {40, 150}, {20, 10} }
print(try("plain", f32, 4, 2, short, 20, false))          -- expect: true
print(try("plain", bf16, 2, 2, short, 20, true, 2))       -- expect: true
print(try("mma 64x32", bf16, 2, 1, short, 80, true, 2))        -- expect: true
print(try("hopper 64x128", bf16, 2, 1, short, 80, true, 2))    -- expect: true
print(try("hopper 64x128", f16, 2, 2, long, 128, false, 3))    -- expect: true
print(try("hopper 128x128", bf16, 1, 1, long, 64, true, 1))    -- expect: true
print(try("hopper 64x64", bf16, 1, 1, {{30, 20}, {17, 70}}, 200, true, 1))    -- expect: true
print(try("hopper 64x64, D 192", bf16, 1, 1, {{30, 20}, {17, 70}}, 192, true, 1)) -- expect: true
print(try("plain", bf16, 1, 1, {{0, 9}, {0, 2}}, 64, false))            -- expect: true
print(try("plain", bf16, 1, 1, {{3, 0}, {2, 0}}, 64, false))            -- expect: true

local Q, l = zeros(f32, row_major{1, 4, 8}), zeros(f32, row_major{1, 4})
print((select(2, pcall(attention_backward, Q, Q, Q, Q, Q, l, {cu_seqlens_q = {0, 4}}))
  :gsub("^[^ ]+: ", "")))
-- expect: attention_backward: cu_seqlens_k is missing; packed sequences need cu_seqlens_q and cu_seqlens_k
