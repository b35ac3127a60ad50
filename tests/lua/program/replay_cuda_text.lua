-- CUDA C in a file of a launch reaches no compiler unless the user trusts the file: it may name any file.
local tap = dofile "tests/support/tap.lua"
local played = dofile "tests/support/played_device.lua"
local folder = played.folder

folder.write("capture.lua", [==[
local k = kernel("text", function(x) cuda[[asm("");]] x[threadIdx.x] = 1.0 end)
capture(k:prepare{grid = 1, block = 4}(zeros(f32, 4)), "text.ctk")]==])
local out = played.run "capture.lua"
tap.is(out, "", "a kernel with CUDA C, which has no twin, is captured on its device")
tap.ok(folder.read "text.ctk":find('asm("");', 1, true), "the file has its text")
out = played.run "replay text.ctk"
tap.ok(out:find("replay: the file of text contains CUDA C or PTX, which the compiler would get "
  .. "unchanged; if you trust who made the file, replay it with --trust, or replay(file, "
  .. "{trust = true})", 1, true),
  "its replay is refused", out)
out = played.run "replay --trust text.ctk"
tap.ok(out:find("replay: it ended on", 1, true), "unless the user trusts it", out)
folder.write("trust.lua", 'replay("text.ctk", {trust = true})() print "ran"')
tap.is(played.run "trust.lua", "ran\n", "a script says so as well")
folder.remove()
tap.plan()
