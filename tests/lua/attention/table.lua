-- attention's choice by results of tune: on the devices of the model, without a GPU.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local attention = require "cuttle.attention"
local results = require "cuttle.operator_table"
local tables = require "cuttle.attention_table"

-- Tensors of any extents, of which one element is there.
local function tensor(dtype, ...)
  return view(zeros(dtype, 256), layout({...}, {0, 0, 0, 1}))
end

local function explain(device, dtype, depth, mask, sizes, options)
  local batches, heads, n_q, n_k = table.unpack(sizes)
  local all = {causal = mask == "causal", device = device}
  for name, value in pairs(options or {}) do all[name] = value end
  return attention.explain(tensor(dtype, batches, heads, n_q, depth),
    tensor(dtype, batches, heads, n_k, depth),
    tensor(dtype, batches, heads, n_k, depth), all)
end

local function problem(device, dtype, depth, mask, sizes)
  local batches, heads, n_q, n_k = table.unpack(sizes)
  local K = tensor(dtype, batches, heads, n_k, depth)
  return attention.operator.problem({tensor(dtype, batches, heads, n_q, depth), K, K},
    {causal = mask == "causal"}, device)
end

local function by_rule(p) return attention.operator.candidates(p)[1].name end

local function config_of(name)
  for _, config in ipairs(attention.configs) do
    if config.name == name then return config end
  end
end

local all_sizes <const> = {{1, 32, 1, 4096}, {2, 8, 512, 512}, {4, 32, 1000, 1000},
  {1, 16, 2048, 2048}}

-- {====== Any device ======

local function fault_of(p, name)
  local config = config_of(name)
  local template = require(config.template)
  local bytes = template.shared_bytes and template.shared_bytes(config, p) or 0
  if template.trouble(config, p) then return "does not compute it" end
  if bytes > p.place.shared then return "does not fit" end
  if config.sm and config.sm ~= p.place.sm or p.place.sm < (config.sm_from
    or 0) then return "is not for it" end
end

for _, device in ipairs{"A100", "L40S", "H100", "H200", "A10", "T4", "B200"} do
  local n, n_rows, fault, other = 0, 0, nil, nil
  for _, sizes in ipairs(all_sizes) do
    for _, dtype in ipairs{f16, bf16, f32} do
      for _, depth in ipairs{64, 80, 128, 192} do
        for _, mask in ipairs{"full", "causal"} do
          local p, told = problem(device, dtype, depth, mask, sizes),
            explain(device, dtype, depth, mask, sizes)
          local why = fault_of(p, told.config)
          n, n_rows = n + 1, n_rows + (told.how ~= "rule" and 1 or 0)
          fault = why and ("%s %s: %s"):format(told.key, told.config, why) or fault
          if told.config ~= by_rule(p) then other = ("%s %s"):format(told.key, told.config) end
        end
      end
    end
  end
  tap.ok(n == 96 and not fault, "what is chosen runs on " .. device, fault)
  if device:find "^H" then tap.ok(not other, "the rule holds on " .. device, other) end
  if device == "A100" or device == "L40S" then
    tap.ok(n_rows >= 24 and other, "rows choose otherwise on " .. device, n_rows)
  end
end

-- {====== The shipped rows ======

local faults, counts = {}, {}
for _, row in ipairs(results.shipped "attention") do
  local type_name, depth, mask, b, h, n_q,
    n_k = row.key:match "^(%w+) d(%d+) (%l+) (%d+) (%d+) (%d+) (%d+)$"
  local told = explain(row.device, _G[type_name], math.tointeger(depth), mask,
    {math.tointeger(b), math.tointeger(h), math.tointeger(n_q), math.tointeger(n_k)})
  local why = tables.trouble(row, attention.configs)
    or ('name="%s"'):format(told.config) ~= row.config and "another one is chosen: " .. told.config
    or (told.key ~= row.key or told.device ~= row.device or told.ms ~= row.ms)
      and "the choice is of another row"
    or (row.how == "measured") ~= (row.device == "H200") and "it is " .. row.how
  if why then faults[#faults + 1] = ("%s: %s"):format(row.key, why) end
  counts[row.device] = (counts[row.device] or 0) + 1
end
tap.ok(#faults == 0, "each shipped row is what its own problem gets", table.concat(faults, "\n"))
tap.ok(counts.H200 >= 4 and counts.A100 >= 12 and counts.L40S >= 12,
  "there are rows of the devices")

-- {====== Rows of a user ======

local path = os.tmpname()
local function write(text) shell.write_file(path, text) end
local function line(device, key, config)
  return table.concat({"attention", "measured", "0.5", device, "-", key, config, ("0"):rep(16)},
    "\t") .. "\n"
end

local key <const>, sizes <const> = "bf16 d256 full 2 8 512 512", {2, 8, 512, 512}
tap.is(explain("A100", bf16, 256, "full", sizes).config, "mma 64x64", "no row is of this depth")
write(line("A100", key, "name=plain") .. line("L40S", "bf16 d128 full 2 8 512 512",
  'name="mma 64x64"'))
attention.use(path)
tap.is(tostring(explain("A100", bf16, 256, "full", sizes)), "plain: measured on A100: 0.5 ms",
  "a row of a user")
tap.is(explain("A100", f16, 200, "full", sizes).config, "plain",
  "holds for f16 and a depth that is filled up")
tap.is(explain("A100", bf16, 256, "causal", sizes).config, "mma 64x64", "not for the other mask")
tap.is(explain("A100", bf16, 256, "full", {2, 8, 512, 1 << 20}).config, "mma 64x64",
  "nor for what is far")
tap.is(explain("L40S", bf16, 256, "full", sizes).config, "mma 64x64", "nor on another device")
tap.is(explain("L40S", bf16, 128, "full", sizes).config, "mma 64x64", "which has its own")
write(line("A100", key, 'name="hopper 192x80"'))
attention.use(path)
tap.is(explain("A100", bf16, 256, "full", sizes).config, "plain",
  "what cannot run there is not taken")

local function trouble(text)
  write(text)
  local ok, message = pcall(attention.use, path)
  return ok and "none" or message:gsub(path:gsub("%p", "%%%0"), "mine.tune"):gsub("^[^:]*:%d+: ",
    "")
end
tap.is(trouble(line("A100", "bf16 4096", "name=plain")),
  "attention: mine.tune:1: 'bf16 4096' does not describe an attention problem; type, "
  .. "depth, mask, batches, heads, queries and keys were expected, as in "
  .. "'bf16 d128 causal 4 32 4096 4096'", "a key")
tap.is(trouble("\n" .. line("A100", key, 'name="mma 1x1"')),
  "attention: mine.tune:2: 'name=\"mma 1x1\"' is not "
  .. "a configuration of attention; a name of attention.lua was expected, as in "
  .. "'name=\"mma 128x64\"'", "a configuration")
os.remove(path)

local _, message = pcall(explain, "A100", bf16, 128, "full", sizes, {bits = "batch_invariant"})
tap.ok(message:find("explain and tune are about what attention chooses by itself; leave out the "
  .. "option bits", 1, true), "bits", message)

tap.done()
