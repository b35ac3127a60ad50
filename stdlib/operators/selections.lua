-- selections.lua: scans, sorts and choices of elements of whole tensors: require
-- "cuttle.selections". docs/selections.md says what each one takes and returns.
local M = {}

M.scan = require "cuttle.selection_scan".scan

return M
