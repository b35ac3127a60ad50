-- What a state owns stands in groups, so that a reader finds who uses a field: each tap has its own struct, and
-- CuttleState holds at most 55 names.
local MOST <const> = 55
local text = assert(io.open "interp/state/state.h"):read "a"
local body = assert(text:match "typedef struct CuttleState {(.-)\n} CuttleState;")
local names = 0
for declaration in body:gsub("/%*.-%*/", ""):gmatch "([^;]+);" do
  local _, commas = declaration:gsub("%b()", ""):gsub(",", "")
  names = names + 1 + commas
end
print(names > 20 and names <= MOST or names .. " names") -- expect: true
