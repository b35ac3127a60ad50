-- Memory instructions, their lines and a kernel's registers, read from cubins: small ones made
-- here, cut short and with bytes changed.
local tap = dofile "tests/support/tap.lua"
local cubin = require "cuttle.cubin"

-- {====== Images ======

-- An image with these sections, {{name, bytes}, ...}, after the header.
local function image_of(sm, abi, sections)
  local names, body, rows = "\0", "", { ("\0"):rep(64) }
  sections = table.move(sections, 1, #sections, 1, {})
  sections[#sections + 1] = { ".shstrtab" }
  for i, section in ipairs(sections) do
    local name = #names
    names = names .. section[1] .. "\0"
    local bytes = section[2] or names
    rows[i + 1] = string.pack("<I4I4I8I8I8I8", name, 1, 0, 0, 64 + #body, #bytes) .. ("\0"):rep(24)
    body = body .. bytes
  end
  local head = "\127ELF\2\1\1" .. string.pack("<BBxxxxxxx", 65, abi) .. ("\0"):rep(24)
  local flags = abi >= 8 and sm << 8 or sm
  head = head .. string.pack("<I8I4", 64 + #body, flags) .. ("\0"):rep(8)
  head = head .. string.pack("<I2I2", #rows, #rows - 1)
  assert(#head == 64, #head)
  return head .. body .. table.concat(rows)
end

-- LDS.128, a load that never happens, STG of 16 bits in an inlined function of ours, LDGSTS of 64,
-- FFMA, LDG, and a branch back to the LDGSTS.
local function code_of(sm)
  local copy = sm >= 100 and 0x010fe8000b9a1406 or 0x010fe8000b921a46
  local branch = sm >= 90 and 0xfffffffc00f07947 or 0xffffffc000007947
  return string.pack("<" .. ("i8"):rep(14),
    0x0000000010387984, 0x000f680000000c00, 0x00000000fffff984, 0x000fe20000000800,
    0x0000000502007986, 0x000fe2000c101504, 0x00010010040b7fae, copy,
    0x0000000c0d0e7223, 0x000fe200000000ff, 0x0000000402037981, 0x000ea8000c1e1900,
    branch, 0x000fc0000383ffff)
end

-- Files a.cu and b.lua in /x. Lines by address: 0 b.lua:5, 32 a.cu:3 inlined at row 1, 48 b.lua:9;
-- the sequence ends at 80. And where the address is that a relocation moves.
local function lines_of()
  local operands = string.char(0, 1, 1, 1, 1, 0, 0, 0, 1)
  local files = "/x\0\0a.cu\0\1\0\0b.lua\0\1\0\0\0"
  local program = string.char(4, 2, 3, 4, 1, 0, 3, 0x90, 1, 0, 4, 1, 3, 0x7e, 2, 32, 1, 0, 3, 0x90,
    0, 0, 4, 2, 3, 6, 2, 16, 1, 2, 32, 0, 1, 1)
  local head = string.char(1, 1, 0xfb, 14, 10) .. operands .. files -- 10 is the first special one
  local text = string.pack("<I2I4", 2, #head) .. head .. string.char(0, 9, 2)
  return string.pack("<I4", #text + 8 + #program) .. text .. ("\0"):rep(8) .. program, 4 + #text
end

-- A unit without lines, in 19 bytes.
local empty_unit <const> = string.pack("<I4I2I4", 15, 2, 7) .. string.char(1, 1, 0xfb, 14, 1, 0, 0)
  .. "\1\1"

-- before: units before the one that has lines.
local function make_code(sm, abi, before)
  local lines, relocated = lines_of()
  before = before or ""
  lines, relocated = before .. lines, #before + relocated
  return image_of(sm, abi, {
    { ".text.k", code_of(sm) },
    { ".debug_line", lines },
    { ".rela.debug_line", string.pack("<I8I8I8", relocated, 1 << 32 | 2, 0) },
    { ".symtab", ("\0"):rep(30) .. string.pack("<I2", 1) .. ("\0"):rep(16) },
  })
end

local function make_registers()
  local function attribute(number, symbol, value)
    return string.pack("<BBI2I4I4", 4, number, 8, symbol, value)
  end
  local info = "\3\x50\0\0" -- an attribute without bytes after it
    .. attribute(0x2f, 1, 99) .. attribute(0x2f, 2, 40) .. attribute(0x11, 2, 16)
  local symbols = ("\0"):rep(24) .. string.pack("<I4", 1) .. ("\0"):rep(20) .. string.pack("<I4", 7)
  return image_of(90, 8, { { ".nv.info", info }, { ".symtab", symbols .. ("\0"):rep(20) },
                           { ".strtab", "\0other\0kernel\0" } })
end

-- {====== What they have ======

local function is(a, op, space, bits, file, line)
  return a.op == op and a.space == space and a.bits == bits and a.file == file and a.line == line
end

for _, sm in ipairs { 80, 90, 100 } do
  local a = cubin.accesses(make_code(sm, sm == 80 and 7 or 8))
  local function ok(holds, name) tap.ok(holds, ("sm_%d: %s"):format(sm, name)) end
  ok(#a == 4, "four accesses: one never happens")
  ok(is(a[1], "load", "shared", 128, "b.lua", 5) and a[1].folder == "/x", "a load of shared memory")
  ok(is(a[2], "store", "global", 16, "b.lua", 5),
    "a store in an inlined function of ours is of the line that called it")
  ok(is(a[3], "copy", "global", 64, "b.lua", 9), "a copy, as this capability writes its width")
  ok(is(a[4], "load", "global", 32, "", 0), "after the end of a sequence no line is known")
  ok(not a[1].loops and not a[2].loops and a[3].loops and a[4].loops,
    "what a branch goes back over is in a loop")
end
local code, sm, name = cubin.code(make_code(90, 8))
tap.ok(#code == 7 * 16 and sm == 90 and name == "k", "the code of its only kernel")
tap.ok(cubin.code(make_code(90, 8), "j") == nil, "no kernel of this name")
local paths, numbers = cubin.places(make_code(90, 8), "k")
tap.is(table.concat(paths, " "), "/x/b.lua /x/b.lua /x/b.lua /x/b.lua /x/b.lua  ", "the paths")
tap.is(table.concat(numbers, " "), "5 5 5 9 9 0 0", "the lines")

local _, of_both = cubin.places(make_code(90, 8, empty_unit), "k")
tap.is(table.concat(of_both, " "), "5 5 5 9 9 0 0", "the lines of a second unit")

local registers, stack = cubin.resources(make_registers(), "kernel")
tap.ok(registers == 40 and stack == 16, "registers and stack of the kernel, not of another one")
registers, stack = cubin.resources(make_registers(), "other")
tap.ok(registers == 99 and stack == 0, "those of the other")
tap.ok(cubin.resources(make_registers(), "kern") == nil, "no function of this name")

-- {====== What cannot be trusted ======

tap.ok(#cubin.accesses "PTX" == 0 and not cubin.code "PTX" and not cubin.resources("PTX", "k"),
  "no ELF file")

-- Reads all that there is; how many accesses.
local function read(image)
  cubin.resources(image, "kernel")
  if cubin.code(image) then cubin.places(image) end
  return #cubin.accesses(image)
end

local images <const> = { make_code(100, 8), make_registers() }
local most, n_found = 0, 0
for _, image in ipairs(images) do
  for len = 0, #image - 1 do
    most = math.max(most, read(image:sub(1, len)))
    n_found = n_found + (cubin.resources(image:sub(1, len), "kernel") and 1 or 0)
  end
end
tap.ok(most <= 4 and n_found == 0, "cut short, they have no more", most, n_found)

collectgarbage()
collectgarbage "stop"
local before = collectgarbage "count"
cubin.accesses(make_code(90, 8, empty_unit:rep(3000)))
local taken = collectgarbage "count" - before
collectgarbage "restart"
tap.ok(taken < 20000, "each unit is read, not all that is before it", taken)

local seed, is_bounded = 1, true
for i = 1, 2000 do
  local image = images[i % 2 + 1]
  for _ = 1, 3 do
    seed = seed * 1664525 + 1013904223 & 0xffffffff
    local at = (seed >> 8) % #image
    image = image:sub(1, at) .. string.char(seed >> 24) .. image:sub(at + 2)
  end
  is_bounded = is_bounded and read(image) < #image
end
tap.ok(is_bounded, "changed bytes do no harm")
tap.done()
