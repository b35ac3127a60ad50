-- lists.lua: lists as sets, in groups, in an order, and as columns; a text as a list of lines; the
-- median; a copy of a table.
local M = {}

--- {[x] = true} for each x of the list.
function M.set(list)
  local set = {}
  for _, x in ipairs(list) do set[x] = true end
  return set
end

--- A copy of a table's fields, with those of `changes`, if there are any, in place of its own.
function M.with(t, changes)
  local new = {}
  for key, value in pairs(t) do new[key] = value end
  for key, value in pairs(changes or {}) do new[key] = value end
  return new
end

--- The keys of a table, in their order.
function M.keys(t)
  local keys = {}
  for key in pairs(t) do keys[#keys + 1] = key end
  table.sort(keys)
  return keys
end

--- {f(x), ...} for each x of the list.
function M.map(list, f)
  local new = {}
  for i, x in ipairs(list) do new[i] = f(x) end
  return new
end

--- Does holds(x) hold for any x of the list? For all?
function M.any(list, holds)
  for _, x in ipairs(list) do
    if holds(x) then return true end
  end
  return false
end

function M.all(list, holds)
  return not M.any(list, function(x) return not holds(x) end)
end

--- The x of the list for which is_wanted(x) holds, in their order.
function M.filter(list, is_wanted)
  local found = {}
  for _, x in ipairs(list) do
    if is_wanted(x) then found[#found + 1] = x end
  end
  return found
end

--- The place of the first x in the list; nil: it is not there.
function M.index(list, x)
  for i, other in ipairs(list) do
    if other == x then return i end
  end
end

--- Lists of the elements that have the same key_of(element), in the order of their first ones.
function M.groups(list, key_of)
  local groups, by_key = {}, {}
  for _, x in ipairs(list) do
    local key = key_of(x)
    if not by_key[key] then
      by_key[key] = {}
      groups[#groups + 1] = by_key[key]
    end
    table.insert(by_key[key], x)
  end
  return groups
end

--- For table.sort: the first of these fields that differs decides. "-cost": the larger one first.
function M.by(...)
  local fields = {}
  for i, name in ipairs { ... } do
    fields[i] = { name = name:match "[%w_]+", is_down = name:sub(1, 1) == "-" }
  end
  return function(a, b)
    for _, field in ipairs(fields) do
      local x, y = a[field.name], b[field.name]
      if x ~= y then return field.is_down and y < x or not field.is_down and x < y end
    end
    return false
  end
end

--- The median of numbers; nil: there are none.
function M.median(list)
  local t, n = table.move(list, 1, #list, 1, {}), #list
  table.sort(t)
  return n % 2 == 1 and t[n // 2 + 1] or n > 0 and 0.5 * (t[n // 2] + t[n // 2 + 1]) or nil
end

--- Rows of texts as lines of columns, with two blanks between. In the columns of the set
--- `is_right`, by their numbers, texts end together; in others they begin together.
function M.columns(rows, is_right)
  local widths, lines = {}, {}
  for _, row in ipairs(rows) do
    for j, text in ipairs(row) do widths[j] = math.max(widths[j] or 0, #text) end
  end
  for i, row in ipairs(rows) do
    local cells = {}
    for j, text in ipairs(row) do
      local space = (" "):rep(widths[j] - #text)
      cells[j] = is_right[j] and space .. text or text .. space
    end
    lines[i] = (table.concat(cells, "  "):gsub("%s+$", ""))
  end
  return lines
end

--- The words of a text as lines, each as long as fits(line) is true. The first one begins with
--- `head` and a blank, if it is given, and the others with `indent`.
function M.wrap(text, fits, head, indent)
  local lines, line = {}, head
  for word in text:gmatch "%S+" do
    local longer = line and line .. " " .. word or word
    if line == head or fits(longer) then
      line = longer
    else
      lines[#lines + 1], line = line, (indent or "") .. word
    end
  end
  lines[#lines + 1] = line
  return lines
end

return M
