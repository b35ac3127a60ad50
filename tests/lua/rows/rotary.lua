-- Rotary embedding in its layouts against plain Lua: widths of a power of two and others, parts of
-- the width, positions, in place, back, and after an RMS norm with its gradient.
local rows = require "cuttle.rows"

local checked <const> = {check = not device().sm}
local POSITIONS <const> = 9

local function angles(dtype, pairs)
  local cos = zeros(dtype, row_major{POSITIONS, pairs})
  local sin = zeros(dtype, row_major{POSITIONS, pairs})
  for p = 0, POSITIONS - 1 do
    for i = 0, pairs - 1 do
      local angle = p * 100.0 ^ (-i / pairs)
      cos[{p, i}], sin[{p, i}] = math.cos(angle), math.sin(angle)
    end
  end
  return cos, sin
end

-- The row v, a table from 0 on, turned.
local function turned(layout_name, v, n, cos, sin, p)
  local out = {}
  for i = 0, #v do out[i] = v[i] end
  for i = 0, n // 2 - 1 do
    local a, b = i, i + n // 2
    if layout_name == "pairs" then a, b = 2 * i, 2 * i + 1 end
    local c, s = cos[{p, i}], sin[{p, i}]
    out[a], out[b] = v[a] * c - v[b] * s, v[b] * c + v[a] * s
  end
  return out
end

local function row_of(t, b, s, h, columns)
  local out = {}
  for i = 0, columns - 1 do out[i] = t[{b, s, h, i}] end
  return out
end

local function each_row(f)
  for b = 0, 1 do
    for s = 0, 2 do
      for h = 0, 1 do f(b, s, h) end
    end
  end
end

for _, layout_name in ipairs{"halves", "pairs"} do
  local name = "rotary_" .. layout_name
  for _, case in ipairs{{f64, 8, 8}, {f64, 24, 24}, {f64, 20, 16}, {f32, 128, 64}, {f32, 96, 96},
                        {f32, 12, 8}, {f32, 1024, 1024}, {f32, 1536, 512},
                        {f32, 4, 4}, {f32, 12, 12}} do -- the tables have no whole vectors
    local dtype, columns, n = table.unpack(case)
    local x = randn(dtype, row_major{2, 3, 2, columns})
    local cos, sin = angles(dtype, n // 2)
    local position = from_table(i32, {{{{8}}, {{0}}, {{3}}}, {{{2}}, {{7}}, {{5}}}})
    local y = rows[name](x, cos, sin, position, checked)
    local back = rows[name .. "_backward"](y, cos, sin, position, checked)
    local worst = 0
    each_row(function(b, s, h)
      local want = turned(layout_name, row_of(x, b, s, h, columns), n, cos, sin,
        position[{b, s, 0, 0}])
      for i = 0, columns - 1 do
        worst = math.max(worst, math.abs(y[{b, s, h, i}] - want[i]),
          math.abs(back[{b, s, h, i}] - x[{b, s, h, i}]))
      end
    end)
    print(layout_name, dtype, columns, n, worst < 1e-5 or worst)
  end
end
-- expect: halves	f64	8	8	true
-- expect: halves	f64	24	24	true
-- expect: halves	f64	20	16	true
-- expect: halves	f32	128	64	true
-- expect: halves	f32	96	96	true
-- expect: halves	f32	12	8	true
-- expect: halves	f32	1024	1024	true
-- expect: halves	f32	1536	512	true
-- expect: halves	f32	4	4	true
-- expect: halves	f32	12	12	true
-- expect: pairs	f64	8	8	true
-- expect: pairs	f64	24	24	true
-- expect: pairs	f64	20	16	true
-- expect: pairs	f32	128	64	true
-- expect: pairs	f32	96	96	true
-- expect: pairs	f32	12	8	true
-- expect: pairs	f32	1024	1024	true
-- expect: pairs	f32	1536	512	true
-- expect: pairs	f32	4	4	true
-- expect: pairs	f32	12	12	true

do -- the heads of q and k of a packed projection turn together, in place; those of v stay
  local qkv = randn(f32, row_major{5, 6, 16}) -- tokens, 3 + 2 + 1 heads
  local before, cos, sin = zeros(f32, row_major{5, 6, 16}), angles(f32, 8)
  copy(qkv, before)
  local qk = view(qkv, layout({5, 5, 16}, {96, 16, 1}))
  local position = view(arange(i32, 5), layout({5, 1, 1}, {1, 0, 0}))
  rows.rotary_halves(qk, cos, sin, position, {out = qk})
  local want = rows.rotary_halves(before, cos, sin, position)
  print(qkv[{3, 4, 9}] == want[{3, 4, 9}], qkv[{3, 5, 9}] == before[{3, 5, 9}])
end
-- expect: true	true

-- The gradients of dot(dy, forward()) beside central differences.
for _, case in ipairs{{"halves", 8}, {"pairs", 8}, {"halves", 12}, {"pairs", 6}} do
  local name, columns = "rms_norm_rotary_" .. case[1], case[2]
  local x, w, dy = randn(f64, row_major{4, columns}), randn(f64, columns),
    randn(f64, row_major{4, columns})
  local cos, sin = angles(f64, columns // 2)
  local position = from_table(i32, {{4}, {1}, {8}, {6}})
  local function forward() return rows[name](x, w, 1e-3, cos, sin, position) end
  local normal = rows.rms_norm(x, w, 1e-3)
  local same = allclose(forward(), (rows["rotary_" .. case[1]](normal, cos, sin, position)))
  local _, scale = forward()
  local dx, dw = rows[name .. "_backward"](dy, x, w, scale, cos, sin, position, checked)
  local function dot()
    local y, sum = forward(), 0
    for i = 0, size(y) - 1 do sum = sum + y[i] * dy[i] end
    return sum
  end
  local worst, H <const> = 0, 1e-4
  for _, at in ipairs{{x, dx, 3}, {x, dx, 17}, {w, dw, 1}, {w, dw, 5}} do
    local t, got, i = table.unpack(at)
    local old = t[i]
    t[i] = old + H
    local up = dot()
    t[i] = old - H
    worst = math.max(worst, math.abs((up - dot()) / (2 * H) - got[i]))
    t[i] = old
  end
  print(name, columns, same, worst < 1e-6 or worst)
end
-- expect: rms_norm_rotary_halves	8	true	true
-- expect: rms_norm_rotary_pairs	8	true	true
-- expect: rms_norm_rotary_halves	12	true	true
-- expect: rms_norm_rotary_pairs	6	true	true

-- Vectors that some lanes do not have, after a reduction; tables of no whole vectors: bf16 beside f64.
for _, D in ipairs{96, 72} do
  for _, name in ipairs{"rms_norm_rotary_pairs", "rms_norm_rotary_halves"} do
    local x, w = rand(bf16, row_major{5, D}, -1, 1), rand(bf16, D, 0.5, 1.5)
    local cos, sin = rand(f32, row_major{7, D // 2}), rand(f32, row_major{7, D // 2})
    local at = from_table(i32, {{6}, {0}, {3}, {3}, {1}})
    local exact, weight = zeros(f64, row_major{5, D}), zeros(f64, D)
    for i = 0, size(x) - 1 do exact[i] = x[i] end
    for i = 0, D - 1 do weight[i] = w[i] end
    local want = rows[name](exact, weight, 1e-6, cos, sin, at)
    local got, y = rows[name](x, w, 1e-6, cos, sin, at), zeros(f64, row_major{5, D})
    for i = 0, size(y) - 1 do y[i] = got[i] end
    print(name, allclose(y, want, {rtol = 2.0 ^ -7, atol = 2.0 ^ -7}))
  end
end
-- expect: rms_norm_rotary_pairs	true
-- expect: rms_norm_rotary_halves	true
-- expect: rms_norm_rotary_pairs	true
-- expect: rms_norm_rotary_halves	true

do -- so many rows that a thread has two, a last one alone, in place: the bits of fewer rows
  local R <const>, D <const>, FEW <const> = 2 * 128 * 1024 + 131, 8, 1000
  local x, cos, sin = randn(f32, row_major{R, D}), angles(f32, D // 2)
  local weight = rand(f32, D)
  local function same(name, ...)
    local args, wrong = {...}, 0
    local all = (rows[name](x, table.unpack(args)))
    for _, first in ipairs{0, 131072, R - FEW} do
      local part = view(tile(x, {1, D}, {first, 0}), layout({FEW, D}, {D, 1}))
      local got = view(tile(all, {1, D}, {first, 0}), layout({FEW, D}, {D, 1}))
      local want = (rows[name](part, table.unpack(args)))
      if not allclose(got, want, {rtol = 0, atol = 0}) then wrong = wrong + 1 end
    end
    return wrong
  end
  print(same("rotary_halves", cos, sin, 5), same("rotary_pairs", cos, sin, 7),
    same("rms_norm_rotary_halves", weight, 1e-6, cos, sin, 3))
  local want = rows.rotary_halves(x, cos, sin, 5)
  rows.rotary_halves(x, cos, sin, 5, {out = x})
  print(allclose(x, want, {rtol = 0, atol = 0}))
end
-- expect: 0	0	0
-- expect: true
