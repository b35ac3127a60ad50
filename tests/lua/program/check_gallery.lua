-- Faulty kernels, each found by `check` with the whole message at the right line, and nothing else.
-- tests/check/NAME.lua: `-- finds: MESSAGE` on the line to blame, once for each message;
-- `-- check: OPTION` gives the option --OPTION, such as nan. tests/check/NAME.faults: several programs, as changes of one.
-- An argument names one file; with --write=FOLDER before it, writes the programs of such a file.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"

local read = shell.read_file

-- "LINE: MESSAGE" of what the comments expect.
local function expected(text)
  local out, line = {}, 0
  for content in text:gmatch("([^\n]*)\n") do
    line = line + 1
    local rest = content:match("%-%- finds: (.*)$")
    for message in (rest and rest .. " -- finds: " or ""):gmatch("(.-) %-%- finds: ") do
      out[#out + 1] = line .. ": " .. message
    end
  end
  table.sort(out)
  return table.concat(out, "\n")
end

local quote = shell.quote

local function found(path, text)
  local option = text:match "%-%- check: (%l%S*)\n"
  local pipe = assert(io.popen(("%s check %s %s 2>&1 </dev/null"):format(
    quote(arg[-1]), option and quote("--" .. option) or "", path)))
  local out = {}
  for line in pipe:lines() do
    if line:find(path .. ":", 1, true) == 1 then line = line:sub(#path + 2) end
    local is_told = line:find "^check: " or line:find "^  " -- what was counted, and schedules
    if not is_told then out[#out + 1] = line:gsub(" %(%d+ times%)$", "") end
  end
  pipe:close()
  table.sort(out)
  return table.concat(out, "\n")
end

local function check(name, path, text, is_right)
  local want, got = expected(text), found(path, text)
  tap.ok(want == got and (want == "") == is_right, name,
    ("expected\n%s\ngot\n%s"):format(want, got))
end

-- {====== Programs that are one program with changes ======

-- The place of a line from `first` on; of lines that are kept what is found there does not count.
local function find_line(lines, line, first)
  for i = first, #lines do
    if lines[i] == line then return i end
  end
  error("no such line from line " .. first .. " on: " .. line)
end

-- The lines of a program with changes made to a copy, see hopper_gemm.faults.
local function changed(lines, changes)
  local copy, at = table.move(lines, 1, #lines, 1, {}), 1
  for _, change in ipairs(changes) do
    local kind, line = change:match("^([-+=]) (.*)$")
    if kind == "+" then
      table.insert(copy, at, line)
    else
      at = find_line(copy, (line:gsub(" %-%- finds: .*$", "")), at)
      if kind == "-" then table.remove(copy, at) else copy[at] = line end
    end
    if kind ~= "-" then at = at + 1 end
  end
  return copy
end

-- {name, text} of each program of the file, first of the one that the others change.
local function programs_of(path)
  local programs, lines = {}, {}
  for line in read(path):gmatch("([^\n]*)\n") do
    local name = line:match("^%-%-%- ([%w_]+)$")
    if name then
      lines = {}
      table.insert(programs, { name = name, lines = lines })
    elseif line ~= "" then
      table.insert(lines, line)
    end
  end
  local comment = table.remove(programs[1].lines, 1)
  local first = programs[1].lines
  for _, program in ipairs(programs) do
    if program.lines ~= first then
      comment = table.remove(program.lines, 1)
      program.lines = changed(first, program.lines)
    end
    program.text = comment .. "\n" .. table.concat(program.lines, "\n") .. "\n"
  end
  return programs
end

local write = shell.write_file

local function check_programs(path)
  local scratch = os.tmpname()
  for i, program in ipairs(programs_of(path)) do
    write(scratch, program.text)
    check(path .. ": " .. program.name, scratch, program.text, i == 1)
  end
  os.remove(scratch)
end

-- {====== Main ======

local folder = arg[1] and arg[1]:match("^%-%-write=(.*)$")
if folder then
  for _, program in ipairs(programs_of(arg[2])) do
    write(("%s/%s.lua"):format(folder, program.name), program.text)
  end
  return
end
local list = assert(io.popen("ls " .. (arg[1] or "tests/check/*.lua tests/check/*.faults")))
for path in list:lines() do
  if path:find("%.faults$") then
    check_programs(path)
  else
    check(path, path, read(path), false)
  end
end
list:close()
tap.done()
