-- owners.lua: which thread and value own each element of a tile, found element by element.

local M = {}

local OUTSIDE <const> = "!" -- marks a place beyond the tile

-- of[thread] = list of places as text, in the order of its values; who[element] = list of {thread,
-- value}; outside = how many places are owned that lie beyond the tile. An element is its number
-- in the tile, counted column-major.
local function owners_new()
  return { of = {}, who = {}, outside = 0 }
end

local MIN_RUN <const> = 16 -- fewer threads are listed one by one

-- Owners {thread, value} in the order of values and then of threads, as runs {first, last, value}:
-- many neighbouring threads that have an element as the same value are one, such as a warp group
-- that reads a tile of shared memory.
function M.runs(list)
  local runs, at = {}, 1
  while at <= #list do
    local first, last = list[at], at
    while last < #list and list[last + 1].value == first.value and
      list[last + 1].thread == list[last].thread + 1 do last = last + 1 end
    if last - at + 1 < MIN_RUN then last = at end
    runs[#runs + 1] = { first = first.thread, last = list[last].thread, value = first.value }
    at = last + 1
  end
  return runs
end

-- The threads of a run as pictures say them: T3, T0-127.
function M.threads_text(run)
  return run.first == run.last and "T" .. run.first or ("T%d-%d"):format(run.first, run.last)
end

local MAX_LISTED <const> = 4 -- runs of one value in a cell
local MIN_RANGE <const> = 3  -- neighbouring threads that are said as a range

-- "0,8,16,24" of threads that all have an element as the same value, "0-7", "0,4,8,12+4".
function M.listed(threads)
  local texts, at = {}, 1
  while at <= #threads and #texts < MAX_LISTED do
    local last = at
    while threads[last + 1] == threads[last] + 1 do last = last + 1 end
    if last - at + 1 < MIN_RANGE then last = at end
    texts[#texts + 1] = last > at and ("%d-%d"):format(threads[at], threads[last]) or
      tostring(threads[at])
    at = last + 1
  end
  local more = #threads - at + 1
  return table.concat(texts, ",") .. (more > 0 and "+" .. more or "")
end

-- Owners {thread, value} as the lines of a cell, two for each value: {"T0,8,16,24", "V0"}.
function M.lines(list)
  local values, threads, lines = {}, {}, {}
  for _, owner in ipairs(list) do
    if not threads[owner.value] then
      values[#values + 1], threads[owner.value] = owner.value, {}
    end
    table.insert(threads[owner.value], owner.thread)
  end
  for _, value in ipairs(values) do
    lines[#lines + 1] = "T" .. M.listed(threads[value])
    lines[#lines + 1] = "V" .. value
  end
  return lines
end

-- Owners {thread, value} as texts T0V1, at most `most` of them; then +5 for five more.
function M.texts(list, most)
  local texts, more = {}, #list
  for i, run in ipairs(M.runs(list)) do
    if i > most then break end
    texts[i] = ("%sV%d"):format(M.threads_text(run), run.value)
    more = more - (run.last - run.first + 1)
  end
  texts[#texts + 1] = more > 0 and "+" .. more or nil
  return texts
end

-- `index` is nil where the place lies beyond the tile.
local function own(owners, thread, value, index, place)
  local mine = owners.of[thread] or {}
  owners.of[thread] = mine
  mine[#mine + 1] = place
  if index == nil then
    owners.outside = owners.outside + 1
    return
  end
  local who = owners.who[index] or {}
  owners.who[index] = who
  who[#who + 1] = { thread, value }
end

-- Of a thread-value layout over a tile of this shape: mode 0 counts threads, mode 1 values.
function M.thread_values(tv, shape)
  local owners, n_threads, n_elements = owners_new(), size(tv, 0), size(shape)
  for i, index in ipairs(tv:values()) do
    local inside = index >= 0 and index < n_elements
    own(owners, (i - 1) % n_threads, (i - 1) // n_threads, inside and index or nil,
      inside and tostring(idx2crd(index, shape)) or index .. OUTSIDE)
  end
  return owners
end

-- The numbers of a nested tuple times a factor.
local function scaled(tuple, factor)
  if type(tuple) ~= "table" then
    return tuple * factor
  end
  local out = {}
  for i, number in ipairs(tuple) do
    out[i] = scaled(number, factor)
  end
  return out
end

-- Offsets that tell the coordinates of all modes apart, even those up to `beyond` past the end of
-- a mode, which look like elements of the next one in a compact layout. Returns the layout and how
-- far apart the coordinates of each mode are.
local function telling_layout(shape, beyond)
  local modes = type(shape) == "table" and shape or { shape }
  local strides, apart, factor = {}, {}, 1
  for i, mode in ipairs(modes) do
    strides[i], apart[i] = scaled(compact_col_major(mode), factor), factor
    factor = factor * (size(mode) + beyond)
  end
  return layout(shape, type(shape) == "table" and strides or strides[1]), apart
end

-- The number of the element at an offset of a telling layout, nil beyond the tile; and its place.
local function element_at(offset, apart, shape)
  local modes = type(shape) == "table" and shape or { shape }
  local coord, inside = {}, true
  for i = #modes, 1, -1 do
    coord[i], offset = offset // apart[i], offset % apart[i]
    inside = inside and coord[i] < size(modes[i])
  end
  if not inside then
    return nil, "(" .. table.concat(coord, ",") .. ")" .. OUTSIDE
  end
  local index = crd2idx(type(shape) == "table" and coord or coord[1], shape)
  return index, tostring(idx2crd(index, shape))
end

-- Of parallelize(a, threads, _, projection), for an `a` of this shape.
function M.partition(shape, threads, projection)
  local owners, n_threads = owners_new(), size(threads)
  local numbers, apart = telling_layout(shape, n_threads)
  for thread = 0, n_threads - 1 do
    local part, first = parallelize(numbers, threads, thread, projection)
    for value, offset in ipairs(part:values()) do
      own(owners, thread, value - 1, element_at(first + offset, apart, shape))
    end
  end
  return owners
end

return M
