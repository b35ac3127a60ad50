-- runs.lua: what moves in a step that is no collective on whole buffers: local copies, messages of
-- send_recv, and parts that permute sends. It numbers places in the memory of parts; it moves
-- nothing.
--   source(step, rank)          permute: the rank whose part this one receives
--   blocks(from, to, src, dst)  what rank dst needs in `to` and rank src has in `from`, as blocks
--   messages(from, to, dst)     list of {rank = src, blocks = blocks}: where dst gets its part
-- A block is {shape = {...}, src = offset, src_stride = {...}, dst = offset, dst_stride = {...}}:
-- offsets and strides in elements of the two parts. Blocks never touch padding.
local ct = require "cuttle"
local shardings = require "cuttle.sharding"
local M = {}

-- {====== Factors as ranges of a mode ======

-- The factors of a mode with their weights; of axes the rank's digit, of memory the stride.
local function pieces_of(s, mode, rank, strides)
  local out, weight = {}, 1
  for _, factor in ipairs(s.modes[mode]) do
    out[#out + 1] = { weight = weight, extent = factor.extent, stride = strides[factor],
                      digit = factor.axis and s.mesh:digit(rank, factor.axis) }
    weight = weight * factor.extent
  end
  return out
end

-- All weights of both in order; nil if they do not divide one another.
local function weights_of(a, b)
  local all, out = {}, {}
  for _, list in ipairs { a, b } do
    for _, piece in ipairs(list) do
      if piece.extent > 1 then all[#all + 1] = piece.weight end
    end
  end
  table.sort(all)
  for _, weight in ipairs(all) do
    local last = out[#out] or 1
    if weight % last ~= 0 then return nil end
    if weight ~= last or #out == 0 then out[#out + 1] = weight end
  end
  if out[1] ~= 1 then table.insert(out, 1, 1) end
  return out
end

-- The part of a factor that one digit of the common weights is: its given digit, or its stride.
local function digits_of(pieces, weights)
  local out, k = {}, 1
  for j, piece in ipairs(pieces) do
    local finish = piece.weight * piece.extent
    local is_last = j == #pieces
    while weights[k] and (weights[k] < finish or is_last) do
      local step, above = weights[k] // piece.weight, weights[k + 1]
      local digit = piece.digit and piece.digit // step
      if digit and above and above <= finish then digit = digit % (above // weights[k]) end
      out[k] = { digit = digit, stride = piece.stride and piece.stride * step }
      k = k + 1
    end
  end
  return out
end

-- {====== Modes whose factors divide one another ======

-- The box of the digits below k, of `n` choices of digit k, and of the digits above as they are in
-- the bound. nil if a given digit is another one.
local function box_of(d, k, n)
  local box = { src = 0, dst = 0, dims = {} }
  for j = #d.weights, 1, -1 do
    local src, dst = d.src[j], d.dst[j]
    local fixed = src.digit or dst.digit
    if src.digit and dst.digit and src.digit ~= dst.digit then return nil end
    local extent = j == k and n or d.extents[j]
    if j > k then
      if fixed and fixed ~= d.bound[j] then return nil end
      fixed = d.bound[j]
    elseif fixed and fixed >= extent then
      return nil
    end
    if fixed then
      box.src = box.src + fixed * (src.stride or 0)
      box.dst = box.dst + fixed * (dst.stride or 0)
    else
      table.insert(box.dims, 1, { extent, src.stride, dst.stride })
    end
  end
  return box
end

-- The boxes of all places below the extent of a mode: those with a smaller digit k than the extent
-- has, and the same digits above, for each k.
local function boxes_by_digits(extent, weights, a, b)
  local d = { weights = weights, src = digits_of(a, weights), dst = digits_of(b, weights),
              bound = {}, extents = {} }
  local rest, boxes = extent, {}
  for k = #weights, 1, -1 do
    d.bound[k], rest = rest // weights[k], rest % weights[k]
    d.extents[k] = weights[k + 1] and weights[k + 1] // weights[k]
  end
  for k = #weights, 1, -1 do
    local box = d.bound[k] > 0 and box_of(d, k, d.bound[k])
    if box then boxes[#boxes + 1] = box end
  end
  return boxes
end

-- {====== Other modes: run by run ======

-- The runs of a part's mode in order: {first =, last =, at = offset, stride =}.
local function runs_of(pieces, extent)
  local out = {}
  local function go(j, first, at)
    if j == 1 then
      local p = pieces[1]
      if p.digit then
        out[#out + 1] = { first = first + p.digit, last = first + p.digit + 1, at = at, stride = 0 }
      else
        out[#out + 1] = { first = first, last = first + p.extent, at = at, stride = p.stride }
      end
      return
    end
    local p = pieces[j]
    if p.digit then return go(j - 1, first + p.digit * p.weight, at) end
    for i = 0, p.extent - 1 do
      if first + i * p.weight >= extent then break end
      go(j - 1, first + i * p.weight, at + i * p.stride)
    end
  end
  go(#pieces, 0, 0)
  return out
end

local function boxes_by_runs(extent, a, b)
  local boxes, runs_a, runs_b, i, j = {}, runs_of(a, extent), runs_of(b, extent), 1, 1
  while runs_a[i] and runs_b[j] do
    local x, y = runs_a[i], runs_b[j]
    local first = math.max(x.first, y.first)
    local last = math.min(x.last, y.last, extent)
    if first < last then
      boxes[#boxes + 1] = { src = x.at + (first - x.first) * x.stride,
                            dst = y.at + (first - y.first) * y.stride,
                            dims = { { last - first, x.stride, y.stride } } }
    end
    if x.last <= y.last then i = i + 1 else j = j + 1 end
  end
  return boxes
end

local function boxes_of(extent, a, b)
  local weights = weights_of(a, b)
  if weights then return boxes_by_digits(extent, weights, a, b) end
  return boxes_by_runs(extent, a, b)
end

-- {====== Blocks ======

-- A box of each mode as one block. Dimensions that lie one after another in both parts become one.
local function block_of(boxes)
  local block = { shape = {}, src = 0, src_stride = {}, dst = 0, dst_stride = {} }
  for _, box in ipairs(boxes) do
    block.src, block.dst = block.src + box.src, block.dst + box.dst
    for _, dim in ipairs(box.dims) do
      local n, extent = #block.shape, block.shape[#block.shape]
      if n > 0 and block.src_stride[n] * extent == dim[2] and
        block.dst_stride[n] * extent == dim[3] then
        block.shape[n] = extent * dim[1]
      elseif dim[1] > 1 then
        block.shape[n + 1], block.src_stride[n + 1], block.dst_stride[n + 1] = table.unpack(dim)
      end
    end
  end
  return block
end

-- All choices of one box for each mode.
local function blocks_of(lists)
  local out, chosen = {}, {}
  local function go(i)
    if i > #lists then
      out[#out + 1] = block_of(chosen)
      return
    end
    for _, box in ipairs(lists[i]) do
      chosen[i] = box
      go(i + 1)
    end
  end
  go(1)
  return out
end

--- What rank `dst` needs for its part in `to` and rank `src` has in `from`.
function M.blocks(from, to, src, dst)
  local lists, from_strides, to_strides = {}, shardings.strides(from), shardings.strides(to)
  for i, extent in ipairs(from.shape) do
    lists[i] = boxes_of(extent, pieces_of(from, i, src, from_strides),
      pieces_of(to, i, dst, to_strides))
    if #lists[i] == 0 then return {} end
  end
  return blocks_of(lists)
end

--- The two layouts of a block: in the part that it comes from, and in the one that it goes to.
function M.layouts(block)
  if #block.shape == 0 then return ct.L"1:0", ct.L"1:0" end
  return ct.layout(block.shape, block.src_stride), ct.layout(block.shape, block.dst_stride)
end

--- Where rank `dst` gets its part in `to`: {rank =, blocks =} by rank, from itself too. Of copies
--- it takes those of the rank that differs from it on the fewest axes.
function M.messages(from, to, dst)
  local axes, out = {}, {}
  for name in pairs(shardings.sharding_axes(from)) do axes[#axes + 1] = name end
  local group = from.mesh:group(dst, axes)
  table.sort(group)
  for _, src in ipairs(group) do
    local blocks = M.blocks(from, to, src, dst)
    if #blocks > 0 then out[#out + 1] = { rank = src, blocks = blocks } end
  end
  return out
end

-- {====== Whole parts ======

-- The axis of each factor of a sharding by its place; of `axes` those that shard nothing, in order.
local function places_of(s, axes)
  local at, rest = {}, {}
  for i, factors in ipairs(s.modes) do
    local weight = 1
    for _, factor in ipairs(factors) do
      if factor.axis then at[i .. ":" .. weight] = factor.axis end
      weight = weight * factor.extent
    end
  end
  local used = shardings.sharding_axes(s)
  for _, name in ipairs(axes) do
    if not used[name] then rest[#rest + 1] = name end
  end
  return at, rest
end

--- The rank whose part rank `dst` receives in a permute: an axis of the source that is where
--- another one is in the target has that one's coordinate. At most one of the step's axes shards
--- nothing in the source, and one in the target: these two correspond as well.
function M.source(step, dst)
  local before, rest = places_of(step.from, step.axes)
  local after, new_rest = places_of(step.to, step.axes)
  local coord = step.from.mesh:coord(dst)
  local new = step.from.mesh:coord(dst)
  for place, name in pairs(before) do new[name] = coord[after[place]] end
  for i, name in ipairs(rest) do new[name] = coord[new_rest[i]] end
  return step.from.mesh:rank(new)
end

return M
