-- `check` names faults that are planted in the kernels of attention: barriers, fences and waits that
-- are left out or come too early, of the forward pass on Hopper and on sm_80, of f8e4m3, of the
-- gradients and of decode. backward_turns.lua has three more, of turns. Also page numbers that the
-- pool does not have.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local check = require "cuttle.check"
local internal = dofile "tests/support/internal.lua"

local read = shell.read_file

-- Calls f with the module's functions as they are with a change {from, to}.
local function with_change(name, change, f)
  local module, kept = require("cuttle." .. name), {}
  local text = read(("stdlib/operators/%s.lua"):format(name))
  local at, stop = text:find(change[1], 1, true)
  assert(at, change[1])
  text = text:sub(1, at - 1) .. change[2] .. text:sub(stop + 1)
  for key, value in pairs(assert(load(text, "@" .. name .. ".lua"))(internal)) do
    kept[key], module[key] = module[key], value
  end
  local result = table.pack(pcall(f))
  for key, value in pairs(kept) do module[key] = value end
  assert(table.unpack(result))
  return result[2]
end

-- A configuration of its own, so that kernels are made anew.
local function like(operator, name)
  for _, config in ipairs(require("cuttle." .. operator).configs) do
    if config.name == name then
      local own = {}
      for key, value in pairs(config) do own[key] = value end
      return own
    end
  end
end

local function attend(config, dtype, S, SK, D, options)
  return function()
    options.config, options.lse = like("attention", config), true
    local function rows(n) return randn(dtype, row_major{1, n, D}) end
    attention(rows(S), rows(SK), rows(SK), options)
  end
end

local function differentiate(config, S, SK, D, options)
  return function()
    local Q, K = randn(bf16, row_major{1, S, D}), randn(bf16, row_major{1, SK, D})
    local O, LSE = attention(Q, K, K, {lse = true, causal = options.causal})
    options.config = like("attention_backward", config)
    attention_backward(O, Q, K, K, O, LSE, options)
  end
end

-- Nothing is found without the change, and with it something that has one of the texts.
local function names(what, module, change, f, ...)
  local plain = check.run(f, {})
  local findings = with_change(module, change, function() return check.run(f, {}) end)
  local text, is_named = check.report(findings, 1), false
  for _, part in ipairs{...} do is_named = is_named or text:find(part, 1, true) ~= nil end
  tap.ok(#plain == 0 and #findings > 0 and is_named, what, text)
end

local wide = attend("hopper 192x128", bf16, 70, 400, 64, {})
names("keys that nobody gives back", "attention_hopper",
  { "self:release(bars.K_empty, self.k)\n  self:softmax", "self.k:advance()\n  self:softmax" },
  attend("hopper 192x128", bf16, 70, 800, 64, {}), "deadlock")
names("values that are not waited for", "attention_hopper",
  { "bars.V_full[self.v.slot]:wait(self.v.parity)\n  self:multiply_PV()\n  self:leave",
    "self:multiply_PV()\n  self:leave" }, wide, "race", "not waited", "before")
names("scores that are read before the product is done", "attention_hopper",
  { "wgmma_wait(1)\n  self:release", "self:release" }, wide, "wgmma")
names("a result that TMA stores without a fence", "attention_hopper_store",
  { "    fence_proxy_async()\n", "" }, wide, "fence_proxy_async")

local narrow = attend("hopper 192x128, f8", f8e4m3, 70, 600, 64, {})
names("transposed values without a fence", "attention_hopper_narrow",
  { "      fence_proxy_async()\n", "" }, narrow, "fence_proxy_async")
names("values that are transposed before they are there", "attention_hopper_narrow",
  { "bars.raw_full[raw.slot]:wait(raw.parity)\n", "\n" }, narrow, "race", "before")
names("values that are transposed over those in use", "attention_hopper_narrow",
  { "bars.V_empty[v.slot]:wait(v.parity)\n", "\n" },
  attend("hopper 192x128, f8", f8e4m3, 70, 900, 64, {}), "race", "wgmma")
names("a block of values that no turner gives back", "attention_hopper_narrow",
  { "bars.raw_empty[raw.slot]:arrive()", "" },
  attend("hopper 192x128, f8", f8e4m3, 70, 900, 64, {}), "deadlock")

local small = attend("mma 128x64", bf16, 70, 200, 64, {})
names("copies that are not waited for", "attention_mma",
  { "  arrive()\n  self:fetch_next", "  sync_threads()\n  self:fetch_next" }, small, "cp.async")
names("copies that only one warp waits for", "attention_mma",
  { "  cp_async_wait(0)\n  sync_threads()", "  cp_async_wait(0)" }, small, "race")

names("a tile that is replaced while it is read", "attention_backward_mma",
  { "    cp_async_wait(0)\n    sync_threads()", "    cp_async_wait(0)" },
  differentiate("mma 64x32", 70, 100, 64, {}), "race")
names("P and dS that other groups read too early", "attention_backward_group",
  { "shared:sync() else self.all:sync() end", "shared:sync() end" },
  differentiate("hopper 128x128", 130, 130, 64, {}), "race", "wgmma")


-- More heads than the kernel before makes rows for: those of the others by the idle warp. Without
-- `causal`, more tiles of keys than blocks, which stay.
local function differentiate_heads(causal)
  return function()
    local function heads() return randn(bf16, row_major{1, 5, 40, 64}) end
    local Q, dO = heads(), heads()
    local O, LSE = attention(Q, Q, Q, {lse = true, causal = causal})
    local config = like("attention_backward", "hopper 128x128")
    config.lead, config.n_sms = 1, 2
    attention_backward(dO, Q, Q, Q, O, LSE, {config = config, causal = causal})
  end
end
names("rows of another head that are not waited for", "attention_backward_idle",
  { "turns.await(args.ready", "type(args.ready" }, differentiate_heads(true), "race")
names("rows of another lane that are said to be there", "attention_backward_idle",
  { "    sync_warp()\n    if lane == 0", "    if lane == 0" }, differentiate_heads(true),
  "race")
names("sums that are stored where a part of dQ is read", "attention_backward_group",
  { "  self.turns.empty:sync()\n  self.turns.free", "  self.turns.free" },
  differentiate_heads(false), "race", "before", "deadlock")
names("sums that are replaced while they are stored", "attention_backward_group",
  { "  if self.is_first then tma_store_wait(0) end\n  self.all:sync()", "  self.all:sync()" },
  differentiate_heads(false), "race", "before", "not waited", "tma_store")

-- A page that the pool does not have.
for _, config in ipairs{"plain", "mma 8 warps"} do
  local findings = check.run(function()
    local Q, K = randn(bf16, row_major{2, 4, 64}), randn(bf16, row_major{8, 2, 16, 64})
    attention_decode(Q, K, K, {cache_seqlens = from_table(i32, {40, 20}), config = config,
      block_table = from_table(i32, {{0, 1, 2}, {3, 8, 5}})})
  end, {})
  local text = check.report(findings, 1)
  tap.ok(text:find("out of bounds: read of K at (0,0,0,8), extent (16,64,2,8)", 1, true),
    "a page number beyond the pool, " .. config, text)
end
tap.done()
