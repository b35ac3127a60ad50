-- command_view.lua: `cuttle view [-o FILE] [--open] EXPRESSION`: writes the page with the picture
-- of what the expression is worth, and prints the page's name.
local ct = require "cuttle"
local files = require "cuttle.picture_page"
local html = require "cuttle.html"
local pages = require "cuttle.page_file"
local picture = require "cuttle.picture"

local USAGE <const> = "usage: cuttle view [-o FILE] [--open] EXPRESSION\n"
  .. "\n"
  .. "Writes a page with the picture of a layout and prints the page's name. EXPRESSION is Lua or\n"
  .. "a bare layout. Quote it, as in 'zipped_divide(\"(8,8):(8,1)\", \"(2,4)\")'.\n"
  .. "\n"
  .. "  -o FILE               write this file; the default is a name made from the expression\n"
  .. "  --open                open the page in a browser\n"
  .. "\n"
  .. "It never overwrites a file that is not such a page."

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
}

local function read_arguments(args)
  local options, at = {}, 1
  while at <= #args do
    local arg = args[at]
    if takers[arg] then
      at = takers[arg](options, args, at)
    elseif arg:find("^%-%-?%a") then
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
    chunk = function() return ct.L(text) end
  end
  if not chunk then fail("%s: %s", text, without_place(message)) end
  local ok, value = pcall(chunk)
  if not ok then fail("%s", without_place(value)) end
  if value == nil then fail("'%s' is worth nil; a layout was expected", text) end
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

-- {====== The browser ======

local function quote(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

local openers = { "xdg-open", "open" }

local function open_browser(path)
  local target = path:find("^/") and path or "./" .. path -- never taken for an option
  for _, opener in ipairs(openers) do
    if os.execute(("command -v %s >/dev/null 2>&1"):format(opener)) then
      os.execute(("%s %s </dev/null >/dev/null 2>&1 &"):format(opener, quote(target)))
      return
    end
  end
  fail("no %s here; open %s in a browser by hand", table.concat(openers, ", no "), path)
end

-- {====== The command ======

return function(...)
  local options = read_arguments { ... }
  if options.help then
    print(USAGE)
    return
  end
  if not options.expression then
    fail("an expression was expected; see cuttle view --help")
  end
  local page = html.page(evaluate(options.expression), nil, options.expression)
  local path = options.output or name_of(options.expression)
  check_free(path)
  print(files.deliver(page, path, "view", picture.fail))
  if options.open then open_browser(path) end
end
