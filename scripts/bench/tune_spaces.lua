-- tune_spaces.lua: six kernels, each with a space of configurations at several shapes: what
-- tune_model.lua measures and predicts. A case is {kernel, what, shape, config = text,
-- make = function}; make() returns what launches it, and what must live as long. On the CPU engine
-- tensors are zeros, which cost no time. Four kernels have a second space: one shape and at least
-- fifty configurations.
local ct = require "cuttle"
local data = require "data"
local example = require "example"
local operator = require "cuttle.matmul"
local M = {}

local threadIdx, blockIdx = ct.threadIdx, ct.blockIdx
local size, layout, view = ct.size, ct.layout, ct.view
local f32, bf16 = ct.f32, ct.bf16

M.names = { "hopper", "simt", "mma", "softmax", "stencil", "transpose" }

-- A dense tensor of that layout.
local function filled(dtype, of, seed)
  if not ct.device().sm then return ct.zeros(dtype, of) end
  return view(data.normal(dtype, size(of), seed), of)
end

-- "stages=3 tile=64x64x64", in the order of the names.
local function text_of(config)
  local out = {}
  for name, value in pairs(config) do
    if type(value) ~= "function" then
      local text = type(value) == "table" and table.concat(value, "x") or tostring(value)
      out[#out + 1] = name .. "=" .. text
    end
  end
  table.sort(out)
  return table.concat(out, " ")
end

local function add(out, kernel, shape, config, what, make)
  out[#out + 1] = { kernel = kernel, what = what, shape = table.concat(shape, "x"), make = make,
                    config = text_of(config) }
end

-- All combinations of one value of each list, those of the last list first.
local function combinations(...)
  local all = { {} }
  for _, list in ipairs { ... } do
    local more = {}
    for _, chosen in ipairs(all) do
      for _, value in ipairs(list) do
        more[#more + 1] = table.move(chosen, 1, #chosen, 1, {})
        table.insert(more[#more], value)
      end
    end
    all = more
  end
  return all
end

-- {====== Products ======

local function operand(dtype, rows, columns, is_column_major, seed)
  local of = is_column_major and layout { rows, columns } or ct.row_major { rows, columns }
  return filled(dtype, of, seed)
end

-- Parts of K, where there are few tiles: those that matmul chooses on an H200.
local splits <const> = { ["f32 512x512x512"] = 2, ["f32 512x512x8192"] = 8,
                         ["bf16 512x512x8192"] = 4 }

local function add_product(out, kernel, dtype, majors, shape, config)
  local m, n, k = table.unpack(shape)
  local parts = splits[("%s %dx%dx%d"):format(dtype.name, m, n, k)] or 1
  add(out, kernel, shape, config, majors, function()
    local A = operand(dtype, m, k, majors:sub(1, 1) == "N", 1)
    local B = operand(dtype, n, k, majors:sub(2, 2) == "T", 2)
    local C = ct.zeros(dtype, layout { m, n })
    return operator.prepare(A, B, C, { config = config, split = parts }), { A, B, C }
  end)
end

local SHARED <const> = 227000 -- bytes of a block on the largest of devices

local function hopper_config(m, n, stages, schedule, order)
  local is_narrow = n == 64
  if stages * (m + n) * 128 + 2 * m * n >= SHARED or schedule == "ping-pong" and is_narrow then
    return nil
  end
  return { name = ("h%dx%d s%d %s"):format(m, n, stages, schedule), template = "cuttle.gemm_hopper",
    tile = { m, n, 64 }, schedule = schedule, stages = stages, groups = is_narrow and 1 or nil,
    store = { 1, is_narrow and 1 or 2 }, order = order, group = order == "groups" and 16 or nil,
    registers = m >= 192 and { 40, 232 } or nil, min_blocks = is_narrow and 2 or nil,
    blocks = is_narrow and function(sms) return 2 * sms end or function(sms) return sms end }
end

local function hopper_space(kernel, shapes, all_stages, orders)
  local tiles = { { 64, 64 }, { 128, 64 }, { 128, 128 }, { 192, 128 }, { 256, 128 } }
  local schedules, out = { "cooperative", "ping-pong" }, {}
  for _, c in ipairs(combinations(shapes, tiles, all_stages, schedules, orders)) do
    local shape, tile, stages, schedule, order = table.unpack(c)
    local config = hopper_config(tile[1], tile[2], stages, schedule, order)
    if config then add_product(out, kernel, bf16, "TN", shape, config) end
  end
  return out
end

function M.hopper()
  return hopper_space("hopper", { { 1024, 1024, 1024 }, { 2048, 2048, 2048 },
    { 4096, 4096, 4096 }, { 8192, 8192, 1024 }, { 4096, 4096, 512 }, { 512, 512, 8192 },
    { 8192, 2048, 2048 } }, { 3, 4, 6 }, { "groups" })
end

function M.large_hopper()
  return hopper_space("large_hopper", { { 2048, 2048, 2048 } }, { 2, 3, 4, 5, 6, 8 },
    { "groups", "hilbert" })
end

local simt_tiles <const> = { -- tile, warps, blocks of a multiprocessor
  { { 256, 128, 16 }, { 2, 4 }, 1 }, { { 128, 128, 8 }, { 2, 2 }, 2 },
  { { 128, 128, 16 }, { 2, 2 }, 2 }, { { 128, 64, 16 }, { 2, 2 }, 4 },
  { { 64, 64, 16 }, { 1, 2 }, 6 }, { { 64, 64, 8 }, { 1, 2 }, 6 }, { { 128, 64, 8 }, { 2, 2 }, 4 },
}

local more_simt_tiles <const> = {
  { { 64, 128, 16 }, { 1, 4 }, 3 }, { { 256, 64, 16 }, { 4, 2 }, 2 },
  { { 128, 128, 16 }, { 2, 4 }, 2 }, { { 128, 128, 8 }, { 2, 4 }, 2 },
  { { 64, 32, 16 }, { 1, 1 }, 8 }, { { 64, 128, 8 }, { 1, 4 }, 3 },
}

local function simt_space(kernel, shapes, tiles, all_stages)
  local out = {}
  for _, c in ipairs(combinations(shapes, tiles, all_stages)) do
    local shape, t, stages = table.unpack(c)
    add_product(out, kernel, f32, "NT", shape, {
      name = ("s%dx%dx%d w%dx%d s%d"):format(t[1][1], t[1][2], t[1][3], t[2][1], t[2][2], stages),
      template = "cuttle.gemm_simt", tile = t[1], lanes = { 8, 4 }, warps = t[2],
      stages = stages, min_blocks = t[3], order = "m2 ~n m" })
  end
  return out
end

function M.simt()
  return simt_space("simt", { { 512, 512, 512 }, { 1024, 1024, 1024 }, { 2048, 2048, 2048 },
    { 4096, 4096, 1024 }, { 512, 512, 8192 } }, simt_tiles, { 2, 3, 4 })
end

-- Two lists as one.
local function joined(a, b)
  return table.move(b, 1, #b, #a + 1, table.move(a, 1, #a, 1, {}))
end

function M.large_simt()
  return simt_space("large_simt", { { 1024, 1024, 1024 } }, joined(simt_tiles, more_simt_tiles),
    { 2, 3, 4, 5 })
end

local mma_tiles <const> = {
  { { 128, 256, 64 }, { 2, 4 }, 1 }, { { 128, 128, 64 }, { 2, 2 }, 2 },
  { { 128, 128, 32 }, { 2, 2 }, 2 }, { { 128, 64, 64 }, { 2, 2 }, 2 },
  { { 64, 64, 64 }, { 2, 2 }, 3 }, { { 64, 64, 32 }, { 2, 2 }, 4 },
  { { 64, 128, 64 }, { 2, 2 }, 2 },
}

local more_mma_tiles <const> = {
  { { 64, 256, 64 }, { 1, 4 }, 1 }, { { 256, 128, 64 }, { 4, 2 }, 1 },
  { { 128, 256, 32 }, { 2, 4 }, 1 }, { { 256, 64, 64 }, { 4, 1 }, 1 },
  { { 128, 64, 32 }, { 2, 2 }, 3 }, { { 64, 64, 128 }, { 2, 2 }, 2 },
  { { 128, 128, 64 }, { 2, 4 }, 1 },
}

local function mma_space(kernel, shapes, tiles)
  local out = {}
  for _, c in ipairs(combinations(shapes, tiles, { 2, 3, 4, 5 })) do
    local shape, t, stages = table.unpack(c)
    if (t[1][1] + t[1][2]) * t[1][3] * 2 * stages <= SHARED then
      add_product(out, kernel, bf16, "TN", shape, {
        name = ("m%dx%dx%d w%dx%d s%d"):format(t[1][1], t[1][2], t[1][3], t[2][1], t[2][2],
          stages),
        template = "cuttle.gemm_mma", tile = t[1], warps = t[2], stages = stages,
        min_blocks = t[3], group = 8 })
    end
  end
  return out
end

function M.mma()
  return mma_space("mma", { { 1024, 1024, 1024 }, { 2048, 2048, 2048 }, { 4096, 4096, 4096 },
    { 512, 512, 8192 } }, mma_tiles)
end

function M.large_mma()
  return mma_space("large_mma", { { 2048, 2048, 2048 } }, joined(mma_tiles, more_mma_tiles))
end

-- {====== Softmax ======

-- A block has a row in registers: `deep` vectors of four a thread.
local make_resident = example.run_to("randn", "softmax").make_resident

function M.softmax()
  local shapes = { { 8192, 8192 }, { 32768, 1024 }, { 4096, 2048 }, { 2048, 16384 },
                   { 65536, 256 } }
  local out = {}
  for _, c in ipairs(combinations(shapes, { 32, 64, 128, 256, 512, 1024 })) do
    local shape, threads = table.unpack(c)
    local rows, columns = table.unpack(shape)
    local deep = columns // (4 * threads)
    if deep >= 1 and deep <= 16 then
      add(out, "softmax", shape, { threads = threads }, "", function()
        local x, y = filled(f32, layout { columns, rows }, 1), ct.zeros(f32, { columns, rows })
        local softmax = make_resident(layout { 4, threads, deep })
        return softmax:prepare { grid = rows, block = threads }(x, y), { x, y }
      end)
    end
  end
  return out
end

-- {====== Stencil ======

-- Seven points in three dimensions; a thread walks through `deep` planes.
local stencil = example.run_to("tune", "tune_stencil").stencil

local stencil_blocks <const> = {
  { 32, 4 }, { 32, 8 }, { 64, 2 }, { 64, 4 }, { 128, 1 }, { 128, 2 }, { 16, 16 }, { 256, 1 },
  { 32, 16 },
}
local more_stencil_blocks <const> = { { 8, 32 }, { 64, 8 }, { 16, 8 }, { 32, 2 }, { 256, 2 } }

local function stencil_space(kernel, shapes, blocks)
  local out = {}
  for _, c in ipairs(combinations(shapes, blocks, { 1, 2, 4, 8 })) do
    local shape, b, deep = table.unpack(c)
    add(out, kernel, shape, { bx = b[1], by = b[2], deep = deep }, "", function()
      local x, y = filled(f32, layout(shape), 1), ct.zeros(f32, shape)
      local run = stencil { block = b, deep = deep }
      return function() run(x, y) end, { x, y }
    end)
  end
  return out
end

function M.stencil()
  return stencil_space("stencil", { { 512, 512, 256 }, { 256, 256, 256 }, { 1024, 1024, 64 } },
    stencil_blocks)
end

function M.large_stencil()
  return stencil_space("large_stencil", { { 512, 512, 256 } },
    joined(stencil_blocks, more_stencil_blocks))
end

-- {====== Transpose ======

local function transpose_kernel(extent, rows)
  return ct.kernel("transpose", function(x, y)
    local s = ct.shared(f32, layout({extent, extent}, {1, extent + 1}))
    local i, j = blockIdx.x * extent, blockIdx.y * extent
    for r = threadIdx.y, extent - 1, rows do
      s[{threadIdx.x, r}] = x[{i + threadIdx.x, j + r}]
    end
    ct.sync_threads()
    for r = threadIdx.y, extent - 1, rows do
      y[{j + threadIdx.x, i + r}] = s[{r, threadIdx.x}]
    end
  end)
end

function M.transpose()
  local shapes, out = { { 2048, 2048 }, { 8192, 8192 }, { 16384, 2048 } }, {}
  for _, c in ipairs(combinations(shapes, { 16, 32, 64 }, { 2, 4, 8, 16, 32 })) do
    local shape, extent, rows = table.unpack(c)
    if rows <= extent and extent * rows <= 1024 then
      add(out, "transpose", shape, { tile = extent, rows = rows }, "", function()
        local x, y = filled(f32, layout(shape), 1), ct.zeros(f32, { shape[2], shape[1] })
        local grid = { shape[1] // extent, shape[2] // extent }
        return transpose_kernel(extent, rows):prepare { grid = grid,
          block = { extent, rows } }(x, y), { x, y }
      end)
    end
  end
  return out
end

return M
