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

-- What zlib made of a text, with fixed codes.
local function of_hex(hex)
  return (hex:gsub("..", function(x) return string.char(tonumber(x, 16)) end))
end
local made = of_hex("4bcb2f52c854b05530d051c853d055305448c957282ecd058a80486d858a"
  .. "e8cc5885d4bc14ae34aa"
  .. "2b6410543276094d2bef98b96af799bbeffe0300")
local tail = {}
for i = 0, 255, 17 do tail[#tail + 1] = string.char(i) end
local text = ("for i = 0, n - 1 do sum = sum + x[i] end\n"):rep(3) .. table.concat(tail)
print(inflate(made) == text) -- expect: true

-- Bytes that are no packed text are an error: cut, changed, of another kind of block.
local n_refused = 0
for i = 0, #made - 1 do
  n_refused = n_refused + (pcall(inflate, made:sub(1, i)) and 0 or 1)
  for bit = 0, 7 do
    local changed = made:byte(i + 1) ~ 1 << bit
    pcall(inflate, made:sub(1, i) .. string.char(changed) .. made:sub(i + 2))
  end
end
print(n_refused == #made, select(2, pcall(inflate, "")))
-- expect: true	inflate: the 0 bytes are no packed text
