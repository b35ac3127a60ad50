-- selection_top.lua: the first k elements of each row in order, a block for each row. Passes over
-- the row count its digits, from the highest on, and so find how large an element may be, until few
-- enough elements are left for shared memory, where they are sorted. A row that fits is sorted at
-- once. Equal elements come in the order of their columns.
local call = require "cuttle.selection_call"
local numbers = require "cuttle.selection_keys"
local M = {}

local op <const> = "top_k"
local BITS <const> = 11 -- of a digit
local DIGITS <const> = 1 << BITS
local MOST <const> = 2048 -- elements of a result's row

-- {====== Which elements ======

-- The digit up to which there are `need` elements; how many come before it, and how many have it.
local function find_digit(c, counts, need)
  local found = shared(i32, 3)
  local each = DIGITS // c.threads
  local first, own = threadIdx.x * each, i32(0)
  for i = 0, each - 1 do own = own + counts[first + i] end
  local before = block_scan(own, "add", { exclusive = true })
  if before < need and need <= before + own then
    local digit = first
    while before + counts[digit] < need do
      before = before + counts[digit]
      digit = digit + 1
    end
    found[0], found[1], found[2] = digit, before, counts[digit]
  end
  sync_threads()
  return found[0], found[1], found[2]
end

-- The number of an element of the row, in the type c.dtype; with c.nan_last NaN comes last.
local function number_at(c, row, i)
  local v = row.x[row.first + i]
  if row.x.dtype ~= c.dtype then v = cast(v, c.dtype) end
  local number = numbers.number(v, c.largest)
  if c.nan_last then number = where(v == v, number, ~call.like(0, number)) end
  return number
end

-- f(i, number) of each element of the row that a thread has.
local function each_element(c, row, f)
  for i in range(threadIdx.x, row.columns, c.threads, { unroll = 4 }) do
    f(i, number_at(c, row, i))
  end
end

--- Which of the row's numbers are among the first k: those whose bits from `low` on are less than
--- `prefix`, n_less of them, and of the n_equal with these bits some. It ends when c.capacity holds
--- both, or all bits are known. c: dtype (numbers are of elements cast to it), largest, threads,
--- capacity; row: x, first, columns.
function M.narrow(c, row, k)
  local word, bits = numbers.word(c.dtype)
  local counts = shared(i32, DIGITS)
  local low, prefix, need = i32(bits), cast(0, word), k
  local n_less, n_equal = i32(0), row.columns
  while n_less + n_equal > c.capacity and low > 0 do
    local digit_bits = min(low, BITS)
    for i in range(threadIdx.x, DIGITS, c.threads) do counts[i] = 0 end
    sync_threads()
    each_element(c, row, function(_, number)
      if number >> low == prefix then
        local digit = number >> low - digit_bits & (cast(1, word) << digit_bits) - 1
        atomic_add(counts, cast(digit, i32), 1)
      end
    end)
    sync_threads()
    local digit, before, count = find_digit(c, counts, need)
    low, prefix = low - digit_bits, prefix << digit_bits | cast(digit, word)
    n_less, n_equal, need = n_less + before, count, need - before
  end
  return low, prefix, n_less, n_equal
end

-- Puts all elements up to the prefix into the list, in any order.
local function take_all(c, row, list, low, prefix)
  each_element(c, row, function(i, number)
    if number >> low <= prefix then
      local at = atomic_add(list.count, 0, 1)
      list.numbers[at], list.columns[at] = number, i
    end
  end)
end

-- Puts the elements below the number into the list, and of those that are equal to it the first
-- ones, so that there are k.
local function take_first(c, row, list, number_k, n_less, k)
  each_element(c, row, function(i, number)
    if number < number_k then
      local at = atomic_add(list.count, 0, 1)
      list.numbers[at], list.columns[at] = number, i
    end
  end)
  local n = n_less
  for start in range(0, row.columns, c.threads) do
    local i, is_equal = start + threadIdx.x, false
    if i < row.columns then
      is_equal = number_at(c, row, i) == number_k
    end
    local before, total = block_scan(where(is_equal, 1, 0), "add", { exclusive = true })
    if is_equal and n + before < k then
      list.numbers[n + before], list.columns[n + before] = number_k, i
    end
    n = n + total
  end
end

-- {====== Their order ======

-- Sorts the first n places of the list, a power of two: a bitonic network.
local function sort_list(c, list, n)
  local size = i32(2)
  while size <= n do
    local stride = size // 2
    while stride > 0 do
      for pair in range(threadIdx.x, n // 2, c.threads) do
        local a = 2 * pair - (pair & stride - 1)
        local b = a + stride
        local number_a, number_b = list.numbers[a], list.numbers[b]
        local column_a, column_b = list.columns[a], list.columns[b]
        local is_after = number_a > number_b or number_a == number_b and column_a > column_b
        if is_after == (a & size == 0) then
          list.numbers[a], list.numbers[b] = number_b, number_a
          list.columns[a], list.columns[b] = column_b, column_a
        end
      end
      sync_threads()
      stride = stride // 2
    end
    size = size * 2
  end
end

-- c: dtype, largest, threads, capacity (a power of two, of the list).
local function make(c)
  local word = numbers.word(c.dtype)
  return kernel("top_k", function(x, payload, out, columns, k)
    local row = { x = x, columns = columns, first = call.like(blockIdx.x, size(x)) * columns }
    local list = { numbers = shared(word, c.capacity), columns = shared(i32, c.capacity),
      count = shared(i32, 1) }
    if threadIdx.x == 0 then list.count[0] = 0 end
    local low, prefix, n_less, n_equal = M.narrow(c, row, k)
    local n_taken, n = min(n_less + n_equal, c.capacity), i32(1)
    if n_less + n_equal > c.capacity then n_taken = k end
    while n < n_taken do n = n * 2 end
    for i in range(n_taken + threadIdx.x, n, c.threads) do
      list.numbers[i], list.columns[i] = ~cast(0, word), 0x7fffffff
    end
    sync_threads()
    if n_less + n_equal <= c.capacity then
      take_all(c, row, list, low, prefix)
    else
      take_first(c, row, list, prefix, n_less, k)
    end
    sync_threads()
    sort_list(c, list, n)
    local first = call.like(blockIdx.x, size(x)) * k
    for i in range(threadIdx.x, k, c.threads) do
      local column = list.columns[i]
      if out.values then out.values[first + i] = x[row.first + column] end
      if out.moved then out.moved[first + i] = payload[row.first + column] end
      if out.columns then out.columns[first + i] = column end
    end
  end)
end

-- {====== Steps ======

local made = {}

local function kernel_of(c)
  local key = ("%s %s %d %d"):format(c.dtype.name, c.largest, c.threads, c.capacity)
  made[key] = made[key] or make(c)
  return made[key]
end

local LONG <const>, MIDDLE <const> = 16384, 512 -- columns from which blocks are larger
local LEAST <const> = 256 -- places of a list

local function choices(x, k, largest)
  local c = { dtype = x.tensor.dtype, largest = largest, capacity = LEAST }
  c.threads = x.columns >= LONG and 1024 or x.columns >= MIDDLE and 256 or 64
  while c.capacity < k do c.capacity = c.capacity * 2 end
  if c.dtype.bytes < 8 and c.capacity >= LEAST * 2 then c.capacity = c.capacity * 2 end
  return c
end

--- Can a block sort a whole row of x?
function M.holds(x) return x.columns <= MOST end

--- The step that finds the first k of each row, in ascending order or from the largest on. out has
--- flat tensors: values, moved (of the tensor payload) and columns, each of them or nil.
function M.step(x, payload, out, k, largest)
  local c = choices(x, k, largest)
  return { kernel = kernel_of(c), args = { n = 5, x.flat, payload, out, x.columns, k },
    launch = { grid = x.n_rows, block = c.threads } }
end

local function check_k(x, k)
  if math.type(k) ~= "integer" or k < 1 or k > MOST or k > x.columns then
    call.fail(op, "k is %s, and rows have %d elements; expected an integer from 1 to %d",
      tostring(k), x.columns, min(MOST, x.columns))
  end
end

--- top_k(x, k[, options]) -> the k largest elements of each row in order, and their columns
M.top_k = call.define(op, 2, { "smallest" }, "{smallest = true}", function(options, given, k)
  local x = call.whole(op, given, "x")
  call.check_type(op, x, numbers.types)
  check_k(x, k)
  local extent = table.move(x.extent, 1, #x.extent, 1, {})
  extent[#extent] = k
  local found, tensors = call.results(op, options, x, {
    { dtype = x.tensor.dtype, shape = extent, only = true },
    { dtype = i32, shape = extent, only = true } }, { x })
  if x.n == 0 then return {}, tensors end
  local out = { values = found[1].flat, columns = found[2].flat }
  return { M.step(x, nil, out, k, not options.smallest) }, tensors
end)

return M
