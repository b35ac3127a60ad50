-- launch_picture.lua: the picture of a launch: its tensors, and for each block and thread its parts
-- of them at each step of the kernel's loops. The launch runs on the CPU engine, on copies of its
-- tensors. The head of launch_page.js says what data the page gets.
local leaves = require("cuttle.picture_grid").leaves
local names_of = require "cuttle.launch_names"
local packed = require "cuttle.launch_parts"
local lists = require "cuttle.lists"
local pages = require "cuttle.page_file"
local palette = require "cuttle.palette"
local picture = require "cuttle.picture"
local lines_of = require("cuttle.source_lines").of
local types = require "cuttle.types"
local internal = ...
local M = {}

local MAX_PARTS <const> = 1 << 21
local MAX_LINES <const> = 120 -- of the kernel's text
local MAX_ROLES <const> = 8
local WARP <const> = 32

local function fail(format, ...) picture.fail("html", format, ...) end

-- {====== Tensors ======

local function is_static(layout)
  for _, tuple in ipairs { layout.shape, (layout.layout or layout).stride } do
    for _, x in ipairs(leaves(tuple)) do
      if math.type(x) ~= "integer" then return false end
    end
  end
  return true
end

-- Rows are mode 0, columns all others; what has one mode is a row.
local function tensor_data(name, t, layout)
  local plain = layout.swizzle and layout.layout or layout
  local data = { name = name, space = t.space, dtype = t.dtype, text = tostring(layout),
                 sizes = leaves(plain.shape), strides = leaves(plain.stride), n_rows = 0 }
  if rank(plain) > 1 then data.n_rows = #leaves(get_mode(plain, 0).shape) end
  local s = layout.swizzle
  data.swizzle = s and { s.bits, s.base, s.shift } or nil
  return data
end

-- The layouts of the arguments, by the parameters' names: those of the program may be dynamic.
local function argument_layouts(names, args)
  local out = {}
  for i, name in ipairs(names) do
    local x = args[i]
    if types.is_a(x, "tensor") then out[name] = x.layout end
  end
  return out
end

-- The tensors that are accessed and have a layout: a list, the number of each, from 0, by its index
-- in the program, and the layouts.
local function tensors_of(found, layouts)
  local used, list, number_of, of = {}, {}, {}, {}
  for _, site in pairs(found.sites) do used[site.buf] = true end
  local order = { global = 1, constant = 2, shared = 3, tensor = 4, register = 5 }
  local indices = {}
  for index in pairs(used) do indices[#indices + 1] = index end
  table.sort(indices, function(a, b)
    local x, y = order[found.tensors[a].space], order[found.tensors[b].space]
    if x ~= y then return x < y end
    return a < b
  end)
  for _, index in ipairs(indices) do
    local t = found.tensors[index]
    local layout = t.space == "global" and layouts[t.name] or t.layout
    if layout and is_static(layout) then
      number_of[index] = #list
      list[#list + 1], of[#of + 1] = tensor_data(t.name, t, layout), layout
    end
  end
  return list, number_of, of
end

-- {====== Sites: how a line uses a tensor ======

local function how_of(site)
  return (site.reads and "r" or "") .. (site.writes and "w" or "")
    .. (site.is_box and "b" or "") .. (site.is_wgmma and "m" or "")
end

-- The sites of the page, each once, and what launch_parts.lua needs of those of the program.
local function sites_of(found, number_of, name_of)
  local list, by_key, site_of = {}, {}, {}
  for index, site in pairs(found.sites) do
    local tensor = number_of[site.buf]
    if tensor then
      local own = found.tensors[site.buf].bytes
      local key = ("%s:%d %d %s"):format(site.chunk, site.line, tensor, how_of(site))
      if not by_key[key] then
        list[#list + 1] = { key = key, chunk = site.chunk, line = site.line, tensor = tensor,
                            how = how_of(site), names = name_of(site) }
        by_key[key] = list[#list]
      end
      site_of[index] = { of = by_key[key], bytes = site.bytes, own = own, at = site.at // own }
    end
  end
  table.sort(list, lists.by("line", "key"))
  for i, site in ipairs(list) do site.number = i - 1 end
  for _, site in pairs(site_of) do site.number = site.of.number end
  return list, site_of
end

-- Parts of what has no place in the picture are dropped.
local function drop_others(found, site_of)
  for _, worker in ipairs(found.workers) do
    local kept, parts = {}, worker.parts
    for at = 1, #parts, packed.FIELDS do
      if site_of[parts[at + 3]] then
        table.move(parts, at, at + packed.FIELDS - 1, #kept + 1, kept)
      end
    end
    worker.parts = kept
  end
end

-- {====== The kernel's text ======

-- All lines of the kernel's chunk, and from where to where they are shown: the kernel and the
-- functions that it calls, where these stand near it.
local function source_of(found)
  local lines = lines_of(found.chunk)
  local first, last = found.line, found.line
  for _, site in pairs(found.sites) do
    if site.chunk == found.chunk then
      first, last = math.min(first, site.line), math.max(last, site.line)
    end
  end
  while last < #lines and lines[last + 1]:find "^%s" do last = last + 1 end
  while first > 1 and (lines[first] or ""):find "^%s" do first = first - 1 end
  if last - first >= MAX_LINES then first = found.line end
  last = math.min(last + 1, #lines, first + MAX_LINES)
  return lines, { name = found.chunk:match "[^/\\]+$", first = first,
                  lines = table.move(lines, first, last, 1, {}) }, first, last
end

-- "k" of `for k = 0, n do` and of `for k in axes(...) do`.
local function loop_name(lines, n)
  return (lines[n] or ""):match "^%s*for%s+([%a_][%w_]*)%s*[=,%s]"
end

-- {====== Roles ======

local kinds_of_work = { { "b", "TMA" }, { "m", "wgmma" } }

-- What a warp does, from the sites that it uses.
local function work_of(list, numbers)
  local has = {}
  for number in pairs(numbers) do
    local site = list[number + 1]
    for _, kind in ipairs(kinds_of_work) do
      if site.how:find(kind[1]) then has[kind[2]] = true end
    end
  end
  local out = {}
  for _, kind in ipairs(kinds_of_work) do out[#out + 1] = has[kind[2]] and kind[2] or nil end
  return table.concat(out, ", ")
end

-- Warps of a block that use the same sites have one role: {text, first, last warp} in their order.
local function roles_of(found, list, site_of)
  local used = {} -- warp -> set of sites
  for _, worker in ipairs(found.workers) do
    for at = 1, #worker.parts, packed.FIELDS do
      local warp = worker.parts[at + 1]
      used[warp] = used[warp] or {}
      used[warp][site_of[worker.parts[at + 3]].number] = true
    end
  end
  local n_threads = found.block[1] * found.block[2] * found.block[3]
  local roles, before = {}, nil
  for warp = 0, (n_threads - 1) // WARP do
    local numbers = lists.keys(used[warp] or {})
    local key = table.concat(numbers, " ")
    if key ~= before then
      roles[#roles + 1] = { first = warp, work = work_of(list, used[warp] or {}), key = key }
    end
    roles[#roles].last, before = warp, key
  end
  return #roles > 1 and #roles <= MAX_ROLES and roles or {}
end

-- {====== The page ======

local function loop_of(found, lines)
  local loops = {}
  for _, site in pairs(found.sites) do
    if site.loop > 0 then loops[#loops + 1] = site.loop end
  end
  table.sort(loops)
  return loops[1] and loop_name(lines, loops[1]) or nil
end

local function blocks_data(blocks, n)
  local out = {}
  for block = 0, n - 1 do out[block + 1] = blocks[block] or {} end
  return out
end

-- "64", "{8, 8}": without ones at the end.
local function extents_text(extents)
  local n = extents[3] > 1 and 3 or extents[2] > 1 and 2 or 1
  local text = table.concat(extents, ", ", 1, n)
  return n == 1 and text or "{" .. text .. "}"
end

local function read_launch(x)
  local unpacked = table.pack(internal.launch.launch(x))
  if unpacked.n == 0 then return nil end
  local args = table.pack(table.unpack(unpacked, 3, unpacked.n))
  if args.n == 0 and #unpacked[1] > 0 then
    fail("a configuration k{...} has no arguments; draw html(k:prepare{...}(A, B, C))")
  end
  return unpacked[1], unpacked[2], args
end

--- Whether x is a launch: a configuration k{...}, or what k:prepare gives.
function M.is_launch(x) return select("#", internal.launch.launch(x)) > 0 end

--- The data of the page of a launch, as the head of launch_page.js has them, and the layouts of its
--- tensors.
function M.data(x)
  local names, config, args = read_launch(x)
  local found = internal.watch.parts(config, MAX_PARTS,
    internal.launch.copies(table.unpack(args, 1, args.n)))
  local tensors, number_of, of = tensors_of(found, argument_layouts(names, args))
  local lines, source, first, last = source_of(found)
  local tensor_names = lists.map(tensors, function(t) return t.name end)
  local chain_of = names_of.of(lines, first, last, tensor_names)
  local list, site_of = sites_of(found, number_of, function(site)
    local name = found.tensors[site.buf].name
    return site.chunk == found.chunk and chain_of(site.line, name) or { name }
  end)
  drop_others(found, site_of)
  local roles, data = roles_of(found, list, site_of), packed.pack(found, site_of)
  local grid = found.grid
  data.loop = loop_of(found, lines)
  data.blocks = blocks_data(data.blocks, grid[1] * grid[2] * grid[3])
  data.title = ("%s{grid = %s, block = %s}"):format(found.name, extents_text(grid),
    extents_text(found.block))
  data.palette = {}
  for i, color in ipairs(palette) do data.palette[i] = color.fill end
  data.kernel, data.grid, data.block, data.left_out = found.name, grid, found.block, found.left_out
  data.tensors, data.source, data.roles, data.sites = tensors, source, {}, {}
  for i, role in ipairs(roles) do data.roles[i] = { role.first, role.last, role.work } end
  for i, site in ipairs(list) do
    data.sites[i] = { site.line, site.tensor, site.how, site.names }
  end
  return data, of
end

function M.page(x, _, text)
  local data = M.data(x)
  data.title = text or data.title
  return pages.make("launch", data.title, data)
end

return M
