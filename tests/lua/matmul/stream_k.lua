-- Stream-K on Hopper: tiles that two blocks share, of sums that are exact. Parts that end inside of
-- tiles and between them, more rounds than two, tiles that overhang, several launches with the same
-- flags; and the problems that it is not for.
-- needs sm_90a
local matmul_of = require "cuttle.matmul"
local here = zeros(f32, 1).device
local function small(rows, columns)
  local x = reference.cast(rand(i32, rows * columns, -2, 3):to("cpu"), bf16)
  return view(x:to(here), row_major{rows, columns})
end

local function config(blocks)
  return {name = "small, stream-K", template = "cuttle.gemm_hopper", tile = {64, 128, 64},
          schedule = "cooperative", stages = 3, registers = {40, 232}, store = {1, 2},
          order = "groups", group = 4, blocks = blocks, stream_k = true}
end

-- M x N x K in so many blocks. A tile has 128 rows of A and 64 of B.
for _, case in ipairs{{320, 256, 320, 5}, {448, 384, 448, 13}, {328, 248, 200, 3},
                      {640, 304, 136, 7}, {64, 640, 640, 3}, {128, 128, 8, 2}} do
  local m, n, k, blocks = table.unpack(case)
  local A, B, bias = small(m, k), small(n, k), ones(f32, n)
  local C = zeros(bf16, row_major{m, n}):to(here)
  local launch = matmul_of.prepare(A, B, C, {config = config(blocks), bias = bias:to(here)})
  for _ = 1, 2 do launch() end
  local R, got, wrong = reference.matmul(A, B):to("cpu"), C:to("cpu"), 0
  for i = 0, m - 1 do
    for j = 0, n - 1 do
      if got[{i, j}] ~= R[{i, j}] + 1 then wrong = wrong + 1 end
    end
  end
  if wrong > 0 then print(m, n, k, blocks, wrong) end
end
print "right"  -- expect: right

local A = small(64, 64)
local _, why = pcall(matmul, A, A, {config = "hopper 256x128x64, stream-K"})
print(why:match "there are fewer tiles")
-- expect: there are fewer tiles
