-- trace.lua: how one element of a tensor came about: which threads, at which lines, from what.
--   trace(launch, {C = {5, 7}}[, args...])   a Trace, which prints as a list of lines
-- The launch runs twice on the CPU engine, on copies of its tensors: to find the blocks that write
-- the element, and to record these, with the others of their clusters. What made the element there
-- is what makes it on a GPU. Values only: the conditions and indices on the way are not followed.
local lists = require "cuttle.lists"
local plural = require "cuttle.plural"
local tiles = require "cuttle.tiles"
local given = require "cuttle.launch_given"
local errors = require "cuttle.fail"
local element_places = require "cuttle.element_places"
local lines_of = require("cuttle.source_lines").of
local types = require "cuttle.types"
local internal = ...
local M = {}

M.max_record = 1 << 30 -- bytes, of one block or cluster

local MAX_PLACES <const> = 4 -- of a set that is no box
local MAX_THREADS <const> = 8

local tool = "trace" -- whose messages these are

local function fail(format, ...)
  errors.fail(tool, format, ...)
end

-- {====== Coordinates ======

-- A flat coordinate as one number for each mode of the shape: its linear coordinate there. What is
-- no coordinate of the shape stays as it is.
local function by_mode(shape)
  local sizes = {}
  local function add(x, mode)
    if type(x) == "number" then
      sizes[#sizes + 1] = { mode = mode, n = x }
    else
      for i = 1, #x do add(x[i], mode) end
    end
  end
  if type(shape) == "number" then return function(crd) return crd end end
  for i = 1, #shape do add(shape[i], i) end
  return function(crd)
    if #crd ~= #sizes then return crd end
    local out, step = {}, {}
    for i, of in ipairs(sizes) do
      out[of.mode] = (out[of.mode] or 0) + crd[i] * (step[of.mode] or 1)
      step[of.mode] = (step[of.mode] or 1) * of.n
    end
    return out
  end
end

-- A text like the shape, nested as it is, its leaves taken from the list.
local function nested(shape, leaves, at)
  at = at or 1
  if type(shape) == "number" then return tostring(leaves[at] or "?"), at + 1 end
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
  if #values == 2 then return ("%d,%d"):format(first, last) end
  return ("%d,%d..%d"):format(first, values[2], last)
end

local function sorted_keys(set)
  return lists.keys(set)
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

-- "17", of a launch in several dimensions "17 (1,2)".
local function index_text(index, extents)
  local x, y, z = extents[1], extents[2], extents[3]
  if y == 1 and z == 1 then return tostring(index) end
  local crd = { index % x, index // x % y, index // (x * y) }
  return ("%d (%s)"):format(index, table.concat(crd, ",", 1, z > 1 and 3 or 2))
end

local function threads_text(set, extents)
  local threads = sorted_keys(set)
  if #threads == 1 then return "thread " .. index_text(threads[1], extents) end
  local range = range_text(threads)
  if range and #threads > 2 then return "threads " .. range end
  local more = #threads - MAX_THREADS
  return "threads " .. table.concat(threads, " ", 1, math.min(#threads, MAX_THREADS))
    .. (more > 0 and (" and %d more"):format(more) or "")
end

-- {====== Lines ======

-- chunk -> its lines, of the chunks that the rows name.
local function sources_of(rows)
  local sources = {}
  for _, row in ipairs(rows) do
    sources[row.chunk] = sources[row.chunk] or lines_of(row.chunk)
  end
  return sources
end

local function new_place(row)
  return { tensor = row.tensor, space = row.space, owner = row.owner, crds = {}, seen = {} }
end

local function add_place(list, row, crd_of)
  local key = row.owner and ("%s %d"):format(row.tensor, row.owner) or row.tensor
  local place = list[key]
  if not place then
    place = new_place(row)
    list[key] = place
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

local comes_before = lists.by("chunk", "line")

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
    if row.kind == "zeros" then
      line.zeros = row.tensor
    elseif row.kind ~= "computes" then
      add_place(line[row.kind], row, tensors[row.tensor].modes_of)
    else
      line.times = math.max(line.times, row.times)
    end
  end
  for _, block in ipairs(blocks) do table.sort(block.lines, comes_before) end
  return blocks
end

-- What was read of tensors that the kernel writes, but not by these blocks: other blocks may have
-- written it before. A list of places.
local function open_ends(rows, tensors, written)
  local own, places = {}, {}
  for _, row in ipairs(rows) do
    if row.kind == "writes" then own[row.tensor .. " " .. row.offset] = true end
  end
  for _, row in ipairs(rows) do
    if row.kind == "reads" and row.space == "global" and written[row.tensor]
      and not own[row.tensor .. " " .. row.offset] then
      add_place(places, row, tensors[row.tensor].modes_of)
    end
  end
  return places
end

-- {====== Text ======

local function places_text(places, tensors, grid)
  local parts = lists.map(places, function(place)
    return place.tensor .. set_text(place.crds, tensors[place.tensor].modes)
      .. (place.owner and " of block " .. index_text(place.owner, grid) or "")
  end)
  return table.concat(parts, ", ")
end

local function what_text(line, tensors, grid)
  local reads = places_text(line.reads, tensors, grid)
  if line.zeros then
    reads = ("%s0 outside %s"):format(reads ~= "" and reads .. ", " or "", line.zeros)
  end
  local writes = places_text(line.writes, tensors, grid)
  if reads ~= "" and writes ~= "" then return reads .. " -> " .. writes end
  if writes ~= "" then return "-> " .. writes end
  return reads
end

local Trace = {}
local trace_type = tiles.new_type("Trace", Trace)

function trace_type:__tostring()
  local out = { ("%s%s: %s"):format(self.tensor, self.element, plural(#self.rows, "event")) }
  for _, block in ipairs(self.blocks) do
    out[#out + 1] = "block " .. index_text(block.number, self.grid)
    for _, line in ipairs(block.lines) do
      out[#out + 1] = ("  %s:%d: %s"):format(line.chunk, line.line,
        (self.sources[line.chunk][line.line] or ""):match("^%s*(.-)%s*$"))
      local what = what_text(line, self.tensors, self.grid)
      local threads = threads_text(line.threads, self.block)
      out[#out + 1] = ("      %s%s"):format(what ~= "" and what .. ", " or "", threads)
        .. (line.times > 1 and (", %d times"):format(line.times) or "")
    end
  end
  if #self.rows == 0 then
    out[#out + 1] = "no thread writes it: the launch ran again, with the current contents of its "
      .. "tensors; if a ticket or flag in them decides who writes, reset it first"
  end
  for _, place in ipairs(self.open_ends) do
    local text = places_text({ place }, self.tensors, self.grid)
    out[#out + 1] = ("%s: an input here; what other blocks of the launch wrote there is not "
      .. "followed, but trace(launch, {%s = {...}}) shows how it came about"):format(text,
        place.tensor)
  end
  return table.concat(out, "\n")
end

-- The page of the trace: trace_page.lua.
function Trace:html(file)
  if getmetatable(self) ~= trace_type then
    fail("html: a trace was expected, as in T:html(file)")
  end
  local function crd_at(tensor, offset)
    local crd = tensor.crd_of(offset)
    return in_parens((nested(tensor.shape, crd)))
  end
  local text = require("cuttle.trace_page").page(self, crd_at, fail)
  return require("cuttle.picture_page").deliver(text, file, "trace", require("cuttle.picture").fail)
end

-- {====== Tracing ======

local function element_of(wanted, names)
  local name, crd = next(wanted)
  if name == nil or next(wanted, name) ~= nil or type(crd) ~= "table" then
    fail("one element of one tensor was expected, as in {C = {5, 7}}")
  end
  local index = lists.index(names, name)
  if not index then
    fail("the kernel has no parameter '%s'; it has %s", tostring(name), table.concat(names, ", "))
  end
  return name, index, crd
end

local function is_tensor(value) return types.is_a(value, "tensor") end

local function crd_text(crd)
  local parts = lists.map(crd, function(at)
    return type(at) == "table" and crd_text(at) or tostring(at)
  end)
  return "(" .. table.concat(parts, ",") .. ")"
end

-- The coordinate of one mode as its index; nil when it is none, or outside.
local function mode_index(at, mode)
  if type(at) == "table" then
    local ok, index = pcall(crd2idx, at, mode.shape)
    at = ok and index or nil
  end
  at = math.tointeger(at)
  return at and at >= 0 and at < size(mode) and at or nil
end

local function offset_of(tensor, name, crd)
  local layout = tensor.layout
  if #crd ~= rank(layout) then
    fail("%s%s has %d modes, but %s has the shape %s", name, crd_text(crd), #crd, name,
      layout.shape)
  end
  local index = {}
  for i = 1, #crd do
    index[i] = mode_index(crd[i], get_mode(layout, i - 1))
    if not index[i] then
      fail("there is no %s%s; the shape of %s is %s", name, crd_text(crd), name, layout.shape)
    end
  end
  return layout(table.unpack(index))
end

-- A shape without nesting: the sizes of the modes.
local function sizes_of(layout)
  if type(layout.shape) == "number" then return layout.shape end
  local sizes = {}
  for i = 1, rank(layout) do sizes[i] = size(layout, i - 1) end
  return sizes
end

local function describe(name, space, layout, bytes)
  local crd_of, fold = element_places.coordinates(layout), by_mode(layout.shape)
  return { name = name, space = space, layout = layout, shape = layout.shape, bytes = bytes,
    crd_of = crd_of, modes = sizes_of(layout),
    modes_of = function(offset) return fold(crd_of(offset)) end }
end

-- Tensors that the kernel chose at run time, as those of lists, are known by offsets only.
local function add_chosen(tensors, rows)
  for _, row in ipairs(rows) do
    local name = row.tensor
    if name and not rawget(tensors, name) then
      tensors[name] = describe(name, row.space, layout(1 << 40))
    end
  end
end

local function tensors_of(names, args, shared, rows)
  local tensors = {}
  for i, name in ipairs(names) do
    if is_tensor(args[i]) then
      tensors[name] = describe(name, "global", args[i].layout, args[i].dtype.bytes)
    end
  end
  for name, t in pairs(shared) do tensors[name] = describe(name, "shared", t.layout, t.bytes) end
  add_chosen(tensors, rows)
  return tensors
end

local how <const> = "%s(k{grid = ..., block = ...}, {C = {5, 7}}, A, B, C), or "
  .. "%s(launch, {C = {5, 7}}) of launch = k:prepare{...}(A, B, C)"

local function check_launch(x, unpacked)
  if unpacked.n > 0 then return end
  local kind = tiles.type_name(x)
  if kind == "kernel" then
    fail("a kernel alone has no grid and block; write %s", how:format(tool, tool))
  elseif kind == "tuned function" then
    fail("argument 1 is a tuned function; give the launch of a configuration: "
      .. "%s(f(tuned:config(A, B, C)), {C = {5, 7}}, A, B, C)", tool)
  end
  fail("argument 1 is a %s; a launch was expected: %s", kind, how:format(tool, tool))
end

-- The options after a launch that has its arguments, and what follows them. `known`: a set of
-- their names, or nil.
local function read_options(known, ...)
  local options = ...
  if not known or type(options) ~= "table" or getmetatable(options) then return {}, ... end
  for name in pairs(options) do
    if not known[name] then
      fail("'%s' is not an option; {html = \"trace.html\"} was expected", name)
    end
  end
  return options, select(2, ...)
end

-- What a tool was asked: name, coordinate and offset of the element, names of the parameters, the
-- launch, its arguments, options.
local function read_arguments(known, x, wanted, ...)
  local unpacked = table.pack(internal.launch.launch(x))
  check_launch(x, unpacked)
  if type(wanted) ~= "table" then
    fail("argument 2 is %s; one element of one tensor was expected, as in {C = {5, 7}}",
      wanted == nil and "nil" or "a " .. type(wanted))
  end
  local names, launch = unpacked[1], unpacked[2]
  local rest = table.pack(read_options(unpacked.n > 2 and known, ...))
  local args, options = given.arguments(unpacked, fail, table.unpack(rest, 2, rest.n)), rest[1]
  local name, index, crd = element_of(wanted, names)
  if not is_tensor(args[index]) then
    fail("the argument %s is not a tensor, or is not given", name)
  end
  return name, crd, offset_of(args[index], name, crd), names, launch, args, options
end

--- "C[5,7]", "C(5,7)", "C[5]": the name and the coordinate; nil and why if it is no such text.
function M.read_element(text)
  local name, coordinate = text:match "^%s*([%a_][%w_]*)%s*[%[%(]([%d%s,]*)[%]%)]%s*$"
  if not name then
    return nil, ("%s is not an element of a tensor; write one, as in C[5,7]"):format(text)
  end
  local element = {}
  for n in coordinate:gmatch "%d+" do element[#element + 1] = math.tointeger(tonumber(n)) end
  return name, element
end

--- The walks of elements at these offsets of the parameter `name`, as _watch.trail gives them:
--- {marks =, codes =, tensors =}.
function M.walks_at(who, names, launch, name, offsets, args)
  tool = who
  local marks, codes = internal.watch.trail(launch, name, offsets, M.max_record,
    table.unpack(args, 1, args.n))
  local tensors = setmetatable(tensors_of(names, args, {}, {}), { __index = function(t, chosen)
    add_chosen(t, { { tensor = chosen, space = "global" } })
    return rawget(t, chosen)
  end })
  return { marks = marks, codes = codes, tensors = tensors }
end

--- For sum_order: the walks of an element. {name =, element =, marks =, codes =, tensors =}.
function M.walks(who, x, wanted, ...)
  tool = who
  local name, crd, offset, names, launch, args = read_arguments(nil, x, wanted, ...)
  local walk = M.walks_at(who, names, launch, name, { offset }, args)
  walk.name, walk.element, walk.offset = name, crd_text(crd), offset
  return walk
end

function M.trace(x, wanted, ...)
  tool = "trace"
  local name, crd, offset, names, launch, args, options = read_arguments({ html = true }, x,
    wanted, ...)
  local rows, shared, grid, block, written = internal.watch.trace(launch, name, { offset },
    M.max_record, table.unpack(args, 1, args.n))
  local tensors = tensors_of(names, args, shared, rows)
  local found = setmetatable({ tensor = name, element = crd_text(crd), offset = offset, rows = rows,
    tensors = tensors, blocks = blocks_of(rows, tensors), sources = sources_of(rows),
    grid = grid, block = block, open_ends = open_ends(rows, tensors, written) }, trace_type)
  if options.html ~= nil then found:html(options.html) end
  return found
end

return M
