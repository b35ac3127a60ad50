-- attention_decode against reference.attention_decode, with its kernels under check: types, depths,
-- heads in groups, lengths of sequences, several queries, causal and by a tree, pages of any size,
-- keys and values of 8 bits with scales, of heads or of parts of keys, keys in two tensors, appended
-- ones, several ways to cut the keys into parts.
local decode <const> = require "cuttle.attention_decode"
local on_gpu <const> = device().sm ~= nil
manual_seed(1)
math.randomseed(1)

local function flat(t)
  local o = tensor(t.dtype, row_major(t.shape))
  copy(t, o)
  return view(o, layout{size(o)}):totable()
end

-- The largest difference; equal infinities do not differ.
local function distance(a, b)
  local worst, y = 0, flat(b)
  for i, x in ipairs(flat(a)) do
    local d = x == y[i] and 0 or math.abs(x - y[i])
    worst = d <= worst and worst or d
  end
  return worst
end

local function count(shape)
  local n = 1
  for _, extent in ipairs(shape) do n = n * extent end
  return n
end

local function random(dtype, shape)
  if dtype == f8e4m3 then
    return view(reference.cast(randn(f32, count(shape)):to "cpu", dtype), row_major(shape))
  elseif dtype == i8 then
    local t = {}
    for i = 1, count(shape) do t[i] = math.random(-127, 127) end
    return view(from_table(i8, t), row_major(shape))
  end
  return randn(dtype, row_major(shape))
end

-- A table of different pages of a pool for each sequence, and the pool's size.
local function pages(n_sequences, capacity, page)
  local width = cdiv(capacity, page)
  local n, order = n_sequences * width + 3, {}
  for i = 1, n do order[i] = i - 1 end
  for i = n, 2, -1 do
    local j = math.random(i)
    order[i], order[j] = order[j], order[i]
  end
  return view(from_table(i32, table.move(order, 1, n_sequences * width, 1, {})),
    row_major{n_sequences, width}), n
end

local function problem(c)
  local B, S, D, capacity = #c.lengths, c.S or 1, c.D, c.capacity or 300
  local options = {cache_seqlens = from_table(i32, c.lengths), lse = true, causal = c.causal,
                   lazy = c.lazy, bits = c.bits, scale = c.scale, k_scale = c.k_scale,
                   v_scale = c.v_scale}
  local first, length = B, capacity
  if c.page then options.block_table, first = pages(B, capacity, c.page) end
  if c.page then length = c.page end
  local Q, kv = randn(c.dtype, row_major{B, c.H, S, D}), c.kv or c.dtype
  if c.new then
    options.k = randn(c.dtype, row_major{B, c.HK, c.new, D})
    options.v = not c.latent and randn(c.dtype, row_major{B, c.HK, c.new, c.DV or D}) or nil
  end
  if c.rope then
    options.k_rope = randn(c.dtype, row_major{first, c.HK, length, c.rope})
    D = D - c.rope
  end
  for name, n in pairs(c.groups or {}) do
    options[name] = rand(f32, row_major{first, c.HK, length, n})
  end
  if c.is_shared then options.v_scale = options.k_scale end
  local K = random(kv, {first, c.HK, length, D})
  local V = c.latent and view(K, layout({first, c.HK, length, c.DV}, {stride(K)[1], 0, D, 1}))
    or random(kv, {first, c.HK, length, c.DV or D})
  if c.tree then
    local t = {}
    for i = 1, B * S * S do t[i] = math.random(0, 1) end
    options.tree_mask = view(from_table(u8, t), row_major{B, S, S})
  end
  return Q, K, V, options
end

local function run(steps)
  for _, step in ipairs(steps) do
    step.launch.check = not on_gpu
    step.kernel(step.launch)(table.unpack(step.args, 1, step.args.n))
  end
end

local function try(config, c)
  local Q, K, V, options = problem(c)
  local R, RL = reference.attention_decode(Q, K, V, options)
  for _, parts in ipairs(c.parts or {1}) do
    options.config = config
    if parts ~= 1 then
      local row = {parts = parts}
      for _, known in ipairs(decode.configs) do
        if known.name == config then
          for key, value in pairs(known) do row[key] = value end
        end
      end
      options.config = row
    end
    local _, _, O, L, steps = decode.prepare(Q, K, V, options)
    run(steps)
    local limit = c.dtype == f32 and 2e-5 or c.dtype == f16 and 2e-3 or 1.6e-2
    if distance(O, R) > limit or distance(L, RL) > (c.is_shared and 2e-3 or 2e-5) then
      return ("O %g, LSE %g"):format(distance(O, R), distance(L, RL))
    end
  end
  return true
end

local PLAIN <const>, MMA <const>, NARROW <const> = "plain", "mma 4 warps", "mma 8 bits"
local LATENT <const>, LATENT_HOPPER <const> = "latent 64 keys", "latent hopper"
local LATENT_NARROW <const> = "latent 8 bits"
local PAIRS <const> = "latent hopper, pairs"
local HOPPER_ROWS <const>, HOPPER_NARROW <const> = "latent hopper, rows", "latent hopper, 8 bits"
local some <const> = {300, 0, 77, 1, 64}
print(try(PLAIN, {dtype = f32, H = 4, HK = 2, D = 40, lengths = some, parts = {1, 7}})) -- expect: true
print(try(PLAIN, {dtype = f32, kv = bf16, H = 4, HK = 2, S = 3, D = 33, DV = 50, new = 2,
                  lengths = {200, 1, 77, 2, 290}, causal = true}))                     -- expect: true
-- A negative length counts as 0, so that what is appended is seen.
print(try(PLAIN, {dtype = f32, H = 2, HK = 1, D = 8, new = 2, lengths = {-3, 5}}))      -- expect: true
print(try(MMA, {dtype = f16, H = 2, HK = 1, D = 64, new = 3, page = 4, lengths = {-1, 9}, S = 2,
                causal = true}))                                                        -- expect: true
print(try(PLAIN, {dtype = f16, kv = f8e4m3, H = 4, HK = 2, D = 24, page = 7, new = 1, scale = 0.3,
                  lengths = {200, 7}, k_scale = 0.25, v_scale = 0.5}))                  -- expect: true
print(try(PLAIN, {dtype = f16, kv = i8, H = 4, HK = 2, D = 24, DV = 12, rope = 8, page = 7,
                  scale = 0.01, groups = {k_scale = 4, v_scale = 3}, lengths = {99, 7}})) -- expect: true
print(try(PLAIN, {dtype = f32, kv = bf16, H = 2, HK = 2, D = 12, DV = 8, rope = 4,
                  k_scale = from_table(f32, {0.5, 2}), lengths = {40, 7}}))             -- expect: true
print(try(PLAIN, {dtype = bf16, H = 6, HK = 2, S = 5, D = 32, tree = true, page = 1,
                  lengths = {100, 7, 5}}))                                              -- expect: true
print(try(PLAIN, {dtype = f32, H = 2, HK = 1, D = 8, lengths = {1200, 0, 300}, capacity = 1200,
                  bits = "batch_invariant"}))                                           -- expect: true
if not on_gpu or device().sm >= 80 then
  assert(try(MMA, {dtype = bf16, H = 8, HK = 2, D = 128, lengths = some,
                   parts = {1, 3, 9}}) == true)
  assert(try("mma 4 warps, 2 stages", {dtype = bf16, H = 8, HK = 1, D = 256, lengths = {150, 77},
                                       parts = {3}}) == true)
  -- What warps find is in a free slot of their rings.
  assert(try("mma 6 warps", {dtype = bf16, H = 8, HK = 4, D = 256, lengths = {250, 33},
                             parts = {1, 3}}) == true)
  assert(try("mma 6 warps", {dtype = f16, H = 20, HK = 1, D = 192, DV = 160, page = 16,
                             lengths = {200, 0, 9}, parts = {2}}) == true)
  assert(try(MMA, {dtype = f16, H = 4, HK = 2, S = 2, D = 64, DV = 32, causal = true,
                   lengths = {300, 1, 77, 2, 290}}) == true)
  assert(try(MMA, {dtype = bf16, H = 4, HK = 2, D = 32, page = 16, lengths = some}) == true)
  assert(try(MMA, {dtype = bf16, H = 34, HK = 2, S = 2, D = 32, page = 7, new = 2, causal = true,
                   lengths = {200, 0, 77}}) == true)
  assert(try(MMA, {dtype = f16, H = 4, HK = 2, S = 5, D = 32, tree = true, page = 1,
                   lengths = {100, 7, 5}}) == true)
  assert(try(MMA, {dtype = bf16, H = 4, HK = 2, D = 32, lengths = {1200, 7, 600}, capacity = 1200,
                   bits = "batch_invariant"}) == true)
  assert(try(LATENT, {dtype = bf16, H = 16, HK = 1, D = 576, DV = 512, latent = true, page = 16,
                      lengths = {200, 3, 0}, parts = {1, 5}}) == true)
  assert(try(LATENT, {dtype = f16, H = 9, HK = 1, S = 2, D = 576, DV = 512, latent = true,
                      causal = true, lengths = {1, 50}, capacity = 64}) == true)
end
if not on_gpu or device().sm >= 89 then
  local scale = from_table(f32, {1 / 30, 1 / 50})
  assert(try(NARROW, {dtype = f16, kv = i8, H = 4, HK = 2, D = 32, lengths = some, k_scale = scale,
                      v_scale = 1 / 30}) == true)
  assert(try(NARROW, {dtype = bf16, kv = f8e4m3, H = 8, HK = 2, D = 256, lengths = {280, 5},
                      parts = {1, 3}}) == true)
  -- Here it has memory of its own; the tile of values has other lines than that of keys.
  assert(try("mma 8 bits, 4 warps", {dtype = f16, kv = i8, H = 11, HK = 1, D = 96, DV = 256,
                                     lengths = {140, 5}, k_scale = 1 / 30,
                                     v_scale = 1 / 100, parts = {2}}) == true)
  assert(try(NARROW, {dtype = bf16, kv = f8e4m3, H = 4, HK = 2, S = 2, D = 128, DV = 64, page = 16,
                      new = 2, causal = true, lengths = {200, 7}, v_scale = 0.5}) == true)
  -- As DeepSeek's cache of 8 bits: a scale for 128 columns, and 64 columns of the queries' type.
  assert(try(LATENT_NARROW, {dtype = bf16, kv = f8e4m3, H = 16, HK = 1, D = 576, DV = 512,
                             rope = 64, latent = true, page = 16,
                             groups = {k_scale = 4, v_scale = 4}, lengths = {200, 3, 0},
                             parts = {1, 5}}) == true)
  assert(try(LATENT_NARROW, {dtype = f16, kv = f8e4m3, H = 3, HK = 1, S = 2, D = 576, DV = 512,
                             latent = true, causal = true, k_scale = 0.4, groups = {v_scale = 1},
                             lengths = {1, 50}, capacity = 64}) == true)
  -- A new token is quantised: scales of its parts, and the last columns as they are.
  assert(try(LATENT_NARROW, {dtype = bf16, kv = f8e4m3, H = 16, HK = 1, D = 576, DV = 512,
                             rope = 64, latent = true, page = 16, new = 2, is_shared = true,
                             groups = {k_scale = 4}, lengths = {97, 0}}) == true)
end
print(try(PLAIN, {dtype = f32, kv = f8e4m3, H = 2, HK = 1, D = 40, DV = 24, rope = 8, page = 7,
                  new = 3, groups = {k_scale = 4, v_scale = 3}, lengths = {9, 20}}))   -- expect: true

if not on_gpu or device().sm == 90 then
  assert(try(PAIRS, {dtype = bf16, H = 70, HK = 1, D = 576, DV = 512, latent = true,
                     page = 64, lengths = {300, 3, 0, 200}, parts = {1, 5}}) == true)
  assert(try(LATENT_HOPPER, {dtype = f16, H = 9, HK = 1, S = 2, D = 576, DV = 512, latent = true,
                             causal = true, lazy = true, lengths = {1, 150}, capacity = 170,
                             parts = {1, 3}}) == true)
  assert(try(HOPPER_ROWS, {dtype = bf16, H = 70, HK = 1, D = 576, DV = 512, latent = true,
                           page = 1, lengths = {200, 3, 0, 130}, parts = {1, 5}}) == true)
  assert(try(HOPPER_ROWS, {dtype = f16, H = 9, HK = 1, S = 2, D = 576, DV = 512, latent = true,
                           new = 2, causal = true, lazy = true, page = 7, lengths = {1, 150},
                           parts = {3}}) == true)
  for _, page in ipairs{64, false} do
    assert(try(HOPPER_NARROW, {dtype = bf16, kv = f8e4m3, H = 20, HK = 1, D = 576, DV = 512,
                               rope = 64, latent = true, page = page, groups = {k_scale = 4},
                               is_shared = true, lengths = {200, 3, 0}, parts = {1, 5}}) == true)
  end
  assert(try(HOPPER_NARROW, {dtype = f16, kv = f8e4m3, H = 3, HK = 1, S = 2, D = 576, DV = 512,
                             rope = 64, latent = true, causal = true, lazy = true, new = 1,
                             groups = {k_scale = 4}, is_shared = true,
                             lengths = {1, 150}, parts = {3}}) == true)
  -- A query sees chosen tokens only: pages of one key. What follows them is not read.
  local chosen = {9, 3, 77, 12, 40, -1, -1, -1}
  local K, Q = randn(bf16, row_major{90, 1, 1, 576}), randn(bf16, row_major{1, 20, 576})
  local V = view(K, layout({90, 1, 1, 512}, {576, 0, 0, 1}))
  local O = attention_decode(Q, K, V, {block_table = view(from_table(i32, chosen), row_major{1, 8}),
    cache_seqlens = from_table(i32, {5}), config = HOPPER_ROWS})
  local own = zeros(bf16, row_major{1, 1, 5, 576})
  for i = 0, 4 do copy(K(chosen[i + 1], 0, 0, _), own(0, 0, i, _)) end
  assert(distance(O, reference.attention_decode(Q, own, view(own,
    layout({1, 1, 5, 512}, {0, 0, 576, 1})))) < 1.6e-2)
end

-- Holes in lists of chosen tokens are left out.
do
  local list = {-1, 9, 3, -7, -1, 77, 12, 5, -1, -1, -1, -1, -1, -1, -1, 40, 1, -1, -1, -1, 2}
  local n = {7, 5, 6}
  local function try_holes(config, dtype, H, D, kv, scale)
    local Q, K = randn(dtype, row_major{3, H, D}), random(kv or dtype, {80, 1, 1, D})
    local V = D == 576 and view(K, layout({80, 1, 1, 512}, {576, 0, 0, 1})) or K
    local options = {block_table = view(from_table(i32, list), row_major{3, 7}), lse = true,
                     cache_seqlens = from_table(i32, n), holes = true, k_scale = scale,
                     v_scale = scale, sinks = D == 32 and {0.5, -0.5} or nil}
    local R, RL = reference.attention_decode(Q, K, V, options)
    options.config = config
    local _, _, O, L, steps = decode.prepare(Q, K, V, options)
    run(steps)
    assert(distance(O, R) < 1.6e-2 and distance(L, RL) < 1e-4, config)
  end
  try_holes(PLAIN, f32, 2, 32)
  if not on_gpu or device().sm >= 89 then
    try_holes(MMA, bf16, 2, 32)
    try_holes(LATENT_NARROW, f16, 9, 576, i8, 1 / 50)
  end
  if not on_gpu or device().sm == 90 then try_holes(HOPPER_ROWS, bf16, 20, 576) end
end

-- Under "batch_invariant" a sequence's bits do not depend on the others, nor on the parts.
local function bits_of(O, b)
  return table.concat(recast(O:to "cpu"(b, 0, _), u32):totable(), " ")
end
local Q, K = randn(f32, row_major{3, 1, 16}), randn(f32, row_major{3, 1, 1300, 16})
local function alone(b, n, bits)
  return attention_decode(view(Q(b, 0, _), row_major{1, 1, 16}),
    view(K(b, 0, _, _), row_major{1, 1, 1300, 16}), view(K(b, 0, _, _), row_major{1, 1, 1300, 16}),
    {cache_seqlens = from_table(i32, {n}), bits = bits})
end
local lengths = from_table(i32, {1300, 40, 1111})
local all = attention_decode(Q, K, K, {cache_seqlens = lengths, bits = "batch_invariant"})
for b, n in ipairs{1300, 40, 1111} do
  assert(bits_of(all, b - 1) == bits_of(alone(b - 1, n, "batch_invariant"), 0), n)
end
-- Else they do, where parts are not the least ones, as on a GPU.
all = attention_decode(Q, K, K, {cache_seqlens = lengths})
print(device().sm ~= nil or bits_of(all, 0) ~= bits_of(alone(0, 1300), 0))             -- expect: true

-- Lengths are read on the device: a prepared launch sees new ones. More than there is room for
-- counts as all, and less than none as none.
local out = zeros(f32, row_major{3, 1, 16})
local launch = decode.prepare(Q, K, K, {cache_seqlens = lengths, out = out})
copy(from_table(i32, {9, 5000, -3}), lengths)
launch()
local want = reference.attention_decode(Q, K, K, {cache_seqlens = from_table(i32, {9, 1300, 0})})
print(distance(out, want) < 2e-5)                                                       -- expect: true

-- What is appended is in the cache; a page's row that no length reaches stays.
local cache = zeros(f32, row_major{1, 1, 4, 2})
local one = ones(f32, row_major{1, 1, 1, 2})
attention_decode(ones(f32, row_major{1, 1, 2}), cache, zeros(f32, cache.layout), {
  k = one, v = one, cache_seqlens = from_table(i32, {2})})
print(table.concat(flat(cache), " "))                        -- expect: 0.0 0.0 0.0 0.0 1.0 1.0 0.0 0.0

-- With scales of parts, a new key gets its own: a part's largest element becomes 448.
do
  local keys, scales = zeros(f8e4m3, row_major{1, 1, 3, 4}), zeros(f32, row_major{1, 1, 3, 2})
  local rope, new = zeros(f32, row_major{1, 1, 3, 2}), {0.5, -3.0, 8.0, 0.1, 9.0, 10.0}
  attention_decode(ones(f32, row_major{1, 1, 6}), keys, keys, {k_rope = rope, k_scale = scales,
    v_scale = scales, k = view(from_table(f32, new), row_major{1, 1, 1, 6}),
    cache_seqlens = from_table(i32, {1})})
  local own, by = flat(scales), full(f32, {2}, 0.0):to "cpu"
  by[0], by[1] = 3 / 448, 8 / 448
  print(table.concat(flat(keys), " ", 5, 8), table.concat(flat(rope), " "),
    own[3] == by[0] and own[4] == by[1] and own[5] == 0.0)
end
-- expect: 72.0 -448.0 448.0 5.5	0.0 0.0 9.0 10.0 0.0 0.0	true

-- New keys without room are left out, by the reference too; a result without elements shares none.
do
  local q, old = randn(f32, row_major{2, 1, 4}), randn(f32, row_major{2, 1, 4, 4})
  local options = {k = randn(f32, row_major{2, 1, 2, 4}), v = randn(f32, row_major{2, 1, 2, 4}),
    cache_seqlens = from_table(i32, {4, 3})}
  local expected = reference.attention_decode(q, old, old, options)
  local k, v = zeros(f32, old.layout), zeros(f32, old.layout)
  copy(old, k)
  copy(old, v)
  print(distance(attention_decode(q, k, v, options), expected) < 2e-5)                  -- expect: true
  print(attention_decode(q, old, zeros(f32, row_major{2, 1, 4, 0})).shape)              -- expect: (2,1,0)
end

local function message(...)
  print((select(2, pcall(attention_decode, ...)):gsub("^[^ ]+: ", "")
    :gsub(", on [^,;]*;", ", on it;")))
end
message(Q, K)
-- expect: attention_decode: V is of type nil; a tensor (B,Hk,S,D) was expected
message(Q, K, K, {cache_seqlens = from_table(i32, {1, 2})})
-- expect: attention_decode: cache_seqlens is 2; expected (3)
message(Q, K, K, {block_table = view(from_table(i32, {1, 2, 3}), row_major{3, 1})})
-- expect: attention_decode: cache_seqlens is missing; a block_table needs the keys that each sequence has
message(Q, K, zeros(f32, K.layout), {k = K, cache_seqlens = lengths})
-- expect: attention_decode: v is missing; keys and values are appended together, but where V is columns of K only k
message(Q, K, K, {lazy = 1})
-- expect: attention_decode: lazy is 1; true or false was expected
message(Q, K, K, {holes = true})
-- expect: attention_decode: holes are numbers of pages of one key, (pages,Hk,1,D), but K is (3,1,1300,16) without a block_table
message(Q, randn(f32, row_major{9, 1, 1, 16}), randn(f32, row_major{9, 1, 1, 16}), {holes = true,
  window = {3, 0}, block_table = zeros(i32, row_major{3, 4}), cache_seqlens = lengths})
-- expect: attention_decode: window goes by the places of keys, which a list with holes does not have; leave out window or holes
message(Q, K, K, {bits = "same"})
-- expect: attention_decode: bits is same; expected "batch_invariant"
message(Q, K, K, {causal = true, tree_mask = zeros(u8, row_major{3, 1, 1})})
-- expect: attention_decode: causal = true and tree_mask both say which queries see which; leave out one
message(Q, K, K, {config = "mma 4 warps"})
-- expect: attention_decode: configuration 'mma 4 warps' is not for this problem: f32, K f32, D = 16, on it; its kernel computes bf16 and f16
message(Q, randn(f32, row_major{2, 1, 5, 16}), K)
-- expect: attention_decode: V is (3,1,1300,16); expected (2,1,5) and a depth, as K is (2,1,5,16)
message(zeros(f32, row_major{3, 1, 0}), zeros(f32, row_major{3, 1, 4, 0}), K)
-- expect: attention_decode: Q is (3,1,0); the last mode, the depth D of a head, must be at least 1
message(Q, K, K, {k_rope = K})
-- expect: attention_decode: Q is (3,1,16), but K (3,1,1300,16) and k_rope (3,1,1300,16) have 32 columns; expected as many as Q has
message(Q, K, K, {k_rope = zeros(bf16, row_major{3, 1, 1300, 4})})
-- expect: attention_decode: k_rope is bf16; expected f32
message(Q, K, K, {k_rope = zeros(f32, row_major{3, 1, 1, 4})})
-- expect: attention_decode: k_rope is (3,1,1,4); expected (3,1,1300) and a depth, as K is (3,1,1300,16)
message(Q, K, K, {k_scale = -0.5})
-- expect: attention_decode: k_scale is -0.5; expected a positive number
message(Q, K, K, {v_scale = zeros(f32, row_major{3, 1, 1300, 5})})
-- expect: attention_decode: v_scale is (3,1,1300,5); its last mode must divide the depth of V, 16
message(Q, K, K, {k_scale = zeros(f32, row_major{3, 1, 13, 4})})
-- expect: attention_decode: k_scale is (3,1,13,4); expected (3,1,1300) and parts of a row, as K is (3,1,1300,16)
do
  local k, scales = zeros(f8e4m3, row_major{3, 1, 4, 512}), ones(f32, row_major{3, 1, 4, 4})
  message(zeros(bf16, row_major{3, 1, 576}), k, k, {config = HOPPER_NARROW, k_scale = scales,
    v_scale = ones(f32, scales.layout), k_rope = zeros(bf16, row_major{3, 1, 4, 64})})
end
-- expect: attention_decode: configuration 'latent hopper, 8 bits' is not for this problem: bf16, K f8e4m3, D = 576, on it; its kernel takes one tensor of 4 scales of each key, as k_scale and v_scale
message(Q, K, K, {out = Q})
-- expect: attention_decode: out shares memory with Q; give out memory of its own
do
  local q, k = zeros(bf16, row_major{1, 128 + 8, 576}), zeros(bf16, row_major{1, 1, 8, 576})
  message(q, k, view(k, layout({1, 1, 8, 512}, {0, 0, 576, 1})), {config = PAIRS})
end
-- expect: attention_decode: configuration 'latent hopper, pairs' is not for this problem: bf16, K bf16, D = 576, on it; each 2 of its blocks share keys, for a tile of 64 queries each, but 136 queries are 3 tiles
