-- profile_machine.lua: what the accesses of a profiled program are in its machine code. The engine
-- counts what the emitted CUDA C asks for, and, at five levels, what that is if a compiler merges
-- neighbours (runtime/watch/profile_merge.h). The instructions of the cubin say how wide the
-- accesses of a line are, and so which level it is.
--   M.registers(program, sm)  registers and bytes of stack of a thread; or nil and why
--   M.read(program, sm)   {["load shared"] = {["chunk:12"] = {widths = {[bits] = instructions},
--                         n =, loops =, sunk_by =}}, ...}; or nil and why
--   M.settle(program, sm) puts counts of the cubin's accesses into program.rows: mem.requests and
--                         so on, what became of a load in mem.load, of a store in mem.store.
--                         mem.asked has what the CUDA C asks for. Without a cubin mem.widest has
--                         what the widest level is, where it differs.
local internal = ...
local cubin = require "cuttle.cubin"
local lists = require "cuttle.lists"
local M = {}

local LEVELS <const> = { 1, 2, 4, 8, 16 } -- bytes of a lane
local WIDEST <const> = 16
local MAX_ROUNDS <const> = 4
local SAME <const> = 1e-9 -- distances

local counts <const> = { "requests", "lanes", "bytes", "used", "sectors", "wavefronts", "ideal",
  "cache_lines" }

-- {====== The cubin ======

local function base_of(path) return path:match "[^/\\]*$" end

-- How many characters at their ends are the same.
local function common_end(a, b)
  local n = 0
  while n < #a and n < #b and a:byte(#a - n) == b:byte(#b - n) do n = n + 1 end
  return n
end

--- The chunk that a file of the cubin is: of those whose name is the same, the one whose folders
--- are most alike; or nil.
function M.chunk_of(path, chunks)
  local best, most = nil, -1
  for chunk in pairs(chunks) do
    local n = base_of(chunk) == base_of(path) and common_end(chunk, path) or -1
    if n > most then best, most = chunk, n end
  end
  return best
end

local function chunks_of(program)
  local chunks = {}
  for _, row in ipairs(program.rows) do chunks[row.chunk] = true end
  return chunks
end

local function note(found, key, place, access)
  local of = found[key] or {}
  found[key] = of
  of[place] = of[place] or { widths = {}, n = 0, loops = false }
  local here, bits = of[place], access.bits
  here.widths[bits] = (here.widths[bits] or 0) + 1
  here.n, here.loops = here.n + 1, here.loops or access.loops
  if access.sunk_by > 0 then
    here.sunk_by = math.min(here.sunk_by or math.maxinteger, access.sunk_by)
  end
end

local spaces_of <const> = { shared = { "shared" }, global = { "global" },
  generic = { "shared", "global" } }

-- Its cubin, compiled once; nil and why.
local function image_of(program, sm)
  if not program.source then return nil, program.why or "its CUDA C is not known" end
  if program.image_sm ~= sm then
    program.image, program.why_not = internal.watch.profile_cubin(program, sm)
    program.image_sm = sm
  end
  return program.image, program.why_not
end

--- Its cubin and the chunks of its lines, as keys; nil and why.
function M.image(program, sm)
  local image, why = image_of(program, sm)
  return image, image and chunks_of(program) or why
end

--- Registers and bytes of stack of a thread; nil and why.
function M.registers(program, sm)
  local image, why = image_of(program, sm)
  if not image then return nil, why end
  return cubin.resources(image, program.symbol)
end

--- The instructions of a program's cubin by operation and line ("chunk:12"): how many have each
--- width, how many there are, and whether one is in a loop. What is of no known line is of "?".
function M.read(program, sm)
  local image, why = image_of(program, sm)
  if not image then return nil, why end
  local found, chunks, known = {}, chunks_of(program), {}
  for _, access in ipairs(cubin.accesses(image)) do
    local path = access.folder .. "/" .. access.file
    known[path] = known[path] or M.chunk_of(path, chunks) or "?"
    local place = known[path] == "?" and "?" or ("%s:%d"):format(known[path], access.line)
    for _, space in ipairs(spaces_of[access.space]) do
      note(found, access.op .. " " .. space, place, access)
    end
  end
  return found
end

-- {====== Which level a line is ======

-- Adds what shares of its accesses the site has, by bytes, in one execution.
local function add_shares(shares, site, level)
  for size, n in pairs(site.mem.merged[level].sizes) do
    shares[size] = (shares[size] or 0) + n / site.runs
  end
end

local function total_of(t)
  local sum = 0
  for _, n in pairs(t) do sum = sum + n end
  return sum
end

-- How far the widths of requests are from those of instructions: 0 to 2.
local function distance_of(sites, widths)
  local shares, sum = {}, 0
  for _, site in ipairs(sites) do add_shares(shares, site, site.level) end
  local of_shares, of_widths = total_of(shares), total_of(widths)
  for _, size in ipairs(LEVELS) do
    local share = of_shares > 0 and (shares[size] or 0) / of_shares or 0
    sum = sum + math.abs(share - (widths[8 * size] or 0) / of_widths)
  end
  return sum
end

local function set_level(sites, level)
  for _, site in ipairs(sites) do site.level = level end
end

-- Requests of a site in one execution, were no lane masked.
local function pass_of(site)
  local mem = site.mem
  local masked = mem.requests > 0 and mem.slots / mem.requests or 1
  return mem.merged[site.level].requests / site.runs * masked
end

-- How far their number is from that of the instructions.
local function gap_of(sites, here)
  local pass = 0
  for _, site in ipairs(sites) do pass = pass + pass_of(site) end
  return math.abs(here.n - pass)
end

-- Sets the level of `some` of the sites at which all are most like the instructions, of equal ones
-- that with their number, of those the widest, if that is better than `least`. The distance then.
local function improve(some, sites, here, least)
  local best
  local before, gap = some[1].level, math.huge
  for i = #LEVELS, 1, -1 do
    set_level(some, LEVELS[i])
    local d, own_gap = distance_of(sites, here.widths), gap_of(sites, here)
    local is_equal = best and math.abs(d - least) < SAME
    if d < least - SAME or is_equal and own_gap < gap - SAME then
      best, least, gap = LEVELS[i], d, own_gap
    end
  end
  set_level(some, best or before)
  return least
end

-- The sites of each tensor: they may be merged with each other, so they have one level.
local function by_tensor(sites)
  return lists.groups(sites, function(site) return site.mem.buf end)
end

-- Several tensors may be accessed in a line, and only the neighbours of some be merged.
local function choose(sites, here)
  local tensors = by_tensor(sites)
  set_level(sites, WIDEST)
  local least, before = improve(sites, sites, here, math.huge), math.huge
  for _ = 1, #tensors > 1 and MAX_ROUNDS or 0 do
    if least > before - SAME then break end
    before = least
    for _, some in ipairs(tensors) do least = improve(some, sites, here, least) end
  end
end

-- {====== All of a program ======

local function new_group(groups, key, place)
  local of = groups[key] or {}
  groups[key] = of
  of[place] = of[place] or {}
  return of[place]
end

-- The sites whose neighbours may be merged, by operation and line. A group is idle in part where
-- other sites of the line were never carried out.
local function groups_of(program)
  local groups, idle = {}, {}
  for _, row in ipairs(program.rows) do
    local place = ("%s:%d"):format(row.chunk, row.line)
    for _, mem in ipairs(row.mem) do
      for _, op in ipairs { "load", "store" } do
        local does = mem.merged and mem[op == "load" and "reads" or "writes"]
        local key = ("%s %s"):format(op, mem.space)
        if does and mem.requests == 0 then idle[key .. place] = true end
        if does and mem.requests > 0 then
          local group = new_group(groups, key, place)
          group[#group + 1] = { mem = mem, runs = row.n, came = row.came, partial = row.partial,
                                op = op }
        end
      end
    end
  end
  for key, places in pairs(groups) do
    for place, group in pairs(places) do group.is_idle = idle[key .. place] end
  end
  return groups
end

local function pick(mem)
  local out = {}
  for _, name in ipairs(counts) do out[name] = mem[name] end
  return out
end

local function is_same(a, b)
  return lists.all(counts, function(name) return a[name] == b[name] end)
end

-- The width of most of the bytes.
local function bits_of(sizes)
  local best, most = nil, 0
  for _, size in ipairs(LEVELS) do
    local bytes = size * (sizes[size] or 0)
    if bytes >= most and bytes > 0 then best, most = 8 * size, bytes end
  end
  return best
end

local function take(site, is_moved)
  local mem = site.mem
  local merged = mem.merged[site.level]
  local result = pick(merged)
  result.bits, result.level = bits_of(merged.sizes), site.level
  result.is_merged = not is_same(result, mem)
  for _, name in ipairs(site.share and counts or {}) do
    result[name] = math.floor(result[name] * site.share + 0.5)
  end
  result.is_moved = is_moved or nil
  result.is_unsure = site.is_unsure
  mem[site.op] = result
end

-- What counts for the whole site: of one that reads and writes, its loads.
local function replace(mem)
  local of = mem.load or mem.store
  if not of then return end
  mem.asked = pick(mem)
  for _, name in ipairs(counts) do mem[name] = of[name] end
end

local function is_known(sites, widths)
  for _, site in ipairs(sites) do
    for size in pairs(site.mem.merged[site.level].sizes) do
      if not widths[8 * size] then return false end
    end
  end
  return true
end

-- The instructions of this line are said to be of another one: the compiler made one place of two,
-- or merged neighbours of several lines. Then it is the widest level whose widths the kernel has.
local function choose_moved(sites, widths)
  for _, some in ipairs(by_tensor(sites)) do
    for i = #LEVELS, 1, -1 do
      set_level(some, LEVELS[i])
      if is_known(some, widths) then break end
    end
  end
end

-- The instructions of all lines.
local function all_of(places)
  local all = {}
  for _, here in pairs(places) do
    for bits, n in pairs(here.widths) do all[bits] = (all[bits] or 0) + n end
  end
  return all
end

-- {====== Is it known how often they are carried out? ======

-- Whether the instructions fit to what the engine has counted. A compiler drops a load whose value
-- nobody needs, or that another one has; it moves one out of a loop; it copies a loop's body, and
-- then lanes that leave the loop at different turns are in different copies. `sum`: of one or
-- several lines: n, instructions; loops, is one in a loop; pass, requests in one execution of each
-- site; requests, those of all executions; runs, the executions of a site; partial, is one by fewer
-- lanes than the warp has.
local function fits(sum, warps)
  local copies = sum.n / sum.pass
  if sum.is_idle and copies >= 1 - SAME then copies = 1 end -- the others are of what did not run
  if math.abs(copies - math.floor(copies + 0.5)) > SAME or copies < 0.5 then return false end
  if sum.loops then return copies < 1.5 or not sum.partial end
  return sum.requests <= sum.n * warps
end

local function new_sum()
  return { n = 0, loops = false, pass = 0, requests = 0, runs = 0, partial = false }
end

local function add_instructions(sum, here)
  sum.n, sum.loops = sum.n + here.n, sum.loops or here.loops
end

-- Nothing is known of several lines whose sites are not carried out equally often.
local function add_site(sum, site)
  sum.pass = sum.pass + pass_of(site)
  sum.requests = sum.requests + site.mem.merged[site.level].requests
  sum.partial = sum.partial or site.partial > 0
  sum.differs = sum.differs or sum.runs > 0 and sum.runs ~= site.runs
  sum.runs = math.max(sum.runs, site.runs)
end

local function sum_of(here, sites)
  local sum = new_sum()
  if here then add_instructions(sum, here) end
  for _, site in ipairs(sites) do add_site(sum, site) end
  sum.is_idle = sites.is_idle
  return sum
end

-- More instructions than needed, and no loop of the script: those of another path, or of another
-- line.
local function has_spare(sum, warps)
  return not sum.is_idle and sum.runs <= warps and sum.n > 1.5 * sum.pass
end

-- Instructions of like lines may be said to be of one of them: so the lines that do not fit are
-- also looked at together, with those that have more. Returns the sites of which nobody knows. If
-- that does not fit either, a line whose sites are not carried out equally often fits by chance.
local function unknown_sites(of, places, warps)
  local rest, sites, by_chance, lacks = new_sum(), {}, {}, false
  for place, here in pairs(of) do
    if not places[place] then add_instructions(rest, here) end
  end
  for place, list in pairs(places) do
    local sum = sum_of(of[place], list)
    local is_like = fits(sum, warps)
    if not is_like or has_spare(sum, warps) then
      if of[place] then add_instructions(rest, of[place]) end
      for _, site in ipairs(list) do
        add_site(rest, site)
        sites[#sites + 1] = site
      end
    elseif sum.differs then
      table.move(list, 1, #list, #by_chance + 1, by_chance)
    end
    lacks = lacks or not is_like
  end
  local is_like = not rest.differs and fits(rest, warps) and not has_spare(rest, warps)
  if not lacks or is_like then return {} end
  return table.move(by_chance, 1, #by_chance, #sites + 1, sites)
end

-- What is in a loop of the script and in none of the machine code is carried out once by each warp
-- that comes by: moved out of the loop, or a turn's value is not needed.
local function limit_group(here, sites)
  local came, requests, is_unsure = 0, 0, false
  for _, site in ipairs(sites) do
    came = math.max(came, site.came)
    requests = requests + site.mem.merged[site.level].requests
    is_unsure = is_unsure or site.is_unsure
  end
  if not is_unsure or here.loops or requests <= here.n * came then return end
  for _, site in ipairs(sites) do site.share = here.n * came / requests end
end

-- Instructions that the compiler has moved behind a branch of a later line: did fewer warps come to
-- something from that line on?
local function is_past_some(program, place, sunk_by, sites)
  local chunk, came = place:match "^(.*):", 0
  for _, site in ipairs(sites) do came = math.max(came, site.came) end
  return lists.any(sunk_by and program.rows or {}, function(row)
    return row.chunk == chunk and row.line >= sunk_by and row.came < came
  end)
end

local function settle_by(program, found)
  for key, places in pairs(groups_of(program)) do
    local of = found[key] or {}
    local all = all_of(of)
    for place, sites in pairs(places) do
      if of[place] then
        choose(sites, of[place])
      else
        choose_moved(sites, all)
      end
    end
    for _, site in ipairs(unknown_sites(of, places, program.warps)) do site.is_unsure = true end
    for place, sites in pairs(places) do
      local is_sunk = of[place] and is_past_some(program, place, of[place].sunk_by, sites)
      for _, site in ipairs(is_sunk and sites or {}) do site.is_unsure = true end
    end
    for place, sites in pairs(places) do
      if of[place] then limit_group(of[place], sites) end
      for _, site in ipairs(sites) do take(site, of[place] == nil) end
    end
  end
  for _, row in ipairs(program.rows) do
    for _, mem in ipairs(row.mem) do replace(mem) end
  end
end

local function note_widest(program)
  for _, row in ipairs(program.rows) do
    for _, mem in ipairs(row.mem) do
      local widest = mem.merged and pick(mem.merged[WIDEST])
      if widest and not is_same(widest, mem) then
        widest.bits = bits_of(mem.merged[WIDEST].sizes)
        mem.widest = widest
      end
    end
  end
end

--- True where the counts are of the cubin's accesses; false and why where they are not. Once for a
--- program.
function M.settle(program, sm)
  if program.settled then return true end
  program.settled = true
  local found, why = M.read(program, sm)
  if not found then
    note_widest(program)
    return false, why
  end
  settle_by(program, found)
  program.image, program.image_sm = nil, nil
  return true
end

return M
