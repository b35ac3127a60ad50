-- scripts/together.lua: files that a compiler reads as one text share no names of their own.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local quote = shell.quote

local folder = shell.folder()
local run <const> = "lua5.4 " .. quote(os.getenv "PWD" .. "/scripts/together.lua") .. " out "

-- The files of each text, for files of these codes, of which a header defines `header`.
local function together(codes, header)
  shell.run("rm -rf %s/* && mkdir -p %s/runtime/a %s/interp", quote(folder), quote(folder),
    quote(folder))
  shell.write_file(folder .. "/runtime/a/a.h", header or "")
  local paths = {}
  for i, code in ipairs(codes) do
    paths[i] = ("runtime/a/%d.c"):format(i)
    shell.write_file(folder .. "/" .. paths[i], code)
  end
  local out = shell.run("cd %s && %s%s", quote(folder), run, table.concat(paths, " "))
  local texts = {}
  for name in out:gmatch "[^\n]+" do
    local text = shell.read_file(("%s/out/%s.c"):format(folder, name))
    texts[#texts + 1] = text:gsub('#include "runtime/a/(%d+).c"\n', "%1 ")
  end
  return table.concat(texts, "| ")
end

tap.is(together{"int f(void);", "int g(void);", "int h(void);"}, "1 2 3 ",
  "files that share nothing")
for _, case in ipairs{
  {"static int find(int x) { return x; }", "a function"},
  {"static const int find[] = {1};", "a list"},
  {"static struct { int x; } find = {0};", "a variable of a type without a name"},
  {"typedef int find;", "a type"}, {"struct find { int x; };", "a struct"},
  {"typedef int (*find)(int);", "a type of functions"},
  {"enum { OTHER, find = 2, LAST };", "an enumerator"}, {"#define find(x) \\\n  (x)", "a macro"},
  {"__attribute__((format(printf, 1, 2))) static void find(const char *f, ...);",
    "a function with an attribute"},
} do
  tap.is(together{case[1], "int find(void);"}, "1 | 2 ", case[2] .. " before a file with that word")
  tap.is(together{"int find(void);", case[1]}, "1 2 ", case[2] .. " after it")
end
tap.is(together{'static int f(void) { int find; return "find"; } /* find */', "int find(void);"},
  "1 2 ", "what stands inside of a function is its own")
tap.is(together{"#define X 1\n#undef X", "int X;"}, "1 2 ", "a macro that ends")
local between <const> = {"int a;", "struct Call { int x; };", "int b;"}
tap.is(together(between, "struct Call { int y; };"), "1 3 | 2 ",
  "what a header defines, too, stands alone")
tap.is(together({"struct Open { int x; };", "int b;"}, "typedef struct Open Open;"), "1 2 ",
  "but not the parts of a struct that a header names")
local many = {}
for i = 1, 13 do many[i] = "int x;" end
tap.is(together(many), "1 2 3 4 5 6 7 8 9 10 11 12 | 13 ", "so many, and not more")

-- When the first text was written, if it was there and old before files are put together.
local function written(files)
  return shell.run("cd %s && touch -d 2001-01-01 out/runtime/a/together_1.c && %s%s >/dev/null && "
    .. "stat -c %%y out/runtime/a/together_1.c", quote(folder), run, files)
end
local new, same = written "runtime/a/1.c runtime/a/2.c", written "runtime/a/1.c runtime/a/2.c"
tap.ok(not new:find "2001" and same:find "^2001", "only a text that changes is written",
  new .. same)
shell.run("rm -rf %s", quote(folder))
tap.done()
