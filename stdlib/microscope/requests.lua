-- requests.lua: the requests that warps make to one shared tensor, for find_swizzle: described by
-- thread-value layouts, by ldmatrix or lane by lane, or recorded while a launch ran. A request is a
-- list of 32 byte offsets, false of lanes that take no part, from the tensor's first element and
-- without any swizzle; `bytes` of a lane, `writes`, `is_store` (no load as well), `count`.
local ct = require "cuttle"
local internal = ...
local tiles = require "cuttle.tiles"
local M = {}

local LANES <const> = 32
local MAX_BYTES <const> = 16 -- of a lane
local LDMATRIX_BYTES <const> = 16 -- of a row of 8 elements

local function fail(format, ...)
  internal.fail("find_swizzle: " .. format:format(...))
end

-- {====== Described ======

-- Where values first .. first + vec - 1 of the thread lie together and aligned, the first's offset.
local function run_at(offset_of, thread, first, vec)
  local start = offset_of(thread, first)
  if start % vec ~= 0 then return nil end
  for i = 1, vec - 1 do
    if offset_of(thread, first + i) ~= start + i then return nil end
  end
  return start
end

local function has_runs(offset_of, n_threads, n_values, vec)
  for thread = 0, n_threads - 1 do
    for first = 0, n_values - 1, vec do
      if not run_at(offset_of, thread, first, vec) then return false end
    end
  end
  return true
end

-- How many values a thread takes at once: as wanted, else as wide as they lie together.
local function width_of(offset_of, n_threads, n_values, bytes, wanted)
  if wanted then
    if math.type(wanted) ~= "integer" or wanted < 1 or wanted * bytes > MAX_BYTES
      or wanted & (wanted - 1) ~= 0 or n_values % wanted ~= 0 then
      fail("vec is %s; a power of two was expected that divides the %d values of a thread and "
        .. "makes at most %d bytes", tostring(wanted), n_values, MAX_BYTES)
    elseif not has_runs(offset_of, n_threads, n_values, wanted) then
      fail("the layout does not keep %d values of a thread together and aligned, as vec = %d "
        .. "needs; without vec the widest is taken", wanted, wanted)
    end
    return wanted
  end
  local vec = MAX_BYTES // bytes
  while vec > 1 and not (n_values % vec == 0 and has_runs(offset_of, n_threads, n_values, vec)) do
    vec = vec // 2
  end
  return vec
end

local function new_request(tile, spec, vec)
  return { bytes = vec * tile.bytes, writes = tile.writes, is_store = tile.writes,
           count = spec.count or 1 }
end

-- Threads and values, whose offsets are offset_of(thread, value): one request for each warp and
-- vector.
local function add_threads(list, tile, spec, offset_of, n_threads, n_values, vec)
  for warp = 0, n_threads - 1, LANES do
    for first = 0, n_values - 1, vec do
      local request = new_request(tile, spec, vec)
      for lane = 0, LANES - 1 do
        request[lane + 1] = warp + lane < n_threads
          and offset_of(warp + lane, first) * tile.bytes
      end
      list[#list + 1] = request
    end
  end
end

local function add_tv(list, tile, spec)
  local tv = type(spec.tv) == "string" and ct.L(spec.tv) or spec.tv
  if ct.rank(tv) ~= 2 then
    fail("the thread-value layout %s has %d modes; threads and values were expected", tv,
      ct.rank(tv))
  end
  local n_threads, n_values = ct.size(tv, 0), ct.size(tv, 1)
  local function offset_of(thread, value) return tile.layout(tv(thread, value)) end
  local vec = width_of(offset_of, n_threads, n_values, tile.bytes, spec.vec)
  add_threads(list, tile, spec, offset_of, n_threads, n_values, vec)
end

-- As a tiled copy of CuTe does it: the tile of all threads, again and again over the tensor.
local function add_tiled(list, tile, spec)
  if not spec.val then
    fail("threads without values; {thr = \"(16,8):(8,1)\", val = \"(1,8)\"} was expected")
  end
  local tv, shape = ct.tv_layout(spec.thr, spec.val)
  local pieces = ct.zipped_divide(tile.layout, shape)
  local n_threads, n_values = ct.size(tv, 0), ct.size(tv, 1)
  for piece = 0, ct.size(pieces, 1) - 1 do
    local function offset_of(thread, value) return pieces(tv(thread, value), piece) end
    local vec = width_of(offset_of, n_threads, n_values, tile.bytes, spec.vec)
    add_threads(list, tile, spec, offset_of, n_threads, n_values, vec)
  end
end

-- "ldmatrix.x4": 8x8 blocks of 16 bytes a row, along mode 1; `trans`: along mode 0. Two of four
-- blocks are below each other, in the order of mma's operand A; that order does not matter to the
-- banks.
local function add_ldmatrix(list, tile, text)
  local blocks, trans = text:match("^ldmatrix%.x([124])(.*)$")
  if not blocks or (trans ~= "" and trans ~= ".trans") then
    fail("'%s' is not an access; 'ldmatrix.x1', '.x2', '.x4' were expected, perhaps with "
      .. "'.trans' after it, or a table", text)
  end
  local rows, columns = blocks == "1" and 8 or 16, blocks == "4" and 2 or 1
  local vec = LDMATRIX_BYTES // tile.bytes
  if trans == "" then
    add_tiled(list, tile, { thr = ct.layout { rows, columns }, vec = vec,
                            val = ct.row_major { 1, vec } })
  else
    add_tiled(list, tile, { thr = ct.row_major { columns, rows }, vec = vec,
                            val = ct.layout { vec, 1 } })
  end
end

-- Which lanes of an atom say where: those that are the first to have their data.
local function lanes_of(values)
  local seen, lanes = {}, {}
  for thread = 0, ct.size(values, 0) - 1 do
    local at = values(thread, 0)
    lanes[thread], seen[at] = not seen[at], true
  end
  return lanes
end

-- A tiled copy: what each of its atoms takes at once, of its source or its destination.
local function add_copy(list, tile, copy)
  local atom = copy.atom
  local values = tile.writes and copy.val_dst or copy.val_src
  if atom.dtype.bits ~= 8 * tile.bytes then
    fail("the tiled copy is of %s, but the tensor's elements have %d bytes", atom.dtype, tile.bytes)
  end
  local parts = tile.writes and copy:tidfrg_D(tile.layout) or copy:tidfrg_S(tile.layout)
  local lanes, n, vec = lanes_of(values), ct.size(values, 0), ct.size(values, 1)
  for warp = 0, copy.threads - 1, LANES do
    for rest = 0, ct.size(parts, 2) - 1 do
      for first = 0, ct.size(parts, 1) - 1, vec do
        local request = new_request(tile, {}, vec)
        request.is_store = request.is_store or atom.family == "ldmatrix" -- none of its phases merge
        for lane = 0, LANES - 1 do
          local thread, at = warp + lane, nil
          if thread < copy.threads and lanes[thread % n] then
            at = run_at(function(_, i) return parts(thread, i, rest) end, thread, first, vec)
            if not at then
              fail("%s takes %d elements of %s at once, which the layout %s does not keep together "
                .. "and aligned", atom.name, vec, atom.dtype, tile.layout)
            end
          end
          request[lane + 1] = at and at * tile.bytes or false
        end
        list[#list + 1] = request
      end
    end
  end
end

local function add_lanes(list, tile, spec)
  local vec = spec.vec or 1
  local request = new_request(tile, spec, vec)
  if #spec > LANES then
    fail("a list of %d offsets; at most %d were expected, one for each lane", #spec, LANES)
  end
  for lane = 1, LANES do
    local offset = spec[lane] or false
    if offset and (math.type(offset) ~= "integer" or offset < 0 or offset % vec ~= 0) then
      fail("offset %s of lane %d; a multiple of vec (%d) from 0 on was expected, or false",
        tostring(offset), lane - 1, vec)
    end
    request[lane] = offset and offset * tile.bytes
  end
  list[#list + 1] = request
end

local function add_access(list, tile, spec)
  if type(spec) == "string" then
    add_ldmatrix(list, tile, spec)
  elseif tiles.type_name(spec) == "tiled_copy" then
    add_copy(list, tile, spec)
  elseif type(spec) ~= "table" then
    fail("an access is %s; {thr = ..., val = ...}, {tv = ...}, a tiled copy, a list of offsets by "
      .. "lane or \"ldmatrix.x4\" was expected", type(spec))
  elseif spec.thr then
    add_tiled(list, tile, spec)
  elseif spec.tv then
    add_tv(list, tile, spec)
  elseif type(spec[1]) == "number" or spec[1] == false then
    add_lanes(list, tile, spec)
  elseif #spec > 0 then
    for _, one in ipairs(spec) do add_access(list, tile, one) end
  else
    fail("an access without threads; {thr = ..., val = ...}, {tv = ...}, a list of offsets by lane "
      .. "or \"ldmatrix.x4\" was expected")
  end
end

-- The requests of `accesses` = {writes = , reads = } to a tensor with this layout, without its
-- swizzle.
function M.described(layout, element_bytes, accesses)
  local list = {}
  for _, key in ipairs { "writes", "reads" } do
    if accesses[key] then
      local tile = { layout = layout, bytes = element_bytes, writes = key == "writes" }
      add_access(list, tile, accesses[key])
    end
  end
  return list
end

-- {====== Costs ======

local function cost_of(wavefronts, ideal)
  return { wavefronts = wavefronts, conflicts = wavefronts - ideal }
end

-- What the writes and the reads cost where the element at i is at place(i).
function M.costs(list, element_bytes, place)
  local at = {}
  local n, ideal = { [true] = 0, [false] = 0 }, { [true] = 0, [false] = 0 }
  for _, request in ipairs(list) do
    for lane = 1, LANES do
      local byte = request[lane]
      at[lane] = byte and place(byte // element_bytes) * element_bytes + byte % element_bytes
    end
    local here, phases = internal.wavefronts(at, request.bytes, request.is_store)
    local writes = request.writes
    n[writes] = n[writes] + here * request.count
    ideal[writes] = ideal[writes] + phases * request.count
  end
  return cost_of(n[true], ideal[true]), cost_of(n[false], ideal[false])
end

-- {====== Recorded ======

local function names_of(bufs)
  local names = {}
  for _, buf in pairs(bufs) do
    if not buf.alias then names[#names + 1] = buf.name end
  end
  table.sort(names)
  return table.concat(names, ", ")
end

local function find_buf(bufs, name)
  for _, buf in pairs(bufs) do
    if buf.name == name then return buf end
  end
  local names = names_of(bufs)
  fail("the kernel has no shared tensor '%s'; it has %s", name, names ~= "" and names or "none")
end

local function same_swizzle(a, b)
  if not a.swizzle or not b.swizzle then return a.swizzle == b.swizzle end
  return a.swizzle.y * a.bytes == b.swizzle.y * b.bytes
    and a.swizzle.z * a.bytes == b.swizzle.z * b.bytes
end

local function add_site(list, buf, mem)
  local recorded = 0
  for _, pattern in ipairs(mem.patterns) do recorded = recorded + pattern.count end
  for _, pattern in ipairs(mem.patterns) do
    local request = { bytes = mem.vec * mem.element_bytes, writes = mem.writes,
                      is_store = mem.writes and not mem.reads }
    request.count = mem.requests == recorded and pattern.count
      or pattern.count * mem.requests / recorded
    for lane = 1, LANES do
      local offset = pattern[lane]
      if offset and buf.swizzle then offset = buf.swizzle(offset) end
      request[lane] = offset and offset * buf.bytes
    end
    list[#list + 1] = request
  end
end

-- Runs launch(...) on the CPU engine, its first blocks, and returns the tensor as {layout, swizzle,
-- dtype, bytes} and the requests to it, also to its memory as other types.
function M.recorded(launch, name, limits, ...)
  local session <close> = internal.profile_begin(0, limits.blocks or 1, limits.patterns)
  launch(...)
  local program = session:finish()[1]
  if not program then fail("the launch has no blocks, so that nothing accesses %s", name) end
  local tensor, list = find_buf(program.shared, name), {}
  for _, row in ipairs(program.rows) do
    for _, mem in ipairs(row.mem) do
      local buf = program.shared[mem.buf]
      if buf and buf.at == tensor.at then
        if not same_swizzle(buf, tensor) then
          fail("%s is the memory of %s, too, under another swizzle; only tensors that are seen "
            .. "under one can be searched", name, buf.name)
        end
        add_site(list, buf, mem)
      end
    end
  end
  if #list == 0 then
    local n = limits.blocks or 1
    fail("nothing accessed %s in the first %s, which ran; run more by {blocks = n}", name,
      n == 1 and "block" or n .. " blocks")
  end
  return tensor, list
end

return M
