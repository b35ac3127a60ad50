-- check_includes.lua: keeps the direction of dependencies. Reads every #include line of the C
-- sources and fails, with file, line and rule, where one points the wrong way.
--   lua scripts/check_includes.lua        from the root of the repository
-- rooms.lua has the tables.
package.path = "./?.lua;" .. package.path

local house = require "scripts.house"

-- Headers of libraries that a folder never sees; the room "text" of interp/ neither sees Lua.
local LUA <const> = { "^lua%w*%.h", "^lauxlib%.h", "^luaxlib%.h" }
local CUDA <const> = { "^cu%w*%.h", "^nvrtc%.h", "^cublas", "^nvml%.h" }
local foreign = {
  runtime = { { LUA, "runtime/ never sees Lua" },
    { CUDA, "CUDA is loaded at run time: declare what is needed in runtime/device/dl.h" } },
  interp = { { CUDA, "CUDA is loaded at run time: use runtime/device/device.h" } },
  text = { { LUA, "the rewriter works on text, without a lua_State" } },
}

-- One binding does not call another: what they share goes to bind.h.
local only_within = {
  { header = "^interp/shell/repl%.h$", users = { "^interp/shell/" },
    rule = "only the program knows the REPL" },
}

-- What programs outside the core may include, by folder.
local outsiders = {
  { folder = "examples/", allowed = { "^cuttle%.h$", "^cuttle/ct%.h$",
      "^saxpy%.h$" }, -- made by `cuttle export`
    rule = "examples include public headers" },
  { folder = "tests/", allowed = { "^runtime/", "^interp/", "^tests/", "^scripts/bench/",
    "^tap%.h$" }, rule = "tests include runtime/, interp/, scripts/bench/ and their own headers" },
  { folder = "hosts/python/", allowed = { "^interp/cuttle%.h$", "^hosts/", "^lua%.h$",
    "^lauxlib%.h$" }, rule = "hosts include the public header, Lua and their own headers" },
  { folder = "hosts/web/", allowed = { "^interp/shell/", "^interp/host/language%.h$",
    "^interp/state/state[%w_]*%.h$", "^hosts/web/", "^runtime/math/fma%.h$" },
    rule = "the playground's engine is the program with another face: it includes what that has" },
  { folder = "scripts/bench/", allowed = { "^runtime/device/[%w_]+%.h$",
    "^runtime/device/[%w_]+%.def$", "^scripts/bench/" },
    rule = "measurements take declarations of libraries only" },
}

-- {====== Reading ======

local findings = 0

local function blame(file, line, format, ...)
  findings = findings + 1
  io.stderr:write(("%s:%d: include: %s\n"):format(file, line, format:format(...)))
end

local function matches_any(text, patterns)
  for _, pattern in ipairs(patterns) do
    if text:find(pattern) then
      return true
    end
  end
  return false
end

-- {====== Rules ======

local function check_foreign(file, line, header, folder, row)
  for _, scope in ipairs { folder or "", row and row.name or "" } do
    for _, rule in ipairs(foreign[scope] or {}) do
      if matches_any(header, rule[1]) then
        blame(file, line, "<%s> in %s; %s", header, file:match("^[^/]+"), rule[2])
      end
    end
  end
end

-- The path from the root of what `#include "header"` in `file` means.
local function resolve(file, line, header)
  if header:find("%.%./") then
    local from_root = header:gsub("^.*%.%./", "")
    blame(file, line, "'%s' climbs; write the path from the root, '%s'", header, from_root)
    return from_root
  end
  local sibling = file:match("^(.*/)") .. header
  return house.exists(sibling) and sibling or header
end

local function check_room(file, line, target)
  local row, folder = house.room_of(file)
  local used, used_folder = house.room_of(target)
  if not used then
    return blame(file, line, "'%s' is in no room; give it a row in scripts/rooms.lua",
      target)
  end
  local full = used_folder .. "/" .. used.name
  if not house.reach(folder, row.name)[full] then
    blame(file, line, "'%s' is above or beside: %s/%s may use %s", target, folder, row.name,
      house.may_use(row))
  end
end

local function check_users(file, line, target)
  for _, rule in ipairs(only_within) do
    if target:find(rule.header) and not matches_any(file, rule.users) then
      blame(file, line, "'%s': %s", target, rule.rule)
    end
  end
end

local function check_outsider(file, line, header, target)
  for _, outsider in ipairs(outsiders) do
    if file:sub(1, #outsider.folder) == outsider.folder
        and not matches_any(target, outsider.allowed) then
      blame(file, line, "'%s': %s", header, outsider.rule)
    end
  end
end

local function check_quoted(file, line, header)
  local target = resolve(file, line, header)
  if header:find("%.c$") then
    blame(file, line, "'%s' is a source; include headers and tables only", header)
  elseif house.rooms[file:match("^%w+")] then
    check_room(file, line, target)
    check_users(file, line, target)
  else
    check_outsider(file, line, header, target)
  end
end

local function check_file(file)
  local row, folder = house.room_of(file)
  if house.rooms[folder] and not row then
    return blame(file, 1, "in no room; give it a row in scripts/rooms.lua")
  end
  local number = 0
  for text in io.lines(file) do
    number = number + 1
    local open, header = text:match('^%s*#%s*include%s+([<"])([^>"]+)')
    if open == "<" then
      check_foreign(file, number, header, folder, row)
    elseif open == '"' then
      check_quoted(file, number, header)
    end
  end
end

local files = house.capture_lines(
  "find runtime interp hosts tests examples scripts/bench -name '*.[ch]' | LC_ALL=C sort")
for _, file in ipairs(files) do
  check_file(file)
end
print(("check_includes: %d files, %d findings"):format(#files, findings))
os.exit(findings == 0)
