-- The pictures of docs/pictures.md are those that its commands draw. With the argument `update` they
-- are written anew: cuttle tests/lua/picture/docs.lua update
local folder = "docs/pictures"

local function read_file(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("a")
  file:close()
  return text
end

local n = 0
local page = read_file(folder .. ".md")
for x, name in page:gmatch('\n> svg%((.-), "([%w_]+%.svg)"%)\n') do
  local path = folder .. "/" .. name
  local text = assert(load("return svg(" .. x .. ")"))()
  if arg[1] == "update" then
    local file = assert(io.open(path, "wb"))
    file:write(text)
    assert(file:close())
  end
  n = n + 1
  local is_shown = page:find("(pictures/" .. name .. ")", 1, true)
  print(("%s %d - %s"):format(is_shown and text == read_file(path) and "ok" or "not ok", n, name))
end
print((n > 0 and "ok " or "not ok ") .. n + 1 .. " - there are some")
print("1.." .. n + 1)
