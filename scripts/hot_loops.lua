-- hot_loops.lua: figures of a kernel's hot loop, which cuttle.sass finds in a cubin, for scripts
-- and tests that compare what assemblers make of a kernel.
local cubin_of = require "cuttle.cubin"
local plural = require "cuttle.plural"
local sass = require "cuttle.sass"
local M = {}

local FFMA <const>, ALL_REGISTERS <const>, NO_REGISTER <const> = 0x023, 1, 255
local N_BANKS <const> = 2

--- Registers and bytes of stack of a thread; nil and why.
M.resources = cubin_of.resources

--- How often each kind stands in the loop, how many instructions that are, and the cycles that the
--- assembler plans for a turn of it, for one warp alone. Nothing if the cubin lacks the kernel.
function M.count(cubin, symbol)
  local list, first, last = sass.hot_loop(cubin, symbol)
  if list == nil then return nil end
  local counts, cycles = {}, 0
  for i = first, last do
    local kind = list[i].kind
    counts[kind], cycles = (counts[kind] or 0) + 1, cycles + list[i].cycles
  end
  return counts, last - first + 1, cycles
end

--- The loop as text: "1191 instructions, 1210 cycles: FFMA 1024, LDS 69, ...".
function M.text(cubin, symbol)
  local counts, n, cycles = M.count(cubin, symbol)
  return counts and ("%s, %s: %s"):format(plural(n, "instruction"), plural(cycles, "cycle"),
    sass.counted(counts))
end

--- How many instructions of a kind stand in the loop before the first of the kinds in `ends`.
function M.count_before(cubin, symbol, kind, ends)
  local list, first, last = sass.hot_loop(cubin, symbol)
  local n = 0
  for i = first, last do
    if ends[list[i].kind] then break end
    n = n + (list[i].kind == kind and 1 or 0)
  end
  return n
end

-- {====== Banks of registers ======

-- The registers that a multiply-add of floats reads, {a, b, c}, and which of them the operand cache
-- keeps for the next instruction, a bit for each; nil for what has no three of them.
local function operands(low, high)
  if low & 0x1ff ~= FFMA or low >> 9 & 7 ~= ALL_REGISTERS then return nil end
  return { low >> 24 & 255, low >> 32 & 255, high & 255, keeps = high >> 58 & 7 }
end

-- How many of those that are read, and not kept since the instruction before, one bank has at most.
local function most_of_a_bank(from, kept)
  local each, most = {}, 0
  for operand = 1, from and 3 or 0 do
    local r = from[operand]
    if r ~= NO_REGISTER and kept[operand] ~= r then each[r] = true end
  end
  for bank = 0, N_BANKS - 1 do
    local reads = 0
    for r in pairs(each) do reads = reads + (r % N_BANKS == bank and 1 or 0) end
    most = math.max(most, reads)
  end
  return most
end

local function kept_of(from)
  local kept = {}
  for operand = 1, from and 3 or 0 do
    if from.keeps >> operand - 1 & 1 == 1 then kept[operand] = from[operand] end
  end
  return kept
end

--- How many multiply-adds of the loop wait for a bank of registers: a bank gives two operands in a
--- cycle, the operand cache those that the instruction before has kept.
function M.bank_conflicts(cubin, symbol)
  local list, first, last = sass.hot_loop(cubin, symbol)
  if list == nil then return nil end
  local code = cubin_of.code(cubin, symbol)
  local n, kept = 0, {}
  for i = first, last do
    local from = operands(string.unpack("<I8I8", code, 16 * (i - 1) + 1))
    n, kept = n + (most_of_a_bank(from, kept) > 2 and 1 or 0), kept_of(from)
  end
  return n
end

return M
