-- attention_decode in a graph, which reads lengths anew at each launch, and under
-- `check --schedules`, which finds nothing in it; and which configurations an H200 gets.
local shell = dofile "tests/support/shell.lua"
local Q, K = randn(f32, row_major{3, 4, 16}), randn(f32, row_major{3, 2, 400, 16})
local lengths, out = from_table(i32, {400, 1, 90}), zeros(f32, row_major{3, 4, 16})
local step = graph(function()
  attention_decode(Q, K, K, {cache_seqlens = lengths, out = out})
end)
for _, now in ipairs{{400, 1, 90}, {0, 400, 33}, {1, 2, 3}} do
  copy(from_table(i32, now), lengths)
  step()
  local want = reference.attention_decode(Q, K, K, {cache_seqlens = from_table(i32, now)})
  print(allclose(out, want, {atol = 1e-5}))
end
-- expect: true
-- expect: true
-- expect: true

local path = shell.file [[
local Q, K = randn(bf16, row_major{2, 4, 32}), randn(bf16, row_major{2, 2, 100, 32})
local new = randn(bf16, row_major{2, 2, 1, 32})
for _, config in ipairs{"mma 4 warps", "plain"} do
  attention_decode(Q, K, K, {cache_seqlens = from_table(i32, {98, 37}), config = config, k = new,
    v = new})
end
local K = randn(bf16, row_major{2, 1, 70, 576})
local V = view(K, layout({2, 1, 70, 512}, {70 * 576, 0, 576, 1}))
attention_decode(randn(bf16, row_major{2, 128, 576}), K, V,
  {cache_seqlens = from_table(i32, {70, 40}), config = "latent hopper, pairs"})
local narrow = view(reference.cast(randn(f32, 70 * 512), f8e4m3), row_major{1, 1, 70, 512})
local scales = ones(f32, row_major{1, 1, 70, 4})
attention_decode(randn(bf16, row_major{1, 8, 576}), narrow, narrow, {k_scale = scales,
  v_scale = scales, k_rope = randn(bf16, row_major{1, 1, 70, 64}),
  config = "latent hopper, 8 bits"})
]]
local pipe = assert(io.popen(("CUTTLE_DEVICE=cpu '%s' check --schedules %s 2>&1 </dev/null")
  :format(arg[-1], path)))
local last
for line in pipe:lines() do last = line end
pipe:close()
os.remove(path)
print(last)
-- expect: check: no finding in 10 launches

path = shell.file [[
local decode = require "cuttle.attention_decode"
for _, c in ipairs{{bf16, 128, 4}, {bf16, 192, 4}, {bf16, 256, 16}, {i8, 128, 16}, {i8, 192, 4},
                   {f8e4m3, 256, 8}, {f8e4m3, 256, 16}} do
  local Q = zeros(bf16, row_major{1, 2 * c[3], c[2]})
  local K = zeros(c[1], row_major{1, 2, 64, c[2]})
  print("chosen", c[1], c[2], c[3], (select(2, decode.prepare(Q, K, K))))
end
]]
local text = shell.cuttle("emit --sm=90a " .. path)
os.remove(path)
for line in text:gmatch "chosen\t([^\n]*)" do print(line) end
-- expect: bf16	128	4	mma 8 warps
-- expect: bf16	192	4	mma 4 warps
-- expect: bf16	256	16	mma 6 warps
-- expect: i8	128	16	mma 8 bits
-- expect: i8	192	4	mma 8 bits, D 192
-- expect: f8e4m3	256	8	mma 8 bits
-- expect: f8e4m3	256	16	mma 8 bits, 6 warps
