-- Ctrl-C ends a search, not the script; once more, it stops the script, whatever that does then. A search
-- that takes long has a bar on a terminal. The signal comes when the search has begun, the time passes before its first step.
local shell = dofile "tests/support/shell.lua"
package.path = "tests/support/?.lua;" .. package.path
local internal = require "internal"
local begin = internal.host.search
local function search()
  return find_swizzle("(32,32):(32,1)",
    { dtype = f32, reads = {thr = layout{32, 1}, val = "(1,1)"} })
end

local function stopped_search(...)
  local started = begin(...)
  io.popen("kill -INT $PPID"):close()
  return started
end

internal.host.search = stopped_search
local found = search()
internal.host.search = begin
print(found.stopped, #found.candidates, found.layout)  -- expect: true	1	(32,32):(32,1)
print(tostring(found):match("[^\n]*"))                 -- expect: f32 (32,32):(32,1): 1 layout tried of 107, then stopped: the best so far
found = search()
print(found.stopped, #found.candidates)                -- expect: false	107

local preamble = [[
  package.path = "tests/support/?.lua;" .. package.path
  local internal = require "internal"
  local begin = internal.host.search
  local command
  internal.host.search = function(...)
    local started = begin(...)
    io.popen(command):close()
    return started
  end
  local function search()
    return find_swizzle("(32,32):(32,1)",
      { dtype = f32, reads = {thr = layout{32, 1}, val = "(1,1)"} })
  end ]]
local path = os.tmpname()
local function write_script(text)
  local file <close> = assert(io.open(path, "w"))
  file:write(preamble, text)
end

local function output_of(command) return (shell.run(command)) end

write_script [[ command = "kill -INT $PPID"
  local found = find_layout({128, 64}, 128, f16)
  print(found.stopped, #found.candidates) ]]
local function words_of(command) return (output_of(command):gsub("%s+", " ")) end
print(words_of(("%s %s 2>&1"):format(arg[-1], path)))    -- expect: true 1
write_script [[ command = "kill -INT $PPID"
  for i = 1, 9 do search() print(i) end ]]
local words = words_of(("%s %s 2>&1; echo $?"):format(arg[-1], path))
print(words:match("^1 .* interrupted 130 $") ~= nil)     -- expect: true

-- timeout(1) signals a program, and then its group: that is one Ctrl-C, and the error is told.
write_script [[ io.popen("kill -INT $PPID; kill -INT $PPID"):close()
  while true do end ]]
words = words_of(("%s %s 2>&1; echo $?"):format(arg[-1], path))
print(words:match("interrupted .*130 $") ~= nil)         -- expect: true

write_script 'command = "sleep 0.6" search()'
print(output_of(("%s %s 2>&1"):format(arg[-1], path)) == "")  -- expect: true
local can = os.execute("command -v script >/dev/null 2>&1 && script -qec true /dev/null")
local drawn = not can
  or output_of(("script -qec '%s %s' /dev/null </dev/null"):format(arg[-1], path))
local bar = "find_swizzle %[#* *%] %d+ of 107, %d+ s left, Ctrl%-C keeps the best so far"
print(not can or (drawn:find(bar)
  and drawn:find("\r\27[K", 1, true)) ~= nil)          -- expect: true
os.remove(path)
