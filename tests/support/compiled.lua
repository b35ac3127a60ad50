-- compiled.lua: what `cuttle emit --compile` prints of a script, without compiling again the texts that
-- the ledger knows to compile (scripts/ledger.lua).
--   local compiled = dofile "tests/support/compiled.lua"
--   compiled(sm, name, arguments)  of `cuttle emit --compile --sm=SM ARGUMENTS`: output and errors as
--                                  one text, and the exit code; `name` is for the ledger's line
package.path = "tests/support/?.lua;scripts/?.lua;" .. package.path
local ledger, internal = require "ledger", require "internal"
local shell = dofile "tests/support/shell.lua"

-- A key of the compiler and of how it is asked; nil where there is none.
local compiler <const> = ledger.key(kernel("compiler", function() end){ grid = 1, block = 32 })

-- Comments that say which line of a script a line is of do not count.
local function key_of(text)
  return compiler and compiler .. internal.host.hash(text:gsub(" *// [^\n\"]*:%d+\n", "\n"))
end

-- Where all compiles, nothing is said beside what is said without a compiler.
return function(sm, name, arguments)
  local text, code = shell.cuttle("emit --sm=%s %s", sm, arguments)
  if code ~= 0 then return text, code end -- there is nothing to compile
  local key, entry = key_of(text), ("emit for %s: %s"):format(sm, name)
  if key and ledger.has(key, entry, "compiles") then return text, code end
  local said, code_then = shell.cuttle("emit --compile --sm=%s %s", sm, arguments)
  if said == text and code_then == code then ledger.note(key, entry, "compiles") end
  return said, code_then
end
