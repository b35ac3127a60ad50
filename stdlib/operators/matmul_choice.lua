-- matmul_choice.lua: which configuration of matmul_configs.lua a problem gets: what is known of it,
-- which rows can compute it, and the first of these that is meant for it.
local internal = ...
local configs = require "cuttle.matmul_configs"
local devices = require "cuttle.profile_device"
local given = require "cuttle.operator_config"
local lists = require "cuttle.lists"
local scaling = require "cuttle.gemm_scales"
local tiles = require "cuttle.tiles"
local M = { list = configs.list }

local SIMPLE <const>, SIMT <const> = "cuttle.gemm_simple", "cuttle.gemm_simt"
local majors_of <const> = { mn = { mn = "NT", k = "NN" }, k = { mn = "TT", k = "TN" } }

--- What choices look at: the type's name, the majorness as BLAS calls it ("NT", "TN", "NN" or
--- "TT"), the kind of device, its compute capability, a block's shared memory, how many
--- multiprocessors there are, and what else is known of it. Of a text that `cuttle emit` writes
--- they are the target's, and of a problem that has a target that one's.
function M.facts(p)
  if p.type_name == nil then
    p.type_name, p.majors = p.dtype.name, majors_of[p.a_major][p.b_major]
  end
  if p.target == nil then
    local emit_sm, _, emit_bytes = internal.launch.emit_sm()
    p.target = (emit_sm or p.device ~= "cpu") and "cuda" or "cpu"
    local device = p.target == "cuda" and not emit_sm and device() or {}
    p.sm, p.shared = emit_sm or device.sm or 0, emit_sm and emit_bytes or device.shared_bytes or 0
    p.n_sms, p.place = devices.n_sms(device), device
  end
  return p
end
local facts <const> = M.facts

--- Does a GPU have the row's instructions and the memory for its tiles?
function M.can_run(row, dtype, majors, sm, shared)
  local bytes_of = require(row.template).shared_bytes
  local only = row.only_sm
  return sm >= (row.sm or 0) and (only == nil or sm == only or type(only) == "table" and only[sm])
    and (bytes_of == nil or bytes_of(row, dtype, majors) <= shared)
end

--- Can the row's kernel compute the problem at all? The CPU engine runs what any GPU runs.
function M.can_compute(row, p)
  facts(p)
  if row.types and not row.types[p.type_name] or row.majors and not row.majors[p.majors] then
    return false -- most rows, at least cost
  elseif p.nested and not require(row.template).takes_nested then
    return false
  end
  local trouble = require(row.template).trouble
  if scaling.trouble(row, p) then return false end
  return (row.template == SIMPLE or p.k > 0) and (trouble == nil or trouble(row, p) == nil)
    and (p.target == "cpu" or M.can_run(row, p.dtype, p.majors, p.sm, p.shared))
end

--- Is the row meant for the problem's type, strides and device?
function M.fits(row, p) return row.device == facts(p).target and M.can_compute(row, p) end

-- Of gathered operands the simple kernel was measured to be faster than those for f32.
local function is_slowed(row, p)
  return row.template == SIMT and p.nested ~= nil and (p.nested.A or p.nested.B) ~= nil
end

--- Is it, and may the problem have it?
function M.accepts(row, p)
  return M.fits(row, p) and (row.needs == nil or row.needs(p, row)) and not is_slowed(row, p)
end

--- The rows that are meant for the problem's type, strides and device.
function M.of(p) return lists.filter(M.list, function(row) return M.fits(row, p) end) end

-- Why a row's kernel does not compute the problem; nil: it does, or not on this device or for
-- this type or major.
local function trouble_of(row, p)
  local template = require(row.template)
  return p.nested and not template.takes_nested and "it supports no mode with more than one stride"
    or scaling.trouble(row, p) or template.trouble and template.trouble(row, p) or nil
end

local function by_name(name, p)
  for _, row in ipairs(M.list) do
    if row.name == name then
      if not M.can_compute(row, p) then
        local why = trouble_of(row, p)
        tiles.fail("matmul", "configuration '%s' is not for this problem: %s, %s, K = %d, on %s%s",
          name, p.dtype, p.majors, p.k, p.device, why and "; " .. why or "")
      end
      return row
    end
  end
  local names = lists.map(M.of(p), function(row) return "'" .. row.name .. "'" end)
  tiles.fail("matmul", "there is no configuration '%s'; for this problem there are %s", name,
    table.concat(names, ", "))
end

--- A table that the option of that name gave, which must be a configuration.
function M.checked(row, option)
  given.check("matmul", option, row, M.list)
  return row
end

-- Why no row is for a type that the plain template does not have: what the type's own row says.
local function reason(p)
  for _, row in ipairs(M.list) do
    if row.device == p.target and row.types and row.types[p.type_name] then
      local why = p.k == 0 and "K is 0"
        or row.majors and not row.majors[p.majors] and "A and B must be contiguous along K"
        or trouble_of(row, p)
        or ("it needs sm_100a, sm_103a or sm_110a, and this is sm_%d"):format(p.sm)
      return ("; of '%s': %s"):format(row.name, why)
    end
  end
  return ""
end

--- The row for a problem; `wanted`: its name, or a configuration itself, or nil.
function M.choose(p, wanted)
  if type(wanted) == "table" then return wanted end
  if wanted ~= nil then return by_name(tostring(wanted), p) end
  for _, row in ipairs(M.list) do
    if M.accepts(row, p) and (row.when == nil or row.when(p, row)) then return row end
  end
  tiles.fail("matmul", "no configuration multiplies %s on %s%s", p.dtype, p.target, reason(p))
end

--- Of the rows for which keeps(row) is true, the one that is taken for the problem or, if none is
--- meant for it, the one whose tiles take the multiprocessors the least time; nil if there is none.
function M.best(p, keeps)
  for _, row in ipairs(M.list) do
    if keeps(row) and M.accepts(row, p) and (row.when == nil or row.when(p, row)) then
      return row
    end
  end
  local least, best = math.huge, nil
  for _, row in ipairs(M.list) do
    local bM, bN = row.tile[1], row.tile[2]
    local work = cdiv(configs.n_tiles(p, bM, bN), p.n_sms) * bM * bN
    if work < least and M.can_compute(row, p) and keeps(row) then least, best = work, row end
  end
  return best
end

return M
