-- page_file.lua: pages that need nothing else, no network and no file beside them: page_frame.html
-- with a page's own body, style, script and data in it.
local ct = require "cuttle"
local json = require "cuttle.json"
local M = {}

local escapes = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }

-- What every page of ours has within its first bytes, so that no other file is taken for one.
M.mark = '<meta name="generator" content="Cuttle '

--- The text of the page. `data`: what the script finds in #data; the others are texts. The style
--- `css` follows house.css.
function M.make(title, body, css, js, data)
  local parts = { VERSION = ct._VERSION, TITLE = title:gsub('[&<>"]', escapes), BODY = body,
                  CSS = require "cuttle.house.css" .. css, JS = js, DATA = json.encode(data) }
  return (require("cuttle.page_frame.html"):gsub("@(%u+)@", parts))
end

return M
