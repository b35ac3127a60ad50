-- Elements of a tensor on a device, one by one: the host keeps pages, which it forgets before the
-- device is asked for anything else, after it has written what changed. The device is played by a
-- driver of tests/c, which logs copies and launches.
local tap = dofile "tests/support/tap.lua"
local played = dofile "tests/support/played_device.lua"
local folder = played.folder

-- What the driver was asked by the lines of a script after "--", and what the script printed.
local function log_of(script)
  folder.write("elements.lua", "local x = zeros(f32, 40000)\nlocal log = ...\n"
    .. "local k = kernel('k', function(a) a[threadIdx.x] = 1.0 end)\n"
    .. "local function go() k{grid = 1, block = 32}(x) end\ngo() synchronize()\n"
    .. "os.remove(log)\n" .. script)
  local log = folder.path .. "/log"
  local out = played.run("elements.lua " .. log,
    ("FAKE_COPY_LOG=1 FAKE_ORDER_LOG='%s'"):format(log))
  local file = io.open(log)
  local lines = {}
  for line in (file and file:read("a") or ""):gmatch "0: ([^\n]*)\n" do
    lines[#lines + 1] = line:gsub("^k[%w_]*$", "launch")
  end
  if file then file:close() end
  return table.concat(lines, ", "), out
end

local function check(name, script, want, want_out)
  local got, out = log_of(script)
  tap.ok(got == want and out == (want_out or ""), name,
    ("got: %s\nexpected: %s\nprinted: %s"):format(got, want, out))
end

check("reads of one page are one transfer",
  "local s = 0 for i = 0, 16383 do s = s + x[i] end print(s)", "read 65536", "0.0\n")
check("each page is read once",
  "for _ = 1, 3 do for i = 0, 39999 do local _ = x[i] end end",
  "read 65536, read 65536, read 28928")
check("writes are gathered, and sent before the script ends",
  "for i = 100, 199 do x[i] = i end", "read 65536, write 400")
check("writes are sent before a launch, and the pages forgotten",
  "x[0] = 5 x[1] = 6 go() print(x[0], x[1])",
  "read 65536, write 8, launch, read 65536", "5.0\t6.0\n")
check("the same of a launch that is repeated", "for i = 1, 2 do x[0] = i go() end",
  "read 65536, write 4, launch, read 65536, write 4, launch")
check("a read sees what was written", "x[7] = 3 print(x[7], x(7))", "read 65536, write 4",
  "3.0\t3.0\n")
check("tensors of one memory share it",
  "local y = view(x, layout{200, 200}) x[201] = 4 print(y[{1, 1}]) y[{1, 1}] = 5 print(x[201])",
  "read 65536, write 4", "4.0\n5.0\n")
check("a slice, too", "local y = tile(x, {100}, {3}) y[1] = 2 print(x[301])",
  "read 65536, write 4", "2.0\n")
check("whoever reads all sees it", "x[39999] = 8 print(x:totable()[40000])",
  "read 28928, write 4, read 160000", "8.0\n")
check("a fill comes after", "x[0] = 5 fill(x, 2) print(x[0])",
  "read 65536, write 4, write 160000, read 65536", "2.0\n")
check("a copy, too", "local y = zeros(f32, 40000) x[1] = 5 copy(x, y) print(y[1])",
  "read 65536, write 4, read 65536", "5.0\n")
check("a copy to the host", "x[1] = 5 print(x:to'cpu'[1])",
  "read 65536, write 4, read 160000", "5.0\n")
check("a graph's launch",
  "local g = graph(go) x[0] = 5 g() print(x[0])", "launch, read 65536, write 4, graph, read 65536",
  "5.0\n")
check("waiting for the device", "x[0] = 5 synchronize() print(x[0])",
  "read 65536, write 4, read 65536", "5.0\n")
check("a tensor that is given up takes its pages along",
  "local y = zeros(f32, 10) y[0] = 1 x[0] = 1 y:close() x[1] = 2",
  "read 40, read 65536, write 8")
check("whose address is known, that is not kept",
  "x[0] = 5 print(x.address > 0) print(x[0], x[1]) x[0] = 6",
  "read 65536, write 4, read 4, read 4, write 4", "true\n5.0\t0.0\n")
check("slots of a large tensor are used again",
  "local y = zeros(u8, 1 << 27) y[0] = 1 y[1 << 26] = 2 print(y[0], y[1 << 26])",
  "read 65536, write 1, read 65536, write 1, read 65536, read 65536", "1\t2\n")
check("a loop over many elements",
  "local y = zeros(f32, 1000000) local s = 0 for i = 0, 999999 do y[i] = i % 7 end "
    .. "for i = 0, 999999 do s = s + y[i] end print(s)",
  ("read 65536, "):rep(61) .. "read 2304, " .. ("write 65536, "):rep(61) .. "write 2304",
  "2999997.0\n")
folder.remove()
tap.done()
