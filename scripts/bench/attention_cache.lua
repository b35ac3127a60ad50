-- attention_cache.lua: the rows "decode" of attention_bars.lua: attention_decode with caches of
-- several types, in one block of memory and in pages, beside two copies by the device: of 1 GiB,
-- and one that reads and writes as many bytes in all as the cache has. A rate counts keys and
-- values once. All candidates of a row take turns in one regime, which is longer than a burst.
local ct = require "cuttle"
local data = require "data"
local decode = require "cuttle.attention_decode"
local regimes = require "regimes"
local tables = require "tables"
local M = {}

local on_gpu <const> = ct.device().sm ~= nil
local BOUND <const> = 1e-2 -- to the plain kernel, relative
local REGIME <const> = on_gpu and { idle = 20, warm = 10, reps = 60 }
  or { idle = 0, warm = 0, reps = 1 }

-- {====== Rows ======

local function row(name, lengths, t)
  t.name, t.lengths = "decode " .. name, lengths
  t.h, t.hk, t.d = t.h or 32, t.hk or 8, t.d or 128
  return t
end

local function equal(b, n)
  local list = {}
  for i = 1, b do list[i] = n end
  return list
end

-- From 100 to `most`, each a constant factor longer than another, in no order.
local function uneven(b, most)
  local list = {}
  for i = 1, b do
    list[i] = math.floor(100 * (most / 100) ^ ((i * 7 % b) / (b - 1)) + 0.5)
  end
  return list
end

-- bar: of the copy of 1 GiB; pages: sizes; narrow: also caches of 8 bits; latent: of 576 and 512;
-- lazy: also with that option.
local rows <const> = on_gpu and {
  row("32 of 8192", equal(32, 8192), { bar = 0.97, pages = { 64, 16 }, narrow = 1.8 }),
  row("4 of 32768", equal(4, 32768), { bar = 0.97, pages = { 64, 16 }, narrow = 1.8 }),
  row("1 of 65536", equal(1, 65536), { bar = 0.97, pages = { 64, 16 }, narrow = 1.8 }),
  row("256 of 1024", equal(256, 1024), { narrow = 1.8 }),
  row("32 of 100 to 65536", uneven(32, 65536), { bar = 0.9, pages = { 64 } }),
  row("d256, 4 of 32768", equal(4, 32768), { bar = 0.9, narrow = 1.8, d = 256, h = 16 }),
  row("d256, 4 heads, 4 of 32768", equal(4, 32768), { bar = 0.9, d = 256, hk = 4 }),
  row("latent, 16 heads, 64 of 8192", equal(64, 8192), { bar = 0.9, latent = true, h = 16 }),
  row("latent, 128 heads, 64 of 8192", equal(64, 8192), { latent = true, lazy = true, h = 128 }),
  row("latent, 128 heads, 7 of 65536", equal(7, 65536), { latent = true, lazy = true, h = 128 }),
} or { row("2 of 40", equal(2, 40), { pages = { 16 }, narrow = 1, h = 2, hk = 1, d = 64 }) }

local function keys_of(p)
  local sum = 0
  for _, n in ipairs(p.lengths) do sum = sum + n end
  return sum
end

local function most_of(p) return math.max(table.unpack(p.lengths)) end

-- Bytes of the cache that a step reads.
local function bytes_of(p, dtype)
  return keys_of(p) * (p.latent and 576 or 2 * p.hk * p.d) * dtype.bits // 8
end

-- {====== Caches ======

-- Memory for keys, or values, of all heads.
local function cells(p, dtype, n_keys, seed)
  return data.normal(dtype, n_keys * p.hk * p.d, seed)
end

local function place(t) return on_gpu and t:to "cuda" or t end

-- {K, V, options} in one block of memory for each sequence.
local function whole(p, dtype)
  local b, most = #p.lengths, most_of(p)
  local shape = ct.row_major { b, p.hk, most, p.d }
  local options = { cache_seqlens = place(ct.from_table(ct.i32, p.lengths)) }
  return { ct.view(cells(p, dtype, b * most, 2), shape),
           ct.view(cells(p, dtype, b * most, 3), shape), options }
end

-- The numbers 0 to n - 1, in no order unless they are to be in order.
local function order_of(n, is_sorted)
  local list = {}
  for i = 0, n - 1 do list[i + 1] = i end
  for i = n, 2, -1 do
    local j = is_sorted and i or math.random(i)
    list[i], list[j] = list[j], list[i]
  end
  return list
end

-- The same in pages; sequences have only the pages that they need.
local function paged(p, dtype, size, is_sorted)
  local n, used, numbers = ct.cdiv(most_of(p), size), 0, {}
  for _, length in ipairs(p.lengths) do used = used + ct.cdiv(length, size) end
  local order, at = order_of(used, is_sorted), 0
  for _, length in ipairs(p.lengths) do
    for i = 1, n do
      if i <= ct.cdiv(length, size) then at = at + 1 end
      numbers[#numbers + 1] = i <= ct.cdiv(length, size) and order[at] or 0
    end
  end
  local shape = ct.row_major { used, p.hk, size, p.d }
  return { ct.view(cells(p, dtype, used * size, 2), shape),
           ct.view(cells(p, dtype, used * size, 3), shape),
           { cache_seqlens = place(ct.from_table(ct.i32, p.lengths)),
             block_table = place(ct.view(ct.from_table(ct.i32, numbers),
               ct.row_major { #p.lengths, n })) } }
end

local function latent(p)
  local b, most = #p.lengths, most_of(p)
  local K = ct.view(data.normal(ct.bf16, b * most * 576, 2), ct.row_major { b, 1, most, 576 })
  local V = ct.view(K, ct.layout({ b, 1, most, 512 }, { most * 576, 0, 576, 1 }))
  return { K, V, { cache_seqlens = place(ct.from_table(ct.i32, p.lengths)) } }
end

-- {====== Candidates ======

local function prepared(Q, set, config)
  local how = { config = config }
  for key, x in pairs(set[3]) do how[key] = x end
  return decode.prepare(Q, set[1], set[2], how)
end

-- How far it is from the plain kernel.
local function difference(Q, set, launch, O)
  data.poison(O)
  launch()
  if not set.plain then
    local plain, _, O_plain = prepared(Q, set, "plain")
    plain()
    set.plain = O_plain
  end
  local off = data.compare(O, set.plain).relative
  return off == off and off or math.huge
end

local function add(list, how, p, Q, set, title, dtype, config)
  local ok, launch, name, O = pcall(prepared, Q, set, config)
  if not ok then
    print(("  %s: %s"):format(title, launch))
    return
  end
  local c = regimes.candidate(("* %s: %s"):format(title, config and how.text_of(config) or name),
    launch)
  local off = difference(Q, set, launch, O)
  c.title, c.bytes = title, bytes_of(p, dtype)
  c.verdict = ("%.2g to plain%s"):format(off, off <= BOUND and "" or " WRONG")
  how.score.wrong = how.score.wrong + (off <= BOUND and 0 or 1)
  list[#list + 1] = c
end

-- A copy that moves so many bytes, half of them read.
local function add_copy(list, title, bytes)
  local from, to = ct.tensor(ct.u8, bytes // 2), ct.tensor(ct.u8, bytes // 2)
  local c = regimes.candidate(title, function() ct.copy(from, to) end)
  c.title, c.bytes, c.verdict = title, bytes, ""
  list[#list + 1] = c
end

local function add_peer(list, how, p)
  local b, n = #p.lengths, p.lengths[1]
  for _, length in ipairs(p.lengths) do
    if length ~= n then return end
  end
  how.peer:send("random %d %d %d 1 %d %d 0", b, p.h, p.hk, n, p.d)
  local _, why = how.peer:answer()
  if why then
    print("  cuDNN: " .. why)
    return
  end
  local c = how.peer:candidate("cuDNN", "cuDNN", "time cudnn")
  c.title, c.bytes = "cuDNN", bytes_of(p, ct.bf16)
  list[#list + 1] = c
end

local function fill(list, how, p)
  local d = p.latent and 576 or p.d
  local Q = ct.view(data.normal(ct.bf16, #p.lengths * p.h * d, 1),
    ct.row_major { #p.lengths, p.h, d })
  add_copy(list, "copy of 1 GiB", on_gpu and 1 << 31 or 4096)
  add_copy(list, "copy of as many bytes", bytes_of(p, ct.bf16))
  local set = p.latent and latent(p) or whole(p, ct.bf16)
  add(list, how, p, Q, set, "bf16", ct.bf16)
  if p.lazy then
    local lazy = { cache_seqlens = set[3].cache_seqlens, lazy = true }
    add(list, how, p, Q, { set[1], set[2], lazy, plain = set.plain }, "lazy", ct.bf16)
  end
  for _, config in ipairs(how.variants) do
    if (config.template:find "latent" ~= nil) == (p.latent or false) and not config.narrow then
      add(list, how, p, Q, set, "variant", ct.bf16, config)
    end
  end
  for _, size in ipairs(p.pages or {}) do
    add(list, how, p, Q, paged(p, ct.bf16, size, true), ("pages of %d, in order"):format(size),
      ct.bf16)
    add(list, how, p, Q, paged(p, ct.bf16, size, false), ("pages of %d"):format(size), ct.bf16)
  end
  for _, dtype in ipairs(p.narrow and { ct.f8e4m3, ct.i8 } or {}) do
    set = whole(p, dtype)
    add(list, how, p, Q, set, dtype.name, dtype)
    local scales = ct.rand(ct.f32, ct.row_major { #p.lengths, p.hk, most_of(p) })
    add(list, how, p, Q, { set[1], set[2], { cache_seqlens = set[3].cache_seqlens,
      k_scale = scales, v_scale = scales } }, dtype.name .. ", a scale for each key", dtype)
    for _, config in ipairs(how.variants) do
      if config.narrow then add(list, how, p, Q, set, "variant " .. dtype.name, dtype, config) end
    end
  end
  if how.peer and not p.latent then add_peer(list, how, p) end
end

-- {====== Results ======

local function rate(c) return c.bytes / c.ms.eq * 1e-9 end -- TB/s

local function named(list, title)
  for _, c in ipairs(list) do
    if c.title == title then return c end
  end
end

local function print_rows(p, list)
  local copy, same = named(list, "copy of 1 GiB"), named(list, "copy of as many bytes")
  local ours = named(list, "bf16")
  print(("%s: us, TB/s, of the copy of 1 GiB, of the copy of as many bytes, sequences to bf16's")
    :format(p.name))
  for _, c in ipairs(list) do
    local line = ("  %-44s %8.2f %7.3f %7.3f %7.3f"):format(c.name, c.ms.eq * 1000, rate(c),
      rate(c) / rate(copy), rate(c) / rate(same))
    local flops = p.latent and c.title ~= copy.title and c.title ~= same.title
      and (" %.0f TFLOP/s"):format(2 * keys_of(p) * p.h * (576 + 512) / c.ms.eq * 1e-9) or ""
    print(("%s %7.3f%s  %s"):format(line, ours and ours.ms.eq / c.ms.eq or 0, flops, c.verdict))
  end
end

local function print_bars(p, list, score)
  local parts, copy, ours = {}, named(list, "copy of 1 GiB"), named(list, "bf16")
  if not ours then return end
  local function bar(what, theirs, mine, least)
    tables.bar(score, parts, what, theirs, mine, least)
  end
  -- A ratio of rates is one of times, as tables.bar takes it.
  bar("of the copy", ours.bytes / rate(copy), ours.bytes / rate(ours), p.bar)
  for _, size in ipairs(p.pages or {}) do
    local c = named(list, ("pages of %d"):format(size))
    bar(("pages of %d"):format(size), ours.ms.eq, c and c.ms.eq, 0.97)
  end
  local narrow = named(list, "f8e4m3")
  bar("f8e4m3", ours.ms.eq, narrow and narrow.ms.eq, p.narrow)
  tables.print_bars(parts)
end

local function measure(p, how)
  local list = {}
  math.randomseed(1) -- the same order of pages in each run
  fill(list, how, p)
  REGIME.rounds = how.rounds
  regimes.time(list, "eq", { eq = REGIME })
  print_rows(p, list)
  print_bars(p, list, how.score)
  io.stdout:flush()
end

--- Runs the rows that are wanted. how: {is_wanted =, score =, rounds =, variants = configurations,
--- text_of = of one, peer = cuDNN's or nil}.
function M.run(how)
  for _, p in ipairs(rows) do
    if how.is_wanted(p.name) then
      measure(p, how)
      collectgarbage()
    end
  end
end

return M
