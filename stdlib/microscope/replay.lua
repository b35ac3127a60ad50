-- replay.lua: launches in files.
--   capture(launch, file[, {data = true}])   writes a prepared launch, or a graph of the CPU engine
--   replay(file[, {trust = true}])
--                  the launch, prepared: a function; its arguments; and what else is known of it
-- A graph's file: lines of text, "end", and then the launches, each as a file of its own
-- (runtime/capture/capture.h). All of them share regions of memory:
--   region BYTES
--   launch STREAM BYTES [REGION OFFSET]...   of each span of the launch
--   record STREAM EVENT, wait STREAM EVENT
--   copy REGION OFFSET REGION OFFSET BYTES   to, from
--   data REGION OFFSET BYTES                 before all: the bytes are among the launches
--   clear REGION OFFSET BYTES
local internal = ...
local option_names = require "cuttle.option_names"
local plural = require "cuttle.plural"
local type_name = require "cuttle.type_name"
local fail = require "cuttle.fail".fail
local of_replay <const>, of_capture <const> =
  { trust = option_names.flag }, { data = option_names.flag }
local M = {}

local GRAPH <const>, ALIGN <const> = "CUTTLEGR", 64
local MOST_BYTES <const> = 1 << 30 -- of memory that nobody vouches for

-- {====== Graphs into files ======

-- The pieces of memory that a step uses: {at =, bytes =}.
local function pieces_of(step)
  local pieces = {}
  for at, bytes in (step.spans or ""):gmatch "(%d+) (%d+) " do
    pieces[#pieces + 1] = { at = math.tointeger(at), bytes = math.tointeger(bytes) }
  end
  for _, at in ipairs { step.to, step.from } do
    pieces[#pieces + 1] = { at = at, bytes = step.bytes }
  end
  return pieces
end

-- Sets `region` and `offset` of each piece; returns how many bytes each region has.
local function join(pieces)
  local sorted, regions, first = table.move(pieces, 1, #pieces, 1, {}), {}, 0
  table.sort(sorted, function(a, b) return a.at < b.at end)
  for _, piece in ipairs(sorted) do
    if #regions == 0 or piece.at >= first + regions[#regions] then
      first = piece.at // ALIGN * ALIGN
      regions[#regions + 1] = 0
    end
    piece.region, piece.offset = #regions, piece.at - first
    regions[#regions] = math.max(regions[#regions], piece.offset + piece.bytes)
  end
  return regions
end

local function places(pieces)
  local out = {}
  for i, piece in ipairs(pieces) do out[i] = ("%d %d"):format(piece.region, piece.offset) end
  return table.concat(out, " ")
end

local writers = {
  launch = function(step)
    return ("launch %d %d %s"):format(step.stream, #step.file, places(step.pieces))
  end,
  record = function(step) return ("record %d %d"):format(step.stream, step.event) end,
  wait = function(step) return ("wait %d %d"):format(step.stream, step.event) end,
  copy = function(step) return ("copy %s %d"):format(places(step.pieces), step.bytes) end,
  set = function(step)
    return step.byte == 0 and ("clear %s %d"):format(places(step.pieces), step.bytes)
  end,
}

local function capture_graph(graph, path, with_data)
  local steps = internal.watch.graph_steps(graph, with_data)
  if not steps then
    fail("capture", "the graph was recorded on a device; record it on the CPU engine, as in "
      .. "cuttle --device=cpu script.lua")
  end
  local all, lines, files = {}, {}, {}
  for _, step in ipairs(steps) do
    step.pieces = pieces_of(step)
    table.move(step.pieces, 1, #step.pieces, #all + 1, all)
  end
  for i, bytes in ipairs(join(all)) do lines[i] = ("region %d"):format(bytes) end
  for _, step in ipairs(steps) do -- what only copies read
    if step.data then
      local from = step.pieces[2]
      lines[#lines + 1] = ("data %d %d %d"):format(from.region, from.offset, #step.data)
      files[#files + 1] = step.data
    end
  end
  for _, step in ipairs(steps) do
    if step.kind ~= "branch" then -- the launch after it says its stream
      local writer = writers[step.kind]
      local line = writer and writer(step)
      if not line then
        fail("capture", "the graph has a step of kind '%s', which no file can hold; leave ranks "
          .. "and collectives out, and fills with other values than 0", step.kind)
      end
      lines[#lines + 1] = line
      files[#files + 1] = step.file
    end
  end
  local ok, why = write_file(path, ("%s\n%s\nend\n%s"):format(GRAPH,
    table.concat(lines, "\n"), table.concat(files)))
  if not ok then fail("capture", "%s", why) end
end

function M.capture(launch, ...)
  local path, options = ...
  if type_name(launch) ~= "graph" then return internal.watch.capture(launch, ...) end
  options = option_names.check("capture", options, of_capture, "{data = true}")
  if type(path) ~= "string" then fail("capture", "the name of a file was expected") end
  if not io then fail("capture", "scripts have no files here: the state is a sandbox") end
  capture_graph(launch, path, options.data)
end

-- {====== Graphs from files ======

local function numbers(text)
  local list = {}
  for n in text:gmatch "%d+" do list[#list + 1] = math.tointeger(n) end
  return list
end

-- How many numbers each line has; of a launch at least.
local counts <const> = { region = 1, data = 3, launch = 2, record = 2, wait = 2, copy = 5,
                         clear = 3 }

local function check_line(path, step)
  local n = counts[step.kind]
  if n ~= #step and not (step.kind == "launch" and #step >= n and #step % 2 == 0) then
    fail("replay", "%s: line '%s %s' is not one of a graph's file", path, step.kind,
      table.concat(step, " "))
  end
end

-- The bytes of each region; the steps, as lists of numbers with `kind`, and `file` of a launch.
local function read_graph(path)
  local file <close> = assert(io.open(path, "rb"))
  local text = file:read "a"
  local head, at = text:match "^CUTTLEGR\n(.-\n)end\n()"
  if not head then fail("replay", "%s: no line says 'end': it was cut off", path) end
  local regions, steps = {}, {}
  for kind, rest in head:gmatch "(%l+)([^\n]*)\n" do
    local step = numbers(rest)
    step.kind = kind
    check_line(path, step)
    if kind == "region" then
      regions[#regions + 1] = step[1]
    else
      steps[#steps + 1] = step
    end
    local bytes = kind == "launch" and step[2] or kind == "data" and step[3]
    if bytes then
      step.file = text:sub(at, at + bytes - 1)
      at = at + #step.file
    end
  end
  return regions, steps
end

local function memory_of(regions, trusts, path)
  local sum, memory = 0, {}
  for _, bytes in ipairs(regions) do sum = sum + 1.0 * bytes end
  if sum > MOST_BYTES and not trusts then
    fail("replay", "%s asks for %.1f GiB of memory; if you trust who made the file, replay it with "
      .. "--trust, or replay(file, {trust = true})", path, sum / MOST_BYTES)
  end
  for i, bytes in ipairs(regions) do memory[i] = zeros(u8, math.max(bytes, 1)) end
  return memory
end

-- `bytes` of a region from an offset on; an error if it has not as many.
local function part(memory, region, offset, bytes)
  local t = memory[region]
  if not t or bytes > size(t) or offset > size(t) - bytes then
    fail("replay", "a step of the graph is outside its memory")
  end
  return view(t, layout({ bytes, offset + 1 }, { 1, 1 }))(_, offset)
end

-- The launch of a step: a function, prepared in its stream; and what is known of it.
local function prepare(step, memory, streams, trusts)
  local spans = {}
  for i = 3, #step, 2 do
    table.move({ memory[step[i]], step[i + 1] }, 1, 2, #spans + 1, spans)
  end
  local kernel, config, args, info = internal.watch.replay_part(step.file, trusts, spans)
  config.stream = streams(step[1])
  info.grid, info.block = config.grid, config.block
  return kernel:prepare(config)(table.unpack(args, 1, args.n)), info
end

local function stream_of()
  local streams = {}
  return function(number)
    if number == 0 then return nil end
    streams[number] = streams[number] or stream()
    return streams[number]
  end
end

local function replay_graph(path, trusts)
  local regions, steps = read_graph(path)
  local memory, streams, events, infos = memory_of(regions, trusts, path), stream_of(), {}, {}
  local run = {}
  function run.launch(step) step.launch() end
  function run.record(step)
    events[step[2]] = events[step[2]] or event()
    events[step[2]]:record(streams(step[1]))
  end
  function run.wait(step)
    local e = events[step[2]] or fail("replay", "%s: a stream waits for an event that nothing "
      .. "records", path)
    local own = streams(step[1])
    if own then own:wait(e) else e:wait() end
  end
  function run.copy(step)
    copy(part(memory, step[3], step[4], step[5]), part(memory, step[1], step[2], step[5]))
  end
  function run.clear(step) clear(part(memory, step[1], step[2], step[3])) end
  function run.data() end -- is there already
  for _, step in ipairs(steps) do
    if step.kind == "data" then
      part(memory, step[1], step[2], step[3])
      internal.watch.set_bytes(memory[step[1]], step[2], step.file)
    end
    if step.kind == "launch" then
      step.launch, infos[#infos + 1] = prepare(step, memory, streams, trusts)
    end
  end
  local g = graph(function()
    for _, step in ipairs(steps) do run[step.kind](step) end
  end)
  return function(...) g(...) end, memory, { launches = infos, left_out = "" }
end

local function is_graph(path)
  local file <close> = io.open(path, "rb")
  return file and file:read(#GRAPH) == GRAPH
end

-- {====== Launches ======

local trusted = {} -- files that the user trusts

function M.trust(path) trusted[path] = true end

-- What the file holds, and nothing is made of it: no tensors, no kernel. Of a graph: {graph =
-- text}.
function M.describe(path)
  if not is_graph(path) then return internal.watch.replay_info(path) end
  local regions, steps = read_graph(path)
  local launches, others = 0, 0
  for _, step in ipairs(steps) do
    local is_launch = step.kind == "launch"
    launches = launches + (is_launch and 1 or 0)
    others = others + ((is_launch or step.kind == "data") and 0 or 1)
  end
  return { graph = ("graph of %s and %s, with %s of memory"):format(plural(launches, "launch"),
    plural(others, "other step"), plural(#regions, "region")) }
end

function M.replay(path, options)
  options = option_names.check("replay", options, of_replay, "{trust = true}")
  local trusts = options.trust or trusted[path]
  if io and type(path) == "string" and is_graph(path) then return replay_graph(path, trusts) end
  local kernel, config, args, info = internal.watch.replay(path, not not trusts)
  info.grid, info.block = config.grid, config.block
  return kernel:prepare(config)(table.unpack(args, 1, args.n)), args, info
end

-- Does the file hold a launch?
function M.is_launch(path)
  local file <close> = io.open(path, "rb")
  local magic = file and file:read(8)
  -- Of `capture`, of an exported kernel, of a graph.
  return magic == "CUTTLECK" or magic == "CUTTLESL" or magic == GRAPH
end

return M
