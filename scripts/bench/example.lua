-- example.lua: parts of an example, for measurements that launch its kernels in other ways.
local M = {}

local root = arg[0]:match "^(.*)scripts/bench/" or ""

-- The locals of the main function of a program that waits.
local function locals_of(program)
  local level, locals = 0, {}
  while debug.getinfo(program, level + 1, "l") do level = level + 1 end
  for i = 1, math.maxinteger do
    local name, value = debug.getlocal(program, level, i)
    if not name then return locals end
    locals[name] = value
  end
end

--- Runs examples/NAME.lua, or a file by its path, with these arguments until it calls `callee`: a
--- global function, or a module that is one. Returns the example's locals by name, and what it
--- calls `callee` with.
function M.run_to(callee, name, ...)
  local path = name:find "%.lua$" and name or ("%sexamples/%s.lua"):format(root, name)
  local env = setmetatable({
    arg = { [0] = path, ... }, [callee] = coroutine.yield,
    require = function(module) return module == callee and coroutine.yield or require(module) end,
  }, { __index = _G })
  local program = coroutine.create(assert(loadfile(path, "t", env)))
  local result = table.pack(coroutine.resume(program))
  if not result[1] then error(result[2], 0) end
  if coroutine.status(program) == "dead" then
    error(("example: %s ends without a call of %s"):format(path, callee), 0)
  end
  return locals_of(program), table.unpack(result, 2, result.n)
end

return M
