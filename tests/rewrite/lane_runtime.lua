-- lane_runtime.lua: the runtime functions of interp/text/rewrite.h for one lane of a kernel. Run-time
-- values (Sym) know their number; every arm of a run-time if runs, but where the lane would not be
-- it is inactive, as in a traced kernel: variables of the kernel (Var) are stored to only by an
-- active lane, Lua's locals always. So a name that should have been promoted and was not gives a
-- wrong result. A Sym also knows the region it was made in; using it where that region has ended is
-- an error, as it is for the IR.
--
-- new() returns the runtime functions, sym(number), `active()` and stats().
local M = {}

local Sym, Var, Cell = {}, {}, {}
local unpack, pack = table.unpack, table.pack

-- What the specification refuses: not a fault of the rewriting.
function M.refuse(why) error("refused: " .. why, 0) end
local refuse = M.refuse

function M.new()
  local R = {}
  local frames = {}         -- the stack
  local dead = false        -- nothing is recorded: the region was left
  local gone                -- the frame that the lane has jumped out of, or nil
  local kept

  local function is(x, mt) return getmetatable(x) == mt end

  local function alive() assert(not dead, "code runs in a dead region") end

  -- The lane is here: no frame masks it, and it has not jumped away.
  local function active()
    if gone then return false end
    for _, f in ipairs(frames) do
      if f.masked then return false end
    end
    return true
  end

  local function is_runtime(f) return f.rt or f.pending end

  -- The innermost region: its frame and which entry of it.
  local function region()
    for i = #frames, 1, -1 do
      if is_runtime(frames[i]) then return frames[i], frames[i].entry end
    end
  end

  local function sym(v)
    local f, entry = region()
    return setmetatable({ v = v, frame = f, entry = entry }, Sym)
  end

  -- The number of any value; checks that it is used where it exists.
  local function value(x)
    if is(x, Sym) then
      assert(not x.half, "'c and x' without or")
      assert(not x.frame or (x.frame.open and x.frame.entry == x.entry), "a value is used outside its region")
      return x.v
    end
    assert(not is(x, Var) and not is(x, Cell), "a variable got out")
    return x
  end

  local function arith(f)
    return function(a, b)
      alive()
      a, b = value(a), value(b)
      return sym(a and b and f(a, b) or 0)
    end
  end
  Sym.__add = arith(function(a, b) return a + b end)
  Sym.__sub = arith(function(a, b) return a - b end)
  Sym.__mul = arith(function(a, b) return a * b end)
  Sym.__mod = arith(function(a, b) return b ~= 0 and a % b or 0 end)
  Sym.__idiv = arith(function(a, b) return b ~= 0 and a // b or 0 end)
  Sym.__unm = arith(function(a) return -a end)

  local function push(kind)
    local f = { kind = kind, open = true, entry = 0 }
    frames[#frames + 1] = f
    return f
  end

  local function pop_to(frame)
    local at
    for i = #frames, 1, -1 do
      if frames[i] == frame then at = i break end
    end
    assert(at, "a frame is closed twice")
    for i = #frames, at, -1 do
      frames[i].open = false
      frames[i] = nil
    end
  end

  local Frame = {}
  Frame.__close = function(frame)
    pop_to(frame)
    if gone == frame then gone = nil end
    if frame.has_exit then dead = false end
    if frame.finish then frame.finish() end
  end

  local function open(kind)
    return setmetatable(push(kind), Frame)
  end

  local function top(...)
    for i = #frames, 1, -1 do
      for _, kind in ipairs { ... } do
        if frames[i].kind == kind then return frames[i], i end
      end
    end
    error("no such frame")
  end

  -- Whether a jump to `target` is one of Lua.
  local function is_plain(target, counts_target)
    for i = #frames, 1, -1 do
      if frames[i] == target then
        return not (counts_target and target.rt)
      elseif is_runtime(frames[i]) then
        return false
      end
    end
    error("the target of a jump is not open")
  end

  -- An exit under the condition that holds here.
  local function emit_exit(target)
    alive()
    if active() then gone = target end
    target.pending, target.has_exit = true, true
    dead = true
  end

  -- Functions
  function R.func()
    alive()
    if #frames > 200 then refuse("recursion") end
    return open("func")
  end
  function R.ret(F, ...)
    alive()
    if not F.n and is_plain(F) then
      kept = pack(...)
      return true
    end
    local n = select("#", ...)
    if F.n and F.n ~= n then refuse("counts of results") end
    F.n = n
    if active() then
      F.values = {}
      for i = 1, n do F.values[i] = value((select(i, ...))) end
    end
    emit_exit(F)
    return false
  end
  function R.retv() return unpack(kept, 1, kept.n) end
  function R.leave(F)
    if not F.n then
      return
    end
    if not dead and F.n > 0 then refuse("counts of results") end
    -- made in the caller's region
    local values = F.values or {}
    pop_to(F)
    local results = {}
    for i = 1, F.n do results[i] = sym(values[i] or 0) end
    frames[#frames + 1] = F
    F.open = true
    return unpack(results, 1, F.n)
  end

  -- If
  R["if"] = function(n, has_else, c)
    alive()
    local frame = open("if")
    frame.c = c
    local i, state = 1, "cond"
    local all_dead = true  -- of the arms so far
    local taken = false    -- an arm holds for the lane
    local function enter(mask)
      frame.rt = true
      frame.entry = frame.entry + 1
      frame.masked = not mask
    end
    local function end_arm()
      all_dead = all_dead and dead
      dead = false
    end
    function frame.finish()
      if frame.rt and not frame.left then
        dead = all_dead and frame.exhaustive
      end
    end
    return function()
      while true do
        if state == "cond" then
          local cond = frame.c
          if is(cond, Sym) then
            local v = value(cond)
            assert(type(v) == "boolean", "if tests a number")
            state = "arm"
            frame.was_rt = true
            enter(not taken and v)
            taken = taken or v
            return 2 * i - 1, frame
          elseif cond then
            -- a static true: the rest is this arm
            state = "last"
            frame.exhaustive = true
            if frame.was_rt then enter(not taken) end
            return 2 * i - 1, frame.was_rt and frame or nil
          end
          state = "next"
        elseif state == "arm" then
          end_arm()
          state = "next"
        elseif state == "next" then
          if i < n then
            i = i + 1
            if frame.was_rt then enter(not taken) end
            state = "asked"
            return 2 * i - 2, frame.was_rt and frame or nil
          elseif has_else then
            state = "last"
            frame.exhaustive = true
            if frame.was_rt then enter(not taken) end
            return 2 * n, frame.was_rt and frame or nil
          end
          state = "done"
        elseif state == "asked" then
          state = "cond"
        elseif state == "last" then
          if frame.was_rt then end_arm() end
          state = "done"
        else
          return nil
        end
      end
    end, nil, nil, frame
  end
  function R.ei(c)
    alive()
    top("if").c = c
  end

  -- Loops
  local limit = 400
  local function count_turn(frame)
    frame.turns = (frame.turns or 0) + 1
    if frame.turns > limit then refuse("unrolled forever") end
  end
  local function begin_turn(frame)
    frame.rt = true
    frame.entry = frame.entry + 1
  end

  R["while"] = function()
    alive()
    local frame = open("loop")
    frame.go = true
    return function()
      count_turn(frame)
      if frame.probed then -- the condition turned out to be run-time
        if frame.rt and not active() then
          dead = false
          return nil
        end
        dead = false
        begin_turn(frame)
        return frame
      end
      if frame.go and not dead then
        frame.probing = true
        return false
      end
    end, nil, nil, frame
  end
  function R.wc(c)
    alive()
    local frame = top("loop")
    frame.probing = false
    if not is(c, Sym) then
      if frame.rt then refuse("a condition that becomes static again") end
      frame.go = c
      return c and true or false
    end
    if not frame.probed then
      frame.probed = true
      return false
    end
    local v = value(c)
    assert(type(v) == "boolean", "while tests a number")
    frame.has_exit = true
    if active() and not v then gone = frame end
    return true
  end
  function R.loop(kind)
    alive()
    local frame = open("loop")
    return function()
      count_turn(frame)
      if frame.rt and not active() then
        if kind == "while" and not frame.has_exit then refuse("a loop without exit") end
        return nil
      end
      if frame.rt then dead = false end
      begin_turn(frame)
      return frame
    end, nil, nil, frame
  end
  R["until"] = function(c)
    alive()
    local frame = top("loop")
    frame.has_exit = true
    local v = c
    if is(c, Sym) then
      v = value(c)
      assert(type(v) == "boolean", "until tests a number")
    end
    if active() and v then gone = frame end
  end
  function R.range(name, a, b, s)
    alive()
    assert(type(name) == "string")
    s = s == nil and 1 or s
    local frame = open("loop")
    if not is(a, Sym) and not is(b, Sym) and not is(s, Sym) then
      local i = a - s
      return function()
        count_turn(frame)
        i = i + s
        if not dead and (s > 0 and i <= b or s < 0 and i >= b) then return i, nil end
      end, nil, nil, frame
    end
    a, b, s = value(a), value(b), value(s)
    local i = a - s
    return function()
      count_turn(frame)
      if frame.rt and not active() then
        dead = false
        return nil
      end
      dead = false
      i = i + s
      frame.has_exit = true
      begin_turn(frame)
      local more = s > 0 and i <= b or s < 0 and i >= b
      if not more then
        if frame.turns > 1 then
          return nil
        end
        frame.masked = true -- traced all the same
      end
      return sym(i), frame
    end, nil, nil, frame
  end
  function R.iter(_, f, s, c)
    alive()
    local frame = open("loop")
    return function(x, y)
      count_turn(frame)
      if not dead then return f(x, y) end
    end, s, c, frame
  end
  function R.brk()
    alive()
    local frame = top("loop")
    if is_plain(frame, true) then return true end
    emit_exit(frame)
    return false
  end

  -- Goto
  function R.mark() alive() return open("mark") end
  R["goto"] = function(frame)
    alive()
    if is_plain(frame) then return true end
    emit_exit(frame)
    return false
  end
  function R.here()
    alive()
    return { frame = frames[#frames] }
  end
  function R.back(here)
    alive()
    for i = #frames, 1, -1 do
      if frames[i] == here.frame then break end
      if is_runtime(frames[i]) then refuse("back under a condition") end
    end
  end
  function R.dead() return dead end

  -- Variables
  function R.p(q, x, name)
    assert(type(name) == "string")
    if type(q) ~= "table" or not q.rt then return x end
    if is(x, Var) then return x end
    if is(x, Cell) then
      if not x.var then
        x.var = true
        x.value = value(x.value)
      end
      return x
    end
    assert(not is(x, Sym) or type(x.v) == "number")
    -- stored before the construct: outside of it
    return setmetatable({ v = type(x) == "function" and x or value(x), frozen = type(x) == "function" }, Var)
  end
  function R.cell(x, name)
    alive()
    assert(type(name) == "string" and not is(x, Cell) and not is(x, Var))
    return setmetatable({ value = x, at = #frames, region = { region() } }, Cell)
  end
  function R.r(x)
    alive()
    if is(x, Var) then
      if x.frozen then return x.v end
      return sym(x.v or 0)
    end
    if is(x, Cell) then
      return x.var and sym(x.value or 0) or x.value
    end
    return x
  end
  function R.a(x, v)
    alive()
    if is(x, Var) then
      if x.frozen then
        if v ~= x.v then refuse("a function is assigned") end
        return x
      end
      if type(v) == "function" then refuse("a function is assigned") end
      v = value(v)
      if active() then x.v = v end
      return x
    elseif is(x, Cell) then
      if x.var then
        for _, f in ipairs(frames) do
          if f.probing then refuse("the condition of a while changes a local") end
        end
        if active() then x.value = value(v) end
        return x
      end
      for _, f in ipairs(frames) do
        if f.probing then refuse("the condition of a while changes a local") end
      end
      local f, entry = region()
      if f ~= x.region[1] or entry ~= x.region[2] then refuse("a cell under a condition") end
      x.value = v
      return x
    end
    return v
  end
  function R.an(spec, ...)
    alive()
    local args, at, n = pack(...), 1, #spec
    local targets = {}
    for i = 1, n do
      local letter = spec:sub(i, i)
      assert(letter == "v" or letter == "l", "only locals here")
      if letter == "v" then
        targets[i] = args[at]
        at = at + 1
      end
    end
    local results = {}
    for i = n, 1, -1 do
      local v = args[at + i - 1]
      results[i] = spec:sub(i, i) == "v" and R.a(targets[i], v) or v
    end
    return unpack(results, 1, n)
  end

  -- Expressions
  local function begin_logic(a, v) -- v: the lane goes on to the right side
    local frame = push("logic")
    if v == nil then return end
    frame.rt = true
    frame.entry = frame.entry + 1
    frame.masked = not v
    frame.a = a
  end
  local function end_logic()
    local frame = frames[#frames]
    assert(frame.kind == "logic", "frames are out of order")
    return frame
  end
  local function leave_logic(frame)
    frame.open = false
    frames[#frames] = nil
  end
  function R.andb(a)
    alive()
    if is(a, Sym) and type(a.v) == "boolean" then
      begin_logic(a, value(a))
      return true
    end
    begin_logic()
    return a
  end
  function R.ande(v)
    local frame = end_logic()
    if not frame.rt then
      leave_logic(frame)
      return v
    end
    local x = value(v)
    leave_logic(frame)
    if type(x) == "boolean" then return sym(frame.a.v and x) end
    local r = sym(x)
    r.half, r.c = true, frame.a.v
    return r
  end
  function R.orb(a)
    alive()
    if is(a, Sym) and a.half then
      begin_logic(a, not a.c)
      return false
    elseif is(a, Sym) and type(a.v) == "boolean" then
      begin_logic(a, not value(a))
      return false
    end
    begin_logic()
    return a
  end
  function R.ore(v)
    local frame = end_logic()
    if not frame.rt then
      leave_logic(frame)
      return v
    end
    local x = value(v)
    leave_logic(frame)
    if frame.a.half then
      if frame.a.c then return sym(frame.a.v) end
      return sym(x)
    end
    assert(type(x) == "boolean", "'c or x' with a number")
    return sym(frame.a.v or x)
  end
  R["not"] = function(a)
    alive()
    if is(a, Sym) then
      assert(type(value(a)) == "boolean", "not of a number")
      return sym(not a.v)
    end
    return not a
  end
  local compare = {
    lt = function(a, b) return a < b end, le = function(a, b) return a <= b end,
    gt = function(a, b) return a > b end, ge = function(a, b) return a >= b end,
    eq = function(a, b) return a == b end, ne = function(a, b) return a ~= b end,
  }
  for name, f in pairs(compare) do
    R[name] = function(a, b)
      alive()
      if is(a, Sym) or is(b, Sym) then return sym(f(value(a), value(b))) end
      return f(value(a), value(b))
    end
  end
  function R.fn(f)
    alive()
    assert(type(f) == "function")
    return f
  end
  function R.nm(v)
    alive()
    return v
  end
  function R.t(t) return t end
  function R.up(_, v) return v end
  function R.gl() error("a global is assigned") end

  return R, sym, active, function() return #frames, dead, gone end, value
end

return M
