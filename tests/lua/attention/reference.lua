-- reference.attention against the definition, written out in Lua: heads in groups, lengths that
-- differ, causal, packed sequences, rows that see no key, and what is refused.
local B <const>, H <const>, HK <const>, D <const> = 2, 4, 2, 8

-- Row i of a head: what `query(d)`, `key(j, d)` and `value(j, d)` give; `seen` keys.
local function row(seen, scale, query, key, value)
  local p, sum, o = {}, 0, {}
  for j = 0, seen - 1 do
    local s = 0
    for d = 0, D - 1 do s = s + query(d) * key(j, d) end
    p[j] = math.exp(scale * s)
    sum = sum + p[j]
  end
  for d = 0, D - 1 do
    o[d] = 0
    for j = 0, seen - 1 do o[d] = o[d] + p[j] / sum * value(j, d) end
  end
  return o, math.log(sum)
end

local function distance(O, LSE, crd, o, l)
  local worst = l == LSE[crd] and 0 or math.abs(l - LSE[crd])
  for d = 0, D - 1 do
    local at = table.move(crd, 1, #crd, 1, {})
    at[#at + 1] = d
    worst = math.max(worst, math.abs(O[at] - o[d]))
  end
  return worst
end

local function dense(n_q, n_k, causal, scale)
  local Q, K = randn(f32, row_major{B, H, n_q, D}), randn(f32, row_major{B, HK, n_k, D})
  local by_row = layout({B, HK, n_k, D}, {n_k * HK * D, D, HK * D, 1})
  local V = view(randn(f32, row_major{B, n_k, HK, D}), by_row)
  local O, LSE = reference.attention(Q, K, V, {
    causal = causal, scale = scale, out = zeros(f64, row_major{B, H, n_q, D}),
    lse = zeros(f64, row_major{B, H, n_q}) })
  local worst = 0
  for b = 0, B - 1 do
    for h = 0, H - 1 do
      for i = 0, n_q - 1 do
        local seen = causal and math.max(0, math.min(n_k, i + n_k - n_q + 1)) or n_k
        local o, l = row(seen, scale or 1 / math.sqrt(D), function(d) return Q[{b, h, i, d}] end,
          function(j, d) return K[{b, h // 2, j, d}] end,
          function(j, d) return V[{b, h // 2, j, d}] end)
        worst = math.max(worst, distance(O, LSE, {b, h, i}, o, l))
      end
    end
  end
  return worst < 1e-14
end
print(dense(5, 9, false), dense(5, 9, true, 0.5), dense(9, 5, true))  -- expect: true	true	true

local function packed(causal)
  local from_q, from_k = {0, 3, 3, 7}, {0, 4, 6, 6}
  local Q, K = randn(f32, row_major{H, 7, D}), randn(f32, row_major{HK, 6, D})
  local V = randn(f32, row_major{HK, 6, D})
  local O, LSE = reference.attention(Q, K, V, {
    causal = causal, cu_seqlens_q = from_q, cu_seqlens_k = from_table(i32, from_k),
    lse = zeros(f64, row_major{H, 7}), out = zeros(f64, row_major{H, 7, D}) })
  local worst = 0
  for s = 1, 3 do
    local q0, k0 = from_q[s], from_k[s]
    local n_q, n_k = from_q[s + 1] - q0, from_k[s + 1] - k0
    for h = 0, H - 1 do
      for i = 0, n_q - 1 do
        local seen = causal and math.max(0, math.min(n_k, i + n_k - n_q + 1)) or n_k
        local o, l = row(seen, 1 / math.sqrt(D), function(d) return Q[{h, q0 + i, d}] end,
          function(j, d) return K[{h // 2, k0 + j, d}] end,
          function(j, d) return V[{h // 2, k0 + j, d}] end)
        worst = math.max(worst, distance(O, LSE, {h, q0 + i}, o, l))
      end
    end
  end
  return worst < 1e-14
end
print(packed(false), packed(true))  -- expect: true	true

-- Without `out` and `lse`: of the type of Q.
local Q = randn(bf16, row_major{1, 2, 4, 16})
local O, LSE = reference.attention(Q, Q, Q, {lse = true})
print(O.dtype, O.layout, LSE.dtype, LSE.layout)  -- expect: bf16	(1,2,4,16):(0,64,16,1)	f32	(1,2,4):(0,4,1)

local function message(...)
  print((select(2, pcall(reference.attention, ...)):gsub("^[^ ]+: ", "")))
end
message(Q, zeros(bf16, row_major{1, 3, 4, 16}), Q)
-- expect: reference.attention: K is (1,3,4,16) and V is (1,2,4,16); they must have the same heads and the same length S
message(Q, Q, zeros(f32, row_major{1, 2, 4, 16}))
-- expect: reference.attention: Q is bf16 but V is f32; the element types must be equal
message(Q, Q, Q, {casual = true})
-- expect: reference.attention: option 'casual' is unknown; did you mean 'causal'?
message(Q, Q, Q, {out = Q})
-- expect: reference.attention: out shares memory with Q; give out memory of its own
message(Q, Q, Q, {cu_seqlens_q = {0, 4}})
-- expect: reference.attention: cu_seqlens_k is missing; packed sequences need cu_seqlens_q and cu_seqlens_k
local packed_q = view(Q, layout({2, 4, 16}, {64, 16, 1}))
message(packed_q, packed_q, packed_q, {cu_seqlens_q = {0, 3}, cu_seqlens_k = {0, 4}})
-- expect: reference.attention: cu_seqlens_q begins with 0 and ends with 3; expected 0 and 4, the rows of Q
