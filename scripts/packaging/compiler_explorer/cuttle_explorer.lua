#!/usr/bin/env cuttle
-- cuttle_explorer.lua: what Compiler Explorer starts; lua.local.properties tells it how. It runs a
-- script in the sandbox of `cuttle mcp`, in a process of its own with limits, and writes the PTX or
-- the CUDA C of the kernels that the script launches. Then it checks the script. Errors and
-- findings go to standard error as FILE:LINE: error: or warning: and the message. The exit code is
-- 1 if the script fails, else 0.
local json = require "cuttle.json"
local program = arg[-1]

local USAGE <const> = [[
usage: cuttle_explorer.lua [options] -o FILE script.lua

  -o FILE               write to FILE
  --form=ptx            write PTX, which needs NVRTC, or, with cuda, CUDA C
  --sm=90a              for this compute capability times 10
  --no-check            do not look for races, deadlocks and wrong indices
  --version, --help
  -ptx, -lineinfo, -g, -S    mean nothing here]]

local SECONDS <const>, MIB <const> = 5, 1024 -- of processor time, of memory

local function leave(...)
  io.stderr:write(table.concat({ ... }, "\n"), "\n")
  os.exit(1)
end

-- {====== Arguments ======

local ignored <const> = { ["-ptx"] = true, ["-lineinfo"] = true, ["-g"] = true, ["-S"] = true,
                          ["--check"] = true }

local function option_of(options, text)
  local name, value = text:match "^%-%-(%l+)=(.*)$"
  if name == "form" and (value == "ptx" or value == "cuda") then
    options.form = value
  elseif name == "sm" and value:find "^%d+[af]?$" then
    options.sm = value
  elseif text == "--no-check" then
    options.check = false
  elseif not ignored[text] then
    leave("cuttle: error: unknown option " .. text, USAGE)
  end
end

local function read_arguments(list)
  local options, at = { form = "ptx", sm = "90a", check = true }, 1
  while list[at] do
    if list[at] == "-o" then
      at = at + 1
      options.output = list[at]
    elseif list[at]:sub(1, 1) == "-" then
      option_of(options, list[at])
    else
      options.script = list[at]
    end
    at = at + 1
  end
  if not (options.output and options.script) then leave(USAGE) end
  return options
end

-- {====== The process of a tool ======

local function quote(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

local function read(path)
  local file <close>, why = io.open(path, "rb")
  if not file then leave("cuttle: error: " .. why) end
  return file:read "a"
end

local function write(path, text)
  local file <close>, why = io.open(path, "wb")
  if not file then leave("cuttle: error: " .. why) end
  file:write(text)
end

local function output_of(command)
  local pipe <close> = assert(io.popen(command))
  return pipe:read "a"
end

-- The answer of a tool (mcp_answer.lua), its output, and what it wrote to standard error: what a
-- script prints, if code is emitted. The request is the process's input, and the answer comes on
-- descriptor 3.
local function ask(folder, tool, script, text, flags)
  local arguments = { script = text, name = script }
  write(folder .. "/request", json.encode { tool = tool, arguments = arguments })
  local printed = output_of(("cd %s && ulimit -t %d && %s --sandbox=%d %s <request 3>answer 2>said")
    :format(quote(folder), SECONDS, quote(program), MIB, flags))
  local answer, said = json.decode(read(folder .. "/answer")), read(folder .. "/said")
  if not answer then
    return { data = { error = { message = ("the script was stopped; it may take %d s and %d MiB\n")
      :format(SECONDS, MIB) .. said } } }
  end
  return answer, printed, said
end

-- {====== The whole ======

local function line_of(script, kind, fault)
  return ("%s:%d: %s: %s"):format(fault.file or script, fault.line or 1, kind, fault.message)
end

local function refuse(answer, script)
  local fault = answer.data and answer.data.error
  if fault then leave(line_of(script, "error", fault)) end
  if answer.is_error then leave("cuttle: error: " .. answer.text) end
end

-- Writes what is asked for, and returns the lines of the findings.
local function compile(options, folder)
  local text, script = read(options.script), options.script
  local is_ptx = options.form == "ptx"
  local flags = ("--answer=emit --sm=%s%s"):format(options.sm, is_ptx and " '--ptx=*.ptx'" or "")
  local answer, printed, said = ask(folder, "emit", script, text, flags)
  refuse(answer, script)
  io.stderr:write(said)
  local code = is_ptx and output_of(("cat %s/*.ptx 2>/dev/null"):format(quote(folder))) or printed
  write(options.output, code ~= "" and code or "// the script launches no kernel\n")
  local lines = {}
  if options.check then
    answer = ask(folder, "check", script, text, "--answer=run")
    refuse(answer, script)
    for i, f in ipairs(answer.data.findings) do lines[i] = line_of(script, "warning", f) end
  end
  return lines
end

local function main(...)
  local first = ...
  if first == "--help" then
    print(USAGE)
    return
  elseif first == "--version" then
    io.write(output_of(quote(program) .. " --version"))
    return
  end
  local options = read_arguments { ... }
  local folder = output_of("mktemp -d"):match "[^\n]+"
  local exit = os.exit
  os.exit = function(code) -- luacheck: ignore 122
    output_of("rm -r " .. quote(folder))
    exit(code)
  end
  for _, line in ipairs(compile(options, folder)) do io.stderr:write(line, "\n") end
  os.exit(0)
end

main(...)
