-- checked_gradients.lua: what `check` says of a program that prints "gradient N" where one is wrong.
-- In its text $problem stands for the arguments of a call, and $change for what is made before.

local function check(program, options, fields)
  local path <const> = os.tmpname()
  do
    local file <close> = assert(io.open(path, "w"))
    file:write((program:gsub("%$(%w+)", fields)))
  end
  local pipe = assert(io.popen(("'%s' check %s %s 2>&1 </dev/null"):format(arg[-1], options, path)))
  local text = pipe:read "a"
  pipe:close()
  os.remove(path)
  return text
end

-- says(options, problem, change, part, name) for the program, to the test's tap: the report has that part, and without
-- a change, which may be nil, no gradient is wrong.
return function(tap, program)
  return function(options, problem, change, part, name)
    local text = check(program, options, { problem = problem, change = change or "" })
    local is_wrong = not change and text:find "gradient" or text:find "itself failed"
    tap.ok(text:find(part, 1, true) and not is_wrong, name, text)
  end
end
