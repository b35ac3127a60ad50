-- drawn.lua: html and svg of all that has a picture: of a launch, and of what picture.lua draws.
--   html(x[, file][, options])   writes the file and returns its name; without one, the text
--   svg(x[, file][, options])    the same
local html = require "cuttle.html"
local launches = require "cuttle.launch_picture"
local pages = require "cuttle.picture_page"
local picture = require "cuttle.picture"
local svg = require "cuttle.svg"
local M = {}

--- The page as a text. `text`: what the picture is of as the user wrote it, or nil.
function M.page(x, options, text)
  local of = launches.is_launch(x) and launches or html
  return of.page(x, options, text)
end

function M.html(x, file, options)
  file, options = pages.arguments(file, options)
  return pages.deliver(M.page(x, options), file, "html", picture.fail)
end

function M.svg(x, file, options)
  if not launches.is_launch(x) then return svg.svg(x, file, options) end
  file, options = pages.arguments(file, options)
  local page, title = require "cuttle.launch_svg".page(x, options)
  return pages.deliver(svg.page(page, title), file, "svg", picture.fail)
end

return M
