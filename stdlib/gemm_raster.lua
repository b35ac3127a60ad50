-- gemm_raster.lua: which tile of C a block of matmul computes. By default the grid is that of the
-- tiles. With variant.group = g it is one line, in which g rows of tiles are walked together, so
-- that blocks that run at the same time share what they read.
local ct = require "cuttle"
local M = {}

local MAX_Y <const> = 65535 -- of a grid's y and z

--- The variant's way through the tiles, and the grid: of an (M,N,L) problem.
function M.grid(config, m, n, l)
  local tiles_m, tiles_n = ct.cdiv(m, config.tile[1]), ct.cdiv(n, config.tile[2])
  local group = config.group or tiles_n > MAX_Y and 8 or nil
  if group then return {tiles_m * tiles_n, 1, l}, group end
  return {tiles_m, tiles_n, l}, nil
end

--- In a kernel: the matrix of one batch, guarded where tiles of the variant overhang.
function M.matrix(variant, t, l)
  local matrix = t(ct._, ct._, l)
  return variant.ragged and ct.guard(matrix) or matrix
end

--- In a kernel: the tile's coordinates in C, and the batch.
function M.place(variant, C)
  local x, l = ct.blockIdx.x, ct.blockIdx.z
  if not variant.group then return x, ct.blockIdx.y, l end
  local tiles_m = ct.cdiv(ct.size(C, 0), variant.tile[1])
  local tiles_n = ct.cdiv(ct.size(C, 1), variant.tile[2])
  local in_group = variant.group * tiles_n
  local first = x // in_group * variant.group
  local rows = ct.min(tiles_m - first, variant.group)
  return first + x % in_group % rows, x % in_group // rows, l
end

return M
