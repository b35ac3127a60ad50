-- A block with more threads than a tiled copy or MMA: get_slice(threadIdx.x) is refused where a thread too many
-- comes to it for certain, and works where a condition keeps these away.
local copier = tiled_copy(atom("UniversalCopy<u32>", f32), layout{128}, layout{1})
local mma = tiled_mma("UniversalFMA<f32>", {16, 8})

local function attempt(block, f)
  local x, y = rand(f32, 128), zeros(f32, 128)
  local k = kernel("k", function(from, to, n) f(from, to, n) end, {static_shapes = true})
  local ok, message = pcall(function() k{grid = 1, block = block}(x, y, 1) end)
  print(ok and (allclose(x, y) and "right" or "wrong") or (message:gsub("^[^ ]*:%d+: ", "")))
end
local function work(from, to)
  local thr = copier:get_slice(threadIdx.x)
  copy(thr:partition_S(from), thr:partition_D(to))
end

attempt(128, work) -- expect: right
attempt(256, work)
-- expect: get_slice: 128 threads share the work, but threads 128 to 255 of the block get here, too; launch it with block = 128, or let others not get here: 'if threadIdx.x < 128 then'
attempt(129, work)
-- expect: get_slice: 128 threads share the work, but thread 128 of the block gets here, too; launch it with block = 128, or let others not get here: 'if threadIdx.x < 128 then'
attempt(64, work)
-- expect: get_slice: 128 threads share the work, but a block has 64 of them; launch it with block = 128

-- Conditions on the thread number.
attempt(256, function(from, to) -- expect: right
  if threadIdx.x < 128 then work(from, to) end
end)
attempt(256, function(from, to) -- expect: right
  if threadIdx.x >= 128 then
    sync_warp()
  else
    work(from, to)
  end
end)
attempt(256, function(from, to) -- expect: right
  if threadIdx.x >= 128 then return end
  work(from, to)
end)
attempt(256, function(from, to, n) -- expect: right
  if n > 0 and threadIdx.x <= 127 then work(from, to) end
end)
attempt(256, function(from, to) -- expect: right
  if threadIdx.x // 32 < 4 then work(from, to) end
end)
attempt(256, function(from, to)
  if threadIdx.x < 200 then work(from, to) end
end)
-- expect: get_slice: 128 threads share the work, but threads 128 to 199 of the block get here, too; launch it with block = 128, or let others not get here: 'if threadIdx.x < 128 then'
attempt(256, function(from, to, n)
  if n > 0 and threadIdx.x ~= 255 then work(from, to) end
end)
-- expect: get_slice: 128 threads share the work, but threads 128 to 254 of the block get here, too; launch it with block = 128, or let others not get here: 'if threadIdx.x < 128 then'
attempt(256, function(from, to)
  if not (threadIdx.x >= 64 or threadIdx.x > 300) then work(from, to) end
end) -- expect: wrong

-- Other indices: the script's own.
attempt(256, function(from, to) -- expect: right
  local thr = copier:get_slice(threadIdx.x % 128)
  copy(thr:partition_S(from), thr:partition_D(to))
end)

-- Of a product.
local product = kernel("product", function(A, C)
  local thr = mma:get_slice(threadIdx.x)
  local tA, tC = thr:partition_A(A), thr:partition_C(C)
  local sums = thr:fragment_C(tC)
  clear(sums)
  gemm(mma, tA, thr:partition_B(view(A, layout({8, 4}, {1, 16}))), sums)
  copy(sums, tC)
end, {static_shapes = true})
print((select(2, pcall(function()
  product{grid = 1, block = 160}(rand(f32, {16, 4}), zeros(f32, {16, 8}))
end)):gsub("^[^ ]*:%d+: ", "")))
-- expect: get_slice: 128 threads share the work, but threads 128 to 159 of the block get here, too; launch it with block = 128, or let others not get here: 'if threadIdx.x < 128 then'
