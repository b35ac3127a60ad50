-- store.lua: results of tuning in a text file, a line each, so that people read them, `git diff`
-- shows them, and two files merge line by line. The fields of a line, between tabs:
--   name, how, ms, device, driver, key, configuration, source
-- how: measured on that device; partial: measured, but stopped before the end; predicted by the
-- model. source: the hash of what was tuned. A result belongs to its device, driver, source and
-- key: one that is added takes the place of the old one, unless it knows less.
--
-- Who adds results holds the file's lock, reads it, and writes it anew beside it, to take its name
-- when it lies on the disk. So a reader finds all of one state, and two programs lose nothing.
-- Lines that are no results stay as they are.
local internal = ...
local M = {}

local HEAD <const> = "# Results of tune: name, how, ms, device, driver, key, configuration, source"
local ranks <const> = { predicted = 1, partial = 2, measured = 3 }
local fields <const> = { "name", "how", "ms", "device", "driver", "key", "config", "source" }

-- {====== Lines ======

local function line_of(row)
  local parts = {}
  for i, name in ipairs(fields) do
    local value = row[name]
    parts[i] = name == "ms" and ("%.6g"):format(value) or (tostring(value):gsub("%c", " "))
  end
  return table.concat(parts, "\t")
end

-- The row of a line; nil: it is none. The last field has a fixed length, so a line that was cut is
-- no row.
function M.parse(line)
  local row, i = {}, 0
  for value in (line .. "\t"):gmatch "([^\t]*)\t" do
    i = i + 1
    row[fields[i] or "more"] = value
  end
  row.ms = tonumber(row.ms)
  local is_whole = i == #fields and row.ms and ranks[row.how]
    and row.source:find "^%x+$" and #row.source == 16
  return is_whole and row or nil
end

local function identity(row)
  return table.concat({ row.device, row.driver, row.source, row.key }, "\t")
end

-- The text's results in order, and all its lines: a row, or the text of what is none.
local function read_text(text)
  local rows, lines = {}, {}
  for line in text:gmatch "[^\n]+" do
    local row = line:sub(1, 1) ~= "#" and M.parse(line) or nil
    lines[#lines + 1] = row or line
    rows[#rows + 1] = row
  end
  return rows, lines
end

local function text_of(lines)
  local parts = {}
  for i, line in ipairs(lines) do parts[i] = type(line) == "table" and line_of(line) or line end
  if parts[1] ~= HEAD then table.insert(parts, 1, HEAD) end
  return table.concat(parts, "\n") .. "\n"
end

--- Does one result know more than another, or as much?
function M.is_better(new, old) return ranks[new.how] >= ranks[old.how] end

-- Puts the row where that of its identity is, or at the end.
local function put(lines, places, row)
  local id = identity(row)
  local at = places[id]
  if not at then
    lines[#lines + 1] = row
    places[id] = #lines
  elseif M.is_better(row, lines[at]) then
    lines[at] = row
  end
end

local function places_of(lines)
  local places = {}
  for i, line in ipairs(lines) do
    if type(line) == "table" then places[identity(line)] = i end
  end
  return places
end

-- {====== Files ======

local function text_of_file(path)
  local file <close>, why, code = io.open(path, "rb")
  local text
  if file then text, why, code = file:read "a" end
  if text then return text end
  return nil, why:find(path, 1, true) and why or path .. ": " .. why, code
end

--- The results of a file, in its order: none where there is no file. nil and why: it cannot be
--- read.
function M.read(path)
  local text, why, code = text_of_file(path)
  if text then return (read_text(text)) end
  if internal.is_missing(code) then return {} end
  return nil, why
end

--- Adds results to a file. true; or nil and why: then the file is as it was.
function M.add(path, rows)
  local lock <close>, why = internal.lock_file(path)
  if not lock then return nil, why end
  local text, message = text_of_file(path)
  if not text then return nil, message end
  local _, lines = read_text(text)
  local places = places_of(lines)
  for _, row in ipairs(rows) do put(lines, places, row) end
  local new = text_of(lines)
  if new == text then return true end
  return internal.write_file(path, new, true)
end

-- {====== Tables ======

local function cells_of(row)
  return { row.name, row.key, row.device, row.how, ("%.4g"):format(row.ms), row.config }
end

--- The results as a table of text.
function M.table(rows)
  local lines, widths = { { "name", "key", "device", "how", "ms", "configuration" } }, {}
  for _, row in ipairs(rows) do lines[#lines + 1] = cells_of(row) end
  for _, cells in ipairs(lines) do
    for i, cell in ipairs(cells) do widths[i] = math.max(widths[i] or 0, #cell) end
  end
  for i, cells in ipairs(lines) do
    for j, cell in ipairs(cells) do cells[j] = cell .. (" "):rep(widths[j] - #cell) end
    lines[i] = table.concat(cells, "  "):gsub("%s+$", "")
  end
  return table.concat(lines, "\n")
end

return M
