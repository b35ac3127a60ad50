-- A row's bits do not depend on how many rows there are, nor on the others: each operator is called
-- with a row alone, and among others at several places.
local rows = require "cuttle.rows"

local function some_rows(t, first, n)
  if type(t) == "number" or rank(t) == 1 then return t end
  return view(tile(t, {1, size(t, 1)}, {first, 0}), layout({n, size(t, 1)}, stride(t)))
end

-- How many elements of row r differ between results of all rows and those of rows [first, first + n).
local function differing(all, part, first, n)
  local wrong = 0
  for i, t in ipairs(all) do
    for r = first, first + n - 1 do
      for c = 0, size(t, 1) - 1 do
        local a, b = t[{r, c}], part[i][{r - first, c}]
        if a ~= b and (a == a or b == b) then wrong = wrong + 1 end
      end
    end
  end
  return wrong
end

local R <const> = 7

local function check(name, ...)
  local args = {...}
  local all, wrong = {rows[name](...)}, 0
  for _, range in ipairs{{0, 1}, {6, 1}, {2, 3}, {1, 6}} do
    local some = {}
    for i, x in ipairs(args) do some[i] = some_rows(x, range[1], range[2]) end
    wrong = wrong + differing(all, {rows[name](table.unpack(some))}, range[1], range[2])
  end
  return wrong
end

for _, case in ipairs{{f32, 20}, {bf16, 136}, {f32, 1028, 1029}, {f32, 33000}} do
  local dtype, n, apart = table.unpack(case)
  local function new()
    return view(randn(dtype, R * (apart or n)), layout({R, n}, {apart or n, 1}))
  end
  local x, dy, w, b = new(), new(), randn(dtype, n), randn(dtype, n)
  local once, target = full(f32, row_major{R, 1}, 0.7), zeros(i32, row_major{R, 1})
  for r = 0, R - 1 do target[{r, 0}] = r * 17 % n end
  local calls, wrong = {
    {"softmax", x}, {"rms_norm", x, w, 1e-6}, {"cross_entropy", x, target, -1},
    {"log_softmax", x}, {"layer_norm", x, w, b, 1e-6},
    {"add_rms_norm", x, dy, w, 1e-6}, {"softmax_backward", dy, x},
    {"smooth_cross_entropy", x, target, 0.1, -1},
    {"cross_entropy_part", x, target, 3}, {"swiglu", x, dy}, {"quantize", x}, {"argmax", x},
    {"quantize_fp8_blocks", x}, {"rms_norm_mxfp8", x, w, 1e-6},
    {"cross_entropy_backward", once, x, target, once, -1},
  }, 0
  for i = 1, n < 30000 and #calls or 3 do wrong = wrong + check(table.unpack(calls[i])) end
  print(dtype, n, rows.softmax:explain(x).shape, wrong)
end
-- expect: f32	20	warp	0
-- expect: bf16	136	warp	0
-- expect: f32	1028	block	0
-- expect: f32	33000	resident	0

do -- sums of columns: whether TMA can bring rows does not depend on how many there are
  local n <const> = 1024
  local w, once = randn(f32, n), full(f32, row_major{2, 1}, 0.7)
  for _, gap in ipairs{0, 1, 4} do
    local function new() return view(randn(f32, 2 * (n + gap)), layout({2, n}, {n + gap, 1})) end
    local dy, x = new(), new()
    local dx = rows.layer_norm_backward(dy, x, w, once, once)
    local alone = rows.layer_norm_backward(some_rows(dy, 0, 1), some_rows(x, 0, 1), w,
      some_rows(once, 0, 1), some_rows(once, 0, 1))
    print(gap, allclose(some_rows(dx, 0, 1), alone, {rtol = 0, atol = 0}))
  end
end
-- expect: 0	true
-- expect: 1	true
-- expect: 4	true
