-- prompt_input.lua: an input at the prompt becomes a function (interp/shell/repl_input.c). An input
-- is an expression, a layout as CuTe writes it, or statements, over as many lines as it takes; in
-- the manner of lua.c. A local of its outermost block outlives it: later inputs see it as a
-- function in one chunk would, by reference, until another one shadows it. `host` has what only C
-- reaches.
local typed = require "cuttle.typed"
local M = {}

-- {====== Locals ======
-- An input that uses locals of the session, or declares some, is loaded within a wrapper,
--
--     local __keep, a, c <const> = ... return function(...) INPUT
--      __keep(function() return x, y end, {z = z}) end
--
-- whose upvalue `a` is joined with the variable of the input that declared it. The call at the end,
-- or before the input's own return or last os.exit(), hands over the variables that the input
-- declares: x and y by a function that has them as upvalues; a <const>, which may have none, by
-- value. A <close> is closed when its input ends, and not kept.

-- Of each name a function that has the variable as an upvalue of that name, or a list of the
-- constant's value.
local session = {}

--- The names of the session's locals, as keys.
function M.names() return session end

--- Is there such a local of the session, and its value.
function M.value(host, name)
  local variable = session[name]
  if type(variable) == "function" then return true, host.upvalue(variable, name) end
  return variable ~= nil, variable and variable[1]
end

--- The value of a local of the session or of a global.
function M.value_of(host, name)
  local is_local, value = M.value(host, name)
  if is_local then return value end
  return rawget(_G, name)
end

local function names_where(names, kind)
  local list = {}
  for name, is in pairs(names) do
    if is == kind then list[#list + 1] = name end
  end
  return list
end

local function wrapper(input, used, text)
  local parameters, fields = {}, names_where(input.declared, "const")
  for i, name in ipairs(used) do
    parameters[i] = ", " .. name .. (type(session[name]) == "table" and " <const>" or "")
  end
  for i, name in ipairs(fields) do fields[i] = name .. " = " .. name end
  local is_whole = input.stop == #text
  return ("local __keep%s = ... return function(...) %s%s%s%s%s"):format(table.concat(parameters),
    text:sub(1, input.stop), is_whole and "\n" or "", -- a comment may end it
    (" __keep(function() return %s end, {%s}) "):format(
      table.concat(names_where(input.declared, "plain"), ", "), table.concat(fields, ", ")),
    text:sub(input.stop + 1), is_whole and " end" or "\n end")
end

--- As host.load of an input's text: a function that sees the session's locals and keeps its own for
--- the session when it has come to its end; or nil and the message.
function M.load_chunk(host, text, chunkname)
  local input, used, values = host.parse(text), {}, {}
  for name in pairs(input and input.names or {}) do
    if session[name] ~= nil then
      used[#used + 1] = name
      if type(session[name]) == "table" then values[#used] = session[name][1] end
    end
  end
  if not input or (#used == 0 and next(input.declared) == nil) then
    return host.load(text, chunkname)
  end
  local chunk, message = host.load(wrapper(input, used, text), chunkname)
  if not chunk then return nil, message end
  local function keep(variables, constants)
    for _, name in ipairs(host.upvalues(variables)) do session[name] = variables end
    for _, name in ipairs(names_where(input.declared, "const")) do
      session[name] = { constants[name] }
    end
  end
  local made = chunk(keep, table.unpack(values, 1, #used))
  for _, name in ipairs(used) do
    if type(session[name]) == "function" then host.join(made, session[name], name) end
  end
  return made
end

-- {====== Layouts ======

local PLAIN <const>, LETTERED <const> = "^[%d(),:_@ \t-]*$", "^[%w()%[%],:_@=<> \t-]*$"

-- A text of the characters of layouts: `(4,8):(8,1)`, `(M=4,K=8):(8,1)`, `Sw<2,0,3> o 0 o (4,8)`,
-- `Sw<2,0,3>`, `gmem_ptr[32b](0x7f40) o (_4,_8):(_8,_1)`.
local function is_layout(text)
  local lettered = text:find "^Sw?<" or text:find("ptr[", 1, true) or text:find "^%(.*[=<]"
  return text:find(lettered and LETTERED or PLAIN) and text:find "[(:<]"
end

-- As a layout: a function that returns it; or nothing, and why where the text looks like one.
local function load_layout(host, text)
  if not is_layout(text) then return nil end
  local is_swizzle = text:find "^Sw?<" and not text:find "[(:]"
  local value, why = host.layout(text, is_swizzle)
  if value == nil then return nil, why end
  return function() return value end
end

-- {====== Inputs ======

-- Does the message say that the text ended too early? A string in quotes ends in its line, unless
-- the line ends with a backslash or \z.
local function is_incomplete(message, text)
  if not message:find "<eof>$" then return false end
  return not message:find " unfinished string near <eof>$" or text:find "\\z?$" ~= nil
end

-- Is it the message of a text whose first token cannot begin a statement: `1 + )`?
local function blames_first_token(message, text)
  local token = message:match " near '(.*).$"
  return token ~= nil and text:match("^[ \t\n]*(.*)$"):sub(1, #token) == token
end

-- `x = 3; x`, which is no Lua: the last expression is shown, as in other prompts.
local function load_shown(host, text, chunkname)
  local before, last = text:gsub("[%s;]+$", ""):match "^(.*;)%s*([^;\n]-)$"
  if not before or not last:find "[%w_]" then return nil end
  return (M.load_chunk(host, ("%s return %s"):format(before, last), chunkname))
end

-- The input as it is: the function; or nil, the message that fits, and whether another line may
-- help.
local function load_lua(host, text, chunkname)
  local made, of_expression = M.load_chunk(host, "return " .. text, chunkname)
  made = made or load_layout(host, text)
  if made then return made end
  local may_go_on = is_incomplete(of_expression, text)
  local statements, message = M.load_chunk(host, text, chunkname)
  statements = statements or load_shown(host, text, chunkname)
  if statements then return statements end
  local assigns = of_expression:find " near '='$" -- a statement began, whatever its first token is
  if not is_incomplete(message, text) and not assigns and blames_first_token(message, text) then
    return nil, of_expression, may_go_on
  end
  return nil, message, may_go_on or is_incomplete(message, text)
end

--- The function that input `number` is; or nil, the message that fits, and whether another line may
--- complete it: then the message is of no use. If the input loads as what it was meant to be, or
--- may do so with more lines, that counts. What is neither Lua nor a layout, but looks like one,
--- gets the message of a layout.
function M.load(host, text, number)
  local chunkname = host.prefix .. number
  local made, message, has_more = load_lua(host, text, chunkname)
  if not made and not has_more then
    local ok, meaning = pcall(typed.meaning, text) -- a fault there hides no message of Lua's
    if ok and type(meaning) == "string" then
      local meant, of_meant, meant_has_more = load_lua(host, meaning, chunkname)
      if meant or meant_has_more then made, message, has_more = meant, of_meant, meant_has_more end
    end
  end
  if made then return made end
  return nil, select(2, load_layout(host, text)) or message, has_more
end

return M
