-- trace.lua: how one element of a tensor came about: which threads, at which lines, from what.
--   trace(launch, {C = {5, 7}}[, args...])   a Trace, which prints as a list of lines
-- The launch runs once on the CPU engine, on copies of its tensors; what made the element there is
-- what makes it on a GPU. Values only: the conditions and indices on the way are not followed.
local ct = require "cuttle"
local M = {}

local MAX_PLACES <const> = 4 -- of a set that is no box
local MAX_THREADS <const> = 8

local function fail(format, ...)
  error(("trace: %s"):format(format:format(...)), 0)
end

-- {====== Coordinates ======

local function leaf(x) -- of a tuple of one number
  return type(x) == "number" and x or leaf(x[1])
end

-- The modes of a layout that have a stride, from the largest stride down.
local function modes_of(layout)
  local flat = ct.flatten(layout)
  local modes = {}
  for i = 0, ct.rank(flat) - 1 do
    local mode = ct.mode(flat, i)
    modes[#modes + 1] = { at = i + 1, size = ct.size(mode), stride = leaf(mode.stride) }
  end
  table.sort(modes, function(a, b)
    if a.stride ~= b.stride then return a.stride > b.stride end
    return a.size > b.size
  end)
  return modes
end

-- offset -> flat coordinate, as a list.
local function coordinates(layout)
  local modes = modes_of(layout)
  return function(offset)
    local crd = {}
    for _, mode in ipairs(modes) do
      local at = (mode.size > 1 and mode.stride > 0) and offset // mode.stride or 0
      crd[mode.at] = at
      offset = offset - at * mode.stride
    end
    return crd
  end
end

-- A text like the shape, nested as it is, its leaves taken from the list.
local function nested(shape, leaves, at)
  at = at or 1
  if type(shape) == "number" then return tostring(leaves[at]), at + 1 end
  local parts = {}
  for i = 1, #shape do
    parts[i], at = nested(shape[i], leaves, at)
  end
  return "(" .. table.concat(parts, ",") .. ")", at
end

-- {====== Sets of coordinates as text ======

local function range_text(values)
  local first, last = values[1], values[#values]
  if #values == 1 then return tostring(first) end
  local step = values[2] - first
  for i = 2, #values do
    if values[i] - values[i - 1] ~= step then return nil end
  end
  if step == 1 then return ("%d..%d"):format(first, last) end
  return ("%d,%d..%d"):format(first, values[2], last)
end

local function sorted_keys(set)
  local keys = {}
  for key in pairs(set) do keys[#keys + 1] = key end
  table.sort(keys)
  return keys
end

-- The set of flat coordinates as one box, "(5,0..63)"; nil when it is none.
local function box_text(crds, shape)
  local ranges, n = {}, 1
  for i = 1, #crds[1] do
    local set = {}
    for _, crd in ipairs(crds) do set[crd[i]] = true end
    local values = sorted_keys(set)
    n = n * #values
    ranges[i] = range_text(values)
    if not ranges[i] then return nil end
  end
  return n == #crds and nested(shape, ranges) or nil
end

local function in_parens(text)
  return text:sub(1, 1) == "(" and text or "(" .. text .. ")"
end

local function set_text(crds, shape)
  local box = box_text(crds, shape)
  if box then return in_parens(box) end
  local parts = {}
  for i = 1, math.min(#crds, MAX_PLACES) do parts[i] = in_parens(nested(shape, crds[i])) end
  local more = #crds - #parts
  return table.concat(parts, " ") .. (more > 0 and (" and %d more"):format(more) or "")
end

local function threads_text(set)
  local threads = sorted_keys(set)
  local range = range_text(threads)
  if range and #threads > 2 then return range end
  local more = #threads - MAX_THREADS
  return table.concat(threads, " ", 1, math.min(#threads, MAX_THREADS))
    .. (more > 0 and (" and %d more"):format(more) or "")
end

-- {====== Lines ======

local function source_lines()
  local files = {}
  return function(chunk, line)
    if not files[chunk] then
      local lines, file = {}, io and io.open and io.open(chunk)
      if file then
        for text in file:lines() do lines[#lines + 1] = text end
        file:close()
      end
      files[chunk] = lines
    end
    local text = files[chunk][line]
    return text and text:match("^%s*(.-)%s*$")
  end
end

local function new_place(tensor, space)
  return { tensor = tensor, space = space, crds = {}, seen = {} }
end

local function add_place(list, row, crd_of)
  local place = list[row.tensor]
  if not place then
    place = new_place(row.tensor, row.space)
    list[row.tensor] = place
    list[#list + 1] = place
  end
  if not place.seen[row.offset] then
    place.seen[row.offset] = true
    place.crds[#place.crds + 1] = crd_of(row.offset)
  end
end

local function line_of(block, row)
  local key = ("%s:%d"):format(row.chunk, row.line)
  local line = block.by_key[key]
  if not line then
    line = { chunk = row.chunk, line = row.line, reads = {}, writes = {}, threads = {}, times = 0 }
    block.by_key[key] = line
    block.lines[#block.lines + 1] = line
  end
  return line
end

local function comes_before(a, b)
  if a.chunk ~= b.chunk then return a.chunk < b.chunk end
  return a.line < b.line
end

-- Rows, sorted by block, become blocks of lines.
local function blocks_of(rows, tensors)
  local blocks, by_number = {}, {}
  for _, row in ipairs(rows) do
    local block = by_number[row.block]
    if not block then
      block = { number = row.block, lines = {}, by_key = {} }
      by_number[row.block] = block
      blocks[#blocks + 1] = block
    end
    local line = line_of(block, row)
    line.threads[row.thread] = true
    if row.kind ~= "computes" then
      add_place(line[row.kind], row, tensors[row.tensor].crd_of)
    else
      line.times = math.max(line.times, row.times)
    end
  end
  for _, block in ipairs(blocks) do table.sort(block.lines, comes_before) end
  return blocks
end

-- {====== Text ======

local function places_text(places, tensors)
  local parts = {}
  for i, place in ipairs(places) do
    parts[i] = place.tensor .. set_text(place.crds, tensors[place.tensor].shape)
  end
  return table.concat(parts, ", ")
end

local function what_text(line, tensors)
  local reads, writes = places_text(line.reads, tensors), places_text(line.writes, tensors)
  if reads ~= "" and writes ~= "" then return reads .. " -> " .. writes end
  if writes ~= "" then return "-> " .. writes end
  return reads
end

local Trace = {}
Trace.__index = Trace
Trace.__name = "Trace"

function Trace:__tostring()
  local out = { ("%s%s: %d event%s"):format(self.tensor, self.element, #self.rows,
    #self.rows == 1 and "" or "s") }
  local text_at = source_lines()
  for _, block in ipairs(self.blocks) do
    out[#out + 1] = ("block %d"):format(block.number)
    for _, line in ipairs(block.lines) do
      out[#out + 1] = ("  %s:%d: %s"):format(line.chunk, line.line,
        text_at(line.chunk, line.line) or "")
      local what = what_text(line, self.tensors)
      local threads = ("thread%s %s"):format(#sorted_keys(line.threads) == 1 and "" or "s",
        threads_text(line.threads))
      out[#out + 1] = ("      %s%s"):format(what ~= "" and what .. ", " or "", threads)
        .. (line.times > 1 and (", %d times"):format(line.times) or "")
    end
  end
  if #self.rows == 0 then
    out[#out + 1] = "no thread writes it"
  end
  return table.concat(out, "\n")
end

-- {====== Tracing ======

local function index_of(names, name)
  for i, other in ipairs(names) do
    if other == name then return i end
  end
end

local function element_of(wanted, names)
  local name, crd = next(wanted)
  if name == nil or next(wanted, name) ~= nil or type(crd) ~= "table" then
    fail("one element of one tensor is wanted, as in {C = {5, 7}}")
  end
  local index = index_of(names, name)
  if not index then
    fail("the kernel has no parameter '%s'; it has %s", tostring(name), table.concat(names, ", "))
  end
  return name, index, crd
end

local function is_tensor(value) return type(value) == "userdata" and value.dtype ~= nil
  and value.layout ~= nil end

local function copies_of(args)
  local copies = { n = args.n }
  for i = 1, args.n do
    local arg = args[i]
    copies[i] = is_tensor(arg) and arg:to("cpu") or arg
  end
  return copies
end

local function crd_text(crd)
  local parts = {}
  for i, at in ipairs(crd) do
    parts[i] = type(at) == "table" and crd_text(at) or tostring(at)
  end
  return "(" .. table.concat(parts, ",") .. ")"
end

local function offset_of(tensor, name, crd)
  local layout = tensor.layout
  if #crd ~= ct.rank(layout) then
    fail("%s%s has %d mode%s, but %s has the shape %s", name, crd_text(crd), #crd,
      #crd == 1 and "" or "s", name, layout.shape)
  end
  for i = 1, #crd do
    local mode = ct.mode(layout, i - 1)
    local at = type(crd[i]) == "number" and crd[i] or ct.crd2idx(crd[i], mode.shape)
    if at < 0 or at >= ct.size(mode) then
      fail("there is no %s%s; the shape of %s is %s", name, crd_text(crd), name, layout.shape)
    end
  end
  return layout(table.unpack(crd))
end

local function describe(name, space, layout)
  return { name = name, space = space, layout = layout, shape = layout.shape,
    crd_of = coordinates(layout) }
end

function M.trace(x, wanted, ...)
  local unpacked = table.pack(ct._launch(x))
  if unpacked.n == 0 then
    fail("a launch is wanted: trace(k{grid = ..., block = ...}, {C = {5, 7}}, A, B, C), or "
      .. "trace(launch, {C = {5, 7}}) of k:prepare{...}(A, B, C)")
  elseif type(wanted) ~= "table" then
    fail("one element of one tensor is wanted, as in {C = {5, 7}}")
  end
  local names, launch = unpacked[1], unpacked[2]
  local args = unpacked.n > 2 and table.pack(table.unpack(unpacked, 3, unpacked.n))
    or table.pack(...)
  local name, index, crd = element_of(wanted, names)
  if not is_tensor(args[index]) then
    fail("the argument %s is no tensor, or is not given", name)
  end
  local offset = offset_of(args[index], name, crd)
  local copies = copies_of(args)
  local rows, shared = ct._trace(launch, name, offset, table.unpack(copies, 1, copies.n))
  local tensors = {}
  for i = 1, args.n do
    if is_tensor(args[i]) then tensors[names[i]] = describe(names[i], "global", args[i].layout) end
  end
  for key, layout in pairs(shared) do tensors[key] = describe(key, "shared", layout) end
  return setmetatable({ tensor = name, element = crd_text(crd), rows = rows,
    tensors = tensors, blocks = blocks_of(rows, tensors) }, Trace)
end

return M
