-- needs sm_90
-- Groups of rows with a packed weight each by wgmma, against plain loops.
local try = dofile "tests/support/packed_groups.lua"
try("u4", bf16, {groups = 1, columns = 64}, {G = 3, N = 136, K = 128, group = 64, M = 100, T = 100,
  has_zeros = true})
try("u8", f16, {groups = 2, columns = 32, stages = 2}, {G = 40, N = 144, K = 192, group = 64,
  M = 70, T = 9, gather = true, glu = true})
try("f4e2m1", bf16, {groups = 1, columns = 128}, {G = 2, N = 64, K = 64, group = 32, M = 151,
  T = 40, gather = true, scatter = true})
try("u4", f16, {groups = 1, columns = 64}, {G = 5, N = 72, K = 128, group = 32, M = 90, T = 90,
  scatter = true, add = true, C = f32})
try("u4", bf16, {groups = 1, columns = 64, turn = 4, stages = 4, depth = 4}, {G = 4, N = 64,
  K = 256, group = 256, M = 90, T = 90, glu = true})
-- Groups that multiply in turn, of a last tile that is narrow, and of no more than one tile. Then
-- tiles that are wider, with a narrow last one.
local in_turn = {groups = 2, schedule = "ping-pong", columns = 128, stages = 4, depth = 4}
try("u4", bf16, in_turn, {G = 5, N = 264, K = 128, group = 64, M = 400, T = 400, has_zeros = true})
try("u8", f16, in_turn, {G = 3, N = 144, K = 192, group = 32, M = 90, T = 9, gather = true,
  glu = true})
-- expect: packed hopper 64x64x64, u4	nil
-- expect: packed hopper 128x32x64, u8	nil
-- expect: packed hopper 64x128x64, f4e2m1	nil
-- expect: packed hopper 64x64x64, u4	nil
try("u4", bf16, {groups = 2, columns = 256, last = 64}, {G = 3, N = 136, K = 64, group = 64,
  M = 401, T = 40, gather = true, scatter = true})
-- expect: packed hopper 64x64x64, u4	nil
-- expect: packed hopper 128x128x64, u4, ping-pong	nil
-- expect: packed hopper 128x128x64, u8, ping-pong	nil
-- expect: packed hopper 128x256x64, u4	nil

-- Activations of 8 bits: K that is no whole number of steps, parts of columns where a group's last
-- tile has fewer, and numbers of f4e2m1 that have their scales.
try("u4", f8e4m3, {groups = 2, columns = 128, parts = 2}, {G = 4, N = 136, K = 192, group = 64,
  M = 300, T = 9, gather = true, has_zeros = true})
try("f4e2m1", f8e4m3, {groups = 1, columns = 64}, {G = 3, N = 144, K = 320, group = 32, M = 70,
  T = 70, glu = true})
try("f4e2m1", f8e4m3, {groups = 2, columns = 256, parts = 2}, {G = 2, N = 64, K = 256, group = 64,
  M = 501, T = 40, gather = true, scatter = true})
try("u4", i8, {groups = 2, columns = 256, parts = 4}, {G = 3, N = 64, K = 128, group = 128, M = 200,
  T = 200, scatter = true, add = true, C = f32})
try("u4", f8e4m3, {groups = 2, columns = 128}, {G = 4, N = 136, K = 192, group = 64, M = 300, T = 9,
  gather = true, has_zeros = true})
-- expect: packed hopper 128x128x128, u4	nil
-- expect: packed hopper 64x64x128, f4e2m1	nil
-- expect: packed hopper 128x256x128, f4e2m1	nil
-- expect: packed hopper 128x256x128, u4	nil
-- expect: packed hopper 128x128x128, u4	nil

-- A layer both of whose products are by wgmma, so that the first stores in the order of the codes,
-- beside one whose second product is not. Then the same of rows that are quantised.
local experts, packed = require "cuttle.expert_layer", require "cuttle.packed_weights"
local T, D, F, E, k = 30, 128, 64, 3, 2
local X, logits = randn(bf16, row_major{T, D}), randn(f32, row_major{T, E})
local function weight(rows, columns)
  local W = randn(bf16, layout({rows, columns, E}, {columns, 1, rows * columns}))
  local codes, scales = packed.quantize_weights(W, {type = "u4", group = 64})
  return packed.pack_weights(codes, {type = "u4", scales = scales})
end
local up, down, r = weight(2 * F, D), weight(D, F), experts.route(logits, k)
local config, few = {groups = 1, columns = 64}, {strips = 1, columns = 2, step = 64}
local function layer(configs, quantize)
  local Y = experts.expert_layer(X, up, down, r, {configs = configs, quantize = quantize})
  return Y.device == "cpu" and Y or Y:to("cpu")
end
-- How far apart they are, as a part of the largest number.
local function apart(a, b)
  local most, largest = 0, 0
  for i = 0, size(b) - 1 do
    most, largest = math.max(most, math.abs(a[i] - b[i])), math.max(largest, math.abs(b[i]))
  end
  return most / largest
end
print(apart(layer{config, config}, layer{config, few}) < 0.02)
-- expect: true
for _, format in ipairs{"fp8_rows", "int8_rows"} do
  local ordered, exact = layer({config, config}, format), layer{config, config}
  local most = format == "fp8_rows" and 0.1 or 0.03
  print(format, apart(ordered, layer({few, few}, format)) < 0.02, apart(ordered, exact) < most)
end
-- expect: fp8_rows	true	true
-- expect: int8_rows	true	true

-- Rows by an index in the order of the codes, of which a block takes several: rows that are not
-- there are 0.
local hopper = require "cuttle.gemm_packed_hopper"
local function wrong_of_order(dtype, M, T, K)
  local lines, words = K * dtype.bits // 1024, dtype.bits -- words of 32 elements
  local X = rand(i32, {T * 32 * lines}, 0, 1 << 30)
  local index, out = rand(i32, M, -1, T + 1), zeros(dtype, row_major{M, K})
  local step = hopper.order(view(recast(X, dtype), row_major{T, K}), out, nil, index)
  step.kernel(step.launch)(table.unpack(step.args))
  local x, ordered, at = X:to("cpu"), recast(out, u32):to("cpu"), index:to("cpu")
  local wrong = 0
  for m = 0, M - 1, 13 do
    for i = 0, 32 * lines - 1 do
      local from, j = i // words * words, i % words
      local word = at[m] >= 0 and at[m] < T
        and x[at[m] * 32 * lines + from + words // 4 * (j % 4) + j // 4] or 0
      if dtype.bits == 8 then
        word = word & 0xff0000ff | word >> 8 & 0xff00 | word << 8 & 0xff0000
      end
      if ordered[{m, i}] ~= word then wrong = wrong + 1 end
    end
  end
  return wrong
end
print(wrong_of_order(bf16, 4098, 9, 128), wrong_of_order(f8e4m3, 4097, 5, 256))
-- expect: 0	0
