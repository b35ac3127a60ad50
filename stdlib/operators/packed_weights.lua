-- packed_weights.lua: weights of few bits for matmul. pack_weights reorders the codes of a matrix
-- (N,K) once, or of matrices (N,K,G) of groups, so that a lane of gemm_packed.lua reads 16 bytes at
-- a time. quantize_weights finds codes of floats. A packed weight has
--   type, shape {N, K} or {N, K, G}, group  the format's name (packed_formats.lua); elements of K
--           of a scale
--   codes   u32 (4, n): 16 bytes of lane l of unit u of rows 16 s on: (_, (s n_units + u) 32 + l);
--           s counts the strips of 16 rows of all groups: each has cdiv(N, 16)
--   scales  (2, n): of rows g and g + 8 of these, and group j: (_, (s n_groups + j) 8 + g)
--   zeros   u32 (1, n) or nil: two zero points in a word, in the same order
--   most_zero  the largest of these, or 0 if it is at most formats.SMALL_ZERO
--   spread  how far scales are apart that numbers may have (packed_spread.lua)
--   device, stand_ins  where it is; tensors of its shape, by type, for what matmul checks
--   again  what matmul found for products with it (matmul_again.lua)
local arguments = require "cuttle.arguments"
local formats = require "cuttle.packed_formats"
local launches = require "cuttle.operator_steps"
local matrices = require "cuttle.packed_matrix"
local memo = require "cuttle.memo"
local on_device = require "cuttle.operator_device"
local option_names = require "cuttle.option_names"
local products = require "cuttle.matmul_packed"
local spreads = require "cuttle.packed_spread"
local tiles = require "cuttle.tiles"
local M = {}

local ROWS <const>, LANES <const>, THREADS <const> = 16, 32, 128
local LEAST_GROUP <const>, K_STEP <const> = 16, 64
local CODES_OF_WORD <const> = 8 -- of a u32 of four-bit codes
local float_types <const> = { f32 = true, f16 = true, bf16 = true }
local own_codes <const> = { f4e2m1 = true, f8e4m3 = true } -- types whose elements are codes
local narrow_scales <const> = { f8ue8m0 = true, f8ue4m3 = true } -- all are bf16, too

local function is_tensor(x) return tiles.type_name(x) == "tensor" end

-- {====== Arguments ======

local function check_matrix(op, x)
  local modes <const> = "(N,K), or (N,K,G) of groups"
  arguments.check_tensor(op, x, "W", modes, "it launches a kernel")
  if rank(x) ~= 2 and rank(x) ~= 3 then
    tiles.fail(op, "W is %s; expected %s", x.layout, modes)
  end
end

-- The codes as a matrix of bytes or of words, and whether it is of words.
local function codes_of(op, W, format)
  if W.dtype == f4e2m1 then
    if stride(W)[2] ~= 1 then
      tiles.fail(op, "W is f4e2m1 %s; expected elements that are contiguous along K", W.layout)
    end
    return recast(W, u32), true
  elseif W.dtype == u8 or W.dtype == f8e4m3 then
    return recast(W, u8), false
  elseif (W.dtype == u32 or W.dtype == i32) and format.bits == 4 then
    return W, true
  end
  tiles.fail(op, "W is %s; expected codes: u8 (N,K)%s, or floats for quantize_weights", W.dtype,
    format.bits == 4 and ", u32 or i32 (N,K/8) with the first code in the lowest bits, f4e2m1 (N,K)"
      or "")
end

-- Elements of K of a group, if there are so many groups.
local function group_of_columns(op, scales, columns, k)
  local group = k // columns
  if columns > 1 and (k % columns ~= 0 or group < LEAST_GROUP or group & group - 1 ~= 0) then
    tiles.fail(op, "scales is %s, so a group has %d elements of K = %d; expected %d, 32, 64 or a "
      .. "larger power of two, or all of K", scales.layout, group, k, LEAST_GROUP)
  end
  return group
end

-- Elements of K of each scale. Scales are of rows or of square blocks.
local function group_of(op, scales, n, k, groups)
  local columns = rank(scales) == 1 and 1 or size(scales, 1)
  local modes = groups and 3 or math.min(rank(scales), 2)
  local is_right = rank(scales) == modes and columns > 0 and k % columns == 0
    and (not groups or size(scales, 2) == groups)
    and (size(scales, 0) == n or modes > 1 and size(scales, 0) == cdiv(n, k // columns))
  if not is_right then
    local G = groups and "," .. groups or ""
    tiles.fail(op, "scales is %s; expected %s(%d,K/group%s) or, of square blocks, (%d/group,"
      .. "K/group%s), where group divides K = %d", scales.layout,
      groups and "" or ("(%d), "):format(n), n, G, n, G, k)
  end
  return group_of_columns(op, scales, columns, k)
end

-- Scales or zero points as (N, K/group, G). Those of a block are also of its other rows.
local function by_groups(t, n, k)
  if rank(t) == 1 then t = view(t, layout({ size(t), 1 }, { stride(t), 0 })) end
  t = matrices.in_groups(t)
  if size(t, 0) == n then return t end
  local extents, strides = shape(t), stride(t)
  extents[1], strides[1] = { k // size(t, 1), extents[1] }, { 0, strides[1] }
  return view(t, layout(extents, strides))
end

local function check_device(op, t, name, like, like_name)
  if t.device ~= like.device then
    tiles.fail(op, "%s is on %s but %s is on %s; expected both on one device", name, t.device,
      like_name, like.device)
  end
end

local function check_scales(op, scales, W)
  arguments.check_tensor(op, scales, "scales", "(N,K/group)", "it launches a kernel")
  if not float_types[scales.dtype.name] and not narrow_scales[scales.dtype.name] then
    tiles.fail(op, "scales are %s; expected f32, f16, bf16, f8ue8m0 or f8ue4m3", scales.dtype)
  end
  check_device(op, scales, "scales", W, "W")
end

local function check_takes_zeros(op, name, format, type_name)
  if not format.is_integer then
    tiles.fail(op, "%s are given, but the type is %s, whose codes stand for numbers of a table; "
      .. "leave them out", name, type_name)
  end
end

local function check_zeros(op, zeros, scales, format, name)
  check_takes_zeros(op, "zero_points", format, name)
  arguments.check_tensor(op, zeros, "zero_points", "of the shape of scales", "it launches a kernel")
  if zeros.dtype ~= u8 or tostring(zeros.shape) ~= tostring(scales.shape) then
    tiles.fail(op, "zero_points is %s of %s; expected u8 %s, as scales is", zeros.dtype,
      zeros.layout, tostring(layout(scales.shape)))
  end
  check_device(op, zeros, "zero_points", scales, "scales")
end

-- {====== Packing ======

-- The words of a thread's lane of a unit; rows beyond the last one are 0.
local function pack_lane(format, W, is_words, at, out)
  local rows, n_strips = size(W, 0), cdiv(size(W, 0), ROWS)
  local words = { u32(0), u32(0), u32(0), u32(0) }
  local g, c = at.lane // 4, at.lane % 4
  for i in unroll(0, formats.unit(format) * ROWS // LANES) do
    local r, k = i % 2 * 8, i // 2 -- the first lane's rows and K: 8 of each 32
    k = k // 8 * 32 + k % 8
    local _, word, bit = formats.place(format, r, k)
    local n = at.strip % n_strips * ROWS + g + r
    local code = spreads.code_at(W, is_words, min(n, rows - 1),
      at.unit * formats.unit(format) + c * 8 + k, at.strip // n_strips)
    words[word + 1] = words[word + 1] | where(n < rows, code, u32(0)) << bit
  end
  for i = 0, 3 do out[{i, at.place}] = words[i + 1] end
end

local packer = memo.by_arguments(function(name, is_words)
  local format = formats.formats[name]
  return kernel("pack_weights", function(W, out, n_units)
    local i = blockIdx.x * THREADS + threadIdx.x
    if i < size(out, 1) then
      local unit = i // LANES
      pack_lane(format, W, is_words, { lane = i % LANES, place = i, unit = unit % n_units,
        strip = unit // n_units }, out)
    end
  end)
end)

-- Pairs of rows g and g + 8 up to the last one, as they are or in a word.
local function make_pairs(to_pair)
  return kernel("pack_scales", function(from, out, last, ...)
    local i = blockIdx.x * THREADS + threadIdx.x
    if i < size(out, 1) then
      local strip, j, n_strips = i // 8 // size(from, 1), i // 8 % size(from, 1), last // ROWS + 1
      local n, group = strip % n_strips * ROWS + i % 8, strip // n_strips
      to_pair(out, i, from[{min(n, last), j, group}], from[{min(n + 8, last), j, group}], ...)
    end
  end)
end

local pack_scales = make_pairs(function(out, i, upper, lower)
  out[{0, i}], out[{1, i}] = cast(upper, out.dtype), cast(lower, out.dtype)
end)

local pack_zeros = make_pairs(function(out, i, upper, lower, large)
  local most = cast(max(upper, lower), u32)
  out[{0, i}] = cast(upper, u32) | cast(lower, u32) << 16
  if most > u32(formats.SMALL_ZERO) then atomic_max(large, 0, most) end
end)

local function launch(made, n, ...) made{grid = cdiv(n, THREADS), block = THREADS}(...) end

local Packed = {}
local packed_type = tiles.new_type("packed weight", Packed, { "zeros", "most_zero", "spread" })

local known <const> = { "scale_type", "scales", "type", "zero_points" }

-- extents: {N, K, G}
local function pack_pairs(made, from, dtype, extents, ...)
  local rows, k, groups = table.unpack(extents)
  local all = by_groups(from, rows, k)
  local n = cdiv(rows, ROWS) * (groups or 1) * 8 * size(all, 1)
  local out = on_device.new(from.device, dtype, layout{ dtype == u32 and 1 or 2, n })
  launch(made, n, all, out, rows - 1, ...)
  return out
end

-- The zero points in pairs, and the largest one, or 0 if that is small.
local function pack_points(op, points, extents, format, name)
  local large = on_device.bring(points.device, zeros(u32, 1))
  local out = pack_pairs(pack_zeros, points, u32, extents, large)
  local most = large[0]
  if most > (format.most_zero or most) then
    tiles.fail(op, "a zero point is %d, and the type is %s; expected zero points up to %d", most,
      name, format.most_zero)
  end
  return out, most
end

local function new_weight(of)
  of.device, of.stand_ins, of.again = of.codes.device, {}, {}
  return setmetatable(of, packed_type)
end

-- The type that scales are stored in.
local function scale_type_of(op, scales, wanted)
  local dtype = wanted or narrow_scales[scales.dtype.name] and bf16 or scales.dtype
  if tiles.type_name(dtype) ~= "dtype" or not float_types[dtype.name] then
    tiles.fail(op, "scale_type is %s; expected f32, f16 or bf16", tostring(dtype))
  end
  return dtype
end

--- pack_weights(W, {type =, scales =, zero_points =, scale_type =}) -> a packed weight, B of a
--- product (N,K) of matmul, or (N,K,G) of one in groups: docs/matmul.md#weights-of-few-bits.
function M.pack_weights(W, options)
  local op = "pack_weights"
  check_matrix(op, W)
  options = arguments.options(op, options, known, '{type = "u4", scales = S}')
  local name = options.type or own_codes[W.dtype.name] and W.dtype.name or nil
  local format = formats.find(op, name)
  local codes, is_words = codes_of(op, W, format)
  local n, k = size(codes, 0), size(codes, 1) * (is_words and CODES_OF_WORD or 1)
  local groups = rank(codes) == 3 and size(codes, 2) or nil
  if k % K_STEP ~= 0 or k == 0 or n == 0 or groups == 0 then
    tiles.fail(op, "W is %d x %d; expected at least one row, and a K that is a multiple of %d", n,
      k, K_STEP)
  end
  local scales = options.scales
  check_scales(op, scales, W)
  local group, extents = group_of(op, scales, n, k, groups), { n, k, groups }
  local dtype = scale_type_of(op, scales, options.scale_type)
  if options.zero_points ~= nil then
    check_zeros(op, options.zero_points, scales, format, name)
  end
  local n_units = k // formats.unit(format)
  local lanes = cdiv(n, ROWS) * (groups or 1) * n_units * LANES
  local out = on_device.new(W.device, u32, layout{ 4, lanes })
  launch(packer(name, is_words), lanes, matrices.in_groups(codes), out, n_units)
  local points, most_zero
  if options.zero_points then
    points, most_zero = pack_points(op, options.zero_points, extents, format, name)
  end
  local w = new_weight{ type = name, shape = extents, group = group, codes = out,
    scales = pack_pairs(pack_scales, scales, dtype, extents), zeros = points,
    most_zero = most_zero or 0,
    spread = spreads.find(matrices.in_groups(codes), is_words, by_groups(scales, n, k),
      { format = format, group = group, dtype = dtype }) }
  if w.device ~= "cpu" then synchronize() end -- products read it before launches before them end
  return w
end

-- {====== Weights that were stored ======

local word_types <const> = { i32 = true, u32 = true }
local expected <const> = { [word_types] = "i32 or u32", [float_types] = "f32, f16 or bf16" }

-- A tensor of one of these types with so many modes in front, seen as those of a packed weight.
local function in_lanes(op, of, name, types, rows, n)
  local t = of[name]
  arguments.check_tensor(op, t, name, "of a packed weight", "it makes one")
  check_device(op, t, name, of.codes, "codes")
  if not types[t.dtype.name] then
    tiles.fail(op, "%s are %s; expected %s", name, t.dtype, expected[types])
  elseif size(t) ~= rows * n or size(t) ~= cosize(t.layout) then
    tiles.fail(op, "%s is %s; expected %d elements, one after another", name, t.layout, rows * n)
  end
  return view(t, layout{ rows, n })
end

local function is_count(x) return math.type(x) == "integer" and x > 0 end

-- N, K and, of groups, G.
local function stored_extents(op, of)
  local list, words = type(of.shape) == "table" and of.shape or {}, {}
  local n, k, groups = table.unpack(list)
  if not (is_count(n) and is_count(k) and k % K_STEP == 0 and is_count(groups or 1)) then
    for i, extent in ipairs(list) do words[i] = tostring(extent) end
    tiles.fail(op, "shape is {%s}; expected {N, K} or {N, K, G}, whole numbers, of which K is a "
      .. "multiple of %d", table.concat(words, ", "), K_STEP)
  end
  return n, k, groups
end

local function stored_zeros(op, of, format, n)
  if of.zeros == nil then return nil, 0 end
  check_takes_zeros(op, "zeros", format, of.type)
  if math.type(of.most_zero) ~= "integer" then
    tiles.fail(op, "zeros are given, and most_zero is %s; expected that field of the same weight",
      of.most_zero)
  end
  return recast(in_lanes(op, of, "zeros", word_types, 1, n), u32), of.most_zero
end

--- weight_of{type =, shape =, codes =, scales =, zeros =, most_zero =, spread =} -> the packed
--- weight with these fields of another one, whose tensors may be flat, and codes and zeros i32.
function M.weight_of(of)
  local op = "weight_of"
  if type(of) ~= "table" then
    tiles.fail(op, "%s instead of the fields of a packed weight", tiles.type_name(of))
  end
  local format = formats.find(op, of.type)
  local n, k, groups = stored_extents(op, of)
  local n_strips = cdiv(n, ROWS) * (groups or 1)
  local n_pairs = 8 * n_strips
  local codes = in_lanes(op, of, "codes", word_types, 4,
    n_strips * (k // formats.unit(format)) * LANES)
  arguments.check_tensor(op, of.scales, "scales", "of a packed weight", "it makes one")
  local columns = math.max(size(of.scales) // (2 * n_pairs), 1)
  local scales = in_lanes(op, of, "scales", float_types, 2, n_pairs * columns)
  local zeros, most_zero = stored_zeros(op, of, format, n_pairs * columns)
  return new_weight{ type = of.type, shape = { n, k, groups }, scales = scales, zeros = zeros,
    group = group_of_columns(op, of.scales, columns, k), codes = recast(codes, u32),
    most_zero = most_zero, spread = of.spread or spreads.NONE }
end

-- {====== Its methods ======

--- The weight as a tensor (N,K) or (N,K,G) of f16 or bf16, row-major: numbers times scales, rounded
--- once.
function Packed:dequantize(dtype)
  if dtype ~= f16 and dtype ~= bf16 then
    tiles.fail("dequantize", "the type is %s; expected f16 or bf16", tostring(dtype))
  end
  local out = on_device.new(self.device, dtype, matrices.layout(self.shape))
  launches.run{ matrices.step(self, out) }
  return out
end

--- A copy of the packed weight on another device.
function Packed:to(device)
  local copy = setmetatable({}, packed_type)
  for key, value in pairs(self) do
    copy[key] = is_tensor(value) and value:to(device) or value
  end
  copy.device, copy.stand_ins, copy.again = copy.codes.device, {}, {}
  return copy
end

--- "packed weight u4 (4096,4096) in groups of 128, scales bf16, zero points, cuda:0"
function packed_type.__tostring(w)
  return ("packed weight %s (%s) in groups of %d, scales %s, %s%s"):format(w.type,
    table.concat(w.shape, ","), w.group, w.scales.dtype, w.zeros and "zero points, " or "",
    w.device)
end

packed_type.__tensors = { "codes", "scales", "zeros" } -- what an exported function takes
packed_type.__operators = {
  matmul = products.matmul, ["prepare matmul"] = products.prepare,
  ["explain matmul"] = products.explain, ["tune matmul"] = products.tune,
}

-- {====== Codes of floats ======

local WORST <const> = 1e-30 -- a group of zeros is divided by something

-- The code whose number is nearest; of two, the first.
local function nearest(format, x)
  if format.code then return format.code(x) end
  local best, least = u32(0), abs(x - format.value(0))
  for code = 1, 15 do
    local apart = abs(x - format.value(code))
    local is_nearer = apart < least
    best, least = where(is_nearer, u32(code), best), where(is_nearer, apart, least)
  end
  return best
end

-- Scale and zero point of a group whose numbers are from low to high.
local function range_of(format, low, high, has_zeros)
  local most = max(max(-low, high), WORST)
  if not format.is_integer then return most / (format.most or 1.0), 0.0 end
  local last = (1 << format.bits) - 1.0
  if not has_zeros then return most * (2.0 / last), format.zero + 0.0 end
  low, high = min(low, 0.0), max(high, 0.0)
  local scale = max(high - low, WORST) / last
  return scale, min(max(rint(-low / scale), 0.0), last)
end

local quantizer = memo.by_arguments(function(name, has_zeros)
  local format = formats.formats[name]
  return kernel("quantize_weights",
    function(W, codes, scales, zeros, group)
      local i = blockIdx.x * THREADS + threadIdx.x
      local n, all = i % size(W, 0), i // size(W, 0)
      local j, g = all % size(scales, 1), all // size(scales, 1)
      if g < size(W, 2) then
        local low, high = f32(math.huge), f32(-math.huge)
        for k in range(group) do
          local v = cast(W[{n, j * group + k, g}], f32)
          low, high = min(low, v), max(high, v)
        end
        local exact, zero = range_of(format, low, high, has_zeros)
        local scale = cast(exact, scales.dtype)
        scales[{n, j, g}] = scale
        if has_zeros then zeros[{n, j, g}] = cast(zero, u8) end
        local wide = cast(scale, f32)
        local factor = where(wide > 0.0, 1.0 / wide, 0.0)
        for k in range(group) do
          local x = cast(W[{n, j * group + k, g}], f32) * factor
          local code
          if format.is_integer then
            code = min(max(rint(x) + zero, 0.0), (1 << format.bits) - 1.0)
          else
            code = nearest(format, x)
          end
          codes[{n, j * group + k, g}] = cast(code, u8)
        end
      end
    end)
end)

local known_ways <const> = { group = true, scale_type = true, type = true,
                             zero_points = option_names.flag }

--- quantize_weights(W, {type =, group =, zero_points = true, scale_type =}) -> codes u8 (N,K),
--- scales (N,K/group) and, if zero_points is true, zero points, for pack_weights; of W (N,K,G) with
--- a third mode. The largest element that has a scale decides it.
function M.quantize_weights(W, options)
  local op = "quantize_weights"
  check_matrix(op, W)
  options = arguments.options(op, options, known_ways, '{type = "u4", group = 128}')
  local format = formats.find(op, options.type)
  local n, k = size(W, 0), size(W, 1)
  local group, has_zeros = options.group or 128, options.zero_points or false
  if not float_types[W.dtype.name] then
    tiles.fail(op, "W is %s; expected f32, f16 or bf16", W.dtype)
  elseif math.type(group) ~= "integer" or group < 1 or k % group ~= 0 then
    tiles.fail(op, "group is %s; expected a number of elements that divides K = %d",
      tostring(group), k)
  elseif has_zeros and not format.is_integer then
    tiles.fail(op, "zero_points are asked for, but codes of %s stand for numbers of a table",
      options.type)
  end
  local dtype = options.scale_type or W.dtype
  local function made(type, columns)
    return on_device.new(W.device, type,
      matrices.layout{ n, columns, rank(W) == 3 and size(W, 2) or nil })
  end
  local codes, scales = made(u8, k), made(dtype, k // group)
  local zeros = has_zeros and made(u8, k // group) or nil
  local in_groups = matrices.in_groups
  launch(quantizer(options.type, has_zeros), size(scales), in_groups(W), in_groups(codes),
    in_groups(scales), in_groups(zeros or codes), group)
  return codes, scales, zeros
end

return M
