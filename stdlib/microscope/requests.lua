-- requests.lua: the requests that warps make to one shared tensor, for find_swizzle: described by
-- thread-value layouts, by ldmatrix or lane by lane, or recorded while a launch ran. A request is a
-- list of 32 byte offsets, false of lanes that take no part, from the tensor's first element and
-- without any swizzle; `bytes` of a lane, `writes`, `is_store` (no load as well), `count`. One that
-- the compiler has made of neighbours has them as a list `parts` of such lists, with `bytes` each.
local internal = ...
local lists = require "cuttle.lists"
local machine = require "cuttle.profile_machine"
local tiles = require "cuttle.tiles"
local M = {}

local LANES <const> = 32
local MAX_BYTES <const> = 16 -- of a lane
local SM <const> = 90 -- whose machine code says what is merged
local LDMATRIX_BYTES <const> = 16 -- of a row of 8 elements

local fail = require "cuttle.fail".of "find_swizzle"

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
        .. "needs; without vec, the widest access is used", wanted, wanted)
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
  local tv = type(spec.tv) == "string" and L(spec.tv) or spec.tv
  if rank(tv) ~= 2 then
    fail("the thread-value layout %s has %d modes; threads and values were expected", tv, rank(tv))
  end
  local n_threads, n_values = size(tv, 0), size(tv, 1)
  local function offset_of(thread, value) return tile.layout(tv(thread, value)) end
  local vec = width_of(offset_of, n_threads, n_values, tile.bytes, spec.vec)
  add_threads(list, tile, spec, offset_of, n_threads, n_values, vec)
end

-- As a tiled copy of CuTe does it: the tile of all threads, again and again over the tensor.
local function add_tiled(list, tile, spec)
  if not spec.val then
    fail("threads without values; {thr = \"(16,8):(8,1)\", val = \"(1,8)\"} was expected")
  end
  local tv, shape = tv_layout(spec.thr, spec.val)
  local pieces = zipped_divide(tile.layout, shape)
  local n_threads, n_values = size(tv, 0), size(tv, 1)
  for piece = 0, size(pieces, 1) - 1 do
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
    add_tiled(list, tile, { thr = layout { rows, columns }, vec = vec,
                            val = row_major { 1, vec } })
  else
    add_tiled(list, tile, { thr = row_major { columns, rows }, vec = vec,
                            val = layout { vec, 1 } })
  end
end

-- Which lanes of an atom say where: those that are the first to have their data.
local function lanes_of(values)
  local seen, lanes = {}, {}
  for thread = 0, size(values, 0) - 1 do
    local at = values(thread, 0)
    lanes[thread], seen[at] = not seen[at], true
  end
  return lanes
end

-- A tiled copy: what each of its atoms takes at once, of its source or its destination.
local function add_copy(list, tile, copy)
  local atom = copy.atom
  local values = tile.writes and copy.val_dst or copy.val_src
  if atom.dtype.bytes ~= tile.bytes then
    fail("the tiled copy is of %s, but the tensor's elements have %d bytes", atom.dtype, tile.bytes)
  end
  local parts = tile.writes and copy:tidfrg_D(tile.layout) or copy:tidfrg_S(tile.layout)
  local lanes, n, vec = lanes_of(values), size(values, 0), size(values, 1)
  for warp = 0, copy.threads - 1, LANES do
    for rest = 0, size(parts, 2) - 1 do
      for first = 0, size(parts, 1) - 1, vec do
        local request = new_request(tile, {}, vec)
        request.is_store = request.is_store or atom.family == "ldmatrix" -- none of its phases merge
        for lane = 0, LANES - 1 do
          local thread, at = warp + lane, nil
          if thread < copy.threads and lanes[thread % n] then
            at = run_at(function(_, i) return parts(thread, i, rest) end, thread, first, vec)
            if not at then
              fail("%s accesses %d elements of %s at once, which the layout %s does not keep "
                .. "together and aligned", atom.name, vec, atom.dtype, tile.layout)
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
      fail("offset %s of lane %d is not a multiple of vec (%d), 0 or more; write such an "
        .. "offset, or false",
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

-- Where the bytes of a list of lanes are in the layout that is tried.
local function placed(lanes, element_bytes, place)
  local at = {}
  for lane = 1, LANES do
    local byte = lanes[lane]
    at[lane] = byte and place(byte // element_bytes) * element_bytes + byte % element_bytes
  end
  return at
end

-- Do parts first .. last lie together and aligned in all lanes, in the same order? Then the first
-- byte of each lane.
local function together(parts, first, last, bytes)
  local n, at = last - first + 1, {}
  local slots
  for lane = 1, LANES do
    if parts[first][lane] then
      local lowest = math.maxinteger
      for i = first, last do lowest = math.min(lowest, parts[i][lane]) end
      if lowest % (n * bytes) ~= 0 then return nil end
      slots = slots or {}
      for i = first, last do
        local slot = parts[i][lane] - lowest
        slots[i] = slots[i] or slot
        if slots[i] ~= slot or slot >= n * bytes then return nil end
      end
      at[lane] = lowest
    else
      at[lane] = false
    end
  end
  return at
end

local function add_cost(cost, at, bytes, request)
  local wavefronts, phases = internal.watch.wavefronts(at, bytes, request.is_store)
  cost.wavefronts = cost.wavefronts + wavefronts * request.count
  cost.conflicts = cost.conflicts + (wavefronts - phases) * request.count
  cost.requests = cost.requests + request.count
end

-- Neighbours that a layout tears apart are two requests, or more; with `is_torn` each is one.
local function add_parts(cost, parts, first, last, request, is_torn)
  local at = (first == last or not is_torn) and together(parts, first, last, request.bytes)
  if at then
    add_cost(cost, at, (last - first + 1) * request.bytes, request)
  else
    local half = first + (last - first) // 2
    add_parts(cost, parts, first, half, request, is_torn)
    add_parts(cost, parts, half + 1, last, request, is_torn)
  end
end

local function new_cost() return { wavefronts = 0, conflicts = 0, requests = 0 } end

-- What the writes and the reads cost where the element at i is at place(i); with `is_torn`, if the
-- compiler makes no request of neighbours.
function M.costs(list, element_bytes, place, is_torn)
  local writes, reads = new_cost(), new_cost()
  for _, request in ipairs(list) do
    local cost = request.writes and writes or reads
    if request.parts then
      local parts = {}
      for i, lanes in ipairs(request.parts) do parts[i] = placed(lanes, element_bytes, place) end
      add_parts(cost, parts, 1, #parts, request, is_torn)
    else
      add_cost(cost, placed(request, element_bytes, place), request.bytes, request)
    end
  end
  return writes, reads
end

-- {====== Neighbours ======

-- What requests have in common that may be merged: lanes, their distances, how often they come.
local function key_of(request, first)
  local lanes = {}
  for lane = 1, LANES do
    lanes[lane] = request.physical[lane] and request.physical[lane] - first or "-"
  end
  return ("%s %s %s %s %s"):format(request.writes, request.bytes, request.count, request.warp,
    table.concat(lanes, ","))
end

local function first_of(request)
  for lane = 1, LANES do
    if request.physical[lane] then return request.physical[lane] end
  end
end

-- Lists of requests that differ in nothing but where they are, in that order. The second to the
-- same place is of another list.
local function alike(requests)
  local times = {}
  local groups = lists.groups(requests, function(request)
    request.first = first_of(request)
    local key = key_of(request, request.first)
    local place = ("%s at %d"):format(key, request.first)
    times[place] = (times[place] or 0) + 1
    return ("%s %d"):format(key, times[place])
  end)
  for _, list in ipairs(groups) do table.sort(list, lists.by "first") end
  return groups
end

local function are_aligned(request, bytes)
  for lane = 1, LANES do
    local at = request.physical[lane]
    if at and at % bytes ~= 0 then return false end
  end
  return true
end

-- How many requests from list[i] on are one of at most `bytes` bytes.
local function count_together(list, i, bytes)
  local n = bytes // list[i].bytes
  while n > 1 do
    local last = list[i + n - 1]
    local fits = last and last.first == list[i].first + (n - 1) * list[i].bytes
      and are_aligned(list[i], n * list[i].bytes)
    for k = 1, fits and n - 1 or 0 do
      fits = fits and list[i + k].first == list[i].first + k * list[i].bytes
    end
    if fits then return n end
    n = n // 2
  end
  return 1
end

-- Requests of which a compiler makes wider ones, up to `bytes` bytes of a lane.
local function add_merged(list, requests, bytes)
  for _, similar in ipairs(alike(requests)) do
    local i = 1
    while i <= #similar do
      local n, request = count_together(similar, i, bytes), similar[i]
      if n > 1 then request.parts = table.move(similar, i, i + n - 1, 1, {}) end
      list[#list + 1] = request
      i = i + n
    end
  end
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

-- The requests of an access as they are written, without the tensor's swizzle; `physical` with it.
local function requests_of(buf, mem)
  local list, recorded = {}, 0
  local all = (mem.asked or mem).requests
  for _, pattern in ipairs(mem.patterns) do recorded = recorded + pattern.count end
  for _, pattern in ipairs(mem.patterns) do
    local request = { bytes = mem.vec * mem.element_bytes, writes = mem.writes,
                      is_store = mem.writes and not mem.reads, warp = pattern.warp, physical = {} }
    request.count = all == recorded and pattern.count or pattern.count * all / recorded
    for lane = 1, LANES do
      local offset = pattern[lane]
      request.physical[lane] = offset and offset * buf.bytes
      if offset and buf.swizzle then offset = buf.swizzle(offset) end
      request[lane] = offset and offset * buf.bytes
    end
    list[#list + 1] = request
  end
  return list
end

local function level_of(mem, is_settled)
  if not mem.merged then return 0 end
  local of = mem.load or mem.store
  return is_settled and of and of.level or MAX_BYTES
end

-- Adds to `by_line` what may be merged with each other: the same line and level.
local function add_site(by_line, row, buf, mem, is_settled)
  local level = level_of(mem, is_settled)
  local key = ("%s:%d %d"):format(row.chunk, row.line, level)
  local of = by_line[key]
  if not of then
    of = { level = level, requests = {} }
    by_line[key], by_line[#by_line + 1] = of, of
  end
  by_line.is_unsure = by_line.is_unsure or mem.is_unsure
  table.move(requests_of(buf, mem), 1, #mem.patterns, #of.requests + 1, of.requests)
end

-- Is there something of the tensor that a compiler may merge?
local function may_merge(program, at)
  for _, row in ipairs(program.rows) do
    for _, mem in ipairs(row.mem) do
      local buf = program.shared[mem.buf]
      if buf and buf.at == at and mem.merged
        and mem.merged[MAX_BYTES].requests ~= mem.requests then
        return true
      end
    end
  end
  return false
end

-- Runs launch(...) on the CPU engine, its first blocks, and returns the tensor as {layout, swizzle,
-- dtype, bytes} and the requests to it, also to its memory as other types. Then: are they those of
-- the machine code? Where it is not known, neighbours are merged. The list's `is_sure`: it is
-- known, and the profile is sure of all of them.
function M.recorded(launch, name, limits, ...)
  local session <close> = internal.watch.profile_begin(SM, limits.blocks or 1, limits.patterns)
  launch(...)
  local program = session:finish()[1]
  if not program then fail("the launch has no blocks, so that nothing accesses %s", name) end
  local tensor, by_line, list = find_buf(program.shared, name), {}, {}
  local merges = may_merge(program, tensor.at)
  local is_settled = not merges or machine.settle(program, SM)
  for _, row in ipairs(program.rows) do
    for _, mem in ipairs(row.mem) do
      local buf = program.shared[mem.buf]
      if buf and buf.at == tensor.at then
        if not same_swizzle(buf, tensor) then
          fail("%s is the memory of %s, too, under another swizzle; only tensors that are seen "
            .. "under one can be searched", name, buf.name)
        end
        add_site(by_line, row, buf, mem, is_settled and merges)
      end
    end
  end
  for _, of in ipairs(by_line) do
    if merges and of.level > 0 then
      add_merged(list, of.requests, of.level)
    else
      table.move(of.requests, 1, #of.requests, #list + 1, list)
    end
  end
  list.is_sure = is_settled and not by_line.is_unsure
  if #list == 0 then
    fail("nothing accessed %s in the %d blocks that ran; run more with {blocks = n}", name,
      limits.blocks or 1)
  end
  return tensor, list, is_settled
end

return M
