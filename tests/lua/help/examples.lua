-- The sessions of each entry of stdlib/meta answer what is written there, each begun anew. So do all
-- of them in one session: the reference that `make docs` builds, by scripts/run_docs.lua.
local annotations = require "cuttle.annotations"
local pretty = require "cuttle.pretty"

device "cpu"

-- The inputs of a session and the lines that should answer each.
local function read_session(lines)
  local inputs = {}
  for _, line in ipairs(lines) do
    local input, more = line:match("^> (.*)$"), line:match("^>> (.*)$")
    local last = inputs[#inputs]
    if input then
      inputs[#inputs + 1] = { text = input, answers = {} }
    elseif more then
      last.text = last.text .. "\n" .. more
    else
      table.insert(last.answers, line)
    end
  end
  return inputs
end

-- Blanks as one, and none at the ends of lines.
local function squeeze(text)
  return (text:gsub("[ \t]+", " "):gsub(" \n", "\n"):gsub("%s+$", ""))
end

local function text_of(value)
  return type(value) == "table" and not getmetatable(value) and pretty.text(value, 80) or
    tostring(value)
end

-- What the prompt prints for an input.
local function answer(text, env)
  local printed = {}
  local print_before = print
  _G.print = function(...) -- luacheck: ignore 122
    local texts = table.pack(...)
    for i = 1, texts.n do texts[i] = tostring(texts[i]) end
    printed[#printed + 1] = table.concat(texts, "\t")
  end
  local chunk = load("return " .. text, "=example", "t", env) or load(text, "=example", "t", env)
  local results = table.pack(pcall(assert(chunk, text)))
  _G.print = print_before -- luacheck: ignore 122
  for i = 2, results.n do results[i] = text_of(results[i]) end
  if results.n > 1 then
    printed[#printed + 1] = table.concat(results, "\t", 2, results.n)
  end
  return table.concat(printed, "\n")
end

local n_inputs, n_wrong = 0, 0

local function check_entry(entry)
  local env = setmetatable({}, { __index = _G })
  for _, input in ipairs(read_session(entry.examples)) do
    n_inputs = n_inputs + 1
    local got, want = answer(input.text, env), table.concat(input.answers, "\n")
    if squeeze(got) ~= squeeze(want) then
      n_wrong = n_wrong + 1
      print(("%s: %s: > %s\n     got: %s\nexpected: %s"):format(entry.topic.file, entry.name,
        input.text, got, want))
    end
  end
end

for _, topic in ipairs((annotations.load())) do
  for _, entry in ipairs(topic.entries) do
    check_entry(entry)
    local of_layouts = topic.word == "layouts" or topic.word == "algebra" or
      topic.word == "coordinates" or topic.word == "pictures"
    if of_layouts and #entry.examples == 0 and #entry.params > 0 then
      n_wrong = n_wrong + 1
      print(("%s: %s has no example"):format(topic.file, entry.name))
    end
  end
end
print(n_inputs > 200, n_wrong)            -- expect: true	0
print(answer("1 + 1, {1}", {}), answer("x = nil", {}) == "")  -- expect: 2	{1}	true
