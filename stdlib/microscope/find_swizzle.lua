-- find_swizzle.lua: finds the layout of a shared tensor that has the fewest bank conflicts.
--   find_swizzle(launch, "sA"[, options], args...)      for the accesses that the launch makes
--   find_swizzle(layout, {dtype =, writes =, reads =})  for accesses that are described
-- Candidates are the layout itself, swizzles of it, and the layout with one mode padded. They are
-- valued by the wavefronts of the requests (requests.lua), which is what a GPU's shared memory
-- spends time on, and by the requests themselves: each is an instruction. What the compiler makes
-- one request of neighbours is several where a candidate tears them apart. Of other layouts than
-- the tensor's there is no machine code, so both is counted: neighbours as one, and each by itself.
local bits_for = require "cuttle.integers".bits_for
local each_leaf = require "cuttle.each_leaf"
local launch_given = require "cuttle.launch_given"
local internal = ...
local option_names = require "cuttle.option_names"
local plural = require "cuttle.plural"
local report = require "cuttle.find_report"
local search = require "cuttle.find_search"
local requests = require "cuttle.requests"
local tiles = require "cuttle.tiles"
local types = require "cuttle.types"
local M = {}

local BANKS_BYTES <const> = 128 -- one wavefront: what lies a multiple of this apart is in one bank
local MAX_PATTERNS <const> = 1024 -- recorded of one access

local fail = require "cuttle.fail".of "find_swizzle"

-- {====== Candidates ======

-- A layout that a tensor may have; place(i) is where the element is that lies at i of the plain
-- one.
local function new_candidate(kind, layout, elements, place)
  return { kind = kind, layout = layout, text = tostring(layout), elements = elements,
           place = place }
end

local function same_place(i) return i end

-- As the tensor's memory is rounded up: see ct_swizzle_extent.
local function swizzled_elements(bits, base, shift, n)
  local block, first = 1 << (base + bits), 1 << (base + shift)
  return n <= first and n or (n + block - 1) // block * block
end

local function new_swizzled(plain, bits, base, shift)
  local mask = ((1 << bits) - 1) << (base + shift)
  local function place(i) return i ~ ((i & mask) >> shift) end
  local candidate = new_candidate("swizzle", composition(swizzle(bits, base, shift), plain),
    swizzled_elements(bits, base, shift, cosize(plain)), place)
  candidate.bits, candidate.base, candidate.shift = bits, base, shift
  return candidate
end

-- Swizzles whose deciding bits lie inside the tensor and that change which bank it is, leaving
-- together what is accessed at once.
local function add_swizzles(list, plain, element_bytes, unit)
  local bank_bits = bits_for(BANKS_BYTES // element_bytes)
  local all_bits = bits_for(cosize(plain))
  for bits = 1, bank_bits do
    for base = bits_for(unit), bank_bits - bits do
      for shift = bits, all_bits - base - bits do
        list[#list + 1] = new_swizzled(plain, bits, base, shift)
      end
    end
  end
end

-- Strides that a padding can begin at: what has smaller ones fits below, and larger ones are
-- multiples.
local function steps_of(plain)
  local modes, steps = {}, {}
  each_leaf(plain.shape, plain.stride, function(_, extent, stride)
    if extent > 1 and stride > 0 then modes[#modes + 1] = { size = extent, stride = stride } end
  end)
  table.sort(modes, function(a, b) return a.stride < b.stride end)
  local below = 0
  for i, mode in ipairs(modes) do
    local fits = i > 1 and below < mode.stride and mode.stride ~= modes[i - 1].stride
    for j = i + 1, #modes do fits = fits and modes[j].stride % mode.stride == 0 end
    if fits then steps[#steps + 1] = mode.stride end
    below = below + (mode.size - 1) * mode.stride
  end
  return steps
end

local function padded_stride(stride, step, by)
  if type(stride) ~= "table" then
    return stride < step and stride or stride // step * (step + by)
  end
  local out = {}
  for i = 1, #stride do out[i] = padded_stride(stride[i], step, by) end
  return out
end

local function new_padded(plain, step, by)
  local layout = layout(plain.shape, padded_stride(plain.stride, step, by))
  local candidate = new_candidate("padding", layout, cosize(layout), function(i)
    return i // step * (step + by) + i % step
  end)
  candidate.padding, candidate.step = by, step
  return candidate
end

local function add_paddings(list, plain, element_bytes, unit)
  for _, step in ipairs(steps_of(plain)) do
    for by = unit, BANKS_BYTES // element_bytes - 1, unit do -- one more begins in the same bank
      list[#list + 1] = new_padded(plain, step, by)
    end
  end
end

-- What the requests leave together, in elements.
local function unit_of(list, element_bytes)
  local unit = 1
  for _, request in ipairs(list) do unit = math.max(unit, request.bytes // element_bytes) end
  return unit
end

local function new_now(tensor)
  local now = tensor.swizzle
  if not now then return new_candidate("plain", tensor.layout, tensor.elements, same_place) end
  local layout = composition(now, tensor.layout)
  local candidate = new_candidate("swizzle", layout, tensor.elements, now)
  candidate.bits, candidate.base, candidate.shift = now.bits, now.base, now.shift
  return candidate
end

-- All there are, the tensor as it is first; and that one. It is none of them where its swizzle
-- tears apart what is accessed at once.
local function candidates_of(tensor, list, options)
  local plain, bytes = tensor.layout, tensor.bytes
  local unit, now, all, out = unit_of(list, bytes), new_now(tensor), {}, {}
  now.is_now = true
  if not tensor.swizzle or 1 << tensor.swizzle.base >= unit then all[1] = now end
  if tensor.swizzle then
    all[#all + 1] = new_candidate("plain", plain, cosize(plain), same_place)
  end
  if options.swizzle ~= false then add_swizzles(all, plain, bytes, unit) end
  if options.padding ~= false then add_paddings(all, plain, bytes, unit) end
  for _, candidate in ipairs(all) do
    local fits = not options.max_bytes or candidate.elements * bytes <= options.max_bytes
    if fits and (candidate == now or candidate.text ~= now.text) then
      out[#out + 1] = candidate
    end
  end
  if #out == 0 then
    fail("no layout of %s fits in %d bytes (max_bytes)", now.text, options.max_bytes)
  end
  return out, now
end

-- {====== Costs ======

-- The costs of writes and reads together, as fields of `out`.
local function sum_costs(out, writes, reads)
  out.writes, out.reads = writes, reads
  out.wavefronts = writes.wavefronts + reads.wavefronts
  out.conflicts = writes.conflicts + reads.conflicts
  out.requests = writes.requests + reads.requests
  out.cost = out.wavefronts + out.requests
  return out
end

-- Counts a candidate, and also as `torn` where the machine code may have other requests.
local function value(candidate, list, element_bytes)
  candidate.bytes = candidate.elements * element_bytes
  sum_costs(candidate, requests.costs(list, element_bytes, candidate.place))
  candidate.is_unsure = false
  if candidate.is_now and list.is_sure then return end
  local torn = sum_costs({}, requests.costs(list, element_bytes, candidate.place, true))
  candidate.is_unsure = torn.requests ~= candidate.requests
  candidate.torn = candidate.is_unsure and torn or nil
end

local simplicity = { plain = 0, swizzle = 1, padding = 2 }

-- The keys by which candidates are ranked, the first that differs deciding.
local function keys_of(c)
  return { c.cost, c.bytes, simplicity[c.kind], c.bits or 0, -(c.base or 0), c.shift or 0,
           c.padding or 0, c.step or 0 }
end

local function comes_before(a, b)
  local of_a, of_b = a.keys, b.keys
  for i = 1, #of_a do
    if of_a[i] ~= of_b[i] then return of_a[i] < of_b[i] end
  end
  return false
end

-- {====== The result ======

local found_type = tiles.new_type("FoundSwizzle", {},
  { "layout", "best", "now", "candidates", "requests", "stopped" })

local function bytes_of(request) return request.bytes * (request.parts and #request.parts or 1) end

-- "96 of 16 bytes", of the requests that write or that do not.
local function requests_text(list, writes)
  local by_bytes, sizes, parts = {}, {}, {}
  for _, request in ipairs(list) do
    if request.writes == writes then
      local bytes = bytes_of(request)
      if not by_bytes[bytes] then sizes[#sizes + 1] = bytes end
      by_bytes[bytes] = (by_bytes[bytes] or 0) + request.count
    end
  end
  table.sort(sizes)
  for i, bytes in ipairs(sizes) do
    parts[i] = ("%s of %s a lane"):format(report.number(by_bytes[bytes]), plural(bytes, "byte"))
  end
  return #parts > 0 and table.concat(parts, ", ") or "none"
end

-- "128", or "~128 to 512".
local function requests_of(c)
  if not c.is_unsure then return report.number(c.requests) end
  return ("~%s to %s"):format(report.number(c.requests), report.number(c.torn.requests))
end

local function row_of(rank, c, has_requests)
  local row = { tostring(rank), c.text .. (c.is_now and "  (as it is)" or ""),
                report.conflicts(c.writes), report.conflicts(c.reads) }
  row[#row + 1] = has_requests and requests_of(c) or nil
  row[#row + 1] = tostring(c.bytes)
  return row
end

-- The rows that are shown. They say how many requests there are if not all have as many for sure.
local function rows_of(shown)
  local has_requests = false
  for _, row in ipairs(shown) do
    has_requests = has_requests or row.candidate.is_unsure
      or row.candidate.requests ~= shown[1].candidate.requests
  end
  local rows = { { "rank", "layout", "write conflicts", "read conflicts",
                   has_requests and "requests" or "bytes", has_requests and "bytes" or nil } }
  for _, row in ipairs(shown) do
    rows[#rows + 1] = row_of(row.rank, row.candidate, has_requests)
  end
  return rows
end

local merging <const> = {
  [true] = "\nfor the current layout, requests are those of the machine code, in which the "
    .. "compiler has merged neighbours",
  [false] = "\nneighbours count as one request, because most compilers merge them; no machine code "
    .. "confirms this here",
}
local UNSURE <const> = "\n~: a compiler may split neighbours here; the figures are for merged "
  .. "and for single accesses"

-- Where requests are made of neighbours: how that is known, and what a mark in the rows means.
local function merging_text(self, shown)
  local text = ""
  for _, request in ipairs(self.requests) do
    if request.parts then text = merging[self.is_settled] end
  end
  for _, row in ipairs(shown) do
    if row.candidate.is_unsure then return text .. UNSURE end
  end
  return text
end

-- Is the candidate worth a row? The best swizzle and the best padding are, if they are better than
-- the tensor as it is. With the option `rows` the first rows are, whatever they are.
local function is_shown(self, rank, candidate, kinds)
  if candidate.is_now then return true end
  if self.rows then return rank <= self.rows end
  local helps = not self.now.cost or candidate.cost < self.now.cost
  local is_first = not kinds[candidate.kind]
  kinds[candidate.kind] = true
  return helps and is_first
end

local function cost_text(c)
  return ("%s requests and %s wavefronts"):format(report.number(c.requests),
    report.number(c.wavefronts))
end

-- What to make of the best layout; "" where the table says it.
local function remark(self)
  local now, best = self.now, self.best
  if now.cost and best.cost < now.cost and best.torn and best.torn.cost >= now.cost then
    return ("\nrank 1 may be no gain: %s if all neighbours are torn apart;\nas it is, %s. "
      .. "profile the kernel\nwith that layout: it counts by the machine code"):format(
      cost_text(best.torn), cost_text(now))
  end
  if not now.cost or best.cost < now.cost then return "" end
  return now.conflicts == 0 and "\nthe current layout has no conflicts: nothing to gain"
    or "\nnothing helps: no layout tried has fewer conflicts; let the lanes access other elements"
end

function found_type:__tostring()
  local shown, kinds = {}, {}
  for rank, candidate in ipairs(self.candidates) do
    if is_shown(self, rank, candidate, kinds) then
      shown[#shown + 1] = { rank = rank, candidate = candidate }
    end
  end
  local what = ("%s%s %s"):format(self.name and self.name .. " " or "", self.dtype, self.now.text)
  return ("%s\nwrites: %s; reads: %s%s\n%s%s"):format(report.title(what, self),
    requests_text(self.requests, true), requests_text(self.requests, false),
    merging_text(self, shown),
    report.table(rows_of(shown), 2), remark(self))
end

local function find(tensor, list, options, is_settled)
  local wanted, now = candidates_of(tensor, list, options)
  local done, stopped = search.rank("find_swizzle", wanted, function(candidate)
    value(candidate, list, tensor.bytes)
    candidate.keys = keys_of(candidate)
  end, comes_before)
  return setmetatable({ name = tensor.name, dtype = tensor.dtype, requests = list,
                        candidates = done, best = done[1], layout = done[1].layout,
                        now = now, stopped = stopped, n_wanted = #wanted,
                        rows = options.rows, is_settled = is_settled }, found_type)
end

-- {====== Asking ======

local is_a = types.is_a

local whole <const> = option_names.whole(1)
local readers_of_launch <const> = { blocks = whole, rows = whole, max_bytes = whole,
  padding = option_names.flag, swizzle = option_names.flag }
local function any() return true end
local readers_of_layout <const> = { dtype = any, writes = any, reads = any }
for name, reader in pairs(readers_of_launch) do readers_of_layout[name] = reader end

local function find_for_launch(unpacked, name, ...)
  local launch, args = unpacked[2], table.pack(...)
  local options = {}
  if type(name) ~= "string" then
    fail("the name of a shared tensor in the kernel was expected: "
      .. "find_swizzle(k{grid = ..., block = ...}, \"sA\", A, B, C)")
  end
  if type(args[1]) == "table" and getmetatable(args[1]) == nil and #args[1] == 0 then
    options = args[1]
    args = table.pack(select(2, ...))
    option_names.check("find_swizzle", options, readers_of_launch)
  end
  args = launch_given.arguments(unpacked, fail, table.unpack(args, 1, args.n))
  local tensor, list, is_settled = requests.recorded(launch, name,
    { blocks = options.blocks, patterns = MAX_PATTERNS },
    internal.launch.copies(table.unpack(args, 1, args.n)))
  return find(tensor, list, options, is_settled)
end

local function find_for_accesses(layout, options)
  if type(options) ~= "table" then
    fail("the accesses were expected, as in {dtype = f16, writes = {thr = \"(16,8):(8,1)\", "
      .. "val = \"(1,8)\"}, reads = \"ldmatrix.x4\"}")
  end
  option_names.check("find_swizzle", options, readers_of_layout)
  local dtype = options.dtype
  if not is_a(dtype, "dtype") then
    fail("the element type was expected, as in {dtype = f16, ...}")
  elseif not options.writes and not options.reads then
    fail("neither writes nor reads are given, so that there is nothing to compare")
  end
  local plain = layout.swizzle and layout.layout or layout
  if layout.swizzle and layout.offset ~= 0 then
    fail("the layout %s begins at %s; one that begins at 0 was expected", tostring(layout),
      tostring(layout.offset))
  end
  local tensor = { layout = plain, swizzle = layout.swizzle, dtype = tostring(dtype),
                   bytes = dtype.bytes, elements = cosize(layout) }
  return find(tensor, requests.described(plain, dtype.bytes, options), options)
end

local function to_layout(x)
  if type(x) == "string" then return L(x) end
  return is_a(x, "layout") and x or nil
end

function M.find_swizzle(x, ...)
  local unpacked = table.pack(internal.launch.launch(x))
  if unpacked.n > 0 then return find_for_launch(unpacked, ...) end
  local layout = to_layout(x)
  if not layout then
    fail("a launch or a layout was expected: find_swizzle(k{grid = ..., block = ...}, \"sA\", A, "
      .. "B, C) or find_swizzle(layout, {dtype = f16, writes = ..., reads = ...})")
  end
  return find_for_accesses(layout, ...)
end

return M
