-- The program on the README's first screen prints what the README says.
local file = assert(io.open("README.md"))
local readme = file:read("a")
file:close()
local program, output = readme:match("```lua\n(.-)```\n```\n(.-)```")

local printed = {}
local env = setmetatable({}, { __index = _ENV })
function env.print(...)
  local texts = table.pack(...)
  for i = 1, texts.n do texts[i] = tostring(texts[i]) end
  printed[#printed + 1] = table.concat(texts, " ")
end
assert(load(program, "=README.md", "t", env))()

local function words(text) return (text:gsub("%s+", " "):gsub("^ ", ""):gsub(" $", "")) end
print(words(table.concat(printed, "\n")) == words(output)) -- expect: true

-- The layouts below it, too.
local input, answer = readme:match("```\n%$ ./build/cuttle\n> (.-)\n(.-)\n```")
print(tostring(load("return " .. input)()) == answer)     -- expect: true
