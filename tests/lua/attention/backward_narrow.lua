-- attention_backward of f8e4m3 with dO of a wider type: gradients of the operands times their
-- scales, along a random direction, against reference.attention of these in f64. Scales of tensors,
-- heads and blocks; packed sequences, heads in groups, masks; odd depths; under check. Along a
-- random direction, an error is normal. Its deviation is that of rounding to bf16, 1.5e-3 to 2.5e-3,
-- and 5e-3 where Hopper's kernel made O, whose probabilities have 8 bits. Limits are five times
-- these.
local gradients <const> = dofile "tests/support/gradients.lua"
local LIMIT <const>, LIMIT_OF_8_BITS <const> = 1.25e-2, 2.5e-2

-- {H, Hk, S, Sk, D}, and B where not packed. forward: the configuration that O is of.
local function run(extents, config, options, dtype, forward)
  local H, HK, S, SK, D, B = table.unpack(extents)
  local function of(heads, n)
    return B and row_major{B, heads, n, D} or row_major{heads, n, D}
  end
  local x = {randn(f8e4m3, of(H, S)), randn(f8e4m3, of(HK, SK)), randn(f8e4m3, of(HK, SK))}
  return gradients.try(x, randn(dtype or bf16, of(H, S)), options, {config = config},
    {0, forward and LIMIT_OF_8_BITS or LIMIT}, forward or "plain")
end

manual_seed(1)
print(run({2, 1, 40, 70, 64, 2}, nil, {}))                                              -- expect: true
print(run({1, 1, 9, 20, 5, 1}, nil, {k_scale = 2.0, softcap = 3.0}, f32))               -- expect: true
local heads <const> = {q_scale = 0.5, k_scale = {{1.5, 0.5}, {0.75, 1}}, v_scale = {2.0, 0.25}}
print(run({4, 2, 40, 130, 64, 2}, "hopper 128x128", heads))                             -- expect: true
local blocks <const> = {causal = true, q_scale = {{{0.5, 1}}, {{0.25, 1.5}}},
  k_scale = {{{1, 2, 0.5}}, {{0.25, 3, 1}}}, v_scale = {{{1.5, 0.5, 1}}, {{1, 2, 0.75}}},
  cu_seqlens_q = {0, 150, 190}, cu_seqlens_k = {0, 270, 310}}
print(run({1, 1, 190, 310, 128}, "hopper 64x128", blocks))                              -- expect: true
print(run({1, 1, 190, 310, 128}, "hopper 64x128", blocks, bf16, "hopper 128x128, f8"))  -- expect: true
blocks.q_scale = {0.5, 2.0}
print(run({2, 1, 190, 310, 33}, "mma 64x32", blocks))                                   -- expect: true

local Q, LSE = zeros(f8e4m3, row_major{1, 1, 2, 8}), zeros(f32, row_major{1, 1, 2})
local text = select(2, pcall(attention_backward, Q, Q, Q, Q, Q, LSE, {v_scale = 2.0}))
print((text:gsub("^[^ ]+: ", "")))
-- expect: attention_backward: there are scales, and dO is f8e4m3; expected dO of a wider type, as bf16
