-- einsum and contract against plain loops over all letters: random texts of one to four operands,
-- with diagonals, letters of one operand alone, extents of 0 and 1, any strides, alpha and beta.
-- Elements are small integers, so that all sums are exact.
local einsum_of, modes = require "cuttle.einsum", require "cuttle.einsum_modes"
local below = math.random
math.randomseed(tonumber(arg[2] or 20261129))

local here = zeros(f32, 1).device
local LETTERS <const> = { "a", "b", "c", "d", "e" }
local types <const> = { f32, f64, f16, i32, i8, i64 }

local function letters_of(n, may_repeat)
  local list, seen = {}, {}
  while #list < n do
    local x = LETTERS[below(#LETTERS)]
    if not seen[x] or may_repeat and below(4) == 1 then list[#list + 1] = x end
    seen[x] = true
  end
  return list
end

-- A tensor with these extents, the modes in some order in memory, perhaps with gaps.
local function random_tensor(dtype, extents)
  local order, stride, at = {}, {}, 1
  for i = 1, #extents do table.insert(order, below(i), i) end
  for _, i in ipairs(order) do
    stride[i] = at
    at = at * math.max(1, extents[i]) + (below(4) == 1 and 1 or 0)
  end
  local small = rand(i32, at, dtype == i8 and 0 or -2, 2):to("cpu")
  local numbers = reference.cast(small, dtype):to(here)
  if #extents == 0 then return numbers end
  return view(numbers, layout(extents, stride))
end

local function tensor_of(dtype, names, extent)
  local extents = {}
  for i, name in ipairs(names) do
    extents[i] = extent[name] > 1 and below(8) == 1 and 1 or extent[name]
  end
  -- A diagonal has one extent.
  local first = {}
  for i, name in ipairs(names) do
    first[name] = first[name] or extents[i]
    extents[i] = first[name]
  end
  return random_tensor(dtype, extents)
end

-- Calls f(value by name) for all values of the names below their extents.
local function each(names, extent, f)
  local at = {}
  local function go(i)
    if i > #names then return f(at) end
    for v = 0, extent[names[i]] - 1 do
      at[names[i]] = v
      go(i + 1)
    end
  end
  go(1)
end

local function element(x, names, at)
  if #names == 0 then return x[0] end
  local crd = {}
  for i, name in ipairs(names) do crd[i] = size(x, i - 1) == 1 and 0 or at[name] end
  return x[crd]
end

local function set_of(lists)
  local all, seen = {}, {}
  for _, list in ipairs(lists) do
    for _, name in ipairs(list) do
      if not seen[name] then all[#all + 1] = name end
      seen[name] = true
    end
  end
  return all
end

-- The extents that the operands have together: an extent of 1 goes with any.
local function joint_extents(operands, names)
  local extent = {}
  for i, list in ipairs(names) do
    for j, name in ipairs(list) do
      local n = size(operands[i], j - 1)
      if not extent[name] or extent[name] == 1 then extent[name] = n end
    end
  end
  return extent
end

local function by_loops(operands, names, result, extent)
  local all, out, sums = set_of{ result, table.unpack(names) }, {}, {}
  each(result, extent, function(at)
    out[#out + 1] = table.move(result, 1, #result, 1, {})
    for i, name in ipairs(result) do out[#out][i] = at[name] end
  end)
  local function key(at)
    local list = {}
    for i, name in ipairs(result) do list[i] = at[name] end
    return table.concat(list, ",")
  end
  each(all, extent, function(at)
    local v = 1
    for i, x in ipairs(operands) do v = v * element(x, names[i], at) end
    sums[key(at)] = (sums[key(at)] or 0) + v
  end)
  return out, sums
end

local function agrees(C, out, sums, old, alpha, beta)
  for _, crd in ipairs(out) do
    local where = #crd > 0 and crd or 0
    local want = alpha * (sums[table.concat(crd, ",")] or 0)
    if beta ~= 0 then want = want + beta * old[where] end
    if C[where] ~= want then
      return false, ("(%s): %s, not %s"):format(table.concat(crd, ","), C[where], want)
    end
  end
  return true
end

local n_run, failures = 0, {}

local function note(ok, text)
  n_run = n_run + 1
  if not ok then failures[#failures + 1] = text end
end

local function result_of(names)
  local all, result = set_of(names), {}
  for _, name in ipairs(all) do
    if below(2) == 1 then table.insert(result, below(#result + 1), name) end
  end
  return result
end

local function random_case()
  local dtype, n, extent, names = types[below(#types)], below(4), {}, {}
  for _, x in ipairs(LETTERS) do extent[x] = below(40) == 1 and 0 or below(6) end
  if n > 2 then n, dtype = below(2) + 2, f64 end
  local operands = {}
  for i = 1, n do
    names[i] = letters_of(below(4), true)
    operands[i] = tensor_of(dtype, names[i], extent)
  end
  extent = joint_extents(operands, names)
  local result = result_of(names)
  local parts = {}
  for i, list in ipairs(names) do parts[i] = table.concat(list) end
  local text = table.concat(parts, ",") .. "->" .. table.concat(result)
  local out, sums = by_loops(operands, names, result, extent)
  local options = { alpha = below(3) - 1, beta = below(2) - 1 }
  local wide = einsum_of.einsum(text, table.unpack(operands))
  local C, old
  if below(2) == 1 and #result > 0 then
    local extents = {}
    for i, name in ipairs(result) do extents[i] = extent[name] end
    C = random_tensor(wide.dtype, extents)
    old = zeros(C.dtype, layout(extents)):to("cpu")
    each(result, extent, function(at)
      local crd = {}
      for i, name in ipairs(result) do crd[i] = at[name] end
      old[crd] = C[crd]
    end)
    operands[n + 1] = C
  else
    options.beta = 0
  end
  operands[#operands + 1] = options
  modes.least_flops = below(2) == 1 and 0 or math.huge -- products apart, also of small ones
  local made = einsum(text, table.unpack(operands))
  local ok, why = agrees(made, out, sums, old, options.alpha, options.beta)
  if ok and options.beta == 0 then -- by what was kept
    made = einsum(text, table.unpack(operands))
    ok, why = agrees(made, out, sums, old, options.alpha, options.beta)
  end
  note(ok, ("%s %s alpha %d beta %d: %s"):format(dtype, text, options.alpha, options.beta, why))
end

for _ = 1, tonumber(arg[1] or 70) do random_case() end
print(#failures == 0 and "ok 1 - random texts" or "not ok 1 - random texts")
modes.least_flops = math.huge
for _, text in ipairs(failures) do print("# " .. text) end
print("# " .. n_run .. " texts")

local n_checks = 1

local function check(name, got, want)
  n_checks = n_checks + 1
  print(("%s %d - %s"):format(tostring(got) == tostring(want) and "ok" or "not ok", n_checks, name))
  if tostring(got) ~= tostring(want) then print("# got: " .. tostring(got)) end
end

-- Without "->", and "...".
local A, B = rand(f32, {2, 3, 4}), rand(f32, {2, 5, 4})
check("letters that are there once stay, in the order of the alphabet",
  allclose(einsum("bmk,bnk", A, B), einsum("bmk,bnk->mn", A, B)), true)
check("'...' stands for the modes before the letters",
  allclose(einsum("...mk,...nk->...mn", A, B), einsum("bmk,bnk->bmn", A, B)), true)
local W1 = rand(f32, {5, 4})
check("operands may have fewer of them", allclose(einsum("...mk,nk", A, W1),
  einsum("bmk,nk->bmn", A, W1)), true)

-- Modes that go on from each other are one, so that templates without gathering fit.
local X, W = rand(f16, row_major{2, 8, 64}), rand(f16, row_major{32, 64})
check("modes fold", einsum_of.explain("bsd,fd->bsf", X, W, zeros(f16, row_major{2, 8, 32}))[1]
  :match "^[^:]*", "rows b s (16), columns f (32), sums d (64), batches - (1)")
check("nothing is gathered", einsum_of.explain("bsd,fd->bsf", X, W,
  zeros(f16, row_major{2, 8, 32})).text:find "gather", nil)

-- Names.
local P = view(A, A.layout:named("batch", "M", "K"))
local Q = view(B, B.layout:named("batch", "N", "K"))
local R = contract(P, Q, {keep = "batch"})
check("contract keeps names", R.layout, "(batch=2,M=3,N=5):(1,2,6)")
check("and multiplies", allclose(R, einsum("bmk,bnk->bmn", A, B)), true)
check("what both have is summed", allclose(contract(P, Q), einsum("bmk,bnk->mn", A, B)), true)
local C = zeros(f32, {5, 2, 3})
contract(P, Q, view(C, C.layout:named("N", "batch", "M")))
check("the names of C say what stays", allclose(C, einsum("bmk,bnk->nbm", A, B)), true)
print("1.." .. n_checks)
