-- Reductions over groups of a row's columns, in all shapes, under check; the formats that rows are
-- quantised to, against plain Lua; functions that follow a row_kernel; and what is refused.
local rows = require "cuttle.rows"
local formats = require "cuttle.row_formats"

local checked <const> = {check = not device().sm}

-- {====== Shapes ======

-- Reductions of groups before, between and after those of rows.
local function mixed(row, x)
  local top = row:group_max(abs(x), 32)
  local share = x / top
  local sum = row:sum(share)
  local y = share * (sum + 2.0)
  local low, total = row:group_min(y, 64), row:group_sum(y, 8)
  return y - low, row:group_once(top, 32), row:group_once(total, 8), row:once(total)
end
local plain = row_kernel("plain", mixed)
local sums = row_kernel("sums", function(row, x)
  local y, a, b, c = mixed(row, x)
  return y, a, b, c, row:column_sum(y)
end)

-- f of the values of each group of n.
local function by_group(values, n, f)
  local found = {}
  for i = 0, #values do
    local g = i // n
    found[g] = found[g] == nil and values[i] or f(found[g], values[i])
  end
  return found
end

-- A row's numbers from number 0 on.
local function numbers(t, r) return table.move(t(r, _):totable(), 1, size(t, 1), 0) end

local function expected(x, r, n)
  local magnitude, share, y, sum = {}, {}, {}, 0
  x = numbers(x, r)
  for i = 0, n - 1 do magnitude[i] = math.abs(x[i]) end
  local top = by_group(magnitude, 32, math.max)
  for i = 0, n - 1 do
    share[i] = x[i] / top[i // 32]
    sum = sum + share[i]
  end
  for i = 0, n - 1 do y[i] = share[i] * (sum + 2) end
  local low = by_group(y, 64, math.min)
  local total = by_group(y, 8, function(a, b) return a + b end)
  for i = 0, n - 1 do y[i] = y[i] - low[i // 64] end
  return y, top, total
end

local function worst(got, r, want)
  local most, row = 0, numbers(got, r)
  for i = 0, #want do most = math.max(most, math.abs(row[i] - want[i])) end
  return most
end

for _, case in ipairs{{plain, 3, 32}, {plain, 5, 100}, {plain, 2, 1300}, {plain, 2, 66002},
                      {plain, 2, 270000}, {sums, 3, 64}, {sums, 3, 1024}, {sums, 2, 1002}} do
  local f, R, n = table.unpack(case)
  local x = randn(f32, row_major{R, n})
  local y, top, total, first, columns = f(x, checked)
  local error, all = 0, {}
  for r = 0, R - 1 do
    local want_y, want_top, want_total = expected(x, r, n)
    local scale = 1 + math.abs(want_total[0])
    error = math.max(error, worst(y, r, want_y) / scale, worst(top, r, want_top),
      worst(total, r, want_total) / scale / 8, math.abs(first[{r, 0}] - total[{r, 0}]))
    for i = 0, n - 1 do all[i] = (all[i] or 0) + want_y[i] end
  end
  for i = 0, columns and n - 1 or -1 do
    error = math.max(error, math.abs(columns[i] - all[i]) / R / 9)
  end
  print(f:explain(x).shape, n, error < 1e-4 or error)
end
-- expect: warp	32	true
-- expect: warp	100	true
-- expect: block	1300	true
-- expect: cluster	66002	true
-- expect: stream	270000	true
-- expect: warp	64	true
-- expect: staged	1024	true
-- expect: block	1002	true

do -- columns that lie apart, and groups of one column
  local x = randn(f32, row_major{64, 6})
  local k = row_kernel("k", function(row, a)
    return a - row:group_max(a, 32), row:group_once(row:group_sum(a, 1), 1)
  end)
  local columns = view(x, layout({6, 64}, {1, 6}))
  local packed = zeros(f32, row_major{6, 64})
  copy(columns, packed)
  local a, b = k(columns, checked)
  local c, d = k(packed, checked)
  print(allclose(a, c, {rtol = 0, atol = 0}), allclose(b, packed, {rtol = 0, atol = 0}), d.shape)
  print(k:explain(x).text:match "groups.*", plain:explain(columns).text:match "groups.*")
end
-- expect: true	true	(6,64)
-- expect: groups of 32 columns by 4 lanes of a warp	groups of 64 columns by 32 lanes of a warp

do -- the other half of a group, in a vector, in a warp, and of a row that ends within a group
  local swap = {}
  for _, n in ipairs{2, 8, 32, 128} do
    swap[n] = row_kernel("swap", function(row, a) return row:group_swap(2.0 * a, n) end)
  end
  local wrong = 0
  for _, columns in ipairs{8, 52, 128, 1004, 20000} do
    local x = randn(f32, row_major{3, columns})
    for n, k in pairs(swap) do
      local y = zeros(f32, row_major{3, columns})
      copy(x, y)
      k(y, {out = y, check = checked.check}) -- in place
      for i = 0, columns - 1 do
        local other = i ~ (n // 2)
        local want = other < columns and 2 * x[{2, other}] or 0
        if y[{2, i}] ~= want then wrong = wrong + 1 end
      end
    end
  end
  print(wrong)
end
-- expect: 0

do -- a table that all rows index
  local look_up = row_kernel("look_up", function(row, x, at, list)
    return x + list[{at, row:column()}]
  end, {tables = {"list"}})
  local list = arange(f32, row_major{4, 3})
  local y = look_up(zeros(f32, row_major{2, 3}), from_table(i32, {{2}, {0}}), list, checked)
  print(y[{0, 1}] == list[{2, 1}], y[{1, 2}] == list[{0, 2}])
end
-- expect: true	true

-- {====== Formats ======

-- The number of f8e4m3 or f8e5m2 next to v, as the host casts it.
local function narrow(v, dtype) return reference.cast(full(f32, 1, v), dtype)[0] end

local function mx_of(values, first, dtype, exponent)
  local top = 0
  for i = first, first + 31 do top = math.max(top, math.abs(values(i))) end
  local e = top == 0 and -127 or math.max(math.floor(math.log(top, 2) + 1e-12) - exponent, -127)
  return 2.0 ^ e, function(i) return narrow(values(i) * 2.0 ^ -e, dtype) end
end

for _, case in ipairs{{rows.quantize_mxfp8, f8e4m3, 8}, {rows.quantize_mxfp8_e5m2, f8e5m2, 15},
                      {formats.mx(f4e2m1), f4e2m1, 2}, {formats.mx(f6e3m2), f6e3m2, 4}} do
  local k, dtype, exponent = table.unpack(case)
  if type(k) == "function" then
    k = row_kernel("copy", function(_, x) return x end)
      :followed_by("mx", k, {types = {dtype, f8ue8m0}})
  end
  local x = randn(f32, row_major{2, 96})
  for i = 0, 31 do x[{0, i}] = 0 end
  for i = 32, 63 do x[{0, i}] = x[{0, i}] * 1e30 end
  for i = 64, 95 do x[{0, i}] = x[{0, i}] * 1e-30 end
  x[{1, 7}] = 4.0
  local q, scale = k(x, checked)
  local wrong = 0
  for r = 0, 1 do
    for g = 0, 2 do
      local by, value = mx_of(function(i) return x[{r, i}] end, 32 * g, dtype, exponent)
      if scale[{r, g}] ~= by then wrong = wrong + 1 end
      for i = 32 * g, 32 * g + 31 do
        if q[{r, i}] ~= value(i) then wrong = wrong + 1 end
      end
    end
  end
  print(q.dtype, scale.dtype, scale.shape, scale[{0, 0}] == 2.0 ^ -127, wrong)
end
-- expect: f8e4m3	f8ue8m0	(2,3)	true	0
-- expect: f8e5m2	f8ue8m0	(2,3)	true	0
-- expect: f4e2m1	f8ue8m0	(2,3)	true	0
-- expect: f6e3m2	f8ue8m0	(2,3)	true	0

-- The largest error of q scale beside x, in scales; and the largest |q|.
local function quantised(q, scale, x, n)
  local error, most = 0, 0
  for r = 0, 1 do
    for i = 0, n - 1 do
      local s = scale[{r, scale.shape[2] > 1 and i // 128 or 0}]
      error = math.max(error, math.abs(q[{r, i}] * s - x[{r, i}]) / s)
      most = math.max(most, math.abs(q[{r, i}]))
    end
  end
  return error, most
end

do -- half of the largest numbers' spacing is the largest error
  local n <const> = 320
  local x, w = randn(f32, row_major{2, n}), randn(f32, n)
  local residual, up = randn(f32, row_major{2, n}), randn(f32, row_major{2, n})
  local normal, gated = rows.rms_norm(x, w, 1e-6), rows.swiglu(x, up)
  local added, sum = rows.add_rms_norm(x, residual, w, 1e-6)
  for _, case in ipairs{{"fp8_blocks", 16}, {"fp8_e5m2_blocks", 4096}, {"int8_blocks", 0.5},
    {"fp8_rows", 16}, {"int8_rows", 0.5}} do
    local name, limit = case[1], case[2] * 1.001
    local function of(first, want, ...)
      local given = {...}
      given[#given + 1] = checked
      local q, scale, third = rows[first .. name](table.unpack(given))
      local error, most = quantised(q, scale, want, n)
      return error <= limit or error, most, third and third.shape
    end
    print(name, of("quantize_", x, x))
    print(of("rms_norm_", normal, x, w, 1e-6))
    print(of("swiglu_", gated, x, up), (of("add_rms_norm_", added, x, residual, w, 1e-6)))
  end
  local b = randn(f32, n)
  local q, scale, mean = rows.layer_norm_fp8_blocks(x, w, b, 1e-6)
  print(quantised(q, scale, rows.layer_norm(x, w, b, 1e-6), n) <= 16.016, mean.shape)
  local _, _, same = rows.add_rms_norm_mxfp8(x, residual, w, 1e-6)
  print(allclose(same, sum, {rtol = 0, atol = 0}))
end
-- expect: fp8_blocks	true	448.0	nil
-- expect: true	448.0	(2,1)
-- expect: true	true
-- expect: fp8_e5m2_blocks	true	57344.0	nil
-- expect: true	57344.0	(2,1)
-- expect: true	true
-- expect: int8_blocks	true	127	nil
-- expect: true	127	(2,1)
-- expect: true	true
-- expect: fp8_rows	true	448.0	nil
-- expect: true	448.0	(2,1)
-- expect: true	true
-- expect: int8_rows	true	127	nil
-- expect: true	127	(2,1)
-- expect: true	true
-- expect: true	(2,1)
-- expect: true

do -- a block of zeros, and a following function with arguments of its own
  local q, scale = rows.quantize_fp8_blocks(zeros(bf16, row_major{1, 128}))
  print(q[{0, 5}], scale[{0, 0}] > 0)
  local scaled = rows.softmax:followed_by("scaled", function(row, y, factor)
    return y * factor, row:once(row:sum(y))
  end)
  print(scaled, scaled(zeros(f32, row_major{1, 4}), 8.0)[{0, 3}])
end
-- expect: 0.0	true
-- expect: row_kernel scaled(x, factor)	2.0

do -- explain makes no results: these would take terabytes
  local x = view(zeros(bf16, 128), layout({1 << 30, 4096}, {0, 0}))
  local found = rows.quantize_mxfp8:explain(x)
  print(found.shape, found.width, formats.named[1][1])
end
-- expect: flat	1	fp8_rows

-- {====== What is refused ======

local function refused(f, ...)
  print((select(2, pcall(f, ...)):gsub("^[^ ]+:%d+: ", "")))
end
local x = zeros(f32, row_major{2, 64})
local function of(f) return function(a) return row_kernel("k", f)(a or x) end end
refused(of(function(row, a) return row:group_max(a, 48) end))
-- expect: row_kernel: row:group_max: groups of 48 columns; expected a power of two, known before the launch, from 1 to 1024
refused(of(function(row, a) return row:group_once(a, 2048) end))
-- expect: row_kernel: row:group_once: groups of 2048 columns; expected a power of two, known before the launch, from 1 to 1024
refused(of(function(row, a) return row.group_sum(a, 32) end))
-- expect: row_kernel: a method of the row was called with '.'; write ':', as in row:sum(x)
refused(of(function(row, a) return row:group_min({a}, 32) end))
-- expect: row_kernel: row:group_min's argument 1 is of type table; expected a number
refused(of(function(row, a) return row:group_max(a, 128) end), zeros(f32, row_major{2, 66}))
-- expect: k: rows have 66 columns; groups of 128 need a multiple of 4
refused(of(function(row, a) if a > 2.0 then return a - row:group_max(a, 32) end return a end))
-- expect: row_kernel: row:group_max under a run-time condition or in a run-time loop: all threads of a row must reach it alike; call it before, and choose with where(condition, a, b)
refused(of(function(row, a) return row:group_swap(a, 1) end))
-- expect: row_kernel: row:group_swap: groups of 1 column; expected a power of two, known before the launch, from 2 to 1024
refused(row_kernel, "k", function(row, a) return a end, {tables = {"b"}})
-- expect: row_kernel: option tables has 'b', but the arguments are a
refused(row_kernel, "k", function(row, a) return a end, {tables = "a"})
-- expect: row_kernel: tables is 'a'; a table was expected
refused(row_kernel("k", function(row, a) return a[0] end, {tables = {"a"}}), x)
-- expect: k: no argument is a tensor with rows; expected one of shape (..., columns)
refused(row_kernel("k", function(row, a, b) return a + row:at("b", 0) end, {tables = {"b"}}), x, x)
-- expect: row_kernel: row:at: b is a table; index it, as in b[i]
refused(row_kernel("k", function(row, a, b) return a + row:extent("b", 1) end, {tables = {"b"}}), x,
  arange(f32, 3))
-- expect: row_kernel: row:extent: there is no table 'b' with a mode 1
refused(formats.mx, i8)
-- expect: row_formats: the element type is i8; expected one of f4e2m1, f6e2m3, f6e3m2, f8e4m3, f8e5m2
refused(rows.softmax.followed_by, rows.softmax, "k", 3)
-- expect: row_kernel: followed_by's argument 2 is of type number; expected a function (row, v, ...) of one element
refused(rows.softmax.followed_by, rows.softmax, "k", function(row, y, x) return y * x end)
-- expect: row_kernel: followed_by: 'x' is the name of an argument of both functions; give it another name in the second
refused(rows.softmax.followed_by, "k", function(row, y) return y end)
-- expect: followed_by: it is called on a string; write t:followed_by(...), with a colon, for a t of type row_kernel

do -- the size may not change with upvalues
  local n = 32
  local k = row_kernel("k", function(row, a) return a - row:group_max(a, n) end)
  k(x)
  n = 256
  refused(k, zeros(f32, row_major{5, 64}))
end
-- expect: row_kernel: k has groups of 256 columns, other ones than when it was first called for such arguments; make one row_kernel for each
