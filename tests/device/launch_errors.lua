-- Errors of launches on a CUDA device, each by its whole message. Prints TAP.
local tap = dofile "tests/support/tap.lua"
if #devices() < 2 then
  tap.skip_all "no CUDA device"
end

local function report(ok, name, got, want)
  tap.ok(ok, name, ("got: %s\nexpected: %s"):format(got, want))
end

-- f must fail `offset` lines below where `where` begins; text ends in "..." where the rest depends on
-- the machine.
local function fails(name, where, offset, text, f)
  local want = ("%s:%d: %s"):format(debug.getinfo(1, "S").short_src,
    debug.getinfo(where or f, "S").linedefined + offset, text)
  local ok, message = pcall(f)
  message = ok and "no error" or message
  local start = want:match("^(.*)%.%.%.$")
  report(message == want or start and message:sub(1, #start) == start, name, message, want)
end

local here = device("cuda:0")
local add = kernel("add", function(x, y)
  y[threadIdx.x] = x[threadIdx.x] + y[threadIdx.x]
end)
local x, y = zeros(f32, {32}), zeros(f32, {32})
local on_host = x:to("cpu")

fails("tensors on two devices", nil, 0,
  "add: argument 1 (x) is on cuda:0 but argument 2 is on cpu; move one with t:to(\"cuda:0\")",
  function() add{grid = 1, block = 32}(x, on_host) end)
fails("tensors on two devices, the other way", nil, 0,
  "add: argument 1 (x) is on cpu but argument 2 is on cuda:0; move one with t:to(\"cpu\")",
  function() add{grid = 1, block = 32}(on_host, y) end)
local s = stream()
fails("a stream for tensors of the host", nil, 0,
  "add: the stream belongs to cuda:0 but the launch is on cpu; make one there",
  function() add{grid = 1, block = 32, stream = s}(on_host, on_host) end)
local config = add{grid = 1, block = 32, stream = s}
config(x, y)
s:close()
fails("a stream that was closed", nil, 0, "the stream is closed", function() config(x, y) end)

local function large(t)
  local a = shared(f32, {256, 256})
  t[0] = a[0]
end
fails("shared memory over the device's limit", large, 1,
  "shared: the kernel's shared tensors take 262144 bytes, but a block on " .. here.name .. " has "
  .. here.shared_bytes .. "; make a tile smaller",
  function() kernel(large){grid = 1, block = 32}(x) end)

local function ragged(t)
  clear(tile(t, 3, blockIdx.x))
end
local k = kernel(ragged)
k{grid = 1, block = 1}(zeros(f32, {48}))
fails("a broken assumption", ragged, 1,
  "tile: extent 80 of mode 0 of t is not a multiple of the tile's 3; pad the tensor or write "
  .. "guard(t)", function() k{grid = 1, block = 1}(zeros(f32, {80})) end)

local function escape(t)
  t[0] = 1.0
  t[1] = cuda("nothing + 1", {}, f32)
end
fails("NVRTC's error in an escape", escape, 2,
  "nvrtc: kernel 'escape': identifier \"nothing\" is undefined (NVRTC ...",
  function() kernel("escape", escape){grid = 1, block = 1}(x) end)
local option = kernel("option", function(t) t[0] = 1.0 end, {nvrtc_options = {"--no-such"}})
fails("an option that NVRTC does not know", nil, 0,
  "nvrtc: kernel 'option': unrecognized option --no-such found",
  function() option{grid = 1, block = 1}(x) end)
tap.done()
