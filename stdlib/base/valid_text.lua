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

local MOST <const> = 60 -- bytes of a text in a message

--- The text in quotes, as a message shows it that a terminal prints: cut, and without control
--- characters.
function M.quoted(text)
  local function hex(c) return ("\\x%02x"):format(c:byte()) end
  local shown = M.of(text:sub(1, MOST)):gsub("%c", hex)
  return ("'%s%s'"):format(shown, #text > MOST and "..." or "")
end

return M
