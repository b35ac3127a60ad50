-- static_runtime.lua: the runtime functions of interp/text/rewrite.h for programs in which every value is
-- static, in plain Lua. A rewritten function must do under it what the original does.
--
-- new(mode) makes one. Options in `mode` (a table) make it less lenient, without changing results:
--   boxed: every construct counts as run-time for promotion: promoted locals become boxes, so that a
--          name read or written without r and a is noticed.
--   dead:  jumps are not taken but make the region dead, as an emitted exit does; then nothing may
--          run until the target is reached. Every other runtime function checks that.
-- stats() tells how many frames are open.
local M = {}

local Box = {}
local unpack, pack = table.unpack, table.pack

-- Errors as Lua raises them, at the line of the rewritten function that called.
local function raise(message, line)
  if line then
    error(debug.getinfo(3, "S").short_src .. ":" .. line .. ": " .. message, 0)
  end
  error(message, 3)
end

local function strip(message)
  return type(message) == "string" and message:gsub("^[^:]+:%d+: ", "") or message
end

local function with_name(text, desc)
  return desc and text .. " (" .. desc .. ")" or text
end

function M.new(mode)
  local R = {}
  local stacks = setmetatable({}, { __mode = "k" })
  local kept, receiver

  local function state()
    local co = coroutine.running()
    local s = stacks[co]
    if not s then
      s = { frames = {}, dead = nil }
      stacks[co] = s
    end
    return s
  end

  local function alive()
    assert(not state().dead, "code runs in a dead region")
  end

  local function top(kind)
    local frames = state().frames
    for i = #frames, 1, -1 do
      if frames[i].kind == kind then
        return frames[i]
      end
    end
    error("no frame of kind " .. kind)
  end

  local function close_frame(frame)
    local s = state()
    local at
    for i = #s.frames, 1, -1 do
      if s.frames[i] == frame then
        at = i
        break
      end
    end
    assert(at, "a frame is closed twice")
    for i = #s.frames, at, -1 do
      s.frames[i] = nil
    end
    if s.dead == frame then
      s.dead = nil
    end
  end

  local Frame = { __close = function(frame, err)
    close_frame(frame)
    if err ~= nil then
      state().dead = nil
    end
  end }

  local function push(kind)
    local frames = state().frames
    local frame = setmetatable({ kind = kind }, Frame)
    frames[#frames + 1] = frame
    return frame
  end

  local q = mode.boxed and true or nil

  -- Functions
  function R.func(_, _)
    alive()
    return push("func")
  end
  function R.ret(frame, ...)
    alive()
    if mode.dead then
      frame.values = pack(...)
      state().dead = frame
      return false
    end
    kept = pack(...)
    return true
  end
  function R.retv(_)
    return unpack(kept, 1, kept.n)
  end
  function R.leave(frame)
    assert(frame.kind == "func")
    if state().dead == frame then
      return unpack(frame.values, 1, frame.values.n)
    end
    alive()
  end

  -- If
  R["if"] = function(n, has_else, c)
    alive()
    local frame = push("if")
    local i, done = 1, false
    frame.c = c
    return function()
      if done or state().dead then
        return nil
      elseif frame.c then
        done = true
        return 2 * i - 1, q
      elseif i < n then
        i = i + 1
        frame.c = nil
        return 2 * i - 2, q
      end
      done = true
      if has_else then
        return 2 * n, q
      end
    end, nil, nil, frame
  end
  function R.ei(c)
    alive()
    top("if").c = c
  end

  -- Loops
  R["while"] = function()
    alive()
    local frame = push("loop")
    frame.go = true
    return function()
      if frame.go and not state().dead then
        return q or false
      end
    end, nil, nil, frame
  end
  function R.wc(c)
    alive()
    top("loop").go = c
    return c and true or false
  end
  function R.loop(kind)
    alive()
    assert(kind == "while" or kind == "repeat")
    local frame = push("loop")
    return function()
      if not frame.done and not state().dead then
        return q or false
      end
    end, nil, nil, frame
  end
  R["until"] = function(c)
    alive()
    top("loop").done = c
  end
  function R.range(name, a, b, s)
    alive()
    assert(type(name) == "string")
    s = s == nil and 1 or s
    local passed, message = pcall(function()
      for _ = a, b, s do break end -- luacheck: ignore 512
    end)
    if not passed then
      raise(strip(message))
    end
    local frame = push("loop")
    local turn = coroutine.wrap(function()
      for i = a, b, s do coroutine.yield(i) end
    end)
    return function()
      if not state().dead then
        return turn(), q
      end
    end, nil, nil, frame
  end
  function R.iter(name, f, s, c, z)
    alive()
    assert(type(name) == "string")
    local frame = push("loop")
    local mt = setmetatable({}, { __close = function(_, err)
      Frame.__close(frame, err)
      if z ~= nil then
        getmetatable(z).__close(z, err)
      end
    end })
    return function(x, y)
      if not state().dead then
        return f(x, y)
      end
    end, s, c, mt
  end
  function R.brk()
    alive()
    if mode.dead then
      state().dead = top("loop")
      return false
    end
    return true
  end

  -- Goto
  function R.mark(label)
    alive()
    assert(type(label) == "string")
    return push("mark")
  end
  R["goto"] = function(frame)
    alive()
    assert(frame.kind == "mark")
    if mode.dead then
      state().dead = frame
      return false
    end
    return true
  end
  function R.here()
    alive()
    return state().frames[#state().frames]
  end
  function R.back(here, label)
    alive()
    assert(type(label) == "string" and here.kind)
  end
  function R.dead()
    return state().dead ~= nil
  end

  -- Variables
  function R.p(flag, x, name)
    alive()
    assert(type(name) == "string")
    if flag == true and getmetatable(x) ~= Box then
      return setmetatable({ value = x }, Box)
    end
    return x
  end
  function R.cell(x, name)
    alive()
    assert(type(name) == "string" and getmetatable(x) ~= Box)
    return setmetatable({ value = x }, Box)
  end
  function R.r(x)
    alive()
    if getmetatable(x) == Box then
      return x.value
    end
    return x
  end
  function R.a(x, value)
    alive()
    assert(getmetatable(value) ~= Box, "a box got out")
    if getmetatable(x) == Box then
      x.value = value
      return x
    end
    return value
  end
  function R.up(name, value)
    alive()
    assert(type(name) == "string" and getmetatable(value) ~= Box)
    return value
  end
  R.gl = R.up
  function R.close(_, name)
    alive()
    assert(type(name) == "string")
  end
  function R.an(spec, ...)
    alive()
    local args, at = pack(...), 1
    local targets, results = {}, {}
    local n_args = { i = 3, v = 1, l = 0, u = 1, g = 1 }
    for letter in spec:gmatch(".") do
      targets[#targets + 1] = { letter = letter, at = at }
      at = at + n_args[letter]
    end
    for i = #targets, 1, -1 do
      local t, value = targets[i], args[at + i - 1]
      assert(getmetatable(value) ~= Box, "a box got out")
      if t.letter == "i" then
        local object, key, desc = args[t.at], args[t.at + 1], args[t.at + 2]
        assert(getmetatable(object) ~= Box and getmetatable(key) ~= Box, "a box got out")
        if object == nil then
          raise(with_name("attempt to index a nil value", desc))
        end
        object[key] = value
      elseif t.letter == "v" then
        t.value = R.a(args[t.at], value)
      else
        t.value = value
      end
    end
    local n = 0
    for _, t in ipairs(targets) do
      if t.letter ~= "i" then
        n = n + 1
        results[n] = t.value
      end
    end
    return unpack(results, 1, n)
  end

  -- Expressions
  for _, name in ipairs { "and", "or" } do
    R[name .. "b"] = function(a)
      alive()
      push("logic")
      return a
    end
    R[name .. "e"] = function(v)
      local frames = state().frames
      assert(frames[#frames].kind == "logic", "frames are out of order")
      frames[#frames] = nil
      return v
    end
  end
  R["not"] = function(a)
    alive()
    return not a
  end
  local compare = {
    lt = function(a, b) return a < b end, le = function(a, b) return a <= b end,
    gt = function(a, b) return a > b end, ge = function(a, b) return a >= b end,
    eq = function(a, b) return a == b end, ne = function(a, b) return a ~= b end,
  }
  for name, f in pairs(compare) do
    R[name] = function(a, b, line)
      alive()
      assert(getmetatable(a) ~= Box and getmetatable(b) ~= Box, "a box got out")
      assert(line == nil or math.type(line) == "integer", "a comparison got a third value")
      local passed, result = pcall(f, a, b)
      if not passed then
        raise(strip(result), line)
      end
      return result
    end
  end
  local function index(t, k, desc)
    alive()
    assert(getmetatable(t) ~= Box and getmetatable(k) ~= Box, "a box got out")
    if type(t) ~= "table" and type(t) ~= "string" then
      error(with_name("attempt to index a " .. type(t) .. " value", desc), 3)
    end
    return t[k]
  end
  local function callee(f, desc)
    local mt = type(f) ~= "function" and getmetatable(f)
    if type(f) ~= "function" and not (mt and type(mt) == "table" and mt.__call) then
      error(with_name("attempt to call a " .. type(f) .. " value", desc), 3)
    end
    return f
  end
  function R.ix(t, k, desc)
    local v = index(t, k, desc)
    return v
  end
  function R.len(v, desc)
    alive()
    assert(getmetatable(v) ~= Box, "a box got out")
    local mt = getmetatable(v)
    if type(v) ~= "table" and type(v) ~= "string" and not (type(mt) == "table" and mt.__len) then
      raise(with_name("attempt to get length of a " .. type(v) .. " value", desc))
    end
    return v
  end
  function R.set(desc, t, k, v)
    alive()
    assert(getmetatable(t) ~= Box and getmetatable(k) ~= Box, "a box got out")
    assert(getmetatable(v) ~= Box, "a box got out")
    if type(t) ~= "table" then
      raise(with_name("attempt to index a " .. type(t) .. " value", desc))
    end
    local passed, message = pcall(function() t[k] = v end)
    if not passed then
      raise(strip(message))
    end
  end
  function R.fn(f, desc)
    alive()
    assert(getmetatable(f) ~= Box, "a box got out")
    local g = callee(f, desc)
    return g
  end
  function R.m(o, name, desc)
    local f = callee(index(o, name, desc), "method '" .. name .. "'")
    receiver = pack(o)
    return f
  end
  function R.self()
    local o = receiver[1]
    receiver = nil
    return o
  end
  function R.t(t)
    alive()
    assert(type(t) == "table")
    return t
  end
  function R.nm(v, name)
    alive()
    assert(type(name) == "string" and getmetatable(v) ~= Box)
    return v
  end

  local function stats()
    return #state().frames, state().dead
  end
  return R, stats
end

local n_converted = 0 -- every other one with noted reads, which must change nothing

-- The function of `text` that `f` is, rewritten to run on R. Returns nil, message when refused.
function M.convert(f, text, R, nth, is_kernel)
  local info = debug.getinfo(f, "S")
  n_converted = n_converted + 1
  local notes_reads = n_converted % 2 == 0
  local wrapper, what = rw.rewrite(text, info.linedefined, info.lastlinedefined, nth, is_kernel,
    notes_reads)
  if not wrapper then
    return nil, what
  end
  local chunk, message = load(wrapper, "=" .. info.short_src, "t")
  if not chunk then
    return nil, message, wrapper
  end
  local fns = {}
  for i, name in ipairs(what.fns) do
    fns[i] = R[name]
  end
  local g
  if what.in_table then
    g = chunk(R)
  else
    g = chunk(unpack(fns, 1, #what.fns))
  end
  local at = {}
  for i = 1, 255 do
    local name = debug.getupvalue(f, i)
    if not name then break end
    at[name] = i
  end
  local wanted = { _ENV = what.uses_env or nil }
  for _, name in ipairs(what.upvalues) do
    wanted[name] = true
  end
  for i = 1, 255 do
    local name = debug.getupvalue(g, i)
    if not name then break end
    if wanted[name] then
      if not at[name] then
        return nil, "no upvalue " .. name, wrapper
      end
      debug.upvaluejoin(g, i, f, at[name])
    end
  end
  return g, what, wrapper
end

return M
