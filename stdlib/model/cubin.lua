-- cubin.lua: the machine code of a cubin for sm_70 and later: a kernel's instructions, those that
-- access memory, and the script line that each is from. NVIDIA documents neither the code nor the
-- table; what is read agrees with nvdisasm (scripts/cubin_beside_nvdisasm.lua). The image is not
-- trusted: a table that is not understood has no rows.
--
-- An instruction has 128 bits:
--   bits 0 to 8    the operation; 9 to 11 where operands come from
--   bits 12 to 15  the predicate; 15: never. The assembler puts three LDS of that kind before
--                  copies by LDGSTS
--   a branch       how many words of 4 bytes lie between its end and where it goes: before sm_90
--                  48 bits from bit 34 on; then 8 bits more, from bit 16 on, which are the lowest
--   bits 73 to 75  the width: u8, s8, u16, s16, 32, 64, 128 bits; of LDGSTS from sm_100 on it is in
--                  bits 74 and 75: 32, 64, 128 bits
--
-- The section .debug_line, which NVRTC's -lineinfo makes, is a line number program of DWARF 2 to 4
-- with two extended opcodes of NVIDIA's: 0x90 (context, name) says that the rows from there on are
-- of a function that was inlined where row `context` of the table is, or of none if that is 0; 0x91
-- (name) changes its name. Where an address is relative to, a relocation says.
local internal = ...

local M = {}

local unpack = string.unpack

local INSTRUCTION_BYTES <const> = 16

-- {====== Sections of an ELF file ======

-- The number of n bytes from `at` on, counted from 0, the lowest first; 0 beyond the end.
local function number(s, at, n)
  if at < 0 or at > #s - n then return 0 end
  return (unpack("<I" .. n, s, at + 1))
end

local function part(s, at, len)
  if at < 0 or len < 0 or at > #s or len > #s - at then return "" end
  return s:sub(at + 1, at + len)
end

local ROW_BYTES <const>, NOBITS <const> = 64, 8

local function row_of(elf, i) return part(elf.image, elf.rows + i * ROW_BYTES, ROW_BYTES) end

local function bytes_of(elf, i)
  local row = row_of(elf, i)
  if number(row, 4, 4) == NOBITS then return "" end
  return part(elf.image, number(row, 24, 8), number(row, 32, 8))
end

local function text_at(s, at) return s:match("^([^\0]*)\0", at + 1) or "" end

local function name_of(elf, i) return text_at(elf.names, number(row_of(elf, i), 0, 4)) end

-- nil: it is no such file.
local function open_elf(image)
  if #image < 64 or image:sub(1, 6) ~= "\127ELF\2\1" then return nil end
  local elf = { image = image, rows = number(image, 40, 8), n = number(image, 60, 2) }
  elf.names = bytes_of(elf, number(image, 62, 2))
  local flags, abi = number(image, 48, 4), number(image, 8, 1)
  elf.sm = (abi >= 8 and flags >> 8 or flags) & 0xff -- the capability, times 10
  return elf
end

-- The bytes of the first section of that name; "": there is none.
local function find(elf, name)
  for i = 1, elf.n - 1 do
    if name_of(elf, i) == name then return bytes_of(elf, i) end
  end
  return ""
end

-- {====== The line table ======

-- A unit is read from `s` at place `at`, from 1 on; `s` begins `base` bytes after the table does.
-- Reading beyond its end raises.
local function take(r, format)
  local value
  value, r.at = unpack(format, r.s, r.at)
  return value
end

local function take_leb(r, is_signed)
  local v, shift, byte = 0, 0, 0x80
  while byte & 0x80 ~= 0 do
    byte = take(r, "B")
    v = v | (byte & 0x7f) << shift
    shift = shift + 7
  end
  return is_signed and byte & 0x40 ~= 0 and v | -1 << shift or v
end

-- The texts of a list, which an empty one ends.
local function texts(r)
  return function()
    local text = take(r, "z")
    return text ~= "" and text or nil
  end
end

-- Appends the unit's files, {folder =, name =}, to those of the table.
local function take_files(r, files)
  local folders = {}
  for folder in texts(r) do folders[#folders + 1] = folder end
  for name in texts(r) do
    files[#files + 1] = { folder = folders[take_leb(r)] or "", name = name }
    take_leb(r) -- time
    take_leb(r) -- size
  end
end

local function take_head(r, files)
  local version, head_bytes = take(r, "<I2"), take(r, "<I4")
  local program = r.at + head_bytes
  r.least = take(r, "B")
  if version == 4 then take(r, "B") end -- operations of an instruction: one
  take(r, "B") -- is_stmt
  r.line_base, r.line_range, r.opcode_base = take(r, "b"), take(r, "B"), take(r, "B")
  r.lengths = { r.s:byte(r.at, r.at + r.opcode_base - 2) } -- of the operands of standard opcodes
  r.at = r.at + #r.lengths
  take_files(r, files)
  assert(version >= 2 and version <= 4 and r.line_range > 0 and program >= r.at)
  r.at = program
end

local function begin_sequence(r)
  r.now = { at = 0, section = 0, file = 1, line = 1, context = 0 }
end

local function add_row(r, lines, ends)
  local now, rows = r.now, lines.rows
  rows[#rows + 1] = {
    at = now.at, section = now.section, line = now.line & 0xffffffff, ends = ends, index = #rows,
    file = lines.files[now.file + r.first_file],
    context = now.context ~= 0 and now.context + r.first_row,
  }
end

local function advance(r, n) r.now.at = r.now.at + n * r.least end

-- An address, which a relocation moves.
local function take_address(r, lines)
  local moved = lines.relocations[r.base + r.at - 1]
  r.now.at = take(r, "<i8") + (moved and moved.by or 0)
  r.now.section = moved and moved.section or 0
end

local extended <const> = {
  [1] = function(r, lines)
    add_row(r, lines, true)
    begin_sequence(r)
  end,
  [2] = take_address,
  [0x90] = function(r) r.now.context = take_leb(r) end,
}

local standard <const> = {
  [0] = function(r, lines)
    local bytes = take_leb(r)
    local stop = r.at + bytes
    assert(bytes > 0 and stop > r.at and stop <= #r.s + 1)
    local step = extended[take(r, "B")]
    if step then step(r, lines) end
    r.at = stop
  end,
  function(r, lines) add_row(r, lines, false) end, -- copy
  function(r) advance(r, take_leb(r)) end,
  function(r) r.now.line = r.now.line + take_leb(r, true) end,
  function(r) r.now.file = take_leb(r) end,
  take_leb, -- column
  function() end, -- is_stmt
  function() end, -- a basic block begins
  function(r) advance(r, (255 - r.opcode_base) // r.line_range) end,
  function(r) r.now.at = r.now.at + take(r, "<I2") end,
}

local function step(r, lines)
  local op = take(r, "B")
  if op >= r.opcode_base then
    local n = op - r.opcode_base
    advance(r, n // r.line_range)
    r.now.line = r.now.line + r.line_base + n % r.line_range
    add_row(r, lines, false)
  elseif standard[op] then
    standard[op](r, lines)
  else
    for _ = 1, r.lengths[op] do take_leb(r) end
  end
end

local function read_unit(r, lines)
  r.first_row, r.first_file = #lines.rows, #lines.files
  take_head(r, lines.files)
  begin_sequence(r)
  while r.at <= #r.s do step(r, lines) end
end

local function read_units(bytes, lines)
  local at = 0
  while at + 4 < #bytes and number(bytes, at, 4) <= #bytes - at - 4 do
    local stop = at + 4 + number(bytes, at, 4)
    read_unit({ s = bytes:sub(at + 5, stop), at = 1, base = at + 4 }, lines)
    at = stop
  end
end

-- By place in the line table: the section that an address there is in, and by how much it moves.
local function relocations_of(elf)
  local rows, bytes, list = find(elf, ".rela.debug_line"), 24, {}
  local symbols = find(elf, ".symtab")
  if rows == "" then rows, bytes = find(elf, ".rel.debug_line"), 16 end
  for at = #rows - #rows % bytes - bytes, 0, -bytes do -- of two at one place, the first one
    local symbol = part(symbols, number(rows, at + 12, 4) * 24, 24)
    local addend = bytes == 24 and number(rows, at + 16, 8) or 0
    list[number(rows, at, 8)] =
      { section = number(symbol, 6, 2), by = number(symbol, 8, 8) + addend }
  end
  return list
end

local function is_before(a, b)
  if a.section ~= b.section then return a.section < b.section end
  if a.at ~= b.at then return a.at < b.at end
  return a.index < b.index
end

-- The rows as the table has them, and by section and address.
local function lines_of(elf)
  local lines = { rows = {}, files = {}, relocations = relocations_of(elf) }
  if not pcall(read_units, find(elf, ".debug_line"), lines) then lines.rows = {} end
  lines.by_place = table.move(lines.rows, 1, #lines.rows, 1, {})
  table.sort(lines.by_place, is_before)
  return lines
end

-- The row of an instruction; nil: none says where it is from.
local function row_at(lines, section, at)
  local low, high = 0, #lines.by_place -- the last row that is not after it is in low .. high
  local wanted = { section = section, at = at, index = math.maxinteger }
  while low < high do
    local mid = (low + high + 1) // 2
    if is_before(wanted, lines.by_place[mid]) then high = mid - 1 else low = mid end
  end
  local row = lines.by_place[low]
  return row and row.section == section and not row.ends and row.file and row
end

local MAX_CALLERS <const> = 64

local function is_ours(row) return row.file.name:find "..*%.cu$" ~= nil end

-- The row of an instruction or, where that is of a text of our own (a file *.cu), of the innermost
-- function that called it and is not: a line of a script. Nothing: there is none.
local function script_row(lines, section, at)
  local row = row_at(lines, section, at)
  for _ = 1, MAX_CALLERS do
    if not row or not row.file then return nil end
    if not is_ours(row) then return row end
    row = lines.rows[row.context]
  end
end

-- {====== Accesses ======

local BRANCH <const>, ALWAYS <const>, NEVER <const> = 0x147, 7, 15

local kinds <const> = {
  [0x180] = { "load", "generic" }, [0x181] = { "load", "global" }, [0x184] = { "load", "shared" },
  [0x185] = { "store", "generic" }, [0x186] = { "store", "global" },
  [0x188] = { "store", "shared" }, [0x1ae] = { "copy", "global" },
}
local widths <const> = { [0] = 8, 8, 16, 16, 32, 64, 128, 128 }
local copy_widths <const> = { [0] = 32, 32, 64, 64, 128, 128, 128, 128 } -- from sm_100 on

local function operation(low) return low & 0x1ff, low >> 12 & 15 end

-- Calls fn(at, low, high) for each instruction.
local function each_instruction(code, fn)
  for at = 0, #code - INSTRUCTION_BYTES, INSTRUCTION_BYTES do
    local low, high = unpack("<i8i8", code, at + 1)
    fn(at, low, high)
  end
end

-- Where a branch goes; `at` is its own place.
function M.target_of(low, high, at, sm)
  local words, bits = low >> 34 | high << 30, 48
  if sm >= 90 then words, bits = words << 8 | low >> 16 & 0xff, 56 end
  words = (words << 64 - bits) // (1 << 64 - bits) -- the field has a sign
  return at + INSTRUCTION_BYTES + 4 * words
end

-- What lies between a branch and where it goes, of lines before its own and in no loop.
local function mark_sunk(list, branch, row, to)
  for _, a in ipairs(list) do
    local is_earlier = a.line < row.line and a.file == row.file.name and a.folder == row.file.folder
    if a.at > branch and a.at < to and not a.loops and is_earlier then
      a.sunk_by = a.sunk_by == 0 and row.line or math.min(a.sunk_by, row.line)
    end
  end
end

local function mark_loop(list, from, to)
  for _, a in ipairs(list) do a.loops = a.loops or (a.at >= from and a.at <= to) end
end

-- The accesses of one function.
local function accesses_in(elf, section, lines)
  local list, back, ahead = {}, {}, {}
  each_instruction(bytes_of(elf, section), function(at, low, high)
    local op, predicate = operation(low)
    local kind = kinds[op]
    if kind and predicate ~= NEVER then
      local row = script_row(lines, section, at)
      local of = kind[1] == "copy" and elf.sm >= 100 and copy_widths or widths
      list[#list + 1] = {
        op = kind[1], space = kind[2], at = at, bits = of[high >> 9 & 7], loops = false,
        sunk_by = 0, folder = row and row.file.folder or "", file = row and row.file.name or "",
        line = row and row.line or 0,
      }
    elseif op == BRANCH then
      local to = M.target_of(low, high, at, elf.sm)
      if to < at then
        back[#back + 1] = { at, to }
      elseif to > at and predicate ~= ALWAYS then
        ahead[#ahead + 1] = { at, to }
      end
    end
  end)
  for _, branch in ipairs(back) do mark_loop(list, branch[2], branch[1]) end
  for _, branch in ipairs(ahead) do
    local row = script_row(lines, section, branch[1])
    if row then mark_sunk(list, branch[1], row, branch[2]) end
  end
  return list
end

-- What a cubin's instructions take of shared and global memory, in their order: a list of
-- {op =, space =, bits = of a lane, at =, folder =, file =, line =, loops =, sunk_by =}. loops: a
-- branch after it goes to before it, so a warp may carry it out again. sunk_by: in no loop, and a
-- branch of this later line of the script goes past it: a compiler has moved it to where alone it
-- is needed, and not all warps may come there; 0: no such branch. file "": no line is known.
-- generic: the address says which space it is.
function M.accesses(image)
  local elf, list = open_elf(image), {}
  if not elf then return list end
  local lines = lines_of(elf)
  for i = 1, elf.n - 1 do
    if name_of(elf, i):find "^%.text%." then
      local own = accesses_in(elf, i, lines)
      table.move(own, 1, #own, #list + 1, list)
    end
  end
  return list
end

-- {====== Code ======

-- The number of a kernel's section, and its symbol; without a symbol, of the first one.
local function find_kernel(elf, symbol)
  for i = 1, elf.n - 1 do
    local name = name_of(elf, i):match "^%.text%.(.*)$"
    if name and (not symbol or name == symbol) then return i, name end
  end
end

-- The code of a kernel, whole instructions of 16 bytes; the capability, times 10, that it is for;
-- its symbol. Nothing if the image has no such kernel; without a symbol it is the first one.
function M.code(image, symbol)
  local elf = open_elf(image)
  local section, name = find_kernel(elf or { n = 0 }, symbol)
  if not section then return nil end
  local code = bytes_of(elf, section)
  return code:sub(1, #code - #code % INSTRUCTION_BYTES), elf.sm, name
end

-- Of each of these instructions the path and the line, as two lists; "" and 0 of those that are of
-- no line of a script.
function M.places(image, symbol)
  local elf = open_elf(image)
  local section = find_kernel(elf, symbol)
  local lines, paths, numbers = lines_of(elf), {}, {}
  each_instruction(bytes_of(elf, section), function(at)
    local row = script_row(lines, section, at)
    paths[#paths + 1] = row and row.file.folder .. "/" .. row.file.name or ""
    numbers[#numbers + 1] = row and row.line or 0
  end)
  return paths, numbers
end

-- {====== Registers ======

local WITH_BYTES <const>, FRAME_SIZE <const>, REGCOUNT <const> = 4, 0x11, 0x2f

-- Registers and bytes of stack of a thread: its arrays and spilled registers; nil and why. The
-- section .nv.info is a list of attributes, each {u8 format, u8 attribute, u16 size}; format 4 has
-- `size` bytes after it: for these two the number of a symbol and a value. Their names and numbers
-- are those of public disassemblers, and what is read agrees with what `ptxas -v` prints.
function M.resources(image, symbol)
  local elf, found, at = open_elf(image), {}, 0
  if not elf then return nil, "the cubin does not say" end
  local info, symbols, names = find(elf, ".nv.info"), find(elf, ".symtab"), find(elf, ".strtab")
  while at + 4 <= #info do
    local format, attribute, size = unpack("<BBI2", info, at + 1)
    local name = number(symbols, number(info, at + 4, 4) * 24, 4)
    if format == WITH_BYTES and size >= 8 and text_at(names, name) == symbol then
      found[attribute] = number(info, at + 8, 4)
    end
    at = at + 4 + (format == WITH_BYTES and size or 0)
  end
  if (found[REGCOUNT] or 0) == 0 then return nil, "the cubin does not say" end
  return found[REGCOUNT], found[FRAME_SIZE] or 0
end

-- The same of CUDA C, which is compiled first.
function M.resources_of(source, sm, symbol, options)
  local image, why = internal.watch.profile_cubin({ source = source, symbol = symbol,
    options = options }, sm)
  if not image then return nil, why end
  return M.resources(image, symbol)
end

return M
