-- command_mcp.lua: `cuttle mcp`: serves the Model Context Protocol on standard input and output.
-- mcp_server.lua is the protocol; here are input and output, and the processes that run the tools:
-- one for each call, in a sandbox. So a crash is only an error, and a cancelled call is killed.
--|mcp                    serve tools and pages to agents: the Model Context Protocol over stdio
local json = require "cuttle.json"
local lists = require "cuttle.lists"
local pages = require "cuttle.mcp_pages"
local process = require "cuttle.process"
local servers = require "cuttle.mcp_server"
local text_file = require "cuttle.text_file"
local tools = require "cuttle.mcp_tools"

local USAGE <const> = "usage: cuttle mcp [--root=FOLDER] [--docs=FOLDER]\n"
  .. "\n"
  .. "Serves the Model Context Protocol on standard input and output, for agents that write\n"
  .. "kernels. Its tools run, check, profile, trace, emit and tune scripts, evaluate and draw\n"
  .. "layouts, and explain names. Its resources are the documentation. Each call runs in a\n"
  .. "sandbox, in a process of its own, on the CPU engine. docs/mcp.md has more.\n"
  .. "\n"
  .. "  --root=FOLDER         scripts may be given as paths in this folder; default: this one\n"
  .. "  --docs=FOLDER         has docs/ and examples/; default: those installed with the program\n"
  .. "\n"
  .. "The server ends when its input ends."

local MAX_RUNNING <const> = 4 -- calls at a time; others wait for their turn
local TICK_MS <const>, TICK_S <const> = 500, 0.5 -- between notes of progress
local DEFAULT_SM <const> = "90a"

local function fail(format, ...) error(("mcp: " .. format):format(...), 0) end

-- {====== Scripts given as files ======

-- The text of a script in the folder; nil and why not.
local function read_script(root, path)
  local is_above = ("/" .. path .. "/"):find("/../", 1, true)
  if path:find "^/" or path:find("\0", 1, true) or is_above or not path:find "%.lua$" then
    return nil, ("'%s' is no .lua file in the server's folder; give 'script', the source")
      :format(path)
  end
  return text_file.read(root .. "/" .. path)
end

-- {====== Machine code ======

local function quote(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

local function output_of(command)
  local pipe <close> = assert(io.popen(command))
  return pipe:read "a"
end

local disassemblers <const> = { "nvdisasm", "/usr/local/cuda/bin/nvdisasm" }

local function find_disassembler()
  for _, name in ipairs(disassemblers) do
    local path = output_of("command -v " .. name):match "[^\n]+"
    if path then return path end
  end
end

-- Files that the emitting process wrote into the call's folder, as one text.
local function images_of(call)
  local texts = {}
  for name in output_of("ls " .. quote(call.folder)):gmatch "[^\n]+" do
    local path = quote(call.folder .. "/" .. name)
    texts[#texts + 1] = output_of(call.disassembler and ("%s %s 2>&1"):format(
      quote(call.disassembler), path) or "cat " .. path)
  end
  return table.concat(texts, "\n")
end

local function drop_folder(call)
  if call.folder then output_of("rm -rf " .. quote(call.folder)) end
  call.folder = nil
end

-- The options of the program for the form that emit is to write; nil and why there is none.
local function emit_options(call, options)
  local form = call.arguments.form or "cuda"
  options[#options + 1] = "--sm=" .. (call.arguments.sm or DEFAULT_SM)
  if form == "cuda" then return options end
  call.disassembler = form == "sass" and find_disassembler()
  if form == "sass" and not call.disassembler then
    return nil, "there is no nvdisasm here, so machine code cannot be shown; form ptx needs none"
  end
  call.folder = output_of("mktemp -d"):match "[^\n]+"
  options[#options + 1] = form == "sass" and ("--cubin=%s/*.cubin"):format(call.folder)
    or ("--ptx=%s/*.ptx"):format(call.folder)
  return options
end

-- {====== Calls ======

local Host = {}
Host.__index = Host

local function options_of(call)
  local a = call.arguments
  local options = { ("--sandbox=%d"):format(a.memory or tools.DEFAULT_MIB),
                    "--answer=" .. (call.tool.mode or "run") }
  if call.tool.mode == "emit" then return emit_options(call, options) end
  return options
end

-- Starts the process of a call; nil, or why it cannot.
local function launch(self, call)
  local options, why = options_of(call)
  if not options then return why end
  call.process, why = process.start(options, call.request)
  if not call.process then return why end
  call.begun, call.told, call.answer = process.now(), process.now(), {}
  call.limit = call.arguments.seconds or tools.DEFAULT_SECONDS
  table.insert(self.running, call)
end

-- The request that the process gets: what came, with the source of a file.
local function request_of(self, call)
  local a = {}
  for name, value in pairs(call.arguments) do a[name] = value end
  if a.path then
    local why
    a.script, why = read_script(self.root, a.path)
    if not a.script then return nil, why end
    a.name = a.name or a.path
  end
  return json.encode { tool = call.tool.name, arguments = a }
end

function Host:start(call)
  local why
  if call.tool.is_own then -- the pages are the server's
    self.own[#self.own + 1] = call
    return nil
  end
  call.request, why = request_of(self, call)
  if not call.request then return why end
  if #self.running >= MAX_RUNNING then
    self.waiting[#self.waiting + 1] = call
    return nil
  end
  return launch(self, call)
end

local function remove(list, call)
  for i, other in ipairs(list) do
    if other == call then return table.remove(list, i) end
  end
end

function Host:stop(call)
  if call.process then call.process:kill() end
  drop_folder(call)
  for _, list in ipairs { self.running, self.waiting, self.own } do remove(list, call) end
end

-- {====== Answers ======

local function joined(...)
  local parts = {}
  for _, part in ipairs { ... } do
    if part ~= "" then parts[#parts + 1] = (part:gsub("\n$", "")) end
  end
  return table.concat(parts, "\n")
end

-- How a process ended that gave no answer.
local function crash_of(call)
  local code, signal = call.process:status()
  local errors = call.process:errors():gsub("%s+$", "")
  local how = code and ("exit code %d"):format(code) or ("signal %d"):format(signal)
  return { is_error = true, data = { crashed = true, signal = signal },
           text = joined(call.process:output(), errors,
             ("the process of this call ended by itself, with %s; the server goes on")
               :format(how)) }
end

-- The answer with what was printed before it.
local function whole_answer(call)
  local answer = json.decode(table.concat(call.answer))
  if not answer then return crash_of(call) end
  local output, errors = call.process:output(), call.process:errors()
  if call.folder and not answer.is_error then output = images_of(call) end
  answer.text = joined(output, errors, answer.text or "")
  if call.tool.mode == "emit" and not answer.is_error then answer.text = joined(output) end
  return answer
end

local function time_out(call)
  call.process:kill()
  return { is_error = true, data = { timed_out = true },
           text = joined(call.process:output(), ("stopped after %d s; give 'seconds' for more, or "
             .. "smaller sizes"):format(call.limit)) }
end

local function finish(self, server, call, answer)
  remove(self.running, call)
  call.process:status()
  drop_folder(call)
  server:finish(call, answer)
end

-- Reads what a call has more to say; finishes it at its end.
local function read_call(self, server, call)
  local text = call.process:reply()
  if text and text ~= "" then
    call.answer[#call.answer + 1] = text
  elseif not text then
    finish(self, server, call, whole_answer(call))
  end
end

local function tend(self, server, call)
  read_call(self, server, call)
  local now = process.now()
  if not self.is_running(call) then return end
  if now - call.begun > call.limit then
    finish(self, server, call, time_out(call))
  elseif now - call.told >= TICK_S then
    call.told = now
    server:progress(call, now - call.begun, call.limit, ("%s: running, %.1f of at most %d s")
      :format(call.tool.name, now - call.begun, call.limit))
  end
end

local function answer_own(self, server)
  for _, call in ipairs(self.own) do
    server:finish(call, { text = self.pages().search(call.arguments.query,
      call.arguments.count or 5) })
  end
  self.own = {}
end

local function start_waiting(self, server)
  while #self.running < MAX_RUNNING and #self.waiting > 0 do
    local call = table.remove(self.waiting, 1)
    local why = launch(self, call)
    if why then server:finish(call, { text = why, is_error = true }) end
  end
end

-- Says once, at its begin, that a call runs.
local function greet(self, server)
  for _, call in ipairs(self.running) do
    if not call.is_greeted then
      call.is_greeted = true
      server:progress(call, 0, call.limit, call.tool.name .. ": started")
    end
  end
end

local function tend_all(self, server)
  answer_own(self, server)
  greet(self, server)
  for _, call in ipairs(table.move(self.running, 1, #self.running, 1, {})) do
    tend(self, server, call)
  end
  start_waiting(self, server)
end

-- {====== The loop ======

-- Keeps a part of a line. Of one that is too long no more is kept than shows that it is.
local function keep(self, part)
  if self.n_kept <= servers.MAX_MESSAGE then
    self.rest[#self.rest + 1] = part
    self.n_kept = self.n_kept + #part
  end
end

-- The lines of standard input that are whole; what is left stays in self.rest.
local function read_lines(self, server)
  local text = process.input()
  if not text then return false end
  local from = 1
  for stop in text:gmatch "()\n" do
    keep(self, text:sub(from, stop - 1))
    local line = table.concat(self.rest)
    self.rest, self.n_kept = {}, 0
    server:receive(line)
    from = stop + 1
  end
  keep(self, text:sub(from))
  return true
end

local function processes_of(calls)
  return lists.map(calls, function(call) return call.process end)
end

local function serve(self, server)
  while true do
    local ms = #self.running > 0 and TICK_MS or -1
    local has_input = process.wait(processes_of(self.running), ms, true)
    if has_input and not read_lines(self, server) then break end
    tend_all(self, server)
  end
  for _, call in ipairs(table.move(self.running, 1, #self.running, 1, {})) do self:stop(call) end
end

local function new_host(options)
  local self = setmetatable({ running = {}, waiting = {}, own = {}, rest = {}, n_kept = 0,
                              root = options.root or "." }, Host)
  local opened
  function self.pages()
    opened = opened or pages.open(options.docs)
    return opened
  end
  function self.is_running(call)
    return lists.any(self.running, function(other) return other == call end)
  end
  return self
end

local function new_server(host)
  return servers.new {
    send = function(line)
      io.stdout:write(line, "\n")
      io.stdout:flush()
    end,
    start = function(call) return host:start(call) end,
    stop = function(call) host:stop(call) end,
    pages = host.pages,
  }
end

local function read_options(...)
  local options = {}
  for _, arg in ipairs { ... } do
    local name, value = arg:match "^%-%-(%l+)=(.+)$"
    if name == "root" or name == "docs" then
      options[name] = value
    elseif arg == "--help" then
      options.help = true
    else
      fail("unknown argument %s; see cuttle mcp --help", arg)
    end
  end
  return options
end

return function(...)
  local options = read_options(...)
  if options.help then
    print(USAGE)
    return
  end
  local host = new_host(options)
  serve(host, new_server(host))
end
