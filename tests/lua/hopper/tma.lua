-- tma_load and tma_store against ordinary copies: tensors of 1 to 5 modes, in any order, tiles that
-- overhang, shared layouts in pieces and panels, all swizzles. Cases are drawn; more with an argument.
-- needs sm_90
local n_cases <const> = tonumber(arg[1]) or 60

local state = 12345
local function draw(n) -- 0 .. n - 1
  state = (state * 1103515245 + 12345) % 2147483648
  return state // 65536 % n
end
local function pick(t) return t[1 + draw(#t)] end

-- Copies every tile of A by tma_load and stores it in C. bad[i]: elements of tile i that differ from what a
-- guarded copy brings.
local function make_kernel(tiler, s_layout, n_tiles)
  return kernel("boxes", function(A, C, bad)
    local s, twin, full = shared(A.dtype, s_layout), shared(A.dtype, tiler), mbarrier(1, 1)
    local at, rest = {}, blockIdx.x
    for i = 1, #tiler do
      at[i] = rest % n_tiles[i]
      rest = rest // n_tiles[i]
    end
    sync_threads()
    if threadIdx.x == 0 then
      full[0]:arrive_expect_tx(size(s) * A.dtype.bits // 8)
      tma_load(tile(tma_tensor(A), tiler, at), s, full[0])
      full[0]:wait(0)
      tma_store(s, tile(tma_tensor(C), tiler, at))
      tma_store_commit()
      copy(tile(guard(A), tiler, at), twin)
      cp_async_wait(0)
      local n = 0
      for i in range(size(s)) do
        if s[i] ~= twin[i] then n = n + 1 end
      end
      bad[blockIdx.x] = n
      tma_store_wait(0, {done = true})
    end
  end)
end

local function product(t)
  local n = 1
  for _, v in ipairs(t) do n = n * v end
  return n
end

-- Strides of modes in a random order, the first contiguous, the others' a multiple of 16 bytes.
local function draw_strides(extents, unit)
  local order, strides, stride = {}, {}, 1
  for i = 1, #extents do table.insert(order, 1 + draw(i), i) end
  for k, i in ipairs(order) do
    strides[i] = stride
    stride = stride * extents[i]
    if k == 1 then stride = cdiv(stride, unit) * unit end
    stride = stride + (draw(3) == 0 and unit or 0)
  end
  return strides, order[1]
end

-- Tile sizes and the pieces of the shared layout: first one of `row` elements along mode `inner`.
local function draw_shared(rank, inner, row)
  local sizes, pieces, left = {}, { { inner, row } }, { }
  for i = 1, rank do
    left[i] = { }
    for _ = 1, draw(rank > 3 and 2 or 3) do table.insert(left[i], pick { 2, 4, 3, 8 }) end
  end
  repeat
    local any = false
    for i = 1, rank do
      if #left[i] > 0 and draw(2) == 0 then
        table.insert(pieces, { i, table.remove(left[i]) })
      end
      any = any or #left[i] > 0
    end
  until not any
  local shape, stride, at = {}, {}, 1
  for i = 1, rank do sizes[i], shape[i], stride[i] = 1, { 1 }, { 0 } end
  for _, p in ipairs(pieces) do
    local i, n = p[1], p[2]
    table.insert(shape[i], n)
    table.insert(stride[i], at)
    at, sizes[i] = at * n, sizes[i] * n
  end
  return sizes, layout(shape, stride)
end

local n_done, n_refused, refusals = 0, 0, {}
for case = 1, n_cases do
  local dt = pick { bf16, f32, u8, f64, f16, i32, f8e4m3, i64 }
  local bytes, rank = dt.bits // 8, 1 + draw(4)
  local bits = draw(4)
  local row = (16 << bits) // bytes
  local extents, n_tiles = {}, {}
  for i = 1, rank do extents[i] = pick { 5, 8, 24, 33, 64 } // (rank > 2 and 2 or 1) + 1 end
  local strides, inner = draw_strides(extents, 16 // bytes)
  local tiler, s_layout = draw_shared(rank, inner, row)
  local m = ({ 4, 3, nil, 2, nil, nil, nil, 1 })[bytes]
  if draw(3) > 0 and bits > 0 then
    s_layout = composition(swizzle(bits, m, 3), s_layout)
  end
  for i = 1, rank do n_tiles[i] = cdiv(extents[i], tiler[i]) end
  local l = layout(extents, strides)
  if product(tiler) <= 8192 and cosize(l) < 60000 then
    local A = dt == i32 and rand(i32, l, -1000, 1000)
      or (dt == u8 or dt == i64) and rand(dt, l, 0, 200)
      or rand(dt, l)
    local C, bad = zeros(dt, l), zeros(i32, product(n_tiles))
    local k = make_kernel(tiler, s_layout, n_tiles)
    local ok, message = pcall(function() k { grid = product(n_tiles), block = 32 } (A, C, bad) end)
    local what = ("%d: %s %s shared %s"):format(case, dt, l, s_layout)
    if not ok then
      local rule = message:match("tma_load: .*")
      if not rule then print("failed", what, message) end
      n_refused = n_refused + 1
      rule = (rule or message):gsub("[%d%(%)%-:,]+", "#"):sub(1, 70)
      refusals[rule] = (refusals[rule] or 0) + 1
    else
      n_done = n_done + 1
      local worst = 0
      for i = 0, size(bad) - 1 do worst = math.max(worst, bad[i]) end
      if worst > 0 then print("loaded differently", what, worst) end
      if not allclose(A, C, { rtol = 0, atol = 0 }) then print("stored differently", what) end
    end
  end
end
print(n_done > n_cases // 4) -- expect: true
if arg[1] then
  print(n_done, n_refused)
  for rule, n in pairs(refusals) do print(n, rule) end
end
