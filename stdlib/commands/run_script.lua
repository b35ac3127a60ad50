-- run_script.lua: what commands share that run a script and then report on it: `cuttle check`,
-- `cuttle profile`, `cuttle timeline`, `cuttle bench`.
local library = require "cuttle.lua_library"
local replay = require "cuttle.replay"
local text_file = require "cuttle.text_file"
local internal = ...
local restore_library <const> = library.restore -- a script may change that, too
local M = {}

M.exit = os.exit -- the program's own way out
local SIGALRM <const> = 14
local left = setmetatable({}, { __name = "exit" })

local print_of_report = rawget(_G, "print")

-- It raises an error, and an interrupt too, so that a pcall of the script does not catch it.
local function exit_of_script(code)
  local is_fine = code == nil or code == true
  left.code = is_fine and 0 or code ~= false and math.tointeger(code) or 1
  internal.host.stop_script()
  error(left, 0)
end

local function print_aside(...)
  local texts = table.pack(...)
  for i = 1, texts.n do texts[i] = tostring(texts[i]) end
  io.stderr:write(table.concat(texts, "\t"), "\n")
end

-- A launch in a file is a script that launches once.
local function load_chunk(path)
  if path ~= "-" and replay.is_launch(path) then return replay.replay(path) end
  return loadfile(path ~= "-" and path or nil)
end

-- The chunk of a file, "-" standard input; nil and a message where it cannot be loaded. From now on
-- the globals are the script's: `arg`, an os.exit that ends the script only and, with `is_aside`, a
-- print that leaves standard output to the report; and bench calls its function once.
function M.load(path, args, is_aside)
  local chunk, message = load_chunk(path)
  if not chunk then return nil, message end
  library.guard(path ~= "-" and text_file.read(path) or nil)
  rawset(_G, "arg", table.move(args, 1, #args, 1, { [0] = path }))
  internal.launch.bench_by(internal.launch.bench_once)
  os.exit = exit_of_script -- luacheck: ignore 122
  if is_aside then
    rawset(_G, "print", print_aside)
    io.output(io.stderr)
  end
  print_of_report = rawget(_G, "print")
  return chunk
end

local stopped_by -- the number of a signal

local function note(signal, ...)
  stopped_by = signal
  restore_library()
  rawset(_G, "print", print_of_report)
  return ...
end

-- The exit code of a script that a signal stopped, as shells say it; nil: none did.
function M.signal_code()
  return stopped_by and not left.code and 128 + (stopped_by > 0 and stopped_by or 2) or nil
end

-- Was the script stopped because it ran too long (host.limit_script)?
function M.is_late() return stopped_by == SIGALRM end

-- pcall of a script. An interrupt ends the script, but not the report.
function M.call(f, ...) return note(internal.host.call_script(f, ...)) end

-- Runs f(chunk) on a script that has run before; what the script prints is dropped.
function M.again(path, args, f)
  local print_before, output_before = rawget(_G, "print"), io.output()
  left.code = nil
  local chunk, message = M.load(path, args)
  if not chunk then return false, message end
  rawset(_G, "print", function() end)
  io.output(io.open("/dev/null", "w") or io.stderr)
  local results = table.pack(f(chunk))
  rawset(_G, "print", print_before)
  io.output(output_before)
  return table.unpack(results, 1, results.n)
end

-- How a script ended of which M.call said `ok, what`: its exit code, and its error's text, if any.
function M.outcome(ok, what)
  if left.code then return left.code end
  if ok then return 0 end
  if type(what) == "string" then return M.signal_code() or 1, what end
  local has_text, text = pcall(function()
    return getmetatable(what).__tostring and tostring(what)
  end)
  local kind = what == nil and "nil" or "a " .. type(what)
  return 1, has_text and text or ("the error is %s, not a message"):format(kind)
end

-- The text of a script's error, behind what the script has printed.
function M.say(text)
  io.stdout:flush()
  if text then io.stderr:write(text, "\n") end
end

-- Ends a command, behind its report, as the script did.
function M.leave(code, text)
  M.say(text)
  if code ~= 0 then M.exit(code, true) end
end

return M
