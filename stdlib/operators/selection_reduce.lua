-- selection_reduce.lua: what the elements of each segment make: a warp for each segment, or a block
-- if segments are long. The order of operations depends on the sizes alone.
local call = require "cuttle.selection_call"
local compacts = require "cuttle.selection_compact"
local memo = require "cuttle.memo"
local scans = require "cuttle.selection_scan"
local segments = require "cuttle.selection_segments"
local M = {}

local op <const> = "segment_reduce"
local THREADS <const>, LANES <const> = 256, 32
local WARPS <const> = THREADS // LANES
local LONG <const> = 512 -- elements of a segment for which a block is better, on average

-- What a warp's elements from first to last - 1 make. A function of the script combines neighbours
-- in their order, as it need not commute.
local function of_warp(c, x, first, last, init)
  local lane, all = threadIdx.x % LANES, init
  if c.commutes then
    for i in range(first + lane, last, LANES, { unroll = 4 }) do
      all = cast(c.f(all, call.number(x[i], c.sums)), c.sums)
    end
    return warp_reduce(all, c.f)
  end
  local function in_order(a, b) return { v = cast(c.f(a.v, b.v), c.sums) } end
  for start in range(first, last, LANES) do
    local v = init
    if start + lane < last then v = call.number(x[start + lane], c.sums) end
    local part = warp_reduce({ v = v }, in_order)
    all = cast(c.f(all, part.v), c.sums)
  end
  return all
end

-- c: f, sums, commutes, is_long, counts (how many segments there are is known on the device).
local function make(c)
  return kernel(op, function(x, y, offsets, count, init)
    local warp, identity = threadIdx.x // LANES, cast(init, c.sums)
    local n_segments = size(offsets) - 1
    if count then n_segments = cast(count[0], i32) end
    local s = c.is_long and blockIdx.x or blockIdx.x * WARPS + warp
    if s < n_segments then
      local first, last = offsets[s], call.like(size(x), offsets[s])
      if not count or s + 1 < n_segments then last = offsets[s + 1] end
      if not c.is_long then
        local all = of_warp(c, x, first, last, identity)
        if threadIdx.x % LANES == 0 then y[s] = cast(all, y.dtype) end
      else
        local parts, each = shared(c.sums, WARPS), cdiv(last - first, WARPS)
        local from = min(first + each * warp, last)
        local part = of_warp(c, x, from, min(from + each, last), identity)
        if threadIdx.x % LANES == 0 then parts[warp] = part end
        sync_threads()
        if threadIdx.x == 0 then
          local all = parts[0]
          for w = 1, WARPS - 1 do all = cast(c.f(all, parts[w]), c.sums) end
          y[s] = cast(all, y.dtype)
        end
      end
    end
  end)
end

local kernel_of = memo.by_fields({ "sums", "is_long", "counts" }, make, "f")

-- {====== Calls ======

-- Where the segments begin, how many there are at most, the tensor that says how many, and steps.
local function read_segments(x, options)
  if (options.offsets == nil) == (options.heads == nil) then
    call.fail(op, "expected one of the options offsets and heads")
  elseif #x.extent ~= 1 then
    call.fail(op, "x is (%s); expected one mode", table.concat(x.extent, ","))
  elseif options.offsets ~= nil then
    local offsets = segments.offsets(op, options.offsets, x)
    return { offsets = offsets.flat, n = offsets.n - 1, memory = offsets, steps = {} }
  end
  local heads = segments.heads(op, options.heads, x)
  return { heads = heads, n = x.n, memory = heads }
end

local function plan(options, given, how)
  how = how or "add"
  local x = call.whole(op, given, "x")
  local sums = call.type_of_sums(x.tensor.dtype)
  local f = scans.function_of(op, how, sums)
  local init = scans.identity_of(op, how, sums, options.init)
  local s = read_segments(x, options)
  local narrow, place = x.tensor.dtype, x.n < 1 << 31 and i32 or i64
  local wanted = { { dtype = narrow.is_float and narrow or sums, shape = { s.n } } }
  if s.heads then wanted[2] = { dtype = place, shape = { 1 }, only = true } end
  local found, tensors = call.results(op, options, x, wanted, { x, s.memory })
  local count = found[2] and found[2].flat
  if s.heads then
    s.offsets = call.work(x, place, x.n)
    s.steps = compacts.head_steps(x, s.heads, s.offsets, count)
  end
  if s.n == 0 then return s.steps, tensors end
  local c = { f = f, sums = sums, commutes = type(how) == "string", counts = s.heads ~= nil,
    is_long = not s.heads and x.n // s.n >= LONG }
  s.steps[#s.steps + 1] = { kernel = kernel_of(c),
    args = { n = 5, x.flat, found[1].flat, s.offsets, count, init },
    launch = { grid = c.is_long and s.n or cdiv(s.n, WARPS), block = THREADS } }
  return s.steps, tensors
end

--- segment_reduce(x[, operation], options) -> what each segment makes; with heads also how many
M.segment_reduce = call.define(op, 2, { "heads", "init", "offsets" }, "{offsets = t}", plan)

return M
