-- prose.lua: a part of a page of docs as HTML: paragraphs, lists, pictures, blocks of code; within
-- them code and emphasis. M.html(lines, skips) leaves out a block of code for which
-- skips(info, body) returns a text, and puts the text there. Links become text: the playground has
-- no other pages.
local M = {}

local escapes = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }
local function escaped(text) return (text:gsub('[&<>"]', escapes)) end

-- Outside of code.
local function spans(text)
  return (escaped(text):gsub("%[(.-)%]%([^)]*%)", "%1")
    :gsub("%*%*(.-)%*%*", "<strong>%1</strong>"):gsub("%*(.-)%*", "<em>%1</em>"))
end

local function inline(text)
  local out, at = {}, 1
  for from, code, to in text:gmatch "()`([^`]+)`()" do
    out[#out + 1] = spans(text:sub(at, from - 1))
    out[#out + 1] = ("<code>%s</code>"):format(escaped(code))
    at = to
  end
  out[#out + 1] = spans(text:sub(at))
  return table.concat(out)
end

local function list(text)
  local items = {}
  for item in ("\n" .. text):gsub("\n%- ", "\0"):gmatch "%z([^%z]+)" do
    items[#items + 1] = ("<li>%s</li>"):format(inline(item))
  end
  return ("<ul>%s</ul>"):format(table.concat(items))
end

-- Lines between empty ones, as one text.
local function block(text)
  local about, picture = text:match "^!%[([^%]]*)%]%((.-)%)$"
  if picture then
    return ('<img class="drawing" src="%s" alt="%s">'):format(picture, escaped(about))
  end
  if text:find "^%- " then return list(text) end
  return ("<p>%s</p>"):format(inline(text))
end

local function code(info, body, skips)
  local instead = skips(info, body)
  if instead then return ("<p class=\"muted\">%s</p>"):format(inline(instead)) end
  return ('<pre tabindex="0">%s</pre>'):format(escaped(body))
end

function M.html(lines, skips)
  local out, text, info, body = {}, {}, nil, nil
  local function flush()
    if #text > 0 then out[#out + 1] = block(table.concat(text, "\n")) end
    text = {}
  end
  for _, line in ipairs(lines) do
    local fence = line:match "^```(.*)$"
    if fence and info then
      out[#out + 1] = code(info, table.concat(body), skips)
      info = nil
    elseif fence then
      flush()
      info, body = fence, {}
    elseif info then
      body[#body + 1] = line .. "\n"
    elseif line == "" then
      flush()
    else
      text[#text + 1] = line
    end
  end
  flush()
  return table.concat(out, "\n")
end

return M
