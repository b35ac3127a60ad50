-- error(message) and assert(false, message) where a run-time condition decides who gets there: the kernel fails only if a
-- thread does, with the message and the script's line. What follows in that branch does not run. Where all threads get
-- there, or a pcall of the kernel catches it, they are Lua's.
local out = zeros(i32, 8)
local function try(f, ...)
  local config = kernel("k", f){grid = 1, block = 8}
  out:fill(0)
  local ok, message = pcall(function(...)
    config(...)
    synchronize()
  end, out, ...)
  print(ok and "done" or message:match(":(%d+: .*)"))
end
local function shown() return table.concat(out:totable(), " ") end

-- Of one thread, and of none.
local function too_large(x, n)
  local i = threadIdx.x
  if i == n then error("n is too large") end
  x[i] = i + 1
end
try(too_large, 8)                         -- expect: done
print(shown())                            -- expect: 1 2 3 4 5 6 7 8
try(too_large, 3)                         -- expect: 19: assert: n is too large, by thread (3,0,0) of block (0,0,0)

-- Nothing after it runs in that branch, neither while tracing nor in the kernel.
try(function(x, n)
  local i, v = threadIdx.x, 1
  if i == n then
    x[0] = 70
    error("stop")
    x[1] = nil .. {}
    x[2] = x.no.such.thing
    error("twice")
  else
    v = 2
  end
  if i ~= n then x[i] = v end
end, 5)                                   -- expect: 31: assert: stop, by thread (5,0,0) of block (0,0,0)
print(out[0] == 70 or out[0] == 2, out[5]) -- expect: true	0

-- assert(false), assert(nil), without a message, with one that is made while tracing.
try(function(x, n) if threadIdx.x == n then assert(false, "no " .. 7) x[nil] = 1 end end, 1) -- expect: 43: assert: no 7, by thread (1,0,0) of block (0,0,0)
try(function(x, n) if threadIdx.x == n then assert(nil) end end, 1) -- expect: 44: assert: assertion failed!, by thread (1,0,0) of block (0,0,0)
try(function(x, n) if threadIdx.x == n then error() end end, 1) -- expect: 45: assert: error, by thread (1,0,0) of block (0,0,0)
try(function(x, n) if threadIdx.x == n then error(42) end end, 1) -- expect: 46: assert: 42, by thread (1,0,0) of block (0,0,0)
try(function(x, n) if threadIdx.x == n then error(("%d%% of %s"):format(3, "n")) end end, 1) -- expect: 47: assert: 3% of n, by thread (1,0,0) of block (0,0,0)
try(function(x, n) if threadIdx.x == n then error({}) end end, 1) -- expect: 48: error: the message of a run-time condition is a string, not a table; write printf to show values
try(function(x, n) if threadIdx.x == n then error(n) end end, 1) -- expect: 49: error: the message of a run-time condition is a string, not a run-time value; write printf to show values

-- In an else, an elseif, an unrolled loop, a loop of the kernel, a while; after a return, and in a helper.
try(function(x, n)
  local i = threadIdx.x
  if i < n then x[i] = 1 elseif i < 2 * n then error("second") else error("third") end
end, 4)                                   -- expect: 54: assert: second, by thread (4,0,0) of block (0,0,0)
try(function(x, n)
  for j = 0, 7 do
    if threadIdx.x == n and j == 6 then error("turn " .. j) end
    x[j] = j
  end
end, 2)                                   -- expect: 58: assert: turn 6, by thread (2,0,0) of block (0,0,0)
try(function(x, n)
  for j in range(n) do
    if j == threadIdx.x + 2 then error("in a loop") end
    x[threadIdx.x] = j
  end
end, 3)                                   -- expect: 64: assert: in a loop, by thread (0,0,0) of block (0,0,0)
try(function(x, n)
  local j = n
  while j > 0 do
    j = j - 1
    if j == 1 then error("in a while") end
  end
end, 1)                                   -- expect: done
try(function(x, n)
  if threadIdx.x < n then
    x[threadIdx.x] = 1
    return
  end
  error("the rest")
end, 7)                                   -- expect: 80: assert: the rest, by thread (7,0,0) of block (0,0,0)
print(shown():sub(1, 13))                 -- expect: 1 1 1 1 1 1 1
local function fail(text) error(text) end
local function fail_above(text) error(text, 2) end
local function positive(v)
  if v > 0 then return v end
  error("not positive")
end
local function half(v)
  if v % 2 ~= 0 then return error("odd") end
  return v // 2
end
try(function(x, n) if threadIdx.x == n then fail("in a helper") end end, 1) -- expect: 83: assert: in a helper, by thread (1,0,0) of block (0,0,0)
try(function(x, n) if threadIdx.x == n then fail_above("above") end end, 1) -- expect: 94: assert: above, by thread (1,0,0) of block (0,0,0)
try(function(x, n) x[threadIdx.x] = positive(threadIdx.x + n) end, 1) -- expect: done
print(shown())                            -- expect: 1 2 3 4 5 6 7 8
try(function(x, n) x[threadIdx.x] = positive(n - threadIdx.x) end, 7) -- expect: 87: assert: not positive, by thread (7,0,0) of block (0,0,0)
try(function(x, n) x[threadIdx.x] = half(2 * threadIdx.x) end, 1) -- expect: done
print(shown())                            -- expect: 0 1 2 3 4 5 6 7
try(function(x, n) if threadIdx.x == 3 then x[0] = half(threadIdx.x) end end, 1) -- expect: 90: assert: odd, by thread (3,0,0) of block (0,0,0)

-- In and, or; a variable that only the other branch gives a value.
try(function(x, n) local _ = threadIdx.x < n or error("or") end, 7) -- expect: 103: assert: or, by thread (7,0,0) of block (0,0,0)
try(function(x, n) local _ = threadIdx.x >= n and error("and") end, 7) -- expect: 104: assert: and, by thread (7,0,0) of block (0,0,0)
try(function(x, n)
  local v
  if threadIdx.x < n then v = threadIdx.x else fail("no value") end
  x[threadIdx.x] = v
end, 8)                                   -- expect: done
print(shown())                            -- expect: 0 1 2 3 4 5 6 7

-- Barriers after it are of those that go on; the launch has failed by then.
try(function(x, n)
  local s = shared(i32, 8)
  if n > 8 then error("n > 8") end
  s[threadIdx.x] = n
  sync_threads()
  x[threadIdx.x] = s[7 - threadIdx.x]
end, 5)                                   -- expect: done
print(shown())                            -- expect: 5 5 5 5 5 5 5 5

-- Where all threads get there it stops the trace, as before; a static condition decides while tracing.
try(function(x, n) error("always") end, 1) -- expect: 123: always
try(function(x, n) if x.dtype == i32 then error("static") end end, 1) -- expect: 124: static
try(function(x, n) assert(rank(x) == 2, "two modes") end, 1) -- expect: 125: two modes
try(function(x, n) for j = 1, 3 do if j == 2 then error({}, 2) end end end, 1) -- expect: 126: the error is a table, not a message
try(function(x, n) fail_above("level 2") end, 1) -- expect: 127: level 2

-- pcall catches what is known while tracing. It cannot catch what a thread finds.
try(function(x, n)
  if threadIdx.x < n then
    local ok, message = pcall(error, "caught")
    assert(not ok and message == "caught")
    x[threadIdx.x] = 9
  end
end, 8)                                   -- expect: done
print(shown())                            -- expect: 9 9 9 9 9 9 9 9
try(function(x, n)
  pcall(function() if threadIdx.x == n then error("lost") end end)
end, 3)                                   -- expect: 139: error: no pcall catches errors of threads, and this pcall contains the 'if'; write the 'if' around the pcall, or return a value that reports the failure

-- A function of device_fn has no assertions of its own.
local checked = device_fn(function(v) if v == 3 then error("three") end return v end)
try(function(x, n) x[threadIdx.x] = checked(threadIdx.x) end, 1) -- expect: 143: device_fn: the function uses assert or error; call it in the kernel

-- As the last choice, and where the value would be used; both arms; what only follows.
local function chosen(x, n) x[threadIdx.x] = n > 3 and 7 or error("small") end
try(chosen, 4)                            -- expect: done
print(shown())                            -- expect: 7 7 7 7 7 7 7 7
print(pcall(function() kernel("k", chosen){grid = 1, block = 1}(out, 3) synchronize() end)) -- expect: false	tests/lua/kernel/errors_of_threads.lua:147: assert: small, by thread (0,0,0) of block (0,0,0)
try(function(x, n)
  local t = {}
  if n > 3 then
    local v = assert(t.k, "no k")
    x[0] = v.z
  end
  x[threadIdx.x] = 1
end, 3)                                   -- expect: done
try(function(x, n)
  if threadIdx.x == n then error("one") else error("another") end
  x.no.field = 1
end, 9)                                   -- expect: 160: assert: another, by thread (0,0,0) of block (0,0,0)

-- The text of the kernel has no condition but the script's.
local text = kernel("k", too_large){grid = 1, block = 8}:source(out, 3)
print(text:match("if %(i == n%) {[^}]*}"):gsub("%s*//[^\n]*", ""):gsub("%s+", " "), nil) -- expect: if (i == n) { assert_failed(fault, 1); return; }	nil
