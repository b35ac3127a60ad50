-- together.lua: files of one folder that a compiler reads as one text.
--   lua scripts/together.lua DIR FILE.c...
-- DIR gets FOLDER/together_N.c, which includes up to `most` files of that folder; stdout gets their
-- names below DIR, without `.c`. To start a compiler and read the headers takes a third of the time
-- of most files, and of clang at -O0 more than half.
--
-- Nothing that a file defines for itself may be a word of one after it in the same text, and a file
-- that defines what some header defines, too, stands alone. So a name that this does not see, as
-- one that a macro makes, at worst stops the compiler.
local shell <const> = dofile(arg[0]:match "^.*/" .. "shell.lua")
local most <const> = 12

local function words_of(code)
  local words = {}
  for word in code:gmatch "[%a_][%w_]*" do words[word] = true end
  return words
end

-- The code without comments, texts and characters.
local function bare(code)
  return (code:gsub("/%*.-%*/", " "):gsub("\\.", ""):gsub('"[^"\n]*"', '""'):gsub("'[^'\n]*'", "0")
    :gsub("//[^\n]*", ""))
end

-- The code of all files of our folders with that ending.
local function all_of(ending)
  local codes = {}
  for path in shell.capture("find runtime interp -name '*." .. ending .. "'"):gmatch "%S+" do
    codes[#codes + 1] = bare(shell.read_file(path))
  end
  return table.concat(codes, "\n")
end

-- Macros of tables, which these end themselves.
local ended <const> = all_of "def"

-- What the file alone knows: its macros, types, enumerators, and functions and variables that are
-- static.
local function own_names(code)
  local names = {}
  local function take(text, pattern)
    for name in text:gmatch(pattern) do names[name] = true end
  end
  take(code, "#%s*define%s+([%w_]+)")
  for name in (code .. ended):gmatch "#%s*undef%s+([%w_]+)" do names[name] = nil end
  code = ("\n" .. code):gsub("\n%s*#[^\n]*", "")
  for body in code:gmatch "%f[%w_]enum%s*[%w_]*%s*(%b{})" do
    take(body, "([%a_][%w_]*)%s*[=,}]")
  end
  code = code:gsub("__attribute__%s*%b()", ""):gsub("%b{}", "{}")
  take(code, "%f[%w_]struct%s+([%w_]+)%s*{")
  take(code, "%f[%w_]union%s+([%w_]+)%s*{")
  take(code, "%f[%w_]enum%s+([%w_]+)%s*{")
  code = code:gsub("typedef%s+struct%s+([%w_]+)%s+%1;", "") -- its struct is where its parts are
  for text in code:gmatch "%f[%w_]typedef%f[^%w_]([^;]*)" do
    take(text, "([%a_][%w_]*)[%[%]%w_]*%s*$")
    take(text, "%(%s*%*%s*([%w_]+)")
  end
  for text in code:gmatch "%f[%w_]static%f[^%w_]([^;=(]*)" do
    take(text:gsub("%b[]", ""), "([%a_][%w_]*)[%s{}]*$")
  end
  return names
end

local function meet(names, words)
  for name in pairs(names) do
    if words[name] then return true end
  end
  return false
end

local header_names <const> = own_names(all_of "h")

-- Is there room in the group for this file?
local function takes(group, file)
  return #group < most and not group.is_alone and not file.is_alone
    and not meet(group.names, file.words)
end

local function add(group, file)
  table.insert(group, file.path)
  for name in pairs(file.names) do group.names[name] = true end
  group.is_alone = file.is_alone
end

-- Folders in their order, and the groups of each: lists of files.
local function groups_of(paths)
  local groups, folders = {}, {}
  for _, path in ipairs(paths) do
    local folder, code = path:match "^(.*)/", bare(shell.read_file(path))
    local file = { path = path, words = words_of(code), names = own_names(code) }
    file.is_alone = meet(file.names, header_names)
    if not groups[folder] then
      groups[folder], folders[#folders + 1] = {}, folder
    end
    local i = 1
    while groups[folder][i] and not takes(groups[folder][i], file) do i = i + 1 end
    groups[folder][i] = groups[folder][i] or { names = {} }
    add(groups[folder][i], file)
  end
  return groups, folders
end

local function text_of(group)
  local lines = {}
  for _, path in ipairs(group) do lines[#lines + 1] = ('#include "%s"\n'):format(path) end
  return table.concat(lines)
end

local dir <const> = table.remove(arg, 1)
local groups, folders = groups_of(arg)
for _, folder in ipairs(folders) do
  os.execute(("mkdir -p '%s/%s'"):format(dir, folder))
  for i, group in ipairs(groups[folder]) do
    local name = ("%s/together_%d"):format(folder, i)
    local path = ("%s/%s.c"):format(dir, name)
    local before <close> = io.open(path)
    -- One that is as it was is not written again, so that make compiles nothing.
    local text = text_of(group)
    if not before or before:read "a" ~= text then shell.write_file(path, text) end
    print(name)
  end
end
