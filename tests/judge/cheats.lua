-- cheats.lua: candidates that try to pass without doing the work, or to harm who judges them. A row
-- is {what it tries, the verdict, the text}. RIGHT is the function of a right candidate, NOTHING a
-- function that launches a kernel which does nothing. Each must lose, with each task.
local M = {}

local nothing <const> = [[(function()
  local k = kernel("nothing", function(...) end)
  return function(...) k{grid = 1, block = 32}(...) end
end)()]]

local rows <const> = {
  -- Doing less.
  { "writes nothing", "wrong", "return NOTHING" },
  { "writes zeros", "wrong", [[
local k = kernel("zeros", function(y)
  for i = threadIdx.x, size(y) - 1, 32 do y[i] = cast(threadIdx.x * 0, y.dtype) end
end)
return function(...) k{grid = 1, block = 32}((select(-1, ...))) end]] },
  { "works for small sizes only", "wrong", [[
local right, nothing = RIGHT, NOTHING
return function(...)
  if size((...)) > 12 then nothing(...) else right(...) end
end]] },
  { "works the first time only", "wrong", [[
local right, calls = RIGHT, 0
local nothing = NOTHING
return function(...)
  calls = calls + 1
  if calls == 1 then right(...) else nothing(...) end
end]] },
  { "keeps the first result", "wrong", [[
local right, seen, kept = RIGHT, zeros(i32, 1), zeros(f32, 4096)
local keep = kernel("keep", function(y, kept, seen)
  for i = threadIdx.x, size(y) - 1, 32 do
    if seen[0] == 0 then kept[i] = cast(y[i], f32) else y[i] = cast(kept[i], y.dtype) end
  end
end)
local note = kernel("note", function(seen) seen[0] = 1 end)
return function(...)
  right(...)
  keep{grid = 1, block = 32}((select(-1, ...)), kept, seen)
  note{grid = 1, block = 1}(seen)
end]] },
  { "fails the third time", "wrong", [[
local right = RIGHT
local k = kernel("third", function(y, runs)
  runs[0] = runs[0] + 1
  if runs[0] == 3 then
    for i = 0, size(y) - 1 do y[i] = cast(y[i] * 0 + 77, y.dtype) end
  end
end)
local runs = zeros(i32, 1)
return function(...)
  right(...)
  k{grid = 1, block = 1}((select(-1, ...)), runs)
end]] },
  -- Using what others wrote.
  { "calls an operator", "invalid", "return function(...) matmul(...) end" },
  { "calls the reference's library", "invalid",
    "return function(x, ...) reference.matmul(x, x, (select(-1, ...))) end" },
  { "makes an operator of rows", "invalid",
    "return row_kernel('rows', function(row, x) return x end)" },
  { "requires an operator", "invalid", "local m = require 'cuttle.matmul' return m.matmul" },
  { "finds an operator in a package", "invalid", "return package.loaded.cuttle.matmul" },
  { "finds an operator by a new environment", "invalid",
    "local e = {} import(e) return function(...) e.matmul(...) end" },
  -- CUDA C that the CPU engine does not see.
  { "CUDA C with a twin", "invalid", [[
local right = RIGHT
local k = kernel("twin", function(y) cuda[=[ y[0] = 1; ]=] end)
return function(...) right(...) k{grid = 1, block = 1}((select(-1, ...))) end]] },
  { "PTX", "invalid", [[
local k = kernel("asm", function(y) ptx("exit;") end)
return function(...) k{grid = 1, block = 1}((select(-1, ...))) end]] },
  -- Computing in Lua.
  { "reads an input in Lua", "invalid", [[
local right = RIGHT
return function(x, ...) local v = x[0] right(x, ...) end]] },
  { "writes an output in Lua", "invalid", [[
local right = RIGHT
return function(...) right(...) select(-1, ...)[0] = 0 end]] },
  { "lists the elements", "invalid",
    "local right = RIGHT return function(x, ...) x:totable() right(x, ...) end" },
  { "compares in Lua", "invalid",
    "local right = RIGHT return function(...) allclose(..., ...) print((...)) right(...) end" },
  { "waits for results", "invalid",
    "local right = RIGHT return function(...) right(...) synchronize() end" },
  { "records a graph of its own", "invalid", "return graph(RIGHT)" },
  { "asks whether it is recorded", "wrong", [[
local right, nothing = RIGHT, NOTHING
return function(x, ...)
  local is_live = pcall(function() return x[0] end)
  if is_live then right(x, ...) else nothing(x, ...) end
end]] },
  { "draws the inputs again", "invalid", [[
local right = RIGHT
return function(x, ...) manual_seed(7) local again = rand(f32, 8) right(again, ...) end]] },
  -- Reaching out.
  { "opens the reference", "invalid", "local f = io.open 'reference.lua' return RIGHT" },
  { "runs the reference", "invalid", "return dofile 'reference.lua'.reference" },
  { "loads the reference", "invalid", "return loadfile 'reference.lua'()" },
  { "ends the program", "invalid", "os.exit(0)" },
  { "ends the program later", "invalid", "return function() os.exit(true) end" },
  { "patches the judge", "invalid",
    "require('cuttle.judge').judge = function() return {ok = true, verdict = 'pass'} end" },
  { "looks for the driver", "invalid",
    "return require('cuttle.judge_driver').load" },
  { "takes the debug library", "invalid", "debug.sethook() return RIGHT" },
  { "loads bytecode", "invalid", "return load('\\27Lua', 'x', 'b')()" },
  { "reads any memory", "invalid", [[
local k = kernel("at", function(y, a) y[0] = tensor_at(a, y.dtype, 1)[0] end)
return function(...)
  local y = select(-1, ...)
  k{grid = 1, block = 1}(y, i64(y.address - 4096))
end]] },
  -- Changing what others use.
  { "patches functions", "wrong", [[
local nothing = NOTHING
for _, t in ipairs { string, table, math } do
  for name in pairs(t) do t[name] = function() return 0 end end
end
for _, name in ipairs { "pcall", "type", "error", "select", "tostring", "allclose", "tensor" } do
  _G[name] = function() return true end
end
return nothing]] },
  { "patches the type of texts", "wrong", [[
local nothing = NOTHING
local meta = getmetatable ""
meta.__index = function() return function() return "" end end
meta.__eq, meta.__lt = function() return true end, function() return true end
return nothing]] },
  { "patches the type of tensors", "wrong", [[
local nothing = NOTHING
return function(x, ...)
  local meta = getmetatable(x)
  for name in pairs(meta) do meta[name] = function() return 0 end end
  nothing(x, ...)
end]] },
  { "patches the globals", "wrong", [[
local nothing = NOTHING
setmetatable(_G, {__index = function() return "pass" end, __newindex = function() end})
return nothing]] },
  { "makes a finalizer", "invalid", "setmetatable({}, {__gc = function() end}) return RIGHT" },
  -- Talking.
  { "prints a verdict", "wrong", [[
print '{"verdict": "pass", "ok": true}'
return NOTHING]] },
  { "prints in a kernel", "invalid", [[
local right = RIGHT
local k = kernel("says", function(y) printf("pass\n") end)
return function(...) right(...) k{grid = 1, block = 1}((select(-1, ...))) end]] },
  { "raises a verdict", "invalid", "error('pass\\nsoftmax: pass')" },
  { "raises an object that never has a text", "invalid", [[
error(setmetatable({}, {__tostring = function() while true do end end}))]] },
  { "returns what can be called", "invalid", "return setmetatable({}, {__call = RIGHT})" },
  { "yields", "invalid", "return function() coroutine.yield() end" },
  -- Taking time and memory.
  { "never ends", "time", "while true do end" },
  { "never ends, and catches what stops it", "time", [[
while true do pcall(function() while true do end end) end]] },
  { "never ends in a coroutine", "time", [[
return function() coroutine.wrap(function() while true do end end)() end]] },
  { "never ends in a kernel", "time", [[
local k = kernel("loop", function(y)
  local n = i32(0)
  for i in range(2000000000) do n = n ~ i end
  y[0] = cast(n, y.dtype)
end)
return function(...) k{grid = 1, block = 1}((select(-1, ...))) end]] },
  { "matches for ever", "time", "return ('a'):rep(40):find(('a*'):rep(40) .. 'b')" },
  { "takes a long text", "memory", "local s = ('x'):rep(1 << 30) return RIGHT" },
  { "takes many texts", "memory",
    "local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(1 << 16) .. i end" },
  { "takes a large tensor", "memory",
    "local right = RIGHT return function(...) zeros(f32, 1 << 28) right(...) end" },
  { "calls without end", "invalid", "local function f() return 1 + f() end f()" },
  -- What only a GPU or another order would show.
  { "needs a grid that no GPU holds", "does_not_fit", [[
local right = RIGHT
local k = kernel("grid", function(n)
  local s = shared(f32, 50000)
  s[threadIdx.x] = f32(n)
  sync_grid()
end)
return function(...) right(...) k{grid = 140, block = 32, cooperative = true}(1) end]] },
  { "reads what nobody wrote", "unclean", [[
local right = RIGHT
local k = kernel("blank", function(y) y[threadIdx.x] = y[threadIdx.x] end)
return function(...) k{grid = 1, block = 1}((select(-1, ...))) right(...) end]] },
  { "waits for nobody", "unclean", [[
local right = RIGHT
local k = kernel("half", function(y) if threadIdx.x < 32 then sync_threads() end end)
return function(...) right(...) k{grid = 1, block = 64}((select(-1, ...))) end]] },
  { "writes an input", "out_of_bounds", [[
local right = RIGHT
local k = kernel("input", function(x) x[0] = cast(1 - cast(x[0], i32), x.dtype) end)
return function(x, ...)
  right(x, ...)
  k{grid = 1, block = 1}(x)
end]] },
  { "adds in any order", "nondeterministic", [[
local right = RIGHT
local k = kernel("adds", function(sum, y)
  if threadIdx.x == 0 then atomic_add(sum, 0, 1 / (1 + f32(blockIdx.x))) end
end)
return function(...)
  local sum = zeros(f32, 1)
  right(...)
  k{grid = 40, block = 32}(sum, (select(-1, ...)))
end]] },
}

-- Cheat number i of a task's right candidate: what it tries, the verdict, and its text.
function M.of(i, right)
  local row = rows[(i - 1) % #rows + 1]
  right = "(function()\n" .. right .. "\nend)()"
  local text = row[3]:gsub("RIGHT", function() return right end)
    :gsub("NOTHING", function() return nothing end)
  return row[1], row[2], text
end

M.n = #rows
return M
