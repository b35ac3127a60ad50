-- ledger.lua: tests/golden/cubins.txt lists what NVRTC made of texts before, so that tests
-- compile only new texts. A line is "HASH sm_TARGET NAME". The hash is of all that machine
-- code depends on (text, options, target, version of NVRTC) and of the result. So a line vouches
-- for its result, and a hash that is not there costs a compilation and nothing else.
--   LEDGER=        nothing is known: all is compiled, as `make ledger LEDGER=` does
--   RECORD=FILE    the lines of this run are appended to FILE.cubins, as `make ledger` does
local M = {}

local path <const> = "tests/golden/cubins.txt"
-- What modules of the library are handed when they are loaded, which their loaders hold.
local _, internal = debug.getupvalue(package.preload["cuttle.show"], 2)

local _, target = internal.launch.emit_sm()
local known = {}
if os.getenv "LEDGER" ~= "" then
  local file = io.open(path)
  if file then
    for line in file:lines() do known[line] = true end
    file:close()
  end
end

-- The hash of what launch:cubin(...) compiles; nil where there is no NVRTC.
function M.key(launch, ...)
  local ok, key = pcall(internal.launch.cubin_key, launch, ...)
  return ok and key or nil
end

local function line_of(key, name, result)
  return ("%s sm_%s %s"):format(internal.host.hash(key .. " " .. result), target, name)
end

--- Appends a line to RECORD's file of this ending, where lines are recorded.
function M.keep(ending, line)
  local record = os.getenv "RECORD"
  if not record or record == "" then return end
  local file <close> = assert(io.open(record .. "." .. ending, "a"))
  file:write(line, "\n")
end

-- It gives this result.
function M.note(key, name, result)
  if key then M.keep("cubins", line_of(key, name, result)) end
end

-- Has what `key` stands for given this result before? Then it gives it again.
function M.has(key, name, result)
  local is_known = key ~= nil and known[line_of(key, name, result)] == true
  if is_known then M.note(key, name, result) end
  return is_known
end

return M
