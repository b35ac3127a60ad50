-- cuda[[...]] with a Lua twin: the CPU engine runs the twin, the CUDA text stays without it.
local function report(ok, message) print(ok, (tostring(message):gsub("^.-:(%d+): ", "%1: "))) end
local function try(body)
  return pcall(function()
    local x = arange(f32, 8)
    kernel("twins", body){grid = 1, block = 8}(x)
    return table.concat(x:totable(), " ")
  end)
end

-- Expressions: parameters are operands by name, in any order; what it captures is there too.
local offset = 0.5
report(try(function(x) -- expect: true	0.5 2.5 4.5 6.5 8.5 10.5 12.5 14.5
  local i = threadIdx.x
  x[i] = cuda("fmaf($a, $b, 0.5f)", {a = x[i], b = 2.0}, f32,
    function(b, a) return a * b + offset end)
end))

-- It is traced as a helper is: control flow on its operands is control flow of the kernel.
report(try(function(x) -- expect: true	0.0 1.0 3.0 6.0 10.0 15.0 21.0 28.0
  local i = threadIdx.x
  x[i] = cuda("sum_to($n)", {n = i}, f32, function(n)
    local s = 0.0
    while n > 0 do
      s = s + n
      n = n - 1
    end
    return s
  end)
end))

-- Statements have no type, and a twin that returns nothing.
report(try(function(x) -- expect: true	7.0 6.0 5.0 4.0 3.0 2.0 1.0 0.0
  local i = threadIdx.x
  local v = x[7 - i]
  sync_threads()
  cuda([[ store($i, $v); ]], {i = i, v = v}, function(i, v) x[i] = v end)
end))
report(try(function(x) -- expect: true	1.0 1.0 1.0 1.0 1.0 1.0 1.0 1.0
  cuda([[ one(); ]], function() x[threadIdx.x] = 1.0 end)
end))
report(try(function(x) -- expect: true	4.0 4.0 4.0 4.0 4.0 4.0 4.0 4.0
  x[threadIdx.x] = cuda("four()", {}, f32, function() return 4 end)
end))

-- A static operand is static in the twin.
report(try(function(x) -- expect: true	3.0 3.0 3.0 3.0 3.0 3.0 3.0 3.0
  x[threadIdx.x] = cuda("$n", {n = 3}, f32, function(n) return #string.rep("x", n) end)
end))

-- What is wrong with a twin is said at the line of the call.
report(try(function(x) x[0] = cuda("$a", {a = x[1]}, f32, function(b) return b end) end)) -- expect: false	52: cuda: the Lua twin has a parameter 'b', but there is no operand of that name; its parameters have the names of the operands
report(try(function(x) x[0] = cuda("1", {}, f32, function(a) return a end) end)) -- expect: false	53: cuda: the Lua twin has a parameter 'a', but there is no operand of that name; its parameters have the names of the operands
report(try(function(x) x[0] = cuda("1", {}, f32, function() end) end)) -- expect: false	54: cuda: the Lua twin of an expression returns 0 values; expected one
report(try(function(_) cuda("f();", {}, function() return 1 end) end)) -- expect: false	55: cuda: the Lua twin of a statement returns 1 value; expected none, or give the expression's type
report(try(function(x) x[0] = cuda("1", {}, f32, sin) end)) -- expect: false	56: cuda: the Lua twin is a C function, whose parameters have no names; write function(x) return f(x) end
report(try(function(x) x[0] = cuda("1", 1, f32) end)) -- expect: false	57: cuda: argument 2 is a number; a table of operands, {name = value}, was expected
report(try(function(x) x[0] = cuda("1", {}, i32, function() return x[0] end) end)) -- expect: false	58: cuda: the Lua twin: i32 expected, got f32; use cast(x, i32)
report(try(function(x) x[0] = cuda("$a", {a = x[1]}, f32) end)) -- expect: false	59: cuda[[...]]: the CPU engine cannot run CUDA C; give a Lua twin or run on a CUDA device
