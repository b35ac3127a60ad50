-- replay.lua: launches in files.
--   capture(launch, file[, {data = true}])   writes a prepared launch, or a graph of the CPU engine
--   replay(file[, {trust = true}])
--                  the launch, prepared: a function; its arguments; and what else is known of it
-- A graph's file: lines of text, "end", and then the launches, each as a file of its own
-- (launch_file.lua). All of them share regions of memory:
--   region BYTES
--   launch STREAM BYTES [REGION OFFSET]...   of each span of the launch
--   record STREAM EVENT, wait STREAM EVENT
--   copy REGION OFFSET REGION OFFSET BYTES   to, from
--   data REGION OFFSET BYTES                 before all: the bytes are among the launches
--   clear REGION OFFSET BYTES
local internal = ...
local launch_file = require "cuttle.launch_file"
local lists = require "cuttle.lists"
local option_names = require "cuttle.option_names"
local plural = require "cuttle.plural"
local text_file = require "cuttle.text_file"
local type_name = require "cuttle.type_name"
local fail = require "cuttle.fail".fail
local of_replay <const>, of_capture <const> =
  { trust = option_names.flag }, { data = option_names.flag }
local M = {}

local GRAPH <const> = "CUTTLEGR"
local MOST_BYTES <const> = 1 << 30 -- of memory that nobody vouches for

-- {====== Graphs into files ======

-- The pieces of memory that a step uses: {at =, bytes =}.
local function pieces_of(step)
  local pieces = step.spans or {}
  for _, at in ipairs { step.to, step.from } do
    pieces[#pieces + 1] = { at = at, bytes = step.bytes }
  end
  return pieces
end

local function places(pieces)
  local out = {}
  for i, piece in ipairs(pieces) do out[i] = ("%d %d"):format(piece.span, piece.offset) end
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
  for i, span in ipairs(launch_file.join(all)) do lines[i] = ("region %d"):format(span.bytes) end
  for _, step in ipairs(steps) do -- what only copies read
    if step.data then
      local from = step.pieces[2]
      lines[#lines + 1] = ("data %d %d %d"):format(from.span, from.offset, #step.data)
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
  options = option_names.check("capture", options, of_capture, "{data = true}")
  if type_name(launch) ~= "graph" then return internal.watch.capture(launch, ...) end
  if type(path) ~= "string" then fail("capture", "the name of a file was expected") end
  if not io then fail("capture", "scripts have no files here: the state is a sandbox") end
  capture_graph(launch, path, options.data)
end

-- {====== Launches from files ======

-- A function whose parameters have the names of the arguments, which is all that is asked of it.
local function named_like(args)
  local names = {}
  for i, arg in ipairs(args) do
    names[i] = arg.name:match "^[%a_][%w_]*$" or ("_%d"):format(i)
  end
  local chunk = load(("local function f(%s) end return f"):format(table.concat(names, ",")))
  return chunk and chunk() or function() end -- more than Lua's functions have
end

-- Memory that the file does not hold itself: a few bytes ask for any amount of it.
local function check_memory(spans)
  local bytes = 0.0
  for _, span in ipairs(spans) do bytes = bytes + (span.has_data and 0 or span.bytes) end
  if bytes > MOST_BYTES then
    fail("replay", "the file asks for %.1f GiB of memory for tensors whose elements it does not "
      .. "hold; if you trust who made the file, replay it with --trust, or replay(file, "
      .. "{trust = true})", bytes / MOST_BYTES)
  end
end

-- The spans' memory: {tensor of u8, where the span begins there}, with the data that the file has.
local function memory_of_spans(spans, lent)
  local out = {}
  for i, span in ipairs(spans) do
    local memory, at = table.unpack(lent and lent[i] or { zeros(u8, math.max(span.bytes, 1)), 0 })
    if not memory or at % launch_file.ALIGN ~= 0 or span.bytes > size(memory) - at then
      fail("replay", "span %d of a launch is outside the memory of its graph", i)
    end
    internal.watch.set_bytes(memory, at + span.lead, span.data)
    out[i] = { memory, at }
  end
  return out
end

local function to_argument(arg, spans)
  if #arg.tensors == 0 then return internal.watch.number(arg.dtype, arg.number) end
  local tensors = {}
  for i, t in ipairs(arg.tensors) do
    local memory, at = table.unpack(spans[t.span])
    tensors[i] = internal.watch.tensor(memory, at + t.at, t.dtype, t.layout, t.is_fixed, t.fixed)
  end
  return arg.is_list and tensors or tensors[1]
end

-- What is known of a launch.
local function info_of(launch, trusts)
  local info = { has_data = false, left_out = #launch.options > 0 and not trusts
    and "options of NVRTC that the file names are left out; --trust uses them" or "" }
  for _, name in ipairs{ "kernel", "chunk", "line", "device", "why", "grid", "block" } do
    info[name] = launch[name]
  end
  for _, span in ipairs(launch.spans) do info.has_data = info.has_data or #span.data > 0 end
  return info
end

-- The launch, prepared; its arguments; what is known of it. `lent`: memory for each of its spans.
local function prepare(launch, trusts, stream, lent)
  for chunk, text in pairs(launch.scripts) do internal.watch.show_script(chunk, text) end
  if not lent and not trusts then check_memory(launch.spans) end
  local spans, args = memory_of_spans(launch.spans, lent), { n = #launch.args }
  for i, arg in ipairs(launch.args) do args[i] = to_argument(arg, spans) end
  local k = internal.watch.kernel(launch, launch.ir, named_like(launch.args), trusts)
  local prepared = k:prepare{ grid = launch.grid, block = launch.block, cluster = launch.cluster,
    smem = launch.smem, pdl = launch.pdl, cooperative = launch.cooperative,
    deterministic = launch.deterministic, print_order = launch.prints_as_run and "run" or nil,
    stream = stream }
  return prepared(table.unpack(args, 1, args.n)), args, info_of(launch, trusts)
end

local function read_launch(path)
  internal.watch.check_file(path)
  local bytes, why = text_file.read(path)
  if not bytes then fail("replay", "cannot read %s", why) end
  return launch_file.read(bytes, path)
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
local function prepare_step(step, memory, streams, trusts)
  local lent = {}
  for i = 3, #step, 2 do lent[#lent + 1] = { memory[step[i]], step[i + 1] } end
  local launch, _, info = prepare(launch_file.read(step.file), trusts, streams(step[1]), lent)
  return launch, info
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
      step.launch, infos[#infos + 1] = prepare_step(step, memory, streams, trusts)
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

-- "tensor f32 (4):(1)"
local function describe_argument(arg)
  if arg.is_list then return ("%d tensors"):format(#arg.tensors) end
  local t = arg.tensors[1]
  return t and ("tensor %s %s"):format(t.dtype, t.layout)
    or tostring(internal.watch.number(arg.dtype, arg.number))
end

local function describe_launch(path)
  local launch = read_launch(path)
  local info = info_of(launch, true)
  info.options, info.arguments = launch.options, lists.map(launch.args, describe_argument)
  return info
end

-- What the file holds, and nothing is made of it: no tensors, no kernel. Of a graph: {graph =
-- text}.
function M.describe(path)
  if not is_graph(path) then return describe_launch(path) end
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
  return prepare(read_launch(path), not not trusts)
end

-- Does the file hold a launch?
function M.is_launch(path)
  local file <close> = io.open(path, "rb")
  local magic = file and file:read(8)
  return magic ~= nil and (launch_file.is_launch(magic) or magic == GRAPH)
end

return M
