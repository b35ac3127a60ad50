-- device_fn.lua: what is traced for a function of device_fn; see interp/ops/bind_function.c.
local internal = ...
local M = {}

function M.body(f, ...) internal.function_results(f(...)) end

return M
