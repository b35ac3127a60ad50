-- sass.lua: what an assembled kernel is like: its instructions, and those of its hot loop, out of a
-- cubin for sm_70 and later. An instruction has 128 bits, from the lowest on: 12 bits of opcode, of
-- which the upper 3 say where the operands come from; a branch's offset in words, 8 bits from 16 on
-- and 48 from 34 on; from bit 105 on what the assembler planned, first the cycles until the next
-- instruction of this warp. NVIDIA documents none of it: nvdisasm shows the same.
local M = {}

local BRANCH <const> = 0x147

-- Kinds by the lower 9 bits of the opcode. What runs on the uniform data path is one kind.
local kinds <const> = {
  [0x002] = "MOV", [0x006] = "VOTE", [0x007] = "SEL", [0x008] = "FSEL", [0x009] = "FMNMX",
  [0x00b] = "FSETP", [0x00c] = "ISETP", [0x010] = "IADD3", [0x011] = "LEA", [0x012] = "LOP3",
  [0x013] = "IABS", [0x016] = "PRMT", [0x019] = "SHF", [0x01c] = "PLOP3", [0x020] = "FMUL",
  [0x021] = "FADD", [0x023] = "FFMA", [0x024] = "IMAD", [0x025] = "IMAD", [0x027] = "IMAD",
  [0x030] = "HADD2", [0x035] = "HFMA2", [0x036] = "VIADD", [0x037] = "IMMA", [0x03b] = "LDSM",
  [0x03c] = "HMMA", [0x03e] = "F2FP", [0x044] = "STSM", [0x046] = "VIADDMNMX",
  [0x048] = "VIMNMX", [0x0ca] = "R2UR", [0x108] = "MUFU", [0x118] = "NOP",
  [0x11a] = "DEPBAR", [0x11d] = "BAR",
  [0x141] = "BSYNC", [0x145] = "BSSY", [0x146] = "YIELD", [0x147] = "BRA", [0x148] = "WARPSYNC",
  [0x14d] = "EXIT", [0x181] = "LDG", [0x182] = "LDC", [0x183] = "LDL", [0x184] = "LDS",
  [0x186] = "STG", [0x187] = "STL", [0x188] = "STS", [0x189] = "SHFL", [0x192] = "MEMBAR",
  [0x1a7] = "SYNCS", [0x1ae] = "LDGSTS", [0x1af] = "LDGDEPBAR", [0x1b2] = "SYNCS",
  [0x1b4] = "UTMALDG", [0x1b5] = "UTMASTG", [0x1c5] = "WARPGROUP", [0x1c6] = "FENCE",
  [0x1f0] = "HGMMA", [0x1f1] = "IGMMA", [0x1f3] = "QGMMA",
}
local uniform <const> = {
  [0x082] = true, [0x086] = true, [0x087] = true, [0x08c] = true, [0x090] = true, [0x091] = true,
  [0x092] = true, [0x099] = true, [0x0a4] = true, [0x0a5] = true, [0x0b9] = true,
}
local is_math <const> = { FFMA = true, FADD = true, FMUL = true, HMMA = true, IMMA = true,
                          HGMMA = true, IGMMA = true, QGMMA = true, MUFU = true }

local REGCOUNT <const>, FRAME_SIZE <const> = 0x2f, 0x11
local FFMA <const>, ALL_REGISTERS <const>, NO_REGISTER <const> = 0x023, 1, 255
local N_BANKS <const> = 2

local function kind_of(opcode)
  if uniform[opcode] then return "uniform" end
  return kinds[opcode] or "other"
end

-- The contents of a section of an ELF file of 64 bits, or nil.
local function section(image, name)
  local rows, n, of_names = string.unpack("<I8", image, 41), string.unpack("<I2I2", image, 61)
  local function row(i) return string.unpack("<I4I4I8I8I8I8", image, rows + i * 64 + 1) end
  local names = select(5, row(of_names))
  for i = 0, n - 1 do
    local at, _, _, _, from, size = row(i)
    if string.unpack("z", image, names + at + 1) == name then
      return image:sub(from + 1, from + size)
    end
  end
end

--- Registers and bytes of stack of a thread, of what .nv.info says about a kernel; or nil.
function M.resources(cubin, symbol)
  local info, symbols = section(cubin, ".nv.info"), section(cubin, ".symtab")
  local names, found, at = section(cubin, ".strtab"), {}, 1
  while info and at + 4 <= #info do
    local format, attribute, bytes = string.unpack("<BBI2", info, at)
    if format == 4 and bytes >= 8 then
      local number, value = string.unpack("<I4I4", info, at + 4)
      local name = string.unpack("<I4", symbols, number * 24 + 1)
      if string.unpack("z", names, name + 1) == symbol then found[attribute] = value end
    end
    at = at + 4 + (format == 4 and bytes or 0)
  end
  return found[REGCOUNT], found[FRAME_SIZE] or 0
end

-- The offset of a branch in words: its upper 48 bits.
local function upper(low, high)
  local offset = (low >> 34 | high << 30) & 0xffffffffffff
  return offset >= 1 << 47 and offset - (1 << 48) or offset
end

-- Before sm_90 the 48 bits are all of the offset. A kernel ends with a branch to itself.
local function is_old(text)
  for at = #text - 15, 1, -16 do
    local low, high = string.unpack("<I8I8", text, at)
    if low & 0x1ff == BRANCH then return upper(low, high) == -4 end
  end
  return false
end

-- The registers that a multiply-add of floats reads, {a, b, c}, and which of them the operand cache
-- keeps for the next instruction, a bit for each; nil for what has no three of them.
local function sources(low, high)
  if low & 0x1ff ~= FFMA or low >> 9 & 7 ~= ALL_REGISTERS then return nil end
  return { low >> 24 & 255, low >> 32 & 255, high & 255, keeps = high >> 58 & 7 }
end

-- How many of the multiply-adds from first to last wait for a bank of registers: a bank gives two
-- operands in a cycle, the operand cache those that the instruction before has kept.
local function count_conflicts(list, first, last)
  local n, kept = 0, {}
  for i = first, last do
    local from, each, most = list[i].from, {}, 0
    for operand = 1, from and 3 or 0 do
      local r = from[operand]
      if r ~= NO_REGISTER and kept[operand] ~= r then each[r] = true end
    end
    for bank = 0, N_BANKS - 1 do
      local reads = 0
      for r in pairs(each) do reads = reads + (r % N_BANKS == bank and 1 or 0) end
      most = math.max(most, reads)
    end
    n, kept = n + (most > 2 and 1 or 0), {}
    for operand = 1, from and 3 or 0 do
      if from.keeps >> operand - 1 & 1 == 1 then kept[operand] = from[operand] end
    end
  end
  return n
end

-- Each instruction: {kind =, cycles =, from = what it reads, to = the number of the one that it
-- branches to}.
local function decode(text)
  local list, old = {}, is_old(text)
  for at = 1, #text, 16 do
    local low, high = string.unpack("<I8I8", text, at)
    local opcode = low & 0x1ff
    local to
    if opcode == BRANCH then
      local offset = old and upper(low, high) or upper(low, high) << 8 | low >> 16 & 0xff
      to = (at // 16 + 1) + offset // 4
    end
    list[#list + 1] = { kind = kind_of(opcode), cycles = high >> 41 & 15, to = to,
                        from = sources(low, high) }
  end
  while #list > 0 and list[#list].kind == "NOP" do list[#list] = nil end -- they fill up the end
  return list
end

local function count_math(list, from, to)
  local n = 0
  for i = from, to do n = n + (is_math[list[i].kind] and 1 or 0) end
  return n
end

-- First and last instruction of the loop that computes most and has no other such loop in it; of
-- the whole kernel if none computes. A loop ends with a branch backwards.
local function hot_loop(list)
  local first, last, most = 1, #list, 0
  local until_inner = {} -- ends of loops that compute, by their beginnings
  for i, instruction in ipairs(list) do
    local from = instruction.to and instruction.to + 1
    local n = from and from <= i and count_math(list, from, i) or 0
    local is_inner = n > 0
    for inner_from, inner_to in pairs(until_inner) do
      if is_inner and inner_from >= from and inner_to < i then is_inner = false end
    end
    if is_inner then
      until_inner[from] = i
      if n > most then first, last, most = from, i, n end
    end
  end
  return first, last
end

-- How often each kind stands in the hot loop of a kernel in a cubin; first and last of its
-- instructions; all of them. Nothing if the cubin does not have the kernel.
local function count_kinds(cubin, symbol)
  local text = section(cubin, ".text." .. symbol)
  if text == nil then return nil end
  local list = decode(text)
  local first, last = hot_loop(list)
  local counts = {}
  for i = first, last do
    local kind = list[i].kind
    counts[kind] = (counts[kind] or 0) + 1
  end
  return counts, first, last, list
end

--- The counts of kinds, and how many instructions there are.
function M.loop_kinds(cubin, symbol)
  local counts, first, last = count_kinds(cubin, symbol)
  return counts, counts and last - first + 1
end

--- How many instructions of a kind stand in that loop before the first of the kinds in `ends`.
function M.count_before(cubin, symbol, kind, ends)
  local _, first, last, list = count_kinds(cubin, symbol)
  local n = 0
  for i = first, last do
    if ends[list[i].kind] then break end
    n = n + (list[i].kind == kind and 1 or 0)
  end
  return n
end

--- How many multiply-adds of the hot loop wait for a bank of registers.
function M.bank_conflicts(cubin, symbol)
  local counts, first, last, list = count_kinds(cubin, symbol)
  return counts and count_conflicts(list, first, last)
end

--- The cycles that the assembler plans for a turn of the hot loop, for one warp alone.
function M.planned_cycles(cubin, symbol)
  local counts, first, last, list = count_kinds(cubin, symbol)
  local cycles = 0
  for i = counts and first or 1, last or 0 do cycles = cycles + list[i].cycles end
  return counts and cycles
end

--- The hot loop of a kernel in a cubin: "1191 instructions, 1210 cycles: FFMA 1024, LDS 69, ...",
--- the most frequent kinds first. The cycles are those that the assembler plans for one warp alone.
function M.hot_loop(cubin, symbol)
  local counts, first, last = count_kinds(cubin, symbol)
  if counts == nil then return nil end
  local order = {}
  for kind in pairs(counts) do order[#order + 1] = kind end
  table.sort(order, function(a, b)
    if counts[a] ~= counts[b] then return counts[a] > counts[b] end
    return a < b
  end)
  for i, kind in ipairs(order) do order[i] = kind .. " " .. counts[kind] end
  return ("%d instructions, %d cycles: %s"):format(last - first + 1,
    M.planned_cycles(cubin, symbol), table.concat(order, ", "))
end

return M
