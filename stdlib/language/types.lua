-- types.lua: values of the language, told apart.
local M = {}

-- Is it a value of that type, as messages call the type: "layout", "dtype", "tensor"?
function M.is_a(value, name)
  local meta = type(value) == "userdata" and getmetatable(value)
  return type(meta) == "table" and meta.__name == name
end

return M
