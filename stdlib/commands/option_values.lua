-- option_values.lua: values of options that several commands read in the same way.
--   M.whole(fail, name, value, least)   a whole number
--   M.given(fail, name, value, hint)    a text that is not empty
--   M.device(fail, value)               the name of a device that the models know
--   M.json(options, value)              --json or --json=FILE: true, or the file
--   M.json_aside(options, value)        the same; without a file, the script's output goes aside
-- `fail` raises a formatted message.
local devices = require "cuttle.profile_device"
local M = {}

function M.whole(fail, name, value, least)
  local n = math.tointeger(tonumber(value))
  if not n or n < least then
    fail("--%s=%s: expected a whole number from %d on", name, value, least)
  end
  return n
end

function M.given(fail, name, value, hint)
  if value == "" then fail("--%s needs a value%s", name, hint) end
  return value
end

function M.device(fail, value)
  if not devices.find(value) then
    fail("--on=%s is not a known device; expected one of %s", value, devices.names())
  end
  return value
end

function M.json(options, value) options.json = value == "" or value end

function M.json_aside(options, value)
  M.json(options, value)
  options.is_aside = value == ""
end

--- Reads the words of a command into o, which it returns: `--key=value` by readers[key](o, value),
--- others by read_word(o, word).
function M.read_words(command, words, o, readers, read_word)
  for _, word in ipairs(words) do
    local key, value = word:match "^%-%-(%w+)=?(.*)$"
    if key and not readers[key] then
      error(("%s: there is no option '%s'; see cuttle %s --help"):format(command, word, command), 0)
    end
    if key then readers[key](o, value) else read_word(o, word) end
  end
  return o
end

return M
