-- w4a16.lua: C = A * W with weights of 4 bits, as AWQ stores them. A is (M,K) in f16. A word of Q
-- (K,N/8) has the weights of 8 columns, and a word of Z (K/GROUP,N/8) their zeros; scales S are
-- f16: W[k,n] = (Q[k,n] - Z[g,n]) * S[g,n]. On their way to shared memory, weights become f16, two
-- at once; the tensor cores multiply. M and N need not be multiples of the tiles.
-- Usage: cuttle w4a16.lua [M N K]
local M, N, K = tonumber(arg[1] or 50), tonumber(arg[2] or 200), tonumber(arg[3] or 256)
local GROUP <const> = 64                                  -- rows of W with one zero and scale
local bM, bN, bK = 64, 64, 32

-- Of four nibbles of a word those that the mask leaves, as the f16 numbers 1024 + n or 1024 + 16 n:
-- (w & mask) | 0x64006400 in one instruction.
local function pick(word, bits)
  return ptx("lop3.b32 $d, $w, $mask, 0x64006400, 0xEA;", {d = u32}, {w = word, mask = bits},
    function(w, mask) return w & mask | 0x64006400 end)
end

-- The 8 numbers of a word in four pairs of f16. In AWQ's order, nibbles 0 and 4 are neighbours.
local function unpack(w)
  local pairs_ = {}
  for i = 0, 1 do
    pairs_[2 * i] = f16x2.sub(pick(w, 0x000f000f), f16x2(1024))
    pairs_[2 * i + 1] = f16x2.fma(pick(w, 0x00f000f0), f16x2(1 / 16), f16x2(-64))
    w = w >> 8
  end
  return pairs_
end

local w4a16 = kernel("w4a16", function(A, Q, Z, S, C)
  local gA = tile(guard(A), {bM, bK}, {blockIdx.x, _})                      -- (bM,bK,k)
  local gQ = tile(guard(Q), {bK, bN // 8}, {_, blockIdx.y})                 -- (bK,bN/8,k)
  local gZ = tile(guard(Z), {1, bN // 8}, {_, blockIdx.y})                  -- (1,bN/8,group)
  local gS = tile(guard(recast(S, u32)), {1, bN // 2}, {_, blockIdx.y})     -- in pairs
  local sA = shared_like(gA, 2)                                             -- (bM,bK,slot)
  local lines = composition(swizzle(3, 3, 3), layout{64, 8})                -- N is contiguous
  local sW = shared(f16, tile_to_shape(lines, {bN, bK, 2}))                 -- (bN,bK,slot)
  local acc = accumulator(sA, sW)
  local word, row = threadIdx.x % (bN // 8), threadIdx.x // (bN // 8)

  pipeline(size(gA, 2), {
    stages = 2,
    load = function(k, slot)
      block_copy(gA(_, _, k), sA(_, _, slot))
      local group = k * bK // GROUP
      local zeros, scales = unpack(gZ[{0, word, group}]), fragment(u32, 4)
      copy(tile(gS(0, _, group), {4}, {word}), scales)
      local to = tile(recast(sW(_, _, slot), u32), {4, 1}, {word, _})       -- (4,1,bK)
      for i = 0, bK - 1, blockDim.x // (bN // 8) do
        local weights, part = unpack(gQ[{row + i, word, k}]), fragment(u32, {4, 1})
        for j = 0, 3 do
          part[j] = f16x2.mul(f16x2.sub(weights[j], zeros[j]), scales[j])
        end
        copy(part, to(_, _, row + i))
      end
    end,
    compute = function(slot) dot(sA(_, _, slot), sW(_, _, slot), acc) end,
  })
  acc:store(tile(guard(C), {bM, bN}, {blockIdx.x, blockIdx.y}))
end)

-- Numbers whose sums are exact, and words of them.
local a, q, z, s = {}, {}, {}, {}
for i = 0, M * K - 1 do a[i + 1] = (i * 7 % 17 - 8) / 4 end
for i = 0, K * N - 1 do q[i + 1] = (i * 13 + i // N * 5) % 16 end
for i = 0, K // GROUP * N - 1 do z[i + 1], s[i + 1] = i * 3 % 16, (i % 5 + 1) / 64 end
local order <const> = {0, 2, 4, 6, 1, 3, 5, 7}            -- which column each nibble is of
local function words(list)
  local packed = {}
  for i = 0, #list // 8 - 1 do
    packed[i + 1] = 0
    for nibble, column in ipairs(order) do
      packed[i + 1] = packed[i + 1] | list[8 * i + column + 1] << 4 * (nibble - 1)
    end
  end
  return packed
end

local function rows(dtype, list, columns)
  return view(from_table(dtype, list), row_major{#list // columns, columns})
end
local C = zeros(f32, row_major{M, N})
w4a16{grid = cdiv({M, N}, {bM, bN}), block = 128}(rows(f16, a, K), rows(u32, words(q), N // 8),
  rows(u32, words(z), N // 8), rows(f16, s, N), C)

local c, wrong = C:totable(), 0                           -- a table for each row
for m = 0, M - 1 do
  for n = 0, N - 1 do
    local sum = 0
    for k = 0, K - 1 do
      local g = k // GROUP * N + n + 1
      sum = sum + a[m * K + k + 1] * (q[k * N + n + 1] - z[g]) * s[g]
    end
    if c[m + 1][n + 1] ~= sum then wrong = wrong + 1 end
  end
end
print(("w4a16 %d x %d x %d: %d of %d results differ"):format(M, N, K, wrong, M * N))
