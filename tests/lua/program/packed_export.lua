-- A product with a packed weight as plain C, and what packs it: their arguments are the weight's
-- tensors, and the twin for the CPU gives the bits that the process gave. A C program packs codes by
-- the one function, and multiplies by the other. Skipped without a compiler or libcuttle_core.a.
local tap = dofile "tests/support/tap.lua"
local f = dofile "tests/support/folder.lua"
local cuttle = f.absolute(arg[-1])
local build = cuttle:match "^(.*)/[^/]*$"
local root = f.absolute((arg[0]:match "^(.*)tests/lua/" or "./") .. "runtime"):match "^(.*)/"

local function exists(path)
  local file = io.open(path)
  return file ~= nil and file:close()
end

local core = build .. "/libcuttle_core.a"
if not exists(core) or os.execute(("nm '%s' 2>/dev/null | grep -q __asan_init"):format(core)) then
  tap.skip_all "there is no libcuttle_core.a, or a sanitized one"
end

f.run "mkdir -p include/cuttle"
f.write("include/cuttle/ct.h", '#include "runtime/ct.h"\n')
-- Scales of 1, codes 8 and 9, which stand for 0 and 1, and activations of 1: a sum counts the nines.
f.write("weights.lua", [[
local packed = require "cuttle.packed_weights"
local codes, scales = rand(u8, row_major{32, 128}, 0, 16), ones(bf16, row_major{32, 1})
local function pack(codes, scales)
  return packed.pack_weights(codes, {type = "u4", scales = scales})
end
local w, X = pack(codes, scales), randn(bf16, row_major{2, 128})
local C = zeros(bf16, row_major{2, 32})
local how = {sm = "80,90a", cpu = true}
local function with(name) return {name = name, sm = how.sm, cpu = how.cpu} end
export(pack, {{codes, scales}}, with "pack")
export(function(X, w, C) matmul(X, w, C) end, {{X, w, C}}, with "product")
]])
f.write("main.c", [[
#include "pack.h"
#include "product.h"
#include <stdio.h>

#define N 32
#define K 128
static unsigned char codes[N * K];
static unsigned short one[N], x[2 * K], c[2 * N], scales[2 * N];
static unsigned words[4 * 2 * 32 * K / 64];

int main(void) {
  int wrong = 0;
  pack_error pack_error;
  product_error error;
  for (int n = 0; n < N; n++) {
    one[n] = 0x3f80;
    for (int k = 0; k < K; k++) codes[n * K + k] = k < n ? 9 : 8;
  }
  for (int k = 0; k < 2 * K; k++) x[k] = k < K ? 0x3f80 : 0x4000;
  pack_args p = {{codes, PACK_U8, 2, {N, K}, {K, 1}}, {one, PACK_BF16, 2, {N, 1}, {1, 0}},
                 {words, PACK_U32, 2, {4, 2 * 32 * K / 64}, {1, 4}},
                 {scales, PACK_BF16, 2, {2, N / 2}, {1, 2}}};
  if (pack_launch_cpu(&p, &pack_error)) return puts(pack_error.text), 1;
  product_args a = {{x, PRODUCT_BF16, 2, {2, K}, {K, 1}},
                    {words, PRODUCT_U32, 2, {4, 2 * 32 * K / 64}, {1, 4}},
                    {scales, PRODUCT_BF16, 2, {2, N / 2}, {1, 2}},
                    {c, PRODUCT_BF16, 2, {2, N}, {N, 1}}};
  if (product_launch_cpu(&a, &error)) return puts(error.text), 1;
  for (int i = 0; i < 2 * N; i++) {
    union { unsigned bits; float value; } v = {(unsigned)c[i] << 16};
    if (v.value != (float)(i % N * (i / N + 1))) wrong++;
  }
  printf("%d wrong\n", wrong);
  return 0;
}
]])
local out, code = f.run(("CUTTLE_DEVICE=cpu CUTTLE_LIBCUDA=/nowhere '%s' weights.lua"):format(
  cuttle))
tap.ok(code == 0, "the product and the packing are exported", out)
for _, name in ipairs { "pack", "product" } do
  local cc = "cc -std=c11 -Wall -Wextra -Werror -D%s_CPU -Iinclude -I'%s' %s.c %s_test.c "
    .. "-o %s_test '%s' -ldl -lpthread -lm"
  out, code = f.run(cc:format(name:upper(), root, name, name, name, core))
  tap.ok(code == 0 and out == "", name .. " builds without a warning", out)
  out, code = f.run(("./%s_test"):format(name))
  tap.ok(code == 0 and out:find ": the same bits" and not out:find "not ok",
    "the twin of " .. name .. " gives the bits of the process", out)
end
out, code = f.run(("cc -std=c11 -Wall -Wextra -DPACK_CPU -DPRODUCT_CPU -Iinclude -I'%s' main.c "
  .. "pack.c product.c -o main '%s' -ldl -lpthread -lm"):format(root, core))
tap.ok(code == 0, "a program with both builds", out)
out, code = f.run "./main"
tap.ok(code == 0 and out == "0 wrong\n", "it packs codes, and multiplies by them", out)
f.remove()
tap.done()
