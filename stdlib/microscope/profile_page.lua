-- profile_page.lua: a Profile as a page that needs nothing else: profile.html with profile.css and
-- profile.js in it. The head of profile.js says which data it gets.
local files = require "cuttle.picture_page"
local pages = require "cuttle.page_file"
local texts = require "cuttle.profile_table"
local M = {}

local AROUND <const> = 2 -- lines of source shown before and after those with figures

local function fail(op, format, ...)
  error(("%s: %s"):format(op, format:format(...)), 0)
end

local function lines_of_file(name)
  local lines, file = {}, io and io.open(name, "r")
  if not file then return lines end
  for text in file:lines() do lines[#lines + 1] = text end
  file:close()
  return lines
end

-- The kernel's lines and those around them, file by file, figures false where there are none.
local function listing_of(kernel)
  local out, at = {}, 1
  while kernel.lines[at] do
    local file, first = kernel.lines[at].file, kernel.lines[at].line
    local figures, last = {}, first
    for i = at, #kernel.lines do
      if kernel.lines[i].file ~= file then break end
      figures[kernel.lines[i].line], last, at = i - 1, kernel.lines[i].line, i + 1
    end
    local source = lines_of_file(file)
    local from = math.max(1, math.min(first - AROUND, file == kernel.file and kernel.line or first))
    for line = from, math.max(last, math.min(#source, last + AROUND)) do
      if source[line] or figures[line] then
        out[#out + 1] =
          { line = line, source = source[line] or "", figures = figures[line] or false }
      end
    end
  end
  return out
end

local function add_texts(kernel)
  for _, line in ipairs(kernel.lines) do
    for _, access in ipairs(line.accesses) do
      access.texts = { width = texts.width_text(access), each = texts.each_text(access),
                       efficiency = texts.efficiency_text(access) }
    end
  end
end

function M.page(profile, file)
  local data = profile:plain()
  for i, kernel in ipairs(data.kernels) do
    kernel.summary = texts.summary(profile, profile.kernels[i])
    kernel.listing = listing_of(kernel)
    add_texts(kernel)
  end
  local first = profile.kernels[1]
  data.title = first and ("profile of %s"):format(first.file) or "profile"
  return files.deliver(pages.make("profile", data.title, data), file, "profile", fail)
end

return M
