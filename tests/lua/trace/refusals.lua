-- What trace refuses, in whole sentences; after any failure launches are as they were before.
local k = kernel("shift", function(x, y, n) y[threadIdx.x + n] = x[threadIdx.x] end)
local x, y = arange(f32, 8), zeros(f32, {2, 4})
local y8 = zeros(f32, 8)

local function refuse(...)
  local ok, message = pcall(trace, ...)
  assert(not ok)
  print((message:gsub("^.-lua:%d+: ", "")))
end

refuse(k, {y = {2, 3}}, x, y8, 0)
-- expect: trace: a kernel alone has no grid and block; write trace(k{grid = ..., block = ...}, {C = {5, 7}}, A, B, C), or trace(launch, {C = {5, 7}}) of launch = k:prepare{...}(A, B, C)
refuse(7, {y = {2, 3}})
-- expect: trace: argument 1 is a number; a launch was expected: trace(k{grid = ..., block = ...}, {C = {5, 7}}, A, B, C), or trace(launch, {C = {5, 7}}) of launch = k:prepare{...}(A, B, C)
refuse(tune(function() return k{grid = 1, block = 8} end, {n = {1}}), {y = {2}}, x, y8, 0)
-- expect: trace: argument 1 is a tuned function; give the launch of a configuration: trace(f(tuned:config(A, B, C)), {C = {5, 7}}, A, B, C)
refuse(k{grid = 1, block = 8})
-- expect: trace: argument 2 is nil; one element of one tensor was expected, as in {C = {5, 7}}
refuse(k{grid = 1, block = 8}, "y")
-- expect: trace: argument 2 is a string; one element of one tensor was expected, as in {C = {5, 7}}
refuse(k{grid = 1, block = 8}, {y = {1}, x = {1}}, x, y8, 0)
-- expect: trace: one element of one tensor was expected, as in {C = {5, 7}}
refuse(k{grid = 1, block = 8}, {z = {1}}, x, y8, 0)
-- expect: trace: the kernel has no parameter 'z'; it has x, y, n
refuse(k{grid = 1, block = 8}, {n = {1}}, x, y8, 0)
-- expect: trace: the argument n is not a tensor, or is not given
refuse(k{grid = 1, block = 8}, {y = {1}})
-- expect: trace: the argument y is not a tensor, or is not given
refuse(k{grid = 1, block = 8}, {y = {1}}, x, y, 0)
-- expect: trace: y(1) has 1 mode, but y has the shape (2,4)
refuse(k{grid = 1, block = 8}, {y = {1, 4}}, x, y, 0)
-- expect: trace: there is no y(1,4); the shape of y is (2,4)
refuse(k{grid = 1, block = 8}, {y = {1.5}}, x, y8, 0)
-- expect: trace: there is no y(1.5); the shape of y is 8
refuse(k{grid = 1, block = 8}, {y = {-1}}, x, y8, 0)
-- expect: trace: there is no y(-1); the shape of y is 8
refuse(k{grid = 1, block = 8}, {y = {{1, 1}}}, x, y8, 0)
-- expect: trace: there is no y((1,1)); the shape of y is 8
refuse(k{grid = 1, block = 8}, {y = {1}}, x, y8, 4)
-- expect: out of bounds: write of y at 8, extent 8, by thread (4,0,0) of block (0,0,0)

-- The failed launch wrote into a copy, and no launch is watched any more.
print(y8[7], #trace(k{grid = 1, block = 4}, {y = {5}}, x, y8, 4).rows)
-- expect: 0.0	2

local module = require "cuttle.trace"
module.max_record = 100
refuse(k{grid = 1, block = 8}, {y = {1}}, x, y8, 0)
-- expect: trace: what one block does takes more than 100 bytes to record; trace a smaller problem
module.max_record = 1 << 30
print(tostring(trace(k{grid = 1, block = 8}, {y = {1}}, x, y8, 0)):match("^[^\n]*"))
-- expect: y(1): 2 events

-- What a kernel prints it prints once; a prepared launch keeps its arguments.
local talking = kernel("talking", function(x, y)
  y[threadIdx.x] = x[threadIdx.x]
  printf("%d\n", threadIdx.x)
end)
local launch = talking:prepare{grid = 1, block = 2}(x, y8)
print(#trace(launch, {y = {1}}).rows)
-- expect: 0
-- expect: 1
-- expect: 2
print(y8[1])
-- expect: 0.0
launch()
-- expect: 0
-- expect: 1
print(y8[1])
-- expect: 1.0

-- What another block of the launch wrote is not followed; that is said.
local passing = kernel("passing", function(x, W, y, done)
  local t = threadIdx.x
  if blockIdx.x == 0 then
    W[t] = x[t] * 2
    sync_threads()
    if t == 0 then atomic_store(done, 0, 1) end
  else
    if t == 0 then
      while atomic_load(done, 0) == 0 do end
    end
    sync_threads()
    y[t] = W[7 - t] + x[t]
  end
end)
launch = passing:prepare{grid = 2, block = 8}(x, zeros(f32, 8), y8, zeros(i32, 1))
print((tostring(trace(launch, {y = {3}})):match("[^\n]*$")))
-- expect: W(4): an input here; what other blocks of the launch wrote there is not followed, but trace(launch, {W = {...}}) shows how it came about
print(#trace(launch, {W = {4}}).open_ends)
-- expect: 0
