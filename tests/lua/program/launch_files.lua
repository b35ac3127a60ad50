-- The bytes of launches in files, as `capture` and exported programs write them: what is whole is
-- read, and whatever else stands there is refused in one line, or is another consistent launch.
local tap = dofile "tests/support/tap.lua"
local sealed = dofile "tests/support/sealed.lua"
local shell = dofile "tests/support/shell.lua"
local launch_file = require "cuttle.launch_file"

local N <const> = 100
local saxpy = kernel("saxpy", function(a, x, y)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  if i < size(y) then y[i] = a * x[i] + y[i] end
end)
local path = os.tmpname()
capture(saxpy:prepare{ grid = 4, block = 32 }(i32(7), rand(i32, N), rand(i32, N)), path,
  { data = true })
local captured = shell.read_file(path)
os.remove(path)
local launch = launch_file.read(captured)

-- {====== What an exported program writes ======

local POINTER <const> = 0x7f0000000010

-- The first n of saxpy's slots: a, then of each tensor its address and extent. `bytes`: of x.
local function exported(version, data, n, bytes)
  n = n or 5
  local head = ("<c8" .. ("I8"):rep(10)):pack("CUTTLESL", version, #launch.ir, n, 4, 1, 1, 2, 64, 4,
    #data > 0 and 1 or 0)
  local values, lengths = { 7, POINTER, N, POINTER, N }, { 0, bytes or 4 * N, 0, 4 * N, 0 }
  local slots = ("<" .. ("i8"):rep(n))
  return sealed(head .. slots:pack(table.unpack(values, 1, n))
    .. slots:pack(table.unpack(lengths, 1, n)) .. "H200" .. launch.ir .. data)
end

local whole = exported(2, ("d"):rep(8 * N))
local read = launch_file.read(whole)
tap.is(("%s %s"):format(read.kernel, read.device), "saxpy H200", "the kernel and the device")
tap.ok(read.grid[1] == 4 and read.block[1] == 32 and read.cooperative and not read.pdl
  and read.smem == 64, "how it was launched")
tap.is(read.args[1].number, 7, "a number")
tap.is(("%s %s %d"):format(read.args[3].name, read.args[3].tensors[1].layout,
  read.args[3].tensors[1].at), "y 100:1 16", "a tensor")

-- {====== What is refused ======

-- nil, or what is wrong with the bytes of a file.
local function trouble(bytes)
  local ok, why = pcall(launch_file.read, bytes)
  return not ok and why or nil
end

local function refuses(name, bytes, part)
  local why = trouble(bytes)
  tap.ok(why and why:find(part, 1, true) and not why:find "\n", name, why)
end
refuses("another version", exported(3, ""), "exported kernel of version 3; this library reads 2")
refuses("too few data", exported(2, "ddd"), "its data do not fit")
refuses("memory that ends before it begins", exported(2, "", 5, -1), "its data do not fit")
refuses("another number of slots", exported(2, "", 4), "has other values than its kernel expects")
refuses("no launch", "return 1", "the file holds no launch")

for name, bytes in ipairs{ captured, whole } do
  local n_read = 0
  for n = 0, #bytes - 1, 3 do n_read = n_read + (trouble(bytes:sub(1, n)) and 0 or 1) end
  tap.is(n_read, 0, "no beginning of file " .. name)
  for i = 1, #bytes, 3 do
    local changed = bytes:sub(1, i - 1) .. string.char(bytes:byte(i) ~ 4) .. bytes:sub(i + 1)
    n_read = n_read + (trouble(changed) and 0 or 1)
  end
  tap.is(n_read, 0, "nor with a bit changed")
end

-- {====== What anybody may have sealed ======

-- What is read is consistent: its tensors name spans, and its data are all there.
local function is_consistent(l)
  local is = true
  for _, span in ipairs(l.spans) do
    is = is and #span.data == (span.has_data and span.bytes - span.lead or 0)
  end
  for _, arg in ipairs(l.args) do
    for _, t in ipairs(arg.tensors) do is = is and l.spans[t.span] and t.at >= 0 end
  end
  return is
end

math.randomseed(7)
local function change(bytes)
  local at, what = math.random(#bytes), math.random(3)
  if what == 1 then
    return bytes:sub(1, at - 1) .. string.char(math.random(0, 255)) .. bytes:sub(at + 1)
  end
  if what == 2 then return bytes:sub(1, at - 1) .. bytes:sub(at + math.random(9)) end
  return bytes:sub(1, at) .. bytes:sub(math.random(#bytes), -1):sub(1, 9) .. bytes:sub(at + 1)
end

local function run(bytes)
  local head = bytes:sub(1, 16)
  for _ = 1, 400 do
    local body = bytes:sub(17, -9)
    for _ = 1, math.random(3) do body = change(body) end
    local ok, l = pcall(launch_file.read, sealed(head .. body))
    if ok and not is_consistent(l) then return "inconsistent: " .. body end
    if not ok and (l:find "\n" or l:find "attempt to" or l:find "bad argument") then return l end
  end
end
tap.is(run(captured), nil, "a captured launch with changed bytes")
tap.is(run(whole), nil, "an exported one")
tap.plan()
