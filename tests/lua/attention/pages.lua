-- attention of packed queries to keys and values in pages, against reference.attention, with the
-- kernels under check: sizes of pages, chunks of long sequences, masks, 8 bits. What follows a
-- sequence's last key in its pages may be NaN.
local prepare <const> = require "cuttle.attention".prepare
local on_gpu <const> = device().sm ~= nil
manual_seed(1)
math.randomseed(1)

local starts <const>, lengths <const> = {0, 70, 70, 75, 200}, {130, 0, 33, 125}
local B <const>, H <const>, HK <const>, ROOM <const> = 4, 2, 1, 140

local function random(dtype, shape)
  local t = randn(f32, row_major(shape)):to "cpu"
  return view(reference.cast(view(t, layout{size(t)}), dtype):to "cpu", row_major(shape))
end

-- A table of different pages of a pool, and the pool's size.
local function pages_of(width)
  local n, list = B * width + 3, {}
  for i = 1, n do list[i] = i - 1 end
  for i = n, 2, -1 do
    local j = math.random(i)
    list[i], list[j] = list[j], list[i]
  end
  local pages = from_table(i32, table.move(list, 1, B * width, 1, {})):to "cpu"
  return view(pages, row_major{B, width}), n
end

-- Rows of V that no sequence has become NaN.
local function spoil(V, pages, page)
  for b = 0, B - 1 do
    for k = lengths[b + 1], size(pages, 1) * page - 1 do
      fill(V(pages[{b, k // page}], 0, k % page, _), 0 / 0)
    end
  end
end

local function here(x) return type(x) == "userdata" and on_gpu and x:to "cuda" or x end

local function try(config, dtype, depth, page, options, depth_v)
  local pages, n = pages_of(cdiv(ROOM, page))
  local Q, K = random(dtype, {H, 200, depth}), random(dtype, {n, HK, page, depth})
  local V = random(dtype, {n, HK, page, depth_v or depth})
  local all = {block_table = pages, cache_seqlens = lengths, cu_seqlens_q = starts, lse = true}
  for key, value in pairs(options) do all[key] = value end
  local R, RL = reference.attention(Q, K, V, all)
  if dtype.bits > 8 then spoil(V, pages, page) end
  all.config, all.block_table = config, here(pages)
  local _, _, O, LSE, step = prepare(here(Q), here(K), here(V), all)
  step.launch.check = not on_gpu
  step.kernel(step.launch)(table.unpack(step.args))
  local limit = dtype == f32 and 2e-5 or dtype == f8e4m3 and 0.1 or 2e-2
  assert(allclose(O:to "cpu", R, {atol = limit}) and allclose(LSE:to "cpu", RL, {atol = 1e-3}),
    ("%s, pages of %d"):format(config, page))
end

local function thirds(q, k) return (q + k) % 3 ~= 1 end

try("plain", f32, 40, 7, {causal = true}, 24)
try("plain", bf16, 16, 16, {window = {30, 0}})
if not on_gpu or device().sm == 90 then
  try("hopper 192x80", bf16, 128, 16, {causal = true})
  try("hopper 192x80", bf16, 96, 8, {})
  try("hopper 192x128", f16, 64, 32, {causal = true, softcap = 3.0, sinks = {0.5, -0.5}})
  try("hopper 192x128", f16, 64, 256, {mask = thirds})
  try("hopper 128x128, f8", f8e4m3, 128, 16, {causal = true, k_scale = 0.5})
end
if not on_gpu or device().sm >= 80 then
  try("mma 64x64", bf16, 64, 16, {causal = true})
  try("mma 128x48", f16, 64, 1, {window = {20, 3}})
  try("mma 64x64", bf16, 64, 7, {mask = thirds})
end
print "agree"                                                                     -- expect: agree

-- On an H200, larger pages come in larger boxes with 128 keys of a block than with 80.
local on_device <const> = require "cuttle.operator_device"
local target_here <const> = on_device.target
on_device.target = function() return {name = "H200", sm = 90, n_sms = 132, shared = 232448} end
for _, page in ipairs{16, 64} do
  local Q, K = zeros(bf16, row_major{2, 64, 128}), zeros(bf16, row_major{8, 1, page, 128})
  print((select(2, prepare(Q, K, K, {cu_seqlens_q = {0, 64}, cache_seqlens = {64},
    block_table = here(view(arange(i32, 8):to "cpu", row_major{1, 8}))}))))
end
on_device.target = target_here
-- expect: hopper 192x80
-- expect: hopper 128x128

local Q, K = zeros(f32, row_major{1, 8, 16}), zeros(f32, row_major{9, 1, 4, 16})
local function message(options, q, k)
  local all = {block_table = zeros(i32, row_major{2, 3}), cu_seqlens_q = {0, 5, 8},
               cache_seqlens = {5, 12}}
  for name, x in pairs(options) do all[name] = x or nil end
  print((select(2, pcall(attention, q or Q, k or K, k or K, all)):gsub("^[^ ]+: ", "")
    :gsub(", on [^,;]*;", ", on it;")))
end
message{cache_seqlens = {5, 13}}
-- expect: attention: entry 1 of cache_seqlens is 13; expected 0 to 12, the keys of a sequence's pages
message{cache_seqlens = {5}}
-- expect: attention: cu_seqlens_q has 3 entries, cache_seqlens 1 and block_table is (2,3); expected as many sequences
message{cache_seqlens = false}
-- expect: attention: cache_seqlens is missing; a block_table needs it
message{cu_seqlens_k = {0, 5, 8}}
-- expect: attention: cu_seqlens_k is of keys that lie one after the other; of pages, cache_seqlens has the lengths
message{block_table = false}
-- expect: attention: block_table is missing; cache_seqlens is of sequences in pages
message{block_table = zeros(u8, row_major{2, 3})}
-- expect: attention: block_table is u8; expected i32
message({}, zeros(f32, row_major{1, 1, 8, 16}))
-- expect: attention: Q is (1,1,8,16):(0,0,16,1); expected 3 modes, (H,S,D)
message({config = "hopper 192x80"}, zeros(bf16, row_major{1, 8, 64}),
  zeros(bf16, row_major{9, 1, 4, 64}))
-- expect: attention: configuration 'hopper 192x80' is not for this problem: bf16, D = 64, on it; its kernel takes pages of multiples of 8 keys
message({config = "mma 64x64"}, zeros(bf16, row_major{1, 8, 40}),
  zeros(bf16, row_major{9, 1, 4, 40}))
-- expect: attention: configuration 'mma 64x64' is not for this problem: bf16, D = 40, on it; its kernel takes pages of rows of 64 and 64 columns
