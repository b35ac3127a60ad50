-- matmul of groups against reference.matmul of each: rows, columns and parts of K in groups, some of
-- them empty, some no multiple of a tile, the last one not up to the end; C by rows and by columns,
-- alpha and beta, an epilogue that gets rows of all of C and the group's number. Each template, that
-- for Hopper with small tiles in both schedules. What is in no group stays. Elements are small
-- integers, so sums are exact.
local here = zeros(f32, 1).device
local sm = device().sm

local function small(dtype, l)
  return view(reference.cast(rand(i32, cosize(l), -2, 3):to("cpu"), dtype):to(here), l)
end

-- (rows, columns) or, with n, (rows, columns, n); strides are multiples of 16 bytes.
local function matrix(dtype, rows, columns, n, by_rows)
  local ld = cdiv(by_rows and columns or rows, 16) * 16
  local stride = by_rows and {ld, 1, n and ld * rows} or {1, ld, n and ld * columns}
  return small(dtype, layout(n and {rows, columns, n} or {rows, columns}, stride))
end

-- The part of a group: of a mode with groups its rows, of one with a matrix for each that.
local function part(t, mode, g, first, n)
  if rank(t) == 3 then return t(_, _, g) end
  local extent, at, s = {size(t, 0), size(t, 1)}, {0, 0}, stride(t)
  if mode then extent[mode + 1], at[mode + 1] = n, first end
  return view(tile(t, {1, 1}, at), layout(extent, {s[1], s[2]}))
end

local modes = {m = {0, nil, 0}, n = {nil, 0, 1}, k = {1, 1, nil}} -- of A, B and C

local function check(text, p, before, first, n, g)
  local of = modes[p.kind]
  local a, b = part(p.A, of[1], g, first, n), part(p.B, of[2], g, first, n)
  local c, old = part(p.C, of[3], g, first, n), part(before, of[3], g, first, n)
  if size(c) == 0 then return end
  local R = reference.matmul(reference.cast(a, f64), reference.cast(b, f64)):to("cpu")
  old = reference.cast(old, f64):to("cpu")
  for i = 0, size(R) - 1 do
    local m, at = i % size(R, 0) + (p.kind == "m" and first or 0), i
    R[at] = p.alpha * R[at] + p.beta * old[at] + (p.adds and m + 100 * g or 0)
  end
  local ok, worst = allclose(reference.cast(c, f64), R, {rtol = 0, atol = 0})
  if not ok then print(text, "group " .. g, worst) end
end

local function try(dtype, config, kind, by_rows, options)
  local sizes, G, other, depth = {5, 0, 70, 64, 0, 3}, 6, options.other or 40, 48
  local ends, sum = {}, 0
  for g, n in ipairs(sizes) do
    sum = sum + n
    ends[g] = sum
  end
  local m, n, k = kind == "m" and sum + 9 or other, kind == "n" and sum + 9 or other,
    kind == "k" and sum + 9 or depth
  local p = {kind = kind, alpha = options.alpha or 1, beta = options.beta or 0, adds = options.adds,
             A = matrix(dtype, m, k, kind == "n" and G or nil, by_rows),
             B = matrix(dtype, n, k, kind == "m" and G or nil,
               (kind ~= "n" or by_rows) and not options.across),
             C = matrix(dtype == i8 and i32 or f32, m, n, kind == "k" and G or nil, by_rows)}
  local before = reference.cast(p.C, f64):to("cpu")
  matmul(p.A, p.B, p.C, {groups = from_table(i32, ends):to(here), config = config, alpha = p.alpha,
    beta = p.beta, epilogue = p.adds and function(v, m, _, g) return v + m + 100 * g end or nil})
  for _, name in ipairs{"A", "B", "C"} do p[name] = p[name]:to("cpu") end -- read one by one below
  local text, first = ("%s %s %s"):format(type(config) == "table" and config.schedule or config,
    kind, by_rows), 0
  for g, last in ipairs(ends) do
    check(text, p, before, first, last - first, g - 1)
    first = last
  end
  for i = sum, kind == "k" and 0 or sum + 8 do -- in no group
    local at = kind == "m" and {i, 7} or {7, i}
    if p.C[at] ~= before[at] then print(text, "written outside of the groups", i) end
  end
end

local cases = {{f32}, {f32, "simt 64x64x16 turned"}, {f16, "mma 64x64x64"}, {i8, "mma 64x64x128"},
               {f32, "simt 128x64x32 turned, 2 slices"}}
for i, case in ipairs(cases) do
  for j, kind in ipairs{"m", "n", "k"} do
    try(case[1], case[2], kind, i == 2 or i == 5 or (i + j) % 2 == 0,
      i == 3 and {alpha = 2, beta = 1} or {adds = i ~= 4})
  end
end

-- Hopper's takes groups of what is a row in C, and operands along K: TMA begins at multiples of 16
-- bytes, and a group begins anywhere.
local hopper = {
  {schedule = "cooperative", tile = {64, 128, 64}, stages = 3, store = {1, 1}, group = 2,
   registers = {40, 232}, order = "groups"},
  {schedule = "ping-pong", tile = {128, 64, 64}, stages = 2, store = {1, 2}, order = "hilbert"},
}
for i, config in ipairs(hopper) do
  config.name, config.template, config.blocks = "tried", "cuttle.gemm_hopper", 3
  if here == "cpu" or sm == 90 then
    for j, other in ipairs{40, 64} do -- a part of a tile, whole passes
      try(bf16, config, "m", true, i == j and {adds = true, other = other}
        or {beta = i - 1, other = other})
    end
  end
end
for i, name in ipairs{"hopper 128x128x64", "hopper 64x64x64"} do
  if here == "cpu" or sm == 90 then
    local how = i == 1 and {adds = true, other = 136} or {beta = 1, alpha = 2, other = 72}
    how.across = true
    try(i == 1 and bf16 or f16, name, "k", false, how)
  end
end
local refused = {{"m", false}, {"n", true}, {"n", false}, {"k", true}}
for _, case in ipairs(refused) do
  local ok, message = pcall(try, bf16, "hopper 256x128x64", case[1], case[2], {other = 64})
  if ok or not message:find("is not for this problem.*TMA ") then
    print(case[1], case[2], message)
  end
end

-- No groups, no rows: nothing is done.
local none, X = zeros(i32, 0), small(f32, layout{4, 3})
print(matmul(X, small(f32, layout{2, 3, 1})(_, _, 0), zeros(f32, {4, 2, 0}), {groups = none}).shape,
  allclose(matmul(X, zeros(f32, {2, 3, 0}), {groups = none}), zeros(f32, {4, 2})),
  matmul(zeros(f32, {0, 3}), zeros(f32, {2, 3, 2}), {groups = zeros(i32, 2)}).shape)
-- expect: (4,2,0)	true	(0,2)

-- The same from reference.matmul; a new C is 0 where no group is.
local A, B, ends = small(f32, layout{9, 5}), small(f32, layout{7, 5, 3}), from_table(i32, {2, 2, 8})
print(allclose(matmul(A, B, {groups = ends:to(here)}),
  reference.matmul(A, B, {groups = ends:to(here)})))  -- expect: true
