-- packed_matrix.lua: a packed weight (packed_weights.lua) as a matrix of f16 or bf16 again, or as
-- the matrices of its groups: each number times its scale, rounded once.
local formats = require "cuttle.packed_formats"
local memo = require "cuttle.memo"
local M = {}

local ROWS <const>, LANES <const>, THREADS <const> = 16, 32, 128

--- The layout of a matrix (N,K), or of matrices (N,K,G), row-major each.
function M.layout(extents)
  local n, k, groups = table.unpack(extents)
  return groups and layout({ n, k, groups }, { k, 1, n * k }) or row_major{ n, k }
end

--- A matrix as one of one group, (N,K,1); others are as they are.
function M.in_groups(t)
  if rank(t) == 3 then return t end
  local extents, strides = shape(t), stride(t)
  return view(t, layout({ extents[1], extents[2], 1 }, { strides[1], strides[2], 0 }))
end

-- A lane's eight elements of rows g or g + 8: of the pairs of two tiles.
local function put_row(to, operands, first, scale)
  local v = fragment(f32, 8)
  for u = 0, 1 do
    for half = 0, 1 do
      local pair = recast(operands[u + 1], to.dtype)
      local at = 2 * (first + 2 * half)
      v[4 * u + 2 * half] = cast(pair[at], f32) * scale
      v[4 * u + 2 * half + 1] = cast(pair[at + 1], f32) * scale
    end
  end
  copy(cast(v, to.dtype), to)
end

-- The numbers of tile i of a lane's words.
local function tile_of(format, dtype, words, i, zero)
  local A, per_tile = fragment(u32, 4), formats.words(format)
  A[0], A[1], A[2], A[3] = format.operand(dtype, function(n) return words[i * per_tile + n] end,
    zero)
  return A
end

local function dequantize_lane(format, w, at, out)
  local words = fragment(u32, 4)
  copy(w.codes(_, at.place), words)
  local g, c = at.lane // 4, at.lane % 4
  for h = 0, format.tiles // 2 - 1 do
    local k = at.unit * formats.unit(format) + 32 * h + 8 * c
    local pair = (at.strip * w.n_groups + k // w.group) * 8 + g
    local points
    if w.zeros then points = w.zeros[{0, pair}] end
    local zero = format.zeros(out.dtype, points)
    local made = { tile_of(format, out.dtype, words, 2 * h, zero),
                   tile_of(format, out.dtype, words, 2 * h + 1, zero) }
    for r = 0, 1 do
      local n = at.strip % w.n_strips * ROWS + g + 8 * r
      if n < size(out, 0) then
        put_row(tile(out(n, _, at.strip // w.n_strips), {8}, {k // 8}), made, r,
          cast(w.scales[{r, pair}], f32))
      end
    end
  end
end

local dequantizer = memo.by_arguments(function(name, has_zeros)
  local format = formats.formats[name]
  return kernel("dequantize_weights",
    function(codes, scales, zeros, out, group)
      local i = blockIdx.x * THREADS + threadIdx.x
      if i < size(codes, 1) then
        local n_units = size(out, 1) // formats.unit(format)
        local w = { codes = formats.static(codes, 4), scales = formats.static(scales, 2),
                    zeros = has_zeros and formats.static(zeros, 1), group = group,
                    n_groups = size(out, 1) // group, n_strips = cdiv(size(out, 0), ROWS) }
        dequantize_lane(format, w, { lane = i % LANES, place = i, unit = i // LANES % n_units,
          strip = i // LANES // n_units }, out)
      end
    end)
end)

--- The step that writes the weight to a tensor of f16 or bf16 that has M.layout.
function M.step(w, out, stream)
  local n = size(w.codes, 1)
  return { kernel = dequantizer(w.type, w.zeros ~= nil),
           launch = { grid = cdiv(n, THREADS), block = THREADS, stream = stream },
           args = { w.codes, w.scales, w.zeros or w.codes, M.in_groups(out), w.group } }
end

return M
