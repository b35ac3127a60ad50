-- valid_text.lua: texts that may hold any bytes, as scripts do, for formats that are UTF-8.
local M = {}

local REPLACEMENT <const> = utf8.char(0xFFFD)

--- The text with each byte that is no part of UTF-8 replaced.
function M.of(text)
  local from = 1
  while true do
    local n, bad = utf8.len(text, from)
    if n then return text end
    text = text:sub(1, bad - 1) .. REPLACEMENT .. text:sub(bad + 1)
    from = bad + #REPLACEMENT
  end
end

return M
