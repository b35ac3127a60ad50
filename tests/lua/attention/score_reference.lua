-- reference.attention with masks and scores, against their definitions written out: each option by
-- itself and all together, in packed sequences too, and what is refused.
local B <const>, H <const>, HK <const>, D <const> = 2, 2, 1, 4
local minus_infinity <const> = -math.huge

-- Attention of one query with n_k keys: `score(s, k)` is a key's new score, -infinity if not seen.
local function row(n_k, score, query, key, value, sink)
  local p, sum, o = {}, sink and math.exp(sink) or 0, {}
  for k = 0, n_k - 1 do
    local s = 0
    for d = 0, D - 1 do s = s + query(d) * key(k, d) end
    p[k] = math.exp(score(s / math.sqrt(D), k))
    sum = sum + p[k]
  end
  for d = 0, D - 1 do
    o[d] = 0
    for k = 0, n_k - 1 do o[d] = o[d] + (sum == 0 and 0 or p[k] / sum) * value(k, d) end
  end
  return o, math.log(sum)
end

-- Is the reference what `score(s, q, k, h, b)` and `sink(h, b)` say?
local function is_right(n_q, n_k, options, score, sink)
  local Q, K = randn(f64, row_major{B, H, n_q, D}), randn(f64, row_major{B, HK, n_k, D})
  local V = randn(f64, row_major{B, HK, n_k, D})
  options.lse = zeros(f64, row_major{B, H, n_q})
  local O, LSE = reference.attention(Q, K, V, options)
  local worst = 0
  for b = 0, B - 1 do
    for h = 0, H - 1 do
      for q = 0, n_q - 1 do
        local o, l = row(n_k, function(s, k) return score(s, q, k, h, b) end,
          function(d) return Q[{b, h, q, d}] end, function(k, d) return K[{b, 0, k, d}] end,
          function(k, d) return V[{b, 0, k, d}] end, sink and sink(h, b))
        if l ~= LSE[{b, h, q}] then worst = math.max(worst, math.abs(l - LSE[{b, h, q}])) end
        for d = 0, D - 1 do worst = math.max(worst, math.abs(o[d] - O[{b, h, q, d}])) end
      end
    end
  end
  return worst < 1e-13
end

local function if_seen(seen, s) return seen and s or minus_infinity end

-- Both sequences end together: of 5 queries and 7 keys query 0 is at the place of key 2.
print(is_right(5, 7, {window = {2, 1}}, function(s, q, k)
  return if_seen(k >= q + 2 - 2 and k <= q + 2 + 1, s)
end))                                                                       -- expect: true
print(is_right(7, 5, {window = {1, -1}}, function(s, q, k)
  return if_seen(k >= q - 2 - 1, s)
end))                                                                       -- expect: true
print(is_right(5, 5, {causal = true, window = {2, 3}}, function(s, q, k)
  return if_seen(k <= q and k >= q - 2, s)
end))                                                                       -- expect: true
print(is_right(5, 7, {softcap = 0.5}, function(s) return 0.5 * tanh(s / 0.5) end)) -- expect: true
local slopes <const> = {0.5, 0.25}
print(is_right(5, 7, {alibi = slopes}, function(s, q, k, h)
  return s - slopes[h + 1] * math.abs(q + 2 - k)
end))                                                                       -- expect: true
local bias = randn(f64, row_major{H, 1, 7})
print(is_right(5, 7, {bias = bias}, function(s, _, k, h) return s + bias[{h, 0, k}] end)) -- expect: true
print(is_right(5, 7, {score = function(s, q, k, h, b, t, x) return s * x + t[k] + q + h - b end,
  operands = {bias(0, 0, _), 0.5}}, function(s, q, k, h, b)
  return s * 0.5 + bias[{0, 0, k}] + q + h - b
end))                                                                       -- expect: true
print(is_right(5, 7, {mask = function(q, k, h, b) return (q + k + h + b) % 3 ~= 0 end},
  function(s, q, k, h, b) return if_seen((q + k + h + b) % 3 ~= 0, s) end)) -- expect: true
print(is_right(6, 6, {documents = {2, 0, 4}}, function(s, q, k)
  return if_seen((q < 2) == (k < 2), s)
end))                                                                       -- expect: true
print(is_right(3, 3, {documents = from_table(i32, {{7, 7, 1}, {2, 5, 2}})}, function(s, q, k, _, b)
  local ids = ({{7, 7, 1}, {2, 5, 2}})[b + 1]
  return if_seen(ids[q + 1] == ids[k + 1], s)
end))                                                                       -- expect: true
print(is_right(5, 7, {sinks = {0.5, -1}, window = {0, 0}}, function(s, q, k)
  return if_seen(k == q + 2, s)
end, function(h) return h == 0 and 0.5 or -1 end))                          -- expect: true
print(is_right(7, 5, {softcap = 2, alibi = slopes, bias = ones(f64, 1), causal = true,
  score = function(s) return 3 * s end}, function(s, q, k, h)
  return if_seen(k <= q - 2, 3 * (2 * tanh(s / 2) - slopes[h + 1] * math.abs(q - 2 - k)
    + 1))
end))                                                                       -- expect: true

-- Dropout: the mean of many is what there is without; the same seed drops the same.
do
  local Q, K = randn(f64, row_major{1, 1, 400, 4}), randn(f64, row_major{1, 1, 50, 4})
  local V = ones(f64, row_major{1, 1, 50, 4})
  local function first_column(seed)
    local O = reference.attention(Q, K, V, {dropout = 0.25, seed = seed})
    return view(O, layout({400}, {4})):totable()
  end
  local one, again, other = first_column(5), first_column(5), first_column(6)
  local sum, equal, n_other = 0, 0, 0
  for i, x in ipairs(one) do
    sum = sum + x
    equal, n_other = equal + (x == again[i] and 1 or 0), n_other + (x == other[i] and 1 or 0)
  end
  print(math.abs(sum / 400 - 1) < 0.03, equal, n_other < 20)                -- expect: true	400	true
end

-- Packed: each sequence counts from 0, and is a batch of its own to functions and tensors.
local starts = {0, 3, 3, 8}
local Q = randn(f64, row_major{H, 8, D})
local options = {cu_seqlens_q = starts, cu_seqlens_k = starts, causal = true, window = {2, -1},
  score = function(s, q, k, h, b) return s + 0.1 * q - k * h + b * k end}
local O = reference.attention(Q, Q, Q, options)
for i = 1, 3 do
  local first, n = starts[i], starts[i + 1] - starts[i]
  if n > 0 then
    local own = view(Q(0, first, _), layout({1, H, n, D}, {0, 8 * D, D, 1}))
    local R = reference.attention(own, own, own, {causal = true, window = {2, -1},
      score = function(s, q, k, h) return s + 0.1 * q - k * h + (i - 1) * k end})
    print(allclose(R, view(O(0, first, _), layout({1, H, n, D}, {0, 8 * D, D, 1})), {atol = 1e-13}))
  end
end
-- expect: true
-- expect: true

local some = zeros(f32, row_major{1, 2, 4, 8})
local function message(given)
  print((select(2, pcall(reference.attention, some, some, some, given)):gsub("^[^ ]+: ", "")))
end
message {window = 3}
-- expect: reference.attention: window is of type number; expected {left, right}, numbers of keys, -1 for all
message {window = {-2, 0}}
-- expect: reference.attention: window's left is -2; expected how many keys are seen, 0 or more, or -1 for all
message {softcap = 0}
-- expect: reference.attention: softcap is 0; expected a positive number
message {alibi = {1, 2, 3}}
-- expect: reference.attention: alibi is 3; expected (H) or (B,H), here (1,2), or modes of 1 or fewer modes for equal elements
message {bias = zeros(f32, {4, 5})}
-- expect: reference.attention: bias is (4,5); expected (B,H,S,Sk), here (1,2,4,4), or modes of 1 or fewer modes for equal elements
message {bias = zeros(i32, {4, 4})}
-- expect: reference.attention: bias is i32; expected a float type
message {documents = {2, 3}}
-- expect: reference.attention: the lengths of documents have the sum of more than 4; expected that of all tokens, 4
message {documents = {2, 1}}
-- expect: reference.attention: the lengths of documents have the sum 3; expected that of all tokens, 4
message {documents = zeros(f32, 4)}
-- expect: reference.attention: documents is f32; expected integers, the number of each token's document
message {operands = {1}}
-- expect: reference.attention: operands belong to `score` or `mask`, and there is neither
message {score = 1}
-- expect: reference.attention: score is of type number; expected a function (s, q, k, h, b, operands...)
message {score = function() end}
-- expect: attention: the function `score` returns nothing; expected the new score, a number
message {mask = function() end}
-- expect: attention: the function `mask` returns nothing; expected whether the query sees the key, as in q >= k
message {dropout = 1, seed = 2}
-- expect: reference.attention: dropout is 1; expected the share of probabilities that become 0, from 0 to less than 1
message {dropout = 0.5}
-- expect: reference.attention: seed is nil; dropout needs an integer from 0 to 2147483647, a new one for each call
message {seed = 1}
-- expect: reference.attention: seed belongs to dropout, which is missing
message {score_gradient = function() end}
-- expect: reference.attention: score_gradient is the derivative of `score`, which is missing

-- {====== A dropout of nothing, and functions that return another type, on both ======

do
  local q = randn(f32, row_major{1, 1, 4, 8})
  print(allclose(attention(q, q, q, {dropout = 0.0}), reference.attention(q, q, q)),
    allclose(attention(q, q, q, {dropout = 0, seed = 3}), reference.attention(q, q, q)))
  for _, given in ipairs{{mask = function(i, k) return i - k end},
                           {score = function(_, i, k) return i > k end}} do
    local config = {mask = given.mask, score = given.score, config = "plain"}
    print((select(2, pcall(attention, q, q, q, config)):gsub("^.-%d+: ", "")))
    print((select(2, pcall(reference.attention, q, q, q, given)):gsub("^.-%d+: ", "")))
  end
  local none = zeros(f32, row_major{1, 1, 4, 0})
  print((select(2, pcall(attention, none, none, none)):gsub("^.-%d+: ", "")))
end
-- expect: true	true
-- expect: attention: the function `mask` returns a value of type number; expected whether the query sees the key, as in q >= k
-- expect: attention: the function `mask` returns a value of type number; expected whether the query sees the key, as in q >= k
-- expect: attention: the function `score` returns a value of type boolean; expected the new score, a number
-- expect: attention: the function `score` returns a value of type boolean; expected the new score, a number
-- expect: attention: Q is (1,1,4,0); the last mode, the depth D of a head, must be at least 1
