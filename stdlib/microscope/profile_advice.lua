-- profile_advice.lua: why an access is not wider, and what to write so that it is; in words.
local plural = require "cuttle.plural"
local short = require "cuttle.short"
local M = {}

local WIDEST_BITS <const> = 128

-- By the reason that the IR gives (ir_data.h, CT_WIDTH_WHYS): why, and what to do. T is the
-- tensor to blame, N twice the elements that are taken at once.
local texts = {
  widest = { "16 bytes, the most that one instruction accesses" },
  widest_atom = { "32 bytes, the most that one instruction accesses" },
  scalar = { "the script indexes T element by element",
    "copy a whole tile or partition of T with copy()" },
  size = { "a thread's number of elements is not a multiple of N",
    "give each thread a multiple of N elements" },
  extent = { "the number of elements is a run-time value",
    "tile by static sizes, or use static_shapes = true" },
  common = { "the element that a thread accesses next is not the next one of T",
    "let a thread access N consecutive elements of T: a value layout of stride 1 there "
      .. "(tv_layout); max_common_vector shows how many two layouts allow" },
  multiple = { "a static stride of T is not a multiple of N", "pad T by a multiple of N elements" },
  stride = { "a run-time stride of T is not known to be a multiple of N",
    "make the extent that it comes from a multiple of N (pad the tensor), or use "
      .. "static_shapes = true" },
  pointer = { "T's first element is not aligned to N elements",
    "pass a tensor that begins at a multiple of N elements of its storage" },
  offset = { "the part of T begins at an offset that is not known to be a multiple of N",
    "tile T by multiples of N, and let threads begin at multiples of N" },
  swizzle = { "the swizzle of T separates neighbours",
    "use a swizzle whose base keeps N elements together: swizzle(B, log2(N), S)" },
  guard = { "the guard of T may end within a vector",
    "make the guarded extent a multiple of N, or copy whole tiles without the guard" },
  predicate = { "copy_if's predicate may differ within a vector",
    "make one predicate for N elements: a layout that is constant along them" },
  converts = { "the elements are widened on the way", "copy them first, and cast in registers" },
  atom = { "the copy atom accesses that many", "use a wider atom if the layouts allow it" },
  registers = { "bools in registers are not packed", "keep flags as u8" },
}

-- In place of these, where an MMA fixes which elements a thread has.
local of_mma = {
  operand = { "the MMA's atom determines which elements of T a thread reads",
    "load them from shared memory with ldmatrix: see tiled_copy_A, tiled_copy_B and "
      .. "atoms{family = \"ldmatrix\"}" },
  sum = { "the MMA's atom determines which elements of T a thread has",
    "write them to shared memory first, and copy whole rows from there, if these stores matter" },
}

-- Why, and what to do.
local function texts_of(access)
  if access.why == "atom" and access.bits > WIDEST_BITS then return texts.widest_atom end
  local is_layout = access.why == "common" or access.why == "size"
  return is_layout and access.mma and of_mma[access.mma] or texts[access.why]
end

local function n_of(n, what) return plural(short(n), what) end

-- "24.6k requests and 98.3k wavefronts".
local function figures(counts)
  local other = counts.wavefronts and "wavefront" or "sector"
  return ("%s and %s"):format(n_of(counts.requests, "request"), n_of(counts[other .. "s"], other))
end

-- What the compiler makes of an access, or may make of it.
local function merging_of(access)
  if access.merged_bits and access.asked then
    return ("the compiler makes accesses of %d bits of neighbours; as written it would be %s")
      :format(access.merged_bits, figures(access.asked))
  elseif access.widest then
    return ("%s as written, but %s if the compiler merges neighbours"):format(figures(access),
      figures(access.widest))
  end
end

-- What the figures themselves show.
local remarks = {
  banks = "lanes meet in a bank of T; pad its stride or swizzle it: find_swizzle shows how",
  addresses = "lanes read different elements of T, but constant memory serves one address at a "
    .. "time; keep T in shared or global memory",
  sectors = "neighbouring lanes are far apart in T; let them access neighbouring elements",
}

local function fill(text, access, tensor)
  local elements = 128 * access.vec // access.bits -- of 16 bytes
  local is_far = access.why == "common" or access.why == "size"
  local n = tostring(is_far and elements or 2 * access.vec)
  return (text:gsub("%f[%w]T%f[%W]", tensor or access.blamed or access.tensor)
    :gsub("%f[%w]N%f[%W]", n))
end

-- "the script indexes A element by element".
function M.reason(access) return fill(texts_of(access)[1], access) end

-- What to write instead; nil where nothing has to be.
function M.fix(access)
  local fix = texts_of(access)[2]
  return fix and fill(fix, access)
end

local function remark_of(access)
  if access.atomic or access.requests == 0 then return nil end
  if access.space == "shared" and access.wavefronts >= 1.5 * access.ideal_wavefronts then
    return "banks"
  end
  if access.space == "constant" and access.wavefronts >= 1.5 * access.ideal_wavefronts then
    return "addresses"
  end
  local has_neighbours = access.lanes >= 2 * access.requests
  local is_apart = access.space == "global" and access.efficiency < 0.5
    and access.sectors >= 1.5 * access.requests -- else the lanes share an element, or a few
  return is_apart and has_neighbours and "sectors" or nil
end

-- Something that the figures themselves show; nil: nothing.
function M.remark(access)
  local name = remark_of(access)
  return name and fill(remarks[name], { vec = access.vec, bits = access.bits,
                                        tensor = access.tensor })
end

-- {====== L2 ======

local FAR <const> = 1.2 -- from the best

-- Of a product whose blocks share less of A and B than they could.
local function of_order(p)
  if not p or p.wave_bytes <= FAR * p.best_bytes then return nil end
  return ("blocks that run at the same time share less of %s and %s than they could: %.3g times "
    .. "the bytes that rectangles of %d x %d tiles of C take; let them walk such rectangles, "
    .. "for m, n in raster{tiles = ..., group = %d}"):format(p.A, p.B, p.wave_bytes / p.best_bytes,
      p.best_high, p.best_wide, p.best_high)
end

-- {====== Boxes ======

local MANY <const> = 4 -- boxes of a call

local boxes <const> = "line %d, %s %s: a call is %d boxes of %s %s; %d of %s would do, if %s held "
  .. "%s in one piece, as tile_to_shape and gmma_layout make them"

-- Of calls of tma_load and tma_store that are many boxes, where few would do.
local function add_boxes(out, line)
  for _, call in ipairs(line.calls or {}) do
    if call.boxes > MANY and call.n_fewest and 2 * call.n_fewest <= call.boxes then
      out[#out + 1] = boxes:format(line.line, call.op, call.tensor, call.boxes,
        table.concat(call.box, "x"), call.dtype, call.n_fewest, table.concat(call.fewest, "x"),
        call.shared, call.n_fewest == 1 and "it" or "each")
    end
  end
end

-- {====== Local arrays ======

local in_local <const> = "line %d, %s: a local array of %d bytes for each thread: an access costs "
  .. "as much as one of global memory that hits a cache; if its indices can be static, use fragment"

local function add_locals(out, kernel)
  for _, t in ipairs(kernel.locals or {}) do
    out[#out + 1] = in_local:format(t.line, t.name, t.elements * t.element_bytes)
  end
end

-- {====== All of a kernel ======

-- {places, line, seen, tensor, access, text}: `text` is still to be filled, `line` the last one,
-- `seen` what it names of that line. What is said of several accesses is one entry.
local function add(entries, key, text, tensor, line, access)
  local entry = entries[key]
  if not entry then
    entry = { places = {}, tensor = tensor, access = access, text = text }
    entries[key], entries[#entries + 1] = entry, entry
  end
  if entry.tensor ~= tensor then entry.tensor = "the tensor" end
  local place = ("%s %s"):format(access.op, access.tensor)
  if entry.line ~= line then
    entry.line, entry.seen = line, {}
    entry.places[#entry.places + 1] = ("line %d, %s"):format(line.line, place)
  elseif not entry.seen[place] then
    entry.places[#entry.places] = ("%s, %s"):format(entry.places[#entry.places], place)
  end
  entry.seen[place] = true
end

-- A fault of both sides of a copy is told once.
local function add_widths(entries, line)
  local seen = {}
  for _, access in ipairs(line.accesses) do
    local tensor, why, fix = access.blamed or access.tensor, table.unpack(texts_of(access))
    local key = ("%s %s %s"):format(access.why, fill("N", access), access.mma or "")
    local is_wide = access.merged_bits and access.merged_bits >= WIDEST_BITS
    if fix and not is_wide and not access.atomic and not seen[key .. tensor] then
      seen[key .. tensor] = true
      local text = ("no wider, because %s; %s"):format(why, fix)
      add(entries, key, text, tensor, line, access)
    end
  end
end

-- What is to be said of a kernel's accesses, losses, merged ones, then widths, as texts
-- "line 7, load A; line 9, load B: why; what to do"; of local arrays; of boxes; and of the order
-- of its blocks.
function M.all(kernel)
  local losses, merges, widths, out = {}, {}, {}, {}
  for _, line in ipairs(kernel.lines) do
    for _, access in ipairs(line.accesses) do
      local name = remark_of(access)
      if name then add(losses, name, remarks[name], access.tensor, line, access) end
      local text = merging_of(access)
      if text then add(merges, text, text, access.tensor, line, access) end
    end
    add_widths(widths, line)
  end
  for _, entries in ipairs { losses, merges, widths } do
    for _, entry in ipairs(entries) do
      out[#out + 1] = ("%s: %s"):format(table.concat(entry.places, "; "),
        fill(entry.text, entry.access, entry.tensor))
    end
  end
  add_locals(out, kernel)
  for _, line in ipairs(kernel.lines) do add_boxes(out, line) end
  out[#out + 1] = kernel.l2 and of_order(kernel.l2.product)
  return out
end

return M
