-- cpu:N, devices of a mesh on the CPU engine: as an option, a variable and a choice of the script.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local cuttle = arg[-1]

local function check(name, arguments, want, variables)
  local pipe = assert(io.popen(("%s '%s' %s 2>&1"):format(variables or "", cuttle, arguments)))
  tap.is(pipe:read("a"), want, name)
  pipe:close()
end

local count = "-e 'print(device().n_devices, zeros(f32, 1).device)'"
check("plain cpu is one device", "--device=cpu " .. count, "1\tcpu\n")
check("an option", "--device=cpu:8 " .. count, "8\tcpu\n")
check("a variable", count, "3\tcpu\n", "CUTTLE_DEVICE=cpu:3")
check("a choice of the script", [[--device=cpu -e 'device"cpu:256"' ]] .. count, "256\tcpu\n")
check("and back", [[--device=cpu:8 -e 'device"cpu"' ]] .. count, "1\tcpu\n")
check("devices() has them while they are chosen", [[-e 'print(devices()[1], devices()[2])' ]]
  .. [[-e 'device"cpu"' -e 'print(devices()[2] == "cpu:4")']], "cpu\tcpu:4\nfalse\n",
  "CUTTLE_DEVICE=cpu:4")
check("none", "--device=cpu:0 " .. count, "cuttle: device: 'cpu:0' is unknown; cpu:N are N virtual "
  .. "devices of the CPU engine, 1 to 256; see cuttle --help\n")

local out = shell.cuttle("--device=cpu:8 info")
local line = "\ndevice     cpu, acting as 8 devices; cpu:8 was asked for\n"
tap.ok(out:find(line, 1, true), "info", out)

local script = os.tmpname()
local file = assert(io.open(script, "w"))
file:write("print(device().n_devices)\n")
file:close()
check("check keeps them", ("--device=cpu:8 check '%s'"):format(script), "8\ncheck: no finding in 0 "
  .. "launches: nothing ran on the CPU engine\n")
os.remove(script)
tap.done()
