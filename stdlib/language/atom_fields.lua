-- atom_fields.lua: the fields of an atom, and its text, from its row (interp/ops/bind_atom.c). Rows
-- are in runtime/ir/atoms.def.
local language = require "cuttle"
local M = {}

local function text_or_nil(text) return text ~= "" and text or nil end

-- The language's type of this name, else the name.
local function type_of(name)
  local t = language[name]
  return getmetatable(t) == getmetatable(f32) and t or name
end

local function arch_of(row)
  return row.sm == 0 and "any" or ("sm_%d%s"):format(row.sm, row.is_own and "a" or "")
end

local function set_mma(f, row)
  f.shape, f.descriptor = shape{ row.m, row.n, row.k }, row.descriptor
  f.dtypes, f.registers, f.spaces, f.bits = {}, {}, {}, {}
  for _, operand in ipairs(row.operands) do
    local name = operand.name
    f.dtypes[name], f.bits[name] = type_of(operand.type), operand.bits
    f.registers[name], f.spaces[name] = operand.registers, operand.space
    if name ~= "d" then f["layout_" .. name] = layout(operand.layout) end
  end
  f.sf_vec_size = row.vec > 0 and row.k // row.vec or nil
end

-- bits: of the data; of an MMA, of one element, by operand.
local function set_copy(f, row)
  local src, dst, ref = table.unpack(row.operands)
  f.src, f.dst, f.ref = layout(src.layout), layout(dst.layout), layout(ref.layout)
  f.bits = cosize(f.ref)
  f.bytes, f.dtype = f.bits // 8, row.dtype and type_of(row.dtype)
end

function M.of(row)
  local f = { name = row.name, kind = row.is_mma and "mma" or "copy", family = row.family,
    sm = row.sm, arch = arch_of(row), ptx = text_or_nil(row.ptx),
    section = text_or_nil(row.section), times = row.times, threads = row.threads,
    thr_id = layout(row.thr_id) }
  local set = row.is_mma and set_mma or set_copy
  set(f, row)
  return f
end

-- {====== Text ======

local places <const> = { shared = ", in shared memory", tensor = ", in tensor memory",
                         registers = "" }

local function mma_lines(row, add)
  local a, b, c, d = table.unpack(row.operands)
  add("\n  MNK (%d,%d,%d)", row.m, row.n, row.k)
  for _, operand in ipairs{ a, b, c } do
    add("\n  %-4s%s %s%s", operand.name:upper(), operand.type, operand.layout,
      places[operand.space])
  end
  if c.type ~= d.type then add("\n  %-4s%s as C", "D", d.type) end
  for i = 5, #row.operands do
    local scales = row.operands[i]
    add("\n  %-4s%s %s", scales.name:upper(), scales.type, scales.layout)
  end
end

--- The name, what it is in PTX, and its layouts, one a line.
function M.text(row)
  local out = { row.name .. (row.dtype and " of " .. row.dtype or "") }
  local function add(format, ...) out[#out + 1] = format:format(...) end
  if row.ptx ~= "" then
    add("\n  %s%s\n  %s, PTX ISA section %s", row.ptx,
      row.times > 1 and (", %d times"):format(row.times) or "", arch_of(row), row.section)
  end
  add("\n  %-4s%s", "thr", row.thr_id)
  if row.is_mma then
    mma_lines(row, add)
  else
    for i, side in ipairs{ "src", "dst", "ref" } do
      add("\n  %-4s%s%s", side, row.operands[i].layout, i == 1 and " (thread,bit)" or "")
    end
  end
  return table.concat(out)
end

return M
