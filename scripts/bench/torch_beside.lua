-- torch_beside.lua: what benchmarks of one operation beside PyTorch's have in common: a peer, which
-- is a program in Python (torch_peer.py) beside the script, the rows' tables, and how a result is
-- compared. Candidates are those of regimes.lua.
local ct = require "cuttle"
local data = require "data"
local peers = require "peer"
local regimes = require "regimes"
local tables = require "tables"
local M = {}

local BOUND <const> = 2e-2 -- relative, of a C of bf16

--- Starts NAME.py; says what runs beside. nil: nothing does.
function M.start(name)
  if not ct.device().sm then return nil end
  local script = package.searchpath(name, (package.path:gsub("%.lua", ".py")))
  local peer, why = peers.start(("python3 %s %d"):format(peers.quoted(script),
    ct.device().ordinal or 0))
  local is_there
  if peer then
    is_there, why = peer:answer()
  end
  print(is_there and "beside " .. is_there or "nothing beside it, as there is no PyTorch: "
    .. (why or ""))
  return is_there and peer
end

--- Adds the peer's candidate to a list, after the request that makes its data.
function M.add_peer(list, peer, name, request, ...)
  peer:send(request, ...)
  local _, why = peer:answer()
  if why then
    print(("  %s: %s"):format(name, why))
    return
  end
  list[#list + 1] = peer:candidate(name, "peer", "time")
end

--- Adds a candidate that is launched from here, compared with what is expected in C; bound: another
--- one of the relative error.
function M.add(list, name, launch, C, expected, bound)
  local c = regimes.candidate(name, launch)
  data.poison(C)
  launch()
  local relative = data.compare(C, expected).relative
  c.verdict = ("%.3g to plain%s"):format(relative, relative <= (bound or BOUND) and "" or " WRONG")
  list[#list + 1] = c
end

--- Regimes and their numbers; the words of --quick.
function M.options()
  return { numbers = regimes.regimes, regimes = ct.device().sm and { "sus", "bur" } or { "eq" },
           configs = {} }
end

--- Reads a word that all these scripts know: --quick or --config=NAME. Is it one?
function M.read(options, word)
  if word == "--quick" then
    options.numbers = regimes.quick
    return true
  elseif word:find "^%-%-config=" then
    table.insert(options.configs, word:match "=(.*)$")
    return true
  end
  return false
end

--- Options of a script whose words are also sizes like `example`, "32x40x24"; `small` is the one
--- for the CPU engine, `sizes` those for a device without words. own(options, word), or nil: takes
--- a word of the script, with options as `defaults` has them.
function M.arguments(example, sizes, small, own, defaults)
  local options, pattern = M.options(), "^" .. example:gsub("%d+", "(%%d+)") .. "$"
  options.sizes = {}
  for name, value in pairs(defaults or {}) do options[name] = value end
  for _, word in ipairs(arg) do
    local size = { word:match(pattern) }
    if size[1] then
      for i, x in ipairs(size) do size[i] = math.tointeger(x) end
      table.insert(options.sizes, size)
    elseif not (own and own(options, word)) and not M.read(options, word) then
      error(("%s: '%s' is no option and no size like %s"):format(arg[0]:match "([%w_]+)%.lua$",
        word, example), 0)
    end
  end
  if #options.sizes == 0 then options.sizes = ct.device().sm and sizes or { small } end
  return options
end

--- Times a list and prints it below a title; flops are those of a launch.
function M.time(list, title, flops, options)
  for _, regime in ipairs(options.regimes) do regimes.time(list, regime, options.numbers) end
  print(title)
  local function best_peer(regime)
    return tables.best(list, regime, function(c) return c.kind == "peer" end)
  end
  tables.print(list, { flops = flops, regimes = options.regimes, title = "error",
                       peers = { { "torch", best_peer } } })
end

return M
