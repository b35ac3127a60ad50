-- However a script reaches `bench`, it is limited alike: once where launches are watched, and a row of
-- its own in `cuttle bench`.
local shell = dofile "tests/support/shell.lua"

local function output_of(command, text)
  local path = shell.file(text)
  local out = shell.cuttle("%s '%s'", command, path)
  os.remove(path)
  return out
end

local head <const> = [[
local k = kernel("k", function(x) x[threadIdx.x] = 1.0 end)
local l = k:prepare{grid = 1, block = 32}(zeros(f32, 32))
]]
local ways <const> = {
  "bench(l)",
  "require 'cuttle'.bench(l)",
  "local b = require 'cuttle'.bench; bench = nil; b(l)",
  "local f = coroutine.wrap(function() return require 'cuttle'.bench(l) end); f()",
  "local A = ones(f32, {32, 32}); require 'cuttle.beside_blas'('x', l, A, A, zeros(f32, {32, 32}))",
}
for i, way in ipairs(ways) do
  local launches = i == #ways and 2 or 1 -- one before it
  local text = head .. way .. "\n"
  local checked, profiled = output_of("check", text), output_of("profile", text)
  local timed = output_of("bench", text)
  print(i, checked:match("in (%d+) launch") == tostring(launches),
    profiled:match(", (%d+) launch") == tostring(launches),
    timed:find("\nbench %(%S+:3%) +k +[%d.]+ +[%d.]+ +[%d.]+\n") ~= nil)
end
-- expect: 1	true	true	true
-- expect: 2	true	true	true
-- expect: 3	true	true	true
-- expect: 4	true	true	true
-- expect: 5	true	true	true

-- In a script that watches for itself, too; and it takes what it is given as ever.
device("cpu")
local k = kernel("k", function(x) x[threadIdx.x] = 1.0 end)
local l = k:prepare{grid = 1, block = 32}(zeros(f32, 32))
print(profile(function() print(bench(l) > 0) end).kernels[1].launches)
-- expect: true
-- expect: 1
local n = 0
local ms, fastest, slowest = bench(function() n = n + 1 end, {reps = 3, batches = 2})
print(n, fastest <= ms and ms <= slowest) -- expect: 8	true
-- Lua calls the function by its name in one of the tables that hold it.
print((select(2, pcall(bench)):gsub("cuttle%.bench", "bench")))
-- expect: tests/lua/program/bench_ways.lua:49: bench: argument 1 is missing; a function was expected
