-- Group norm and its gradients against plain Lua in double precision and central differences.
local rows = require "cuttle.rows"

local EPSILON <const> = 1e-3

-- The norm of x (N, C, P) in plain Lua: y(n, c, i).
local function expected(x, groups, w, b)
  local N, C, P = size(x, 0), size(x, 1), size(x, 2)
  local per, y = C // groups, {}
  for n = 0, N - 1 do
    for g = 0, groups - 1 do
      local sum, squares = 0.0, 0.0
      for c = g * per, g * per + per - 1 do
        for i = 0, P - 1 do sum = sum + x[{n, c, i}] end
      end
      local mean = sum / per / P
      for c = g * per, g * per + per - 1 do
        for i = 0, P - 1 do squares = squares + (x[{n, c, i}] - mean) ^ 2 end
      end
      local scale = 1 / math.sqrt(squares / per / P + EPSILON)
      for c = g * per, g * per + per - 1 do
        for i = 0, P - 1 do y[(n * C + c) * P + i] = (x[{n, c, i}] - mean) * scale * w[c] + b[c] end
      end
    end
  end
  return y
end

for _, case in ipairs{{f64, 2, 6, 3, 5}, {f64, 3, 4, 4, 1}, {f32, 2, 8, 2, 64}, {f32, 1, 4, 1, 700},
                      {bf16, 2, 6, 2, 16}} do
  local dtype, N, C, groups, P = table.unpack(case)
  local x, w, b = randn(dtype, row_major{N, C, P}), randn(dtype, C), randn(dtype, C)
  local y, mean, scale = rows.group_norm(x, groups, w, b, EPSILON)
  local want, worst = expected(x, groups, w, b), 0
  for n = 0, N - 1 do
    for c = 0, C - 1 do
      for i = 0, P - 1 do
        worst = math.max(worst, math.abs(y[{n, c, i}] - want[(n * C + c) * P + i]))
      end
    end
  end
  local slope = 0
  if dtype == f64 then
    local dy = randn(dtype, row_major{N, C, P})
    local dx, dw, db = rows.group_norm_backward(dy, x, groups, w, mean, scale)
    local function dot()
      local values, sum = expected(x, groups, w, b), 0.0
      for n = 0, N - 1 do
        for c = 0, C - 1 do
          for i = 0, P - 1 do sum = sum + values[(n * C + c) * P + i] * dy[{n, c, i}] end
        end
      end
      return sum
    end
    local H <const> = 1e-4
    for _, at in ipairs{{x, dx, 0}, {x, dx, 7}, {x, dx, N * C * P - 1}, {w, dw, 0}, {w, dw, C - 1},
                        {b, db, 1}} do
      local t, got, i = table.unpack(at)
      local old = t[i]
      t[i] = old + H
      local up = dot()
      t[i] = old - H
      slope = math.max(slope, math.abs((up - dot()) / (2 * H) - got[i]))
      t[i] = old
    end
  end
  print(dtype, P, mean.shape, worst < (dtype == bf16 and 3e-2 or 1e-5) or worst,
    slope < 1e-5 or slope)
end
-- expect: f64	5	(2,3,1)	true	true
-- expect: f64	1	(3,4,1)	true	true
-- expect: f32	64	(2,2,1)	true	true
-- expect: f32	700	(1,1,1)	true	true
-- expect: bf16	16	(2,2,1)	true	true

do -- images of four modes, and those that lie apart
  local x, w, b = randn(f32, row_major{2, 4, 3, 5}), randn(f32, 4), randn(f32, 4)
  local y = rows.group_norm(x, 2, w, b, EPSILON)
  local wide = zeros(f32, row_major{2, 8, 3, 5})
  local part = view(wide, layout({2, 4, 3, 5}, {120, 15, 5, 1}))
  copy(x, part)
  print(y.shape, allclose(rows.group_norm(part, 2, w, b, EPSILON), y))
end
-- expect: (2,4,3,5)	true

do -- results that are given
  local x, w, b = randn(f32, row_major{2, 4, 3}), randn(f32, 4), randn(f32, 4)
  local y, mean, scale = rows.group_norm(x, 2, w, b, EPSILON)
  local out = { zeros(f32, row_major{2, 4, 3}), zeros(f32, row_major{2, 2, 1}),
    zeros(f32, row_major{2, 2, 1}) }
  rows.group_norm(x, 2, w, b, EPSILON, {out = out})
  print(allclose(out[1], y), allclose(out[2], mean), allclose(out[3], scale))
  local dx, dw, db = rows.group_norm_backward(y, x, 2, w, mean, scale)
  local given = { zeros(f32, row_major{2, 4, 3}), zeros(f32, 4), zeros(f32, 4) }
  rows.group_norm_backward(y, x, 2, w, mean, scale, {out = given})
  print(allclose(given[1], dx), allclose(given[2], dw), allclose(given[3], db))
  local dy = zeros(f32, row_major{2, 4, 3})
  copy(y, dy)
  rows.group_norm_backward(dy, x, 2, w, mean, scale, {out = {dy, given[2], given[3]}})
  print(allclose(dy, dx), allclose(given[2], dw), allclose(given[3], db))
end
-- expect: true	true	true
-- expect: true	true	true
-- expect: true	true	true

local function refused(...)
  print((select(2, pcall(rows.group_norm, ...)):gsub("^[^ ]+:%d+: ", "")))
end
local x, w = zeros(f32, row_major{2, 6, 4}), zeros(f32, 6)
refused(x, 4, w, w, EPSILON)
-- expect: group_norm: groups is 4 and x has 6 channels; expected a number that divides them
refused(zeros(f32, {2, 6, 4}), 3, w, w, EPSILON)
-- expect: group_norm: x is (2,6,4):(1,2,12); expected (images, channels, ...), channels first and each image without gaps
refused(x, 3, zeros(f32, 5), w, EPSILON)
-- expect: group_norm: weight is 5; expected (6), one for each channel
print((select(2, pcall(rows.group_norm_backward, zeros(f32, row_major{2, 6, 5}), x, 3, w, w, w))
  :gsub("^[^ ]+:%d+: ", "")))
-- expect: group_norm: dy is (2,6,5):(30,5,1); expected x's shape (2,6,4), and each image without gaps
refused(x, 3, w, w, EPSILON, {out = x})
-- expect: group_norm: out has 1 tensor; the function returns 3 values
refused(x, 3, w, w, EPSILON, {into = x})
-- expect: group_norm: option 'into' is unknown; expected out or stream

do -- the memory that the gradient needs beside its results
  local image, weight, bias = randn(f32, row_major{2, 6, 5}), randn(f32, 6), randn(f32, 6)
  local normal, centre, factor = rows.group_norm(image, 3, weight, bias, EPSILON)
  local backward = rows.group_norm_backward
  local n = backward:work(normal, image, 3, weight, centre, factor)
  local work, same = zeros(f32, n), true
  local plain = {backward(normal, image, 3, weight, centre, factor)}
  for i, t in ipairs{backward(normal, image, 3, weight, centre, factor, {work = work})} do
    same = same and allclose(t, plain[i], {rtol = 0, atol = 0})
  end
  print(n, same, work[0] ~= 0, backward:explain(normal, image, 3, weight, centre, factor).launches)
  local short = {work = zeros(f32, n - 1)}
  print((select(2, pcall(backward, normal, image, 3, weight, centre, factor, short))
    :gsub("^.-:%d+: ", "")))
end
-- expect: 192	true	true	4
-- expect: group_norm_backward: work is f32 191:1 on cpu; expected at least 192 adjacent f32 on cpu
