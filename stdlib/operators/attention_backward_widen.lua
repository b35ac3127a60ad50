-- attention_backward_widen.lua: gradients of attention whose operands are of f8e4m3 and dO of a
-- wider type. Q, K and V, times their scales, become tensors of dO's type, by a launch each before
-- all others; the kernels are those of that type. dQ, dK and dV are the gradients of these tensors:
-- those of the operands without rounding, so a master copy in a wider type can take them.
local memo = require "cuttle.memo"
local rows_of = require "cuttle.attention_backward_rows"
local scales = require "cuttle.attention_scales"
local M = {}

local WIDTH <const>, THREADS <const> = 8, 256 -- WIDTH: elements of depth of a thread

-- Block z is of sequence z, whose first row and number of rows `places` (2,n) has where packed.
local function make(variant)
  local width = variant.width
  return kernel("attention_backward_widen", function(x, wide, scale, places)
    local chunks, h, b = size(x, 1) // width, blockIdx.y, blockIdx.z
    local i = blockIdx.x * THREADS + threadIdx.x
    local row, chunk, first, n, batch = i // chunks, i % chunks, 0, size(x, 0), b
    if variant.packed then first, n, batch = places[{0, b}], places[{1, b}], 0 end
    if row < n then
      local function piece_of(t) return tile(t(first + row, _, h, batch), {width}, {chunk}) end
      local narrow = fragment(x.dtype, width)
      copy(piece_of(x), narrow)
      local own = cast(narrow, f32)
      if variant.scaled then axpby(scales.of_token(scale, row, h, b), own, 0, own) end
      copy(cast(own, wide.dtype), piece_of(wide))
    end
  end)
end

local kernel_of = memo.by_fields({ "width", "packed", "scaled" }, make)

-- Of packed sequences: where their rows begin, and how many there are, by fields of p.sequences.
local function places_of(p, first, count)
  local list = {}
  for i, s in ipairs(p.sequences) do list[i] = { s[first], s[count] } end
  return select(from_table(i32, list):to(p.device), 1, 0)
end

-- The wide tensor of x (S,D,H,B), and its launch.
local function widened(p, x, scale, first, count)
  local n, depth, heads, batches = table.unpack(shape(x))
  local wide = select(rows_of.new(p, { depth, n, heads, batches }, p.dO.dtype), 1, 0, 2, 3)
  local variant = { width = depth % WIDTH == 0 and WIDTH or 1, packed = p.sequences ~= nil,
                    scaled = scale ~= nil }
  local places = variant.packed and places_of(p, first, count) or wide
  local n_sequences = p.sequences and #p.sequences or batches
  return wide, { kernel = kernel_of(variant), args = { x, wide, scale or wide, places },
    launch = { grid = { cdiv(p[count] * (depth // variant.width), THREADS), heads, n_sequences },
               block = THREADS, stream = p.stream } }
end

--- Are there operands to widen?
function M.is_for(p) return p.dtype == f8e4m3 and p.dO.dtype ~= f8e4m3 end

--- The launches; p's operands and type become the wide ones.
function M.steps(p)
  local steps, of = {}, p.scales or {}
  p.Q, steps[1] = widened(p, p.Q, of.q, "q", "n_q")
  p.K, steps[2] = widened(p, p.K, of.k, "k", "n_k")
  p.V, steps[3] = widened(p, p.V, of.v, "k", "n_k")
  p.dtype, p.scales = p.dO.dtype, nil
  return steps
end

return M
