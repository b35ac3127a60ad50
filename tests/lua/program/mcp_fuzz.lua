-- The server of `cuttle mcp` gets 10,000 messages that are almost right: each is answered with a
-- result or an error, never by an error of the server itself, and each answer is one line of JSON.
local json = require "cuttle.json"
local servers = require "cuttle.mcp_server"
local tools = require "cuttle.mcp_tools"
local tap = dofile "tests/support/tap.lua"

local sent, started = {}, 0
local server = servers.new {
  send = function(line) sent[#sent + 1] = line end,
  start = function()
    started = started + 1
    return "not here"
  end,
  stop = function() end,
  pages = function()
    return { list = function() return {} end, read = function() return nil end }
  end,
}

-- {====== Messages ======

local seed <const> = 7
math.randomseed(seed)
local function any(list) return list[math.random(#list)] end

local odd <const> = { "1", "-1", "1.5", "1e999", "null", "true", '""', '"\\u0000"', "[]", "{}",
  '{"a":{}}', "[[]]", '"tools/call"', '"2.0"', "99999999999999999999", '"\\ud83d\\ude00"' }
local methods <const> = { "initialize", "ping", "tools/list", "tools/call", "resources/list",
  "resources/read", "resources/templates/list", "notifications/cancelled",
  "notifications/initialized", "prompts/list", "" }
local names <const> = { "name", "arguments", "uri", "_meta", "requestId", "protocolVersion",
                        "script", "path", "budget", "seconds", "expression", "sm" }

local value
local function object(depth)
  local parts = {}
  for i = 1, math.random(0, 3) do parts[i] = ('"%s":%s'):format(any(names), value(depth + 1)) end
  return "{" .. table.concat(parts, ",") .. "}"
end

function value(depth)
  local kind = math.random(depth < 3 and 6 or 4)
  if kind <= 3 then return any(odd) end
  if kind == 4 then return ('"%s"'):format(any(tools.list).name) end
  return object(depth)
end

-- Of the right form, with arguments that may be of any.
local function call()
  return ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s","arguments":%s}}')
    :format(any(tools.list).name, object(1))
end

local function message()
  if math.random(10) == 1 then return call() end
  local parts = { '"jsonrpc":"2.0"', ('"id":%s'):format(math.random(4) > 1
    and tostring(math.random(1 << 20)) or any(odd)), ('"method":"%s"'):format(any(methods)),
    ('"params":%s'):format(math.random(5) > 1 and object(0) or any(odd)) }
  if math.random(5) == 1 then table.remove(parts, math.random(#parts)) end
  return "{" .. table.concat(parts, ",") .. "}"
end

-- One byte more, less, or another.
local function damaged(text)
  local at, what = math.random(#text), math.random(4)
  local byte = string.char(math.random(0, 255)):gsub("\n", " ")
  if what == 1 then return text:sub(1, at - 1) .. text:sub(at + 1) end
  if what == 2 then return text:sub(1, at) .. byte .. text:sub(at + 1) end
  if what == 3 then return text:sub(1, at) end
  return text:sub(1, at - 1) .. byte .. text:sub(at + 1)
end

-- {====== What comes back ======

local N <const> = 10000
local counts, fault = { result = 0, error = 0 }, nil

local function judge(line)
  local answer = not line:find "\n" and json.decode(line)
  if type(answer) ~= "table" or answer.jsonrpc ~= "2.0" then return "no message: " .. line end
  local kind = answer.error and "error" or "result"
  counts[kind] = counts[kind] + 1
  local has_code = kind == "result" or math.type(answer.error.code) == "integer"
  return not has_code and "no code: " .. line or nil
end

for _ = 1, N do
  local text = math.random(3) == 1 and damaged(message()) or message()
  local before = #sent
  local ok, why = pcall(server.receive, server, text)
  fault = fault or not ok and text .. ": " .. tostring(why) or nil
  fault = fault or #sent > before + 1 and text .. ": two answers" or nil
  for i = before + 1, #sent do fault = fault or judge(sent[i]) end
end
tap.ok(not fault, ("%d messages are answered"):format(N), fault)
tap.ok(counts.error > N / 4 and counts.result > N / 20 and started > 0,
  "many of them with an error, some with a result, and tools are started",
  ("%d errors, %d results, %d tools"):format(counts.error, counts.result, started))

-- {====== Rules that the random ones seldom meet ======

local function ask(text)
  sent = {}
  server:receive(text)
  return sent[1]
end

local function code_of(text)
  local line = ask(text)
  return line and json.decode(line).error and json.decode(line).error.code
end

tap.is(code_of '{"jsonrpc":"2.0","id":1,"method":"tools/nothing"}', -32601, "an unknown method")
tap.is(code_of '{"jsonrpc":"2.0","id":1', -32700, "a message that is no JSON")
tap.is(code_of '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600, "a batch")
tap.is(code_of('{"jsonrpc":"2.0","id":1,"method":"ping","x":' .. ("["):rep(1e5) .. ("]"):rep(1e5)
  .. "}"), -32700, "lists inside each other without end")
tap.is(ask '{"jsonrpc":"2.0","id":"\\u00e9\\"","method":"ping"}',
  '{"jsonrpc":"2.0","id":"\u{e9}\\"","result":{}}', "an id comes back as it was")
tap.is(ask '{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}',
  '{"jsonrpc":"2.0","id":9007199254740993,"result":{}}', "also a large number")
tap.is(ask '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}', nil,
  "a note has no answer")

-- In the version that has batches, a list is answered by a list; of notes alone, by nothing.
ask '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}'
tap.is(ask '[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"},3]',
  '[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":null,"error":{"code":-32600,'
    .. '"message":"a message is an object; only in version 2025-03-26 may it be a list"}}]',
  "a batch where there are some")
tap.is(ask '[{"jsonrpc":"2.0","method":"x"}]', nil, "a batch of notes")
local fresh = servers.new { send = function(line) sent[#sent + 1] = line end }
sent = {}
fresh:receive '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
tap.is(json.decode(sent[1]).error.code, -32600, "nothing is served before initialize")
tap.done()
