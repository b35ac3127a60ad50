-- assert of run-time conditions: the launch fails (a wait, on a GPU) with the line of the assertion and
-- the thread; the device goes on. In each case one thread fails, so that it is known which is named.
local x = arange(f32, 64)

local function try(f, ...)
  local config = kernel("k", f){grid = 2, block = 64}
  local ok, message = pcall(function(...)
    config(...)
    synchronize()
  end, ...)
  print(ok and "done" or message:match(":(%d+: .*)"))
end

try(function(x, n) assert(threadIdx.x < n, "n is too small") end, x, 64) -- expect: done
try(function(x, n) assert(threadIdx.x < n or blockIdx.x == 0, "n is too small") end, x, 63) -- expect: 15: assert: n is too small, by thread (63,0,0) of block (1,0,0)
try(function(x) assert(threadIdx.x ~= 5 or blockIdx.x == 1) end, x) -- expect: 16: assert: assertion failed!, by thread (5,0,0) of block (0,0,0)
try(function(x, n)
  local i = threadIdx.x
  assert(x[i] >= 0.0, "first")
  if i > 10 and blockIdx.x == 0 then
    assert(i < n, "second")
  end
end, x, 63)                              -- expect: 21: assert: second, by thread (63,0,0) of block (0,0,0)

-- What the thread did before stays; it does no more, and a later launch does.
local y = zeros(i32, 2)
local k = kernel("writes", function(y, stops)
  if threadIdx.x == 3 then
    y[0] = 1
    assert(not stops, "stop")
    y[1] = 1
  end
end){grid = 1, block = 32}
print(pcall(function() k(y, true) synchronize() end)) -- expect: false	tests/lua/kernel/assertions.lua:30: assert: stop, by thread (3,0,0) of block (0,0,0)
print(y[0], y[1])                        -- expect: 1	0
k(y, false)
print(y[0], y[1])                        -- expect: 1	1

-- Of a Lua value it is Lua's assert; it returns its arguments.
try(function(x)
  local _, message = assert(threadIdx.x < size(x), "never")
  assert(message == "never")
  assert(x.dtype == f32 and 3)
end, x)                                  -- expect: done
try(function() assert(false, "while tracing") end) -- expect: 45: while tracing
