-- selection_segments.lua: segments of a vector: where they begin. They are given as `heads`, a
-- tensor that is not 0 where a segment begins; as `offsets`, an i32 or i64 tensor with the place of
-- each segment's first element and, last, of the end; or as the rows of a tensor.
local call = require "cuttle.selection_call"
local M = {}

local WORD <const>, THREADS <const> = 32, 256
local head_types <const> = { bool, u8, i8, i32, u32 }
local offset_types <const> = { i32, i64 }

-- Sets the bit of each segment's first element, and of the first one beyond them all. An empty
-- segment begins where the next one does.
local mark_heads = kernel("mark_heads", function(offsets, n, bits)
  local s = blockIdx.x * THREADS + threadIdx.x
  if s < size(offsets) then
    local at = cast(offsets[s], i64)
    if at < n then atomic_or(bits, at // WORD, u32(1) << cast(at % WORD, u32)) end
  end
end)

--- Offsets as call.vector describes them, of at least one number.
function M.offsets(op, x, like)
  local t = call.vector(op, x, "offsets", like, offset_types)
  if t.n == 0 then
    call.fail(op, "offsets is empty; expected the place of each segment's first element, and of "
      .. "the end")
  end
  return t
end

--- Heads as call.vector describes them, one for each element of `like`.
function M.heads(op, x, like) return call.vector(op, x, "heads", like, head_types, like.n) end

-- The heads as bits, and the steps that make them.
local function marked(x, offsets)
  local bits = call.work(x, u32, cdiv(x.n, WORD))
  return { kind = "bits", tensor = bits }, { call.clear(bits),
    { kernel = mark_heads, args = { offsets.flat, i64(x.n), bits },
      launch = { grid = cdiv(offsets.n, THREADS), block = THREADS } } }
end

--- Where the segments of x begin by the options heads and offsets, or by its rows: {kind =,
--- tensor =, columns =, memory =}, or nil if x is one segment; and steps that must run before.
function M.read(op, x, options)
  if options.heads ~= nil and options.offsets ~= nil then
    call.fail(op, "heads and offsets; give one of them")
  end
  local given = options.heads ~= nil and "heads" or options.offsets ~= nil and "offsets"
  if given and #x.extent ~= 1 then
    call.fail(op, "%s needs a tensor with one mode, but %s is (%s): its rows are segments already",
      given, x.name, table.concat(x.extent, ","))
  end
  if given == "heads" then
    local t = M.heads(op, options.heads, x)
    return { kind = "flags", tensor = t.flat, memory = t }, {}
  elseif given == "offsets" then
    local t = M.offsets(op, options.offsets, x)
    local heads, steps = marked(x, t)
    heads.memory = t
    return heads, steps
  elseif #x.extent > 1 and x.n_rows > 1 then
    return { kind = "rows", columns = x.columns }, {}
  end
  return nil, {}
end

-- Each function fills in, of a thread's run of elements, whether each begins a segment: 1 or 0.
local readers <const> = {
  rows = function(is_head, _, columns, place)
    local column = call.like(place % columns, columns)
    for i = 0, size(is_head) - 1 do
      is_head[i] = where(column == 0, 1, 0)
      column = where(column + 1 == columns, 0, column + 1)
    end
  end,
  flags = function(is_head, heads, _, place)
    local flags = guard(heads)
    for i = 0, size(is_head) - 1 do
      is_head[i] = where(call.number(flags[place + i], i32) ~= 0, 1, 0)
    end
  end,
  bits = function(is_head, heads, _, place)
    local words = guard(heads)
    for i = 0, size(is_head) - 1 do
      local at = place + i
      is_head[i] = cast(words[at // WORD] >> cast(at % WORD, u32) & 1, i32)
    end
  end,
}

--- In a kernel: whether each of the thread's n elements begins a segment, as numbers 1 and 0. The
--- first is element `place` of the tensor, an i64.
function M.heads_of(kind, heads, columns, place, n)
  local is_head = fragment(i32, n)
  readers[kind](is_head, heads, columns, place)
  return is_head
end

return M
