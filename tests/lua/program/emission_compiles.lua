-- The option emission: what its variants write compiles for GPUs of three kinds, and the assembler
-- makes other machine code of some of them. It needs NVRTC and no GPU.
local tap = dofile "tests/support/tap.lua"
local cuttle = arg[-1]

-- The lines that emission_cubins.lua prints, by kernel and variant; or what it said when it failed.
local function compile(target, arguments)
  local command = "CUTTLE_DEVICE=cpu '%s' --sm=%s tests/support/emission_cubins.lua %s 2>&1"
  local pipe = assert(io.popen(command:format(cuttle, target, arguments)))
  local rows, n, out = {}, 0, pipe:read "a"
  local is_done = pipe:close()
  for kernel, variant, code in out:gmatch "([^\n|]+) | ([^\n|]*) | ([^\n]+)" do
    rows[kernel] = rows[kernel] or {}
    rows[kernel][variant], n = code, n + 1
  end
  return is_done and rows, n, out
end

local function check(target, arguments, n_wanted)
  local rows, n, out = compile(target, arguments)
  if not rows and out:find("cannot load", 1, true) then tap.skip_all "no NVRTC on this machine" end
  tap.ok(rows and n == n_wanted, ("%d kernels compile for sm_%s"):format(n_wanted, target), out)
  return rows or {}
end

check("75", "75", 6)
check("80", "80", 10)
local rows = check("90a", "90 all", 66)
for _, kernel in ipairs{ "blends", "waves", "simple 64x64x8", "simt 64x64x16 turned",
                         "mma 64x64x64", "hopper 64x64x64" } do
  local by_variant, n_others, n = rows[kernel] or {}, 0, -1
  for _, code in pairs(by_variant) do
    n_others, n = n_others + (code ~= by_variant[""] and 1 or 0), n + 1
  end
  tap.ok(n_others >= 2, ("%s: %d of %d variants give other machine code"):format(kernel, n_others,
    n))
end
local function differs(kernel, variant)
  local by_variant = rows[kernel] or {}
  tap.ok(by_variant[variant] ~= by_variant[""], kernel .. ": another kernel with " .. variant)
end
differs("blends", "unroll=2")
differs("waves", "level=1")
differs("simt 64x64x16 turned", "registers=64")
local limited = (rows["simt 64x64x16 turned"] or {})["registers=64"] or ""
tap.is(limited:match "^%d+ registers", "64 registers", "a limit of registers is kept")
tap.done()
