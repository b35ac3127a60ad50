-- page_file.lua: pages that need nothing else, no network and no file beside them: page_frame.html
-- with a page's own body, style, script and data in it.
local language = require "cuttle"
local json = require "cuttle.json"
local lists = require "cuttle.lists"
local M = {}

local escapes = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }

-- What every page of ours has within its first bytes, so that no other file is taken for one.
M.mark = '<meta name="generator" content="Cuttle '

-- The pages that there are: their body, and their styles and script after page_parts.css and
-- page_parts.js.
M.kinds = {
  picture = { body = "page.html", css = { "page.css" }, js = "page.js" },
  drawing = { body = "drawing.html", css = { "drawing.css" }, js = "drawing.js" },
  profile = { body = "profile.html", css = { "profile.css" }, js = "profile.js" },
  launch = { body = "launch_page.html", css = { "page.css", "trace_page.css", "launch_page.css" },
             js = "launch_page.js" },
  trace = { body = "trace_page.html", css = { "page.css", "trace_page.css" },
            js = "trace_page.js" },
}

local function joined(names)
  local texts = lists.map(names, function(name) return require("cuttle." .. name) end)
  return table.concat(texts)
end

-- Pages of one kind differ in their title and data alone, both as texts of HTML. The playground
-- shows no other page: hosts/web/page/shown.js.
function M.text(kind, title, data)
  local page = M.kinds[kind]
  local parts = { VERSION = language._VERSION, TITLE = title, DATA = data,
                  JS = joined { "page_parts.js", page.js }, BODY = joined { page.body },
                  CSS = joined { "house.css", "page_parts.css", table.unpack(page.css) } }
  return (require("cuttle.page_frame.html"):gsub("@(%u+)@", parts))
end

--- The text of the page. `kind`: one of M.kinds; `data`: what its script finds in #data.
function M.make(kind, title, data)
  return M.text(kind, title:gsub('[&<>"]', escapes), json.encode(data))
end

return M
