-- scripts/draw_sentences.lua: which sentences are too long, where they stand, what is no sentence,
-- and that a seed draws the same ones again.
local shell = dofile "tests/support/shell.lua"

-- Runs the script on a file with this name and text: what it prints, and whether it succeeds.
local function run(name, text, option)
  local folder = os.tmpname()
  os.remove(folder)
  os.execute(("mkdir -p '%s/meta'"):format(folder))
  local path = folder .. "/" .. name
  shell.write_file(path, text)
  local out, code = shell.cuttle("scripts/draw_sentences.lua %s '%s'", option, path)
  out = out:gsub(folder .. "/", ""):gsub("\n$", "")
  os.execute(("rm -r '%s'"):format(folder))
  return code == 0, out
end

local words = ("w "):rep(34)

-- 35 words pass; 36 do not, also over two lines and after another sentence.
print(run("a.md", "# " .. words .. words .. "\n\n" .. words .. "end.\n", "--long"))
-- expect: true	0 of 1 sentences have more than 35 words
local ok, out = run("a.md", "One.\nTwo. " .. words .. "\nw end.\n\n- An item.\n", "--long")
print(ok, (out:gsub("w ", "")))
-- expect: false	a.md:2: 36 words: end.
-- expect: 1 of 4 sentences have more than 35 words

-- Code is one word, links count by their words; tables, code and sessions are no sentences.
print(run("a.md", ([[
%s`a b c d e f`.

%s[end](https://example.org/a_b).

| %s %s |

```
%s %s
```

    %s %s
]]):format(words, words, words, words, words, words, words, words), "--long"))
-- expect: true	0 of 2 sentences have more than 35 words

-- Annotations: the summary is a sentence of its own, the words of a tag are one.
ok, out = run("meta/a.lua", ([[
--- A summary.
--- %s w
--- end. More.
---
---     > %s %s
--- CuTe: %s %s
---@param x Tensor %s w end
function f(x) end
]]):format(words, words, words, words, words, words), "--long")
print(ok, (out:gsub("w ", "")))
-- expect: false	meta/a.lua:2: 36 words: end.
-- expect: meta/a.lua:7: 36 words: end
-- expect: 2 of 4 sentences have more than 35 words

-- Usage texts: a paragraph and each option.
print(run("a.lua", [[
local USAGE <const> = "usage: x\n"
  .. "\n"
  .. "Does something with a file.\n"
  .. "  --a=N     first option,\n"
  .. "            over two lines\n"
  .. "  --b       the second option alone\n"
local other = "this is not a usage text at all"
]], "--seed=1"))
-- expect: true	1. a.lua:4: first option, over two lines
-- expect: 2. a.lua:6: the second option alone
-- expect: 3. a.lua:3: Does something with a file.
-- expect: 3 of 3 sentences, seed 1

-- A seed draws the same sentences again, another one draws others.
local many = {}
for i = 1, 99 do many[i] = ("This is sentence number %d."):format(i) end
local page = table.concat(many, "\n\n")
local _, first = run("a.md", page, "--seed=3 --count=5")
local _, again = run("a.md", page, "--seed=3 --count=5")
local _, other = run("a.md", page, "--seed=4 --count=5")
print(first == again, first ~= other, select(2, first:gsub("\n", "")))  -- expect: true	true	5
