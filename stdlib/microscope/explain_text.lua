-- explain_text.lua: the text of explain: entries with a heading each.
local M = {}

local MAX_LISTED <const> = 8 -- threads, elements or offsets in one list

M.__index = M

function M.new() return setmetatable({}, M) end

-- One entry: a heading in the first column, text in the second.
function M:add(heading, format, ...)
  local text = format:format(...)
  self[#self + 1] = heading == "" and (" "):rep(14) .. text or ("%-13s %s"):format(heading, text)
end

function M:text()
  return table.concat(self, "\n")
end

-- At most MAX_LISTED texts, and how many more there are.
function M.listed(list, separator)
  local shown = table.move(list, 1, math.min(#list, MAX_LISTED), 1, {})
  local more = #list - #shown
  local rest = more > 0 and (", ... %d more"):format(more) or ""
  return table.concat(shown, separator or ", ") .. rest
end

return M
