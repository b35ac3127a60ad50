-- Kernels of device_copy.lua copy what copy does on the host: random types, shapes and orders of
-- modes, with gaps, offsets, broadcasts and other shapes of as many elements.
local device_copy = require "cuttle.device_copy"
local here = device().sm ~= nil and "cuda" or "cpu"
math.randomseed(1405)
local random = math.random
local types <const> = { f64, f32, tf32, f16, bf16, f8e4m3, f6e2m3, i64, i32, i16, u8, bool }
local extents <const> = { 1, 2, 3, 4, 5, 8, 16, 33, 40 }

local function any(list) return list[random(#list)] end

-- Strides in a random order, at times with gaps; with them, how many elements they reach.
local function in_any_order(shape)
  local order, strides, next_stride = {}, {}, random(4) == 1 and random(3) or 1
  for i = 1, #shape do table.insert(order, random(i), i) end
  for _, mode in ipairs(order) do
    strides[mode] = next_stride
    next_stride = next_stride * shape[mode] + (random(5) == 1 and random(8) or 0)
  end
  return layout(shape, strides), next_stride + 1
end

local function memory(dtype, n)
  local t = zeros(dtype, n):to "cpu"
  for i = 0, n - 1 do t[i] = dtype == bool and random(2) == 1 or dtype ~= bool and random(0, 6) end
  return t
end

-- A layout of other elements: in another order, of one mode, or one element for all.
local function other_layout(shape)
  local way = random(8)
  if way == 1 then return layout(size(shape), 1), size(shape) end
  if way == 2 then return layout(size(shape), 0), 1 end
  return in_any_order(shape)
end

local function try()
  local dtype, shape = any(types), {}
  for i = 1, random(4) do shape[i] = any(extents) end
  local to, n_to = in_any_order(shape)
  local from, n_from = other_layout(shape)
  if math.max(n_to, n_from) > 100000 then return end
  local offset = random(0, 2)
  local source, want = memory(dtype, n_from + offset), memory(dtype, n_to + offset)
  local there, got = source:to(here), want:to(here)
  copy(view(source, from, offset), view(want, to, offset))
  if not device_copy.move(view(there, from, offset), view(got, to, offset)) then return end
  local is_same, difference = allclose(got:to "cpu", want, { rtol = 0, atol = 0 })
  if not is_same then print(dtype, from, to, difference) end
  return true
end

local n_moved = 0
for _ = 1, 250 do
  if try() then n_moved = n_moved + 1 end
end
print(n_moved > 200)                      -- expect: true

-- Two elements in one place are left to the host, which stores them in their order.
local x, y = arange(f32, { 40, 40 }), zeros(f32, 80)
print(device_copy.move(x, view(y, layout({ 40, 40 }, { 1, 1 })))) -- expect: false
print(device_copy.move(x, view(y, layout({ 40, 40 }, { 1, 0 })))) -- expect: false

-- Values are rounded as the host rounds them.
local function try_fill(dtype, value)
  local want = zeros(dtype, 80):to "cpu"
  local got = want:to(here)
  fill(view(want, layout({ 3, 10 }, { 1, 8 })), value)
  assert(device_copy.set(value, view(got, layout({ 3, 10 }, { 1, 8 }))))
  local is_same, difference = allclose(got:to "cpu", want, { rtol = 0, atol = 0 })
  if not is_same then print(dtype, value, difference) end
end
for _, dtype in ipairs(types) do
  for _, value in ipairs { 0, 1, 3, 0.1, -2.5, 1e6, 1e-9, 500.0, 123456789 } do
    local is_integer = math.type(value) == "integer"
    if dtype == bool then
      try_fill(dtype, value == 1)
    elseif pcall(fill, zeros(dtype, 1), value) and (is_integer or dtype.bits > 0) then
      try_fill(dtype, value)
    end
  end
end
for _, value in ipairs { -1, math.mininteger, 1 << 62 } do
  try_fill(i64, value)
  try_fill(u64, value)
end
