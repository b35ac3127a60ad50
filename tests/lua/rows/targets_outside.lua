-- Targets that are no column and are not ignored: the loss of the row is NaN, nothing outside the
-- row is read, the other rows are as without them, and `check` names the column.
local rows = require "cuttle.rows"
local IGNORED <const> = -100

local function is_nan(v) return v ~= v end

-- A target for each row, and those that are no columns.
local function targets(type, n)
  local list = {0, n, IGNORED, n - 1, -1, 1 << 30, n // 2}
  local t = zeros(type, row_major{#list, 1})
  for r, column in ipairs(list) do t[{r - 1, 0}] = column end
  return t, {[1] = true, [4] = true, [5] = true}
end

-- Those targets with 0 in place of what is no column.
local function only_columns(t, outside)
  local own = zeros(t.dtype, t.layout)
  for r = 0, size(t, 0) - 1 do own[{r, 0}] = outside[r] and 0 or t[{r, 0}] end
  return own
end

local function is_as(loss, other, outside)
  for r = 0, size(loss, 0) - 1 do
    local got, want = loss[{r, 0}], other[{r, 0}]
    if outside[r] then
      if not is_nan(got) then return false end
    elseif got ~= want then return false end
  end
  return true
end

for _, of in ipairs{{f32, i32, 17}, {bf16, i64, 1000}, {f16, i32, 5000}, {bf16, i32, 32768}} do
  local dtype, type, n = table.unpack(of)
  local t, outside = targets(type, n)
  local x, own = randn(dtype, row_major{size(t), n}), only_columns(t, outside)
  local smooth = is_as(rows.smooth_cross_entropy(x, t, 0.25, IGNORED),
    rows.smooth_cross_entropy(x, own, 0.25, IGNORED), outside)
  print(is_as(rows.cross_entropy(x, t, IGNORED), rows.cross_entropy(x, own, IGNORED), outside),
    smooth, is_nan(rows.cross_entropy_mean(x, t, IGNORED)[0]))
end
-- expect: true	true	true
-- expect: true	true	true
-- expect: true	true	true
-- expect: true	true	true

local t, outside = targets(i32, 23)
local x, w = randn(f32, row_major{size(t), 8}), randn(f32, row_major{23, 8})
local own = only_columns(t, outside)
for _, chunk in ipairs{8, 23} do
  local options = {chunk = chunk, smoothing = 0.1, ignored = IGNORED}
  print(is_as(rows.linear_cross_entropy(x, w, t, options),
    rows.linear_cross_entropy(x, w, own, options), outside))
end
-- expect: true
-- expect: true
print(is_as(rows.linear_cross_entropy_gradients(1.0, x, w, t, {ignored = IGNORED}),
  rows.linear_cross_entropy_gradients(1.0, x, w, own, {ignored = IGNORED}), outside))
-- expect: true

local message = select(2, pcall(rows.cross_entropy, x, t, IGNORED, {check = true}))
print(message:match "coordinate: %d+ of .*x, extent 8, by thread")
-- expect: coordinate: 23 of x, extent 8, by thread

-- Where there is no such column, what is picked is the element of column 0.
local picks = row_kernel("picks", function(row, x, at)
  return row:once(row:pick("x", at)), row:once(where(row:is_column(at), 1, 0))
end, {types = {i32, i32}})
local columns = from_table(i32, {{1}, {2}, {-1}})
local picked, is = picks(from_table(i32, {{5, 6}, {7, 8}, {9, 10}}), columns)
print(picked[0], picked[1], picked[2], is[0], is[1], is[2])
-- expect: 6	7	9	1	0	0
