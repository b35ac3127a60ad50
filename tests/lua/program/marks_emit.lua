-- Kernels with marks compile for each architecture: marks under conditions, in loops and helpers, in
-- blocks of three dimensions, around waits and at lines; in the roles of hopper_gemm.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local path <const> = shell.file [==[
local marks = require "cuttle.marks"
local k = kernel("places", function(x, n)
  mark("begin")
  local function help(i) if i > 3 then mark("deep") end end
  local s = shared(f32, 64)
  for i in range(n) do
    help(i)
    s[threadIdx.x] = x[threadIdx.x]
    sync_threads()
    if threadIdx.x == 5 then mark("lane") end
    while x[i] > 3.0 do
      mark("turn")
      x[i] = x[i] - 1.0
    end
    if x[i] < 0.0 then return end
    sync_threads()
  end
  x[threadIdx.x] = s[63 - threadIdx.x]
  mark("end")
end)
local x = zeros(f32, 64)
local how = {waits = true, lines = {6, 8, 17}}
marks.with(how, nil, function() k{grid = 1, block = {32, 2, 1}}(x, 4) end)
if arg[1] then
  arg = {[0] = arg[1]}
  marks.with(how, nil, function() dofile(arg[0]) end)
end
]==]
local function count(sm, more)
  local text, code = shell.cuttle("emit --sm=%s --compile %s %s", sm, path, more or "")
  local _, n = text:gsub("\n *mark_record", "")
  return code == 0 and n or text
end
local text = count "75"
if tostring(text):find("cannot load", 1, true) then
  tap.skip_all "no NVRTC on this machine"
else
  print(text, count "80", count("90a", "examples/hopper_gemm.lua"))
  -- expect: 11	11	27
end
os.remove(path)
