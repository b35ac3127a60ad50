-- A metatable that no setmetatable made known: its functions are called unconverted.
debug.setmetatable("", {__index = function(s, key) if key then return #s end end})
local k = kernel("texts", function(x)
  x[0] = ("abc").length -- expect error: the function (tests/fails/metamethod_unconverted.lua:2) was not converted for the kernel: C code or a metatable calls it; call it in the kernel itself or in a helper
end)
k{grid = 1, block = 32}(zeros(f32, 32))
