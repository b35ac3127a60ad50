-- gather_matmul.lua: a product of gathered rows beside its parts: C (M,N) = A (M,K) B (N,K)', bf16,
-- of one rank, where A's rows are in panels of all ranks. Three ways take turns: the kernel that
-- copies the other panels while it multiplies; the product alone, of an A that is complete; and the
-- copies, then the product. All panels lie on one device: copies cost what its memory costs.
-- Usage: cuttle --device=cuda scripts/bench/gather_matmul.lua [RANKS [M N K]]
local gather, operator = require "cuttle.gather_matmul", require "cuttle.matmul"
local ct = require "cuttle"
local bf16, copy, rand, row_major, tile = ct.bf16, ct.copy, ct.rand, ct.row_major, ct.tile
local zeros, allclose = ct.zeros, ct.allclose

local on_gpu = ct.device().sm ~= nil
local function extent(i, of_gpu, of_cpu) return tonumber(arg[i] or on_gpu and of_gpu or of_cpu) end
local W = extent(1, 2, 2)
local M, N, K = extent(2, 8192, 256), extent(3, 4096, 64), extent(4, 8192, 64)
local ROUNDS <const> = 7 -- and one before, as a GPU that was idle is faster

local A, B = rand(bf16, row_major{M, K}, -1, 1), rand(bf16, row_major{N, K}, -1, 1)
local gathered, height = zeros(bf16, row_major{M, K}), M // W
local panels, places = {}, {}
for i = 1, W do
  panels[i] = zeros(bf16, row_major{height, K})
  copy(tile(A, {height, K}, {i - 1, 0}), panels[i])
  places[i] = tile(gathered, {height, K}, {i - 1, 0})
end
local C, D = zeros(bf16, row_major{M, N}), zeros(bf16, row_major{M, N})

local fused, name = gather.prepare(panels, 0, B, C)
local product, plain = operator.prepare(A, B, D)
local of_copies = operator.prepare(gathered, B, D)
copy(panels[1], places[1])
local function in_turn()
  for i = 2, W do copy(panels[i], places[i]) end
  of_copies()
end

fused()
product()
ct.synchronize()
local ok, worst = allclose(C, D, {rtol = 0, atol = 0})
print(("%dx%dx%d bf16 over %d ranks on %s: %s"):format(M, N, K, W, ct.device().name,
  ok and "the same bits" or "differs: " .. worst))

local ways = { { name, fused }, { plain .. ", gathered before", product },
               { plain .. ", after the copies", in_turn } }
for round = 0, ROUNDS do
  for _, way in ipairs(ways) do
    local ms = ct.bench(way[2], {reps = on_gpu and 20 or 1, batches = on_gpu and 3 or 1})
    way.times = way.times or {}
    if round > 0 then table.insert(way.times, ms) end
  end
end
local median = require "cuttle.lists".median
for _, way in ipairs(ways) do
  way.ms = median(way.times)
  print(("%-42s %8.4f ms %8.1f TFLOP/s  %.3f of the product"):format(way[1], way.ms,
    2 * M * N * K / way.ms * 1e-9, (ways[2].ms or median(ways[2].times)) / way.ms))
end
fused()
ct.synchronize()
ok = ok and allclose(C, D, {rtol = 0, atol = 0})
os.exit(ok, true)
