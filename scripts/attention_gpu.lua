-- attention_gpu.lua: what of attention was written without a GPU, on one: the tests that compare it
-- with the reference, each in a process of its own, all at a time; then large problems beside the
-- plain kernel, timed. About 100 s on an H200. On the CPU engine small problems alone.
--   cuttle scripts/attention_gpu.lua [--small] [NAME...]
--     problems whose names have one of these texts; --small: small ones of all templates, compared
--     and not timed, as for compute-sanitizer
-- Prints a line for each test, and for each problem its configuration, ms, TFLOP/s of the products
-- that are needed, and the difference from the plain kernel, of the length of its result. The exit
-- code is 1 if something is wrong.
package.path = "scripts/bench/?.lua;scripts/?.lua;" .. package.path
local data, shell = require "data", require "shell"
local forward, backward = require "cuttle.attention", require "cuttle.attention_backward"
local on_gpu <const>, is_small <const> = device().sm ~= nil, arg[1] == "--small"
if is_small then table.remove(arg, 1) end
local cuttle <const> = shell.quote(arg[-1])

local failed = 0

-- {====== Tests ======

local tests <const> = { "values", "narrow", "scores", "score_backward", "backward",
  "backward_packed", "tensor_cores", "decode", "decode_scores", "pages" }

-- Commands by name; they run at once, in the background.
local function commands()
  local list = {}
  for _, name in ipairs(tests) do
    list[#list + 1] = { name = "test " .. name,
      text = ("%s scripts/run_tests.lua --cuttle=%s --device=cuda tests/lua/attention/%s.lua")
        :format(cuttle, cuttle, name) }
  end
  for _, config in ipairs { "hopper 192x80", "mma 64x64" } do
    list[#list + 1] = { name = "random problems, " .. config,
      text = ("%s scripts/fuzz_attention.lua 1 1 '%s'"):format(cuttle, config) }
  end
  list[#list + 1] = { name = "random problems, decoding",
    text = cuttle .. " scripts/fuzz_decode.lua 1 1" }
  list[#list + 1] = { name = "transformer_block",
    text = cuttle .. " examples/transformer_block.lua" }
  for _, c in ipairs(list) do c.pipe = assert(io.popen(c.text .. " 2>&1 </dev/null")) end
  return list
end

-- Waits for them, and says which failed, and how.
local function await(list)
  for _, c in ipairs(list) do
    local text = c.pipe:read "a"
    local ok = c.pipe:close() and not text:find("not ok", 1, true)
    local skipped = text:find("# SKIP", 1, true) and ", of which some were skipped" or ""
    print(("%s - %s%s"):format(ok and "ok" or "not ok", c.name, ok and skipped or "\n" .. text))
    failed = failed + (ok and 0 or 1)
  end
end

-- {====== Problems ======

local is_large <const> = on_gpu and not is_small
local B <const>, H <const> = is_large and 4 or 1, is_large and 32 or 2
local S <const> = is_large and 4096 or on_gpu and 200 or 70
local PART <const> = is_large and 4 or 2 -- heads that the plain kernel computes, too

local function normal(dtype, b, h, d, seed)
  return view(data.normal(dtype, b * h * S * d, seed), row_major{ b, h, S, d })
end

-- Operands by type and depths, made once.
local kept = {}

local function operands(dtype, d, dv, b, h)
  local key = ("%s %d %d %d %d"):format(dtype, d, dv, b, h)
  kept[key] = kept[key] or { normal(dtype, b, h, d, 1), normal(dtype, b, h, d, 2),
    normal(dtype, b, h, dv, 3), normal(dtype.bits == 8 and bf16 or dtype, b, h, dv, 4) }
  return table.unpack(kept[key])
end

local with = dofile("tests/support/gradients.lua").with

local function thirds() return { S // 3, S // 3, S - 2 * (S // 3) } end

local WIDE <const> = is_large and 256 or 16

local function stripes(q, k) return (q // WIDE + k // WIDE) % 3 ~= 0 end

-- name, type, depths, configuration, options; `gradients`: their time, and not that of the forward
-- pass. share: of the products that are needed.
local problems <const> = {
  { "values of 128", bf16, 192, 128, "hopper 128x128, D 192", {} },
  { "values of 128, causal", bf16, 192, 128, "hopper 128x128, D 192", { causal = true },
    share = 0.5 },
  { "values of 128 by mma", bf16, 192, 128, "mma 64x64", {} },
  { "values of 192 beside", bf16, 192, 192, "hopper 128x96", {} },
  { "f8e4m3, D 64", f8e4m3, 64, 64, "hopper 192x128, f8", {} },
  { "f8e4m3, D 64, causal", f8e4m3, 64, 64, "hopper 192x128, f8", { causal = true }, share = 0.5 },
  { "f8e4m3", f8e4m3, 128, 128, "hopper 192x96, f8", {} },
  { "f8e4m3, 128 keys", f8e4m3, 128, 128, "hopper 128x128, f8", {} },
  { "f8e4m3, causal", f8e4m3, 128, 128, "hopper 128x128, f8", { causal = true }, share = 0.5 },
  { "f8e4m3, lazy", f8e4m3, 128, 128, "hopper 128x128, f8", { lazy = true } },
  { "f8e4m3, values of 128", f8e4m3, 192, 128, "hopper 128x128, f8, D 192", {} },
  { "f8e4m3, D 192", f8e4m3, 192, 192, "hopper 128x128, f8, Dv 192", {} },
  { "f8e4m3, D 256", f8e4m3, 256, 256, "hopper 128x96, f8", {} },
  { "bf16 beside", bf16, 128, 128, "hopper 192x80", {} },
  { "documents", bf16, 128, 128, "hopper 192x80", { documents = thirds() }, share = 1 / 3 },
  { "mask", bf16, 128, 128, "hopper 192x80", { mask = stripes }, share = 2 / 3 },
  { "mask by mma", bf16, 128, 128, "mma 64x64", { mask = stripes }, share = 2 / 3 },
  { "dropout", bf16, 128, 128, "hopper 192x80", { dropout = 0.1, seed = 1 } },
  { "dropout by mma", bf16, 128, 128, "mma 64x64", { dropout = 0.1, seed = 1 } },
  { "gradients, values of 128", bf16, 192, 128, "hopper 64x64, Dv 128", { causal = true },
    share = 0.5, gradients = true },
  { "gradients, bf16 beside", bf16, 128, 128, "hopper 64x128", {}, gradients = true },
  { "gradients, D 64, causal", bf16, 64, 64, "hopper 128x128", { causal = true }, share = 0.5,
    gradients = true },
  { "gradients, D 256", bf16, 256, 256, "hopper 64x64", {}, gradients = true },
  { "gradients, turns", bf16, 128, 128, "hopper 64x128", { causal = true, deterministic = true },
    share = 0.5, gradients = true },
  { "gradients, documents", bf16, 128, 128, "hopper 64x128", { documents = thirds() },
    share = 1 / 3, gradients = true },
  { "gradients, mask", bf16, 128, 128, "hopper 64x128", { mask = stripes }, share = 2 / 3,
    gradients = true },
  { "gradients, dropout", bf16, 128, 128, "hopper 64x128", { dropout = 0.1, seed = 1 },
    gradients = true },
  { "gradients by mma", bf16, 128, 128, "mma 64x32", {}, gradients = true },
  { "gradients by mma, soft-cap, window", bf16, 128, 128, "mma 64x32",
    { softcap = 5.0, window = { S // 4, S // 4 } }, share = 7 / 16, gradients = true },
}

-- A launch of the problem with a configuration, and its results.
local function prepared(p, config, b, h)
  local Q, K, V, dO = operands(p[2], p[3], p[4], b, h)
  if not p.gradients then
    local launch, _, O = forward.prepare(Q, K, V, with(p[6], { config = config }))
    return launch, { O }
  end
  local options = with(p[6], { lse = true })
  options.deterministic = nil
  local O, LSE = attention(Q, K, V, options)
  local launch, _, results = backward.prepare(dO, Q, K, V, O, LSE, with(p[6], { config = config }))
  return launch, results
end

-- The difference from the plain kernel's results, of their length, the largest one.
local function difference(p)
  local launch, own = prepared(p, p[5], 1, PART)
  local plain, want = prepared(p, "plain", 1, PART)
  launch()
  plain()
  local worst = 0
  for i, t in ipairs(own) do
    local off = data.compare(t, want[i]).relative
    worst = off == off and math.max(worst, off) or math.huge
  end
  return worst
end

-- Operations of all products that are needed.
local function operations(p)
  local of_depth = p.gradients and 6 * p[3] + 4 * p[4] or 2 * (p[3] + p[4])
  return B * H * S * S * of_depth * (p.share or 1)
end

local function is_wanted(name)
  if #arg == 0 then return true end
  for _, text in ipairs(arg) do
    if name:find(text, 1, true) then return true end
  end
  return false
end

local function tell(name, worst, limit, more)
  failed = failed + (worst < limit and 0 or 1)
  print(("%s - %s%s, difference %.1e"):format(worst < limit and "ok" or "not ok", name, more,
    worst))
end

local function try(p)
  local worst = difference(p)
  local limit = p[2] == f8e4m3 and 0.05 or 0.02
  if is_small then return tell(p[1], worst, limit, "") end
  local ms = bench((prepared(p, p[5], B, H)), not on_gpu and { batches = 1, reps = 1 } or nil)
  tell(p[1], worst, limit, (": %s, %.3f ms, %.0f TFLOP/s"):format(p[5], ms,
    operations(p) / ms / 1e9))
end

-- {====== Decoding ======

-- name, type of queries and of the cache, heads of queries and of keys, depth, configuration; page:
-- keys of one; latent: values are the first 512 columns of keys.
local decodes <const> = {
  { "decode", bf16, bf16, 8, 2, 128, "mma 8 warps" },
  { "decode, pages of 16", f16, f16, 8, 2, 64, "mma 4 warps", page = 16 },
  { "decode, f8e4m3", bf16, f8e4m3, 8, 2, 128, "mma 8 bits" },
  { "decode, i8, pages of 7", bf16, i8, 8, 2, 64, "mma 8 bits, 2 warps", page = 7 },
  { "decode, latent", bf16, bf16, 16, 1, 576, "latent 64 keys", latent = true },
  { "decode, latent, 8 bits", bf16, f8e4m3, 16, 1, 576, "latent 8 bits", latent = true },
  { "decode, latent, many heads", bf16, bf16, 70, 1, 576, "latent hopper", latent = true,
    page = 64 },
  { "decode, latent, in pairs", bf16, bf16, 70, 1, 576, "latent hopper, pairs", latent = true,
    page = 64 },
  { "decode, latent, pages of 1", bf16, bf16, 20, 1, 576, "latent hopper, rows", latent = true,
    page = 1 },
}

local LENGTHS <const> = { 700, 1, 0, 90 }

-- Q, K, V and options.
local function cache(p)
  local n, options = #LENGTHS, { cache_seqlens = from_table(i32, LENGTHS) }
  local first, most = n, 700
  if p.page then
    local width = cdiv(most, p.page)
    options.block_table = view(arange(i32, n * width), row_major{ n, width })
    first, most = n * width, p.page
  end
  local shape = row_major{ first, p[5], most, p[6] }
  local Q = view(data.normal(p[2], n * p[4] * p[6], 1), row_major{ n, p[4], p[6] })
  local K = view(data.normal(p[3], size(shape), 2), shape)
  if not p.latent then return Q, K, view(data.normal(p[3], size(shape), 3), shape), options end
  return Q, K, view(K, layout({ first, 1, most, 512 }, { most * 576, 0, 576, 1 })), options
end

local function try_decode(p)
  local Q, K, V, options = cache(p)
  local O = attention_decode(Q, K, V, with(options, { config = p[7] }))
  local plain = attention_decode(Q, K, V, with(options, { config = "plain" }))
  tell(p[1], data.compare(O, plain).relative, 0.02, "")
end

local function try_all(list, f)
  for _, p in ipairs(list) do
    if is_wanted(p[1]) then
      local ok, why = pcall(f, p)
      if not ok then
        failed = failed + 1
        print(("not ok - %s: %s"):format(p[1], why))
      end
      collectgarbage()
    end
  end
end

local running = is_large and #arg == 0 and commands() or {}
await(running)
try_all(problems, try)
try_all(decodes, try_decode)
print(("%d failed"):format(failed))
os.exit(failed == 0)
