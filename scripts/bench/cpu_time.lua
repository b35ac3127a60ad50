-- cpu_time.lua: CPU time of this process, for benchmarks of what runs on the host.
local M = {}

--- The seconds that a call of `f` takes.
function M.seconds_of(f, ...)
  local start = os.clock()
  f(...)
  return os.clock() - start
end

--- The best seconds of each function of a list, which are called alternately.
function M.best_in_turns(turns, functions)
  local best = {}
  for _ = 1, turns do
    for i, f in ipairs(functions) do
      best[i] = math.min(best[i] or math.huge, M.seconds_of(f))
    end
  end
  return best
end

return M
