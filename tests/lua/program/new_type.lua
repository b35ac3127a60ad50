-- A row added to dtypes.def stops the compiler at the places that have to know the element type, and there are
-- few of them. In a copy of the sources a float of 5 bits is added; then its name for hosts, which is missing, and the
-- type works: its annotation is the third and last file.
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
SMALL(f5e2m2, 5, f32, "unsigned char", uint8_t, NULL, 2, 2, NUMBERS, SAME(F32_TO_f5e2m2), SAME(f5e2m2_TO_F32),
      CLOSE(0.5, 0.5), FLOAT6_E2M3FN, UINT8, BYTES, NONE)
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
tap.is(table.concat(errors(), "\n"), "", "with its name all files compile")

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

-- {====== The casts in CUDA C ======

-- The functions that follow from the rows, of the old types too, as C: they give what the host gives.
folder.write("text.c", [[
#include <stdio.h>
#include <string.h>
#include "runtime/emit/emit.h"

int main(void) {
  static const char *const rows[][3] = {
#define X(NAME, head, fn, rest) {head, fn, rest},
#include "runtime/emit/emit_prelude.def"
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (strchr(rows[i][2], '$') != NULL && strstr(rows[i][2], "asm") == NULL) {
      CtText out;
      ct_text_init(&out, ct_alloc_std);
      ct_emit_put_cast(&out, rows[i][1], rows[i][2]);
      printf("%s%s%s", rows[i][0], rows[i][1], ct_text_str(&out));
      ct_text_clear(&out);
    }
  }
}
]])
folder.write("cuda.c", [[
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "runtime/base/convert.h"
#define __device__
#define __forceinline__ inline
static unsigned __float_as_uint(float x) { unsigned u; memcpy(&u, &x, 4); return u; }
static float __uint_as_float(unsigned u) { float x; memcpy(&x, &u, 4); return x; }
static unsigned __float2uint_rn(float x) { return (unsigned)rintf(x); }
#include "text.h"

static int n_wrong(CtDtype t, unsigned char (*narrow)(float), float (*widen)(unsigned char)) {
  int wrong = 0;
  for (unsigned bits = 0; widen != NULL && bits < 1u << ct_dtypes[t].bits; bits++) {
    float is = (float)ct_float_of_bits(t, bits), got = widen((unsigned char)bits);
    wrong += __float_as_uint(got) != __float_as_uint(is) && !(got != got && is != is);
  }
  for (uint64_t u = 0; u < UINT64_C(1) << 32; u += 4099) {
    wrong += narrow(__uint_as_float((unsigned)u)) != ct_bits_of_float(t, __uint_as_float((unsigned)u));
  }
  return wrong;
}

int main(void) {
  int wrong = 0;
#define WIDEN_FINITE(name) name##_to_f32
#define WIDEN_NUMBERS(name) name##_to_f32
#define WIDEN_UNSIGNED(name) name##_to_f32
#define WIDEN_SATURATES(name) NULL
#define SMALL(name, bits, compute, cuda, ctype, npy, e, f, ends, ...) \
  wrong += n_wrong(CT_##name, f32_to_##name, WIDEN_##ends(name));
#include "runtime/base/dtypes.def"
  printf("%d wrong", wrong);
}
]])
local base <const> = "runtime/base/dtype.c runtime/base/convert.c"
local writers <const> = "runtime/emit/emit_float.c runtime/base/text.c runtime/base/arena.c "
  .. "runtime/base/err.c runtime/base/plural.c"
tap.is(folder.run(("%s %s text.c %s %s -lm -o text && ./text > text.h"):format(cc, flags, writers,
  base)), "", "the casts in CUDA C can be written")
tap.is(folder.run(("%s -O1 %s cuda.c %s -lm -o cuda && ./cuda"):format(cc, flags, base)), "0 wrong",
  "and give what those of the host give")
folder.remove()
tap.done()
