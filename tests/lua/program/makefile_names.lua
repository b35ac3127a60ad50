-- Each variable that the Makefile uses is set in it, or is one that make or its user sets: make says
-- nothing of an unknown one, and takes it as the empty text.
local tap = dofile "tests/support/tap.lua"

-- What make itself sets, what one writes behind `make`, and the environment.
local of_others <const> = {
  CURDIR = true, MAKE = true, MAKECMDGOALS = true, MAKELEVEL = true, PATH = true,
  LAW = true, MUTANT = true, PART = true,
}

local files = { "Makefile" }
local pipe <close> = assert(io.popen "ls scripts/platforms/*.mk")
for path in pipe:lines() do files[#files + 1] = path end

local used, is_set = {}, {}
for _, path in ipairs(files) do
  local file <close> = assert(io.open(path))
  for line in file:read "a":gsub("\\\n", " "):gmatch "[^\n]+" do
    local code = line:gsub("^%s*#.*", "")
    for name in code:gmatch "%$%((%u[%u%d_]+)[):]" do used[name] = path end
    local left = code:match "^([^=]*)=" or ""
    local name = code:match "^define (%S+)" or left:match "(%u[%u%d_]+)%s*[:?+]*%s*$"
    if name then is_set[name] = true end
  end
end

local n_used, unknown = 0, {}
for name, path in pairs(used) do
  n_used = n_used + 1
  if not is_set[name] and not of_others[name] then unknown[#unknown + 1] = path .. ": " .. name end
end
tap.ok(n_used > 150 and #unknown == 0, "each variable is set", table.concat(unknown, ", "))
tap.done()
