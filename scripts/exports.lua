-- exports.lua: what the public headers declare, as the linker wants it: libcuttle.so and the Lua
-- module export that and nothing else.
--   cc -E public headers | lua scripts/exports.lua elf|mac|program|names [VERSION] > FILE
-- elf: a version script, whose names have the version CUTTLE_<VERSION>; mac: a list for
-- -exported_symbols_list; program: a list for --dynamic-list, with Lua's names; names: one a line.
-- It reads C after the preprocessor, whose line markers say which file a line comes from, and takes
-- the functions and variables that files of runtime/ and interp/ declare.

-- The text of our headers alone.
local function read_headers(file)
  local lines, is_ours = {}, false
  for line in file:lines() do
    local path = line:match '^# %d+ "([^"]+)"'
    if path then
      is_ours = path:find "^%.?/?runtime/" ~= nil or path:find "^%.?/?interp/" ~= nil
    elseif is_ours then
      lines[#lines + 1] = line
    end
  end
  return table.concat(lines, "\n")
end

-- The name that a declaration declares; nil: a type, or a function with its body beside it.
local function name_of(declaration)
  if declaration:find "%f[%w_]typedef%f[^%w_]" or declaration:find "%f[%w_]static%f[^%w_]" then
    return nil
  end
  local text = declaration:gsub("__attribute__%s*%b()", ""):gsub("__asm__%s*%b()", "")
  return text:match "[%a_][%w_]*[%s%*]+([%a_][%w_]*)%s*%("
    or text:match "^%s*extern%s.-([%a_][%w_]*)%s*%b[]%s*$"
    or text:match "^%s*extern%s.-([%a_][%w_]*)%s*$"
end

local function exported(code)
  local names, known = {}, {}
  code = code:gsub('extern%s+"C"%s*{', ""):gsub("%b{}", "{}")
  for declaration in code:gmatch "[^;{}]+[;{}]" do
    local name = declaration:sub(-1) == ";" and name_of(declaration:sub(1, -2))
    if name and not known[name] then
      known[name] = true
      names[#names + 1] = name
    end
  end
  table.sort(names)
  return names
end

local forms = {
  elf = function(names, version)
    return ("CUTTLE_%s {\n  global:\n    %s;\n  local: *;\n};\n"):format(version,
      table.concat(names, ";\n    "))
  end,
  program = function(names)
    return ("{\n  lua*;\n  %s;\n};\n"):format(table.concat(names, ";\n  "))
  end,
  mac = function(names) return "_" .. table.concat(names, "\n_") .. "\n" end,
  names = function(names) return table.concat(names, "\n") .. "\n" end,
}

local names = exported(read_headers(io.stdin))
assert(#names > 0, "exports: the headers declare nothing; is this the preprocessor's output?")
io.write(forms[arg[1]](names, arg[2]))
