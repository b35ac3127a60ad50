-- A script that reads elements on a device one by one is warned, once, if each is a transfer: of memory whose
-- address it asked for. The device is played by a driver of tests/c.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local cuttle, here = arg[-1], arg[0]:match("^(.*)tests/lua/") or "./"
local fake, script = os.tmpname(), os.tmpname()
local file = assert(io.open(script, "w"))
file:write [[
local n = tonumber((...))
local x = zeros(f32, {n, 4})
local address = select(2, ...) == "known" and x.address -- somebody else may use it now
assert(address == false or address > 0)
local sum = 0
for i = 0, n - 1 do
  sum = sum + x[{i, 2}]
  x[i] = 1.0
end
print(x.device, #x:totable())
]]
file:close()
local line = 8 -- of the store
local cc = ("%s -std=c11 -D_POSIX_C_SOURCE=200809L -shared -fPIC -I'%s.' %s -o '%s' 2>/dev/null")
  :format(os.getenv("CC") or "cc", here, ("'%stests/c/fake_libcuda.c'"):format(here), fake)
if not os.execute(cc) then
  tap.skip_all "no C compiler"
end

local function check(name, arguments, want)
  local out = shell.run("CUTTLE_LIBCUDA='%s' '%s' %s", fake, cuttle, arguments)
  tap.is(out, want, name)
end

check("a few elements", ("--device=cuda:0 '%s' 400 known"):format(script), "cuda:0\t400\n")
check("many elements that the host keeps: none", ("--device=cuda:0 '%s' 60000"):format(script),
  "cuda:0\t60000\n")
check("many elements: one warning", ("--device=cuda:0 '%s' 60000 known"):format(script),
  script .. ":" .. line .. ": warning: the host has read or written 100000 elements on cuda:0 one "
  .. "by one, a transfer each; x:totable() and x:to\"cpu\" read all at once, from_table "
  .. "writes all\n"
  .. "cuda:0\t60000\n")
check("on the CPU there is no transfer", ("--device=cpu '%s' 60000"):format(script), "cpu\t60000\n")
os.remove(fake)
os.remove(script)
tap.done()
