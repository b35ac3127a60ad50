-- Kernels of rows whose tensors have modes of modes: a mode of rows counts as one, whatever its
-- strides, of arguments and of results; beside the same call of plain tensors.
local rows = require "cuttle.rows"

-- A tensor with the elements of t in another layout of the same sizes.
local function in_layout(t, l)
  local moved = zeros(t.dtype, cosize(layout(l)))
  moved = view(moved, l)
  for i = 0, size(t) - 1 do moved[i] = t[i] end
  return moved
end

local function same(a, b)
  if size(a) ~= size(b) then return false end
  for i = 0, size(a) - 1 do
    if math.abs(a[i] - b[i]) > 1e-5 then return false end
  end
  return true
end

-- 6 rows of 16: rows in two parts that do not join, and that do; columns in two parts that join.
local layouts <const> = {
  layout({{2, 3}, 16}, {{48, 16}, 1}), layout({{3, 2}, {4, 4}}, {{16, 48}, {1, 4}}),
  layout({{2, 3}, 16}, {{60, 20}, 1}), layout({{2, 3}, {2, 8}}, {{3, 1}, {6, 12}}),
  row_major{6, 16},
}
local x, w, b = randn(f32, row_major{6, 16}), randn(f32, 16), randn(f32, 16)
local wide = in_layout(w, layout({{4, 4}}, {{1, 4}}))
local want = {rows.layer_norm(x, w, b, 1e-5)}
local n = 0
for _, from in ipairs(layouts) do
  local given = in_layout(x, from)
  local plain = rows.layer_norm(given, wide, b, 1e-5)
  n = n + (same(plain, want[1]) and plain.shape == shape(row_major{6, 16}) and 1 or 0)
  for _, to in ipairs(layouts) do
    local out = {in_layout(zeros(f32, row_major{6, 16}), to),
      zeros(f32, layout({{2, 3}, 1}, {{3, 1}, 0})), zeros(f32, row_major{6, 1})}
    local y = rows.layer_norm(given, w, b, 1e-5, {out = out})
    n = n + (y == out[1] and same(y, want[1]) and same(out[2], want[2]) and 1 or 0)
  end
end
print(n) -- of 5 and 25
-- expect: 30

do -- a result takes the place of its argument, and sums of columns have modes of modes
  local own = in_layout(x, layouts[2])
  print(rows.softmax(own, {out = own}) == own, same(own, rows.softmax(x)))
-- expect: true	true
  local scale = ones(f32, row_major{6, 1})
  local dx, dw = rows.rms_norm_backward(x, x, w, scale)
  local out = {in_layout(zeros(f32, row_major{6, 16}), layouts[3]),
    zeros(f32, layout({{4, 4}}, {{1, 4}}))}
  rows.rms_norm_backward(in_layout(x, layouts[1]), x, w, scale, {out = out})
  print(same(out[1], dx), same(out[2], dw))
end
-- expect: true	true

-- The sizes of modes have to agree, and elements need places of their own.
local function refused(f, ...) return (select(2, pcall(f, ...)):gsub("^.-: ", "", 1)) end
print(refused(rows.softmax, x, {out = zeros(f32, layout({{3, 3}, 16}, {{48, 16}, 1}))}))
-- expect: softmax: out[1] is ((3,3),16):((48,16),1); expected (6,16)
print(refused(rows.softmax, x, {out = view(zeros(f32, 96), layout({{2, 3}, 16}, {{16, 16}, 1}))}))
-- expect: softmax: out[1] is ((2,3),16):((16,16),1): elements share memory, so they cannot hold different results

do -- the loss of a product: each result in modes of modes, beside the same call of plain tensors
  local h, table_, target = randn(f32, row_major{4, 16}), randn(f32, row_major{100, 16}),
    from_table(i32, {{3}, {99}, {0}, {50}})
  local function parts(n) return {{2, n // 2}, 16}, {{16, 32}, 1} end
  local function given()
    return {zeros(f32, layout({{2, 2}, 1}, {{1, 2}, 0})), zeros(f32, row_major{4, 1}),
      zeros(f32, layout(parts(4))), zeros(f32, layout(parts(100)))}
  end
  local function agree(a, b)
    local is_same = true
    for i in ipairs(b) do is_same = is_same and same(a[i], b[i]) end
    return is_same
  end
  local plain = {rows.linear_cross_entropy_gradients(0.5, h, table_, target)}
  local own = given()
  local got = {rows.linear_cross_entropy_gradients(0.5, view(h, layout(parts(4))),
    view(table_, layout(parts(100))), target, {out = own, rows = 128})}
  print(agree(got, plain), got[3] == own[3])
  own = given()
  local loss, lse = rows.linear_cross_entropy(h, table_, target, {out = {own[1], own[2]}})
  rows.linear_cross_entropy_backward(0.5, h, table_, target, lse, {out = {own[3], own[4]}})
  print(agree(own, plain), loss == own[1])
end
-- expect: true	true
-- expect: true	true

do -- images whose channels are a mode of modes
  local images, c = randn(f32, row_major{3, 8, 5}), randn(f32, 8)
  local nested = layout({3, {2, 4}, 5}, {40, {5, 10}, 1})
  local y, mean, inverse = rows.group_norm(images, 2, c, c, 1e-5)
  local own, as_given = zeros(f32, nested), view(images, nested)
  local got = rows.group_norm(as_given, 2, c, c, 1e-5,
    {out = {own, zeros(f32, row_major{3, 2, 1}), zeros(f32, row_major{3, 2, 1})}})
  print(got == own, same(got, y))
  local dx = rows.group_norm_backward(as_given, images, 2, c, mean, inverse)
  print(same(dx, rows.group_norm_backward(images, images, 2, c, mean, inverse)))
end
-- expect: true	true
-- expect: true
