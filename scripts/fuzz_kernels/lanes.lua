-- lanes.lua: statements for all lanes of a mask, whose name is m. No lane leaves early, so that all of them come
-- to each operation.
local writer, expressions, simple = ...
local random = math.random
local put, pick, chance, new_name, int = writer.put, writer.pick, writer.chance, writer.new_name, writer.int
local float = writer.float
local integer, condition = expressions.integer, expressions.condition
local small_int, assign = simple.small_int, simple.assign

local function with(m) return ("{ mask = %s }"):format(m) end

-- A shuffle's value where its source is a lane of the mask. A lane above the block's last one has no bit there.
local function shuffled(m)
  local k = pick { 1, 2, 3 }
  local kind, source = table.unpack(pick {
    { "xor", "threadIdx.x ~ " .. k }, { "up", "max(threadIdx.x - " .. k .. ", 0)" },
    { "down", "threadIdx.x + " .. k } })
  return ("where(%s >> (%s) & 1 == 1, shfl_%s(%s, %d, %s), 7)"):format(m, source, kind, integer(1), k, with(m))
end

local exchanges = {
  shuffled, shuffled,
  function(m) return ("popc(ballot(%s, %s))"):format(condition(2), with(m)) end,
  function(m) return ("popc(match_any((%s) %% 3, %s))"):format(integer(2), with(m)) end,
  function(m)
    return ("where(%s(%s, %s), %s, 1)"):format(pick { "vote_any", "vote_all" }, condition(1), with(m), int())
  end,
  function(m)
    return ("where(select(2, match_all((%s) %% 2, %s)), %s, 2)"):format(integer(1), with(m), int())
  end,
  function(m)
    local op = pick { "add", "min", "max", "and", "or", "xor" }
    return ("warp_reduce(%s, '%s', %s)"):format(small_int(), op, with(m))
  end,
  function(m) return ("warp_scan(%s, '%s', %s)"):format(small_int(), pick { "add", "max" }, with(m)) end,
  function(m) return ("shfl_idx(%s, ffs(%s) - 1, %s)"):format(integer(2), m, with(m)) end,
}

local together

-- Names a mask of the lanes of m in which a condition holds, and the condition.
local function named_part(m)
  local c, lanes = new_name "holds", new_name "lanes"
  put("local", c, "=", condition(2), "local", lanes, "= ballot(" .. c .. ",", with(m) .. ")")
  return c, lanes
end

local joint = {
  function(m) put(int(), "= (" .. pick(exchanges)(m) .. ") % 97") end,
  function(m) put(int(), "= (" .. pick(exchanges)(m) .. ") % 97") end,
  function(m) put(float(), "=", ("shfl_idx(%s, ffs(%s) - 1, %s)"):format(float(), m, with(m))) end,
  function() assign() end,
  function(m) put("sync_warp", with(m)) end,
  function(m)
    put "do"
    local c, lanes = named_part(m)
    put("if", c, "then")
    together(lanes, random(2))
    if chance(50) then
      put("else local rest =", m, "& ~" .. lanes)
      together("rest", random(2))
    end
    put "end end"
  end,
  function(m)
    put("for", int(), "in", pick { "range(n - 3)", "range(1, 4)", "unroll(2)" }, "do")
    together(m, random(2))
    put "end"
  end,
  function(m) -- fewer lanes in each turn
    local lanes, c = new_name "lanes", new_name "goes"
    put("do local", lanes, "=", m, "repeat local", c, "=", condition(1), "and fuel > 0 fuel = fuel - 1")
    put(lanes, "= ballot(" .. c .. ",", with(lanes) .. ") if", c, "then")
    together(lanes, random(2))
    put("end until not", c, "end")
  end,
}

function together(m, n)
  writer.depth = writer.depth + 1
  for _ = 1, n do
    joint[writer.depth > 3 and random(4) or random(#joint)](m)
    put " "
  end
  writer.depth = writer.depth - 1
end

-- All lanes that have not ended are together where no condition is around.
local function lanes_together()
  if writer.depth > 0 or writer.scope.kind then return assign() end
  local c, lanes = new_name "holds", new_name "lanes"
  put("do local", c, "=", condition(2), "local", lanes, "= ballot(" .. c .. ")")
  put("if", c, "then")
  together(lanes, random(4))
  put("end", int(), "=", pick { "shfl_xor(%s, 0)", "popc(match_any(%s))" }:format(int()), "end")
end

return lanes_together
