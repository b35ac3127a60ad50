-- language_names.lua: the names of the language, as stdlib/meta declares them. .luacheckrc, which
-- luacheck runs under Lua 5.1, requires it; `make install` runs it:
--   lua scripts/language_names.lua    prints a luacheckrc for scripts of users
local path = debug.getinfo(1, "S").source:sub(2)
local root = path:match("^(.*[/\\])scripts[/\\]") or ""

-- A value that the prompt sets: scripts do not have it.
local of_prompt = { ans = true }

local function meta_files()
  local pipe = assert(io.popen(('ls "%sstdlib/meta"'):format(root)))
  local files = {}
  for name in pipe:lines() do
    files[#files + 1] = root .. "stdlib/meta/" .. name
  end
  pipe:close()
  return files
end

-- A declaration of a global begins its line: `function name(...) end`, `name = ...`.
local names = {}
for _, file in ipairs(meta_files()) do
  for line in io.lines(file) do
    local name = line:match("^function ([%w_]+)%(") or line:match("^([%w_]+) = ")
    if name and not of_prompt[name] then
      names[#names + 1] = name
    end
  end
end
assert(#names > 0, "no declarations in stdlib/meta")

if arg and arg[0] and arg[0]:find("language_names%.lua$") then
  print('std = "lua54+cuttle"\nstds.cuttle = { read_globals = {')
  for _, name in ipairs(names) do
    print(("  %q,"):format(name))
  end
  print("} }")
end
return names
