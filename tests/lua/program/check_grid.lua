-- `check` for a device finds cooperative grids that the device cannot hold. Without NVRTC the
-- registers of a kernel are not known: then only threads and shared memory limit, and it is told.
local check = require "cuttle.check"
local tap = dofile "tests/support/tap.lua"
device("cpu")

-- What is found for the device is `wanted`, in order, each a text that its line begins with.
local function expect(name, device_name, f, wanted)
  local findings, launches, ok, why = check.run(f, { device = device_name, global = false })
  local same = ok and #findings == #wanted
  for i, want in ipairs(same and wanted or {}) do
    local line = check.line(findings[i]):gsub("^.-check_grid.lua:", "")
    same = same and findings[i].kind == "cooperative_grid" and line:sub(1, #want) == want
  end
  tap.ok(same, name, tostring(why), check.report(findings, launches))
  return findings, launches
end

local steps = kernel("steps", function(x)
  local s = shared(f32, 1024)
  s[threadIdx.x] = 1.0
  sync_grid()
  if blockIdx.x == 0 then x[threadIdx.x] = s[threadIdx.x] end
end)
local x = zeros(f32, 1024)
local function of(config)
  return function() steps(config)(x) end
end

-- H100: 132 multiprocessors of 64 warps, 32 blocks and 228 KiB; a block takes 1 KiB more.
local most = "H100 runs at most %d at once: %d on each of 132 multiprocessors, limited by %s"
local function too_large(line, blocks, at_once, each, by)
  return ("%d: cooperative grid: %d blocks of kernel 'steps', but "):format(line, blocks)
    .. most:format(at_once, each, by)
end

expect("a grid that just fits", "H100", of{ grid = 1056, block = 256, cooperative = true }, {})
expect("one block more", "H100", of{ grid = { 7, 151 }, block = 256, cooperative = true },
  { too_large(27, 1057, 1056, 8, "256 threads a block") })
expect("no cooperative launch", "H100", function()
  kernel("plain", function(y) y[threadIdx.x] = 1.0 * blockIdx.x end){ grid = 3000, block = 256 }(x)
end, {})
expect("without a device", nil, of{ grid = 1057, block = 256, cooperative = true }, {})
expect("shared memory of the launch", "H100",
  of{ grid = 265, block = 64, smem = 100 * 1024, cooperative = true },
  { too_large(27, 265, 264, 2, "106496 bytes of shared memory a block") })
expect("blocks of a multiprocessor", "T4", of{ grid = 641, block = 32, cooperative = true },
  { "27: cooperative grid: 641 blocks of kernel 'steps', but T4 runs at most 640 at once: 16 on "
    .. "each of 40 multiprocessors, limited by" })

local findings = expect("a launch in a loop is one finding", "A100", function()
  for _ = 1, 3 do steps{ grid = 900, block = 256, cooperative = true }(x) end
end, { "52: cooperative grid: 900 blocks of kernel 'steps', but A100 runs at most 864 at once" })
tap.ok(findings[1] and findings[1].count == 3, "that says how often")

-- 96 values of each thread are alive at the barrier.
local wide = kernel("wide", function(a, b)
  local r = fragment(f32, 96)
  for j = 0, 95 do r[j] = a[j * 256 + threadIdx.x] end
  sync_grid()
  if blockIdx.x == 0 then
    for j = 0, 95 do b[j * 256 + threadIdx.x] = r[j] end
  end
end)
local function launch_wide(blocks)
  local a, b = zeros(f32, 96 * 256), zeros(f32, 96 * 256)
  return check.run(function()
    wide{ grid = blocks, block = 256, cooperative = true }(a, b)
  end, { device = "H100", global = false })
end
local launches
findings, launches = launch_wide(300)
local report = check.report(findings, launches)
if findings.registers_unknown then
  tap.ok(#findings == 0 and report:find("check: registers are not known, so fewer blocks of a "
    .. "cooperative grid may fit: kernel 'wide': ", 1, true),
    "registers that are not known are told of", report)
  findings = launch_wide(1057)
  tap.ok(#findings == 1 and findings[1].message:find("limited by 256 threads a block;", 1, true),
    "and do not limit")
else
  tap.ok(#findings == 1 and findings[1].message:find("limited by %d+ registers a thread; launch at "
    .. "most 264 blocks"), "registers limit", report)
end

-- Launches of ranks still run at once, so races between them are found as without a device.
local function report_of(path, name)
  local found, n = check.run(assert(loadfile(path)), { device = name })
  return check.report(found, n)
end
local path = "tests/check/rank_flag_relaxed.lua"
local plain = report_of(path)
tap.ok(plain:find("race: read of mine", 1, true), "a race between ranks", plain)
tap.is(report_of(path, "H100"), plain, "the same for a device")

local ok, why = pcall(check.run, print, { device = "H300" })
tap.ok(not ok and why:find("check: the device is 'H300'; expected one of T4, ", 1, true),
  "a device that nobody knows", tostring(why))

tap.done()
