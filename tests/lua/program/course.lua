-- examples/README.md: each program has one row, and its command is one of the program's own.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"

local function lines_of(command) return (shell.run(command)) end

local rows, levels = {}, {}
for line in io.lines "examples/README.md" do
  local name, try = line:match "^| `([%w_]+%.lua)` | .- | ([^|]+) |$"
  if name then
    tap.ok(rows[name] == nil, name .. " has one row")
    rows[name] = try
  end
  levels[#levels + 1] = line:match "^## (%d+)%. "
end
for path in lines_of("ls examples/*.lua"):gmatch "[^\n]+" do
  local name = path:match "[^/]+$"
  tap.ok(rows[name] ~= nil, name .. " is in the course")
  local command = rows[name] and rows[name]:match "^`(cuttle .*)`$"
  tap.ok(not command or command:find(" " .. path, 1, true), "its command runs it", command)
  rows[name] = nil
end
tap.is(next(rows), nil, "all rows are programs")
tap.is(table.concat(levels, " "), "1 2 3 4 5 6 7", "levels in order")
tap.done()
