-- programs.lua: what the page can open: the examples, and the programs of the tutorial as a reader
-- has them at each step. M.script(read, paths, literal) gives them as a script with two lists.
local M = {}

-- {====== Examples ======

-- The first sentence of the first comment, without the file's name.
local function title_of(text, name)
  local comment = {}
  for line in text:gmatch "([^\n]*)\n" do
    if not line:find "^%-%-" then break end
    comment[#comment + 1] = line:gsub("^%-%-%s*", "")
  end
  local sentence = (table.concat(comment, " ") .. " "):match "^[%w_]+%.lua:%s*(.-)[.:]%s"
  return sentence and sentence:gsub("^%l", string.upper) or name
end

local function example(path, text)
  local name = path:match "[^/]+$"
  return { name = name, title = title_of(text, name), text = text }
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

local function steps_of(page)
  local steps, texts, title, info, body = {}, {}, nil, nil, nil
  for line in page:gmatch "([^\n]*)\n" do
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
  return steps
end

-- {====== As a script ======

local function list(name, items, literal)
  local rows = {}
  for i, item in ipairs(items) do
    rows[i] = ("{name: %s, title: %s, text: %s}"):format(literal(item.name), literal(item.title),
      literal(item.text))
  end
  return ("var %s = [\n%s\n];\n"):format(name, table.concat(rows, ",\n"))
end

function M.script(read, paths, literal)
  local examples = {}
  for i, path in ipairs(paths "examples/*.lua") do examples[i] = example(path, read(path)) end
  return list("CUTTLE_EXAMPLES", examples, literal)
    .. list("CUTTLE_TUTORIAL", steps_of(read "docs/tutorial.md"), literal)
end

return M
