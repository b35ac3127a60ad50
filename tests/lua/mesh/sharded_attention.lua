-- Attention over sharded batches, heads and sequences is that of the whole tensors: extents that do
-- not divide, ranks with nothing, fewer heads of K and V, causal masks, operands spread otherwise.
device "cpu:4"
local line, two = mesh{ seq = 4 }, mesh{ batch = 2, seq = 2 }

local function check(m, specs, shape, kv_heads, options, dtype)
  local B, _, S, D = table.unpack(shape)
  local Q = randn(dtype or f32, row_major(shape))
  local K = randn(dtype or f32, row_major{ B, kv_heads, S, D })
  local V = randn(dtype or f32, row_major{ B, kv_heads, S, D })
  local O = attention(m:shard(Q, specs[1]), m:shard(K, specs[2] or specs[1]),
    m:shard(V, specs[3] or specs[1]), options)
  local tolerance = dtype == f16 and 3e-3 or 1e-5
  local want = reference.attention(Q, K, V, { causal = options.causal, scale = options.scale })
  return O.dtype == Q.dtype and allclose(O:whole(), want, { atol = tolerance, rtol = tolerance })
end

for _, causal in ipairs { false, true } do
  local o = { causal = causal }
  print(check(line, { "(_,_,S@seq,_)" }, { 1, 2, 16, 8 }, 2, o), -- expect: true	true	true	true
    check(line, { "(_,_,S@seq,_)" }, { 2, 2, 13, 8 }, 1, o),
    check(line, { "(_,_,S@seq,_)" }, { 1, 1, 5, 4 }, 1, o),
    check(line, { "(_,_,S@seq,_)" }, { 1, 1, 3, 4 }, 1, o))
  print(check(line, { "(_,H@seq,_,_)" }, { 2, 4, 13, 8 }, 4, o), -- expect: true	true	true
    check(two, { "(B@batch,_,S@seq,_)" }, { 3, 2, 7, 8 }, 2, o),
    check(two, { "(B@batch,H@seq,_,_)" }, { 3, 4, 7, 8 }, 2, o))
  print(check(two, { "(_,_,S@seq@batch,_)" }, { 2, 4, 9, 16 }, 2, o, f16), -- expect: true	true	true
    check(two, { "(_,_,S@seq,_)", "(_,_,_,D@batch)", "(B@seq,_,_,_)" }, { 2, 2, 8, 8 }, 2, o),
    check(two, { "(_,_,_,D@seq)", "(_,_,_,_)" }, { 1, 2, 6, 8 }, 2, o))
end
-- expect: true	true	true	true
-- expect: true	true	true
-- expect: true	true	true
print(check(line, { "(_,_,S@seq,_)" }, { 1, 2, 12, 8 }, 2, { scale = 0.25 })) -- expect: true

-- Keys of another length; the result is spread as Q is.
local Q, K = randn(f32, row_major{ 1, 2, 6, 8 }), randn(f32, row_major{ 1, 2, 10, 8 })
local O = attention(line:shard(Q, "(_,_,S@seq,_)"), line:shard(K, "(_,_,S@seq,_)"),
  line:shard(K, "(_,_,_,_)"))
print(allclose(O:whole(), reference.attention(Q, K, K), { atol = 1e-5, rtol = 1e-5 })) -- expect: true
print(O:part(1).layout) -- expect: (1,2,S=2,8):(0,16,8,1)
