-- browser.lua: pages in the browser that the system has. M.open(target, fail) opens a file, by its
-- path, or a URL; fail(format, ...) raises where nothing opens it.
local M = {}

local openers = { "xdg-open", "open" }

function M.quote(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

local function find_opener()
  for _, opener in ipairs(openers) do
    if os.execute(("command -v %s >/dev/null 2>&1"):format(opener)) then return opener end
  end
  return nil
end

-- Openers take the part after # away from a file's URL, so a page of its own leads there.
local LEADING_PAGE <const> = [[
<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="refresh" content="0;url=%s">
<title>Cuttle</title>
<p><a href="%s">Open the playground</a></p>
</html>
]]

local function write_leading_page(url, fail)
  local pipe = assert(io.popen "mktemp -d")
  local folder = pipe:read "l"
  if not pipe:close() or not folder then fail("no folder for a page that leads to %s", url) end
  local path = folder .. "/cuttle.html"
  local ok, why = write_file(path, LEADING_PAGE:format(url, url))
  if not ok then fail("cannot write %s", why) end
  return path
end

function M.open(target, fail)
  local opener = find_opener()
    or fail("no %s here; open %s in a browser by hand", table.concat(openers, ", no "), target)
  if target:find "^file://.*#" then target = write_leading_page(target, fail) end
  if not target:find "^/" and not target:find "^%a[%w+.-]*://" then
    target = "./" .. target -- never taken for an option
  end
  os.execute(("%s %s </dev/null >/dev/null 2>&1 &"):format(opener, M.quote(target)))
end

return M
