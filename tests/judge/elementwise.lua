-- elementwise.lua: each element of the result from elements at the same place.
local t = dofile "tests/judge/texts.lua"

local function task(name, inputs, output, reference, body)
  local args = {}
  for i, row in ipairs(inputs) do args[i] = row[1] end
  args[#args + 1] = "y"
  return t.each_faults({ name = name, sizes = { N = { 1, 300 } }, inputs = inputs,
    outputs = { { "y", output, "N" } },
    reference = function(...)
      local list = { ... }
      local y = list[#list]
      for i = 0, size(y) - 1 do y[i] = reference(i, ...) end
    end,
    right = t.each(table.concat(args, ", "), "y", body) }, "y")
end

local x, z = { "x", f32, "N" }, { "z", f32, "N" }
local function tanh(v)
  local e = math.exp(-2 * math.abs(v))
  return (v < 0 and -1 or 1) * (1 - e) / (1 + e)
end

return {
  task("add", { x, z }, f32, function(i, a, b) return a[i] + b[i] end, "y[i] = x[i] + z[i]"),
  task("axpy in f64", { { "a", 1.25 }, { "x", f64, "N" }, { "z", f64, "N" } }, f64,
    function(i, a, p, q) return a * p[i] + q[i] end, "y[i] = a * x[i] + z[i]"),
  task("relu in f16", { { "x", f16, "N" } }, f16,
    function(i, a) return math.max(a[i], 0.0) end, "y[i] = cast(max(x[i], f16(0)), f16)"),
  task("gelu", { x }, f32, function(i, a)
    local v = a[i]
    return 0.5 * v * (1 + tanh(0.7978845608 * (v + 0.044715 * v ^ 3)))
  end, "local v = x[i]\n"
    .. "    y[i] = 0.5 * v * (1 + tanh(0.7978845608 * (v + 0.044715 * v * v * v)))"),
  task("gated silu", { x, z }, f32,
    function(i, a, b) return a[i] / (1 + math.exp(-a[i])) * b[i] end,
    "y[i] = x[i] / (1 + exp(-x[i])) * z[i]"),
  task("clamp of integers", { { "x", i32, "N" } }, i32,
    function(i, a) return math.min(math.max(a[i], -3), 5) end, "y[i] = max(min(x[i], 5), -3)"),
  task("f32 to bf16", { x }, bf16, function(i, a) return a[i] end, "y[i] = cast(x[i], bf16)"),
  task("choice by a mask", { { "m", bool, "N" }, x, z }, f32,
    function(i, m, a, b) return m[i] and a[i] or b[i] end, "y[i] = where(m[i], x[i], z[i])"),
  task("bits of words", { { "x", u32, "N", values = { 0, 4294967295 } } }, i32, function(i, a)
    local v, n = a[i], 0
    while v ~= 0 do v, n = v & (v - 1), n + 1 end
    return n
  end, "y[i] = popc(x[i])"),
}
