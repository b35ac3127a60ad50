-- profile_page.lua: a Profile as a page that needs nothing else: profile.html with profile.css and
-- profile.js in it. The head of profile.js says which data it gets.
local lists = require "cuttle.lists"
local cost = require "cuttle.profile_cost"
local files = require "cuttle.picture_page"
local lines_of = require("cuttle.source_lines").of
local pages = require "cuttle.page_file"
local texts = require "cuttle.profile_table"
local M = {}

local AROUND <const> = 2 -- lines of source shown before and after those with figures

local function fail(op, format, ...)
  error(("%s: %s"):format(op, format:format(...)), 0)
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
    local source = lines_of(file)
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
    local by, ms = cost.limit(line.cost)
    line.texts = { products = texts.products_text(line),
                   flops = line.tensor_flops > 0 and texts.short(line.tensor_flops) .. " flops",
                   cost = ms > 0 and texts.time(ms) or "", by = ms > 0 and by or "" }
    for _, access in ipairs(line.accesses) do
      access.texts = { width = texts.width_text(access), each = texts.each_text(access),
                       efficiency = texts.efficiency_text(access) }
    end
  end
end

-- The units that the kernel uses, those that need the most time first: [{name, ms, text}...].
local function units_of(roofline)
  local units = {}
  for _, unit in ipairs(cost.units) do
    local ms = roofline[unit.key]
    if ms > 0 then units[#units + 1] = { name = unit.name, ms = ms, text = texts.time(ms) } end
  end
  table.sort(units, lists.by("-ms", "name"))
  return units
end

function M.page(profile, file)
  local data = profile:plain()
  for i, kernel in ipairs(data.kernels) do
    kernel.verdict = texts.verdict(profile.kernels[i])
    kernel.summary = texts.summary(profile, profile.kernels[i])
    kernel.units = units_of(kernel.roofline)
    kernel.listing = listing_of(kernel)
    add_texts(kernel)
  end
  local first = profile.kernels[1]
  data.title = first and ("profile of %s"):format(first.file) or "profile"
  return files.deliver(pages.make("profile", data.title, data), file, "profile", fail)
end

return M
