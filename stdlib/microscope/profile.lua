-- profile.lua: counts what kernels do, line by line, on the CPU engine, as a GPU would do it.
--   profile(f[, options])   runs f(), a launcher for example; a Profile, which prints as a table
-- Options: sm (a compute capability times 10, for occupancy: 90), device (a name of
-- profile_device.lua, for the roofline), sass (true: also the machine code of hot loops, by lines).
-- A Profile has `kernels`, one for each specialisation that
-- was launched; docs/debugging.md says what is in them. :json() is all of it as text,
-- :html([file]) a page, :patterns() the accesses.
local internal = ...
local lists = require "cuttle.lists"
local advice = require "cuttle.profile_advice"
local devices = require "cuttle.profile_device"
local json = require "cuttle.json"
local machine = require "cuttle.profile_machine"
local counts_of = require "cuttle.predict_counts".of
local option_names = require "cuttle.option_names"
local predict = require "cuttle.predict"
local l2_of = require "cuttle.profile_l2".l2_of
local settle_costs = require("cuttle.profile_cost").settle
local sources = require "cuttle.source_lines"
local tiles = require "cuttle.tiles"
local M = {}

local SECTOR <const> = 32
local LANES <const> = 32
local WARPS_OF_GROUP <const> = 4
local DEFAULT_SM <const> = 90
local MAX_PATTERNS <const> = 64 -- of an access
local MAX_JSON_PATTERNS <const> = 8

local Profile = {}
local profile_type = tiles.new_type("Profile", Profile)

local fail = require "cuttle.fail".of "profile"

-- {====== Accesses ======

local counts = { "requests", "lanes", "bytes", "used", "sectors", "wavefronts", "ideal" }

-- A kernel's lines in order, each with the accesses that were seen first first.
local function line_of(kernel, row)
  local key = row.chunk .. ":" .. row.line
  local line = kernel.by_key[key]
  if not line then
    line = { file = row.chunk, line = row.line, executions = 0, warp_instructions = 0,
             lane_instructions = 0, partial = 0, branches = 0, splits = 0, fma = 0, flops = 0,
             flops_f64 = 0, tensor_flops = 0, int_fma = 0, special = 0, mma = 0, atomics = 0,
             barriers = 0, shuffles = 0, votes = 0, wgmma = {}, accesses = {}, by_key = {},
             macs = { mma = {}, wgmma = {} } } -- of tensor cores, by bits of an operand's element
    kernel.by_key[key] = line
    kernel.lines[#kernel.lines + 1] = line
  end
  return line
end

local function blamed_tensor(row, mem)
  for _, other in ipairs(row.mem) do
    if other.role == mem.blamed then return other.tensor end
  end
  return mem.tensor
end

local function same_lanes(a, b)
  for i = 1, LANES do
    if a[i] ~= b[i] then return false end
  end
  return true
end

local function add_pattern(list, pattern)
  for _, known in ipairs(list) do
    if same_lanes(known, pattern) then
      known.count = known.count + pattern.count
      return
    end
  end
  if #list < MAX_PATTERNS then
    local copy = { table.unpack(pattern, 1, LANES) }
    copy.count, copy.warp, copy.cost, copy.ideal =
      pattern.count, pattern.warp, pattern.cost, pattern.ideal
    list[#list + 1] = copy
  end
end

local function new_counts()
  local t = {}
  for _, name in ipairs(counts) do t[name] = 0 end
  return t
end

local function access_of(line, row, mem, op, merged_bits)
  local blamed = blamed_tensor(row, mem)
  local key = table.concat({ mem.tensor, op, mem.vec, mem.why, blamed, tostring(mem.async),
                             mem.mma or "", merged_bits or "" }, " ")
  local access = line.by_key[key]
  if not access then
    access = { tensor = mem.tensor, space = mem.space, op = op, atomic = mem.atomic,
               async = mem.async, dtype = mem.dtype, vec = mem.vec,
               bits = 8 * mem.vec * mem.element_bytes, why = mem.why, blamed = blamed,
               mma = mem.mma, matrix = mem.matrix or nil, is_box = mem.box and true or nil,
               merged_bits = merged_bits,
               asked = new_counts(),
               widest = not mem.asked and new_counts() or nil,
               patterns = {} }
    for _, name in ipairs(counts) do access[name] = 0 end
    line.by_key[key] = access
    line.accesses[#line.accesses + 1] = access
  end
  return access
end

local function add_counts(to, from)
  for _, name in ipairs(counts) do to[name] = to[name] + from[name] end
end

local function add_access(line, row, mem, op)
  local counted = op ~= "atomic" and mem[op] or mem
  local own_bits = 8 * mem.vec * mem.element_bytes
  local is_wider = counted.bits and counted.bits > own_bits
  local access = access_of(line, row, mem, op, is_wider and counted.bits or nil)
  add_counts(access, counted)
  access.is_moved = access.is_moved or counted.is_moved
  access.is_unsure = access.is_unsure or counted.is_unsure
  add_counts(access.asked, mem.asked or mem)
  if access.widest then add_counts(access.widest, mem.widest or mem) end
  for _, pattern in ipairs(mem.patterns) do add_pattern(access.patterns, pattern) end
end

local function add_mem(line, row, mem)
  if mem.atomic then
    add_access(line, row, mem, "atomic")
    line.atomics = line.atomics + mem.lanes
    return
  end
  if mem.reads then add_access(line, row, mem, "load") end
  if mem.writes then add_access(line, row, mem, "store") end
end

-- Calls of tma_load and tma_store, with how many boxes one is and could be at least.
local function add_calls(line, row)
  local global, shared
  for _, mem in ipairs(row.mem) do
    if mem.box and mem.space == "global" then global = mem end
    if mem.box and mem.space == "shared" then shared = mem end
  end
  if not global then return end
  local key = table.concat({ "call", global.map, global.call, shared.tensor,
                             table.concat(global.fewest, "x") }, " ")
  if line.by_key[key] then return end
  line.by_key[key] = true
  line.calls = line.calls or {}
  line.calls[#line.calls + 1] = {
    op = global.reads and "tma_load" or "tma_store", tensor = global.tensor, dtype = global.dtype,
    shared = shared.tensor, boxes = global.call, box = global.box,
    n_fewest = global.n_fewest > 0 and global.n_fewest or nil, fewest = global.fewest }
end

-- What else an access could be is told where it differs: what was asked for, of one that the
-- compiler has changed; of one of which nobody knows, what it is if neighbours are merged.
local function settle_others(access)
  for _, name in ipairs { "asked", "widest" } do
    local other = access[name]
    local differs = other and (other.requests ~= access.requests
      or other.wavefronts ~= access.wavefronts or other.sectors ~= access.sectors)
    access[name] = differs and { requests = other.requests, bytes = other.bytes,
      sectors = access.space == "global" and other.sectors or nil,
      wavefronts = access.space ~= "global" and other.wavefronts or nil } or nil
  end
end

-- Rates from counts; what a space does not have is dropped.
local function settle_access(access)
  settle_others(access)
  if access.space == "global" then
    access.sectors_per_request = access.sectors / math.max(access.requests, 1)
    access.efficiency = access.used / math.max(access.sectors * SECTOR, 1)
    access.wavefronts, access.ideal = nil, nil
  else
    access.ideal_wavefronts = access.ideal
    access.conflicts = access.wavefronts - access.ideal
    access.degree = access.wavefronts / math.max(access.ideal, 1)
    access.sectors, access.used, access.ideal = nil, nil, nil
  end
  table.sort(access.patterns, function(a, b)
    if a.cost * b.ideal ~= b.cost * a.ideal then return a.cost * b.ideal > b.cost * a.ideal end
    return a.count > b.count
  end)
  access.reason, access.fix = advice.reason(access), advice.fix(access)
  access.remark = advice.remark(access)
end

-- {====== Lines ======

local adders = {
  fma = function(line, row)
    line.fma = line.fma + row.amount
    return 2 * row.amount
  end,
  flop = function(_, row) return row.amount end,
  special = function(line, row)
    line.special = line.special + row.amount
    return 0
  end,
  int = function(line, row)
    line.int_fma = line.int_fma + row.amount
    return 0
  end,
  mma = function(line, row)
    local n = row.amount // LANES -- of warps
    local macs = line.macs[row.wgmma and "wgmma" or "mma"]
    macs[row.mac_bits] = (macs[row.mac_bits] or 0) + n * row.macs
    line.tensor_flops = line.tensor_flops + 2 * n * row.macs
    if row.wgmma then
      line.wgmma[row.wgmma] = (line.wgmma[row.wgmma] or 0) + n // WARPS_OF_GROUP
    else
      line.mma = line.mma + n
    end
    return 0
  end,
}

local function add_row(line, row)
  line.executions = math.max(line.executions, row.n)
  line.warp_instructions = line.warp_instructions + row.n
  line.lane_instructions = line.lane_instructions + row.lanes
  line.partial = line.partial + row.partial
  line.branches = line.branches + (row.branch and row.n or 0)
  line.splits = line.splits + row.splits
  line.barriers = line.barriers + (row.barrier and row.n or 0)
  line.shuffles, line.votes = line.shuffles + row.shuffles, line.votes + row.votes
  local flops = row.work and adders[row.work](line, row) or 0
  local kind = row.f64 and "flops_f64" or "flops"
  line[kind] = line[kind] + flops
  for _, mem in ipairs(row.mem) do add_mem(line, row, mem) end
  add_calls(line, row)
end

-- What is left of an access that the compiler has merged with others of its tensor and line belongs
-- to one of those.
local function join_merged(line)
  local left = {}
  for _, access in ipairs(line.accesses) do
    local other
    for _, known in ipairs(access.requests == 0 and line.accesses or {}) do
      local is_same = known.tensor == access.tensor and known.op == access.op
      if is_same and known.merged_bits then other = known end
    end
    if other then
      add_counts(other.asked, access.asked)
      for _, pattern in ipairs(access.patterns) do add_pattern(other.patterns, pattern) end
    else
      left[#left + 1] = access
    end
  end
  line.accesses = left
end

local function settle_line(line, source_of)
  join_merged(line)
  line.active_lanes = line.lane_instructions / math.max(line.warp_instructions, 1)
  line.source = source_of(line.file, line.line)
  line.by_key = nil
  for _, access in ipairs(line.accesses) do settle_access(access) end
end

local function lines_of(program)
  local kernel = { by_key = {}, lines = {} }
  for _, row in ipairs(program.rows) do
    -- what moves registers only costs nothing that is counted here
    local counts_at_all = row.work or row.branch or row.barrier or row.shuffles > 0
      or row.votes > 0 or #row.mem > 0
    if row.n > 0 and counts_at_all then add_row(line_of(kernel, row), row) end
  end
  table.sort(kernel.lines, lists.by("file", "line"))
  local source_of = sources.reader()
  for _, line in ipairs(kernel.lines) do settle_line(line, source_of) end
  return kernel.lines
end

-- {====== Totals ======

local summed = { "fma", "flops", "flops_f64", "tensor_flops", "int_fma", "special", "mma",
  "atomics", "barriers", "shuffles", "votes", "branches", "splits", "warp_instructions",
  "lane_instructions" }

local function sum_of(lines, space, op, name)
  local sum = 0
  for _, line in ipairs(lines) do
    for _, access in ipairs(line.accesses) do
      if access.space == space and access.op == op then sum = sum + access[name] end
    end
  end
  return sum
end

local function totals_of(program, lines)
  local t = {}
  for _, name in ipairs(summed) do
    t[name] = 0
    for _, line in ipairs(lines) do t[name] = t[name] + line[name] end
  end
  t.wgmma = {}
  for _, line in ipairs(lines) do
    for shape, n in pairs(line.wgmma) do t.wgmma[shape] = (t.wgmma[shape] or 0) + n end
  end
  for _, op in ipairs { "load", "store", "atomic" } do
    for _, name in ipairs { "requests", "sectors", "bytes" } do
      t[("global_%s_%s"):format(op, name)] = sum_of(lines, "global", op, name)
    end
    for _, name in ipairs { "requests", "wavefronts", "conflicts", "bytes" } do
      t[("shared_%s_%s"):format(op, name)] = sum_of(lines, "shared", op, name)
    end
  end
  t.active_lanes = t.lane_instructions / math.max(t.warp_instructions, 1)
  t.sector_bytes = SECTOR
    * (t.global_load_sectors + t.global_store_sectors + t.global_atomic_sectors)
  local once, by_block, known = 0, 0, true
  for _, tensor in ipairs(program.tensors) do
    if tensor.space == "global" and tensor.read_once then
      once = once + tensor.read_once + tensor.written_once
      by_block = by_block + tensor.read_by_block + tensor.written_by_block
    elseif tensor.space == "global" and tensor.elements > 0 then
      known = false -- too large for its sectors to be told apart
    end
  end
  if known then t.once_bytes, t.by_block_bytes = SECTOR * once, SECTOR * by_block end
  return t
end

-- {====== The device ======

local function registers_of(program, sm)
  local registers, stack = machine.registers(program, sm)
  if not registers then return nil, nil, stack end
  return registers, stack
end

-- Why no device of that capability runs the kernel, where a target was refused by name; else nil.
local function refusal_of(why)
  return why and why:find "needs sm_%d" and why:gsub("; the CPU engine runs it$", "") or nil
end

-- What sass.lua says of the hot loop, or {why =}.
local function sass_of(program, sm)
  local image, chunks = machine.image(program, sm)
  local lines = image and require "cuttle.sass".lines(image, program.symbol, chunks)
  return lines or { why = not image and chunks or "the cubin has no such kernel" }
end

local function kernel_of(program, sm, device, waves)
  local is_settled, why_not = machine.settle(program, sm)
  local lines = lines_of(program)
  local k = { name = program.name, file = program.chunk, line = program.line, grid = program.grid,
              block = program.block, launches = program.launches, lines = lines,
              failed = program.failed > 0 and program.failed or nil,
              static_shapes = program.static_shapes,
              counted = is_settled and "machine code" or "CUDA C", machine_unknown = why_not,
              shared_bytes = program.shared_bytes, tensors = program.tensors,
              locals = program.locals }
  k.totals = totals_of(program, lines)
  k.registers, k.local_bytes, k.registers_unknown = registers_of(program, sm)
  local threads = k.block[1] * k.block[2] * k.block[3]
  k.occupancy = devices.occupancy(sm, threads, k.registers, k.shared_bytes)
  settle_costs(k, device)
  k.l2 = l2_of(program, k, device, waves)
  k.refused = refusal_of(k.registers_unknown)
  if k.refused then
    k.predicted = { why = k.refused }
    return k
  end
  local predicted, why = predict.launch(counts_of(program, k.registers, k.local_bytes), device)
  k.predicted = predicted or { why = why }
  return k
end

-- {====== Profiles ======

local function read_options(options)
  local sm = options.sm or DEFAULT_SM
  if math.type(sm) ~= "integer" or not devices.knows(sm) then
    fail("sm is %s; expected one of %s", tostring(sm), table.concat(devices.known_sms(), ", "))
  end
  local device = devices.find(options.device, sm)
  if not device then
    fail("device is '%s'; expected one of %s", tostring(options.device), devices.names())
  end
  return sm, device
end

-- Runs f(...) and counts what it launches: a Profile, and what pcall says of f. An error of f is
-- no error here, so that what ran until then can be shown.
-- options.call is called in place of pcall.
function M.run(f, options, ...)
  local sm, device = read_options(options)
  local session <close> = internal.watch.profile_begin(sm)
  local ok, message = (options.call or pcall)(f, ...)
  local programs = session:finish()
  local kernels = {}
  for i, program in ipairs(programs) do
    kernels[i] = kernel_of(program, sm, device, function(n) return session:waves(i, n) end)
    kernels[i].sass = options.sass and sass_of(program, sm) or nil
  end
  return setmetatable({ version = 1, sm = sm, kernels = kernels }, profile_type), ok, message
end

-- Plain tables for json.lua, with a few patterns of each access.
local function plain(x)
  if type(x) ~= "table" then return x end
  local out = {}
  for key, value in pairs(x) do
    if key == "patterns" then
      value = table.move(value, 1, math.min(#value, MAX_JSON_PATTERNS), 1, {})
      for i, pattern in ipairs(value) do
        value[i] = { count = pattern.count, warp = pattern.warp, cost = pattern.cost,
                     ideal = pattern.ideal, offsets = { table.unpack(pattern, 1, LANES) } }
      end
    end
    out[key] = plain(value)
  end
  return out
end

-- All of it as JSON text.
function Profile:plain() return plain(self) end
function Profile:json() return json.encode(plain(self)) end

-- What warps of the first block access, of shared tensors or, with "global", of those.
function Profile:patterns(space)
  local out = {}
  for _, kernel in ipairs(self.kernels) do
    for _, line in ipairs(kernel.lines) do
      for _, access in ipairs(line.accesses) do
        for _, pattern in ipairs(access.space == (space or "shared") and access.patterns or {}) do
          out[#out + 1] = { kernel = kernel.name, file = line.file, line = line.line,
                            tensor = access.tensor, op = access.op, dtype = access.dtype,
                            vec = access.vec, count = pattern.count, cost = pattern.cost,
                            ideal = pattern.ideal, offsets = { table.unpack(pattern, 1, LANES) } }
        end
      end
    end
  end
  return out
end

function profile_type:__tostring() return require "cuttle.profile_table".text(self) end

-- A page with the source beside the figures: written to a file, whose name is returned, or as text.
function Profile:html(file) return require "cuttle.profile_page".page(self, file) end

function M.profile(f, options)
  options = option_names.check("profile", options, { "sm", "device", "sass" })
  if type(f) ~= "function" and not (getmetatable(f) or {}).__call then
    fail("argument 1 is of type %s; a function was expected", require "cuttle.type_name"(f))
  end
  local profile, ok, message = M.run(f, options)
  if not ok then error(message, 0) end
  if #profile.kernels == 0 then
    fail("no kernel was launched on the CPU engine; choose it with device(\"cpu\") before tensors "
      .. "are made")
  end
  return profile
end

return M
