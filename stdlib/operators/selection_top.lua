-- selection_top.lua: the first k elements of each row in order, a block for each row. Passes over
-- the row count its digits, from the highest on, and so find how large an element may be, until few
-- enough elements are left for shared memory, where they are sorted. A row that fits is sorted at
-- once. Equal elements come in the order of their columns.
local internal = ...
local call = require "cuttle.selection_call"
local memo = require "cuttle.memo"
local numbers = require "cuttle.selection_keys"
local M = {}

local op <const> = "top_k"
local BITS <const> = 11 -- of a digit
local DIGITS <const> = 1 << BITS
local MOST <const> = 2048 -- elements of a result's row
local COUNTED <const> = 256 -- elements of a list that are put in order by counting

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

-- The number of an element, in the type c.dtype; with c.nan_last NaN comes last.
local function number_of(c, v, dtype)
  if dtype ~= c.dtype then v = cast(v, c.dtype) end
  local number = numbers.number(v, c.largest)
  if c.nan_last then number = where(v == v, number, ~call.like(0, number)) end
  return number
end

local function number_at(c, row, i) return number_of(c, row.x[row.first + i], row.x.dtype) end

--- f(i, number, element) of each element of the row that a thread has: vectors of c.width, which
--- divides the columns, c.unroll (nil: 4) at once.
function M.each_element(c, row, f)
  local first = row.first // c.width
  for v in range(threadIdx.x, row.columns // c.width, c.threads, { unroll = c.unroll or 4 }) do
    local now = fragment(row.x.dtype, c.width)
    copy(tile(row.x, { c.width }, { first + v }), now)
    for e = 0, c.width - 1 do f(v * c.width + e, number_of(c, now[e], now.dtype), now[e]) end
  end
end

--- Which of the row's numbers are among the first k: those whose bits from `low` on are less than
--- `prefix`, n_less of them, and of the n_equal with these bits some. It ends when c.capacity holds
--- both, or all bits are known but c.least (nil: 0) low ones, in which equal numbers do not differ.
--- c: dtype (numbers are of elements cast to it), largest, threads, capacity; row: x, first,
--- columns.
function M.narrow(c, row, k)
  local word, bits = numbers.word(c.dtype)
  local counts = shared(i32, DIGITS)
  local low, prefix, need = i32(bits), cast(0, word), k
  local n_less, n_equal = i32(0), row.columns
  while n_less + n_equal > c.capacity and low > (c.least or 0) do
    local digit_bits = min(low, BITS)
    for i in range(threadIdx.x, DIGITS, c.threads) do counts[i] = 0 end
    sync_threads()
    M.each_element(c, row, function(_, number)
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

--- The last number whose bits from `low` on are the prefix.
function M.last_with(low, prefix)
  return prefix << low | (cast(1, internal.kernel.dtype_of(prefix)) << low) - 1
end

-- Puts an element into the list, if there is room, and counts it.
local function put(list, number, column)
  local at = atomic_add(list.count, 0, 1)
  if at < size(list.numbers) then list.numbers[at], list.columns[at] = number, column end
end

-- Puts all elements up to the prefix into the list, in any order.
local function take_all(c, row, list, low, prefix)
  M.each_element(c, row, function(i, number)
    if number >> low <= prefix then put(list, number, i) end
  end)
end

--- The k-th smallest of c.groups numbers, of which groups of neighbouring threads have one each:
--- the least of mine[0] of their threads.
function M.limit_of(c, mine, k)
  local lanes, t = c.threads // c.groups, threadIdx.x
  local of_groups, limit = shared(mine.dtype, c.groups), shared(mine.dtype, 1)
  local least = warp_reduce(mine[0], "min", lanes)
  if t % lanes == 0 then of_groups[t // lanes] = least end
  sync_threads()
  local n_before = i32(0)
  for i in range(t % lanes, c.groups, lanes, { unroll = 16 }) do
    local other = of_groups[i]
    local is_before = other < least or other == least and i < t // lanes
    n_before = n_before + where(is_before, 1, 0)
  end
  n_before = warp_reduce(n_before, "add", lanes)
  if t % lanes == 0 and n_before == k - 1 then limit[0] = least end
  sync_threads()
  return limit[0]
end

-- Puts the first k elements and some others into the list, and returns how many there are, perhaps
-- more than it holds. At least k elements come no later than the k-th first of the groups' first
-- ones; and where a thread's first one comes later, all of its elements do.
local function take_by_groups(c, row, list, k)
  local first = fragment(numbers.word(c.dtype), 1)
  first[0] = ~cast(0, first.dtype)
  M.each_element(c, row, function(_, number) first[0] = min(first[0], number) end)
  local limit = M.limit_of(c, first, k)
  if first[0] <= limit then
    M.each_element(c, row, function(i, number)
      if number <= limit then put(list, number, i) end
    end)
  end
  sync_threads()
  return list.count[0]
end

-- Puts the elements below the number into the list, and of those that are equal to it the first
-- ones, so that there are k.
local function take_first(c, row, list, number_k, n_less, k)
  M.each_element(c, row, function(i, number)
    if number < number_k then put(list, number, i) end
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

-- f(rank, column) of the first k elements in order, each in one thread: by counting what comes
-- before, or by sorting the list.
local function each_ranked(c, list, n, k, f)
  local t, is_counted, n_places = threadIdx.x, n <= min(c.threads, COUNTED), i32(1)
  if not is_counted then
    while n_places < n do n_places = n_places * 2 end
    for i in range(n + t, n_places, c.threads) do
      list.numbers[i], list.columns[i] = ~cast(0, list.numbers.dtype), 0x7fffffff
    end
  end
  sync_threads()
  if is_counted then
    if t < n then
      local number, column, rank = list.numbers[t], list.columns[t], i32(0)
      for i in range(n) do
        local other = list.numbers[i]
        local is_before = other < number or other == number and list.columns[i] < column
        rank = rank + where(is_before, 1, 0)
      end
      if rank < k then f(rank, column) end
    end
  else
    sort_list(c, list, n_places)
    for i in range(t, k, c.threads) do f(i, list.columns[i]) end
  end
end

-- The first k elements and perhaps more are put into the list; returns how many.
local function take(c, row, list, k)
  local low, prefix, n_less, n_equal = M.narrow(c, row, k)
  local n = n_less + n_equal
  if n <= c.capacity then
    take_all(c, row, list, low, prefix)
  else
    take_first(c, row, list, prefix, n_less, k)
    n = k
  end
  return n
end

-- c: dtype, largest, threads, capacity (a power of two, of the list), width (elements of a vector),
-- groups (of threads, nil: digits are counted at once).
local function make(c)
  local word = numbers.word(c.dtype)
  return kernel("top_k", function(x, payload, out, columns, k)
    local row = { x = x, columns = columns, first = call.like(blockIdx.x, size(x)) * columns }
    local list = { numbers = shared(word, c.capacity), columns = shared(i32, c.capacity),
      count = shared(i32, 1) }
    if threadIdx.x == 0 then list.count[0] = 0 end
    sync_threads()
    local n = i32(c.capacity + 1)
    if c.groups then n = take_by_groups(c, row, list, k) end
    if n > c.capacity then
      if c.groups then
        sync_threads() -- all have read the count
        if threadIdx.x == 0 then list.count[0] = 0 end
        sync_threads()
      end
      n = take(c, row, list, k)
    end
    local first = call.like(blockIdx.x, size(x)) * k
    each_ranked(c, list, n, k, function(rank, column)
      if out.values then out.values[first + rank] = x[row.first + column] end
      if out.moved then out.moved[first + rank] = payload[row.first + column] end
      if out.columns then out.columns[first + rank] = column end
    end)
  end)
end

-- {====== Steps ======

local kernel_of = memo.by_fields({ "dtype", "largest", "threads", "capacity", "width", "groups" },
  make)

local LONG <const>, MIDDLE <const> = 16384, 512 -- columns from which blocks are larger
local LEAST <const> = 256 -- places of a list
local VECTOR_BYTES <const>, LEAST_GROUPS <const>, MOST_GROUPS <const> = 16, 64, 256

--- Elements of a vector that divides rows of so many columns.
function M.width(dtype, columns)
  local width = max(1, VECTOR_BYTES // dtype.bytes)
  return columns % width == 0 and width or 1
end

--- The groups of threads whose first elements limit which ones are among the first k: about twice
--- k; nil if there are too few threads or elements.
function M.groups_for(c, columns, k)
  local groups = LEAST_GROUPS
  while groups < 2 * k do groups = 2 * groups end
  if groups <= min(MOST_GROUPS, c.threads) and columns >= 4 * c.threads then return groups end
end

local function choices(x, k, largest)
  local c = { dtype = x.tensor.dtype, largest = largest, capacity = LEAST }
  local most = k <= MOST_GROUPS // 2 and 512 or 1024
  c.threads = x.columns >= LONG and most or x.columns >= MIDDLE and 256 or 64
  c.width = M.width(c.dtype, x.columns)
  c.groups = M.groups_for(c, x.columns, k)
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
