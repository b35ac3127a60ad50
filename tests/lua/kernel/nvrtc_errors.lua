-- What NVRTC says of a kernel, as an error of the script: k{...}:ptx(...) compiles without a GPU.
local x = zeros(f32, 64)
local tap = dofile "tests/support/tap.lua"

local function report(ok, name, got, want)
  tap.ok(ok, name, ("got: %s\nexpected: %s"):format(got, want))
end

-- The message, without "(NVRTC 13.0, sm_90a)" at its end, and its line: so many lines into the
-- kernel, or that of the call.
local function fails(name, offset, text, f, options)
  local config = kernel("escape", f, options){grid = 1, block = 32}
  local line = offset and debug.getinfo(f, "S").linedefined + offset
    or debug.getinfo(1, "l").currentline + 1
  local ok, message = pcall(config.ptx, config, x)
  local want = ("%s:%d: %s"):format(debug.getinfo(1, "S").short_src, line, text)
  message = ok and "no error" or message:gsub(" %([^()]*NVRTC %d+%.%d+, sm_%w+%)$", "")
  report(message == want, name, message, want)
end

local plain = kernel("plain", function(t) t[threadIdx.x] = 1.0 end){grid = 1, block = 32}
local ok, ptx = pcall(plain.ptx, plain, x)
if not ok and ptx:find("cannot load", 1, true) then
  tap.skip_all "no NVRTC on this machine"
end
report(ok and ptx:find(".entry plain", 1, true), "a kernel compiles", ptx, ".entry plain")

fails("a syntax error in an escape", 2, "nvrtc: kernel 'escape': expected an expression",
  function(t)
    t[0] = 1.0
    cuda[[ int i = ; ]]
  end)
fails("a text that begins on the next line", 4, "nvrtc: kernel 'escape': expected an expression",
  function(t)
    t[0] = 1.0
    cuda[[
      int i = 1;
      int k = ;
      t[0] = i + k;
    ]]
  end)
fails("an unknown name in an expression", 2,
  "nvrtc: kernel 'escape': identifier \"undefined\" is undefined",
  function(t)
    t[0] = 1.0
    t[1] = cuda("undefined + $v", {v = t[0]}, f32)
  end)
local function helper(v) return cuda("sqrtt($v)", {v = v}, f32) end
fails("an escape in a helper", -2, "nvrtc: kernel 'escape': identifier \"sqrtt\" is undefined",
  function(t) t[0] = helper(t[1]) end)
fails("the first of several errors", 1,
  "nvrtc: kernel 'escape': identifier \"first\" is undefined",
  function(t)
    cuda[[ first; ]]
    cuda[[ second; ]]
  end)
fails("a brace that nothing closes", nil,
  "nvrtc: kernel 'escape': at the end of the CUDA C: expected a \"}\"",
  function(t) cuda[[ if (threadIdx.x == 0) { ]] end)
fails("an operand that is missing", 0,
  "cuda: '$v' has no operand of that name; give it one, or write $$ for a $",
  function(t) t[0] = cuda("$v + 1", {w = t[1]}, f32) end)

-- NVRTC's options: an unknown one, and one that does something.
fails("an unknown option", nil, "nvrtc: kernel 'escape': unrecognized option --no-such found",
  function(t) t[0] = 1.0 end, {nvrtc_options = {"--no-such"}})
local defined = kernel("defined", function(t)
  t[0] = cuda("VALUE", {}, i32)
end, {nvrtc_options = {"-DVALUE=123456"}}){grid = 1, block = 32}
ok, ptx = pcall(defined.ptx, defined, zeros(i32, 1))
report(ok and ptx:find("123456", 1, true), "an option of the kernel", ptx, "123456")

-- A text that is its own name: its quotes must not reach the assembler.
local text = kernel("text", load "local t = ... t[threadIdx.x] = cuda('oops', {}, f32)")
local launch = text{grid = 1, block = 32}
ok, ptx = pcall(launch.ptx, launch, x)
report(not ok and ptx:find("[string 'local t = ... t[threadIdx.x] = cuda('oops', {...']:1: nvrtc: "
  .. "kernel 'text': identifier \"oops\" is undefined", 1, true), "an escape in a text", ptx,
  "identifier \"oops\" is undefined")
text = kernel("text", load "local t = ... t[threadIdx.x] = 1.0")
launch = text{grid = 1, block = 32}
ok, ptx = pcall(launch.ptx, launch, x)
report(ok and not ptx:find('%.file[^\n]*"[^\n]*"[^\n]*"'), "a text compiles", ptx, "one name")

tap.done()
