-- kernels.lua: small launches whose memory accesses Nsight Compute counted on a GPU (counters.csv, see
-- README.md): each has one thing to see. Run as a program it launches every one of them once, or
-- those that its arguments name.
local N <const> = 256
local t <const> = 32
local threads <const> = layout{32, 8}

local A, B = rand(f32, {N, N}), zeros(f32, {N, N})

-- B = A', through shared memory laid out as `stored`. Through registers, so that plain loads and stores
-- are counted; `async` leaves that to cp.async.
local function transpose(name, stored, async)
  return kernel(name, function(src, dst)
    local s = shared(f32, stored)
    local gA = parallelize(tile(src, {t, t}, {blockIdx.x, blockIdx.y}), threads, threadIdx.x)
    local gB = parallelize(tile(dst, {t, t}, {blockIdx.y, blockIdx.x}), threads, threadIdx.x)
    local ps = parallelize(s, threads, threadIdx.x)
    local pt = parallelize(select(s, 1, 0), threads, threadIdx.x)
    if async then
      copy(gA, ps)
      cp_async_wait(0)
    else
      local r = fragment_like(gA)
      copy(gA, r)
      copy(r, ps)
    end
    sync_threads()
    local q = fragment_like(gB)
    copy(pt, q)
    copy(q, gB)
  end), { grid = { N // t, N // t }, block = 256 }
end

-- y[i] = x[stride * i]: how many sectors a request touches.
local function strided(name, stride)
  return kernel(name, function(x, y)
    local i = blockIdx.x * 256 + threadIdx.x
    y[i] = x[i * stride]
  end), { grid = 16, block = 256 }
end

-- Copies of `width` elements a thread at once.
local function vectors(name, width)
  return kernel(name, function(x, y)
    local gx, gy = tile(x, {256 * width}, {blockIdx.x}), tile(y, {256 * width}, {blockIdx.x})
    local tv = layout({ 256, width }, { width, 1 })
    local px, py = composition(gx, tv), composition(gy, tv)
    local r = fragment(f32, width)
    copy(px(threadIdx.x, _), r)
    copy(r, py(threadIdx.x, _))
  end), { grid = 4, block = 256 }
end

-- Shared memory read at a stride: how many ways banks conflict.
local function banks(name, stride)
  return kernel(name, function(y)
    local s = shared(f32, layout(32 * stride))
    if threadIdx.x < 32 then
      s[threadIdx.x * stride] = threadIdx.x
    end
    sync_warp()
    y[threadIdx.x] = s[threadIdx.x * stride]
  end), { grid = 1, block = 32 }
end

local x, y = rand(f32, 32 * 4096), zeros(f32, 16384)
local list = {}
local function add(name, k, config, ...)
  local args = table.pack(...)
  list[#list + 1] = {
    name = name, launch = function() k(config)(table.unpack(args, 1, args.n)) end,
  }
end

local function add_made(name, make, args, ...)
  local k, config = make(name, table.unpack(args))
  add(name, k, config, ...)
end

local plain, padded = layout{ t, t }, layout({ t, t }, { 1, t + 1 })
local swizzled = composition(swizzle(5, 0, 5), layout{ t, t })
add_made("transpose_naive", transpose, { plain }, A, B)
add_made("transpose_padded", transpose, { padded }, A, B)
add_made("transpose_swizzled", transpose, { swizzled }, A, B)
add_made("transpose_async", transpose, { plain, true }, A, B)
for _, stride in ipairs{ 1, 2, 8, 32 } do
  add_made("strided_" .. stride, strided, { stride }, x, y)
end
for _, width in ipairs{ 1, 2, 4 } do
  add_made("vectors_" .. width, vectors, { width }, x, y)
end
for _, stride in ipairs{ 1, 2, 4, 17, 32 } do
  add_made("banks_" .. stride, banks, { stride }, y)
end

-- Vectors of `width` elements of shared memory, `step` vectors apart, written and read.
local function wide(name, width, step)
  return kernel(name, function(y)
    local s = shared(f32, layout(32 * width * step))
    local mine = view(s, layout({ 32, width }, { width * step, 1 }))(threadIdx.x, _)
    local r = fragment(f32, width)
    fill(r, threadIdx.x)
    copy(r, mine)
    sync_warp()
    copy(view(s, layout({ 32, width }, { width * step, 1 }))(threadIdx.x ~ 1, _), r)
    copy(r, view(y, layout({ 32, width }, { width, 1 }))(threadIdx.x, _))
  end), { grid = 1, block = 32 }
end
for _, width in ipairs{ 2, 4 } do
  for _, step in ipairs{ 1, 2, 3, 4 } do
    add_made(("wide_%d_%d"):format(width, step), wide, { width, step }, y)
  end
end

-- Sgemm as in CuTe's first tutorial, operands in shared memory padded or not.
local function sgemm(name, pad)
  local bM, bN, bK = 128, 128, 8
  local sL = layout({ bM, bK }, { 1, bM + pad })
  local tA, tC = layout{ 32, 8 }, layout{ 16, 16 }
  return kernel(name, function(a, b, c)
    local sA, sB = shared(f32, sL), shared(f32, sL)
    local gA, gB = tile(a, { bM, bK }, { blockIdx.x, _ }), tile(b, { bN, bK }, { blockIdx.y, _ })
    local gC = tile(c, { bM, bN }, { blockIdx.x, blockIdx.y })
    local tAgA, tAsA = parallelize(gA, tA, threadIdx.x), parallelize(sA, tA, threadIdx.x)
    local tBgB, tBsB = parallelize(gB, tA, threadIdx.x), parallelize(sB, tA, threadIdx.x)
    local tCsA = parallelize(sA, tC, threadIdx.x, { 1, _ })
    local tCsB = parallelize(sB, tC, threadIdx.x, { _, 1 })
    local tCgC = parallelize(gC, tC, threadIdx.x)
    local tCrC, rA, rB = fragment_like(tCgC), fragment_like(tAsA), fragment_like(tBsB)
    clear(tCrC)
    for k in axes(tAgA, 2) do
      copy(tAgA(_, _, k), rA)
      copy(tBgB(_, _, k), rB)
      copy(rA, tAsA)
      copy(rB, tBsB)
      sync_threads()
      gemm(tCsA, tCsB, tCrC)
      sync_threads()
    end
    copy(tCrC, tCgC)
  end), { grid = { 2, 2 }, block = 256 }
end
local C = zeros(f32, { N, N })
local P = rand(f32, { N, 64 })
add_made("sgemm_plain", sgemm, { 0 }, P, P, C)
add_made("sgemm_padded", sgemm, { 1 }, P, P, C)

local wanted = {}
for _, name in ipairs(arg) do wanted[name] = true end
for _, k in ipairs(list) do
  if #arg == 0 or wanted[k.name] then k.launch() end
end
synchronize()
