-- Errors are at the line of the script.
local ct = require "cuttle"
local function message(f, ...)
  local _, text = pcall(f, ...)
  return text:match("[^/]*$")
end
print(message(function() ct.layout("(4") end))  -- expect: error.lua:7: layout: expected ')' at column 2 of '(4'
print(message(function() ct.shared(ct.f32, 4) end))  -- expect: error.lua:8: 'shared' exists only inside a kernel
