-- gather_matmul.lua: C = A B' where A's rows are spread over ranks in panels of equal height: the
-- other panels are copied here while the rank's own is multiplied, by one kernel (gemm_gather.lua).
-- This file checks the arguments, sees C in panels too, keeps the memory for the copies, and
-- launches. The panels must be complete when the kernel begins: it waits for no other rank.
--
-- M.trouble says of a problem why it cannot be computed so. Then gather the panels and call matmul.
local on_device = require "cuttle.operator_device"
local arguments = require "cuttle.arguments"
local devices = require "cuttle.profile_device"
local hopper = require "cuttle.gemm_hopper"
local launches = require "cuttle.operator_steps"
local matmul = require "cuttle.matmul"
local tiles = require "cuttle.tiles"
local M = {}

local TEMPLATE <const> = "cuttle.gemm_gather"
local MOST_TILES <const> = 1 << 16 -- rows of tiles in the walk's table

local function fail(format, ...) tiles.fail("gather_matmul", format, ...) end

local function one_each(n_sms) return n_sms end
local function sixteens(n_sms) return math.max(n_sms - n_sms % 16, 1) end

-- Is nothing done with the sums?
local function is_plain(p)
  return p.alpha == 1 and p.beta == 0 and not p.bias and not p.epilogue
end

-- Those of matmul for large and small problems (matmul_configs.lua), and more registers for the
-- threads that copy. The first whose tiles fill the multiprocessors is taken, or the last. Where
-- something is done with the sums, C goes in two passes, or threads would spill registers.
M.configs = {
  { name = "gather 256x128x64, plain", template = TEMPLATE, tile = { 256, 128, 64 }, stages = 3,
    schedule = "cooperative", registers = { 104, 200 }, store = { 4, 1 }, order = "hilbert",
    blocks = sixteens, vectors = 16, cooperative = true, when = is_plain },
  { name = "gather 256x128x64", template = TEMPLATE, tile = { 256, 128, 64 }, stages = 3,
    schedule = "cooperative", registers = { 72, 216 }, store = { 2, 2 }, order = "hilbert",
    blocks = sixteens, vectors = 8, cooperative = true },
  { name = "gather 128x128x64", template = TEMPLATE, tile = { 128, 128, 64 }, stages = 5,
    schedule = "cooperative", registers = { 104, 200 }, store = { 1, 2 }, order = "hilbert",
    blocks = one_each, vectors = 16, cooperative = true },
  { name = "gather 64x64x64", template = TEMPLATE, tile = { 64, 64, 64 }, stages = 6,
    schedule = "cooperative", groups = 1, store = { 1, 1 }, order = "hilbert",
    blocks = one_each, vectors = 4, cooperative = true },
}

local HALVES <const> = { f16 = true, bf16 = true }
local known_options <const> =
  { "alpha", "beta", "bias", "config", "epilogue", "operands", "stream" }

-- {====== Arguments ======

local function is_tensor(x) return tiles.type_name(x) == "tensor" end

local function check_panels(panels, own_rank)
  if type(panels) ~= "table" or is_tensor(panels) or #panels == 0 then
    fail("panels is of type %s; expected a list of tensors (M/W,K), one of each rank",
      tiles.type_name(panels))
  elseif math.type(own_rank) ~= "integer" or own_rank < 0 or own_rank >= #panels then
    fail("rank is %s, but there are %d panels; expected 0 to %d", tostring(own_rank), #panels,
      #panels - 1)
  end
  local own = panels[own_rank + 1]
  for i, x in ipairs(panels) do
    arguments.check_tensor("gather_matmul", x, "panel " .. i, "(M/W,K)", "it launches a kernel")
    if rank(x) ~= 2 or x.dtype ~= own.dtype or size(x, 0) ~= size(own, 0)
      or size(x, 1) ~= size(own, 1) then
      fail("panel %d is %s of %s, but that of rank %d is %s of %s; panels have equal shapes "
        .. "(M/W,K)", i, x.dtype, x.layout, own_rank, own.dtype, own.layout)
    end
  end
  return own
end

local function check_result(C, own, n_panels)
  arguments.check_tensor("gather_matmul", C, "C", "(M,N)", "it launches a kernel")
  if rank(C) ~= 2 or size(C, 0) ~= n_panels * size(own, 0) then
    fail("C is %s; expected (%d,N), as there are %d panels %s", C.layout,
      n_panels * size(own, 0), n_panels, own.layout)
  end
end

-- {====== The problem ======

-- A matrix (M,N) as (M/W,N,W).
local function by_panels(x, n_panels)
  local t = arguments.describe("gather_matmul", x, "C")
  local height, stride = t.extent[1] // n_panels, t.stride
  return view(x, layout({ height, t.extent[2], n_panels },
    { stride[1], stride[2], stride[1] * height }))
end

local wrapped = setmetatable({}, { __mode = "k" }) -- by epilogue, then by height of a panel

-- What the kernel calls with the panel as its batch.
local function wrap(epilogue, height)
  if type(epilogue) ~= "function" then return epilogue end
  local of = wrapped[epilogue] or {}
  wrapped[epilogue] = of
  of[height] = of[height] or function(v, m, n, l, ...)
    return epilogue(v, l * height + m, n, 0, ...)
  end
  return of[height]
end

local function problem_of(own, B, C, n_panels, options)
  local height = size(own, 0)
  local all = view(own, layout({ height, size(own, 1), n_panels },
    { stride(own)[1], stride(own)[2], 0 })) -- what matmul knows of A
  local bias = options.bias
  if is_tensor(bias) and rank(bias) == 2 then bias = by_panels(bias, n_panels) end
  return matmul.problem(all, B, by_panels(C, n_panels), {
    alpha = options.alpha, beta = options.beta, bias = bias, operands = options.operands,
    epilogue = wrap(options.epilogue, height) })
end

-- {====== What the kernel can do ======

local function is_compact(x)
  local strides, extents = stride(x), shape(x)
  return (strides[2] == 1 or extents[2] == 1) and (strides[1] == extents[2] or extents[1] == 1)
end

--- Why the current device has not the kernel's instructions, or nil.
function M.device_trouble()
  local sm = device().sm
  if sm and sm ~= 90 then return ("it is for sm_90a, and this device is sm_%d"):format(sm) end
end

local function problem_trouble(p, panels)
  if not HALVES[p.dtype.name] then
    return ("its elements are f16 or bf16, and A's are %s"):format(p.dtype)
  elseif not p.swapped then
    return "C must be contiguous along N"
  elseif p.a_major ~= "k" then
    return "B must be contiguous along K"
  elseif p.k == 0 then
    return "K is 0"
  end
  for i, x in ipairs(panels) do
    if not is_compact(x) then
      return ("panels must be compact, contiguous along K; panel %d is %s"):format(i, x.layout)
    end
  end
  local height = cdiv(p.n, M.configs[#M.configs].tile[2])
  if height * #panels >= MOST_TILES then
    return ("A has %d rows of tiles, and %d are the most"):format(height * #panels, MOST_TILES - 1)
  end
  return hopper.trouble(M.configs[1], p)
end

local function trouble_of(p, panels) return M.device_trouble() or problem_trouble(p, panels) end

--- Why gather_matmul cannot compute it; nil: it can. Bad arguments are errors.
function M.trouble(panels, rank, B, C, options)
  local own = check_panels(panels, rank)
  check_result(C, own, #panels)
  if #panels == 1 then return nil end
  return trouble_of(problem_of(own, B, C, #panels, options or {}), panels)
end

--- The configuration of a list for a problem; `wanted`: its name, or one itself, or nil.
function M.choose(configs, p, wanted)
  if type(wanted) == "table" then return wanted end
  local device = device()
  for _, config in ipairs(configs) do
    local n = cdiv(p.m, config.tile[1]) * cdiv(p.n, config.tile[2]) * p.l
    local is_chosen = wanted == nil and device.sm and n >= devices.n_sms(device)
      and (config.when == nil or config.when(p))
    if is_chosen or wanted == config.name then return config end
  end
  if wanted ~= nil then fail("there is no configuration '%s'", tostring(wanted)) end
  return configs[#configs]
end

-- {====== Memory ======

local workspaces = {} -- by device, stream, element type and rank

local function new_copy(own, n)
  local memory = tensor(own.dtype, n)
  return memory.device == own.device and memory or memory:to(own.device)
end

-- Memory for the copies and flags that are 0, of launches that follow each other. A launch that
-- failed on the CPU engine leaves its flags, so each has new ones there.
local function space_of(p, own, config, stream, rank)
  local key = ("%s %s %s %d"):format(p.device, tostring(stream), p.dtype, rank)
  local space = workspaces[key] or { size = 0, n_flags = 0 }
  workspaces[key] = space
  local size, n_flags = size(own) * (p.l - 1), require(TEMPLATE).n_flags(config, p)
  if space.size < size then space.memory, space.size = new_copy(own, size), size end
  if space.n_flags < n_flags or not device().sm then
    space.n_flags = math.max(n_flags, space.n_flags)
    space.flags = on_device.zero_words(p.device, space.n_flags)
  end
  return space
end

-- The parts of it that a launch takes. memo.parts: those of an earlier launch, as they are used
-- again until the memory is another.
local function workspace_of(p, own, config, stream, rank, memo)
  local known = memo and memo.parts
  if known and known.memory == known.space.memory and known.all_flags == known.space.flags
    and device().sm then
    return known
  end
  local space = space_of(p, own, config, stream, rank)
  local height, depth = size(own, 0), size(own, 1)
  local parts = { space = space, memory = space.memory, all_flags = space.flags,
    copy = view(space.memory, layout({ height, depth, p.l - 1 },
      { depth, 1, height * depth })),
    flags = view(space.flags, layout(require(TEMPLATE).n_flags(config, p))) }
  if memo then memo.parts = parts end
  return parts
end

-- {====== Launches ======

local kept_lists = setmetatable({}, { __mode = "k" }) -- by whose they are, then by name

--- The list, or an equal one that `owner` had under this name. The device keeps the table of a list
--- as long as the list is the same; the host waits where it is another.
function M.same_list(owner, name, list)
  local of = kept_lists[owner] or {}
  kept_lists[owner] = of
  local known = of[name]
  local is_same = known ~= nil and #known == #list
  for i = 1, is_same and #list or 0 do is_same = is_same and rawequal(known[i], list[i]) end
  if not is_same then of[name] = list end
  return of[name]
end

-- What the kernel is given beside B and C.
local function add_panels(p, panels, rank, config, stream, memo)
  local own, others = panels[rank + 1], {}
  local parts = workspace_of(p, own, config, stream, rank, memo)
  for i = 1, #panels - 1 do others[i] = panels[(rank + i) % #panels + 1] end
  others = M.same_list(panels, rank, others)
  p.panels = { own = own, others = others, copy = parts.copy, flags = parts.flags, rank = rank,
               count = #panels }
  return p
end

local function step_of(panels, rank, B, C, options)
  local own = check_panels(panels, rank)
  check_result(C, own, #panels)
  local p = problem_of(own, B, C, #panels, options)
  local why = trouble_of(p, panels)
  if why then fail("%s. Gather A and call matmul", why) end
  if p.m == 0 or p.n == 0 then return nil end
  local config = M.choose(M.configs, p, options.config)
  return matmul.step(add_panels(p, panels, rank, config, options.stream), config, options.stream), p
end

local function read_options(options)
  return arguments.options("gather_matmul", options, known_options, "{alpha = 2.0}")
end

--- gather_matmul(panels, rank, B, C[, options]) -> C: C (M,N) = A (M,K) B (N,K)', A's rows being
--- those of the panels, one after the other. The options are matmul's.
function M.gather_matmul(panels, rank, B, C, options)
  options = read_options(options)
  check_panels(panels, rank)
  if #panels == 1 then return matmul.matmul(panels[1], B, C, options) end
  local step = step_of(panels, rank, B, C, options)
  launches.run{ step }
  return C
end

--- The step that it launches, of at least 2 panels: {kernel =, launch =, args =}. memo: a table of
--- the caller's, for tensors of these layouts, types and devices, this rank and this alpha, without
--- other options. Then C is neither B nor a panel.
function M.step(panels, rank, B, C, options, memo)
  local function find() return step_of(panels, rank, B, C, read_options(options)) end
  if not memo then return (find()) end
  return matmul.step_by(memo, nil, B, C, function(p, config)
    return add_panels(p, panels, rank, config, nil, memo)
  end, find)
end

--- The same, to be launched again at least cost, but not beside other launches that share its
--- memory: those of the same stream may follow. Returns a function, and the configuration's name.
function M.prepare(panels, rank, B, C, options)
  options = read_options(options)
  check_panels(panels, rank)
  if #panels == 1 then return matmul.prepare(panels[1], B, C, options) end
  local step = step_of(panels, rank, B, C, options)
  return launches.prepare{ step }, step and step.config.name or "none"
end

return M
