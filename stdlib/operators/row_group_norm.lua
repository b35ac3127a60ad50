-- row_group_norm.lua: group norm of (images, channels, ...), forward and backward. A group of
-- channels of an image is a row; an image's elements lie without gaps, channels first.
local arguments = require "cuttle.arguments"
local memo = require "cuttle.memo"
local on_device = require "cuttle.operator_device"
local operator = require "cuttle.row_operator"
local tiles = require "cuttle.tiles"
local M = {}

local op <const> = "group_norm"
local known_options <const> = { "out", "stream" }

local function fail(format, ...) tiles.fail(op, format, ...) end

-- {====== Kernels ======

-- The parameter of the element's channel. A group has `channels`, each with `pixels`, and rows are
-- (images, groups).
local function of_channel(row, list, groups, channels, pixels)
  return cast(list[row:index() % groups * channels + row:column() // pixels], f32)
end

-- By pixels of a channel, so that no element divides by a number of the run time.
local forward_for = memo.by_arguments(function(pixels)
  return row_kernel("group_norm", function(row, x, weight, bias, groups, channels, epsilon)
    local mean, variance = row:mean_and_variance(x)
    local scale = rsqrt(variance + epsilon)
    local w = of_channel(row, weight, groups, channels, pixels)
    local b = of_channel(row, bias, groups, channels, pixels)
    return (x - mean) * scale * w + b, row:once(mean), row:once(scale)
  end, { tables = { "weight", "bias" } })
end)

local backward_for = memo.by_arguments(function(pixels)
  return row_kernel("group_norm_backward",
    function(row, dy, x, weight, mean, scale, groups, channels)
      local normal = (x - mean) * scale
      local g = dy * of_channel(row, weight, groups, channels, pixels)
      local mean_g, mean_gn = row:mean(g, g * normal)
      return (g - mean_g - normal * mean_gn) * scale
    end, { tables = { "weight" } })
end)

-- Of each channel of an image: what it adds to the gradients of weight and bias.
local of_image = row_kernel("group_norm_of_image", function(row, dy, x, mean, scale)
  local dw, db = row:sum(dy * (x - mean) * scale, dy)
  return row:once(dw), row:once(db)
end)

local over_images = row_kernel("group_norm_over_images", function(row, dw, db)
  return row:column_sum(dw), row:column_sum(db)
end)

-- {====== Calls ======

-- Is the tensor's memory that of images without gaps, channels first?
local function is_packed(t)
  local n = 1
  for i = rank(t) - 1, 1, -1 do
    if size(t, i) > 1 and stride(t)[i + 1] ~= n then return false end
    n = n * size(t, i)
  end
  return true
end

-- The images of x: how many, their groups, the channels of a group, the pixels of a channel.
local function read(x, groups)
  arguments.check_tensor(op, x, "x", "(images, channels, ...)", "it launches kernels itself")
  x = arguments.plain(op, x, "x")
  if rank(x) < 2 or not is_packed(x) then
    fail("x is %s; expected (images, channels, ...), channels first and each image without gaps",
      x.layout)
  elseif math.type(groups) ~= "integer" or groups < 1 or size(x, 1) % groups ~= 0 then
    fail("groups is %s and x has %d channels; expected a number that divides them",
      tostring(groups), size(x, 1))
  end
  local pixels = 1
  for i = 2, rank(x) - 1 do pixels = pixels * size(x, i) end
  return { images = size(x, 0), groups = groups, channels = size(x, 1) // groups, pixels = pixels,
    x = x, device = x.device }
end

-- The tensor without modes of modes; it has to be like p.x.
local function like_x(t, p, name)
  arguments.check_tensor(op, t, name, "of x's shape", "it launches kernels itself")
  local plain = arguments.plain(op, t, name)
  if plain.shape ~= p.x.shape or not is_packed(plain) then
    fail("%s is %s; expected x's shape %s, and each image without gaps", name, t.layout, p.x.shape)
  end
  return plain
end

local function check_channels(t, p, name)
  arguments.check_tensor(op, t, name, "(channels)", "it launches kernels itself")
  if rank(t) ~= 1 or size(t) ~= p.groups * p.channels then
    fail("%s is %s; expected (%d), one for each channel", name, t.shape, p.groups * p.channels)
  end
end

-- (images, groups, columns), from images that lie as far apart as t's do.
local function as_groups(t, p)
  local columns = p.channels * p.pixels
  local apart = type(stride(t)) == "table" and stride(t)[1] or stride(t)
  return view(t, layout({ p.images, p.groups, columns }, { apart, columns, 1 }))
end

-- (images, groups, channels of a group, pixels).
local function as_channels(t, p)
  local columns = p.channels * p.pixels
  return view(t, layout({ p.images, p.groups, p.channels, p.pixels },
    { stride(t)[1], columns, p.pixels, 1 }))
end

-- What a group has, for each of its channels.
local function spread(t, p)
  local d = stride(t)
  return view(t, layout({ p.images, p.groups, p.channels, 1 }, { d[1], d[2], 0, 0 }))
end

local function new(p, dtype, ...) return on_device.new(p.device, dtype, row_major { ... }) end

-- The options of a call: its three results, if they are given, and its stream.
local function read_options(options)
  options = arguments.options(op, options or {}, known_options, "{stream = s}")
  return arguments.results(op, options.out, 3) or {}, options.stream
end

-- A result of x's shape: the given one, or a new one.
local function result_like(given, p, name)
  if given then return like_x(given, p, name) end
  local extents = {}
  for i = 1, rank(p.x) do extents[i] = size(p.x, i - 1) end
  return on_device.new(p.device, p.x.dtype, row_major(extents))
end

--- group_norm(x, groups, weight, bias, epsilon) -> y, and the mean and 1 / standard deviation of
--- each group, (images, groups, 1). x is (images, channels, ...), weight and bias are (channels).
function M.group_norm(x, groups, weight, bias, epsilon, options)
  local p = read(x, groups)
  check_channels(weight, p, "weight")
  check_channels(bias, p, "bias")
  local out, stream = read_options(options)
  local y, mean = result_like(out[1], p, "out[1]"), out[2] or new(p, f32, p.images, groups, 1)
  local scale = out[3] or new(p, f32, p.images, groups, 1)
  forward_for(p.pixels)(as_groups(p.x, p), weight, bias, groups, p.channels, epsilon,
    { out = { as_groups(y, p), mean, scale }, stream = stream })
  return out[1] or y, mean, scale
end

--- group_norm_backward(dy, x, groups, weight, mean, scale) -> dx, dweight, dbias
M.group_norm_backward = operator.new("group_norm_backward",
  function(launch, dy, x, groups, weight, mean, scale, options)
    local p = read(x, groups)
    dy = like_x(dy, p, "dy")
    check_channels(weight, p, "weight")
    local out = read_options(options)
    local dx = result_like(out[1], p, "out[1]")
    local sums, dtype = {}, x.dtype == f64 and f64 or f32
    for i = 1, 2 do
      sums[i] = on_device.scratch(p.device, dtype, row_major { p.images, p.groups, p.channels, 1 })
    end
    launch.rows(of_image, as_channels(dy, p), as_channels(p.x, p), spread(mean, p),
      spread(scale, p), { out = sums })
    -- Last of what reads dy and x, as dx may take the place of one of them.
    launch.rows(backward_for(p.pixels), as_groups(dy, p), as_groups(p.x, p), weight, mean, scale,
      groups, p.channels, { out = as_groups(dx, p) })
    local all = row_major { p.images, groups * p.channels }
    return out[1] or dx, launch.rows(over_images, view(sums[1], all), view(sums[2], all),
      { out = out[2] and { out[2], out[3] } })
  end)

return M
