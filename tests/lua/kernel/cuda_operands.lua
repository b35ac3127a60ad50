-- Operands of cuda[[...]] are values: the text cannot take the address of what stands for one, nor change it.
local x, y = zeros(f32, 64), zeros(i32, 64)
local tap = dofile "tests/support/tap.lua"

local function report(ok, name, got, want)
  tap.ok(ok, name, ("got: %s\nexpected: %s"):format(got, want))
end

local function config(f) return kernel("escape", f){grid = 1, block = 32} end

-- The text as it is emitted.
local function writes(name, want, f, ...)
  local source = config(f):source(...)
  report(source:find(want, 1, true), name, source, want)
end

writes("a name stays as it is", "__expf(v) * v", function(t)
  local v = t[threadIdx.x]
  t[0] = cuda("__expf($v) * $v", {v = v}, f32) + v
end, x)
writes("an address is that of a value", "__ldcs(&(+v))", function(t)
  local v = t[threadIdx.x]
  t[0] = cuda("__ldcs(&$v)", {v = v}, f32) + v
end, x)
writes("also behind parentheses", "&(+v)", function(t)
  local v = t[threadIdx.x]
  t[0] = cuda("__ldcs(&($v))", {v = v}, f32) + v
end, x)
writes("an element of memory is read", "__popc(+t[1])",
  function(t) t[0] = cuda("__popc($v)", {v = t[1]}, i32) end, y)
writes("a narrow one keeps its type", "f((signed char)+t[1])",
  function(t) t[0] = cuda("f($v)", {v = t[1]}, i8) end, zeros(i8, 4))
writes("an argument of the launch is not assigned", "(+k) = 3",
  function(t, k) cuda("$k = 3;", {k = k}) t[0] = k end, y, 5)
writes("but compared", "k == 3 && k <= 4 && 1 << k",
  function(t, k) t[0] = cuda("$k == 3 && $k <= 4 && 1 << $k", {k = k}, i32) end, y, 5)
writes("a register is no output of asm", [["+r"(+r[0])]], function(t)
  local r = fragment(i32, {2})
  r[0] = threadIdx.x
  cuda([[asm volatile("add.s32 %0, %0, 1;" : "+r"($a));]], {a = r[0]})
  t[0] = r[0]
end, y)

-- What the text declares hides no operand: neither a value without a name nor one with it, an argument
-- or a loop's counter. Words behind `$` or `.` are nobody's names.
local OWN <const> = "[&] { float %s = 1.0f; return %s * $v * $v; }()"
writes("a value without a name", "float sum = 1.0f; return sum * sum_2 * sum_2;", function(t)
  t[0] = cuda(OWN:gsub("%%s", "sum"), {v = t[1] + t[2]}, f32)
end, x)
writes("one with a name", "float w = 1.0f; return w * w_2 * w_2;", function(t)
  local w = t[threadIdx.x]
  t[0] = cuda(OWN:gsub("%%s", "w"), {v = w}, f32) + w
end, x)
writes("an argument", "float k = 1.0f; return k * k_2 * k_2;",
  function(t, k) t[0] = cuda(OWN:gsub("%%s", "k"), {v = k}, f32) end, x, 5)
writes("a counter", "float j = 1.0f; return j * j_2 * j_2;", function(t, n)
  for j = 0, n - 1 do t[j] = cuda(OWN:gsub("%%s", "j"), {v = j}, f32) end
end, x, 5)
writes("words of no declaration", "threadIdx.k + k", function(t, k)
  t[0] = cuda("threadIdx.k + $k", {k = k}, i32)
end, y, 5)

-- What NVRTC says of them.
local RULE <const> = "; operands of cuda are values: they have no address and are not assigned"
local compiles, why = pcall(function()
  return config(function(t) t[threadIdx.x] = 1.0 end):ptx(x)
end)

local function fails(name, want, f, ...)
  local k = config(f)
  if not compiles then
    tap.skip(name, why:match "^[^\n;]*")
    return
  end
  local ok, message = pcall(k.ptx, k, ...)
  message = ok and "no error" or message:gsub("^.-:%d+: ", "")
  message = message:gsub(" %([^()]*NVRTC %d+%.%d+, sm_%w+%)$", "")
  report(message == want .. RULE, name, message, want .. RULE)
end

local MUST <const> = "nvrtc: kernel 'escape': expression must be "
local NO_ADDRESS <const> = MUST .. "an lvalue or a function designator"
local NOT_ASSIGNED <const> = MUST .. "a modifiable lvalue"
fails("the address of a value that is read once", NO_ADDRESS,
  function(t) t[0] = cuda("__ldcs(&$v)", {v = t[1]}, f32) end, x)
fails("the address of a value that is read twice", NO_ADDRESS, function(t)
  local v = t[threadIdx.x]
  t[0] = cuda("__ldcs(&$v)", {v = v}, f32) + v
end, x)
fails("a register as the output of asm", NOT_ASSIGNED, function(t)
  local r = fragment(i32, {2})
  r[0] = threadIdx.x
  cuda([[asm volatile("add.s32 %0, %0, 1;" : "+r"($a));]], {a = r[0]})
  t[0] = r[0]
end, y)
fails("an assignment", NOT_ASSIGNED, function(t, k) cuda("$k = 3;", {k = k}) t[0] = k end, y, 5)
fails("a step", NOT_ASSIGNED, function(t, k)
  for i in range(0, k) do cuda("$i++;", {i = i}) end
  t[0] = k
end, y, 5)
tap.done()
