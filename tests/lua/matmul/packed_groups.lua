-- Groups of rows with a packed weight each, of few rows: every type, gathered, scattered and in
-- pairs, against plain loops. Then a layer of experts whose weights are packed, against one of the
-- matrices that these stand for.
local try = dofile "tests/support/packed_groups.lua"
local experts = require "cuttle.expert_layer"
local packed = require "cuttle.packed_weights"

try("u4", bf16, nil, {G = 3, N = 40, K = 128, group = 64, M = 50, T = 50, has_zeros = true})
try("u8", f16, nil, {G = 40, N = 24, K = 64, group = 64, M = 30, T = 9, gather = true, glu = true})
try("f4e2m1", bf16, nil, {G = 2, N = 36, K = 128, group = 32, M = 21, T = 21, scatter = true,
  C = f32})
try("u4", f16, {columns = 2, strips = 1, warps = 2, stages = 2, step = 64},
  {G = 70, N = 20, K = 192, group = 16, M = 90, T = 12, gather = true, scatter = true, add = true,
   C = f32})
try("u4", bf16, nil, {G = 1, N = 16, K = 64, group = 64, M = 3, T = 3})
-- expect: packed	nil
-- expect: packed	nil
-- expect: packed	nil
-- expect: packed 16x16x64, u4, warps 2	nil
-- expect: packed	nil

-- By way of matrices.
try("u4", bf16, "dequantized", {G = 2, N = 24, K = 64, group = 64, M = 40, T = 40, gather = true})
-- expect: dequantized	nil

local function weight(name, n, k, E)
  local codes, scales, zero_points = packed.quantize_weights(
    randn(bf16, layout({n, k, E}, {k, 1, n * k})), {type = name, group = 64,
    zero_points = name:find "^u" ~= nil})
  return packed.pack_weights(codes, {type = name, scales = scales, zero_points = zero_points})
end

-- How far the layers are apart, as a part of the largest number.
local function try_layer(name, T, D, F, E, k, options)
  local X, logits = randn(bf16, row_major{T, D}), randn(f32, row_major{T, E})
  local up, down, r = weight(name, 2 * F, D, E), weight(name, D, F, E), experts.route(logits, k)
  local Y = experts.expert_layer(X, up, down, r, options)
  local want = experts.expert_layer(X, up:dequantize(bf16), down:dequantize(bf16), r, options)
  local again, out, names = experts.prepare(X, up, down, r, options)
  again()
  local y, z, worst, largest = Y:to("cpu"), want:to("cpu"), 0, 0
  for i = 0, T - 1 do
    for j = 0, D - 1 do
      local v = z[{i, j}]
      worst, largest = math.max(worst, math.abs(y[{i, j}] - v)), math.max(largest, math.abs(v))
    end
  end
  print(name, worst <= 0.02 * largest, allclose(out, Y, {rtol = 0, atol = 1e-2 * largest}),
    #names)
end
try_layer("u4", 20, 64, 64, 4, 2, {})
try_layer("nf4", 9, 128, 64, 33, 3, {combine = "atomic"})
try_layer("f4e2m1", 9, 64, 64, 3, 2, {activation = "clamped_swiglu",
  bias = {randn(bf16, layout{128, 3}), randn(f32, layout{64, 3})}})
try_layer("f8e4m3", 5, 64, 64, 2, 1, {activation = function(g, u) return max(g, 0.0) * u end})
try_layer("f4e2m1", 0, 64, 64, 2, 1, {})
-- expect: u4	true	true	2
-- expect: nf4	true	true	2
-- expect: f4e2m1	true	true	2
-- expect: f8e4m3	true	true	2
-- expect: f4e2m1	true	true	0
