-- gen_commands.lua: the manual page and the completions of shells, made of what the program says of
-- itself.
--   lua scripts/gen_commands.lua PROGRAM man|bash|zsh|fish VERSION > FILE
-- The one source is `cuttle --help` and `cuttle COMMAND --help`. A text has usage lines,
-- paragraphs, and rows: two spaces, a word with its operand, and from column 24 on what it does.
local program, form, version = ...

local function read_help(command)
  local pipe = assert(io.popen(("%s %s --help"):format(program, command)))
  local text = pipe:read "a"
  assert(pipe:close(), "gen_commands: " .. command .. " --help failed")
  return text
end

-- {====== Reading a text ======

-- {usage = {line}, blocks = {{kind = "text"|"rows"|"code", ...}}}
local function parse(text)
  local page, block = { usage = {}, blocks = {} }, nil
  local function begin(kind)
    if not block or block.kind ~= kind then
      block = { kind = kind }
      page.blocks[#page.blocks + 1] = block
    end
    return block
  end
  for line in text:gmatch "([^\n]*)\n" do
    local word, does = line:match "^  (%S.-)%s%s+(%S.*)$"
    local more = line:match("^" .. (" "):rep(20) .. "%s*(%S.*)$")
    if #page.blocks == 0 and (line:find "^usage: " or line:find "^       cuttle") then
      page.usage[#page.usage + 1] = line:sub(8)
    elseif line == "" then
      block = nil
    elseif word then
      table.insert(begin "rows", { word = word, does = does })
    elseif more and block and block.kind == "rows" then
      local row = block[#block]
      row.does = row.does .. " " .. more
    elseif line:find "^ " then
      table.insert(begin "code", line)
    else
      table.insert(begin "text", line)
    end
  end
  return page
end

local function rows_of(page, pattern)
  local rows = {}
  for _, block in ipairs(page.blocks) do
    for _, row in ipairs(block.kind == "rows" and block or {}) do
      if row.word:find(pattern) then rows[#rows + 1] = row end
    end
  end
  return rows
end

local main = parse(read_help "")
local commands = {} -- {name, summary, page}
for _, row in ipairs(rows_of(main, "^%l")) do
  local name = row.word:match "^%l+"
  if not row.word:find "^script" then
    commands[#commands + 1] = { name = name, summary = row.does,
      page = name ~= "help" and parse(read_help(name)) or nil }
  end
end
assert(#commands > 5, "gen_commands: the program's help lists no commands")

-- The options of a page: {name = "--sm", takes = true, does =}; "--version, --help" are two.
local function options_of(page)
  local options, known = {}, {}
  for _, row in ipairs(page and rows_of(page, "^%-") or {}) do
    for name, rest in row.word:gmatch "(%-%-?[%w-]*%w)([^,]*)" do
      if not known[name] then
        known[name] = true
        options[#options + 1] = { name = name, takes = rest:find "^[= ]%u" ~= nil, does = row.does }
      end
    end
  end
  return options
end

-- {====== The manual page ======

local function roff(text)
  text = text:gsub("\\", "\\e"):gsub("%-", "\\-"):gsub("`([^`]*)`", "\\fB%1\\fP")
  return (text:gsub("^([.'])", "\\&%1"))
end

local out = {}
local function put(format, ...) out[#out + 1] = format:format(...) end

local function put_blocks(page)
  for _, block in ipairs(page.blocks) do
    if block.kind == "rows" then
      for _, row in ipairs(block) do put(".TP\n\\fB%s\\fP\n%s", roff(row.word), roff(row.does)) end
    elseif block.kind == "code" then
      put ".PP\n.nf"
      for _, line in ipairs(block) do put("%s", roff(line)) end
      put ".fi"
    else
      put(".PP\n%s", roff(table.concat(block, " ")))
    end
  end
end

local function put_usage(page)
  for _, line in ipairs(page.usage) do put(".PP\n\\fB%s\\fP", roff(line)) end
end

local function man()
  put('.\\" Made by scripts/gen_commands.lua of the texts of --help.')
  put('.TH CUTTLE 1 "" "Cuttle %s" "User Commands"', version)
  put ".SH NAME\ncuttle \\- GPU kernels described in Lua"
  put ".SH SYNOPSIS"
  put_usage(main)
  put ".SH DESCRIPTION"
  put_blocks(main)
  put ".SH COMMANDS"
  for _, c in ipairs(commands) do
    put(".SS cuttle %s", c.name)
    if c.page then
      put_usage(c.page)
      put_blocks(c.page)
    else
      put(".PP\n%s.", roff((c.summary:gsub("^%l", string.upper))))
    end
  end
  put ".SH EXIT STATUS\n.PP\n0 if all went well, 1 if the script or the command failed."
  put "The commands above say where they differ."
  put ".SH SEE ALSO\n.PP\n\\fBlua\\fP(1). The documents are in share/doc/cuttle;"
  put "\\fBcuttle help\\fP \\fINAME\\fP explains a name of the language."
end

-- {====== Completions ======

local function names_of(list)
  local names = {}
  for i, x in ipairs(list) do
    names[i] = x.name .. (x.takes and x.name:find "^%-%-" and "=" or "")
  end
  return table.concat(names, " ")
end

-- What fits a line of a list: up to the first part of a sentence.
local function first_words(text)
  text = text:gsub("^%l+: ", "") -- the command that an option is for
  return (text:gsub("[;:] .*", ""):gsub(" %(.*", ""))
end

local function bash()
  put("# Made by scripts/gen_commands.lua of the texts of --help.")
  put [[
_cuttle() {
  local cur=${COMP_WORDS[COMP_CWORD]} command="" options i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${COMP_WORDS[i]} in
      -*) ;;
      *) command=${COMP_WORDS[i]} && break ;;
    esac
  done
  case $command in]]
  for _, c in ipairs(commands) do
    if c.page then put('    %s) options="%s" ;;', c.name, names_of(options_of(c.page))) end
  end
  put('    "") options="%s" ;;', names_of(options_of(main)))
  put [[
    *) options="" ;;
  esac
  case $cur in
    -*) COMPREPLY=($(compgen -W "$options" -- "$cur")) ;;
    *)]]
  put('      [ -n "$command" ] || COMPREPLY=($(compgen -W "%s" -- "$cur"))', names_of(commands))
  put [[
      COMPREPLY+=($(compgen -f -X '!*.lua' -- "$cur") $(compgen -d -S / -- "$cur"))
      ;;
  esac
  case ${COMPREPLY[*]} in
    *= | */) compopt -o nospace ;;
  esac
}
complete -o filenames -F _cuttle cuttle]]
end

local function zsh_text(text)
  return (first_words(text):gsub("[%[%]:\\]", "\\%0"):gsub("'", "'\\''"))
end

local function zsh()
  put "#compdef cuttle\n# Made by scripts/gen_commands.lua of the texts of --help."
  put "_cuttle() {\n  local -a commands options\n  local command=${words[(r)[a-z]##]}\n  commands=("
  for _, c in ipairs(commands) do put("    '%s:%s'", c.name, zsh_text(c.summary)) end
  put "  )\n  case ${command:-} in"
  local function case(name, page)
    put("    %s) options=(", name)
    for _, o in ipairs(options_of(page)) do
      local is_long = o.name:find "^%-%-"
      put("      '%s%s[%s]%s'", o.name, o.takes and is_long and "=" or "", zsh_text(o.does),
        o.takes and ":value: " or "")
    end
    put "    ) ;;"
  end
  for _, c in ipairs(commands) do
    if c.page then case(c.name, c.page) end
  end
  case("*", main)
  put [[
  esac
  if (( CURRENT == 2 )); then
    _describe command commands
  fi
  _arguments $options '*:script:_files -g "*.lua"'
}
_cuttle "$@"]]
end

local function quote(text) return "'" .. text:gsub("\\", "\\\\"):gsub("'", "\\'") .. "'" end

local function fish_option(condition, o)
  local flag = o.name:find "^%-%-" and "-l " .. o.name:sub(3) or "-s " .. o.name:sub(2)
  put("complete -c cuttle -n %s %s%s -d %s", quote(condition), flag, o.takes and " -x" or "",
    quote(first_words(o.does)))
end

local function fish()
  put "# Made by scripts/gen_commands.lua of the texts of --help."
  put("complete -c cuttle -f -a '(__fish_complete_suffix .lua)'")
  for _, c in ipairs(commands) do
    put("complete -c cuttle -n __fish_use_subcommand -f -a %s -d %s", c.name,
      quote(first_words(c.summary)))
  end
  for _, o in ipairs(options_of(main)) do fish_option("__fish_use_subcommand", o) end
  for _, c in ipairs(commands) do
    for _, o in ipairs(options_of(c.page)) do
      fish_option("__fish_seen_subcommand_from " .. c.name, o)
    end
  end
end

local forms = { man = man, bash = bash, zsh = zsh, fish = fish }
assert(forms[form], "gen_commands: man, bash, zsh or fish was expected")()
io.write(table.concat(out, "\n"), "\n")
