-- check_headers.lua: keeps headers to what is shared. Fails, with header and name, where a function
-- that a header of runtime/ or interp/ declares is named by no file but the one that defines it.
--   lua scripts/check_headers.lua        from the root of the repository
-- It reads words, not C: a name in a comment counts for nothing, one in a macro or a table does.

package.path = "./?.lua;" .. package.path
local house = require "scripts.house"

-- files_of[word][path]: the files that name it
local files_of = {}

local function note_words(path, code)
  for word in code:gmatch("[%a_][%w_]*") do
    files_of[word] = files_of[word] or {}
    files_of[word][path] = true
  end
end

local function is_in_macro(name, code)
  for macro in code:gmatch("\n%s*#define[^\n]*") do
    if macro:find("%f[%w_]" .. name .. "%f[^%w_]") then return true end
  end
  return false
end

-- Does the header name it besides the declaration, as an inline function of it may?
local function is_named_again(name, code)
  return select(2, code:gsub("%f[%w_]" .. name .. "%f[^%w_]", "")) > 1
end

-- How many files name it, the header itself only where a macro or an inline function of it does.
local function count_users(name, header, code)
  local n = (is_in_macro(name, code) or is_named_again(name, code)) and 1 or 0
  for path in pairs(files_of[name]) do
    n = n + (path ~= header and 1 or 0)
  end
  return n
end

local findings, n_names = 0, 0

local function check_header(header, code)
  for _, name in ipairs(house.declared(code)) do
    n_names = n_names + 1
    if count_users(name, header, code) < 2 then
      findings = findings + 1
      io.stderr:write(("%s: '%s' is named by no file but the one that defines it; make it static "
        .. "there, or drop it\n"):format(header, name))
    end
  end
end

local code_of = {}
local paths = house.capture_lines(
  "find runtime interp hosts tests examples -name '*.[ch]' -o -name '*.def' | LC_ALL=C sort")
for _, path in ipairs(paths) do
  code_of[path] = house.read_code(path)
  note_words(path, code_of[path])
end
for _, path in ipairs(paths) do
  if path:find("^runtime/.*%.h$") or path:find("^interp/.*%.h$") then
    check_header(path, code_of[path])
  end
end
print(("check_headers: %d functions, %d findings"):format(n_names, findings))
os.exit(findings == 0)
