-- overlap.lua: do two host tensors share memory? Exactly, for matrices whose columns or rows lie
-- apart: parts of one matrix may interleave and share nothing.
local internal = ...
local M = {}

local MOST_RUNS <const> = 1 << 20 -- of both; of more, spans that meet count as shared

-- Modes by stride, where one goes on from the one before as one mode.
local function joined(modes)
  local out = {}
  for _, m in ipairs(modes) do
    local last = out[#out]
    if last and last.stride * last.extent == m.stride then
      last.extent = last.extent * m.extent
    else
      out[#out + 1] = m
    end
  end
  return out
end

-- The modes that move, by stride, in bytes.
local function modes_of(t)
  local bytes, out = t.tensor.dtype.bytes, {}
  for i, extent in ipairs(t.extent) do
    if extent > 1 and t.stride[i] ~= 0 then
      out[#out + 1] = { extent = extent, stride = t.stride[i] * bytes }
    end
  end
  table.sort(out, function(a, b) return a.stride < b.stride end)
  return joined(out)
end

--- Have two tensors the same first byte?
function M.begin_together(a, b)
  return internal.launch.address(a) == internal.launch.address(b)
end

-- The first byte, and the one behind the last; of one without elements the same twice.
local function span_of(t)
  local first, n = internal.launch.address(t.tensor), 1
  local bytes, extent, stride = t.tensor.dtype.bytes, t.extent, t.stride
  for i = 1, #extent do
    if extent[i] == 0 then return first, first end
    n = n + (extent[i] - 1) * stride[i]
  end
  return first, first + n * bytes
end

-- Where runs of adjacent bytes begin, ascending, and how long they are; nil where they would not
-- ascend or are too many.
local function runs_of(t)
  local length, starts = t.tensor.dtype.bytes, { (internal.launch.address(t.tensor)) }
  local reach = length -- of what the modes so far span
  for _, m in ipairs(modes_of(t)) do
    if m.stride == length and #starts == 1 then
      length = length * m.extent
      reach = length
    elseif m.stride < reach or m.extent * #starts > MOST_RUNS then
      return nil
    else
      local n = #starts
      for i = 1, m.extent - 1 do
        for j = 1, n do starts[i * n + j] = starts[j] + i * m.stride end
      end
      reach = reach + (m.extent - 1) * m.stride
    end
  end
  return starts, length
end

-- The place of each element, in bytes, or nil where there are too many.
local function places_of(t)
  local places = { 0 }
  for _, m in ipairs(modes_of(t)) do
    local n = #places
    if n * m.extent > MOST_RUNS then return nil end
    for i = 1, m.extent - 1 do
      for j = 1, n do places[i * n + j] = places[j] + i * m.stride end
    end
  end
  return places
end

-- Does each mode begin behind all that those of smaller strides reach?
local function ascends(t)
  local reach = t.tensor.dtype.bytes
  for _, m in ipairs(modes_of(t)) do
    if m.stride < reach then return false end
    reach = reach + (m.extent - 1) * m.stride
  end
  return true
end

--- May elements of {tensor =, extent = {...}, stride = {...}}, strides at least 0, share memory? Of
--- many elements whose modes interleave it says yes.
function M.has_shared(t)
  for _, extent in ipairs(t.extent) do
    if extent == 0 then return false end
  end
  for i, extent in ipairs(t.extent) do
    if extent > 1 and t.stride[i] == 0 then return true end
  end
  if ascends(t) then return false end
  local places, seen = places_of(t), {}
  for _, place in ipairs(places or {}) do
    if seen[place] then return true end
    seen[place] = true
  end
  return places == nil
end

-- Do two ascending lists of runs meet?
local function meet(starts, length, other_starts, other_length)
  local i, j = 1, 1
  while starts[i] ~= nil and other_starts[j] ~= nil do
    if starts[i] + length <= other_starts[j] then
      i = i + 1
    elseif other_starts[j] + other_length <= starts[i] then
      j = j + 1
    else
      return true
    end
  end
  return false
end

--- Is element i of both at one address, for all i? Modes of extent 1 do not count.
function M.is_same(a, b)
  local function modes(t)
    local words = { t.tensor.dtype.name, (internal.launch.address(t.tensor)) }
    for i, extent in ipairs(t.extent) do
      if extent ~= 1 then words[#words + 1] = ("%d:%d"):format(extent, t.stride[i]) end
    end
    return table.concat(words, " ")
  end
  return modes(a) == modes(b)
end

-- {first byte, bytes, number, stride} of rows of adjacent bytes that lie evenly apart, or nil.
local function even_rows(t)
  local modes, bytes = modes_of(t), t.tensor.dtype.bytes
  if modes[1] and modes[1].stride == bytes then bytes = bytes * table.remove(modes, 1).extent end
  if #modes ~= 1 or modes[1].stride < bytes then return nil end
  return { first = internal.launch.address(t.tensor), bytes = bytes, n = modes[1].extent,
    stride = modes[1].stride }
end

-- Do rows of one stride meet? Row j of b is at `apart` + (j - i) * stride from row i of a.
local function even_rows_meet(a, b)
  local apart = b.first - a.first
  local k = -(apart // a.stride) -- of the first row of b that does not begin before row i of a
  local function is_pair(steps) return steps > -a.n and steps < b.n end
  return is_pair(k) and apart + k * a.stride < a.bytes
    or is_pair(k - 1) and apart + (k - 1) * a.stride + b.bytes > 0
end

--- Of two {tensor =, extent = {...}, stride = {...}}, strides at least 0, on one device.
function M.shares(a, b)
  local first_a, last_a = span_of(a)
  local first_b, last_b = span_of(b)
  local is_empty = first_a == last_a or first_b == last_b
  if is_empty or last_a <= first_b or last_b <= first_a then return false end
  local rows_a, rows_b = even_rows(a), even_rows(b)
  if rows_a and rows_b and rows_a.stride == rows_b.stride then
    return even_rows_meet(rows_a, rows_b)
  end
  local starts_a, length_a = runs_of(a)
  local starts_b, length_b = runs_of(b)
  if starts_a == nil or starts_b == nil then return true end
  return meet(starts_a, length_a, starts_b, length_b)
end

--- The first two of all that share memory, of which one is among `results`; nil: there are none.
function M.first_shared(results, others)
  local spans = {}
  for i, list in ipairs { results, others } do
    for _, t in ipairs(list) do
      local first, last = span_of(t)
      spans[#spans + 1] = { t = t, first = first, last = last, is_result = i == 1, at = #spans }
    end
  end
  table.sort(spans, function(a, b)
    return a.first < b.first or a.first == b.first and a.at < b.at
  end)
  for i, a in ipairs(spans) do
    local j = i + 1
    while spans[j] and spans[j].first < a.last do
      local b = spans[j]
      if (a.is_result or b.is_result) and M.shares(a.t, b.t) then
        if a.is_result then return a.t, b.t else return b.t, a.t end
      end
      j = j + 1
    end
  end
  return nil
end

return M
