-- selections.lua: scans, sorts and choices of elements of whole tensors: require
-- "cuttle.selections". docs/selections.md says what each one takes and returns.
local M = {}

local compacts = require "cuttle.selection_compact"
local scatters = require "cuttle.selection_scatter"
local sorts = require "cuttle.selection_sorts"

M.scan = require "cuttle.selection_scan".scan
M.sort, M.argsort = sorts.sort, sorts.argsort
M.top_k = require "cuttle.selection_top".top_k
M.compact, M.positions = compacts.compact, compacts.positions
M.runs, M.unique = compacts.runs, compacts.unique
M.histogram = require "cuttle.selection_histogram".histogram
M.segment_reduce = require "cuttle.selection_reduce".segment_reduce
M.gather, M.scatter_add = scatters.gather, scatters.scatter_add
M.sample = require "cuttle.selection_sample".sample

return M
