-- selections.lua: scans, sorts and choices of elements of whole tensors: require
-- "cuttle.selections". docs/selections.md says what each one takes and returns.
local M = {}

local sorts = require "cuttle.selection_sorts"

M.scan = require "cuttle.selection_scan".scan
M.sort, M.argsort = sorts.sort, sorts.argsort

return M
