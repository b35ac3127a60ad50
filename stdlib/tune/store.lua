-- store.lua: results of tuning in a text file, a line each, so that people read them, `git diff`
-- shows them, and two files merge line by line. The fields of a line, between tabs:
--   name, how, ms, device, driver, key, configuration, source
-- how: measured on that device; partial: measured, but stopped before the end; predicted by the
-- model. source: the hash of what was tuned. A result belongs to its device, driver, source and
-- key: one that is added takes the place of the old one, unless it knows less.
--
-- Who adds results holds the file's lock, reads it, and writes it anew beside it, to take its name
-- when it lies on the disk. So a reader finds all of one state, and two programs lose nothing.
-- Lines that are no results stay as they are. Control characters and backslashes of a field are
-- written as \x09.
local internal = ...
local lists = require "cuttle.lists"
local plural = require "cuttle.plural"
local quoted = require "cuttle.valid_text".quoted
local M = {}

local HEAD <const> = "# Results of tune: name, how, ms, device, driver, key, configuration, source"
local ranks <const> = { predicted = 1, partial = 2, measured = 3 }
local fields <const> = { "name", "how", "ms", "device", "driver", "key", "config", "source" }

-- {====== Lines ======

local function hex(c) return ("\\x%02x"):format(c:byte()) end
local function escaped(text) return (text:gsub("[%c\\]", hex)) end

local function unescaped(text)
  return (text:gsub("\\x(%x%x)", function(digits) return string.char(tonumber(digits, 16)) end))
end

local function line_of(row)
  local parts = {}
  for i, name in ipairs(fields) do
    local value = row[name]
    parts[i] = name == "ms" and ("%.6g"):format(value) or escaped(tostring(value))
  end
  return (table.concat(parts, "\t"):gsub("^#", hex)) -- what begins so is a comment
end

local function is_time(text)
  local ms = tonumber(text)
  return ms and ms >= 0 and ms < math.huge
end

-- What is wrong with the fields; nil: nothing. The last one has a fixed length, so a line that was
-- cut is no row.
local function fault_of(row, n)
  if n ~= #fields then
    return ("%s between tabs; a result has %d"):format(plural(n, "field"), #fields)
  elseif not ranks[row.how] then
    return quoted(row.how) .. " in place of measured, partial or predicted"
  elseif not is_time(row.ms) then
    return quoted(row.ms) .. " in place of milliseconds"
  elseif not row.source:find "^%x+$" or #row.source ~= 16 then
    return quoted(row.source) .. " in place of a hash of 16 hexadecimal digits"
  end
end

-- The row of a line; nil and why: it is no result.
local function parse(line)
  local row, n = {}, 0
  for value in (line .. "\t"):gmatch "([^\t]*)\t" do
    n = n + 1
    row[fields[n] or "more"] = unescaped(value)
  end
  local fault = fault_of(row, n)
  if fault then return nil, fault end
  row.ms = tonumber(row.ms)
  return row
end

local function identity(row)
  return table.concat({ row.device, row.driver, row.source, row.key }, "\t")
end

local function is_row(line) return line ~= "" and line:sub(1, 1) ~= "#" end

-- The text's results in order; all its lines, a row for each result and the text of any other; and
-- what is wrong with which line. Editors and git of Windows end lines by \r\n.
local function read_text(text)
  local rows, lines, faults = {}, {}, {}
  for line in (text .. "\n"):gmatch "([^\n]*)\n" do
    local row, why
    line = line:gsub("\r$", "")
    if is_row(line) then row, why = parse(line) end
    lines[#lines + 1] = row or line
    rows[#rows + 1] = row
    if row then row.line = #lines end
    faults[#faults + 1] = why and { line = #lines, why = why }
  end
  if lines[#lines] == "" then lines[#lines] = nil end
  return rows, lines, faults
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

--- The results without those that a file would not have beside others.
function M.distinct(rows)
  local list, places = {}, {}
  for _, row in ipairs(rows) do put(list, places, row) end
  return list
end

-- {====== Files ======

local MOST_BYTES <const> = 64 << 20 -- of a file; a device may have no end
local MOST_TOLD <const> = 5 -- lines of a file

--- The text of a file; nil, why, and the system's code.
function M.text(path)
  local file <close>, why, code = io.open(path, "rb")
  local text
  if file then text, why, code = file:read(MOST_BYTES + 1) end
  if text and #text > MOST_BYTES then
    return nil, ("%s: it is larger than %d MiB"):format(path, MOST_BYTES >> 20)
  elseif text then
    return text
  elseif file and not why then -- an empty file
    return ""
  end
  return nil, why:find(path, 1, true) and why or path .. ": " .. why, code
end

--- The results of a text, each with the number of its line, and what is wrong with which line, as
--- {line =, why =}.
function M.parse(text)
  local rows, _, faults = read_text(text)
  return rows, faults
end

--- "FILE:LINE: no result: why"
function M.fault_text(path, fault)
  return ("%s:%d: no result: %s"):format(path, fault.line, fault.why)
end

-- Why a text is none of results: it has neither one of them nor our head. A file that was named by
-- mistake must not get results between its lines. nil: it may have them.
local function foreign(path, text, rows, faults)
  if #rows > 0 or #faults == 0 or text:find(HEAD, 1, true) then return nil end
  return M.fault_text(path, faults[1]) .. ", nor is there one in the file; name another one"
end

--- The results of a file, in its order, and its lines that should be results but are not, as
--- {line =, why =}: none where there is no file. nil and why: it cannot be read, or is none.
function M.read(path)
  local text, why, code = M.text(path)
  if text then
    local rows, _, faults = read_text(text)
    why = foreign(path, text, rows, faults)
    if why then return nil, why end
    return rows, faults
  end
  if code and internal.host.is_missing(code) then return {}, {} end
  return nil, why
end

local told = {} -- lines, as text

--- Says by say("%s", text), once, which lines of a file that was read are no results. They stay in
--- the file.
function M.tell(path, faults, say)
  local new = lists.filter(faults, function(f) return not told[M.fault_text(path, f)] end)
  for i = 1, math.min(#new, MOST_TOLD) do say("%s", M.fault_text(path, new[i])) end
  if #new > MOST_TOLD then say("%s: %d more such lines", path, #new - MOST_TOLD) end
  for _, fault in ipairs(new) do told[M.fault_text(path, fault)] = true end
end

--- Can results be added to the file? true; or nil and why. It leaves no file where there was none.
function M.try(path)
  local lock <close>, why = internal.host.lock_file(path) -- which removes what it made
  return lock and true, why
end

--- Adds results to a file. true; or nil and why: then the file is as it was.
function M.add(path, rows)
  local lock <close>, why = internal.host.lock_file(path)
  if not lock then return nil, why end
  local text, message = M.text(path)
  if not text then return nil, message end
  local old, lines, faults = read_text(text)
  message = foreign(path, text, old, faults)
  if message then return nil, message end
  local places = places_of(lines)
  for _, row in ipairs(rows) do put(lines, places, row) end
  local new = text_of(lines)
  if new == text then return true end
  return internal.host.write_lasting(path, new)
end

-- {====== Tables ======

local function cells_of(row)
  return { escaped(row.name), escaped(row.key), escaped(row.device), row.how,
           ("%.4g"):format(row.ms), escaped(row.config) }
end

--- The results as a table of text.
function M.table(rows)
  local cells = { { "name", "key", "device", "how", "ms", "configuration" } }
  for _, row in ipairs(rows) do cells[#cells + 1] = cells_of(row) end
  return table.concat(lists.columns(cells, {}), "\n")
end

return M
