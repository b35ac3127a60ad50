-- Kernels whose CUDA C differs by their names alone are compiled once by a process: kernels that one line of the
-- script defines. The device is played by a driver of tests/c, and there is no cache on disk.
local tap = dofile "tests/support/tap.lua"
local played = dofile "tests/support/played_device.lua"

local function run(name, text, want)
  local file <close> = assert(io.open(played.folder.path .. "/twins.lua", "w"))
  file:write([[
local x = zeros(f32, 32)
local function compiled(k, y)
  k{grid = 1, block = 32}(y or x)
  return k{grid = 1, block = 32}:info(y or x).from_cache and "shared" or "compiled"
end
]], text)
  file:close()
  tap.is(played.run("twins.lua", "CUTTLE_CACHE=off"), want, name)
end

run("twins", [[
local function made(name, v)
  return kernel(name, function(x) x[threadIdx.x] = x[threadIdx.x] + v end)
end
local a, b = made("first", 1), made("second", 1)
print(compiled(a), compiled(b), compiled(made("third", 2)), compiled(a), compiled(made("fourth", 2)))
local source = b{grid = 1, block = 32}:source(x)
print(source:match "(%w+)%(float")
]], "compiled\tshared\tcompiled\tcompiled\tshared\nsecond\n")

run("other lines, types and options are no twins", [[
local a = kernel("first", function(x) x[threadIdx.x] = 1 end)
local b = kernel("second", function(x) x[threadIdx.x] = 1 end)
local function made(name, options) return kernel(name, function(x) x[threadIdx.x] = 3 end, options) end
print(compiled(a), compiled(b))
print(compiled(made "c"), compiled(made("d", {nvrtc_options = {"-maxrregcount=16"}})))
print(compiled(made("e"), zeros(f64, 32)), compiled(made "f"))
]], "compiled\tcompiled\ncompiled\tcompiled\ncompiled\tshared\n")

run("a text in quotes is a part of what is compiled", [[
local function made(name)
  return kernel(name, function(x)
    x[0] = cuda("(float)sizeof(\"" .. name .. "\")", {}, f32, function() return 1.0 end)
  end)
end
print(compiled(made "one"), compiled(made "two"), compiled(made "one"))
]], "compiled\tcompiled\tshared\n")
played.folder.remove()
tap.done()
