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
-- Groups that multiply in turn, of a last tile that is narrow, and of no more than one tile.
local in_turn = {groups = 2, schedule = "ping-pong", columns = 128, stages = 4, depth = 4}
try("u4", bf16, in_turn, {G = 5, N = 264, K = 128, group = 64, M = 400, T = 400, has_zeros = true})
try("u8", f16, in_turn, {G = 3, N = 144, K = 192, group = 32, M = 90, T = 9, gather = true,
  glu = true})
-- expect: packed hopper 64x64x64, u4	nil
-- expect: packed hopper 128x32x64, u8	nil
-- expect: packed hopper 64x128x64, f4e2m1	nil
-- expect: packed hopper 64x64x64, u4	nil
-- expect: packed hopper 64x64x64, u4	nil
-- expect: packed hopper 128x128x64, u4, ping-pong	nil
-- expect: packed hopper 128x128x64, u8, ping-pong	nil

-- A layer both of whose products are by wgmma, so that the first stores in the order of the codes,
-- beside one whose second product is not.
local experts, packed = require "cuttle.expert_layer", require "cuttle.packed_weights"
local T, D, F, E, k = 30, 128, 64, 3, 2
local X, logits = randn(bf16, row_major{T, D}), randn(f32, row_major{T, E})
local function weight(rows, columns)
  local W = randn(bf16, layout({rows, columns, E}, {columns, 1, rows * columns}))
  local codes, scales = packed.quantize_weights(W, {type = "u4", group = 64})
  return packed.pack_weights(codes, {type = "u4", scales = scales})
end
local up, down, r = weight(2 * F, D), weight(D, F), experts.route(logits, k)
local config = {groups = 1, columns = 64}
local function layer(configs)
  local Y = experts.expert_layer(X, up, down, r, {configs = configs})
  return Y.device == "cpu" and Y or Y:to("cpu")
end
local ordered, apart = layer{config, config}, layer{config, {strips = 1, columns = 2, step = 64}}
print(allclose(ordered, apart, {rtol = 0.02, atol = 8.0}))             -- expect: true
