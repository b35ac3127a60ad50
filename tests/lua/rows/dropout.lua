-- Dropout of rows: how many drop, the same in the gradient and in every shape; with a residual and
-- before an RMS norm.
local rows = require "cuttle.rows"

local checked <const> = not device().sm

-- What the definition says: kept, or not, from the words of the language on the host.
local function is_kept(seed, row, column, p)
  local words = {rand_u32x4(seed, (column // 4) * (1 << 32) + row, 0)}
  return words[column % 4 + 1] >> 8 >= math.floor(p * (1 << 24))
end

for _, case in ipairs{{f32, 5, 7, 0.5}, {bf16, 3, 96, 0.3}, {f32, 2, 1026, 0.1},
                      {bf16, 2, 9000, 0.25}, {f32, 4, 40, 0.0}} do
  local dtype, R, n, p = table.unpack(case)
  local x, residual = full(dtype, row_major{R, n}, 1.0), full(dtype, row_major{R, n}, 4.0)
  local y, z = rows.dropout(x, p, 77, {check = checked}), rows.dropout_add(x, residual, p, 77)
  local dx = rows.dropout_backward(x, p, 77)
  local n_kept, wrong = 0, 0
  local factor = reference.cast(full(f32, 1, 1 / (1 - p)), dtype)[0]
  local sum = reference.cast(full(f32, 1, 4 + 1 / (1 - p)), dtype)[0]
  for r = 0, R - 1 do
    for i = 0, n - 1 do
      local kept = is_kept(77, r, i, p)
      n_kept = n_kept + (kept and 1 or 0)
      if y[{r, i}] ~= (kept and factor or 0) or z[{r, i}] ~= (kept and sum or 4)
        or dx[{r, i}] ~= y[{r, i}] then wrong = wrong + 1 end
    end
  end
  print(dtype, n, p, wrong, math.abs(n_kept / R / n - (1 - p)) < 3 * math.sqrt(0.25 / R / n))
end
-- expect: f32	7	0.5	0	true
-- expect: bf16	96	0.3	0	true
-- expect: f32	1026	0.1	0	true
-- expect: bf16	9000	0.25	0	true
-- expect: f32	40	0.0	0	true

do -- before a norm
  local x, residual = randn(f32, row_major{3, 200}), randn(f32, row_major{3, 200})
  local w = randn(f32, 200)
  local y, sum, scale = rows.dropout_add_rms_norm(x, residual, w, 1e-5, 0.2, 3, {check = checked})
  local want_sum = rows.dropout_add(x, residual, 0.2, 3)
  local want, want_scale = rows.rms_norm(want_sum, w, 1e-5)
  print(allclose(sum, want_sum, {rtol = 0, atol = 0}), allclose(y, want),
    allclose(scale, want_scale))
end
-- expect: true	true	true

local function refused(f, ...)
  print((select(2, pcall(f, ...)):gsub("^[^ ]+:%d+: ", "")))
end
local x = ones(f32, row_major{2, 4})
refused(rows.dropout, x, 1.0, 3)
-- expect: dropout: dropout is 1.0; expected the share of elements that become 0, from 0 to less than 1
refused(rows.dropout_add, x, x, 0.5, -1)
-- expect: dropout_add: seed is -1; dropout needs an integer from 0 to 2147483647, a new one for each call
refused(row_kernel("k", function(row, a)
  local v = 0
  if a > 2.0 then v = row:random(1) end
  return a + v
end), x)
-- expect: row_kernel: row:random under a run-time condition or in a run-time loop: all threads of a row must reach it alike; call it before, and choose with where(condition, a, b)
