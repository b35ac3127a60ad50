-- atom_facts.lua: what there is to say about an atom, a tiled MMA or a tiled copy, as a list of
-- {heading, text}; for explain and for pages.
local M = {}

local plural = require "cuttle.plural"

local function add_instruction(rows, a)
  local times = a.times > 1 and (", %d times"):format(a.times) or ""
  rows[#rows + 1] = { "instruction", (a.ptx or "plain code of a thread") .. times }
  if a.section then
    rows[#rows + 1] = { "", ("%s, PTX ISA section %s"):format(a.arch, a.section) }
  end
  rows[#rows + 1] = { "threads", ("%d, in lanes %s"):format(a.threads, a.thr_id) }
end

-- How the threads share an operand: each element once, or all of it in shared memory.
local function operand_text(a, letter, rows, cols)
  local tv, n = a["layout_" .. letter], a.shape[rows] * a.shape[cols]
  local head = ("%s, %dx%d of %s"):format(tv, a.shape[rows], a.shape[cols], a.dtypes[letter])
  if a.spaces[letter] == "shared" then return head .. ", all of it in shared memory" end
  return ("%s: %s of %d in %s of each thread"):format(head, plural(size(tv, 1), "element"), n,
    plural(a.registers[letter], "register"))
end

-- Of scales: which threads have them, and how many elements share one.
local function scales_text(a, letter, rows)
  local tv = a["layout_" .. letter]
  return ("%s, %dx%d of %s, each for %d elements: %s in a register of each thread"):format(tv,
    a.shape[rows], size(tv, 1), a.dtypes[letter], a.sf_vec_size, plural(size(tv, 1), "scale"))
end

local function of_mma(a)
  local rows = { { "atom", a.name } }
  rows[2] = { "product", ("(M,N,K) = %s"):format(a.shape) }
  add_instruction(rows, a)
  rows[#rows + 1] = { "A (M,K)", operand_text(a, "a", 1, 3) }
  rows[#rows + 1] = { "B (N,K)", operand_text(a, "b", 2, 3) }
  rows[#rows + 1] = { "C (M,N)", operand_text(a, "c", 1, 2) }
  if a.sf_vec_size then
    rows[#rows + 1] = { "SFA (M,K)", scales_text(a, "sfa", 1) }
    rows[#rows + 1] = { "SFB (N,K)", scales_text(a, "sfb", 2) }
  end
  return rows
end

-- What a thread has on a side, in bits and, if the type is known, in elements.
local function side_text(a, side)
  local bits = size(a[side], 1)
  local text = ("%s, %d bits of each thread"):format(a[side], bits)
  if a.dtype then text = ("%s: %d x %s"):format(text, bits // (8 * a.dtype.bytes), a.dtype) end
  local n = size(a[side])
  if n > a.bits then
    text = ("%s; %d of %d threads say where"):format(text, a.threads * a.bits // n, a.threads)
  end
  return text
end

local function of_copy(a)
  local rows = { { "atom", a.name .. (a.dtype and " of " .. tostring(a.dtype) or "") },
                 { "data", ("%d bits, %d bytes"):format(a.bits, a.bytes) } }
  add_instruction(rows, a)
  rows[#rows + 1] = { "source", side_text(a, "src") }
  rows[#rows + 1] = { "destination", side_text(a, "dst") }
  return rows
end

-- {====== Tiles of atoms ======

local function of_tiled_mma(mma)
  local shape = mma:tile_shape()
  local n = size(mma.atom_layout)
  local rows = { { "tiled MMA", ("%s, %s of %s"):format(mma.atom.name, plural(n, "atom"),
    plural(mma.atom.threads, "thread")) } }
  rows[2] = { "tile", ("(M,N,K) = %s in one step"):format(shape) }
  rows[3] = { "threads", ("%d, (V,M,N,K) = %s"):format(mma.threads, mma.thr_layout_vmnk) }
  for i, letter in ipairs { "A", "B", "C" } do
    local tv = mma["tv_layout_" .. letter](mma)
    local sizes = ({ { 1, 3 }, { 2, 3 }, { 1, 2 } })[i]
    local elements = shape[sizes[1]] * shape[sizes[2]]
    local owners = size(tv) // elements
    rows[#rows + 1] = { ("%s (%s)"):format(letter, ({ "M,K", "N,K", "M,N" })[i]),
      ("%s, %s of each thread%s"):format(tv, plural(size(tv, 1), "element"),
        owners > 1 and (", each with %d threads"):format(owners) or "") }
  end
  return rows
end

local function of_tiled_copy(copy)
  local a = copy.atom
  local n_values = size(copy.layout_tv, 1)
  return {
    { "tiled copy", ("%s of %s"):format(a.name, a.dtype) },
    { "tile", tostring(copy:tile_shape()) },
    { "threads", ("%d, %s of each in %s"):format(copy.threads, plural(n_values, "element"),
      plural(n_values // size(copy.val_ref, 1), "instruction")) },
    { "S", tostring(copy:tv_layout_S()) },
    { "D", tostring(copy:tv_layout_D()) },
  }
end

local makers = {
  tiled_mma = of_tiled_mma,
  tiled_copy = of_tiled_copy,
  atom = function(a)
    if a.kind == "mma" then return of_mma(a) end
    return of_copy(a)
  end,
  -- A thread's slice: the whole says what each thread has.
  thr_mma = function(slice) return of_tiled_mma(slice.mma) end,
  thr_copy = function(slice) return of_tiled_copy(slice.copy) end,
  accumulator = function(acc) return require "cuttle.accumulator".facts(acc) end,
}

-- The rows of x, or nil where it is none of these.
function M.of(x)
  local meta = (type(x) == "userdata" or type(x) == "table") and getmetatable(x)
  local make = type(meta) == "table" and makers[meta.__name]
  return make and make(x) or nil
end

return M
