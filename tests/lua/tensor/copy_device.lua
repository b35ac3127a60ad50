-- When copy, fill and clear work on a device: on one that is played, where kernels do nothing, so
-- that they leave the zeros that were there.
local tap = dofile "tests/support/tap.lua"
local played = dofile "tests/support/played_device.lua"

played.folder.write("t.lua", played.head .. [[
local many, few = {512, 256}, {10, 20}
local function ones_in(what, x) print(what, reduce_host(x)) end
function reduce_host(x) return x[0] == 1 and x[size(x) - 1] == 1 and "by the host" or "there" end
local function turned(shape) return select(ones(f32, shape), 1, 0) end
local function to(shape) return zeros(f32, {shape[2], shape[1]}) end
local function try(what, x, y) copy(x, y) ones_in(what, y) end
try("many", turned(many), to(many))
try("few", turned(few), to(few))
try("from the host", select(ones(f32, many):to "cpu", 1, 0), to(many))
try("packed", select(ones(f4e2m1, many), 1, 0), zeros(f4e2m1, {256, 512}))
local both = zeros(f32, {256, 256, 2})
fill(both(_, _, 0), 1)
both[0] = 1
local x = ones(f32, 70000)
copy(slice(x, 0, 69999), slice(x, 1, 70000))
print("overlap", x[1] == 1 and x[69999] == 1)
local y = ones(f32, {1024, 128})
copy(select(view(y, {512, 128}), 1, 0), view(y, {128, 512}, 65536))
print("apart", y[65536])
local z = zeros(f32, many)
fill(z, 1)
ones_in("fill", z)
local a = ones(f32, {512, 512})
clear(tile(a, {256, 512}, {1, 0}))
print("clear", a[{256, 0}] == 1 and "there" or "by the host")
local function in_stream(x)
  kernel("touch", function(x) x[0] = 1.0 end){grid = 1, block = 1, stream = stream()}(x)
  return x
end
try("from a stream", select(in_stream(ones(f32, many)), 1, 0), to(many))
try("to a stream", turned(many), in_stream(to(many)))
do
  local texts <close> = internal.launch.collect()
  try("collected", turned(many), to(many))
  print("texts", texts:size())
end
]])
local out = played.run "t.lua"
local function says(name, line) tap.ok(out:find(line .. "\n", 1, true), name, out) end
says("many elements are copied on the device", "many\tthere")
says("few are not", "few\tby the host")
says("nor are those of the host", "from the host\tby the host")
says("nor two in a byte", "packed\tby the host")
says("nor such as overlap", "overlap\ttrue")
says("parts of one memory that do not are", "apart\t1.0")
says("fill sets many there", "fill\tthere")
says("and clear", "clear\tthere")
says("what another stream may write is copied after it", "from a stream\tby the host")
says("and so is what it may read", "to a stream\tby the host")
says("nothing is launched where texts are collected", "collected\tby the host")
says("and none is added", "texts\t0")

out = played.run("t.lua", "CUTTLE_NVRTC=/none CUTTLE_CACHE=empty")
says("without a compiler the host copies", "many\tby the host")
says("and fills", "fill\tby the host")
played.folder.remove()
tap.done()
