-- selection_options.lua: what `sample` is asked for. Each option is a number, or a tensor with a
-- number for each row, as requests that are served together differ. A kernel gets a number ready
-- for use; of a tensor it computes the same from its row's element.
local call = require "cuttle.selection_call"
local choices = require "cuttle.row_choices"
local lists = require "cuttle.lists"
local plural = require "cuttle.plural"
local tiles = require "cuttle.tiles"
local M = {}

local op <const> = "sample"
local ranges <const> = { temperature = { 0, 1e30 }, top_p = { 0, 1 }, min_p = { 0, 1 } }
local LEAST <const> = 1e-20 -- a temperature: 0 takes the largest

--- Is an option, or a kernel's argument, a tensor?
function M.is_of_rows(v) return tiles.type_name(v) == "tensor" end

-- A tensor that has an element for each row of x, as selection_call.lua describes it.
local function of_rows(name, v, x, dtype)
  local t = call.whole(op, v, name)
  if t.n ~= x.n_rows then
    call.fail(op, "%s has %s, but x has %s; expected one element for each row", name,
      plural(t.n, "element"), plural(x.n_rows, "row"))
  end
  call.check_device(op, t, x)
  call.check_type(op, t, { dtype })
  return t
end

local function check_number(name, v)
  local low, high = table.unpack(ranges[name])
  if type(v) ~= "number" or not (v > low and v <= high) then
    call.fail(op, "%s is %s; expected a number above %g, at most %g, or a tensor", name,
      tostring(v), low, high)
  end
  return v + 0.0
end

local function check_k(name, k)
  if math.type(k) ~= "integer" or k < 1 then
    call.fail(op, "%s is %s; expected an integer from 1 on, or a tensor", name, tostring(k))
  end
  return k
end

local function check_seed(name, seed)
  if math.type(seed) ~= "integer" then
    call.fail(op, "%s is %s; expected an integer, or a tensor", name, tostring(seed))
  end
  return seed
end

local readers <const> = {
  temperature = { f32, check_number }, top_p = { f32, check_number }, min_p = { f32, check_number },
  top_k = { i32, check_k }, seed = { i64, check_seed },
}

--- The options by their names: numbers, or flat tensors; the list `tensors` describes the latter.
function M.read(x, options)
  local o = { temperature = 1.0, seed = 0, tensors = {} }
  for _, name in ipairs(lists.keys(readers)) do
    local v, dtype, check = options[name], table.unpack(readers[name])
    if M.is_of_rows(v) then
      local t = of_rows(name, v, x, dtype)
      o.tensors[#o.tensors + 1], o[name] = t, t.flat
    elseif v ~= nil then
      o[name] = check(name, v)
    end
  end
  if math.type(o.top_k) and o.top_k >= x.columns then o.top_k = nil end
  return o
end

-- {====== In kernels ======

--- What kernels use, made of an f64.
M.uses = {
  itself = function(v) return v end,
  scale = function(temperature) return 1.0 / max(temperature, LEAST) end,
  factor = choices.factor,
  log2 = function(v) return log2(v) end,
}

--- A kernel's argument for an option, of which the kernel needs `use`; nil stays nil.
function M.argument(v, use)
  if v == nil or M.is_of_rows(v) then return v end
  return f32(use(v))
end

--- What the block's row needs of such an argument.
function M.own(v, use)
  if not M.is_of_rows(v) then return v end
  return cast(use(cast(v[blockIdx.x], f64)), f32)
end

--- The seed and the number of the block's row among random numbers. With a seed of its own a row's
--- place does not count.
function M.own_seed(seed)
  if M.is_of_rows(seed) then return seed[blockIdx.x], 0 end
  return seed, blockIdx.x
end

--- The block's k: all columns if it is below 1, or too large.
function M.own_k(k, columns)
  if not M.is_of_rows(k) then return k end
  local own = k[blockIdx.x]
  return where(own < 1 or own > columns, columns, own)
end

return M
