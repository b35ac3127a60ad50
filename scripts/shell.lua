-- shell.lua: what scripts that run programs share. A script gets it by
--   local shell = dofile(arg[0]:match("^.*/") .. "shell.lua")
local M = {}

function M.quote(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

-- What the command prints on stdout, and its exit code.
function M.capture(command)
  local pipe = assert(io.popen(command))
  local out = pipe:read("a")
  local _, _, code = pipe:close()
  return out, code
end

local has_timeout = os.execute("command -v timeout >/dev/null 2>&1")

-- Words that stop the command behind them after so many seconds, where there is a program for that.
function M.time_limit(seconds)
  return has_timeout and ("timeout -k 5 %d "):format(seconds) or ""
end

function M.read_file(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("a")
  file:close()
  return text
end

function M.write_file(path, text)
  local file = assert(io.open(path, "wb"))
  file:write(text)
  assert(file:close())
end

function M.exists(path)
  local file = io.open(path)
  return file ~= nil and file:close()
end

-- The text with each `from` in it, a plain text, replaced.
function M.replace(text, from, to)
  local pattern, value = from:gsub("%p", "%%%0"), to:gsub("%%", "%%%%")
  return (text:gsub(pattern, value))
end

function M.lines_of(text)
  local lines = {}
  for line in (text:gsub("\n$", "") .. "\n"):gmatch("(.-)\n") do
    lines[#lines + 1] = line
  end
  return text == "" and {} or lines
end

return M
