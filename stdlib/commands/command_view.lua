-- command_view.lua: `cuttle view` opens the playground in a browser. With a script, it prints a
-- link that carries the script, or writes a page with the picture of one of its launches. With an
-- expression, it writes a page with its value's picture.
--|view [EXPRESSION]     write a page with its picture (-o FILE, --open); without an expression,
--|                      open the playground; with a script.lua, print a link to it
--|                      or, with --launch=N, draw what its N-th launch accesses
local browser = require "cuttle.browser"
local files = require "cuttle.picture_page"
local drawn = require "cuttle.drawn"
local pages = require "cuttle.page_file"
local launch_picture = require "cuttle.launch_picture"
local picture = require "cuttle.picture"
local late = require "cuttle.options"
local playground = require "cuttle.playground"
local run_script = require "cuttle.run_script"
local text_file = require "cuttle.text_file"
local internal = ...

local USAGE <const> = [[
usage: cuttle view [--notebook] [--playground=PLACE]
       cuttle view [--open] [--notebook] [--playground=PLACE] script.lua
       cuttle view --launch=N [-o FILE] [--open] script.lua [arguments]
       cuttle view [-o FILE] [--open] EXPRESSION

Without arguments it opens the playground in a browser: an editor, a prompt, pictures and
reports in one page, which needs no server. With a script (a name that ends in .lua),
it prints a link to the playground that carries the script's source. It does not run the script.

With --launch=N it runs the script on the CPU engine, up to its N-th launch. It writes a page with
the picture of that launch, which shows each block's and thread's parts of the tensors, step by
step.

With an expression it writes a page with the picture of a layout and prints the page's name.
EXPRESSION is Lua or a bare layout. Quote it, as in 'zipped_divide("(8,8):(8,1)", "(2,4)")'.

  --launch=N            draw the script's N-th launch, counted from 1
  -o FILE               write this file; the default is a name made from the expression
  --open                open the page, or the link, in a browser
  --notebook            the notebook of layouts instead of the playground
  --playground=PLACE    a folder with the playground, or the URL where it is hosted. The
                        default is CUTTLE_PLAYGROUND, else the place of `make install-playground`

It never overwrites a file that is not one of its own pages.]]

local NAME_LENGTH <const> = 60
local MARK_WITHIN <const> = 512 -- bytes of a page in which its mark stands

local function fail(format, ...)
  error(("view: %s"):format(format:format(...)), 0)
end

-- {====== Arguments ======

local function take_output(options, args, at)
  if args[at + 1] == nil then fail("-o needs the name of a file") end
  options.output = args[at + 1]
  return at + 2
end

local function take_playground(options, args, at)
  local value = args[at]:match "=(.*)$"
  if (value or args[at + 1] or "") == "" then
    fail("--playground needs a folder or a URL, as in --playground=%s", "build/playground")
  end
  options.playground = value or args[at + 1]
  return at + (value and 1 or 2)
end

local function take_launch(options, args, at)
  local value = args[at]:match "=(.*)$"
  options.launch = math.tointeger(tonumber(value or args[at + 1]))
  if not options.launch or options.launch < 1 then
    fail("--launch=%s; the number of a launch was expected, from 1 on", value or args[at + 1])
  end
  return at + (value and 1 or 2)
end

local takers = {
  ["-o"] = take_output,
  ["--open"] = function(options, _, at)
    options.open = true
    return at + 1
  end,
  ["--help"] = function(options, _, at)
    options.help = true
    return at + 1
  end,
  ["--notebook"] = function(options, _, at)
    options.notebook = true
    return at + 1
  end,
  ["--playground"] = take_playground,
  ["--launch"] = take_launch,
}

local names <const> = "open help notebook playground launch device traceback"

local function read_arguments(args)
  local options, at = { rest = {} }, 1
  while at <= #args do
    local arg = args[at]
    local take = not options.is_over and takers[arg:match "^(%-%-[pl]%a+)=" or arg]
    local has_script = options.expression and options.expression:find "%.lua$"
    if take then
      at = take(options, args, at)
    elseif arg == "--" and not options.is_over then
      options.is_over, at = true, at + 1
    elseif has_script then
      if not options.is_over then late.note_late("view", arg, names) end
      options.rest[#options.rest + 1], at = arg, at + 1
    elseif arg:find("^%-%-?%a") and not options.is_over then
      fail("unknown option %s; see cuttle view --help", arg)
    elseif options.expression then
      fail("'%s' is a second expression; quote the whole, as in cuttle view '%s'", arg,
        'zipped_divide("(8,8):(8,1)", "(2,4)")')
    else
      options.expression, at = arg, at + 1
    end
  end
  return options
end

-- {====== The expression ======

-- A message without the place, which is the expression itself.
local function without_place(message)
  return (tostring(message):gsub("^expression:%d+: ", ""))
end

-- Letters of a layout's text are those of swizzles and names of modes; anything else means an
-- expression in Lua.
local function is_bare_layout(text)
  local rest = text:gsub("Sw", ""):gsub("([(,]%s*)[%a_][%w_]*=", "%1")
  return not rest:find("[^%d%s(),:_<>@%-o]")
end

local function evaluate(text)
  local chunk, message = load("return " .. text, "=expression", "t")
  if not chunk and is_bare_layout(text) then
    chunk = function() return L(text) end
  end
  if not chunk then fail("%s: %s", text, without_place(message)) end
  local ok, value = pcall(chunk)
  if not ok then fail("%s", without_place(value)) end
  if value == nil then fail("'%s' is nil; a layout was expected", text) end
  return value
end

-- {====== The file ======

-- "zipped_divide("(8,8):(8,1)", "(2,4)")" -> "zipped_divide_8_8-8_1_2_4.html"
local function name_of(expression)
  local stem = expression:gsub("[^%w:-]+", "_"):gsub("_*[:-]+_*", "-"):sub(1, NAME_LENGTH)
  stem = stem:gsub("^[_-]+", ""):gsub("[_-]+$", "")
  return (stem == "" and "view" or stem) .. ".html"
end

-- Pages of ours may be written anew, other files not.
local function check_free(path)
  local file = io.open(path, "rb")
  if not file then return end
  local head = file:read(MARK_WITHIN)
  file:close()
  if not (head or ""):find(pages.mark, 1, true) then
    fail("%s exists and is not a page of cuttle view; name another file with -o", path)
  end
end

local function deliver(page, path, options)
  check_free(path)
  print(files.deliver(page, path, "view", picture.fail))
  if options.open then browser.open(path, fail) end
end

local function view_expression(options)
  if options.notebook then
    fail("--notebook needs a script, whose name ends in .lua, not an expression")
  end
  local page = drawn.page(evaluate(options.expression), nil, options.expression)
  deliver(page, options.output or name_of(options.expression), options)
end

-- {====== A launch of a script ======

-- The script's launch of that number, on copies of its arguments, which the script does not change
-- any more: it ends there. And how many launches there were.
local function run_until(script, rest, number)
  local n, launch = 0, nil
  local ok, what = run_script.call(function()
    local _ <close> = internal.launch.launches(function(told)
      n = n + 1
      if n == number then
        local args = table.pack(internal.launch.copies(table.unpack(told.args, 1, told.args.n)))
        launch = told.kernel:prepare(told.launch)(table.unpack(args, 1, args.n))
        os.exit(0)
      end
    end)
    script(table.unpack(rest))
  end)
  return launch, n, ok, what
end

local function view_launch(options)
  local path = options.expression
  if not path or not path:find "%.lua$" then fail("--launch=%d is of a script", options.launch) end
  device("cpu")
  local script, why = run_script.load(path, options.rest, true)
  if not script then fail("%s", why) end
  local launch, n, ok, what = run_until(script, options.rest, options.launch)
  if launch then
    local stem = path:match "([^/\\]+)%.lua$"
    deliver(launch_picture.page(launch), options.output or stem .. ".html", options)
    return
  end
  local code, text = run_script.outcome(ok, what)
  if code ~= 0 then run_script.leave(code, text) end
  fail("there is no launch %d; %s made %d", options.launch, path, n)
end

-- {====== The playground ======

local function find_playground(options)
  local at, places = playground.find(options.playground)
  if at then return options.notebook and playground.notebook(at) or at end
  fail("the playground is not installed: no index.html in %s; build it with `make playground` and "
    .. "install it with `make install-playground`, or name its folder with --playground=FOLDER",
    #places > 0 and table.concat(places, ", nor in ") or "a folder beside the program")
end

local function view_playground(options)
  local at = find_playground(options)
  print(at)
  browser.open(at, fail)
end

local function read_script(path)
  local text, why = text_file.read(path)
  if not text then fail("%s", why) end
  if not utf8.len(text) then fail("%s is not UTF-8 text, which links need", path) end
  return text
end

local function view_script(options)
  if options.rest[1] then
    fail("'%s' is an argument of the script, which does not run; write --launch=1 to draw a launch",
      options.rest[1])
  end
  if options.output then
    fail("a script makes no page, but a link, so -o %s has no effect here", options.output)
  end
  local link = playground.link(find_playground(options), read_script(options.expression))
  print(link)
  if options.open then browser.open(link, fail) end
end

-- {====== The command ======

return function(...)
  local options = read_arguments { ... }
  if options.help then
    print(USAGE)
    return
  end
  local view = options.launch and view_launch or not options.expression and view_playground
    or options.expression:find "%.lua$" and view_script or view_expression
  if view == view_playground and options.output then
    fail("an expression was expected; see cuttle view --help")
  end
  view(options)
end
