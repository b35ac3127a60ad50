-- Masks and scores of attention_decode against reference.attention_decode, with the kernels under
-- check: windows, sinks, soft-cap, ALiBi, a bias, functions of the script; with pages, several
-- queries, a tree, keys and values of 8 bits, latent ones, and heads in several parts. Scales of
-- each key, too. An argument N: every N-th latent problem.
local decode <const> = require "cuttle.attention_decode"
local on_gpu <const> = device().sm ~= nil
manual_seed(1)

local function distance(a, b)
  local worst, y = 0, view(b:to "cpu", layout{size(b)}):totable()
  for i, x in ipairs(view(a:to "cpu", layout{size(a)}):totable()) do
    local d = x == y[i] and 0 or math.abs(x - y[i])
    worst = d <= worst and worst or d
  end
  return worst
end

local function random(dtype, shape)
  local t = reference.cast(randn(f32, size(row_major(shape))):to "cpu", dtype)
  return view(on_gpu and t:to "cuda" or t, row_major(shape))
end

local function with_parts(name, parts)
  local row = {parts = parts}
  for _, known in ipairs(decode.configs) do
    for key, value in pairs(known.name == name and known or {}) do row[key] = value end
  end
  return row
end

-- How far O and LSE are from the reference, each kernel run under check.
local function distances(Q, K, V, options, config)
  local R, RL = reference.attention_decode(Q, K, V, options)
  options.config = config
  local _, _, O, LSE, steps = decode.prepare(Q, K, V, options)
  for _, step in ipairs(steps) do
    step.launch.check = not on_gpu
    step.kernel(step.launch)(table.unpack(step.args, 1, step.args.n))
  end
  return distance(O, R), distance(LSE, RL)
end

local H <const>, HK <const>, ROOM <const>, PAGE <const> = 4, 2, 96, 16
local lengths <const> = {90, 0, 33, 1}
local B <const> = #lengths

-- A scale for each key of K or V.
local function scales_of(K)
  return rand(f32, row_major{size(K, 0), size(K, 1), size(K, 2)}, 0.01, 0.05)
end

-- c: S, D, kv, page, parts, by_token: scales of each key, new: keys to append, and the options.
local function try(name, c)
  local S, D, dtype = c.S or 1, c.D or 32, name == "plain" and f32 or bf16
  local Q, n = random(dtype, {B, H, S, D}), c.page and B * ROOM // PAGE or B
  local K = random(c.kv or dtype, {n, HK, c.page and PAGE or ROOM, D})
  local V = random(c.kv or dtype, {n, HK, c.page and PAGE or ROOM, D})
  local options = {cache_seqlens = from_table(i32, lengths), lse = true}
  for key, value in pairs(c.options) do options[key] = value end
  if c.by_token then options.k_scale, options.v_scale = scales_of(K), scales_of(V) end
  if c.new then
    local shape = row_major{B, HK, c.new, D}
    options.k, options.v = randn(dtype, shape), randn(dtype, shape)
  end
  if c.page then options.block_table = view(arange(i32, n), row_major{B, ROOM // PAGE}) end
  local off, off_lse = distances(Q, K, V, options, with_parts(name, c.parts or 1))
  assert(off < (dtype == f32 and 2e-5 or 2e-2) and off_lse < 1e-4,
    ("%s: O %g, LSE %g"):format(name, off, off_lse))
end

local sinks <const>, slopes <const> = {0.5, -0.5, 1.0, 2.0}, {0.5, 0.25, 0.125, 0.1}
local function every_third(_, k) return k % 3 ~= 1 end
local function from_list(s, q, k, h, _, t) return s + t[(q + k + h) % 7] end

local cases <const> = {
  {S = 1, parts = 5, options = {window = {20, -1}, sinks = sinks}},
  {S = 3, page = true, options = {window = {20, 0}, causal = true, sinks = sinks}},
  {S = 2, parts = 3, options = {softcap = 2.0, alibi = slopes, window = {40, -1}}},
  {S = 2, options = {score = from_list, mask = every_third, operands = {randn(f32, 7)}}},
  {S = 1, parts = 2, options = {bias = randn(f32, row_major{H, 1, ROOM}),
                                bits = "batch_invariant", window = {50, 3}}},
}
for _, name in ipairs{"plain", "mma 4 warps"} do
  if not on_gpu or name == "plain" or device().sm >= 80 then
    for _, c in ipairs(cases) do try(name, c) end
  end
end
local tree_list <const> = {}
for i = 1, B * 9 do tree_list[i] = i % 4 == 0 and 0 or 1 end
local function tree() return view(from_table(u8, tree_list), row_major{B, 3, 3}) end
if not on_gpu or device().sm >= 89 then
  try("mma 8 bits", {S = 3, kv = f8e4m3, page = true, parts = 4, options = {
    tree_mask = tree(), softcap = 20.0,
    window = {30, -1}, sinks = sinks, k_scale = 0.5, v_scale = 2.0}})
end
for _, c in ipairs{{kv = f8e4m3, page = true, new = 2, S = 2, options = {causal = true}},
                   {kv = i8, parts = 3, options = {window = {40, 0}}}} do
  c.by_token = true
  try("plain", c)
  if not on_gpu or device().sm >= 89 then try("mma 8 bits", c) end
end
print "agree"                                                                     -- expect: agree

-- Latent ones: rows of 576 columns, of which values are the first 512. c: name, heads, kv, page,
-- rope: keys have 4 scales, S, parts, and the options.
local n_latent, every <const> = 0, tonumber(arg and arg[1]) or 1
local function try_latent(c)
  n_latent = n_latent + 1
  if n_latent % every ~= 1 % every then return end
  local n, rows = c.page and B * cdiv(ROOM, c.page) or B, c.page or ROOM
  local depth = c.rope and 512 or 576
  local Q = random(bf16, {B, c.heads, c.S or 1, 576})
  local K = random(c.kv or bf16, {n, 1, rows, depth})
  local V = view(K, layout({n, 1, rows, 512}, {rows * depth, 0, depth, 1}))
  local options = {cache_seqlens = from_table(i32, lengths), lse = true}
  for key, value in pairs(c.options) do options[key] = value end
  if c.page then options.block_table = view(arange(i32, n), row_major{B, n // B}) end
  if c.rope then
    options.k_rope = randn(bf16, row_major{n, 1, rows, 64})
    options.k_scale = rand(f32, row_major{n, 1, rows, 4}, 0.5, 1.0)
    options.v_scale = options.k_scale
  end
  local off, off_lse = distances(Q, K, V, options, with_parts(c.name, c.parts or 1))
  assert(off < 2e-2 and off_lse < (c.rope and 2e-3 or 1e-4),
    ("%s: O %g, LSE %g"):format(c.name, off, off_lse))
end

local function per_head(n, f)
  local list = {}
  for i = 1, n do list[i] = f(i) end
  return list
end
local function sinks_of(n) return per_head(n, function(i) return i % 5 - 2.0 end) end
local function slopes_of(n) return per_head(n, function(i) return 1 / (i + 1) end) end

if not on_gpu or device().sm >= 80 then
  try_latent{name = "latent 64 keys", heads = 9, page = 16, parts = 3,
             options = {window = {40, -1}, sinks = sinks_of(9), softcap = 3.0}}
  try_latent{name = "latent 32 keys", heads = 4, S = 2, parts = 2,
             options = {score = from_list, mask = every_third, operands = {randn(f32, 7)}}}
end
if not on_gpu or device().sm >= 80 then
  try_latent{name = "latent 64 keys", heads = 3, S = 3, options = {tree_mask = tree()}}
end
if not on_gpu or device().sm >= 89 then
  try_latent{name = "latent 8 bits", heads = 5, kv = f8e4m3, rope = true, page = 32,
             options = {window = {70, 0}, causal = true, sinks = sinks_of(5), alibi = slopes_of(5)}}
end
if not on_gpu or device().sm == 90 then
  try_latent{name = "latent hopper", heads = 9, S = 2, parts = 3,
             options = {causal = true, window = {20, 0}, sinks = sinks_of(9), lazy = true}}
  try_latent{name = "latent hopper, pairs", heads = 70, page = 64, parts = 2,
             options = {softcap = 3.0, mask = every_third, sinks = sinks_of(70)}}
  try_latent{name = "latent hopper", heads = 7, S = 3, parts = 2, options = {tree_mask = tree()}}
  try_latent{name = "latent hopper, 8 bits", heads = 4, S = 3, kv = f8e4m3, rope = true,
             options = {tree_mask = tree(), sinks = sinks_of(4), softcap = 20.0}}
  try_latent{name = "latent hopper, rows", heads = 5, S = 2, page = 7,
             options = {score = from_list, operands = {randn(f32, 7)}, window = {-1, 0}}}
  try_latent{name = "latent hopper, 8 bits", heads = 6, kv = f8e4m3, rope = true, page = 64,
             options = {bias = randn(f32, row_major{6, 1, ROOM + 32}), sinks = sinks_of(6)}}
end
print "latent ones agree"                                             -- expect: latent ones agree

-- Tiles of keys before the window are not read.
local K, V = randn(f32, row_major{1, 1, 300, 8}), randn(f32, row_major{1, 1, 300, 8})
for _, t in ipairs{K, V} do fill(view(t, layout{224 * 8}), 0 / 0) end
local one = {cache_seqlens = from_table(i32, {300}), window = {70, -1}}
local O = attention_decode(randn(f32, row_major{1, 1, 8}), K, V, one)
print(distance(O, O) == 0)                                                        -- expect: true

local function message(options)
  options.cache_seqlens = one.cache_seqlens
  print((select(2, pcall(attention_decode, ones(f32, row_major{1, 1, 8}), K, V, options))
    :gsub("^[^ ]+: ", ""):gsub(", on [^,;]*;", ", on it;")))
end
message{softcap = -1}
-- expect: attention_decode: softcap is -1; expected a positive number
message{dropout = 0.5}
-- expect: attention_decode: option 'dropout' is unknown; expected alibi, bias, bits, block_table, cache_seqlens, causal, config, holes, k, k_rope, k_scale, lazy, lse, mask, operands, out, scale, score, sinks, softcap, stream, tree_mask, v, v_scale or window
do
  local k, scales = zeros(f8e4m3, row_major{1, 1, 4, 576}), ones(f32, row_major{1, 1, 4})
  print((select(2, pcall(attention_decode, zeros(bf16, row_major{1, 1, 576}), k,
    view(k, layout({1, 1, 4, 512}, {0, 0, 576, 1})),
    {config = "latent 8 bits", k_scale = scales, v_scale = scales})):match "; (.*)"))
end
-- expect: its kernel computes no scales of each key
message{k_scale = ones(f32, row_major{1, 1, 300})}
-- expect: attention_decode: k_scale has a scale for each key, and v_scale has not; expected both or none
message{k_scale = ones(f32, row_major{1, 1, 3}), v_scale = ones(f32, row_major{1, 1, 300})}
-- expect: attention_decode: k_scale is (1,1,3); expected (1,1,300), one scale for each key, as K has (1,1,300,8)
