-- When allclose compares on a device: on one that is played, where kernels do nothing, so that they
-- find no difference.
local tap = dofile "tests/support/tap.lua"
local played = dofile "tests/support/played_device.lua"

played.folder.write("t.lua", played.head .. [[
local compare = require "cuttle.compare"
local many, few = 1 << 20, {10, 10}
local zero, one = zeros(i32, many), ones(i32, many)
print("many", allclose(zero, one))
print("few", allclose(zeros(i32, few), ones(i32, few)))
print("host", allclose(zero, one:to "cpu"))
local in_stream = ones(i32, many)
kernel("touch", function(x) x[0] = 1 end){grid = 1, block = 1, stream = stream()}(in_stream)
print("stream", allclose(zero, in_stream))
print("other stream", allclose(in_stream, zero))
do
  local texts <close> = internal.launch.collect()
  print("collected", allclose(zero, one))
  print("texts", texts:size())
end
local session <close> = internal.launch.time_launches()
print("timed", allclose(zero, one))
session:close()
compare.least = 100
print("fewer", allclose(zeros(i32, few), ones(i32, few)))
local worst, device_copy = compare.worst, require "cuttle.device_copy"
local function fails() error("a failure", 0) end
compare.worst, device_copy.move = fails, fails
print("passed on", pcall(allclose, zero, one))
print("copied", pcall(copy, view(zero, row_major{1024, 1024}), zeros(i32, {1024, 1024})))
compare.worst = worst
local a = arange(f32, few)
local b = view(arange(f32, 200), layout(few, {1, 20}))
local asked
compare.on_device = function(...)
  asked = table.pack(...)
  return 5, 37
end
print("report", allclose(a, b, {rtol = 0.5, atol = 0.25}))
print("asked", asked[1] == a, asked[2] == b, asked[3], asked[4], asked[5], asked.n)
print(select(2, allclose(zero, one)), asked[5])
print((allclose(zero, one, {rtol = 1e-3})), asked[3], asked[4], asked[5])
compare.on_device = function() return 5, 100 end
print("outside", allclose(a, b))
]])
local differ = "\tfalse\t1048576 of 1048576 elements differ by more than 0 + 0 * |b|; the worst is "
  .. "0: 0 and 1\n"
local few = "\tfalse\t100 of 100 elements differ by more than 0 + 0 * |b|; the worst is (0,0): "
  .. "0 and 1\n"

local out = played.run "t.lua"
local function says(name, line) tap.ok(out:find(line, 1, true), name, out) end
says("many elements are compared on the device", "many\ttrue\n")
says("few are not", "few" .. few)
says("nor are those of the host", "host" .. differ)
says("nor what another stream may write", "stream" .. differ)
says("whichever it is", "other stream\tfalse\t1048576 of")
says("nor where texts are collected", "collected" .. differ)
says("and none is added", "texts\t0\n")
says("nor where launches are timed", "timed" .. differ)
says("how many those are", "fewer\ttrue\n")
says("a failure of kernels is told", "passed on\tfalse\ta failure\n")
says("that of a copy, too", "copied\tfalse\ta failure\n")
says("what the kernels find is told", "report\tfalse\t5 of 100 elements differ by more than "
  .. "0.25 + 0.5 * |b|; the worst is (7,3): 37 and 67\n")
says("they are given the tolerance", "asked\ttrue\ttrue\t0.5\t0.25\tfalse\t5\n")
says("integers are to be equal", "the worst is 37: 0 and 1\ttrue\n")
says("unless they need not", "0.001\t0.0\tfalse\n")
says("a place outside is not believed", "outside\tfalse\t90 of 100 elements differ")

out = played.run("t.lua", "CUTTLE_NVRTC=/none CUTTLE_CACHE=empty")
says("without a compiler the host compares", "many" .. differ)
played.folder.remove()
tap.done()
