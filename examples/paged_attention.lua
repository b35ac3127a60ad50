-- paged_attention.lua: one step of decoding, like vLLM's paged attention v2. Keys and values are in
-- pages of a pool; a table lists the pages of each sequence. Sequences differ in length and are cut
-- into parts, so that long ones fill the GPU: a block attends to one part, for one head of one
-- sequence. A second kernel combines the parts. Query heads share heads of the pool (GQA), and far
-- tokens weigh less (ALiBi). Only the sizes of a head and of a page are constants of the kernels,
-- through static_mode at the launch. Usage: cuttle paged_attention.lua [HEAD_SIZE]
local on_gpu = device().sm ~= nil
local n_warps, part_size = 4, on_gpu and 512 or 64
local n_heads, n_kv_heads = on_gpu and 32 or 6, on_gpu and 8 or 2
local page_size, n_pages = 16, on_gpu and 2048 or 64
local n_seqs, longest = on_gpu and 32 or 4, on_gpu and 4000 or 200

-- Softmax of two parts: the largest logit, and the sum of exp(logit - largest).
local function merge(m, sum, m2, sum2)
  local most = max(m, m2)
  return most, sum * exp(m - most) + sum2 * exp(m2 - most)
end

local attend = kernel("paged_attention", function(q, K, V, pages, lengths, slopes, scale,
                                                  parts, maxima, sums)
  local head, seq, part = blockIdx.x, blockIdx.y, blockIdx.z
  local size_of_head, size_of_page = size(q, 2), size(K, 2)
  local length, first = lengths[seq], part * part_size
  if first >= length then return end
  local lane, warp = threadIdx.x % 32, threadIdx.x // 32
  local n = cdiv(size_of_head, 32)                          -- numbers of a row for each lane
  local kv_head = head // (size(q, 1) // size(K, 1))

  local mine, acc = fragment(f32, n), fragment(f32, n)
  for j = 0, n - 1 do mine[j] = scale * guard(q(seq, head, _))[lane + 32 * j] end
  clear(acc)
  local m, sum = -math.huge, 0.0
  for t in range(first + warp, min(first + part_size, length), n_warps) do
    local page, at = pages[{seq, t // size_of_page}], t % size_of_page
    local key, value = guard(K(page, kv_head, at, _)), guard(V(page, kv_head, at, _))
    local logit = 0.0
    for j = 0, n - 1 do logit = logit + mine[j] * key[lane + 32 * j] end
    logit = warp_reduce(logit, "add") + slopes[head] * (t - length + 1)
    local most, new_sum = merge(m, sum, logit, 1.0)
    local keep, add = exp(m - most), exp(logit - most)
    for j = 0, n - 1 do acc[j] = acc[j] * keep + add * value[lane + 32 * j] end
    m, sum = most, new_sum
  end

  -- the warps of the block, then the sum over them
  local all = shared(f32, {32 * n, n_warps})
  local of_warp = shared(f32, {2, n_warps})
  for j = 0, n - 1 do all[{lane + 32 * j, warp}] = acc[j] end
  if lane == 0 then of_warp[{0, warp}], of_warp[{1, warp}] = m, sum end
  sync_threads()
  local total_m, total = of_warp[{0, 0}], of_warp[{1, 0}]
  for w = 1, n_warps - 1 do
    local m2, sum2 = of_warp[{0, w}], of_warp[{1, w}]
    if sum2 > 0 then total_m, total = merge(total_m, total, m2, sum2) end
  end
  for d in range(threadIdx.x, size_of_head, 32 * n_warps) do
    local x = 0.0
    for w = 0, n_warps - 1 do
      if of_warp[{1, w}] > 0 then x = x + exp(of_warp[{0, w}] - total_m) * all[{d, w}] end
    end
    parts[{d, part, head, seq}] = x
  end
  if threadIdx.x == 0 then
    maxima[{part, head, seq}], sums[{part, head, seq}] = total_m, total
  end
end)

local combine = kernel("combine_parts", function(parts, maxima, sums, lengths, out)
  local head, seq = blockIdx.x, blockIdx.y
  local n_parts = cdiv(lengths[seq], part_size)
  local m, sum = maxima[{0, head, seq}], sums[{0, head, seq}]
  for p in range(1, n_parts) do
    m, sum = merge(m, sum, maxima[{p, head, seq}], sums[{p, head, seq}])
  end
  for d in range(threadIdx.x, size(out, 2), blockDim.x) do
    local x = 0.0
    for p in range(n_parts) do
      x = x + parts[{d, p, head, seq}] * exp(maxima[{p, head, seq}] - m)
    end
    out[{seq, head, d}] = f16(x / sum)
  end
end)

-- {====== A problem, and its answer in plain Lua ======

local function make_problem(size_of_head)
  local p = {D = size_of_head, q = rand(f16, row_major{n_seqs, n_heads, size_of_head}),
             K = rand(f16, row_major{n_pages, n_kv_heads, page_size, size_of_head}),
             V = rand(f16, row_major{n_pages, n_kv_heads, page_size, size_of_head})}
  local lengths, pages, slopes, width = {}, {}, {}, cdiv(longest, page_size)
  math.randomseed(1)
  for s = 1, n_seqs do lengths[s] = s == 1 and 1 or math.random(longest // 2, longest) end
  for i = 1, n_seqs * width do pages[i] = math.random(0, n_pages - 1) end
  for h = 1, n_heads do slopes[h] = 2.0 ^ (-8 * h / n_heads) end
  p.lengths, p.slopes = from_table(i32, lengths), from_table(f32, slopes)
  p.pages = view(from_table(i32, pages), row_major{n_seqs, width})
  return p
end

local function run(p)
  local n_parts = cdiv(longest, part_size)
  local parts = zeros(f32, {p.D, n_parts, n_heads, n_seqs})
  local maxima = zeros(f32, {n_parts, n_heads, n_seqs})
  local sums = zeros(f32, {n_parts, n_heads, n_seqs})
  local out = zeros(f16, row_major{n_seqs, n_heads, p.D})
  local first = attend:prepare{grid = {n_heads, n_seqs, n_parts}, block = 32 * n_warps}(
    static_mode(p.q, 2), static_mode(p.K, 2, 3), static_mode(p.V, 2, 3), p.pages, p.lengths,
    p.slopes, 1 / math.sqrt(p.D), parts, maxima, sums)
  local second = combine:prepare{grid = {n_heads, n_seqs}, block = 64}(parts, maxima, sums,
    p.lengths, out)
  return out, function()
    first()
    second()
  end
end

-- One row of the answer, from tensors of the host.
local function by_hand(p, q, K, V, s, h)
  local kv, length, logits, most = h // (n_heads // n_kv_heads), p.lengths[s], {}, -math.huge
  for t = 0, length - 1 do
    local page, dot = p.pages[{s, t // page_size}], 0.0
    for d = 0, p.D - 1 do dot = dot + q[{s, h, d}] * K[{page, kv, t % page_size, d}] end
    logits[t] = dot / math.sqrt(p.D) + p.slopes[h] * (t - length + 1)
    most = math.max(most, logits[t])
  end
  local sum, row = 0.0, {}
  for d = 0, p.D - 1 do row[d] = 0.0 end
  for t = 0, length - 1 do
    local page, w = p.pages[{s, t // page_size}], math.exp(logits[t] - most)
    sum = sum + w
    for d = 0, p.D - 1 do row[d] = row[d] + w * V[{page, kv, t % page_size, d}] end
  end
  for d = 0, p.D - 1 do row[d] = row[d] / sum end
  return row
end

local function largest_error(p, out)
  local q, K, V, got = p.q:to"cpu", p.K:to"cpu", p.V:to"cpu", out:to"cpu"
  p.lengths, p.pages, p.slopes = p.lengths:to"cpu", p.pages:to"cpu", p.slopes:to"cpu"
  local worst = 0.0
  for s = 0, math.min(n_seqs, 4) - 1 do
    local h = s * 5 % n_heads
    for d, x in pairs(by_hand(p, q, K, V, s, h)) do
      worst = math.max(worst, math.abs(got[{s, h, d}] - x))
    end
  end
  return worst
end

local ok = true
for _, size_of_head in ipairs{tonumber(arg[1]) or 64, 80, 128} do
  local p = make_problem(size_of_head)
  local out, launch = run(p)
  launch()
  local ms = bench(launch)
  local error = largest_error(p, out)
  ok = ok and error < 2e-3
  print(("heads of %d on %s: largest error %.1e, %.4f ms"):format(size_of_head, device().name,
    error, ms))
end
print(ok and "correct" or "wrong")
os.exit(ok, true)
