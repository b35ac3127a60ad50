-- bench_mesh.lua: `cuttle bench mesh [option ...] [word ...]`: what it takes to spread a tensor
-- anew over all devices, beside what the model of plans says; and products of sharded tensors
-- beside the same product on one device. Words are names of rows, and sizes.
--
-- On GPUs a time is the median of batches of calls that follow one another, between two events:
-- the host enqueues while the devices work, so the slower of both counts. On the CPU engine, where
-- the devices work in turn, it is that of single calls, and says little.
local internal = ...
local json = require "cuttle.json"
local lists = require "cuttle.lists"
local plural = require "cuttle.plural"
local script_command = require "cuttle.script_command"
local values = require "cuttle.option_values"
local M = {}

local BATCHES <const>, BATCH_MS <const>, MAX_REPS <const> = 7, 10, 200
local AXIS <const> = "x"
local WIDTH <const> = 1024 -- elements of a row of the tensors

-- {====== What is measured ======

-- Each redistribution: its name, from and to.
local moves <const> = {
  { "all_gather", "(M@x,K)", "(M,K)" }, { "reduce_scatter", "(M,K,@x+)", "(M@x,K)" },
  { "all_reduce", "(M,K,@x+)", "(M,K)" }, { "all_to_all", "(M@x,K)", "(M,K@x)" },
}

-- Each product: its name, how A (M,K) and B (N,K) are spread, and C, if it is brought anywhere.
local products <const> = {
  { "rows", "(M@x,K)", "(N,K)" }, { "columns", "(M,K)", "(N@x,K)" },
  { "gathered", "(M@x,K)", "(N@x,K)", "(M,N@x)" },
  { "summed", "(M,K@x)", "(N,K@x)", "(M@x,N)" },
}

-- Milliseconds of n calls. `rows`: one on each device; what all devices did comes before the end.
local function time_batch(f, n, rows)
  local first, last = event(), event()
  synchronize()
  first:record()
  for _ = 1, n do f() end
  internal.mesh.meet(rows)
  last:record()
  last:synchronize()
  return first:elapsed(last)
end

-- Milliseconds of a call.
local function time(m, f)
  if not device().sm then return (bench(f, { reps = 1, batches = BATCHES })) end
  local marks <close>, rows, times = m:zeros(u8, { m.n }, "(_@" .. AXIS .. ")"), {}, {}
  for rank = 0, m.n - 1 do rows[rank + 1] = marks:part(rank) end
  time_batch(f, 1, rows)
  local n = math.min(math.max(math.floor(BATCH_MS / time_batch(f, 1, rows)), 3), MAX_REPS)
  for i = 1, BATCHES do times[i] = time_batch(f, n, rows) / n end
  table.sort(times)
  return times[(BATCHES + 1) // 2]
end

local function measure_move(m, row, bytes)
  local shape = row_major { math.max(m.n, bytes // (4 * WIDTH)), WIDTH }
  local x <close> = m:zeros(f32, shape, row[2])
  local plan = x:plan(row[3])
  local ms = time(m, function() reshard(x, row[3]):close() end)
  return { name = row[1], bytes = bytes, ms = ms, received = plan.bytes,
           model_ms = plan.seconds * 1e3, steps = #plan.steps }
end

local function measure_product(m, row, n)
  local dtype, square = device().sm and bf16 or f32, row_major { n, n }
  local A <close> = m:zeros(dtype, square, row[2])
  local B <close> = m:zeros(dtype, square, row[3])
  local C <close> = row[4] and m:zeros(dtype, square, row[4]) or nil
  local ms = time(m, function()
    local out = matmul(A, B, C)
    if out ~= C then out:close() end
  end)
  local a, b, c = zeros(dtype, square), zeros(dtype, square), zeros(dtype, square)
  local alone = time(m, function() matmul(a, b, c) end)
  for _, t in ipairs { a, b, c } do t:close() end
  return { name = "product, " .. row[1], n = n, type = dtype.name, ms = ms, one_device_ms = alone }
end

-- {====== The command ======

local USAGE <const> = [[
usage: cuttle bench mesh [options] [word ...]

Times redistributions of an f32 tensor over all devices, and prints what the plan's model expects.
Then times products of n x n matrices and the same product on one device. The words choose rows
and sizes:
  all_gather reduce_scatter all_reduce all_to_all      redistributions; else all
  rows columns gathered summed                         products; else all
  16M 1G                                               bytes of the whole tensor
  8192                                                 n

  --ranks=N             how many devices; else all GPUs, or four devices of the CPU engine
  --json[=FILE]         write JSON instead of the lines, to FILE or standard output
]]

local function fail(format, ...) error("bench mesh: " .. format:format(...), 0) end

local option_readers <const> = {
  ranks = function(o, value)
    o.ranks = math.tointeger(tonumber(value))
      or fail("--ranks=%s; expected a number of devices", value)
  end,
  json = values.json,
  help = function(o) o.help = true end,
}

local units <const> = { K = 1 << 10, M = 1 << 20, G = 1 << 30 }

local function is_row(rows, word)
  return lists.any(rows, function(row) return row[1] == word end)
end

local function read_word(o, word)
  local count, unit = word:match "^(%d+)([KMG]?)$"
  if is_row(moves, word) or is_row(products, word) then
    o.only = o.only or {}
    o.only[word] = true
  elseif count and unit ~= "" then
    table.insert(o.bytes, math.tointeger(tonumber(count)) * units[unit])
  elseif count then
    table.insert(o.sizes, math.tointeger(tonumber(count)))
  else
    fail("'%s' is neither a row nor a size; see cuttle bench mesh --help", word)
  end
end

local function read_arguments(...)
  local o = values.read_words("bench mesh", { ... }, { bytes = {}, sizes = {} },
    option_readers, read_word)
  local is_gpu = device().sm ~= nil
  if #o.bytes == 0 then o.bytes = is_gpu and { 1 << 20, 1 << 24, 1 << 28 } or { 1 << 20 } end
  if #o.sizes == 0 then o.sizes = { is_gpu and 8192 or 128 } end
  return o
end

-- Chooses that many devices, or all.
local function mesh_of(o)
  local info = device()
  if info.sm == nil then
    local n = o.ranks or info.n_devices > 1 and info.n_devices or 4
    device("cpu:" .. n)
    return mesh { [AXIS] = n }
  end
  return mesh { [AXIS] = o.ranks or #devices() - 1 }
end

local function bytes_text(n)
  for _, unit in ipairs { "G", "M", "K" } do
    if n >= units[unit] then return ("%.4g %siB"):format(n / units[unit], unit) end
  end
  return n .. " B"
end

local function print_row(r)
  if r.bytes then
    print(("%-18s %10s  %9.3f ms  %8.1f GB/s  model %.3f ms"):format(r.name, bytes_text(r.bytes),
      r.ms, r.received / r.ms * 1e-6, r.model_ms))
  else
    print(("%-18s %10s  %9.3f ms  one device %.3f ms, ratio %.2f"):format(r.name,
      r.n .. " " .. r.type, r.ms, r.one_device_ms, r.one_device_ms / r.ms))
  end
end

local function each_row(o, m, take)
  local function wanted(row) return not o.only or o.only[row[1]] end
  for _, row in ipairs(moves) do
    for _, bytes in ipairs(o.bytes) do
      if wanted(row) then take(measure_move(m, row, bytes)) end
    end
  end
  for _, row in ipairs(products) do
    for _, n in ipairs(o.sizes) do
      if wanted(row) then take(measure_product(m, row, n)) end
    end
  end
end

function M.run(...)
  local o, rows = read_arguments(...), {}
  if o.help then
    io.write(USAGE)
    return
  end
  local m = mesh_of(o)
  if not o.json then
    print(("%s: %s; GB/s are what a device receives"):format(plural(m.n, "device"), device().name))
  end
  each_row(o, m, o.json and function(r) rows[#rows + 1] = r end or print_row)
  if o.json then
    local report = { device = device().name, ranks = m.n, rows = rows }
    script_command.write(fail, o.json, json.encode(report) .. "\n")
  end
end

return M
