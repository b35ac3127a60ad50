-- The runner of documents, on pages whose hosts are programs in C: it builds and runs them, and finds
-- what they print differently.
local shell = dofile "tests/support/shell.lua"
local cuttle = arg[-1]

local page <const> = [[
```c host.c
#include <cuttle.h>
#include <stdio.h>
int main(int argc, char **argv) {
  cuttle_State *S = cuttle_open(NULL);
  int failed = cuttle_dostring(S, argv[argc - 1], "=host") != CUTTLE_OK;
  printf("%s\n", failed ? cuttle_error(S) : "done");
  cuttle_close(S);
  return failed;
}
```
```
$ cc -Wall -Werror host.c $(pkg-config --cflags --libs cuttle) -o host
$ ./host 'print(L"(2,3)")'
(2,3):(1,2)
done
$ ./host 'error("no")'
host:1: no
```
]]

local function run(text, option)
  local path = shell.file(text)
  local out = shell.cuttle("scripts/run_docs.lua --cuttle='%s' %s %s", cuttle, option or "", path)
  local after = shell.read_file(path)
  os.remove(path)
  return out:gsub(path, "PAGE"):gsub("\n$", ""), after
end

local out = run(page)
local why_not = out:match("# skip ([^\n]*)")
if why_not then
  print("1..0 # skip " .. why_not)
  return
end

print(out)
-- expect: ok 1 - PAGE:13
-- expect: 1..1

print((run((page:gsub("host:1: no", "host:1: yes")))))
-- expect: not ok 1 - PAGE:13
-- expect: #   PAGE:18
-- expect: #        got: host:1: no
-- expect: #   expected: host:1: yes
-- expect: 1..1

-- A host that does not compile is one that prints what the compiler says.
out = run((page:gsub("int failed", "int filed")))
print(out:match("^not ok 1"), out:match("got: (host%.c:)")) -- expect: not ok 1	host.c:

-- Outputs of hosts are written anew.
local _, after = run((page:gsub("\ndone", "")), "--update")
print(after == page) -- expect: true
