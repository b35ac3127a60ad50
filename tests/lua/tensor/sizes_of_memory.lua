-- Sizes of layouts have 64 bits on each machine; what pointers do not reach is an error with its size.
local tap = dofile "tests/support/tap.lua"

local function message_of(f, ...)
  local ok, message = pcall(f, ...)
  return ok and "no error" or tostring(message):gsub("^.-:%d+: ", "")
end

local one = zeros(f32, 1)
local far = view(one, layout(1 << 62, 0))
tap.is(message_of(far.totable, far),
  "totable: not enough memory for a table of 4611686018427387904 elements",
  "a table of more bytes than a number holds")

-- These fit into pointers of 64 bits, so that only those of 32 bits can refuse them without memory.
if string.packsize("T") == 8 then
  tap.skip("tensors that pointers of 32 bits do not reach", "pointers have 64 bits")
  tap.done()
end

local function refused(bytes)
  local text = "not enough memory for a tensor of %d bytes; pointers of 32 bits reach 2147483647"
  return text:format(bytes)
end
tap.is(message_of(tensor, f32, 1 << 31), "tensor: " .. refused(1 << 33), "2^31 floats")
tap.is(message_of(zeros, f32, (1 << 30) + 1), "zeros: " .. refused((1 << 32) + 4),
  "4 bytes, if the size wrapped around")
tap.is(message_of(rand, f64, { 1 << 20, 1 << 20 }), "rand: " .. refused(1 << 43), "2^40 doubles")
local wide = view(one, layout((1 << 30) + 1, 0))
tap.is(message_of(wide.totable, wide),
  "totable: not enough memory for a table of 1073741825 elements", "a table of a wide view")
tap.ok(message_of(copy, wide, one) ~= "no error", "a copy of a wide view is refused")
tap.is(one[0], 0.0, "the memory is as before")
tap.done()
