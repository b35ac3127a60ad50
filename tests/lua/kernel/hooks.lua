-- A hook that the script has set goes on while a kernel is traced, and is there afterwards.
local n_lines, n_calls = 0, 0
local function hook(event)
  if event == "line" then n_lines = n_lines + 1 else n_calls = n_calls + 1 end
end
local x = zeros(f32, 8)
local k = kernel("hooked", function(t)
  local function store(v) t[threadIdx.x] = v end
  store(1.0)
  store(2.0)
end)
debug.sethook(hook, "cl")
k{grid = 1, block = 8}(x)
local now, mask = debug.gethook()
debug.sethook()
print(now == hook, mask, n_lines > 4, n_calls > 4) -- expect: true	cl	true	true

-- Without one there is none afterwards, not in a coroutine that goes on either.
local kept = {}
kernel("keeps", function(t)
  kept.go = coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i) end end)
  t[0] = kept.go()
end){grid = 1, block = 8}(x)
print(debug.gethook())      -- expect: nil
print(kept.go(), kept.go()) -- expect: 2	3

-- A trace inside a coroutine.
print(coroutine.wrap(function() -- expect: 2.0	nil
  k{grid = 1, block = 8}(zeros(f32, 8))
  k:reset()
  k{grid = 1, block = 8}(x)
  return x[0], debug.gethook()
end)())

-- An error leaves no hook behind.
print(pcall(function() -- expect: false	tests/lua/kernel/hooks.lua:37: no
  kernel("fails", function() error("no") end){grid = 1, block = 8}()
end))
print(debug.gethook()) -- expect: nil
