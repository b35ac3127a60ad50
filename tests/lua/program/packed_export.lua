-- A product with a packed weight as plain C, and what packs it: their arguments are the weight's
-- tensors, and the twin for the CPU gives the bits that the process gave. A C program packs codes by
-- the one function, and multiplies by the other. Then a layer of packed experts, with its router,
-- and one of MXFP4 and rows of 8 bits.
local c = dofile "tests/support/plain_c.lua"

-- Scales of 1, codes 8 and 9, which stand for 0 and 1, and activations of 1: a sum counts the nines.
c.write("weights.lua", [[
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
c.write("main.c", [[
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
c.write("experts.lua", [[
local experts, packed = require "cuttle.expert_layer", require "cuttle.packed_weights"
local T, D, F, E, k = 12, 64, 64, 3, 2
local X, logits = randn(bf16, row_major{T, D}), randn(f32, row_major{T, E})
local function weight(rows, columns, name, group, scale_type)
  local W = randn(bf16, layout({rows, columns, E}, {columns, 1, rows * columns}))
  local codes, scales = packed.quantize_weights(W, {type = name, group = group or 64,
    scale_type = scale_type})
  return packed.pack_weights(codes, {type = name, scales = scales})
end
local up, down, out = weight(2 * F, D, "u4"), weight(D, F, "nf4"), zeros(bf16, row_major{T, D})
export(function(X, logits, up, down, out)
  experts.expert_layer(X, up, down, experts.route(logits, k), {out = out})
end, {{X, logits, up, down, out}}, {name = "layer", sm = "90a", cpu = true})
up, down = weight(2 * F, D, "f4e2m1", 32, f8ue8m0), weight(D, F, "f4e2m1", 32, f8ue8m0)
local config = {groups = 1, columns = 64, stages = 4, depth = 4}
export(function(X, logits, up, down, out)
  experts.expert_layer(X, up, down, experts.route(logits, k), {out = out, quantize = "fp8_rows",
    configs = {config, config}})
end, {{X, logits, up, down, out}}, {name = "narrow", sm = "90a", cpu = true})
]])
c.export "weights.lua"
c.export "experts.lua"
c.compare "layer"
c.compare "narrow"
c.compare "pack"
c.compare "product"
c.build("main", "main.c pack.c product.c", { "pack", "product" })
local out, code = c.run "./main"
c.ok(code == 0 and out == "0 wrong\n", "it packs codes, and multiplies by them", out)
c.done()
