-- Where the compiler makes one access of neighbours, the counts are those of its accesses: how wide
-- they are is read from the cubin, line by line. Needs NVRTC; without it both figures are told.
local shell = dofile "tests/support/shell.lua"
device("cpu")
local has_nvrtc = profile(kernel("k", function(x) x[threadIdx.x] = 1.0 end)
  :prepare{grid = 1, block = 32}(zeros(f32, 32))).kernels[1].registers ~= nil

-- "line of the kernel op tensor requests: wavefronts or sectors", with the width of merged ones.
local function rows(result)
  local out = {}
  for _, line in ipairs(result.kernels[1].lines) do
    for _, a in ipairs(line.accesses) do
      out[#out + 1] = ("%d %s %s %d: %d%s"):format(line.line - result.kernels[1].line, a.op,
        a.tensor, a.requests, a.wavefronts or a.sectors,
        a.merged_bits and " by " .. a.merged_bits or "")
    end
  end
  return table.concat(out, ", ")
end

local function check(name, launch, merged, asked)
  local result = profile(launch)
  local got, want = rows(result), has_nvrtc and merged or asked
  local counted = has_nvrtc and "machine code" or "CUDA C"
  print(name, got == want or got, result.kernels[1].counted == counted)
end

-- Four neighbours of a thread: one request without conflicts, not four of 4 wavefronts.
local four = kernel("four", function(x, y)
  local s = shared(f32, layout("(32,4):(4,1)"))
  local t = threadIdx.x
  for j = 0, 3 do s[{t, j}] = x[t + 32 * j] end
  sync_threads()
  y[t] = s[{t, 0}] + s[{t, 1}] + s[{t, 2}] + s[{t, 3}]
end)
local x, y = rand(f32, 128), zeros(f32, 128)
check("four", four:prepare{grid = 1, block = 32}(x, y),
  "3 load x 4: 16, 3 store s 1: 4 by 128, 5 load s 1: 4 by 128, 5 store y 1: 4",
  "3 load x 4: 16, 3 store s 4: 16, 5 load s 4: 16, 5 store y 1: 4")
-- expect: four	true	true

-- Two tensors in a line, of which only one has neighbours: a row, and a column.
local k = kernel("row_times_column", function(m, out)
  local s = shared(f32, row_major{16, 16})
  local i, j = threadIdx.x, threadIdx.y
  s[{j, i}] = m[{j, i}]
  sync_threads()
  local p = 0.0
  for n = 0, 15 do p = p + s[{j, n}] * s[{n, i}] end
  out[{j, i}] = p
end)
local m, out = zeros(f32, row_major{16, 16}), zeros(f32, row_major{16, 16})
check("row_times_column", k:prepare{grid = 1, block = {16, 16}}(m, out),
  "3 load m 8: 32, 3 store s 8: 8, 6 load s 32: 64 by 128, 6 load s 128: 128, 7 store out 8: 32",
  "3 load m 8: 32, 3 store s 8: 8, 6 load s 256: 256, 7 store out 8: 32")
-- expect: row_times_column	true	true

-- Neighbours in several lines, and one that is read twice: a compiler reads it once.
local lines = kernel("lines", function(a, b)
  local s = shared(f32, 128)
  local t = threadIdx.x
  s[t] = a[t]
  sync_threads()
  local p = s[2 * t] * 2.0
  local q = s[2 * t + 1] * 3.0
  b[t] = p + q + s[2 * t]
end)
local result = profile(lines:prepare{grid = 1, block = 64}(x, y)).kernels[1]
local t = result.totals
print(t.shared_load_requests == (has_nvrtc and 2 or 6),
  t.shared_load_wavefronts == (has_nvrtc and 4 or 12)) -- expect: true	true

-- A barrier between neighbours: two accesses.
local parted = kernel("parted", function(b)
  local s = shared(f32, 128)
  local t = threadIdx.x
  s[t], s[t + 64] = 1.0, 2.0
  sync_threads()
  local p = s[2 * t]
  sync_threads()
  b[t] = p + s[2 * t + 1]
end)
result = profile(parted:prepare{grid = 1, block = 64}(y)).kernels[1]
print(result.totals.shared_load_requests) -- expect: 4

-- The tutorials, as Nsight Compute counted them: 1,572,864 wavefronts of shared loads for 512, which
-- is 64 times 128; and two-way conflicts where K is contiguous.
local function totals_of(script, ...)
  local p = profile(function(...) loadfile(script)(...) end, ...)
  return p.kernels
end
local leave = os.exit
os.exit = function() end -- luacheck: ignore 122
local say = print
print = function() end -- luacheck: ignore 121
local program = arg[-1]
arg = { "128", [0] = "sgemm" } -- luacheck: ignore 111
local kernels = totals_of "examples/sgemm_2d_blocktiling.lua"
local sgemm = kernels[1]
arg = { "128", "128", "64" } -- luacheck: ignore 111
local tn = totals_of("examples/sgemm_1.lua")[2]
print, os.exit = say, leave -- luacheck: ignore 121 122
local waves_of_512 = 64 * sgemm.totals.shared_load_wavefronts // sgemm.launches
print(waves_of_512 == (has_nvrtc and 1572864 or 3145728))
-- expect: true
for _, line in ipairs(tn.lines) do
  for _, a in ipairs(line.accesses) do
    if a.op == "load" and a.tensor == "sA" then print(a.degree == (has_nvrtc and 2 or 4)) end
  end
end
-- expect: true

-- The roofline and the prediction are of the same counts.
local r = sgemm.roofline
local waves = sgemm.totals.shared_load_wavefronts + sgemm.totals.shared_store_wavefronts
print(math.abs(r.shared_ms - waves / sgemm.launches / (132 * 1.98e9) * 1e3) < 1e-9) -- expect: true

-- Without a compiler, both figures.
local path = shell.file [[
local four = kernel("four", function(x, y)
  local s = shared(f32, layout("(32,4):(4,1)"))
  local t = threadIdx.x
  for j = 0, 3 do s[{t, j}] = x[t + 32 * j] end
  sync_threads()
  y[t] = s[{t, 0}] + s[{t, 1}] + s[{t, 2}] + s[{t, 3}]
end)
local p = profile(four:prepare{grid = 1, block = 32}(rand(f32, 128), zeros(f32, 128)))
for _, line in ipairs(p.kernels[1].lines) do
  for _, a in ipairs(line.accesses) do
    local w = a.widest
    if w then print(line.line, a.requests, a.wavefronts, w.requests, w.wavefronts) end
  end
end
local text = tostring(p):gsub("%s+", " ")
local both = "4 requests and 16 wavefronts as written, but 1 request and 4 wavefronts if"
print(text:find(both, 1, true) ~= nil, text:find("accesses are those of the CUDA C", 1, true) ~= nil)
]]
local environment = "CUTTLE_DEVICE=cpu CUTTLE_CACHE=off CUTTLE_NVRTC=/nowhere"
local pipe = assert(io.popen(("%s '%s' '%s' 2>&1"):format(environment, program, path)))
io.write(pipe:read "a")
pipe:close()
os.remove(path)
-- expect: 4	4	16	1	4
-- expect: 6	4	16	1	4
-- expect: true	true
