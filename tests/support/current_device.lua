-- current_device.lua: for tests of the current device beside the host.
--   here              "cuda" or "cpu"
--   host(t)           the tensor on the host; upload(t): on the device
--   on_host(fn, ...)  calls fn while the host is the current device
local here = device().sm and "cuda" or "cpu"
local M = { here = here }

function M.host(t) return t.device == "cpu" and t or t:to("cpu") end
function M.upload(t) return here == "cpu" and t or t:to("cuda") end

function M.on_host(fn, ...)
  device("cpu")
  local result = fn(...)
  device(here)
  return result
end

return M
