local count = 0
function o.a:m(x, ...) self.n = ... count = count + 1 return self:m(x)(1)'s'{ x } end
local function f(a, a) local g = function() a = a + 1 end g() return a, f end
local t <close> = f { 1; 2, x = [[
long]], ["\65\x41\u{41}\z
   "] = 0x1p4 // 2 ^ -3 .. "a" }
