-- mcp_pages.lua: the documentation and the examples as resources, and words found in them.
--   M.open(folder)        the pages of a folder that has docs/ and examples/; nil: where they lie
--                         beside the program
--   pages.list(), pages.read(uri)   as resources/list and resources/read have them
--   pages.search(words, n)          the sections that have the words most often, as text
local internal = ...
local lists = require "cuttle.lists"
local text_file = require "cuttle.text_file"
local M = {}

local SCHEME <const> = "cuttle://"
local types <const> = { md = "text/markdown", lua = "text/x-lua" }
local EXCERPT <const> = 3 -- lines of a section that are shown

-- {====== Files ======

-- Where pages may lie: as installed, then as in the source tree.
local function own_places()
  local folder = (internal.host.program() or ""):match "^(.*)/[^/]*$" or "."
  local above = folder:match "^(.*)/[^/]*$" or ""
  return { above .. "/share/doc/cuttle", above }
end

local function find_folder(folder)
  for _, place in ipairs(folder and { folder } or own_places()) do
    if text_file.read(place .. "/docs/kernels.md") then return place end
  end
end

local function names_in(folder)
  local names = {}
  local pipe <close> = assert(io.popen("ls '" .. folder:gsub("'", "'\\''") .. "' 2>/dev/null"))
  for name in pipe:lines() do names[#names + 1] = name end
  return names
end

local function title_of(text) return text:match "^# ([^\n]+)" or text:match "^%-%- ?([^\n]+)" end

-- {name = text} of the pages and the examples.
local function load(folder)
  local list, by_name = {}, {}
  for _, part in ipairs { "docs", "examples" } do
    for _, name in ipairs(names_in(folder .. "/" .. part)) do
      local kind = types[name:match "%.(%w+)$"]
      local text = kind and text_file.read(folder .. "/" .. part .. "/" .. name)
      if text then
        local page = { name = part .. "/" .. name, type = kind, text = text,
                       title = title_of(text) or name }
        list[#list + 1], by_name[page.name] = page, page
      end
    end
  end
  return list, by_name
end

-- {====== Words ======

local function words_of(text)
  local words = {}
  for word in text:lower():gmatch "[%w_]+" do words[#words + 1] = word end
  return words
end

-- The sections of a page: what stands from a heading to the next.
local function sections_of(page)
  local sections, current, is_code = {}, nil, false
  for line in (page.text .. "\n"):gmatch "(.-)\n" do
    if line:find "^```" then is_code = not is_code end
    if not current or not is_code and line:find "^#+ " then
      current = { page = page, heading = line:match "^#+ (.*)" or page.title, lines = {} }
      sections[#sections + 1] = current
    else
      current.lines[#current.lines + 1] = line
    end
  end
  return sections
end

local function count_words(section)
  local counts = {}
  for _, word in ipairs(words_of(section.heading .. "\n" .. table.concat(section.lines, "\n"))) do
    counts[word] = (counts[word] or 0) + 1
  end
  section.counts, section.in_heading = counts, {}
  for _, word in ipairs(words_of(section.heading)) do section.in_heading[word] = true end
end

-- A word counts more in few sections, in a heading, and a second time less than the first.
local HEADING <const> = 3
local function score(section, words, n_with, n)
  local total = 0
  for _, word in ipairs(words) do
    local times = section.counts[word] or 0
    local rare = math.log((n + 1) / ((n_with[word] or 0) + 0.5))
    total = total + rare * (times / (times + 2) + (section.in_heading[word] and HEADING or 0))
  end
  return total
end

local function excerpt(section, words)
  local shown = {}
  for _, line in ipairs(section.lines) do
    local lower = line:lower()
    for _, word in ipairs(words) do
      if #shown < EXCERPT and lower:find(word, 1, true) and shown[#shown] ~= line then
        shown[#shown + 1] = line
      end
    end
  end
  return table.concat(shown, "\n")
end

local function indexed(self)
  if self.sections then return self.sections end
  self.sections, self.n_with = {}, {}
  for _, page in ipairs(self.all) do
    if page.type == types.md then
      for _, section in ipairs(sections_of(page)) do
        count_words(section)
        for word in pairs(section.counts) do self.n_with[word] = (self.n_with[word] or 0) + 1 end
        table.insert(self.sections, section)
      end
    end
  end
  return self.sections
end

local function search(self, query, n)
  local words, found = words_of(query), {}
  local sections = indexed(self)
  for i, section in ipairs(sections) do
    local points = score(section, words, self.n_with, #sections)
    if points > 0 then found[#found + 1] = { section = section, points = points, at = i } end
  end
  table.sort(found, lists.by("-points", "at"))
  local texts = {}
  for i = 1, math.min(n, #found) do
    local section = found[i].section
    texts[i] = ("%s%s, %s\n%s"):format(SCHEME, section.page.name, section.heading,
      excerpt(section, words))
  end
  return #texts > 0 and table.concat(texts, "\n\n")
    or ("no section has any of the words '%s'"):format(query)
end

-- {====== Opening ======

function M.open(folder)
  local place = find_folder(folder)
  local self = { all = {}, by_name = {} }
  if place then self.all, self.by_name = load(place) end
  return {
    list = function()
      return lists.map(self.all, function(page)
        return { uri = SCHEME .. page.name, name = page.name, title = page.title,
                    mimeType = page.type }
      end)
    end,
    read = function(uri)
      return uri:sub(1, #SCHEME) == SCHEME and self.by_name[uri:sub(#SCHEME + 1)] or nil
    end,
    search = function(query, n) return search(self, query, n) end,
  }
end

return M
