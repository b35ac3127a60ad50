-- matmul_lists.lua: products of tensors of any extents by one launch of matmul, which is given
-- lists of A, B and C: number g of C is that of A times that of B. A template's kernel takes the
-- lists, and a block finds the product that its tile is of (gemm_raster.lua). TMA takes no lists,
-- so tensor cores multiply by mma.sync. All products have one type, and strides of 1 in the same
-- modes.
local arguments = require "cuttle.arguments"
local launches = require "cuttle.operator_steps"
local problems = require "cuttle.matmul_problem"
local tiles = require "cuttle.tiles"
local M = {}

local known <const> = { "alpha", "beta", "config", "epilogue", "operands", "stream" }
local alike <const> = { "dtype", "c_dtype", "a_major", "b_major", "swapped", "device" }

local function fail(format, ...) tiles.fail("matmul", format, ...) end

local function is_list(x) return type(x) == "table" and getmetatable(x) == nil and #x > 0 end

local function check_list(x, name, n)
  if not is_list(x) or n and #x ~= n then
    fail("%s is of type %s%s; expected a list of %stensors, as A is a list", name,
      tiles.type_name(x), is_list(x) and (" with %d elements"):format(#x) or "",
      n and n .. " " or "")
  end
end

-- C may be absent.
local function read(A, B, C, options)
  if C ~= nil and not is_list(C) and options == nil then C, options = nil, C end
  options = arguments.options("matmul", options, known, "{alpha = 2.0}")
  check_list(A, "A")
  check_list(B, "B", #A)
  if C ~= nil then check_list(C, "C", #A) end
  return C, options
end

-- Is some mode of one element, so that its stride may be any?
local function is_thin(p) return p.m == 1 or p.n == 1 or p.k == 1 end

-- What the kernel knows of all: the problem with the most products, in lists. K is 0 if one has
-- none: few templates compute that.
local function joined(list)
  local most, p = list[1], { A = {}, B = {}, C = {} }
  for g, one in ipairs(list) do
    if one.m * one.n * one.k > most.m * most.n * most.k then most = one end
    for _, name in ipairs(alike) do
      if one[name] ~= list[1][name] then
        fail("number %d of the lists has %s %s, and number 1 %s; expected one type for all, and "
          .. "the same mode contiguous in all A, all B and all C", g, name, tostring(one[name]),
          tostring(list[1][name]))
      end
    end
    if one.l ~= 1 or one.nested then
      fail("number %d of the lists has batches or a mode with more than one stride; expected "
        .. "matrices (M,K), (N,K) and (M,N)", g)
    end
    if one.k == 0 then p.k = 0 end
    p.A[g], p.B[g], p.C[g] = one.A, one.B, one.C
  end
  return setmetatable(p, { __index = most })
end

-- The problems of all that have elements; those of thin matrices are like the first that is not.
local function problems_of(A, B, C, options)
  local list, like = {}, nil
  for g = 1, #A do
    local p = problems.problem(A[g], B[g], C[g], options)
    if p.m > 0 and p.n > 0 then
      list[#list + 1] = { p = p, at = g }
      if not is_thin(p) then like = like or p end
    end
  end
  for i, one in ipairs(list) do
    local g = one.at
    list[i] = like and is_thin(one.p) and problems.problem(A[g], B[g], C[g], options, like) or one.p
  end
  return list
end

-- Products run at the same time: none writes what another one reads or writes.
local function check_apart(A, B, C)
  local function flat(list, name)
    local all = {}
    for g, x in ipairs(list) do
      all[g] = arguments.flat(arguments.describe("matmul", x, ("%s[%d]"):format(name, g), true))
    end
    return all
  end
  local inputs = table.move(flat(B, "B"), 1, #B, #A + 1, flat(A, "A"))
  arguments.check_all_apart("matmul", flat(C, "C"), inputs)
end

-- The steps, and every C.
local function plan(step, A, B, C, options)
  local of_C, opts = read(A, B, C, options)
  local out, sizes = {}, {}
  local each = { alpha = opts.alpha, beta = opts.beta, epilogue = opts.epilogue,
                 operands = opts.operands }
  for g = 1, #A do out[g] = problems.operands(A[g], B[g], of_C and of_C[g], each) end
  local list = problems_of(A, B, out, each)
  check_apart(A, B, out)
  if #list == 0 then return {}, out end
  for g, one in ipairs(list) do sizes[g] = { one.m, one.n } end
  local p = joined(list)
  p.groups = { mode = "list", n = #list, sizes = sizes }
  return { step(p, opts.config, opts.stream) }, out
end

--- matmul({A1, A2}, {B1, B2}[, {C1, C2}][, options]) -> the list of C. `step` is matmul's.
function M.matmul(step, A, B, C, options)
  local steps, out = plan(step, A, B, C, options)
  launches.run(steps)
  return out
end

--- As matmul's prepare.
M["prepare matmul"] = function(step, A, B, C, options)
  local steps = plan(step, A, B, C, options)
  return launches.prepare(steps), steps[1] and steps[1].config.name or "none", steps
end

for _, name in ipairs { "explain", "tune" } do
  M[name .. " matmul"] = function()
    fail("%s takes one product, and A is a list; the second result of prepare names the "
      .. "configuration", name)
  end
end

return M
