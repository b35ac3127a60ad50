-- // and % of floats follow Lua; comparisons with NaN are false, ~= is true.
local inputs = {0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 0.3, -0.3, 7.25, -7.25, 1e10, math.huge,
  -math.huge, 0/0}
local n = #inputs
local function show(v) return v ~= v and "nan" or ("%a"):format(v) end

local function check(dtype)
  local x = from_table(dtype, inputs)
  local q, r, c = zeros(dtype, {n, n}), zeros(dtype, {n, n}), zeros(i32, {n, n})
  local function relations(a, b)
    return where(a < b, 1, 0) + where(a <= b, 2, 0) + where(a == b, 4, 0) + where(a ~= b, 8, 0)
      + where(a > b, 16, 0) + where(a >= b, 32, 0) + where(not (a < b), 64, 0) -- luacheck: ignore 581
  end
  kernel("floats", function(x, q, r, c)
    local a, b = x[threadIdx.x], x[threadIdx.y]
    local at = {threadIdx.x, threadIdx.y}
    q[at] = a // b
    r[at] = a % b
    c[at] = relations(a, b)
  end){grid = 1, block = {n, n}}(x, q, r, c)
  local wrong = 0
  for i = 0, n - 1 do
    for j = 0, n - 1 do
      local a, b, at = x[i], x[j], {i, j}
      for _, pair in ipairs {{"//", q[at], dtype(a // b).value}, {"%", r[at], dtype(a % b).value},
          {"relations", c[at] + 0.0, relations(a, b) + 0.0}} do
        local name, got, want = table.unpack(pair)
        -- the sign of a zero remainder is the divisor's or the dividend's
        if show(got) ~= show(want) and not (got == 0 and want == 0) then
          wrong = wrong + 1
          print(("%s: %s %s %s is %s, expected %s"):format(dtype, a, name, b, got, want))
        end
      end
    end
  end
  print(dtype, wrong)
end
check(f64) -- expect: f64	0
check(f32) -- expect: f32	0
