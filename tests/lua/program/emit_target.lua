-- `cuttle emit --sm=N` on a machine whose GPU is of another capability, played by a driver of
-- tests/c that has an sm_90: what the script asks of its device does not follow that.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local cuttle, here = arg[-1], arg[0]:match("^(.*)tests/lua/") or "./"
local fake, script = os.tmpname(), os.tmpname()
local file = assert(io.open(script, "w"))
file:write [[
local sm = device().sm or "no"
local k = kernel("k", function(x)
  x[0] = sm == 90 and 1.0 or 2.0
end)
io.stderr:write("device ", sm, "\n")
if sm ~= 90 then k{grid = 1, block = 32}(zeros(f32, 1)) end
]]
file:close()
local cc = ("%s -std=c11 -D_POSIX_C_SOURCE=200809L -shared -fPIC -I'%s.' %s -o '%s' 2>/dev/null")
  :format(os.getenv("CC") or "cc", here, ("'%stests/c/fake_libcuda.c'"):format(here), fake)
if not os.execute(cc) then
  tap.skip_all "no C compiler"
end


local function check(name, environment, arguments, ...)
  local out = shell.run("CUTTLE_LIBCUDA='%s' CUTTLE_DEVICE= %s '%s' emit %s '%s'", fake,
    environment, cuttle, arguments, script)
  local ok = true
  for _, part in ipairs { ... } do ok = ok and out:find(part, 1, true) ~= nil end
  tap.ok(ok, name, out)
end

check("the device is of it, a suffix or not", "", "--sm=90a", "device 90\n")
check("another one than the device's, CUTTLE_DEVICE or not", "CUTTLE_DEVICE=cuda:1", "--sm=75",
  "device no\n", "x[0] = 2.0f;")
check("--device and another --sm", "", "--sm=75 --device=cuda:1", "cuttle: emit: --sm=75, but "
  .. "--device=cuda:1 is sm_90, and launches are traced for the device that they run on; leave "
  .. "--device out, and they run on the CPU engine")
os.remove(fake)
os.remove(script)
tap.done()
