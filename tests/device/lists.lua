-- Lists of tensors on a CUDA device: the order of streams, memory that is freed, changes between launches.
-- Prints TAP.
local tap = dofile "tests/support/tap.lua"
if #devices() < 2 then
  tap.skip_all "no CUDA device"
end
device("cuda:0")

local add = kernel("add", function(list, v)
  local x = list[blockIdx.x + 1]
  for i in range(threadIdx.x, size(x), blockDim.x) do x[i] = x[i] + v end
end)
local function make(n)
  local list = {}
  for i = 1, n do list[i] = zeros(f32, 1000 + 37 * i) end
  return list
end
local function holds(list, f)
  for i, x in ipairs(list) do
    local host = x:to("cpu")
    for j = 0, size(host) - 1, 97 do
      if host[j] ~= f(i) then return false end
    end
  end
  return true
end

local list = make(100)
local run = add{grid = 100, block = 128}
for v = 1, 4 do run(list, v * 1.0) end
tap.ok(holds(list, function() return 10 end), "launches in a row on one list")

-- A tensor is replaced right after a launch: the launch in flight has the table with the old one.
local old = {}
for n = 1, 50 do
  run(list, 1.0)
  old[n] = list[n]
  list[n] = zeros(f32, 500 + n)
end
run(list, 1.0)
local right = true
for n, x in ipairs(old) do right = right and x:to("cpu")[0] == 10 + n end
for n = 1, 50 do right = right and list[n]:to("cpu")[499] == 51 - n end
tap.ok(right and list[100]:to("cpu")[0] == 61, "tensors replaced between launches")

-- Streams: each launch finds the table on its own stream, in whatever order they come.
local streams = {stream(), stream(), stream()}
local many = make(60)
synchronize()
for round = 1, 30 do
  local s = streams[round % 3 + 1]
  add{grid = 60, block = 128, stream = s}(many, 1.0)
  synchronize()
end
tap.ok(holds(many, function() return 30 end), "launches on streams in turn")
for _, s in ipairs(streams) do add{grid = 60, block = 128, stream = s}(make(60), 1.0) end
synchronize()
tap.ok(true, "lists that are dropped while their launches run")

-- Memory: tensors of lists that are gone are freed, and so are the tables.
collectgarbage()
for _ = 1, 200 do
  local big = {}
  for i = 1, 8 do big[i] = zeros(f32, 1 << 22) end        -- 128 MB, 25 GB in all
  add{grid = 8, block = 256}(big, 1.0)
  collectgarbage()
end
synchronize()
tap.ok(true, "memory of lists is given back")

-- Pointer arrays.
local sum = kernel("sum", function(addresses, n, out)
  local x, s = tensor_at(addresses[blockIdx.x], f32, {n}), 0.0
  for i in range(threadIdx.x, n, 32) do s = s + x[i] end
  s = warp_reduce(s, "add")
  if threadIdx.x == 0 then out[blockIdx.x] = s end
end)
local a, b = arange(f32, 100), zeros(f32, 100)
fill(b, 2)
local out = zeros(f32, 2)
sum{grid = 2, block = 32}(from_table(u64, {a.address, b.address}), 100, out)
out = out:to("cpu")
tap.ok(out[0] == 4950 and out[1] == 200, "tensors at addresses")

local ok, message = pcall(function() run({list[1], zeros(f32, 4):to("cpu")}, 1.0) end)
tap.ok(not ok and message:find("tensor 2 is on cpu, but tensor 1 is on cuda:0", 1, true) ~= nil,
  "a list on two devices", message)
tap.done()
