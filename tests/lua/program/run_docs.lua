-- The runner of documents: what it runs, what it finds wrong, and what it writes.
local shell = dofile "tests/support/shell.lua"
local cuttle = arg[-1]

local page <const> = [[
# Page

```
$ cuttle
> local x = 1
> y = 2
> y + 1
3

> for i = 1, 2 do
>> print(i) end
1
2
> y.z.z
input 5:1: attempt to index a number value (global 'y')
```
```
> y
2
```

```lua
print("a\tb")
```
```
a       b
```

## Next
```
> y
nil
$ cuttle -e 'print(1 + 1)'
2
```
```
this is not run
```
```lua norun
error("nor this")
```
]]

local function run(text, option)
  local path = shell.file(text)
  local out, code = shell.cuttle("scripts/run_docs.lua --cuttle='%s' %s %s", cuttle,
    option or "", path)
  local after = shell.read_file(path)
  os.remove(path)
  return out:gsub(path, "PAGE"):gsub("\n$", ""), code == 0 or nil, after
end

local out = run(page)
print(out)
-- expect: ok 1 - PAGE:4
-- expect: ok 2 - PAGE:18
-- expect: ok 3 - PAGE:23
-- expect: ok 4 - PAGE:31
-- expect: 1..4

-- An output that differs, one that is missing, one too many.
out = run("```\n> 1 + 1\n3\n> 2\n> print()\n\n4\n```\n")
print(out)
-- expect: not ok 1 - PAGE:2
-- expect: #   PAGE:3
-- expect: #        got: 2
-- expect: #   expected: 3
-- expect: #   PAGE:5
-- expect: #        got: 2
-- expect: #   expected: (nothing)
-- expect: #   PAGE:6
-- expect: #        got: (nothing)
-- expect: #   expected:
-- expect: 1..1

-- An input that is not complete, and a program that prints though the page shows no output.
out = run("```\n> for i = 1, 2 do\n```\n```lua\nprint(1)\n```\n")
print(out:match("the input is not complete"), (out:gsub(".-(not ok 2)", "%1")))
-- expect: the input is not complete	not ok 2 - PAGE:5
-- expect: #   PAGE:7
-- expect: #        got: 1
-- expect: #   expected: (nothing)
-- expect: 1..2

-- What comes after an incomplete input is still told apart.
out = run("```\n> (\n> 1 + 1\n> 2 + 2\n4\n```\n")
print(out:match("PAGE:3\n.-\n"), out:match("PAGE:5"))
-- expect: PAGE:3
-- expect: #        got: (the input is not complete, or the session ended here)
-- expect: 	nil

-- Files of a page, changes of them, commands whose output is not shown whole.
local files <const> = [[
```lua a.lua
print(1)
for i = 2, 9 do
  print(i)
end
```
```
$ cuttle a.lua
1
2
...
9
```
```diff a.lua
 print(1)
-for i = 2, 9 do
+print("more")
+for i = 2, 3 do
   print(i)
```
```
$ cuttle a.lua
...
more
2
3
```
]]
out = run(files)
print(out)
-- expect: ok 1 - PAGE:8
-- expect: ok 2 - PAGE:22
-- expect: 1..2
print(select(3, run(files, "--update")) == files) -- expect: true
print((run((files:gsub("more\n2", "more\n...\n1")))))
-- expect: ok 1 - PAGE:8
-- expect: not ok 2 - PAGE:22
-- expect: #   PAGE:26: the output has no such line here: 1
-- expect: 1..2
print((run((files:gsub("\n%-for i = 2, 9", "\n-for i = 2, 8")))))
-- expect: not ok 1 - PAGE
-- expect: #   PAGE:15: the lines of this change to a.lua do not stand there in a row
-- expect: 1..1
print((run((files:gsub("print%(1%)\nfor", "print(2)\nprint(2)\nfor")
  :gsub("\n %S+\n%-for.-```", "\n-print(2)\n```")))))
-- expect: not ok 1 - PAGE
-- expect: #   PAGE:16: the lines of this change to a.lua stand there more than once
-- expect: 1..1

-- Links lead to files and headings.
out = run("## A `b` c!\n[x](#a-b-c) [y](#a-b) [z](no.md) [w](https://example.com)\n")
print(out)
-- expect: not ok 1 - PAGE links
-- expect: #   PAGE:2: nothing is at #a-b
-- expect: #   PAGE:2: nothing is at no.md
-- expect: 1..1

-- Brackets in a block are no links.
print((run("```lua\nlocal x = {f = print}\nx['f'](nothing)\n```\n```\nnil\n```\n")))
-- expect: ok 1 - PAGE:2
-- expect: 1..1

-- A picture is what an example drew; --update writes it.
local picture = os.tmpname()
local draws = ('```\n> svg("2:1", "%s")\n%s\n```\n![a layout](%s)\n'):format(
  picture:match("[^/]+$"), picture:match("[^/]+$"), picture:match("[^/]+$"))
print((run(draws):gsub(picture:match("[^/]+$"), "PICTURE")))
-- expect: ok 1 - PAGE:2
-- expect: ok 2 - PAGE links
-- expect: not ok 3 - PAGE pictures
-- expect: #   PAGE:5: PICTURE is not what the page draws
-- expect: 1..3
run(draws, "--update")
print((run(draws):match("not ok")), (run((draws:gsub('2:1', '3:1'))):match("not ok.*pictures")))
-- expect: nil	not ok 3 - PAGE pictures
os.remove(picture)

-- Outputs are written anew, and nothing else.
local wrong = page:gsub("\n3\n", "\n4\nx\n"):gsub("a       b\n", ""):gsub("\n1\n2\n", "\n")
local _, ok, after = run(wrong, "--update")
print(ok, wrong ~= page, after == page) -- expect: true	true	true
