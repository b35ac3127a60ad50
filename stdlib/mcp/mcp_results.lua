-- mcp_results.lua: answers of tools as a client gets them: within a budget of characters, and the
-- whole as a resource.
--   M.new()                  what is kept; the client's version has links unless `has_no_links`
--   M.shown(kept, call, answer)   the result of tools/call
--   M.list(kept), M.read(kept, uri)   the resources that are kept
local tools = require "cuttle.mcp_tools"
local json = require "cuttle.json"
local lists = require "cuttle.lists"
local valid_text = require "cuttle.valid_text"
local M = {}

local MAX_KEPT <const> = 32 -- resources; the oldest goes first
local PLAIN <const> = "text/plain"

function M.new() return { n = 0 } end

local function keep(kept, call, file)
  kept.n = kept.n + 1
  local uri = ("cuttle://results/%d/%s"):format(kept.n, file.name)
  table.insert(kept, { uri = uri, name = file.name, title = call.tool.name .. ": " .. file.name,
                       mimeType = file.type, text = valid_text.of(file.text) })
  if #kept > MAX_KEPT then table.remove(kept, 1) end
  local size = ("%d characters"):format(utf8.len(kept[#kept].text))
  if kept.has_no_links then
    return { type = "text", text = ("%s, %s: %s"):format(file.name, size, uri) }, uri
  end
  return { type = "resource_link", uri = uri, name = file.name, mimeType = file.type,
           description = size }, uri
end

-- The text up to a line end within the budget.
local function cut(text, budget)
  local head = text:sub(1, utf8.offset(text, budget + 1) - 1)
  return head:match "^(.*\n)" or head .. "\n"
end

-- The text, as far as the budget goes, and how many characters it takes.
local function show_text(kept, call, answer, content, budget)
  local text = valid_text.of(answer.text or "")
  local n = utf8.len(text)
  if n <= budget then
    content[1] = { type = "text", text = text }
    return n
  end
  local link, uri = keep(kept, call, { name = call.tool.name .. ".txt", type = PLAIN, text = text })
  local head = cut(text, budget)
  content[1] = { type = "text", text = ("%s... %d of %d characters; all of them: %s"):format(head,
    utf8.len(head), n, uri) }
  content[2] = link
  return budget
end

-- The data, whose lists are cut until they fit into what is left.
local function fitting(data, room)
  local shown = lists.with(data)
  for name, value in pairs(data) do
    if type(value) == "table" and #value > 0 then
      local list = table.move(value, 1, #value, 1, {})
      shown[name] = list
      while #list > 0 and #json.encode_line(shown) > room do
        table.remove(list)
        shown.is_cut = true
      end
      if #list == 0 then shown[name] = nil end
    end
  end
  return shown
end

local function show_data(kept, call, answer, content, room)
  if not answer.data then return nil end
  local shown = fitting(answer.data, math.max(room, 0))
  if shown.is_cut then
    local link = keep(kept, call, { name = call.tool.name .. ".json", type = "application/json",
      text = json.encode(answer.data) })
    content[#content + 1] = link
  end
  return shown
end

function M.shown(kept, call, answer)
  local content = {}
  local budget = math.tointeger(call.arguments.budget) or tools.DEFAULT_BUDGET
  local n = show_text(kept, call, answer, content, budget)
  local data = show_data(kept, call, answer, content, budget - n)
  for _, file in ipairs(answer.files or {}) do
    local link = keep(kept, call, file)
    content[#content + 1] = link
  end
  return { content = content, structuredContent = data, isError = answer.is_error or false }
end

function M.list(kept)
  return lists.map(kept, function(r)
    return { uri = r.uri, name = r.name, title = r.title, mimeType = r.mimeType }
  end)
end

function M.read(kept, uri)
  for _, r in ipairs(kept) do
    if r.uri == uri then return { type = r.mimeType, text = r.text } end
  end
end

return M
