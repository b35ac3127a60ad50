-- The tables of docs/from_cute.md and docs/from_moye.md do not lie: what they give as ours exists,
-- and what they call missing does not. A row is | theirs | ours | note |.
local ct = require "cuttle"

local samples = { L = layout(4), T = zeros(f32, { 4 }), k = kernel("nothing", function() end) }

-- Does the language have `text`: name, name(...), L:method, T.field, L(...)?
local function exists(text)
  local object, field = text:match("^([LTk])[.:]([%w_]+)")
  if object then
    local ok, value = pcall(function() return samples[object][field] end)
    return ok and value ~= nil
  elseif text:find("^[LTk][([]") then
    return true -- a call or an index of one
  end
  local name = text:match("^[%a_][%w_]*")
  return name ~= nil and (ct[name] ~= nil or _G[name] ~= nil)
end

-- Names of the language as others may call them: make_layout is layout.
local ours = {}
for name in pairs(ct) do
  ours[name:lower()] = name
end

local function missing_but_there(text)
  local name = text:match("^@?([%a_][%w_]*)")
  return name and ours[name:lower():gsub("^make_", "")]
end

local n_names, n_missing, n_wrong = 0, 0, 0

local function wrong(path, number, ...)
  n_wrong = n_wrong + 1
  print(("%s:%d:"):format(path, number), ...)
end

local function check_row(path, number, theirs, here)
  if here:find("^not yet") or here:find("^no: ") then
    n_missing = n_missing + 1
    for text in theirs:gmatch("`(.-)`") do
      local name = missing_but_there(text)
      if name and here:find("^not yet") then
        wrong(path, number, text .. " is said to be missing, but there is " .. name)
      end
    end
  else
    local n = 0
    for text in here:gmatch("`(.-)`") do
      n = n + 1
      if not exists(text) then
        wrong(path, number, text .. " does not exist")
      end
    end
    n_names = n_names + n
    if n == 0 then
      wrong(path, number, "names nothing: " .. here)
    end
  end
end

local function check_page(path)
  local number, is_table = 0, false
  for line in io.lines(path) do
    number = number + 1
    local theirs, here = line:match("^| (.-) | (.-) |.*|$")
    if line:find("^| %w+ | here | note |$") then
      is_table = true
    elseif not theirs and not line:find("^|%-") then
      is_table = false
    elseif theirs and is_table then
      check_row(path, number, theirs, here)
    end
  end
end

check_page("docs/from_moye.md")
print(n_names > 80, n_missing > 5)       -- expect: true	true
check_page("docs/from_cute.md")
print(n_wrong)                            -- expect: 0

-- The check itself: it finds what is wrong.
print(exists "tile", exists "L:coalesce", exists "T.layout", exists "k:prepare", exists "L(...)")
-- expect: true	true	true	true	true
print(exists "tyle", exists "L:coalesse", exists "T.leyout", exists "k:prepar")
-- expect: false	false	false	false
print(missing_but_there "make_layout", missing_but_there "Swizzl")  -- expect: layout	nil
