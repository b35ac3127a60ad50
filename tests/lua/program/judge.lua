-- `cuttle judge` and judge(): verdicts, what is printed, JSON, exit codes, refusals.
local cuttle = arg[-1]
local tap = dofile "tests/support/tap.lua"
local folder = dofile "tests/support/folder.lua"
cuttle = folder.absolute(cuttle)

-- What the command prints and its exit code.
local function run(candidate, reference, options)
  return folder.run(("CUTTLE_DEVICE=cpu '%s' judge %s --reference=%s %s </dev/null"):format(cuttle,
    candidate, reference, options or ""))
end

-- A report as a table: its JSON has no null, and no text with brackets or colons.
local function decoded(text)
  local chunk = load("return " .. text:gsub('"([%w_]+)":', "%1="):gsub("%[", "{"):gsub("%]", "}"))
  return chunk and chunk() or {}
end

local reference = [[
return {
  name = "twice", sizes = {N = {1, 300}}, time = {N = 65536},
  inputs = {{"x", f32, "N"}}, outputs = {{"y", f32, "N"}},
  reference = function(x, y) for i = 0, size(x) - 1 do y[i] = 2 * x[i] end end,
}
]]
local right = [[
local k = kernel("twice", function(x, y)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  if i < size(x) then y[i] = 2 * x[i] end
end)
return function(x, y) k{grid = cdiv(size(x), 128), block = 128}(x, y) end
]]
folder.write("ref.lua", reference)
folder.write("right.lua", right)

local out, code = run("right.lua", "ref.lua", "--seed=5")
tap.ok(code == 0 and out:find "^twice: pass\n" and out:find "\ncorrect +yes  6 of 6 cases\n"
  and out:find "\npredicted +yes +[%d.]+ ms on H100 at N=65536: twice [%d.]+ ms, limited by "
  and out:find "\nmeasured +%- +no GPU is in use\n" and out:find "\ndrawn from seed 5; ",
  "a right candidate passes", out)

out, code = run("right.lua", "ref.lua", "--seed=5 --json --no-compile --time=cpu --cases=3")
local report = decoded(out)
tap.ok(code == 0 and report.ok and report.verdict == "pass" and report.correct.cases == 3
  and report.predicted.ms > 0 and report.predicted.score <= 1 and report.measured.device == "cpu"
  and report.measured.ms > 0 and report.fits.launches[1].kernel == "twice", "JSON", out)

local function verdict(name, text, want, pattern, options)
  folder.write("it.lua", text)
  local got, exit = run("it.lua", "ref.lua", "--no-predict --seed=5 " .. (options or ""))
  tap.ok(exit == 1 and got:find("^twice: " .. want .. ": ") and got:find(pattern), name, got)
end

local function edited(from, to)
  local at, last = right:find(from, 1, true)
  assert(at, from)
  return right:sub(1, at - 1) .. to .. right:sub(last + 1)
end

verdict("a wrong value", edited("2 * x[i]", "2 * x[i] + 0.01"), "wrong", "y%[0%] is ")
verdict("an access outside", edited("if i < size(x) then y[i] = 2 * x[i] end", "y[i] = 2 * x[i]"),
  "out_of_bounds", "it.lua:3: out of bounds: read of x at ")
verdict("a race", edited("y[i] = 2", "y[0] = x[0] y[i] = 2"), "unclean",
  "line 3: race: write of y ")
verdict("an output that is not written", edited("i < size(x)", "i < size(x) - 1"), "wrong",
  "y%[0%] was not written, and should be ")
verdict("a result in f16", edited("2 * x[i]", "f32(cast(2 * x[i], f16))"), "wrong", " is ")
verdict("a file that does not load", "return function(", "invalid", "it.lua:1: .* expected near ")
verdict("a file without a function", "x = 1", "invalid", "must return a function")
verdict("a kernel in place of a function", "return kernel('k', function() end)", "invalid",
  "returned an object; end it with return function%(x, y%) ")
verdict("a function that computes", "return function(x, y) y[0] = x[0] end", "invalid",
  "the candidate's function sees no data: compute in the kernels")
verdict("a function that launches nothing", "return function() end", "invalid", "launched nothing")
verdict("an operator", "return function(x, y) matmul(x, x, y) end", "invalid",
  "a candidate may call matmul only if its reference has allow = {\"matmul\"}")
verdict("an input that is written", edited("y[i] = 2 * x[i]", "y[i] = 2 * x[i] x[i] = 0"),
  "out_of_bounds", "the input x was written")
verdict("an endless loop", "while true do end", "time", "longer than a call may", "--seconds=1")
verdict("too much memory", "return function(x, y) zeros(f32, 1 << 28) end", "memory",
  "wants more memory than it may have")

-- 80,000 bytes of shared memory.
folder.write("large.lua", edited("local i =",
  "local s = shared(f32, 20000) s[threadIdx.x] = 0.0 local i ="))
out, code = run("large.lua", "ref.lua", "--seed=5 --no-compile")
tap.ok(code == 0 and out:find "\nfits +yes +H100, with registers not known\n",
  "a kernel fits a device", out)
out, code = run("large.lua", "ref.lua", "--seed=5 --no-compile --on=T4")
tap.ok(code == 1 and out:find "^twice: does_not_fit: twice: shared: [^\n]+ 80000 bytes, ",
  "it does not fit a smaller one", out)

local function refused(name, options, reference_text, pattern)
  folder.write("other.lua", reference_text or reference)
  local got, exit = run("right.lua", "other.lua", options)
  tap.ok(exit == 2 and got:find(pattern), name, got)
end

refused("a device", "--on=nothing", nil, "^judge: %-%-on=nothing is not a known device; ")
refused("a number", "--cases=0", nil, "^judge: %-%-cases=0: expected a whole number from 1 on\n")
refused("a reference without inputs", "", "return {reference = print}",
  "^judge: the reference has no inputs; ")
refused("a reference that fails", "",
  reference:gsub("y%[i%] = 2", "y[i] = nil .. 2"), "^judge: the reference fails: ")
refused("a field", "", reference:gsub("time =", "tyme ="),
  "^judge: the reference's field 'tyme' is unknown; did you mean 'time'")
refused("a size", "", reference:gsub('"N"}}, outputs', '"N+K"}}, outputs'),
  "^judge: x: 'N%+K' is no number of the sizes N=")

folder.remove()
tap.done()
