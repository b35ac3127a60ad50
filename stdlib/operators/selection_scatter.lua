-- selection_scatter.lua: rows by their index: gather reads them, scatter_add adds to them, with
-- atomic operations or, in a fixed order, after a sort of the indices.
local arguments = require "cuttle.arguments"
local call = require "cuttle.selection_call"
local compacts = require "cuttle.selection_compact"
local memo = require "cuttle.memo"
local radix = require "cuttle.selection_sort"
local M = {}

local THREADS <const>, LANES <const> = 256, 32
local WORDS <const>, AHEAD <const> = 4, 4 -- words of a vector; vectors in flight of a thread
local MOST_PARTS <const> = 65535 -- of rows, in a grid
local index_types <const> = { i32, i64 }
local sum_types <const> = { f32, f64, i32, u32, i64, u64, f16, bf16 }

-- {====== Kernels ======

-- f(row) of a thread: `lanes` neighbours have a row.
local function with_row(n_rows, lanes, f)
  local row = (call.like(blockIdx.x, n_rows) * THREADS + threadIdx.x) // lanes
  if row < n_rows then f(row) end
end

-- f(row, column) of the elements of a thread.
local function each_element(n_rows, columns, lanes, f)
  with_row(n_rows, lanes, function(row)
    for column in range(threadIdx.x % lanes, columns, lanes) do f(row, column) end
  end)
end

-- Kernels by how many threads have a row.
local function by_lanes(make)
  local kernel_of = memo.by_arguments(make)
  return function(columns)
    local lanes = 1
    while lanes < LANES and lanes < columns do lanes = lanes * 2 end
    return kernel_of(lanes), lanes
  end
end

local gather_kernel = by_lanes(function(lanes)
  return kernel("gather", function(x, index, y, columns)
    each_element(size(index), columns, lanes, function(row, column)
      y[row * columns + column] = x[call.like(index[row], size(x)) * columns + column]
    end)
  end)
end)

-- The same of rows (words,rows) that are whole vectors. Blocks take AHEAD of a lane's in all rows
-- before they take the next: of rows that occur often, the cache then has those.
local gather_vectors_kernel = by_lanes(function(lanes)
  return kernel("gather", function(x, index, y)
    local vectors, held = size(x, 0) // WORDS, fragment(u32, {WORDS, AHEAD})
    with_row(size(index), lanes, function(row)
      local from, to = x(_, call.like(index[row], size(x))), y(_, row)
      local function each(first, f)
        for j = 0, AHEAD - 1 do
          local at = first + j * lanes
          if at < vectors then f(at, held(_, j)) end
        end
      end
      local part = lanes * AHEAD
      for first in range(blockIdx.y * part + threadIdx.x % lanes, vectors, gridDim.y * part) do
        each(first, function(at, own) copy(tile(from, {WORDS}, {at}), own) end)
        each(first, function(at, own) copy(own, tile(to, {WORDS}, {at})) end)
      end
    end)
  end)
end)

local add_kernel = by_lanes(function(lanes)
  return kernel("scatter_add", function(y, index, x, columns)
    each_element(size(index), columns, lanes, function(row, column)
      local at = call.like(index[row], size(y)) * columns + column
      atomic_add(y, at, x[row * columns + column])
    end)
  end)
end)

-- Each run of equal indices adds its rows to y in the order that they had.
local add_runs_kernel = by_lanes(function(lanes)
  return kernel("scatter_add_runs", function(y, index, places, starts, count, x, columns)
    local sums = call.type_of_sums(y.dtype)
    each_element(call.like(count[0], size(index)), columns, lanes, function(run, column)
      local first, last = starts[run], call.like(size(index), starts[run])
      if run + 1 < count[0] then last = starts[run + 1] end
      local at = call.like(index[first], size(y)) * columns + column
      local all = cast(y[at], sums)
      for i in range(first, last) do
        all = all + cast(x[call.like(places[i], size(x)) * columns + column], sums)
      end
      y[at] = cast(all, y.dtype)
    end)
  end)
end)

-- deep: columns of a lane, if blocks share rows.
local function step(make, n_rows, columns, args, deep)
  local k, lanes = make(columns)
  local parts = deep and min(cdiv(columns, lanes * deep), MOST_PARTS) or 1
  return { kernel = k, args = args,
    launch = { grid = { cdiv(n_rows * lanes, THREADS), parts }, block = THREADS } }
end

-- {====== Calls ======

-- x as rows by its first mode.
local function rows_of(op, x)
  if #x.extent == 0 then call.fail(op, "%s has no mode; expected (rows, ...)", x.name) end
  x.n_rows = x.extent[1]
  x.columns = 1
  for i = 2, #x.extent do x.columns = x.columns * x.extent[i] end
  return x
end

-- Rows as (words,rows), nil: they are no whole vectors.
local function in_words(t, columns)
  local bits = columns * t.dtype.bits
  if bits % (WORDS * u32.bits) ~= 0 or t.address % (WORDS * u32.bytes) ~= 0 then return nil end
  return view(recast(t, u32), layout{ bits // u32.bits, size(t) // columns })
end

--- gather(x, index[, options]) -> the rows of x, by its first mode, that the index names
M.gather = call.define("gather", 2, {}, "{out = y}", function(options, given, index)
  local op = "gather"
  local x = rows_of(op, call.whole(op, given, "x"))
  local by = call.vector(op, index, "index", x, index_types)
  local extent = table.move(x.extent, 1, #x.extent, 1, {})
  extent[1] = by.n
  local found, tensors = call.results(op, options, x,
    { { dtype = x.tensor.dtype, shape = extent, only = true } }, { x, by })
  if found[1].n == 0 then return {}, tensors end
  local y = found[1].flat
  local from, to = in_words(x.flat, x.columns), in_words(y, x.columns)
  if from and to then
    return { step(gather_vectors_kernel, by.n, size(from, 0) // WORDS, { from, by.flat, to },
      AHEAD) }, tensors
  end
  return { step(gather_kernel, by.n, x.columns, { x.flat, by.flat, y, x.columns }) }, tensors
end)

local function check_rows(op, y, by, x)
  local want = table.move(y.extent, 1, #y.extent, 1, {})
  want[1] = by.n
  if table.concat(x.extent, ",") ~= table.concat(want, ",") then
    call.fail(op, "x is (%s); expected (%s), a row for each index", table.concat(x.extent, ","),
      table.concat(want, ","))
  end
end

-- The steps that add in the order of the rows of x.
local function steps_in_order(y, by, x)
  local place = by.n < 1 << 31 and i32 or i64
  local sorted = call.described(call.work(y, by.tensor.dtype, by.n))
  local places, starts = call.work(y, place, by.n), call.work(y, place, by.n)
  local count = call.work(y, place, 1)
  local steps = radix.steps(by, true, sorted.flat, places, { below = y.n_rows })
  local more = compacts.run_start_steps(sorted, starts, count)
  table.move(more, 1, #more, #steps + 1, steps)
  steps[#steps + 1] = step(add_runs_kernel, by.n, y.columns,
    { y.flat, sorted.flat, places, starts, count, x.flat, y.columns })
  return steps
end

--- scatter_add(y, index, x[, options]) -> y, to whose row index[i] row i of x has been added
M.scatter_add = call.define("scatter_add", 3, { "deterministic" }, "{deterministic = true}",
  function(options, into, index, given)
    local op = "scatter_add"
    if options.out ~= nil then call.fail(op, "option out: the result is argument 1, y") end
    local y = rows_of(op, call.whole(op, into, "y"))
    local by = call.vector(op, index, "index", y, index_types)
    local x = call.whole(op, given, "x")
    call.check_device(op, x, y)
    check_rows(op, y, by, x)
    call.check_type(op, y, sum_types)
    call.check_type(op, x, { y.tensor.dtype })
    arguments.check_apart(op, y, { by, x })
    if x.n == 0 then return {}, { into } end
    if options.deterministic then return steps_in_order(y, by, x), { into } end
    return { step(add_kernel, by.n, y.columns, { y.flat, by.flat, x.flat, y.columns }) }, { into }
  end)

return M
