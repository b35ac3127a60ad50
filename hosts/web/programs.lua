-- programs.lua: what the page can open: the examples, ordered by the levels of examples/README.md,
-- and the programs of the tutorial as a reader has them at each step. M.script(read, literal) gives
-- them as a script with two lists.
local prose = dofile "hosts/web/prose.lua"
local M = {}

-- {====== Examples ======

-- The first sentence of the first comment, whole, without the file's name.
local function title_of(text, name)
  local comment = {}
  for line in text:gmatch "([^\n]*)\n" do
    if not line:find "^%-%-" then break end
    comment[#comment + 1] = line:gsub("^%-%-%s*", "")
  end
  local sentence = (table.concat(comment, " ") .. " "):match "^[%w_]+%.lua:%s*(.-[^.])%.%s"
  return assert(sentence, name)
end

-- The examples in the order of the course: {name, title, text, level, new}.
local function examples_of(course, read)
  local found, level = {}, nil
  for line in course:gmatch "([^\n]*)\n" do
    level = line:match "^## (.+)$" or level
    local name, new = line:match "^| `([%w_]+%.lua)` | (.-) | "
    if name then
      local text = read("examples/" .. name)
      found[#found + 1] = { name = name, title = title_of(text, name), text = text, level = level,
                            new = new:gsub("%[([^%]]*)%]%b()", "%1"):gsub("`", "") }
    end
  end
  return found
end

-- {====== The tutorial ======

-- A change of a program: its lines with "-" or " " stand there once, in a row.
local function changed(text, change)
  local old, new = {}, {}
  for mark, line in change:gmatch "(.)([^\n]*\n)" do
    if mark ~= "+" then old[#old + 1] = line end
    if mark ~= "-" then new[#new + 1] = line end
  end
  local from, to = ("\n" .. text):find("\n" .. table.concat(old), 1, true)
  assert(from, "a change of the tutorial does not fit")
  return text:sub(1, from - 1) .. table.concat(new) .. text:sub(to)
end

-- Adds a block of a page, a program or a change of one. Changes under one heading are one step.
local function add_block(steps, texts, title, info, body)
  local kind, name = info:match "^(%l+) ([%w_]+%.lua)$"
  if not kind then return end
  texts[name] = kind == "diff" and changed(texts[name], body) or body
  local last = steps[#steps]
  if not last or last.title ~= title then
    last = { name = name, title = title }
    steps[#steps + 1] = last
  end
  last.text = texts[name]
end

-- A block whose text the step loads is not shown again.
local function with_prose(steps, sections)
  for _, step in ipairs(steps) do
    step.html = prose.html(sections[step.title], function(info, body)
      return info:find "^lua " and body == step.text and
        ("`%s` is in the editor. Run it."):format(step.name) or nil
    end)
  end
  return steps
end

local function steps_of(page)
  local steps, texts, title, info, body = {}, {}, nil, nil, nil
  local sections = setmetatable({}, { __index = function(all, name)
    all[name] = {}
    return all[name]
  end })
  for line in page:gmatch "([^\n]*)\n" do
    if title and not line:find "^## " then table.insert(sections[title], line) end
    local fence, heading = line:match "^```(.*)$", line:match "^##%s+(.*)$"
    if fence and info then
      add_block(steps, texts, title, info, table.concat(body))
      info = nil
    elseif fence then
      info, body = fence, {}
    elseif info then
      body[#body + 1] = line .. "\n"
    else
      title = heading or title
    end
  end
  return with_prose(steps, sections)
end

-- {====== As a script ======

local function record(item, literal)
  local fields = {}
  for name, text in pairs(item) do fields[#fields + 1] = ("%s: %s"):format(name, literal(text)) end
  table.sort(fields)
  return "{" .. table.concat(fields, ", ") .. "}"
end

local function list(name, items, literal)
  local rows = {}
  for i, item in ipairs(items) do rows[i] = record(item, literal) end
  return ("var %s = [\n%s\n];\n"):format(name, table.concat(rows, ",\n"))
end

function M.script(read, literal)
  return list("CUTTLE_EXAMPLES", examples_of(read "examples/README.md", read), literal)
    .. list("CUTTLE_TUTORIAL", steps_of(read "docs/tutorial.md"), literal)
end

return M
