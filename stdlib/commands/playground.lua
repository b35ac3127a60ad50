-- playground.lua: the static playground (hosts/web), and links to it that carry a script.
--   M.find(place)          where it is: a path or a URL; else nil and the folders without it.
--                          `place`: a folder or a URL; nil: CUTTLE_PLAYGROUND, else the folders
--                          where it is installed or built
--   M.notebook(at)         where its notebook is, which takes the same links
--   M.link(at, script)     a URL of it that opens with the script
local internal = ...
local deflate = require "cuttle.deflate"
local json = require "cuttle.json"
local M = {}

local LINK_VERSION <const> = 1
local PAGE <const> = "/index.html"

local function is_url(place) return place:find "^%a[%w+.-]*://" ~= nil end

local function is_there(path)
  local file <close> = io.open(path, "rb")
  return file ~= nil and file:read(1) ~= nil
end

-- Where it lies beside the program: as installed, then as built.
local function own_places()
  local folder = (internal.host.program() or ""):match "^(.*)/[^/]*$"
  if not folder then return {} end
  local prefix = folder:match "^(.*)/[^/]*$" or ""
  return { prefix .. "/share/cuttle/playground", folder .. "/playground" }
end

function M.find(place)
  local named = place or os.getenv "CUTTLE_PLAYGROUND"
  if named and named ~= "" and is_url(named) then return named end
  local places = named and named ~= "" and { named } or own_places()
  for _, folder in ipairs(places) do
    local path = folder:gsub("(.)/$", "%1") .. PAGE
    if is_there(path) then return path end
  end
  return nil, places
end

function M.notebook(at)
  local folder = at:gsub("[^/]*%.html$", "")
  return folder:gsub("/*$", "/") .. "notebook.html"
end

-- {====== Links ======

local function absolute(path)
  if path:find "^/" then return path end
  local pipe <close> = assert(io.popen "pwd")
  return pipe:read "l" .. "/" .. path
end

-- A path as part of a URL.
local function escape(path)
  return (path:gsub("[^%w/._~-]", function(c) return ("%%%02X"):format(c:byte()) end))
end

local function url_of(at)
  return is_url(at) and at or "file://" .. escape(absolute(at))
end

function M.link(at, script)
  local state = json.encode { v = LINK_VERSION, script = script }
  return ("%s#s=%s"):format(url_of(at), deflate.base64url(deflate.deflate(state)))
end

return M
