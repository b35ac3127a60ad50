-- ptx_lines.lua: the lines that PTX text names, for `cuttle emit --ptx=FILE`
-- (interp/launch/launch_image.c). After `.loc FILE LINE COLUMN, function_name F, inlined_at FILE
-- LINE COLUMN` comes code of a function that was inlined at a place which an earlier `.loc` has
-- named.
local M = {}

local PLACE <const> = "(%d+ %d+ %d+)"

-- The text, in which code of inlined functions has the place of the outermost call: tools that read
-- no more than FILE and LINE name a line of the script.
function M.outer(ptx)
  local outer_of = {} -- by place: where its code was called from, as its last `.loc` said
  return (ptx:gsub("[^\n]+", function(line)
    local place = line:match("^%s*%.loc%s+" .. PLACE)
    if not place then return nil end
    local call = line:match("inlined_at " .. PLACE)
    outer_of[place] = call and (outer_of[call] or call) or place
    return "\t.loc\t" .. outer_of[place]
  end))
end

return M
