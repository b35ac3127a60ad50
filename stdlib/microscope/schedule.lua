-- schedule.lua: the text of a schedule, one order of a launch's blocks and warps, which `check`
-- writes with a finding and `check --schedule=FILE` replays. Its lines: "schedule of launch N:
-- POLICY SEED", then "step N: THREAD (...)".
local plural = require "cuttle.plural"
local text_file = require "cuttle.text_file"
local M = {}

local POLICIES <const> = { stay = 0, turns = 1, random = 2 }

-- The schedule in a text, which may have other lines, or nil and what is wrong.
function M.read(text)
  local schedule
  for line in text:gmatch "[^\n]+" do
    local launch, policy, seed = line:match "schedule of launch (%d+): (%l+) (%d+)"
    local step, thread = line:match "^%s*step (%d+): (%d+)"
    if launch then
      if schedule then break end -- the first one counts
      if not POLICIES[policy] then return nil, ("%s is no policy of schedules"):format(policy) end
      schedule = { launch = math.tointeger(launch), policy = POLICIES[policy],
                   seed = math.tointeger(seed), choices = {} }
    elseif step and schedule then
      table.insert(schedule.choices, math.tointeger(step))
      table.insert(schedule.choices, math.tointeger(thread))
    end
  end
  if not schedule then return nil, "no line says 'schedule of launch N: ...'" end
  return schedule
end

-- The schedule in a file, or nil and what is wrong.
function M.load(path)
  local text, message = text_file.read(path)
  if not text then return nil, message end
  local schedule, why = M.read(text)
  return schedule, why and ("%s: %s"):format(path, why)
end

local MAX_TOLD <const> = 12

-- The schedule of a finding for the report: all of it if it is short.
function M.told(text)
  local lines = {}
  for line in text:gmatch "[^\n]+" do lines[#lines + 1] = "  " .. line end
  if #lines > MAX_TOLD then
    lines[MAX_TOLD] = ("  and %d more steps; --save-schedule=FILE writes all of them"):format(
      #lines - MAX_TOLD + 1)
  end
  return table.concat(lines, "\n", 1, math.min(#lines, MAX_TOLD))
end

-- "gemm, launch 1: 12 orders; all there are with 8 blocks at a time"
function M.summary(explored)
  local e, parts = explored, {}
  parts[1] = ("%s, launch %d: %s"):format(e.kernel, e.launch, plural(e.n_run, "order"))
  if e.too_large then
    parts[2] = "it has too many warps or operations to tell what others there are"
  elseif e.is_whole and e.n_resident == 1 then
    parts[2] = "all there are of each block, as its blocks do not meet"
  elseif e.is_whole and e.n_resident == 0 then
    parts[2] = "all there are"
  elseif e.is_whole then
    parts[2] = ("all there are with %d blocks at a time"):format(e.n_resident)
  elseif e.n_left > 0 then
    parts[2] = ("%d more are known, and there may be others"):format(e.n_left)
  else
    parts[2] = "there may be others"
  end
  return table.concat(parts, "; ")
end

return M
