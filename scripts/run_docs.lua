-- run_docs.lua: runs the examples of documents and compares what they print, in TAP, for `prove`.
--   lua scripts/run_docs.lua [--cuttle=PATH] [--built=DIR] [--update] FILE.md...
-- What is an example, by its fence:
--   ```lua              a program of its own; the plain ``` block on the line after it, if there is
--                       one, is all that it prints (errors too), else it prints nothing
--   ```lua norun        is not run
--   ```lua FILE.lua     a file of the page, for the commands after it; ```c FILE.c and
--                       ```cpp FILE.cpp as well
--   ```diff FILE.lua    a change of that file: "-" and " " lines are found there once, in a row
--   ``` with "> input"  what one types at the prompt (">> " goes on with the line before) and what
--                       that prints; blank lines after an output are for the eye
--   ``` with "$ cuttle ..."  a command and what it prints, where "..." stands for any number of
--                       lines; "$ cuttle" alone is for the eye
--   ``` with "$ cc ...", "$ c++ ...", "$ ./NAME ..."  builds a host of the page, or runs it:
--                       with the libraries beside the program, installed in a folder of their own;
--                       skipped if these are sanitized, or if compiler or pkg-config are missing
--   any other           is for the eye
-- What is typed on a page is one session; a heading of one or two # starts the next one.
-- Everything runs on the CPU engine, in a new folder of the page; programs are example.lua there.
-- Tabs count to columns of 8; blanks at the end of a line and blank lines at the end do not count.
-- Links to other files and to headings must lead somewhere, too. A picture that the page shows,
-- ![what it is](pictures/NAME.svg), is what an example of the page wrote as NAME.svg; if one lies
-- beside the page, it must be the same.
-- With --built=DIR the pictures are written into DIR/FOLDER/pictures; FOLDER is the page's. Links
-- must then lead somewhere in DIR, which has the pages as readers of a release get them.
-- With --update outputs are written into the documents instead, and pictures that lie beside them:
-- review them as a diff.

local TIME_LIMIT_S <const> = 600
local ENVIRONMENT <const> = "CUTTLE_DEVICE=cpu LC_ALL=C.UTF-8 COLUMNS="
local END_OF_INPUT <const> = "\1end of input "
local NOT_COMPLETE <const> = "(the input is not complete, or the session ended here)"

local shell = dofile(arg[0]:match("^.*/") .. "shell.lua")
local lines_of, quote = shell.lines_of, shell.quote

local options = { cuttle = "./build/cuttle", update = false, built = nil }
local n_run, n_failed = 0, 0

-- {====== Lines and commands ======

-- Spaces for tabs, and none at the end.
local function clean(line)
  line = line:gsub("([^\t]*)\t", function(part)
    local width = utf8.len(part) or #part
    local blanks = 8 - width % 8
    return part .. (" "):rep(blanks)
  end)
  return (line:gsub("%s+$", ""))
end

-- What a command prints on stdout and stderr, as lines; it and the environment are shell text.
local function run_shell(folder, environment, command)
  local out = shell.capture(("cd %s && export %s && %s%s 2>&1"):format(quote(folder),
    environment, shell.time_limit(TIME_LIMIT_S), command))
  local lines = lines_of(out)
  for i, line in ipairs(lines) do
    lines[i] = clean(line)
  end
  return lines
end

local function run_cuttle(folder, arguments)
  return run_shell(folder, ENVIRONMENT, quote(options.cuttle) .. " " .. arguments)
end

-- Blank lines at the end do not count.
local function trim(lines)
  while lines[#lines] == "" do
    lines[#lines] = nil
  end
end

-- {====== Hosts: programs in C and C++ that link the libraries ======

-- What is installed for the hosts of all pages: {folder, or why_not}; made for the first of them.
local hosts

local function why_no_hosts(build)
  local function fails(command)
    return select(2, shell.capture("{ " .. command .. "; } >/dev/null 2>&1")) ~= 0
  end
  if fails("command -v cc") or fails("command -v pkg-config") then
    return "no C compiler, or no pkg-config"
  elseif fails(("cd %s && test -f libcuttle.so -a -f libcuttle.a"):format(quote(build))) then
    return "no libraries are built"
  elseif not fails(("nm %s/libcuttle.so | grep -q __asan_init"):format(quote(build))) then
    return "a sanitized library needs hosts that are"
  end
end

local function install_hosts()
  local build = options.cuttle:match("^(.*)/")
  local why_not = why_no_hosts(build)
  if why_not then return { why_not = why_not } end
  local folder = shell.capture("mktemp -d"):gsub("\n$", "")
  local out, code = shell.capture(("make -s -C %s install-files PREFIX=%s BUILD=%s MAKEFLAGS= 2>&1")
    :format(quote(arg[0]:match("^.*/") .. ".."), quote(folder), quote(build)))
  assert(code == 0, out)
  return { folder = folder }
end

local function is_host_command(text)
  local program = text:match("^%S+")
  return program == "cc" or program == "c++" or program:sub(1, 2) == "./"
end

-- Returns what the command printed, or nil with why it was not run.
local function run_host(folder, command)
  hosts = hosts or install_hosts()
  if hosts.why_not then return nil, hosts.why_not end
  local environment = ("%s PKG_CONFIG_PATH=%s/lib/pkgconfig LD_LIBRARY_PATH=%s/lib"):format(
    ENVIRONMENT, quote(hosts.folder), quote(hosts.folder))
  return run_shell(folder, environment, command)
end

-- {====== Reading a page: lines, blocks, examples ======

-- Blocks are {info, first, last, session}: the lines between the fences are first..last.
local function read_blocks(lines)
  local blocks, open, session = {}, nil, 1
  for i, line in ipairs(lines) do
    local info = line:match("^```(.*)$")
    if open and info then
      open.last, open = i - 1, nil
    elseif info then
      open = { info = info, first = i + 1, session = session }
      blocks[#blocks + 1] = open
    elseif not open and line:find("^##? ") then
      session = session + 1
    end
  end
  assert(not open, "a fence is not closed")
  return blocks
end

-- The inputs of a block of the prompt or of commands: {text, first, last, outputs from..to}.
local function read_inputs(lines, block)
  local inputs, at = {}, nil
  for i = block.first, block.last do
    local mark, text = lines[i]:match("^([>$]) (.*)$")
    local more = lines[i]:match("^>> ?(.*)$")
    if mark then
      at = { mark = mark, text = text, from = i + 1, to = i }
      inputs[#inputs + 1] = at
    elseif more and at and at.to < at.from then
      at.text, at.from, at.to = at.text .. "\n" .. more, i + 1, i
    else
      at.to = i
    end
  end
  for _, input in ipairs(inputs) do
    while input.to >= input.from and lines[input.to] == "" do
      input.to = input.to - 1
    end
  end
  return inputs
end

local function kind_of(lines, block, after)
  local first = block.first <= block.last and lines[block.first] or ""
  if block.info == "lua" then
    return "program"
  elseif block.info:find("^(%l+) %S+%.%1$") then
    return "file"
  elseif block.info:find("^diff %S+$") then
    return "change"
  elseif block.info == "" and first:find("^[>$] ") then
    return "inputs"
  elseif block.info == "" and after and after.kind == "program" and
      block.first == after.last + 3 then
    return "output"
  end
  return "picture"
end

local function read_examples(lines)
  local examples, after = {}, nil
  for _, block in ipairs(read_blocks(lines)) do
    block.kind = kind_of(lines, block, after)
    if block.kind == "output" then
      after.from, after.to = block.first, block.last
    elseif block.kind == "inputs" then
      block.inputs = read_inputs(lines, block)
    end
    if block.kind ~= "output" and block.kind ~= "picture" then
      examples[#examples + 1] = block
    end
    after = block
  end
  return examples
end

-- {====== Files of a page ======

local function path_of(page, example)
  return page.folder .. "/" .. example.info:match("%S+$")
end

local function write_page_file(page, example)
  shell.write_file(path_of(page, example),
    table.concat(page.lines, "\n", example.first, example.last) .. "\n")
end

local function is_at(lines, at, wanted)
  for i, line in ipairs(wanted) do
    if lines[at + i - 1] ~= line then return false end
  end
  return true
end

-- The only place in `lines` where `wanted` stands; nil with why.
local function find_lines(lines, wanted)
  local found
  for at = 1, #lines - #wanted + 1 do
    if is_at(lines, at, wanted) then
      if found then return nil, "stand there more than once" end
      found = at
    end
  end
  return found, "do not stand there in a row"
end

local function change_page_file(page, example)
  local path, old, new = path_of(page, example), {}, {}
  for i = example.first, example.last do
    local mark, text = page.lines[i]:match("^([-+ ]?)(.*)$")
    if mark ~= "+" then old[#old + 1] = text end
    if mark ~= "-" then new[#new + 1] = text end
  end
  local lines = lines_of(shell.read_file(path))
  local at, why = find_lines(lines, old)
  if not at then
    error(("%s:%d: the lines of this change to %s %s"):format(page.path, example.first,
      example.info:match("%S+$"), why), 0)
  end
  local after = table.move(lines, 1, at - 1, 1, {})
  table.move(new, 1, #new, #after + 1, after)
  table.move(lines, at + #old, #lines, #after + 1, after)
  shell.write_file(path, table.concat(after, "\n") .. "\n")
end

-- {====== Running: what each input printed ======

local function run_program(page, example)
  shell.write_file(page.folder .. "/example.lua",
    table.concat(page.lines, "\n", example.first, example.last) .. "\n")
  example.got = run_cuttle(page.folder, "example.lua </dev/null")
end

local function run_host_command(page, input)
  local got, why_not = run_host(page.folder, input.text)
  input.got, input.skipped = got or {}, why_not
end

local function run_command(page, input)
  if is_host_command(input.text) then return run_host_command(page, input) end
  local arguments = (input.text .. " "):match("^%S*cuttle (.*)$")
  assert(arguments, "a command that is no host's and not cuttle's: " .. input.text)
  input.got = arguments ~= "" and run_cuttle(page.folder, arguments .. "</dev/null") or {}
  trim(input.got)
end

-- Gives the inputs to one prompt, a mark after each, which the numbers of inputs do not count.
local function run_session(page, inputs)
  local text, path = {}, page.folder .. "/inputs"
  for i, input in ipairs(inputs) do
    text[i] = ("%s\nprint(%q)\n"):format(input.text, END_OF_INPUT .. i)
    input.got = {}
  end
  shell.write_file(path, table.concat(text))
  local at = 1
  for _, line in ipairs(run_cuttle(page.folder, "< inputs")) do
    local ended = tonumber(line:match("^" .. END_OF_INPUT .. "(%d+)$"))
    if ended and ended > at then -- those before swallowed their marks
      table.insert(inputs[at].got, 1, NOT_COMPLETE)
    end
    if ended then
      at = ended + 1
    else
      table.insert((inputs[at] or inputs[#inputs]).got, (line:gsub("input (%d+):", function(number)
        return "input " .. (number + 1) // 2 .. ":"
      end)))
    end
  end
  if at <= #inputs then
    table.insert(inputs[at].got, 1, NOT_COMPLETE)
  end
end

-- The pictures that the page shows and its examples wrote: {line, target, path, text}.
local function read_pictures(page)
  local folder = page.path:match("^.*/") or ""
  for number, line in ipairs(page.lines) do
    for target in line:gmatch("!%[[^%]]*%]%(([^%s()]+)%)") do
      local written = page.folder .. "/" .. target:match("[^/]+$")
      if shell.exists(written) then
        table.insert(page.pictures, { line = number, target = target, path = folder .. target,
                                      text = shell.read_file(written) })
        page.drawn[target] = true
      end
    end
  end
end

local run_example = { program = run_program, file = write_page_file, change = change_page_file }

local function run_page(page)
  local sessions, numbers = {}, {}
  for _, example in ipairs(page.examples) do
    if run_example[example.kind] then run_example[example.kind](page, example) end
    for _, input in ipairs(example.inputs or {}) do
      if input.mark == "$" then
        run_command(page, input)
      else
        local number = example.session
        if not sessions[number] then
          sessions[number], numbers[#numbers + 1] = {}, number
        end
        table.insert(sessions[number], input)
      end
    end
  end
  for _, number in ipairs(numbers) do
    run_session(page, sessions[number])
  end
  read_pictures(page)
end

-- {====== Comparing, in TAP ======

-- The first line of `want` for which `got` has none, nil where they fit: a line "..." of it stands
-- for any number of lines.
local function first_misfit(want, got, i, j)
  i, j = i or 1, j or 1
  while want[i] == got[j] and want[i] ~= nil do i, j = i + 1, j + 1 end
  if want[i] ~= "..." then return want[i] ~= got[j] and i or nil end
  local furthest = i
  for rest = j, #got + 1 do
    local misfit = first_misfit(want, got, i + 1, rest)
    if not misfit then return nil end
    furthest = math.max(furthest, misfit)
  end
  return furthest
end

local function add_difference(problems, page, from, to, got)
  local want = table.move(page.lines, from, to, 1, {})
  trim(want)
  trim(got)
  for i = 1, math.max(#want, #got) do
    if want[i] ~= got[i] then
      problems[#problems + 1] = ("%s:%d\n     got: %s\nexpected: %s"):format(
        page.path, from + i - 1, got[i] or "(nothing)", want[i] or "(nothing)")
      return
    end
  end
end

-- Why an example was not run, nil if it was.
local function why_skipped(example)
  for _, input in ipairs(example.inputs or {}) do
    if input.skipped then return input.skipped end
  end
end

local function has_gaps(page, input)
  for i = input.from, input.to do
    if page.lines[i] == "..." then return input.mark == "$" end
  end
  return false
end

local function misfit_of(page, input)
  return first_misfit(table.move(page.lines, input.from, input.to, 1, {}), input.got)
end

local function add_misfit(problems, page, input)
  local misfit = misfit_of(page, input)
  if misfit then
    problems[#problems + 1] = ("%s:%d: the output has no such line here: %s"):format(page.path,
      input.from + misfit - 1, page.lines[input.from + misfit - 1])
  end
end

local function compare(page, example)
  local problems = {}
  if example.kind == "program" then
    local from = example.from or example.last + 2
    add_difference(problems, page, from, example.to or from - 1, example.got)
  end
  for _, input in ipairs(example.inputs or {}) do
    if has_gaps(page, input) then
      add_misfit(problems, page, input)
    else
      add_difference(problems, page, input.from, input.to, input.got)
    end
  end
  return problems
end

local function report(name, problems)
  n_run = n_run + 1
  n_failed = n_failed + (#problems > 0 and 1 or 0)
  print(("%sok %d - %s"):format(#problems > 0 and "not " or "", n_run, name))
  for _, problem in ipairs(problems) do
    print("#   " .. problem:gsub("\n", "\n#   "))
  end
end

-- {====== Links ======

-- The anchors that Markdown's readers give to headings: "What a layout is" -> "what-a-layout-is";
-- the second of two equal ones is "...-1".
local function anchors_of(path)
  local anchors, counts = {}, {}
  for line in io.lines(path) do
    local heading = line:match("^#+ (.+)$")
    if heading then
      local anchor = heading:lower():gsub("[^%w%- _]", ""):gsub(" ", "-")
      local n = counts[anchor] or 0
      counts[anchor] = n + 1
      anchors[n > 0 and ("%s-%d"):format(anchor, n) or anchor] = true
    end
  end
  return anchors
end

-- A page's place among the built ones, if there are any: it may be one of them itself.
local function place_of(path)
  local is_built = not options.built or path:sub(1, #options.built) == options.built
  return is_built and path or options.built .. "/" .. path
end

local function leads_somewhere(page, target)
  local file, anchor = target:match("^([^#]*)#?(.*)$")
  local place = place_of(page.path)
  local path = file == "" and place or (place:match("^.*/") or "") .. file
  return target:find("^%w+:") or page.drawn[target]
    or shell.exists(path) and (anchor == "" or anchors_of(path)[anchor])
end

local function broken_links(page)
  local problems, n, is_code = {}, 0, false
  for number, line in ipairs(page.lines) do
    if line:find("^%s*```") then is_code = not is_code end
    local text = is_code and "" or line:gsub("`[^`]*`", "") -- t[i](x) in code is no link
    for target in text:gmatch("%]%(([^%s()]+)%)") do
      n = n + 1
      if not leads_somewhere(page, target) then
        problems[#problems + 1] = ("%s:%d: nothing is at %s"):format(page.path, number, target)
      end
    end
  end
  return problems, n
end

local function changed_pictures(page)
  local problems = {}
  for _, picture in ipairs(page.pictures) do
    if shell.exists(picture.path) and shell.read_file(picture.path) ~= picture.text then
      problems[#problems + 1] = ("%s:%d: %s is not what the page draws"):format(page.path,
        picture.line, picture.target)
    end
  end
  return problems
end

local function check_page(page)
  for _, example in ipairs(page.examples) do
    local why_not = why_skipped(example)
    if why_not then
      report(("%s:%d # skip %s"):format(page.path, example.first, why_not), {})
    elseif example.inputs or example.kind == "program" then
      report(("%s:%d"):format(page.path, example.first), compare(page, example))
    end
  end
  local problems, n = broken_links(page)
  if n > 0 then
    report(page.path .. " links", problems)
  end
  if #page.pictures > 0 then
    report(page.path .. " pictures", changed_pictures(page))
  end
end

-- {====== Updating ======

-- Puts `got` in place of lines from..to, from the last place to the first, so that numbers hold.
local function update_page(page)
  local places = {}
  for _, example in ipairs(page.examples) do
    if example.from or (example.kind == "program" and #example.got > 0) then
      local from = example.from or error(("%s:%d: prints something, but no block is there for it")
        :format(page.path, example.first), 0)
      places[#places + 1] = { from = from, to = example.to, got = example.got }
    end
    for _, input in ipairs(example.inputs or {}) do
      if not input.skipped and (not has_gaps(page, input) or misfit_of(page, input)) then
        places[#places + 1] = input
      end
    end
  end
  table.sort(places, function(a, b) return a.from > b.from end)
  for _, place in ipairs(places) do
    trim(place.got)
    local lines = table.move(page.lines, 1, place.from - 1, 1, {})
    table.move(place.got, 1, #place.got, #lines + 1, lines)
    page.lines = table.move(page.lines, place.to + 1, #page.lines, #lines + 1, lines)
  end
  shell.write_file(page.path, table.concat(page.lines, "\n") .. "\n")
  for _, picture in ipairs(page.pictures) do
    if shell.exists(picture.path) then shell.write_file(picture.path, picture.text) end
  end
end

-- Writes what a page draws, and the page as it is now, to the built ones.
local function write_built(page)
  local place = place_of(page.path)
  if place == page.path then return end
  local folder = place:match("^.*/")
  for _, picture in ipairs(page.pictures) do
    local path = folder .. picture.target
    assert(os.execute("mkdir -p " .. quote(path:match("^.*/"))))
    shell.write_file(path, picture.text)
  end
  shell.write_file(place, table.concat(page.lines, "\n") .. "\n")
end

-- {====== Main ======

local function read_page(path)
  local page = { path = path, lines = lines_of(shell.read_file(path)), pictures = {}, drawn = {} }
  page.examples = read_examples(page.lines)
  return page
end

local function run_document(path)
  local page = read_page(path)
  page.folder = shell.capture("mktemp -d"):gsub("\n$", "")
  local ok, message = pcall(run_page, page)
  os.execute("rm -r " .. quote(page.folder))
  if not ok then
    report(path, { tostring(message) })
  elseif options.update then
    update_page(page)
  else
    check_page(page)
  end
  if ok then write_built(page) end
end

local function read_arguments(args)
  local paths = {}
  for _, arg in ipairs(args) do
    local name, value = arg:match("^%-%-(%l+)=(.+)$")
    if name == "cuttle" or name == "built" then
      options[name] = value
    elseif arg == "--update" then
      options.update = true
    else
      paths[#paths + 1] = arg
    end
  end
  return paths
end

local function main(...)
  local paths = read_arguments { ... }
  options.cuttle = shell.capture("realpath " .. quote(options.cuttle)):gsub("\n$", "")
  for _, path in ipairs(paths) do
    run_document(path)
  end
  if hosts and hosts.folder then os.execute("rm -r " .. quote(hosts.folder)) end
  if not options.update then
    print("1.." .. n_run)
  end
  os.exit(n_failed == 0)
end

main(...)
