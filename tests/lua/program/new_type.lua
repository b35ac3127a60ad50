-- A row added to dtypes.def stops the compiler at the places that have to know the element type, and there are
-- few of them. In a copy of the sources a float of 5 bits is added as someone would begin, naming functions that
-- are not there yet; then what is missing is added, and the type works.
local tap = dofile "tests/support/tap.lua"
local folder = dofile "tests/support/folder.lua"

local cc = os.getenv("CC") or "cc"
if select(2, folder.run(cc .. " --version")) ~= 0 then
  folder.remove()
  tap.skip_all "no C compiler"
end
local lua = folder.run "pkg-config --cflags lua5.4 2>/dev/null":gsub("\n$", "")
if lua == "" then lua = "-I/usr/include/lua5.4" end
folder.run(("cp -r '%s' '%s' ."):format(folder.absolute "runtime", folder.absolute "interp"))

local function add(path, before, text)
  local all = folder.read(path)
  local at = assert(all:find(before, 1, true), before)
  folder.write(path, all:sub(1, at - 1) .. text .. all:sub(at))
end

-- {====== The row ======

add("runtime/base/dtypes.def", "\n#undef HALF", [[
NARROW(f5e2m2, 5, f32, "unsigned char", uint8_t, NULL, 2, 2, NUMBERS, SINCE(100, F32_TO_F5E2M2),
       SAME(F5E2M2_TO_F32), CLOSE(0.5, 0.5), FLOAT6_E2M3FN, UINT8, BYTES, NONE)
]])

-- The first error of each file that reads the rows; "" if there is none.
local flags <const> = "-std=c11 -D_POSIX_C_SOURCE=200809L -DCT_SIMT_BASE -I."
local readers <const> = "grep -rlE --include='*.c' "
  .. [['(dtypes|simt_ops|simt_arith)\.def"|simt_narrow\.h"' runtime interp | sort]]

local function errors()
  local list = {}
  for name in folder.run(readers):gmatch "[^\n]+" do
    local text, code = folder.run(("%s %s %s -fsyntax-only %s"):format(cc, flags, lua, name))
    if code ~= 0 then list[#list + 1] = name .. ": " .. (text:match("error:[^\n]*") or text) end
  end
  return list
end

-- Who has to know, and what it misses.
local places <const> = {
  { "interp/host/embed_launch.c", "cuttle_DType has the types of dtypes.def" },
  { "runtime/emit/emit_convert.c", "CT_HELP_F32_TO_F5E2M2" },
}
local found = errors()
for i, place in ipairs(places) do
  local message = found[i] or ""
  tap.ok(message:find(place[1], 1, true) == 1 and message:find(place[2], 1, true),
    ("%s misses %s"):format(place[1], place[2]), table.concat(found, "\n"))
end
tap.is(#found, #places, "no other file stops for it")

-- {====== What is missing ======

add("interp/cuttle.h", "  CUTTLE_DTYPE_END", "  CUTTLE_F5E2M2,\n")
add("runtime/emit/emit_prelude.def", "X(F32_TO_TF32,", [[
X(F5E2M2_TO_F32, FN("float"), "f5e2m2_to_f32", "(unsigned char x) { return x; }\n")
X(F32_TO_F5E2M2, FN("unsigned char"), "f32_to_f5e2m2", "(float x) { return x; }\n")
X(F32_TO_F5E2M2_SOFT, FN("unsigned char"), "f32_to_f5e2m2", "(float x) { return x; }\n")
]])
tap.is(table.concat(errors(), "\n"), "", "with its functions and its name for C all files compile")

-- Both casts of the CPU engine and of the host: its numbers, what lies between them and beyond.
folder.write("casts.c", [[
#include <math.h>
#include <stdio.h>
#include "runtime/simt/run/simt_narrow.h"

static int n_wrong(void) {
  static const float numbers[] = {
      0, 0.25f, 0.5f, 0.75f, 1, 1.25f, 1.5f, 1.75f, 2, 2.5f, 3, 3.5f, 4, 5, 6, 7};
  int wrong = ct_value_bytes(CT_f5e2m2) != 1 || ct_dtypes[CT_f5e2m2].bits != 5;
  for (unsigned bits = 0; bits < 32; bits++) {
    float is = (bits & 16) != 0 ? -numbers[bits & 15] : numbers[bits & 15];
    wrong += CAST_f32_f5e2m2(bits) != is || ct_float_of_bits(CT_f5e2m2, bits) != is;
    wrong += CAST_f5e2m2_f32(is) != bits || ct_bits_of_float(CT_f5e2m2, is) != bits;
  }
  for (float v = -9; v < 9; v += 0.01f) {
    wrong += CAST_f5e2m2_f32(v) != ct_bits_of_float(CT_f5e2m2, v);
    wrong += CAST_f5e2m2_f64(v) != ct_bits_of_float(CT_f5e2m2, v);
  }
  wrong += CAST_f5e2m2_f32(NAN) != 15 || ct_bits_of_float(CT_f5e2m2, NAN) != 15;
  wrong += CAST_f5e2m2_f32(-INFINITY) != 31 || ct_bits_of_float(CT_f5e2m2, -1e30) != 31;
  return wrong;
}

int main(void) {
  printf("%d wrong", n_wrong());
}
]])
local sources <const> = "casts.c runtime/base/dtype.c runtime/base/convert.c"
tap.is(folder.run(("%s %s %s -lm -o casts && ./casts"):format(cc, flags, sources)), "0 wrong",
  "its casts round to the nearest number")
folder.remove()
tap.done()
