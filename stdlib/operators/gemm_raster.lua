-- gemm_raster.lua: which tile of C a block of matmul computes. By default the grid is that of the
-- tiles. With variant.group = g it is one line, in which g rows of tiles are walked together, so
-- that blocks that run at the same time share what they read.
local grouping = require "cuttle.gemm_groups"
local indexed = require "cuttle.gemm_indexed"
local nested = require "cuttle.gemm_nested"
local scales = require "cuttle.gemm_scales"
local M = {}

local MAX_Y <const> = 65535 -- of a grid's y and z

--- The variant's way through the tiles, and the grid: of an (M,N,L) problem, perhaps in groups.
function M.grid(config, m, n, l, grouped)
  local tiles_m, tiles_n = cdiv(m, config.tile[1]), cdiv(n, config.tile[2])
  if grouped and grouped.mode == "list" then
    return {grouping.listed_tiles(grouped.sizes, config.tile[1], config.tile[2]), 1, 1}, nil
  elseif grouped and grouped.mode == "m" then
    return {grouping.most_tiles(m, grouped.n, config.tile[1]) * tiles_n, 1, 1}, nil
  elseif grouped and grouped.mode == "n" then
    return {grouping.most_tiles(n, grouped.n, config.tile[2]) * tiles_m, 1, 1}, nil
  end
  local group = config.group or tiles_n > MAX_Y and 8 or nil
  if group then return {tiles_m * tiles_n, 1, l}, group end
  return {tiles_m, tiles_n, l}, nil
end

--- In a kernel: the matrix of one batch, guarded where tiles of the variant overhang.
function M.matrix(variant, t, l)
  local matrix = t(_, _, l)
  return variant.ragged and guard(matrix) or matrix
end

-- The operand of that name, and the coordinates in it: of a nested one nothing is guarded, and its
-- rows and columns count as one mode each.
local function operand(variant, name, t, l)
  if variant["nested_" .. name] then return t(_, _, l) end
  return M.matrix(variant, t, l)
end

local function places_in(variant, C, l)
  if variant.nested_C then return nested.places(C(_, _, l)) end
  return identity_tensor(shape(C(_, _, l)))
end

--- In a kernel: the tile's coordinates in C, and the batch.
function M.place(variant, C)
  local x, l = blockIdx.x, blockIdx.z
  if not variant.group then return x, blockIdx.y, l end
  local tiles_m = cdiv(size(C, 0), variant.tile[1])
  local tiles_n = cdiv(size(C, 1), variant.tile[2])
  local in_group = variant.group * tiles_n
  local first = x // in_group * variant.group
  local rows = min(tiles_m - first, variant.group)
  return first + x % in_group % rows, x % in_group // rows, l
end

local modes <const> = { m = 0, n = 1 }

--- In a kernel: what the block has of C (M,N,L) in groups of rows or columns, as M.tile returns it,
--- C not guarded; and the group, and the index of its rows or nil. Ends and indices are taken from
--- the operands. A group's tiles go along the mode that has groups first: blocks that run together
--- share what they read of the group's own matrix.
function M.grouped_tile(variant, C, operands)
  local mode = modes[variant.grouped]
  local ends, by = table.remove(operands, 1), indexed.take(variant, operands)
  local rows, columns = variant.tile[mode + 1], variant.tile[2 - mode]
  local extents, first = { size(C, 0), size(C, 1) }, { 0, 0 }
  extents[mode + 1] = by.extent or extents[mode + 1]
  local way = { ends = ends, extent = extents[mode + 1], rows = rows,
                times = cdiv(size(C, 1 - mode), columns) }
  local group, i, is_there = grouping.find(way, blockIdx.x)
  local along = max(cdiv(group.rows, rows), 1)
  local at = { l = group.g, is_there = is_there, m = i % along, n = i // along, group = group,
               gather = by.gather }
  at.C = variant.nested_C and indexed.until_end(C(_, _, 0), mode, by.scatter, group)
    or grouping.part(C(_, _, 0), mode, group)
  if mode == 1 then at.m, at.n = at.n, at.m end
  first[mode + 1] = group.first
  at.places = domain_offset(first, identity_tensor(extents))
  return at
end

-- The same with A and B.
local function tile_of_groups(variant, A, B, C, operands)
  local at = M.grouped_tile(variant, C, operands)
  local own, mode = variant.grouped == "m" and "A" or "B", modes[variant.grouped]
  at.A, at.B = A(_, _, mode == 0 and 0 or at.l), B(_, _, mode == 0 and at.l or 0)
  at[own] = at.gather and indexed.part(at[own], 0, at.gather, at.group)
    or grouping.part(at[own], 0, at.group)
  return at
end

-- Of products of lists of matrices, whose tiles follow one another.
local function listed_tile(variant, A, B, C)
  local function extents_of(g)
    local c = C[g + 1]
    return cdiv(size(c, 0), variant.tile[1]), cdiv(size(c, 1), variant.tile[2])
  end
  local g, before = 0, 0
  local high, wide = extents_of(0)
  while blockIdx.x >= before + high * wide and g < #C - 1 do
    g, before = g + 1, before + high * wide
    high, wide = extents_of(g)
  end
  local i, own = blockIdx.x - before, C[g + 1](_, _, 0)
  return { m = i % high, n = i // high, l = g, is_there = true, C = own,
           extent = { size(own, 0), size(own, 1) }, places = identity_tensor(shape(own)),
           A = A[g + 1](_, _, 0), B = B[g + 1](_, _, 0) }
end

-- Of groups along K.
local function deep_tile(variant, A, B, C, operands)
  local ends = table.remove(operands, 1)
  local m, n, l = M.place(variant, C)
  local group = grouping.group(ends, l, size(A, 1))
  return { m = m, n = n, l = l, is_there = true, C = C(_, _, l),
           places = identity_tensor(shape(C(_, _, l))),
           A = grouping.part(A(_, _, 0), 1, group), B = grouping.part(B(_, _, 0), 1, group) }
end

--- In a kernel: what the block computes, of A (M,K,L), B (N,K,L), C (M,N,L) and what follows beta:
--- {m =, n =, the tile; l =, the batch or group; A =, B =, C =, the matrices of that, guarded where
--- tiles overhang unless they are nested; places =, coordinates in C; operands =, the epilogue's;
--- scales =, see gemm_scales.lua; extent =, that of C;
--- is_there =, is there such a tile}.
function M.tile(variant, A, B, C, operands)
  local at
  if variant.grouped then
    if variant.grouped == "list" then
      at = listed_tile(variant, A, B, C)
    elseif variant.grouped == "k" then
      at = deep_tile(variant, A, B, C, operands)
    else
      at = tile_of_groups(variant, A, B, C, operands)
    end
    for _, name in ipairs { "A", "B", "C" } do
      if not variant["nested_" .. name] then at[name] = guard(at[name]) end
    end
  else
    local m, n, l = M.place(variant, C)
    at = { m = m, n = n, l = l, is_there = true, A = operand(variant, "A", A, l),
           B = operand(variant, "B", B, l), C = operand(variant, "C", C, l),
           places = places_in(variant, C, l) }
  end
  at.scales = scales.take(variant, operands)
  at.operands, at.extent = operands, at.extent or { size(C, 0), size(C, 1) }
  return at
end

return M
