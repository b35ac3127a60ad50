-- report_modules.lua: M.prepare(text) loads what reports need after a script of this text, if the
-- script could reach a module of the library and change it. One that is loaded later would take
-- what it needs from the changed one; lua_library.lua gives back only what was loaded before.
local M = {}

local function load_all()
  require "cuttle.annotations"
  require "cuttle.drawing"
  require "cuttle.explain"
  require "cuttle.findings_junit"
  require "cuttle.findings_sarif"
  require "cuttle.foreign"
  require "cuttle.gates"
  require "cuttle.name_guess"
  require "cuttle.near"
  require "cuttle.option_names"
  require "cuttle.owners"
  require "cuttle.page_file"
  require "cuttle.palette"
  require "cuttle.picture_page"
  require "cuttle.plural"
  require "cuttle.predict"
  require "cuttle.predict_counts"
  require "cuttle.profile"
  require "cuttle.profile_advice"
  require "cuttle.profile_cost"
  require "cuttle.profile_l2"
  require "cuttle.profile_page"
  require "cuttle.profile_table"
  require "cuttle.sass"
  require "cuttle.schedule_page"
  require "cuttle.script_error"
  require "cuttle.short"
  require "cuttle.svg"
  require "cuttle.timeline_page"
end

-- A script reaches modules only by these words, as other globals have no names that it makes up.
local words <const> = { "require", "package", "import", "load", "dofile", "debug", "_G", "_ENV" }

--- `text` is nil where it is not known.
function M.prepare(text)
  for _, word in ipairs(words) do
    if not text or text:find(word, 1, true) then return load_all() end
  end
end

return M
