-- tune_spaces.lua: six kernels, each with a space of configurations at several shapes: what
-- tune_model.lua measures and predicts. A case is {kernel, what, shape, config = text,
-- make = function}; make() returns what launches it, and what must live as long. On the CPU engine
-- tensors are zeros, which cost no time.
local ct = require "cuttle"
local data = require "data"
local operator = require "cuttle.matmul"
local M = {}

local threadIdx, blockIdx, blockDim, _ = ct.threadIdx, ct.blockIdx, ct.blockDim, ct._
local size, cdiv, layout, view = ct.size, ct.cdiv, ct.layout, ct.view
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

local function hopper_config(m, n, stages, schedule)
  local is_narrow = n == 64
  if stages * (m + n) * 128 + 2 * m * n >= SHARED or schedule == "ping-pong" and is_narrow then
    return nil
  end
  return { name = ("h%dx%d s%d %s"):format(m, n, stages, schedule), template = "cuttle.gemm_hopper",
    tile = { m, n, 64 }, schedule = schedule, stages = stages, groups = is_narrow and 1 or nil,
    store = { 1, is_narrow and 1 or 2 }, order = "groups", group = 16,
    registers = m >= 192 and { 40, 232 } or nil, min_blocks = is_narrow and 2 or nil,
    blocks = is_narrow and function(sms) return 2 * sms end or function(sms) return sms end }
end

function M.hopper()
  local out = {}
  for _, shape in ipairs { { 1024, 1024, 1024 }, { 2048, 2048, 2048 }, { 4096, 4096, 4096 },
                           { 8192, 8192, 1024 }, { 4096, 4096, 512 }, { 512, 512, 8192 },
                           { 8192, 2048, 2048 } } do
    for _, t in ipairs { { 64, 64 }, { 128, 64 }, { 128, 128 }, { 192, 128 }, { 256, 128 } } do
      for _, stages in ipairs { 3, 4, 6 } do
        for _, schedule in ipairs { "cooperative", "ping-pong" } do
          local config = hopper_config(t[1], t[2], stages, schedule)
          if config then add_product(out, "hopper", bf16, "TN", shape, config) end
        end
      end
    end
  end
  return out
end

local simt_tiles <const> = { -- tile, warps, blocks of a multiprocessor
  { { 256, 128, 16 }, { 2, 4 }, 1 }, { { 128, 128, 8 }, { 2, 2 }, 2 },
  { { 128, 128, 16 }, { 2, 2 }, 2 }, { { 128, 64, 16 }, { 2, 2 }, 4 },
  { { 64, 64, 16 }, { 1, 2 }, 6 }, { { 64, 64, 8 }, { 1, 2 }, 6 }, { { 128, 64, 8 }, { 2, 2 }, 4 },
}

function M.simt()
  local out = {}
  for _, shape in ipairs { { 512, 512, 512 }, { 1024, 1024, 1024 }, { 2048, 2048, 2048 },
                           { 4096, 4096, 1024 }, { 512, 512, 8192 } } do
    for _, t in ipairs(simt_tiles) do
      for stages = 2, 4 do
        add_product(out, "simt", f32, "NT", shape, {
          name = ("s%dx%dx%d s%d"):format(t[1][1], t[1][2], t[1][3], stages),
          template = "cuttle.gemm_simt", tile = t[1], lanes = { 8, 4 }, warps = t[2],
          stages = stages, min_blocks = t[3], order = "m2 ~n m" })
      end
    end
  end
  return out
end

local mma_tiles <const> = {
  { { 128, 256, 64 }, { 2, 4 }, 1 }, { { 128, 128, 64 }, { 2, 2 }, 2 },
  { { 128, 128, 32 }, { 2, 2 }, 2 }, { { 128, 64, 64 }, { 2, 2 }, 2 },
  { { 64, 64, 64 }, { 2, 2 }, 3 }, { { 64, 64, 32 }, { 2, 2 }, 4 },
  { { 64, 128, 64 }, { 2, 2 }, 2 },
}

function M.mma()
  local out = {}
  for _, shape in ipairs { { 1024, 1024, 1024 }, { 2048, 2048, 2048 }, { 4096, 4096, 4096 },
                           { 512, 512, 8192 } } do
    for _, t in ipairs(mma_tiles) do
      for stages = 2, 5 do
        if (t[1][1] + t[1][2]) * t[1][3] * 2 * stages <= SHARED then
          add_product(out, "mma", bf16, "TN", shape, {
            name = ("m%dx%dx%d s%d"):format(t[1][1], t[1][2], t[1][3], stages),
            template = "cuttle.gemm_mma", tile = t[1], warps = t[2], stages = stages,
            min_blocks = t[3], group = 8 })
        end
      end
    end
  end
  return out
end

-- {====== Softmax ======

-- A block has a row in registers: `deep` vectors of four a thread.
local function softmax_kernel(threads, deep)
  local parts = layout { 4, threads, deep }
  return ct.kernel("softmax", function(x, y)
    local at = {0, blockIdx.x}
    local values = ct.fragment(f32, {4, deep})
    ct.copy(view(ct.tile(x, {size(parts), 1}, at), parts)(_, threadIdx.x, _), values)
    local top = ct.block_reduce(ct.reduce(values, "max"), "max")
    ct.transform(values, function(v) return ct.fast.exp(v - top) end)
    local scale = 1.0 / ct.block_reduce(ct.reduce(values, "add"), "add")
    ct.transform(values, function(v) return v * scale end)
    ct.copy(values, view(ct.tile(y, {size(parts), 1}, at), parts)(_, threadIdx.x, _))
  end)
end

function M.softmax()
  local out = {}
  for _, shape in ipairs { { 8192, 8192 }, { 32768, 1024 }, { 4096, 2048 }, { 2048, 16384 },
                           { 65536, 256 } } do
    local rows, columns = shape[1], shape[2]
    for _, threads in ipairs { 32, 64, 128, 256, 512, 1024 } do
      local deep = columns // (4 * threads)
      if deep >= 1 and deep <= 16 then
        add(out, "softmax", shape, { threads = threads }, "", function()
          local x, y = filled(f32, layout { columns, rows }, 1), ct.zeros(f32, { columns, rows })
          return softmax_kernel(threads, deep):prepare { grid = rows, block = threads }(x, y),
            { x, y }
        end)
      end
    end
  end
  return out
end

-- {====== Stencil ======

-- Seven points in three dimensions; a thread walks through `deep` planes.
local function stencil_kernel(deep)
  return ct.kernel("stencil", function(x, y)
    local i = blockIdx.x * blockDim.x + threadIdx.x + 1
    local j = blockIdx.y * blockDim.y + threadIdx.y + 1
    local first = blockIdx.z * deep + 1
    if i < size(x, 0) - 1 and j < size(x, 1) - 1 then
      local below, here = x[{i, j, first - 1}], x[{i, j, first}]
      for plane = 0, deep - 1 do
        local k = first + plane
        if k < size(x, 2) - 1 then
          local above = x[{i, j, k + 1}]
          local beside = x[{i - 1, j, k}] + x[{i + 1, j, k}] + x[{i, j - 1, k}] + x[{i, j + 1, k}]
          y[{i, j, k}] = 0.5 * here + 0.1 * (below + above + beside)
          below, here = here, above
        end
      end
    end
  end)
end

function M.stencil()
  local out = {}
  for _, shape in ipairs { { 512, 512, 256 }, { 256, 256, 256 }, { 1024, 1024, 64 } } do
    for _, b in ipairs { { 32, 4 }, { 32, 8 }, { 64, 2 }, { 64, 4 }, { 128, 1 }, { 128, 2 },
                         { 16, 16 }, { 256, 1 }, { 32, 16 } } do
      for _, deep in ipairs { 1, 2, 4, 8 } do
        add(out, "stencil", shape, { bx = b[1], by = b[2], deep = deep }, "", function()
          local x, y = filled(f32, layout(shape), 1), ct.zeros(f32, shape)
          local grid = { cdiv(shape[1] - 2, b[1]), cdiv(shape[2] - 2, b[2]),
                         cdiv(shape[3] - 2, deep) }
          return stencil_kernel(deep):prepare { grid = grid, block = b }(x, y), { x, y }
        end)
      end
    end
  end
  return out
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
  local out = {}
  for _, shape in ipairs { { 2048, 2048 }, { 8192, 8192 }, { 16384, 2048 } } do
    for _, extent in ipairs { 16, 32, 64 } do
      for _, rows in ipairs { 2, 4, 8, 16, 32 } do
        if rows <= extent and extent * rows <= 1024 then
          add(out, "transpose", shape, { tile = extent, rows = rows }, "", function()
            local x, y = filled(f32, layout(shape), 1), ct.zeros(f32, { shape[2], shape[1] })
            local grid = { shape[1] // extent, shape[2] // extent }
            return transpose_kernel(extent, rows):prepare { grid = grid,
              block = { extent, rows } }(x, y), { x, y }
          end)
        end
      end
    end
  end
  return out
end

return M
