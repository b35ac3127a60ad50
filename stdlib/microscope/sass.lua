-- sass.lua: what an assembled kernel is like: its instructions, those of its hot loop and the
-- script lines that they are of, out of a cubin for sm_70 and later. cubin.lua says where an
-- instruction's 128 bits have the operation and the like. The upper 3 of 12 bits of opcode say
-- where the operands come from. From bit 105 on stands what the assembler planned: 4 bits are the
-- cycles until the next instruction of this warp, and the 6 bits from 116 on say for which barriers
-- of earlier loads and the like it waits. NVIDIA documents none of it: nvdisasm shows the same.
--   M.lines(image, symbol, chunks)   its hot loop by script lines
--   M.text(image, symbol, chunks)    all of its instructions, below the lines that they are of
--   M.hot_loop(image, symbol)        all instructions, the first and the last one of that loop
local lists = require "cuttle.lists"
local machine = require "cuttle.profile_machine"
local machine_code = require "cuttle.cubin"
local plural = require "cuttle.plural"
local sources = require "cuttle.source_lines"
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
  [0x082] = "UMOV", [0x086] = "VOTEU", [0x087] = "USEL", [0x08c] = "UISETP", [0x090] = "UIADD3",
  [0x091] = "ULEA", [0x092] = "ULOP3", [0x099] = "USHF", [0x0a4] = "UIMAD", [0x0a5] = "UIMAD",
  [0x0b9] = "ULDC",
}
-- Names of what counts as other.
local others <const> = {
  [0x003] = "P2R", [0x005] = "CS2R", [0x017] = "IMNMX", [0x02f] = "ELECT", [0x031] = "HFMA2",
  [0x045] = "I2FP", [0x04a] = "UVIMNMX", [0x053] = "UFSETP", [0x054] = "UFADD", [0x055] = "UFFMA",
  [0x05e] = "UI2FP", [0x076] = "FMNMX3", [0x096] = "UPRMT", [0x097] = "UIADD3", [0x100] = "FLO",
  [0x101] = "BREV", [0x102] = "FCHK", [0x104] = "F2F", [0x105] = "F2I", [0x106] = "I2F",
  [0x109] = "POPC", [0x119] = "S2R", [0x11b] = "ENDCOLLECTIVE", [0x144] = "CALL", [0x150] = "RET",
  [0x155] = "BMOV",
  [0x180] = "LD", [0x185] = "ST", [0x18e] = "RED", [0x18f] = "CCTL", [0x1a1] = "MATCH",
  [0x1a6] = "REDG", [0x1a8] = "ATOMG", [0x1a9] = "ATOMG", [0x1ab] = "ERRBAR", [0x1ac] = "LDCU",
  [0x1b7] = "UTMACMDFLUSH", [0x1b9] = "UTMACCTL", [0x1c2] = "R2UR", [0x1c3] = "S2UR",
  [0x1c4] = "REDUX", [0x1c8] = "USETMAXREG",
}
local is_math <const> = { FFMA = true, FADD = true, FMUL = true, HMMA = true, IMMA = true,
                          HGMMA = true, IGMMA = true, QGMMA = true, MUFU = true }

local NEW_CODES <const> = 100 -- from sm_100 on some codes mean another instruction

-- What is another instruction from sm_100 on.
local newer <const> = { [0x035] = "IADD" }

local function kind_of(opcode, sm)
  if sm >= NEW_CODES and newer[opcode] then return newer[opcode] end
  if uniform[opcode] then return "uniform" end
  return kinds[opcode] or "other"
end

local function name_of(opcode, sm)
  if sm >= NEW_CODES and newer[opcode] then return newer[opcode] end
  return kinds[opcode] or uniform[opcode] or others[opcode] or ("0x%03x"):format(opcode)
end

-- Each instruction: {kind =, name =, cycles =, waits =, to = the number of the one that it branches
-- to}.
local function decode(text, sm)
  local list = {}
  for at = 1, #text, 16 do
    local low, high = string.unpack("<I8I8", text, at)
    local opcode = low & 0x1ff
    local to
    if opcode == BRANCH then to = machine_code.target_of(low, high, at - 1, sm) // 16 end
    list[#list + 1] = { kind = kind_of(opcode, sm), name = name_of(opcode, sm),
                        cycles = high >> 41 & 15, waits = high >> 52 & 63 ~= 0, to = to }
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
-- the whole kernel if none computes, and then false. A loop ends with a branch backwards.
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
  return first, last, most > 0
end

--- All instructions of a kernel in a cubin, each {kind =, cycles =, ...}, and the numbers of the
--- first and the last one of its hot loop. Nothing if the cubin does not have the kernel.
function M.hot_loop(cubin, symbol)
  local code, sm = machine_code.code(cubin, symbol)
  if code == nil then return nil end
  local list = decode(code, sm)
  return list, hot_loop(list)
end

--- "FFMA 1024, LDS 69" of counts by kind, the most frequent first.
function M.counted(counts)
  local order = {}
  for kind in pairs(counts) do order[#order + 1] = kind end
  table.sort(order, function(a, b)
    if counts[a] ~= counts[b] then return counts[a] > counts[b] end
    return a < b
  end)
  for i, kind in ipairs(order) do order[i] = kind .. " " .. counts[kind] end
  return table.concat(order, ", ")
end

-- {====== By script lines ======

-- The instructions with their places, list.symbol; the first and the last one of the hot loop, and
-- whether that is a loop. Nothing if the cubin does not have the kernel. Without a symbol it is the
-- first kernel.
local function placed(cubin, symbol, chunks)
  local code, sm, name = machine_code.code(cubin, symbol)
  if code == nil then return nil end
  local list, known, paths, lines = decode(code, sm), {}, machine_code.places(cubin, symbol)
  for i, instruction in ipairs(list) do
    local path = paths[i]
    known[path] = known[path] or machine.chunk_of(path, chunks) or path:match "[^/\\]*$"
    instruction.file, instruction.line = known[path], lines[i]
  end
  list.symbol = name
  return list, hot_loop(list)
end

local function add(sum, instruction)
  sum.instructions, sum.cycles = sum.instructions + 1, sum.cycles + instruction.cycles
  sum.waits = sum.waits + (instruction.waits and 1 or 0)
end

local function new_sum() return { instructions = 0, cycles = 0, waits = 0 } end

--- The hot loop by script lines: {instructions = of the kernel, is_loop = is there one, loop = {
--- instructions =, cycles = that the assembler plans for one warp alone, waits = how many wait for
--- the result of an earlier one}, lines = {{file =, line =, code = "FFMA 64, LDS 2", and the same
--- three}}}, or nil. `chunks`: names of scripts, as keys.
function M.lines(cubin, symbol, chunks)
  local list, first, last, is_loop = placed(cubin, symbol, chunks)
  if list == nil then return nil end
  local result = { instructions = #list, is_loop = is_loop, loop = new_sum(), lines = {} }
  local of = {}
  for i = first, last do
    local x = list[i]
    local key = ("%s:%d"):format(x.file, x.line)
    if not of[key] then
      of[key] = new_sum()
      of[key].file, of[key].line, of[key].counts = x.file, x.line, {}
      table.insert(result.lines, of[key])
    end
    add(result.loop, x)
    add(of[key], x)
    of[key].counts[x.name] = (of[key].counts[x.name] or 0) + 1
  end
  for _, line in ipairs(result.lines) do line.code, line.counts = M.counted(line.counts), nil end
  table.sort(result.lines, lists.by("file", "line"))
  return result
end

-- {====== All instructions ======

local NVDISASM <const> = 'PATH="$PATH:${CUDA_HOME:-/usr/local/cuda}/bin" nvdisasm -c %s 2>/dev/null'

-- Instructions with operands by their places, as nvdisasm shows them; none without it.
local function disassembled(cubin, symbol)
  local texts, path = {}, io and io.popen and os.tmpname()
  local file = path and io.open(path, "wb")
  if not file then return texts end
  file:write(cubin)
  file:close()
  local is_ours = false
  local pipe <close> = assert(io.popen(NVDISASM:format(path)))
  for line in pipe:lines() do
    local section = line:match "^%.text%.(.*):$"
    if section then is_ours = section == symbol end
    local at, text = line:match "^%s+/%*(%x+)%*/%s+(.-)%s*;"
    if at and is_ours then texts[tonumber(at, 16)] = text end
  end
  os.remove(path)
  return texts
end

local function head_of(list, first, last, is_loop)
  local cycles = 0
  for i = first, last do cycles = cycles + list[i].cycles end
  return ("%s: %s; %s: %s, %s planned"):format(list.symbol, plural(#list, "instruction"),
    is_loop and "the hot loop, marked |" or "no loop computes, so all of it",
    plural(last - first + 1, "instruction"), plural(cycles, "cycle"))
end

--- All instructions of a kernel as text, below the script lines that they are of. Each has its
--- place, the cycles that the assembler plans until the next one, and w if it waits for the result
--- of an earlier one.
function M.text(cubin, symbol, chunks)
  local list, first, last, is_loop = placed(cubin, symbol, chunks)
  if list == nil then return nil end
  local texts, source_of = disassembled(cubin, list.symbol), sources.reader()
  local out, before = { head_of(list, first, last, is_loop) }, nil
  for i, x in ipairs(list) do
    local place, at = ("%s:%d"):format(x.file, x.line), 16 * (i - 1)
    if place ~= before then
      out[#out + 1] = x.line == 0 and "of no script line"
        or ("%s  %s"):format(place, (source_of(x.file, x.line) or ""):match "^%s*(.-)%s*$")
      before = place
    end
    local mark = is_loop and i >= first and i <= last and "|" or " "
    out[#out + 1] = ("%s %04x %3d %s  %s"):format(mark, at, x.cycles, x.waits and "w" or " ",
      texts[at] or x.name)
  end
  if next(texts) == nil then
    out[#out + 1] = "(operands need NVIDIA's nvdisasm on the PATH or in $CUDA_HOME/bin)"
  end
  return table.concat(out, "\n")
end

return M
