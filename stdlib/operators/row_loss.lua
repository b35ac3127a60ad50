-- row_loss.lua: cross entropy of a vocabulary that is cut into parts: of ranks, or of chunks whose
-- logits are made one after the other, so that they are never all in memory. A row's loss is
-- lse - (1 - smoothing) x[target] - smoothing mean(x) + z lse^2, where lse is the logarithm of the
-- sum of exp(x); a row with the target `ignored` has the loss 0, and one with any other target that
-- is no column NaN.
local arguments = require "cuttle.arguments"
local on_device = require "cuttle.operator_device"
local option_names = require "cuttle.option_names"
local operator = require "cuttle.row_operator"
local tiles = require "cuttle.tiles"
local M = {}

local op <const> = "linear_cross_entropy"

local function fail(format, ...) tiles.fail(op, format, ...) end

-- {====== Parts of rows ======

--- cross_entropy_part(x, target, first) -> of each row of a part, whose columns are those from
--- `first` on: the logarithm of the sum of exp(x), the target's x or 0 if another part has it, and
--- the sum of x.
M.cross_entropy_part = row_kernel("cross_entropy_part", function(row, x, target, first)
  row:expect_once "target"
  local element = row:pick("x", target - first, false)
  local picked = where(row:is_column(target - first), element, 0.0)
  local top, sum = row:max_and_sum_exp(x, element)
  return row:once(top + log(sum)), row:once(picked), row:once(row:sum(x))
end)

--- cross_entropy_merge(lse, picked, total, target, columns, smoothing, z, ignored) -> the loss and
--- the lse of each row, from what its parts have, (rows, parts). `columns`: of all parts.
M.cross_entropy_merge = row_kernel("cross_entropy_merge",
  function(row, lse, picked, total, target, columns, smoothing, z, ignored)
    row:expect_once "target"
    local top, sum = row:max_and_sum_exp(lse)
    local all = top + log(sum)
    local of_target, of_all = row:sum(picked, total)
    local goal = (1.0 - smoothing) * of_target + smoothing * of_all / cast(columns, f32)
    goal = where(target >= 0 and target < columns, goal, -(0 / 0))
    return row:once(where(target == ignored, 0.0, all - goal + z * all * all)), row:once(all)
  end)

--- cross_entropy_part_backward(dloss, x, target, lse, first, columns, smoothing, z, ignored) -> dx
--- of a part, from the lse of the whole rows
M.cross_entropy_part_backward = row_kernel("cross_entropy_part_backward",
  function(row, dloss, x, target, lse, first, columns, smoothing, z, ignored)
    for _, name in ipairs { "dloss", "target", "lse" } do row:expect_once(name) end
    local share = where(row:column() + first == target, 1.0 - smoothing, 0.0)
      + smoothing / cast(columns, f32)
    local d = row:exp(x - lse) * (1.0 + 2.0 * z * lse) - share
    return where(target == ignored, 0.0, d * dloss)
  end)

-- The loss, the lse and the gradient of a row, for a goal that goal_of(row, x, picked) makes.
local function both_of(goal_of)
  return function(row, dloss, x, target, smoothing, z, ignored)
    for _, name in ipairs { "dloss", "target" } do row:expect_once(name) end
    local picked = row:pick("x", target, target ~= ignored)
    local top, sum = row:max_and_sum_exp(x, picked)
    local lse = top + log(sum)
    local loss = lse - goal_of(row, x, picked, smoothing) + z * lse * lse
    loss = where(row:is_column(target), loss, -(0 / 0))
    local share = where(row:column() == target, 1.0 - smoothing, 0.0) + smoothing / row:length()
    local d = row:exp(x - lse) * (1.0 + 2.0 * z * lse) - share
    return where(target == ignored, 0.0, d * dloss), row:once(where(target == ignored, 0.0, loss)),
      row:once(lse)
  end
end

-- cross_entropy_both(dloss, x, target, smoothing, z, ignored) -> dx, the loss and the lse: the row
-- is read once. Only a smoothed loss needs the mean of x.
local sharp_both = row_kernel("cross_entropy_both",
  both_of(function(_, _, picked) return picked end))
local smooth_both = row_kernel("smooth_cross_entropy_both",
  both_of(function(row, x, picked, smoothing)
    return (1.0 - smoothing) * picked + smoothing * row:mean(x)
  end))

-- {====== Without the logits in memory ======

local LOGITS <const> = 1 << 26 -- elements in memory at once, if rows are few enough
local LEAST_CHUNK <const> = 1024 -- columns, below which products are slow

local AT_ONCE <const> = 1 << 28 -- logits in memory with which gradients are made at once
local ROWS_MULTIPLE <const> = 128

local positive <const>, number <const> = option_names.whole(1), option_names.number
local known_options <const> = { chunk = positive, columns = positive, rows = positive, out = true,
  first = option_names.whole(0), ignored = number, smoothing = number, z = number }

-- A matrix without modes of modes.
local function matrix(t, name)
  arguments.check_tensor(op, t, name, "of 2 modes", "it launches kernels itself")
  if rank(t) ~= 2 then fail("%s is %s; expected 2 modes", name, shape(t)) end
  return arguments.plain(op, t, name)
end

-- The problem of a call: sizes, the chunks' columns, the numbers of the loss, the given ones of its
-- n results, and what launches (row_operator.lua).
local function read(launch, x, weight, target, options, n_results)
  x, weight, target = matrix(x, "x"), matrix(weight, "weight"), matrix(target, "target")
  local n, k, columns = size(x, 0), size(x, 1), size(weight, 0)
  if size(weight, 1) ~= k then
    fail("x is %s and weight is %s; expected (rows, K) and (columns, K)", shape(x), shape(weight))
  elseif size(target, 0) ~= n or size(target, 1) ~= 1 then
    fail("target is %s; expected (%d,1), a column for each row", shape(target), n)
  end
  options = arguments.options(op, options or {}, known_options, "{smoothing = 0.1}")
  local chunk = options.chunk or math.max(LEAST_CHUNK, LOGITS // math.max(n, 1))
  return { launch = launch, n = n, k = k, columns = columns, chunk = math.min(chunk, columns),
    x = x, weight = weight, target = target, device = x.device, first = options.first or 0,
    all_columns = options.columns or columns, smoothing = options.smoothing or 0.0,
    z = options.z or 0.0, ignored = options.ignored or -100,
    out = arguments.results(op, options.out, n_results) }
end

local function scratch(p, dtype, ...)
  return on_device.scratch(p.device, dtype, row_major { ... })
end

-- Result i: the given one, checked, or a new one.
local function result(p, out, i, dtype, rows, columns)
  local given = out and out[i]
  if given == nil then return on_device.new(p.device, dtype, row_major { rows, columns }) end
  local name = ("out[%d]"):format(i)
  given = matrix(given, name)
  if given.dtype ~= dtype or size(given, 0) ~= rows or size(given, 1) ~= columns then
    fail("%s is %s of shape %s; expected %s of shape (%d,%d)", name, given.dtype, shape(given),
      dtype, rows, columns)
  end
  return given
end

-- The given results of a call, or those that it made.
local function given_or(p, ...)
  if p.out then return table.unpack(p.out) end
  return ...
end

-- Rows [first, first + n) of a matrix.
local function rows_from(t, first, n)
  return view(tile(t, { 1, size(t, 1) }, { first, 0 }), layout({ n, size(t, 1) }, stride(t)))
end

-- The first n columns of a matrix.
local function left(t, n) return view(t, layout({ size(t, 0), n }, stride(t))) end

-- Column i of a matrix as (rows, 1).
local function column(t, i) return tile(t, { size(t, 0), 1 }, { 0, i }) end

local function transposed(t)
  local e, d = { size(t, 0), size(t, 1) }, stride(t)
  return view(t, layout({ e[2], e[1] }, { d[2], d[1] }))
end

-- body(i, first, weight, logits) for each chunk: its number, first column, and logits.
local function each_chunk(p, body)
  local memory = scratch(p, f32, p.n, p.chunk)
  for i = 0, cdiv(p.columns, p.chunk) - 1 do
    local first = i * p.chunk
    local n = math.min(p.chunk, p.columns - first)
    local weight, logits = rows_from(p.weight, first, n), left(memory, n)
    p.launch.matmul(p.x, weight, logits)
    body(i, first, weight, logits)
  end
end

-- What the chunks have, in three tensors (rows, chunks) of make(i, chunks).
local function parts_of(p, make)
  local n_parts, made = cdiv(p.columns, p.chunk), {}
  for i = 1, 3 do made[i] = make(i, n_parts) end
  local lse, picked, total = table.unpack(made)
  each_chunk(p, function(i, first, _, logits)
    p.launch.rows(M.cross_entropy_part, logits, p.target, p.first + first,
      { out = { column(lse, i), column(picked, i), column(total, i) } })
  end)
  return lse, picked, total
end

--- linear_cross_entropy_parts(x, weight, target, options) -> what cross_entropy_merge takes of this
--- rank's part of the vocabulary, (rows, chunks) each. Options: chunk, first, out.
M.linear_cross_entropy_parts = operator.new("linear_cross_entropy_parts",
  function(launch, x, weight, target, options)
    local p = read(launch, x, weight, target, options, 3)
    return given_or(p, parts_of(p, function(i, n) return result(p, p.out, i, f32, p.n, n) end))
  end)

--- linear_cross_entropy(x, weight, target, options) -> the loss and the lse of each row, (rows, 1),
--- of the logits x weight': x is (rows, K), weight (columns, K), target (rows, 1). Options:
--- smoothing, z, ignored (-100), out, and chunk, how many columns of logits are in memory at once.
M.linear_cross_entropy = operator.new(op, function(launch, x, weight, target, options)
  local p = read(launch, x, weight, target, options, 2)
  local lse, picked, total = parts_of(p, function(_, n) return scratch(p, f32, p.n, n) end)
  return launch.rows(M.cross_entropy_merge, lse, picked, total, target, p.all_columns, p.smoothing,
    p.z, p.ignored, { out = p.out })
end)

local narrowed = row_kernel("narrowed", function(_, x) return x end)

-- Each chunk reads all that the call is given, after results of others have been written.
local function check_apart(p, dloss, lse)
  if not p.out then return end
  local others = {}
  for _, of in ipairs { { "x", p.x }, { "weight", p.weight }, { "target", p.target },
    { "lse", lse }, { "dloss", dloss } } do
    local name, t = table.unpack(of)
    if tiles.type_name(t) == "tensor" then
      others[#others + 1] = arguments.flat(arguments.describe(op, t, name))
    end
  end
  for i, t in ipairs(p.out) do arguments.check_memory(op, t, ("out[%d]"):format(i), others) end
end

--- linear_cross_entropy_backward(dloss, x, weight, target, lse, options) -> dx, dweight, of the
--- types of x and weight. dloss is (rows, 1) or a number; the options are the forward pass's. Of a
--- part of the vocabulary, `first` and `columns` say which: dx is then the part's, to be added up.
M.linear_cross_entropy_backward = operator.new("linear_cross_entropy_backward",
  function(launch, dloss, x, weight, target, lse, options)
    local p = read(launch, x, weight, target, options, 2)
    local dx, dweight = result(p, p.out, 1, x.dtype, p.n, p.k),
      result(p, p.out, 2, weight.dtype, p.columns, p.k)
    check_apart(p, dloss, lse)
    local sum = x.dtype == f32 and dx or scratch(p, f32, p.n, p.k)
    local memory = scratch(p, x.dtype, p.n, p.chunk)
    each_chunk(p, function(i, first, part, logits)
      local d = left(memory, size(logits, 1))
      launch.rows(M.cross_entropy_part_backward, dloss, logits, target, lse, p.first + first,
        p.all_columns, p.smoothing, p.z, p.ignored, { out = d })
      launch.matmul(transposed(d), transposed(p.x), rows_from(dweight, first, size(d, 1)))
      launch.matmul(d, transposed(part), sum, { beta = i > 0 and 1.0 or 0.0 })
    end)
    if sum ~= dx then launch.rows(narrowed, sum, { out = dx }) end
    return given_or(p, dx, dweight)
  end)

-- How many rows of logits are in memory at once.
local function rows_at_once(p, options)
  local n = options and options.rows
    or math.max(1, AT_ONCE // (p.columns * ROWS_MULTIPLE)) * ROWS_MULTIPLE
  return math.max(1, math.min(n, p.n))
end

--- linear_cross_entropy_gradients(dloss, x, weight, target, options) -> the loss and the lse of
--- each row, dx and dweight: the forward and the backward pass in one, which makes the logits once.
--- Options: smoothing, z, ignored, out, and rows, how many rows of logits, of x's type, are in
--- memory at once.
M.linear_cross_entropy_gradients = operator.new("linear_cross_entropy_gradients",
  function(launch, dloss, x, weight, target, options)
    local p = read(launch, x, weight, target, options, 4)
    local loss, lse = result(p, p.out, 1, f32, p.n, 1), result(p, p.out, 2, f32, p.n, 1)
    local dx, dweight = result(p, p.out, 3, x.dtype, p.n, p.k),
      result(p, p.out, 4, weight.dtype, p.columns, p.k)
    check_apart(p, dloss)
    local n_rows = rows_at_once(p, options)
    local memory = scratch(p, x.dtype, n_rows, p.columns)
    local both = p.smoothing == 0 and sharp_both or smooth_both
    for first = 0, p.n - 1, n_rows do
      local n = math.min(n_rows, p.n - first)
      local function part(t)
        return tiles.type_name(t) == "tensor" and rows_from(matrix(t, "dloss"), first, n) or t
      end
      local logits, own = rows_from(memory, 0, n), part(p.x)
      launch.matmul(own, p.weight, logits)
      launch.rows(both, part(dloss), logits, part(p.target), p.smoothing, p.z, p.ignored,
        { out = { logits, part(loss), part(lse) } })
      launch.matmul(logits, transposed(p.weight), part(dx))
      launch.matmul(transposed(logits), transposed(own), dweight,
        { beta = first > 0 and 1.0 or 0.0 })
    end
    return given_or(p, loss, lse, dx, dweight)
  end)

return M
