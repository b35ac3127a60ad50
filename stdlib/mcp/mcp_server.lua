-- mcp_server.lua: the Model Context Protocol as a machine without input or output: lines come in,
-- lines go out, and calls of tools are started and stopped by whoever runs it (command_mcp.lua).
--   M.new(host)      a server. The host has the functions
--     send(line)             a message to the client, in one line
--     start(call)            starts a tool: call = {tool =, arguments =}; nil, or why it cannot
--     stop(call)             ends it
--     pages()                the documentation, as mcp_pages.lua has it
--     log(text)              a note for who runs the server
--   server:receive(line)     takes a message, of at most M.MAX_MESSAGE bytes
--   server:progress(call, done, total, text)
--   server:finish(call, answer)   the tool's answer, {text =, data =, files =, is_error =}
-- The protocol: https://modelcontextprotocol.io/specification
local json = require "cuttle.json"
local lists = require "cuttle.lists"
local language = require "cuttle"
local results = require "cuttle.mcp_results"
local script_error = require "cuttle.script_error"
local tools = require "cuttle.mcp_tools"
local M = {}

-- The newest first.
local VERSIONS <const> = { "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05" }
local BATCHES <const> = "2025-03-26" -- the only one in which a list of messages is one, too
local LINKS_SINCE <const> = "2025-06-18" -- content of the type resource_link
local PARSE <const>, INVALID <const> = -32700, -32600
local NO_METHOD <const>, WRONG <const> = -32601, -32602
local NO_RESOURCE <const> = -32002
local MAX_MESSAGE <const> = 1 << 24 -- bytes
M.MAX_MESSAGE = MAX_MESSAGE

local INSTRUCTIONS <const> = "Cuttle runs GPU kernels, written in Lua, on a CPU engine. Write a "
  .. "kernel, call check after each edit, and mend what it finds by the remedy that it names. Read "
  .. "the resource cuttle://docs/agents.md first: rules, idioms, examples and mistakes. help "
  .. "explains a name, search finds pages."

local Server = {}
Server.__index = Server

-- {====== Messages ======

-- An id as it came: a number or a text.
local function id_text(id)
  if math.type(id) == "integer" then return ("%d"):format(id) end
  return json.encode_line(id)
end

local function is_id(id) return type(id) == "string" or math.type(id) == "integer" end
local function is_object(value)
  return type(value) == "table" and value ~= json.null and (next(value) == nil or #value == 0)
end

-- Sends an answer, or keeps it for its batch: that of a call, or the one that is being taken.
function Server:respond(id, name, body, batch)
  local text = ('{"jsonrpc":"2.0","id":%s,"%s":%s}'):format(id and id_text(id) or "null", name,
    json.encode_line(body))
  batch = batch or self.batch
  if batch then batch[#batch + 1] = text else self.host.send(text) end
end

function Server:refuse(id, code, format, ...)
  self:respond(id, "error", { code = code, message = format:format(...) })
end

function Server:notify(method, params)
  self.host.send(json.encode_line { jsonrpc = "2.0", method = method, params = params })
end

-- An object without fields: an empty table is a list.
local empty <const> = json.object

-- {====== Methods ======

-- Each takes (server, params, id) and gives the result; nil, a code and what is wrong; or nothing,
-- and answers later.
local methods = {}

function methods.initialize(self, params)
  local version = VERSIONS[1]
  for _, known in ipairs(VERSIONS) do
    if known == params.protocolVersion then version = known end
  end
  self.is_open, self.has_batches = true, version == BATCHES
  self.results.has_no_links = version < LINKS_SINCE
  return { protocolVersion = version, instructions = INSTRUCTIONS,
           capabilities = { tools = empty, resources = empty },
           serverInfo = { name = "cuttle", version = language._VERSION:match "%d[%w.]*" } }
end

function methods.ping() return empty end

methods["tools/list"] = function()
  local list = lists.map(tools.list, function(tool)
    return { name = tool.name, description = tool.description, inputSchema = tools.schema(tool) }
  end)
  return { tools = list }
end

-- The token under which the client wants to hear of progress; nil: it does not.
local function token_of(params)
  local meta = params._meta
  local token = is_object(meta) and meta.progressToken or nil
  return is_id(token) and token or nil
end

methods["tools/call"] = function(self, params, id)
  local tool, arguments = tools.of[params.name], params.arguments
  if not tool then
    local name = tostring(params.name)
    return nil, WRONG, ("there is no tool '%s'; tools/list lists them"):format(name)
  end
  if arguments == nil or arguments == json.null then arguments = {} end
  if not is_object(arguments) then return nil, WRONG, "'arguments' is no object" end
  local call = { id = id, tool = tool, arguments = arguments, token = token_of(params) }
  local why = tools.check(tool, arguments) or self.host.start(call)
  if why then return results.shown(self.results, call, { text = why, is_error = true }) end
  self.calls[id], call.batch = call, self.batch
  if call.batch then call.batch.n_open = call.batch.n_open + 1 end
end

methods["resources/list"] = function(self)
  local list = results.list(self.results)
  for _, page in ipairs(self.host.pages().list()) do list[#list + 1] = page end
  return { resources = list }
end

methods["resources/templates/list"] = function() return { resourceTemplates = {} } end

methods["resources/read"] = function(self, params)
  local uri = params.uri
  if type(uri) ~= "string" then return nil, WRONG, "'uri' is no text" end
  local found = results.read(self.results, uri) or self.host.pages().read(uri)
  if not found then
    return nil, NO_RESOURCE, ("there is no resource '%s'; resources/list lists them"):format(uri)
  end
  return { contents = { { uri = uri, mimeType = found.type, text = found.text } } }
end

-- One part of a batch is done; the answers are sent with the last one.
local function settle(self, batch)
  if not batch then return end
  batch.n_open = batch.n_open - 1
  if batch.n_open == 0 and #batch > 0 then
    self.host.send(("[%s]"):format(table.concat(batch, ",")))
  end
end

local notes = {}

-- The client does not wait for the answer of a call that it cancels.
notes["notifications/cancelled"] = function(self, params)
  local call = is_id(params.requestId) and self.calls[params.requestId]
  if call then
    self.calls[params.requestId] = nil
    self.host.stop(call)
    settle(self, call.batch)
  end
end

-- {====== Receiving ======

-- Before it has been initialised, a server answers nothing but this.
local function may_come_first(method) return method == "initialize" or method == "ping" end

function Server:take_request(id, method, params)
  local answer = methods[method]
  if not answer then return self:refuse(id, NO_METHOD, "there is no method '%s'", method) end
  if not self.is_open and not may_come_first(method) then
    return self:refuse(id, INVALID, "'%s' came before initialize", method)
  end
  if self.calls[id] then return self:refuse(id, INVALID, "the id is that of a call in progress") end
  local result, code, why = answer(self, params, id)
  if result then
    self:respond(id, "result", result)
  elseif code then
    self:refuse(id, code, "%s", why)
  end
end

-- What is wrong with a message; nil: nothing.
local function fault_of(message)
  if not is_object(message) then
    return "a message is an object; only in version 2025-03-26 may it be a list"
  end
  if message.jsonrpc ~= "2.0" then return "'jsonrpc' is not \"2.0\"" end
  local id = message.id
  if id ~= nil and not is_id(id) then return "'id' is no text and no whole number" end
  if message.params ~= nil and not is_object(message.params) then return "'params' is no object" end
end

local function is_answer(message) return message.result ~= nil or message.error ~= nil end

function Server:take(message)
  local why = fault_of(message)
  local id = is_object(message) and is_id(message.id) and message.id or nil
  if not why and message.method == nil and is_answer(message) then return end -- nothing was asked
  if not why and type(message.method) ~= "string" then why = "'method' is no text" end
  if why then return self:refuse(id, INVALID, "%s", why) end
  local params = message.params or {}
  if id then return self:take_request(id, message.method, params) end
  local note = notes[message.method]
  if note then note(self, params) end
end

function Server:take_batch(list)
  local batch = { n_open = 1 }
  self.batch = batch
  for _, message in ipairs(list) do self:take(message) end
  self.batch = nil
  settle(self, batch)
end

function Server:receive(line)
  if line:find "^%s*$" then return end
  if #line > MAX_MESSAGE then
    return self:refuse(nil, INVALID, "a message of %d bytes; at most %d were expected", #line,
      MAX_MESSAGE)
  end
  local message, why = json.decode(line)
  if message == nil then return self:refuse(nil, PARSE, "%s", why) end
  local is_batch = self.has_batches and type(message) == "table" and #message > 0
  if is_batch then self:take_batch(message) else self:take(message) end
end

-- {====== Calls in progress ======

function Server:progress(call, done, total, text)
  if call.token and self.calls[call.id] == call then
    self:notify("notifications/progress", { progressToken = call.token, progress = done,
                                            total = total, message = text })
  end
end

function Server:finish(call, answer)
  if self.calls[call.id] ~= call then return end
  self.calls[call.id] = nil
  if answer.data and answer.data.error then
    script_error.add_id(answer.data.error, self.host.pages())
  end
  self:respond(call.id, "result", results.shown(self.results, call, answer), call.batch)
  settle(self, call.batch)
end

function M.new(host)
  return setmetatable({ host = host, calls = {}, results = results.new(), is_open = false }, Server)
end

return M
