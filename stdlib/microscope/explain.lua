-- explain.lua: says in words what a layout, a part of a tensor, a thread-value layout or an atom
-- does: what each mode is for, how it came about, which accesses it allows, whether each element
-- has exactly one owner, and who that is.
local atom_facts = require "cuttle.atom_facts"
local coverage = require "cuttle.coverage"
local derive = require "cuttle.derive"
local each_leaf = require "cuttle.each_leaf"
local integers = require "cuttle.integers"
local option_names = require "cuttle.option_names"
local owners = require "cuttle.explain_owners"
local owners_of = require "cuttle.owners"
local picture = require "cuttle.picture"
local plural = require "cuttle.plural"
local sharding_facts = require "cuttle.sharding_facts"
local text_of = require "cuttle.explain_text"
local types = require "cuttle.types"

local M = {}

local MAX_ELEMENTS <const> = 1 << 20 -- of what is looked at element by element
local ACCESS_BITS <const> = 128      -- the widest access of a thread
local MAX_THREADS <const> = 1024     -- whose parts are looked at for where they begin

local fail = require "cuttle.fail".of "explain"

-- {====== Layouts ======

-- The mode at a path like "1.0".
local function mode_at(layout, path)
  for i in path:gmatch("%d+") do
    layout = get_mode(layout, math.tointeger(i))
  end
  return layout
end

-- A layout without its swizzle, which has strides.
local function strided(layout)
  return layout.swizzle and layout.layout or layout
end

local function is_static(layout)
  layout = strided(layout)
  local static = true
  each_leaf(layout.shape, layout.stride, function(_, extent, stride)
    static = static and math.type(extent) == "integer" and math.type(stride) == "integer"
  end)
  return static
end

local function is_basis(stride)
  return type(stride) == "userdata" and tostring(stride):find("@", 1, true) ~= nil
end

local function counts_coordinates(layout)
  local found = false
  each_leaf(layout.shape, strided(layout).stride, function(_, _, stride)
    found = found or is_basis(stride)
  end)
  return found
end

local function role(extent, stride)
  if extent == 1 then
    return "one element"
  elseif stride == 0 then
    return "broadcast: the same element each time"
  elseif stride == 1 then
    return "contiguous"
  elseif math.type(stride) == "integer" then
    return ("steps of %s"):format(plural(stride, "element"))
  elseif is_basis(stride) then
    return "counts a coordinate"
  end
  return "steps known at run time"
end

-- Names of modes, where the layout has some: {[0] = "M", ...}
local function mode_names(layout)
  local out = {}
  local list = layout.names and layout:names() or {}
  for i = 1, #list do
    out[tostring(i - 1)] = list[i] and list[i] ~= "" and list[i] or nil
  end
  return out
end

local function add_swizzle(report, layout)
  local base = layout.swizzle.base
  report:add("swizzle", "%s%s", derive.swizzle_text(layout.swizzle),
    base > 0 and ("; aligned runs of %d elements stay together"):format(1 << base) or "")
  if layout.offset ~= 0 then
    report:add("", "%s is added to an offset before that", layout.offset)
  end
end

local function add_modes(report, layout)
  if layout.swizzle then add_swizzle(report, layout) end
  layout = strided(layout)
  local names, heading = mode_names(layout), "modes"
  each_leaf(layout.shape, layout.stride, function(path, extent, stride)
    local name = names[path:match("^[^.]*")]
    report:add(heading, "%-7s %s  %s", path .. (name and " " .. name or ""), mode_at(layout, path),
      role(extent, stride))
    heading = ""
  end)
end

local function add_steps(report, layout)
  local heading = "made by"
  for _, step in ipairs(derive.steps(layout)) do
    report:add(heading, "%s = %s", step.call, step.result)
    heading = ""
    for _, detail in ipairs(step.details) do
      report:add("", "  %s", detail)
    end
  end
end

-- The integers of a layout that have an effect, as a list of { path =, extent =, stride = }.
local function steps_of(layout)
  local out = {}
  each_leaf(layout.shape, layout.stride, function(path, extent, stride)
    if extent > 1 and stride ~= 0 then
      out[#out + 1] = { path = path, extent = extent, stride = stride }
    end
  end)
  return out
end

-- How many elements follow each other in memory everywhere, under a swizzle in aligned runs. Steps
-- backwards begin no run.
local function run_length(l)
  local shape, stride = {}, {}
  for _, step in ipairs(steps_of(strided(l))) do
    if step.stride > 0 then
      shape[#shape + 1], stride[#stride + 1] = step.extent, step.stride
    end
  end
  local forward = layout(shape, stride)
  local run = max_common_vector(forward, forward)
  if l.swizzle then
    forward = layout(("%s o %d o %s"):format(l.swizzle, l.offset, forward))
    run = integers.gcd(max_common_vector(forward, forward), run)
  end
  return run
end

-- Takes out of `steps` those that a run of that many elements goes along.
local function drop_run(steps, run)
  local at, found = 1, true
  while at < run and found do
    found = false
    for i, step in ipairs(steps) do
      if step.stride == at then
        at, found = at * step.extent, true
        table.remove(steps, i)
        break
      end
    end
  end
  return steps
end

-- How many elements of `bits` bits one access can take along runs of `run` elements, and what
-- allows no more. `first`: the distances at which a layout like this one can begin.
local function vector_width(layout, run, bits, first)
  local most = math.max(1, ACCESS_BITS // bits)
  local width, limit = integers.gcd(run, most), nil
  if run > width and most > width then
    limit = ("%d is not a multiple of %d"):format(run, math.min(2 * width, most))
  end
  for _, step in ipairs(drop_run(steps_of(strided(layout)), run)) do
    if step.stride % width ~= 0 then
      limit = ("stride %d of mode %s is not a multiple of %d"):format(step.stride, step.path, width)
      width = integers.gcd(width, math.abs(step.stride))
    end
  end
  if first % width ~= 0 then
    limit = ("parts begin at multiples of %d"):format(first)
    width = integers.gcd(width, first)
  end
  return width, limit
end

-- The distance in memory at which a part can begin: a common divisor of the offsets of all threads
-- or of that of the tile, as far as it is known; else 0.
local function first_offset(part)
  local op, of, tiler, index, projection = part:origin()
  local first = 0
  if op == "parallelize" and is_static(layout(of)) and size(tiler) <= MAX_THREADS then
    for thread = 0, size(tiler) - 1 do
      first = integers.gcd(select(2, parallelize(of, tiler, thread, projection)), first)
    end
  elseif op == "tile" and is_static(layout(of)) then
    local known, _, offset = pcall(tile, of, tiler, index, projection)
    first = known and math.type(offset) == "integer" and offset or 0
  end
  return first
end

local examples = { f32, f16 } -- where no element type is given

local function run_text(layout, run)
  if run > 1 then
    return ("runs of %d elements in memory"):format(run)
  end
  return layout.swizzle and "no run of elements stays together"
    or "no mode goes through memory element by element"
end

local function add_contiguity(report, layout, dtype)
  local run, first = run_length(layout), first_offset(layout)
  report:add("contiguity", run_text(layout, run))
  for i, t in ipairs(dtype and { dtype } or examples) do
    local bits = 8 * t.bytes
    local width, limit = vector_width(layout, run, bits, first)
    report:add(i == 1 and "vectors" or "", "%s: %s in one access (%d bits)%s", t.name,
      plural(width, "element"), width * bits, limit and ", as " .. limit or "")
  end
end

-- {====== What there is to explain ======

-- {0, 2} -> "modes 0, 2"
local function modes_text(list)
  return (#list == 1 and "mode " or "modes ") .. table.concat(list, ", ")
end

local function too_large(report, layout)
  local too = size(layout) > MAX_ELEMENTS
  if too then
    report:add("coverage", "not examined: more than %d elements", MAX_ELEMENTS)
  end
  return too
end

-- The tile of a thread-value layout: given, or found by the way it was made.
local function tile_of(layout, options)
  if options.tile ~= nil then
    return options.tile
  end
  local op, threads, values = layout:origin()
  if op == "tv_layout" then
    return select(2, tv_layout(threads, values))
  end
  return nil
end

local function add_thread_values(report, tv, tile, options)
  if rank(tv) ~= 2 then
    fail("thread-value layout %s has rank %d; (threads, values) was expected", tv, rank(tv))
  end
  if not is_static(tv) then
    fail("%s has %s as results; the results of a thread-value layout number the elements", tv,
      counts_coordinates(tv) and "coordinates" or "places known only at run time")
  end
  local shape = layout(tile).shape
  report:add("threads", "%s (mode 0), %s each (mode 1), of a tile of %s", size(tv, 0),
    plural(size(tv, 1), "value"), shape)
  if too_large(report, tv) then return end
  owners.add(report, owners_of.thread_values(tv, shape), shape, size(tv, 0), options)
end

-- The modes under _ in a projection: "mode 0", "modes 0, 2"; "" when there are none.
local function dropped_modes(projection)
  local modes = {}
  for i, item in ipairs(projection == nil and {} or derive.items(projection)) do
    if item == "_" then modes[#modes + 1] = i - 1 end
  end
  return #modes == 0 and "" or modes_text(modes)
end

-- Who owns what is a matter of extents, and the same along each mode that no threads share. So of
-- such modes whose extents only the run knows one coordinate stands for all: the shape with 1 there
-- and their numbers, or nil where the threads share one of them.
local function listed_shape(of, n_shared)
  local extents, open = {}, {}
  for i = 0, rank(of) - 1 do
    local mode = get_mode(of, i)
    local is_known = math.type(size(mode)) == "integer"
    if not is_known and i < n_shared then return nil end
    extents[i + 1] = is_known and mode.shape or 1
    if not is_known then open[#open + 1] = i end
  end
  return rank(of) == 1 and of.shape or extents, open
end

-- How many modes of a tensor a partition among threads shares out.
local function n_shared_modes(threads, projection)
  return projection == nil and rank(threads) or #derive.items(projection)
end

local function add_partition(report, part, options)
  local _, of, threads, index, projection = part:origin()
  of, threads = layout(of), layout(threads)
  local shape, open = listed_shape(of, n_shared_modes(threads, projection))
  if shape == nil then
    report:add("owns", "%s has extents known at run time: no list of elements", of)
    return
  end
  report:add("partition", "of %s among the %s of %s; this is the part of thread %s", of,
    plural(size(threads), "thread"), threads,
    math.type(index) == "integer" and index or "threadIdx, known at run time")
  if #open > 0 then
    report:add("", "listed for coordinate 0 of %s: only the run knows the extent", modes_text(open))
  end
  if size(shape) > MAX_ELEMENTS then
    report:add("coverage", "not examined: more than %d elements", MAX_ELEMENTS)
    return
  end
  owners.add(report, owners_of.partition(shape, threads, projection), shape, size(threads), options)
  local dropped = dropped_modes(projection)
  if dropped ~= "" then
    report:add("", "threads that differ only in %s of %s, which the projection drops, share "
      .. "elements by design", dropped, threads)
  end
end

-- Where a coordinate lies.
local function add_place(report, layout, coord)
  local index = owners.index_of(coord, layout.shape)
  report:add("place", "%s is at offset %d", owners.coord_text(index, layout.shape), layout(index))
end

-- Which coordinates lie at an offset.
local function add_offset(report, layout, values, offset)
  local found = {}
  for i, value in ipairs(values) do
    if value == offset then
      found[#found + 1] = i - 1
    end
  end
  report:add("place", "offset %d is %s", offset,
    #found == 0 and "no element's" or "that of " .. owners.elements_text(found, layout.shape))
end

-- What a function from coordinates to offsets does.
local function add_function(report, layout, options)
  if options.coord ~= nil then
    add_place(report, layout, options.coord)
  end
  if too_large(report, layout) then return end
  local values = layout:values()
  if options.offset ~= nil then
    add_offset(report, layout, values, options.offset)
  end
  local seen, low, high = coverage.count(values)
  owners.add_coverage(report, "offset", seen, low, high, 0)
end

-- What the modes give whose extents and strides are known, of a layout that has others, too.
local function add_static_modes(report, of)
  local shape, stride, known, open = {}, {}, {}, {}
  each_leaf(of.shape, strided(of).stride, function(path, extent, step)
    if extent == 1 then return end
    if math.type(extent) == "integer" and math.type(step) == "integer" then
      shape[#shape + 1], stride[#stride + 1], known[#known + 1] = extent, step, path
    else
      open[#open + 1] = path
    end
  end)
  if #shape == 0 or of.swizzle then
    report:add("offsets", "known at run time")
    return
  end
  local part = layout(shape, stride)
  if not too_large(report, part) then
    report:add("offsets", "%s by %s; the run adds those of %s",
      text_of.listed(part:values(), " "), modes_text(known), modes_text(open))
  end
  local run = run_length(part)
  if run > 1 then
    report:add("contiguity", "%s along %s", run_text(part, run), modes_text(known))
  end
end

local function explain_layout(report, layout, options)
  report:add("layout", "%s", layout)
  add_modes(report, layout)
  add_steps(report, layout)
  local tile = tile_of(layout, options)
  if tile ~= nil then
    add_thread_values(report, layout, tile, options)
    return
  end
  local static, is_part = is_static(layout), layout:origin() == "parallelize"
  if is_part then
    add_partition(report, layout, options)
  elseif options.thread ~= nil then
    fail("%s is not shared among threads; for a thread-value layout pass its tile, as in {tile = "
      .. "{8, 8}, thread = 0}", layout)
  end
  if not static then
    local last = size(layout)
    if counts_coordinates(layout) and math.type(last) == "integer" and last > 0 then
      report:add("values", "coordinates, from %s to %s", layout(0), layout(last - 1))
    else
      add_static_modes(report, layout)
    end
    return
  end
  if size(layout) == 0 then
    report:add("coverage", "no elements")
    return
  end
  add_contiguity(report, layout, options.dtype)
  if not is_part then
    add_function(report, layout, options)
  end
end

local readers <const> = {
  tile = option_names.any, thread = option_names.any, coord = option_names.any,
  text = option_names.flag,
  offset = function(value) return math.type(value) == "integer", "an integer" end,
  dtype = function(value) return types.is_a(value, "dtype"), "an element type like f32" end,
}

local function read_options(given, x)
  local options = picture.options(given, x) or {}
  return option_names.check("explain", options, readers, "{thread = 0}")
end

-- A swizzle alone is explained by what it does to the integers whose bits it reads or changes.
local function layout_of(x)
  if types.is_a(x, "swizzle") then
    return composition(x, layout(1 << (x.bits + x.base + math.abs(x.shift))))
  end
  return types.is_a(x, "layout") and x or layout(x)
end

-- explain(x[, options]): prints; with text = true returns the text instead. Other options: tile,
-- the shape that a thread-value layout covers; thread, coord, offset to ask about; dtype, of
-- vectors.
function M.explain(x, options)
  options = read_options(options, x)
  local report, facts = text_of.new(), atom_facts.of(x) or sharding_facts.of(x)
  if facts then
    for _, row in ipairs(facts) do report:add(row[1], "%s", row[2]) end
  elseif types.is_a(x, "tensor") then
    report:add("tensor", "%s", tostring(x):match("[^\n]*"))
    explain_layout(report, x.layout, setmetatable({ dtype = x.dtype }, { __index = options }))
  else
    explain_layout(report, layout_of(x), options)
  end
  if options.text then
    return report:text()
  end
  print(report:text())
end

return M
