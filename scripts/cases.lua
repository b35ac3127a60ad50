-- cases.lua: reads and writes tables of short programs, tests/fails/*.cases. A script gets it by
--   local cases = dofile(arg[0]:match("^.*/") .. "cases.lua")
-- A line "--- NAME" or "--- NAME (program)" begins a case; what is before the first is the table's
-- comment. A blank line ends a case, for reading: it does not belong to the program.
local shell = dofile(arg[0]:match("^.*/") .. "shell.lua")
local M = {}

-- {comment = text, {name = TEXT, by_program = boolean, line = of the name, text = TEXT}...}
function M.read(path)
  local read, comment, names = {}, {}, {}
  local lines = comment
  for number, line in ipairs(shell.lines_of(shell.read_file(path))) do
    local name, mark = line:match("^%-%-%- ([%w_]+)(.*)$")
    if name then
      assert(mark == "" or mark == " (program)", ("%s:%d: '%s'?"):format(path, number, mark))
      assert(not names[name], ("%s:%d: a second case '%s'"):format(path, number, name))
      lines, names[name] = {}, true
      table.insert(read, { name = name, by_program = mark ~= "", line = number, lines = lines })
    else
      table.insert(lines, line)
    end
  end
  for _, case in ipairs(read) do
    case.text = table.concat(case.lines, "\n"):gsub("\n*$", "\n")
    case.lines = nil
  end
  read.comment = table.concat(comment, "\n")
  return read
end

function M.write(path, read)
  local text = { read.comment }
  for _, case in ipairs(read) do
    table.insert(text, ("--- %s%s\n%s"):format(case.name, case.by_program and " (program)" or "",
      case.text))
  end
  shell.write_file(path, table.concat(text, "\n"))
end

return M
