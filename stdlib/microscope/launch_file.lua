-- launch_file.lua: a launch as the bytes of a file: the kernel's IR, its arguments with their
-- layouts, how it was launched, the texts of its scripts and, if they are wanted, the bytes of its
-- tensors. Whoever has them runs the launch again, on a machine that has neither script nor device.
--   "CUTTLECK"
--   three numbers of 64 bits, little-endian: the version, the bytes of the header, those of the IR
--   the header: JSON, see `header`; the IR
--   the data of the spans that have it, without their leads
--   sum: of all bytes before it, FNV-1a of 64 bits
local fail = require "cuttle.fail".fail
local json = require "cuttle.json"
local internal = ...
local M = {}

M.ALIGN = 64 -- where a span of memory begins
local MAGIC <const>, VERSION <const>, NUMBERS <const> = "CUTTLECK", 3, "<c8I8I8I8"
local SUM_BYTES <const> = 8
local MOST_BYTES <const> = 1 << 40 -- of a span

-- {====== Memory ======

--- The spans of memory in which the pieces {at =, bytes =} lie: {at =, bytes =, lead =}, none of
--- which overlaps another. Each begins at a multiple of ALIGN; its first `lead` bytes are no
--- piece's. They are in the order of the pieces, as addresses differ from run to run. Sets
--- piece.span, its number, and piece.offset in it.
function M.join(pieces)
  local sorted, spans, last = table.move(pieces, 1, #pieces, 1, {}), {}, nil
  table.sort(sorted, function(a, b) return math.ult(a.at, b.at) end)
  for _, piece in ipairs(sorted) do
    if not last or piece.at >= last.at + last.bytes then
      local lead = piece.at % M.ALIGN
      last = { at = piece.at - lead, bytes = lead, lead = lead }
    end
    last.bytes = math.max(last.bytes, piece.at + piece.bytes - last.at)
    piece.span, piece.offset = last, piece.at - last.at
  end
  for _, piece in ipairs(pieces) do
    local span = piece.span
    if not span.number then
      spans[#spans + 1] = span
      span.number = #spans
    end
    piece.span = span.number
  end
  return spans
end

-- {====== Writing ======

-- The argument as the header has it; its tensors are added to `pieces`.
local function argument_of(arg, name, pieces)
  local tensors = {}
  for i, t in ipairs(arg.tensors or {}) do
    pieces[#pieces + 1] = t
    tensors[i] = { dtype = t.dtype, layout = t.layout, is_fixed = t.is_fixed, fixed = t.fixed }
  end
  return { name = name, dtype = arg.dtype or "", number = arg.number or 0, tensors = tensors,
           is_list = arg.is_list or false }
end

--- The bytes of a launch, and its spans of memory. launch_capture.c has the launch, and what its
--- trace gives: {ir =, names =, scripts =}.
function M.bytes(launch, trace, with_data)
  local args, pieces, data = {}, {}, {}
  for i, arg in ipairs(launch.args) do args[i] = argument_of(arg, trace.names[i], pieces) end
  local spans, next_piece = M.join(pieces), 0
  for _, arg in ipairs(args) do
    for _, t in ipairs(arg.tensors) do
      next_piece = next_piece + 1
      t.span, t.at = pieces[next_piece].span, pieces[next_piece].offset
    end
  end
  launch.args, launch.scripts, launch.spans = args, trace.scripts, {}
  for i, span in ipairs(spans) do
    launch.spans[i] = { bytes = span.bytes, lead = span.lead, has_data = with_data }
    data[i] = with_data and internal.watch.memory(launch.lies_on, span.at + span.lead,
      span.bytes - span.lead) or ""
  end
  launch.lies_on = nil
  local head = json.encode(launch)
  local bytes = NUMBERS:pack(MAGIC, VERSION, #head, #trace.ir) .. head .. trace.ir
    .. table.concat(data)
  return bytes .. ("<i8"):pack(internal.watch.sum(bytes)), spans
end

-- {====== What the header says ======

-- Each takes a value of JSON and gives it, or nil if it is another.

-- It does no more to a terminal than show.
local function text(v)
  return type(v) == "string"
    and v:gsub("\xC2[\x80-\x9F]", "??"):gsub("[\0-\8\11-\31\127]", "?") or nil
end

local function identifier(v) return text(v) and v:match "^[%a_][%w_]*$" end

local function flag(v)
  if type(v) == "boolean" then return v end
end

-- json.lua makes texts of large numbers.
local function integer(v) return math.tointeger(tonumber(v)) end

local function below(most)
  return function(v)
    v = integer(v)
    return v and v >= 0 and v < most and v or nil
  end
end

local function list(take, n)
  return function(v)
    local out = {}
    for i, x in ipairs(type(v) == "table" and v or {}) do
      out[i] = take(x)
      if out[i] == nil then return nil end
    end
    return type(v) == "table" and #out == (n or #out) and out or nil
  end
end

local function texts_by_name(v)
  local out = {}
  for name, x in pairs(type(v) == "table" and v or {}) do
    if not (text(name) and text(x)) then return nil end
    out[text(name)] = text(x)
  end
  return type(v) == "table" and out or nil
end

local function record(rows)
  return function(v)
    local out = {}
    for name, take in pairs(rows) do
      if type(v) ~= "table" then return nil end
      out[name] = take(v[name])
      if out[name] == nil then return nil end
    end
    return out
  end
end

local word <const>, size <const> = below(1 << 32), below(MOST_BYTES)

-- A tensor lies in a span of memory, `at` bytes after its beginning. is_fixed: static_mode of all
-- extents and strides; fixed: the bits of those that it chose.
local tensor_in <const> = record{ dtype = text, layout = text, is_fixed = flag, fixed = integer,
  span = word, at = size }

-- An argument of the IR, in order: a number, with its slot's bits, a tensor, or a list of tensors.
local argument <const> = record{ name = text, dtype = text, number = integer, is_list = flag,
  tensors = list(tensor_in) }

local header <const> = record{
  kernel = identifier, chunk = text, line = integer, -- and where it begins
  device = text, -- it was launched on
  why = text,    -- it was captured
  grid = list(word, 3), block = list(word, 3), cluster = list(word, 3), smem = word, pdl = flag,
  cooperative = flag, deterministic = flag, prints_as_run = flag, static_shapes = flag,
  contract = flag, min_blocks = integer,
  options = list(text), -- of NVRTC
  args = list(argument), spans = list(record{ bytes = size, lead = below(M.ALIGN),
    has_data = flag }), scripts = texts_by_name,
}

-- {====== Reading ======

local EXPORTED <const> = "CUTTLESL"

-- refuse(format, ...) with the file's name, if it has one.
local function refusing(path)
  return function(format, ...)
    fail("replay", "%s%s", format:format(...), path and (" (%s)"):format(path) or "")
  end
end

local function damaged(refuse, what) refuse("the file is damaged: %s", what) end

local function check_sum(bytes, refuse)
  if #bytes < SUM_BYTES
    or ("<i8"):unpack(bytes, -SUM_BYTES) ~= internal.watch.sum(bytes:sub(1, -SUM_BYTES - 1)) then
    damaged(refuse, "its bytes are not those that were written; copy it again, or capture the "
      .. "launch again")
  end
end

-- Gives each span its data; `data` is what the file has after the IR, without the sum.
local function divide(launch, data, refuse)
  local at, fits = 1, true
  for _, span in ipairs(launch.spans) do
    local n = span.has_data and span.bytes - span.lead or 0
    fits = fits and span.lead <= span.bytes
    span.data = data:sub(at, at + n - 1)
    at = at + n
  end
  if not fits or at ~= #data + 1 then
    damaged(refuse, "its data do not fit what it says of them")
  end
end

local function check_args(launch, refuse)
  for _, arg in ipairs(launch.args) do
    local n = #arg.tensors
    local is_right = arg.is_list and n > 0 or not arg.is_list and n <= 1
    for _, t in ipairs(arg.tensors) do is_right = is_right and launch.spans[t.span] end
    if not is_right then damaged(refuse, "an argument does not fit its tensors") end
  end
end

local function read_captured(bytes, refuse)
  if #bytes < NUMBERS:packsize() + SUM_BYTES or bytes:sub(1, #MAGIC) ~= MAGIC then
    refuse "the file holds no launch; expected one that `capture` wrote"
  end
  local _, version, n, n_ir, at = NUMBERS:unpack(bytes)
  if version ~= VERSION then
    refuse("file of version %d; this library reads %d", version, VERSION)
  end
  check_sum(bytes, refuse)
  local left = #bytes - SUM_BYTES - at + 1
  if not math.ult(n, left + 1) or not math.ult(n_ir, left - n + 1) then
    damaged(refuse, "it ends too early")
  end
  local launch = header(json.decode(bytes:sub(at, at + n - 1)))
    or damaged(refuse, "its header does not describe a launch")
  launch.ir = bytes:sub(at + n, at + n + n_ir - 1)
  return launch, bytes:sub(at + n + n_ir, -SUM_BYTES - 1)
end

-- {====== What an exported program wrote ======

-- It knows the values that it passes and the IR's bytes, and nothing else. All numbers have 64
-- bits, little-endian:
--   "CUTTLESL", the version
--   ir_bytes, n_slots
--   grid x, y, z
--   flags         1: pdl, 2: cooperative, 4: deterministic
--   shared_bytes  dynamic, beside the kernel's own
--   device_bytes  of the device's name
--   has_data      0 or 1
--   slots         n_slots values, in the order of CtIr.slots; of an integer its sign extended, of a
--                 float its bits in the low ones, of a pointer its address
--   bytes         n_slots numbers: of a pointer how many bytes lie there, else 0
--   the device's name; the IR's bytes; with data, the bytes of the pointers in order of their slots
--   sum           as above
local EXPORTED_VERSION <const>, EXPORTED_NUMBERS <const> = 2, "<c8" .. ("i8"):rep(10)

-- `n` numbers from `at` on.
local function numbers_at(bytes, at, n)
  local out = {}
  for i = 1, n do out[i] = ("<i8"):unpack(bytes, at + 8 * i - 8) end
  return out
end

-- Makes the arguments that the IR says: each tensor has a span of its own.
local function settle_args(launch, values, lengths, has_data)
  for i, arg in ipairs(launch.args) do
    local value, t = values[arg.slot], nil
    if arg.layout then
      local lead = value % M.ALIGN
      launch.spans[#launch.spans + 1] =
        { bytes = lead + lengths[arg.slot], lead = lead, has_data = has_data }
      t = { dtype = arg.dtype, layout = arg.layout, is_fixed = arg.is_fixed, fixed = arg.fixed,
            span = #launch.spans, at = lead }
    end
    launch.args[i] = { name = arg.name, dtype = arg.dtype, number = value, is_list = false,
                       tensors = { t } }
  end
end

local function read_exported(bytes, refuse)
  local function of_kernel(what) refuse("the file of an exported kernel %s", what) end
  if #bytes < EXPORTED_NUMBERS:packsize() then of_kernel "ends too early" end
  local _, version, n_ir, n_slots, x, y, z, flags, smem, n_device, has_data, at =
    EXPORTED_NUMBERS:unpack(bytes)
  if version ~= EXPORTED_VERSION then
    refuse("file of an exported kernel of version %d; this library reads %d", version,
      EXPORTED_VERSION)
  end
  check_sum(bytes, refuse)
  local left = #bytes - SUM_BYTES - at + 1
  if not math.ult(n_slots, left // 16 + 1) or not math.ult(n_device, left - 16 * n_slots + 1)
    or not math.ult(n_ir, left - 16 * n_slots - n_device + 1) then
    of_kernel "ends too early"
  end
  local values = numbers_at(bytes, at, n_slots)
  local lengths = numbers_at(bytes, at + 8 * n_slots, n_slots)
  at = at + 16 * n_slots
  local ir = bytes:sub(at + n_device, at + n_device + n_ir - 1)
  local launch = internal.watch.ir_facts(ir, values)
  launch.device, launch.why = bytes:sub(at, at + n_device - 1), "an exported kernel"
  launch.grid, launch.smem, launch.spans = { x, y, z }, smem, {}
  launch.pdl, launch.cooperative = flags & 1 ~= 0, flags & 2 ~= 0
  launch.deterministic, launch.prints_as_run = flags & 4 ~= 0, false
  launch.static_shapes, launch.options, launch.scripts = false, {}, {}
  settle_args(launch, values, lengths, has_data == 1)
  launch = header(launch) or damaged(refuse, "its header does not describe a launch")
  launch.ir = ir
  return launch, bytes:sub(at + n_device + n_ir, -SUM_BYTES - 1)
end

--- Does a file that begins so hold a launch?
function M.is_launch(beginning)
  local magic = beginning:sub(1, #MAGIC)
  return magic == MAGIC or magic == EXPORTED
end

--- The launch in a file, as `header` says, with `ir`, and the data of each span. A file whose bytes
--- are not those that were written is refused; the IR is not looked at. path: of the file, or nil.
function M.read(bytes, path)
  local refuse = refusing(path)
  local read = bytes:sub(1, #EXPORTED) == EXPORTED and read_exported or read_captured
  local launch, data = read(bytes, refuse)
  check_args(launch, refuse)
  divide(launch, data, refuse)
  return launch
end

return M
