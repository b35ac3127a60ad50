-- Texts come back from the bytes that deflate.lua makes of them, as those that the binary carries do.
local deflate = require "cuttle.deflate".deflate
local inflate = require "cuttle.inflate"

local seed = 1
local function random(n)
  seed = (seed * 1103515245 + 12345) & 0x7fffffff
  return (seed >> 8) % n
end

local n_checked = 0
for size = 0, 1200, 7 do
  for _, n_letters in ipairs { 2, 26, 256 } do
    local letters = {}
    for i = 1, size do letters[i] = string.char(random(n_letters)) end
    local text = table.concat(letters)
    assert(inflate(deflate(text)) == text)
    n_checked = n_checked + 1
  end
end
print(n_checked) -- expect: 516

-- The longest match, the longest distances, and each length beside it.
for length = 1, 600 do
  local text = ("x"):rep(length) .. "y" .. ("abc"):rep(length // 3)
  assert(inflate(deflate(text)) == text)
end
local parts = {}
for i = 1, 40000 do parts[i] = string.char(random(256)) end
local far = table.concat(parts)
far = far .. far:sub(-32768, -32500) .. far:sub(7300, 7700)
print(inflate(deflate(far)) == far) -- expect: true

-- What the binary carries is the text of the sources.
local file <close> = assert(io.open("stdlib/pictures/page.js", "rb"))
print(require "cuttle.page.js" == file:read("a")) -- expect: true
