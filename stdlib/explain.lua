-- explain.lua: says in words what a layout, a part of a tensor or a thread-value layout does: what
-- each mode is for, how it came about, which accesses it allows, whether each element has exactly
-- one owner, and who that is.
local ct = require "cuttle"
local derive = require "cuttle.derive"
local picture = require "cuttle.picture"

local M = {}

local MAX_ELEMENTS <const> = 1 << 20 -- of what is looked at element by element
local MAX_LISTED <const> = 8         -- threads, elements or offsets in one list
local ACCESS_BITS <const> = 128      -- the widest access of a thread

-- {====== Text ======

local Report = {}
Report.__index = Report

-- One entry: a heading in the first column, text in the second.
function Report:add(heading, format, ...)
  local text = format:format(...)
  self[#self + 1] = heading == "" and (" "):rep(14) .. text or ("%-13s %s"):format(heading, text)
end

function Report:text()
  return table.concat(self, "\n")
end

local function plural(n, noun)
  return n == 1 and "1 " .. noun or ("%d %ss"):format(n, noun)
end

-- At most MAX_LISTED texts, and how many more there are.
local function listed(list, separator)
  local shown = table.move(list, 1, math.min(#list, MAX_LISTED), 1, {})
  local more = #list - #shown
  local rest = more > 0 and (", ... %d more"):format(more) or ""
  return table.concat(shown, separator or ", ") .. rest
end

-- Sorted integers as ranges: {0,1,2,5} -> {"0..2", "5"}.
local function ranges(numbers)
  local out, first = {}, nil
  for i, n in ipairs(numbers) do
    first = first or n
    if numbers[i + 1] ~= n + 1 then
      out[#out + 1] = first == n and tostring(n) or ("%d..%d"):format(first, n)
      first = nil
    end
  end
  return out
end

-- {====== Layouts ======

-- Calls each(path, shape, stride) with the integers of a layout; path is like "1.0", "" of all.
local function leaves(shape, stride, each, path)
  path = path or ""
  if type(shape) ~= "table" then
    each(path, shape, stride)
    return
  end
  for i = 1, #shape do
    leaves(shape[i], stride[i], each, path .. (path == "" and "" or ".") .. i - 1)
  end
end

-- The mode at a path like "1.0".
local function mode_at(layout, path)
  for i in path:gmatch("%d+") do
    layout = ct.mode(layout, math.tointeger(i))
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
  leaves(layout.shape, layout.stride, function(_, extent, stride)
    static = static and math.type(extent) == "integer" and math.type(stride) == "integer"
  end)
  return static
end

local function is_basis(stride)
  return type(stride) == "userdata" and tostring(stride):find("@", 1, true) ~= nil
end

local function counts_coordinates(layout)
  local found = false
  leaves(layout.shape, strided(layout).stride, function(_, _, stride)
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

local function bits_text(first, n)
  return n == 1 and tostring(first) or ("%d..%d"):format(first, first + n - 1)
end

-- Sw<B,M,S> reads the field at M + S where S > 0, else the one at M.
local function add_swizzle(report, layout)
  local bits, base, shift = tostring(layout.swizzle):match("<(%d+),(%d+),(%-?%d+)>")
  bits, base, shift = math.tointeger(bits), math.tointeger(base), math.tointeger(shift)
  local from, to = base + math.max(shift, 0), base + math.max(-shift, 0)
  report:add("swizzle", "by bits %s of an offset, bits %s of it are flipped%s",
    bits_text(from, bits), bits_text(to, bits),
    base > 0 and ("; aligned runs of %d elements stay together"):format(1 << base) or "")
  if layout.offset ~= 0 then
    report:add("", "%s is added to an offset before that", layout.offset)
  end
end

local function add_modes(report, layout)
  if layout.swizzle then add_swizzle(report, layout) end
  layout = strided(layout)
  local names, heading = mode_names(layout), "modes"
  leaves(layout.shape, layout.stride, function(path, extent, stride)
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

local function gcd(a, b)
  while b ~= 0 do
    a, b = b, a % b
  end
  return a
end

-- How many elements of `bits` bits one access can take along runs of `run` elements, where the
-- first element of the layout is aligned; and the mode that allows no more.
local function vector_width(layout, run, bits)
  local width, limit = gcd(run, math.max(1, ACCESS_BITS // bits)), nil
  layout = strided(layout)
  leaves(layout.shape, layout.stride, function(path, extent, stride)
    if extent > 1 and math.abs(stride) >= run and stride % width ~= 0 then
      limit = ("stride %d of mode %s is no multiple of %d"):format(stride, path, width)
      width = gcd(width, math.abs(stride))
    end
  end)
  return width, limit
end

local examples = { ct.f32, ct.f16 } -- where no element type is given

local function add_contiguity(report, layout, dtype)
  local run = ct.max_common_vector(layout, layout)
  report:add("contiguity", run == 1 and "no two elements in a row" or "runs of %s in memory",
    plural(run, "element"))
  for i, t in ipairs(dtype and { dtype } or examples) do
    local width, limit = vector_width(layout, run, t.bits)
    report:add(i == 1 and "vectors" or "", "%s: %s in one access (%d bits)%s", t.name,
      plural(width, "element"), width * t.bits, limit and ", as " .. limit or "")
  end
end

-- {====== Coverage ======

-- offset -> how often, over all elements; smallest and largest offset.
local function count(values)
  local seen, low, high = {}, math.huge, -math.huge
  for _, v in ipairs(values) do
    seen[v] = (seen[v] or 0) + 1
    low, high = math.min(low, v), math.max(high, v)
  end
  return seen, low, high
end

-- The numbers low..high that nobody has, and those that several have.
local function gaps(seen, low, high)
  local missed, doubled = {}, {}
  for v = low, high do
    if seen[v] == nil then
      missed[#missed + 1] = v
    elseif seen[v] > 1 then
      doubled[#doubled + 1] = v
    end
  end
  return missed, doubled
end

local function add_coverage(report, noun, seen, low, high)
  local missed, doubled = gaps(seen, low, high)
  if #missed == 0 and #doubled == 0 then
    report:add("coverage", "each %s %d..%d exactly once", noun, low, high)
    return
  end
  report:add("coverage", "%ss %d..%d: %d missed, %d more than once", noun, low, high, #missed,
    #doubled)
  if #missed > 0 then
    report:add("", "missed: %s", listed(ranges(missed)))
  end
  if #doubled > 0 then
    report:add("", "more than once: %s", listed(ranges(doubled)))
  end
end

-- {====== Owners ======

-- owners.of[thread] = list of element indices in the order of its values; owners.who[index] = list
-- of {thread, value}.
local function owners_new()
  return { of = {}, who = {} }
end

local function own(owners, thread, value, index)
  local mine = owners.of[thread] or {}
  owners.of[thread] = mine
  mine[value + 1] = index
  local who = owners.who[index] or {}
  owners.who[index] = who
  who[#who + 1] = { thread, value }
end

-- Of a thread-value layout: mode 0 counts threads, mode 1 values.
local function tv_owners(tv)
  local owners, n_threads = owners_new(), ct.size(tv, 0)
  for i, index in ipairs(ct.values(tv)) do
    own(owners, (i - 1) % n_threads, (i - 1) // n_threads, index)
  end
  return owners
end

-- Of parallelize(a, threads, _, projection): by element number of `a`.
local function partition_owners(shape, threads, projection)
  local owners = owners_new()
  local numbers = ct.col_major(shape)
  for thread = 0, ct.size(threads) - 1 do
    local part, offset = ct.parallelize(numbers, threads, thread, projection)
    for value, index in ipairs(ct.values(part)) do
      own(owners, thread, value - 1, index + offset)
    end
  end
  return owners
end

local function who_text(who)
  local texts = {}
  for i, owner in ipairs(who or {}) do
    texts[i] = ("thread %d value %d"):format(owner[1], owner[2])
  end
  return #texts == 0 and "nobody" or listed(texts, " and ")
end

local function coord_text(index, shape)
  return tostring(ct.idx2crd(index, shape))
end

local function elements_text(indices, shape)
  local texts = {}
  for i, index in ipairs(indices) do
    texts[i] = coord_text(index, shape)
  end
  return listed(texts, " ")
end

local function check_option(name, value, limit)
  if math.type(value) ~= "integer" or value < 0 or value >= limit then
    error(("explain: %s is %s; an integer from 0 to %d was expected"):format(name, tostring(value),
      limit - 1), 0)
  end
end

local function add_owner_of(report, owners, shape, coord)
  local index = ct.crd2idx(coord, shape)
  check_option("coord", index, ct.size(shape))
  report:add("owner", "%s belongs to %s", coord_text(index, shape), who_text(owners.who[index]))
end

local function add_owned_by(report, owners, shape, thread, n_threads)
  check_option("thread", thread, n_threads)
  report:add("owns", "thread %d: %s", thread, elements_text(owners.of[thread] or {}, shape))
end

local function add_some_owners(report, owners, shape, n_threads)
  for thread = 0, math.min(3, n_threads - 1) do
    report:add(thread == 0 and "owns" or "", "thread %d: %s", thread,
      elements_text(owners.of[thread] or {}, shape))
  end
  if n_threads > 4 then
    report:add("", "... %d more; explain(x, {thread = n}) or {coord = {i, j}} asks for one",
      n_threads - 4)
  end
end

local function add_owners(report, owners, shape, n_threads, options)
  if options.coord ~= nil then
    add_owner_of(report, owners, shape, options.coord)
  end
  if options.thread ~= nil then
    add_owned_by(report, owners, shape, options.thread, n_threads)
  end
  if options.coord == nil and options.thread == nil then
    add_some_owners(report, owners, shape, n_threads)
  end
  local seen = {}
  for index, who in pairs(owners.who) do
    seen[index] = #who
  end
  add_coverage(report, "element", seen, 0, ct.size(shape) - 1)
end

-- {====== What there is to explain ======

-- The tile of a thread-value layout: given, or found by the way it was made.
local function tile_of(layout, options)
  if options.tile ~= nil then
    return options.tile
  end
  local op, threads, values = layout:origin()
  if op == "tv_layout" then
    return select(2, ct.tv_layout(threads, values))
  end
  return nil
end

local function add_thread_values(report, tv, tile, options)
  if ct.rank(tv) ~= 2 then
    error(("explain: thread-value layout %s has rank %d; (threads, values) was expected")
      :format(tv, ct.rank(tv)), 0)
  end
  report:add("threads", "%s (mode 0), %s each (mode 1), of a tile of %s", ct.size(tv, 0),
    plural(ct.size(tv, 1), "value"), ct.layout(tile).shape)
  add_owners(report, tv_owners(tv), tile, ct.size(tv, 0), options)
end

local function add_partition(report, layout, options)
  local _, of, threads, index, projection = layout:origin()
  of, threads = ct.layout(of), ct.layout(threads)
  if not is_static(of) then
    report:add("owns", "%s has extents known at run time: no list of elements", of)
    return
  end
  report:add("partition", "of %s among the %s of %s; this is the part of thread %s", of,
    plural(ct.size(threads), "thread"), threads,
    math.type(index) == "integer" and index or "threadIdx, known at run time")
  add_owners(report, partition_owners(of.shape, threads, projection), of.shape, ct.size(threads),
    options)
end

-- Where a coordinate lies, and which coordinates lie at an offset.
local function add_places(report, layout, options)
  if options.coord ~= nil then
    report:add("place", "%s is at offset %d", coord_text(ct.crd2idx(options.coord, layout.shape),
      layout.shape), ct.crd2idx(options.coord, layout))
  end
  if options.offset ~= nil then
    local found = {}
    for i, offset in ipairs(ct.values(layout)) do
      if offset == options.offset then
        found[#found + 1] = i - 1
      end
    end
    report:add("place", "offset %s is %s", options.offset,
      #found == 0 and "no element's" or "that of " .. elements_text(found, layout.shape))
  end
end

-- What a function from coordinates to offsets does.
local function add_function(report, layout, options)
  if ct.size(layout) > MAX_ELEMENTS then
    report:add("coverage", "not looked at: more than %d elements", MAX_ELEMENTS)
  elseif ct.size(layout) > 0 then
    add_places(report, layout, options)
    add_coverage(report, "offset", count(ct.values(layout)))
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
  end
  if not static then
    local last = ct.size(layout)
    if counts_coordinates(layout) and math.type(last) == "integer" and last > 0 then
      report:add("values", "coordinates, from %s to %s", layout(0), layout(last - 1))
    else
      report:add("offsets", "known at run time")
    end
    return
  end
  add_contiguity(report, layout, options.dtype)
  if not is_part then
    add_function(report, layout, options)
  end
end

local known = { tile = true, thread = true, coord = true, offset = true, dtype = true, text = true }

local function read_options(given)
  local options = picture.options(given) or {}
  if type(options) ~= "table" then
    picture.fail("explain", "the options are %s; a table like {thread = 0} was expected", options)
  end
  for name in pairs(options) do
    if not known[name] then
      picture.fail("explain", "there is no option '%s'; coord, dtype, offset, text, thread and tile"
        .. " are", name)
    end
  end
  return options
end

-- explain(x[, options]): prints; with text = true returns the text instead. Other options: tile,
-- the shape that a thread-value layout covers; thread, coord, offset to ask about; dtype, of
-- vectors.
function M.explain(x, options)
  options = read_options(options)
  local report = setmetatable({}, Report)
  local is_object = type(x) == "userdata"
  if is_object and x.layout ~= nil and x.dtype ~= nil then
    report:add("tensor", "%s", tostring(x):match("[^\n]*"))
    explain_layout(report, x.layout, setmetatable({ dtype = x.dtype }, { __index = options }))
  else
    explain_layout(report, is_object and x.origin and x or ct.layout(x), options)
  end
  if options.text then
    return report:text()
  end
  print(report:text())
end

return M
