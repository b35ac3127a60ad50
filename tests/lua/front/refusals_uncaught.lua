-- What no kernel can do fails its trace, whoever catches the error: plain Lua would go on there, and the kernel
-- would have left out the rest of the function without a word. Lua's own errors are caught as in Lua.
device("cpu")

local function run(body)
  local y = zeros(i32, 4)
  local ok, message = pcall(kernel("k", body){grid = 1, block = 4}, y)
  if ok then return true, table.concat(y:totable(), " ") end
  return false, tostring(message):match "assign a copy" or tostring(message)
end

-- Calls `caught(change)`, where change is refused after nothing was recorded.
local function refused(caught)
  return run(function(y)
    local t, b = threadIdx.x, 0
    local p, q = {i = t + 62}, {i = 87}
    local function change()
      q = p
      b = p.i
    end
    local n = 3
    while n > 0 and t > 0 do
      n = n - 1
      q.i = 9
      caught(change)
    end
    y[t] = b + q.i
  end)
end

print(refused(function(f) f() end))                            -- expect: false	assign a copy
print(refused(function(f) pcall(f) end))                       -- expect: false	assign a copy
print(refused(function(f) pcall(function() pcall(f) end) end)) -- expect: false	assign a copy
print(refused(function(f) xpcall(f, function() return 1 end) end)) -- expect: false	assign a copy
print(refused(function(f) coroutine.resume(coroutine.create(f)) end)) -- expect: false	assign a copy

-- The next trace is another one.
print(run(function(y) y[threadIdx.x] = threadIdx.x end))       -- expect: true	0 1 2 3

-- Errors of Lua, of the script and of the library are caught.
print(run(function(y)
  local none = {}
  local a = pcall(function() return none.x.y end)
  local b = pcall(error, "mine")
  local c = pcall(layout, "(4")
  y[threadIdx.x] = (a or b or c) and 1 or 2
end))                                                          -- expect: true	2 2 2 2
