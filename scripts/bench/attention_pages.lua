-- attention_pages.lua: attention of chunks of new queries to keys and values in pages, causal,
-- bf16, 32 heads, 8 of keys, D = 128, beside the same problem with keys one after the other.
--   CUTTLE_DEVICE=cuda cuttle scripts/bench/attention_pages.lua [PAGE...] [CONFIG...]
--   PAGE     keys of a page; without them 16, 64 and 256
--   CONFIG   names of configurations; without them, what is chosen
-- Prints ms, TFLOP/s of the products that are seen, the time to that without pages, and the
-- difference of the results.
package.path = (arg[0]:match "^(.*/)" or "./") .. "?.lua;" .. package.path
local data = require "data"
local prepare = require "cuttle.attention".prepare

local on_gpu <const> = device().sm ~= nil
local H <const>, HK <const>, D <const> = on_gpu and 32 or 2, on_gpu and 8 or 1, on_gpu and 128 or 64
local sizes, configs = {}, {}
for _, word in ipairs(arg) do
  table.insert(tonumber(word) and sizes or configs, math.tointeger(word) or word)
end
if #sizes == 0 then sizes = { 16, 64, 256 } end
if #configs == 0 then configs = { false } end

-- Chunks of new queries, and the keys of their sequences with these.
local problems <const> = on_gpu and {
  { "4 x 4,096 of 4,096", { 4096, 4096, 4096, 4096 }, { 4096, 4096, 4096, 4096 } },
  { "2 x 2,048 of 16,384", { 2048, 2048 }, { 16384, 16384 } },
  { "512 to 8,192 of 16,384 or fewer", { 8192, 512, 2048, 1024, 4096 },
    { 8192, 16384, 3000, 9000, 16384 } },
} or { { "70 of 100, 9 of 9", { 70, 9 }, { 100, 9 } } }

local function starts_of(list)
  local starts = { 0 }
  for i, n in ipairs(list) do starts[i + 1] = starts[i] + n end
  return starts
end

-- A block copies rows of a sequence, of which some may be beyond the last one, to its page.
local to_page = kernel("to_page", function(t, pool, pages, starts, page)
  local i, b = blockIdx.x, blockIdx.y
  local first, n = starts[b] + i * page, starts[b + 1] - starts[b] - i * page
  for e in range(threadIdx.x, HK * page * D, blockDim.x) do
    local h, row, d = e // (page * D), e // D % page, e % D
    if row < n then pool[{ pages[{ b, i }], h, row, d }] = t[{ h, first + row, d }] end
  end
end)

-- The keys t, as (Hk,T,D), in pages of a pool in any order, and the pages' numbers.
local function paged(t, lengths, page)
  local width, n = 0, #lengths
  for _, length in ipairs(lengths) do width = math.max(width, cdiv(length, page)) end
  local list = {}
  for i = 1, n * width do list[i] = i - 1 end
  for i = #list, 2, -1 do
    local j = math.random(i)
    list[i], list[j] = list[j], list[i]
  end
  local pool = zeros(bf16, row_major{ n * width, HK, page, D })
  local pages = view(from_table(i32, list), row_major{ n, width })
  to_page{ grid = { width, n }, block = 256 }(t, pool, pages, from_table(i32, starts_of(lengths)),
    page)
  return pool, pages
end

for _, p in ipairs(problems) do
  local from, to, seen = starts_of(p[2]), starts_of(p[3]), 0
  for i, n in ipairs(p[2]) do seen = seen + n * (p[3][i] - n) + n * (n + 1) // 2 end
  local function normal(heads, tokens, seed)
    return view(data.normal(bf16, heads * tokens * D, seed), row_major{ heads, tokens, D })
  end
  local Q, K, V = normal(H, from[#from], 1), normal(HK, to[#to], 2), normal(HK, to[#to], 3)
  local list = {}
  local function add(name, k, v, options)
    options.causal, options.cu_seqlens_q = true, from
    for _, config in ipairs(configs) do
      options.config = config or nil
      local launch, own, O = prepare(Q, k, v, options)
      launch()
      list[#list + 1] = { name = name .. ", " .. own, launch = launch, O = O }
    end
  end
  add("one after the other", K, V, { cu_seqlens_k = to })
  for _, page in ipairs(sizes) do
    math.randomseed(1)
    local k, pages = paged(K, p[3], page)
    math.randomseed(1)
    add("pages of " .. page, k, paged(V, p[3], page), { block_table = pages, cache_seqlens = p[3] })
  end
  print(p[1])
  for _ = 1, 2 do
    for _, c in ipairs(list) do
      c.ms = bench(c.launch, not on_gpu and { batches = 1, reps = 1 } or nil)
      print(("  %-36s %8.3f ms %5.0f TFLOP/s %6.3f  %.2g"):format(c.name, c.ms,
        4 * H * seen * D / c.ms * 1e-9, c.ms / list[1].ms,
        data.compare(c.O, list[1].O).relative))
    end
  end
end
