-- Copies of 256 bits: what the CPU engine copies has the bits of the source, whatever the type, with
-- guards and predicates too; each is one instruction from sm_100 on, and earlier targets refuse it.
-- needs sm_100
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local L <const>, S <const> =
  "SM100_LOAD_256bit_CACHE_NOALLOCATION", "SM100_STORE_256bit_CACHE_NOALLOCATION"

local function filled(t)
  local bytes = recast(t, u8)
  for i = 0, size(bytes) - 1 do bytes[i] = (i * 40503 + 77) >> 4 & 255 end
  return t
end

-- The number of bytes in which the two differ.
local function differing(x, y)
  local n, a, b = 0, recast(x, u8), recast(y, u8)
  for i = 0, size(a) - 1 do n = n + (a[i] == b[i] and 0 or 1) end
  return n
end

local function copier(name, dtype)
  return tiled_copy(atom(name, dtype), layout { 32 }, layout { 256 // dtype.bits })
end

-- A tile of 32 threads, 32 bytes each, for each block; x may overhang.
local function through_registers(dtype, name)
  local load, store = copier(L, dtype), copier(S, dtype)
  local n = load:tile_shape()[1]
  return kernel(name, function(x, y)
    local from = load:get_slice(threadIdx.x):partition_S(tile(guard(x), { n }, blockIdx.x))
    local to = store:get_slice(threadIdx.x):partition_D(tile(guard(y), { n }, blockIdx.x))
    local r = fragment_like(from)
    copy(load, from, r)
    copy(store, r, to)
  end)
end

for _, dtype in ipairs { u8, f8e4m3, f16, bf16, i32, u32, f32, tf32, i64, u64, f64 } do
  local k, n = through_registers(dtype, "wide"), 32 * 256 // dtype.bits
  for _, extent in ipairs { 2 * n, 2 * n - 256 // dtype.bits, 2 * n - 3 } do
    local x, y = filled(zeros(dtype, extent)), zeros(dtype, extent)
    k { grid = 2, block = 32 } (x, y)
    tap.is(differing(x, y), 0, ("%d x %s"):format(extent, dtype))
  end
end

-- Each second vector of a thread.
do
  local load, store = copier(L, f32), copier(S, f32)
  local k = kernel("some", function(x, y)
    local from = load:get_slice(threadIdx.x):partition_S(tile(x, { 512 }, 0))
    local to = store:get_slice(threadIdx.x):partition_D(tile(y, { 512 }, 0))
    local r, p = fragment_like(from), fragment(bool, { 1, 2 })
    p[0], p[1] = true, threadIdx.x % 2 == 0
    clear(r)
    copy_if(load, p, from, r)
    copy_if(store, p, r, to)
  end)
  local x, y, wrong = arange(f32, 512), zeros(f32, 512), 0
  fill(y, -1)
  k { grid = 1, block = 32 } (x, y)
  for i = 0, 511 do
    local is_copied = i < 256 or i // 8 % 2 == 0
    wrong = wrong + (y(i) == (is_copied and x(i) or -1) and 0 or 1)
  end
  tap.is(wrong, 0, "copy_if takes whole vectors")
end

-- {====== What is emitted ======

local script <const>, cubin <const> = os.tmpname(), os.tmpname()
do
  local file <close> = assert(io.open(script, "w"))
  file:write(([[
local load, store = atom("%s", f16), atom("%s", f16)
kernel("k", function(x, y)
  local r = fragment(f16, 16)
  copy(load, tile(tile(guard(x), 32, blockIdx.x), 16, threadIdx.x), r)
  copy(store, r, tile(y, 16, threadIdx.x))
end){grid = 2, block = 2}(ones(f16, 48), ones(f16, 32))
]]):format(L, S))
end

local function emit(options) return (shell.cuttle("emit %s %s", options, script)) end

local text = emit "--sm=100"
tap.ok(text:find("if %b() load_256%(") ~= nil, "what is outside is not read", text)

-- How often the machine code has an instruction; nil without NVIDIA's nvdisasm on the PATH.
local function count_machine(instruction)
  local pipe <close> = assert(io.popen(("nvdisasm -c '%s' 2>/dev/null"):format(cubin)))
  local _, n = pipe:read "a":gsub(instruction, "")
  return n > 0 and n or nil
end

local has_nvrtc = not emit "--sm=100a --compile":find("cannot load", 1, true)
for _, sm in ipairs(has_nvrtc and { "100", "100f", "103a", "110a", "120", "121a" } or {}) do
  local code = emit(("--sm=%s --cubin=%s"):format(sm, cubin))
  tap.ok(code:find "v8.b32" and not code:find "error", "compiles for sm_" .. sm, code)
  if count_machine "EXIT" then
    tap.is(("%s %s"):format(count_machine "%sLDG%g+256", count_machine "%sSTG%g+256"), "1 1",
      "one load and one store for sm_" .. sm)
    tap.ok(not count_machine "LDG%g+128", "and no narrower one")
  end
end
if has_nvrtc then -- an exported kernel refuses other addresses, and its header says so
  local folder = os.tmpname()
  os.remove(folder)
  local command = ("CUTTLE_DEVICE=cpu '%s' export --sm=100 --name=wide -o %s %s 2>&1"):format(
    arg[-1], folder, script)
  local pipe <close> = assert(io.popen(command))
  local said, file <close> = pipe:read "a", io.open(folder .. "/wide.h")
  local header = file and file:read "a" or said
  tap.is(select(2, header:gsub("32 bytes aligned", "")), 2, "32 bytes are asked of both tensors")
  os.execute("rm -r " .. folder)
end
for _, sm in ipairs { "75", "80", "90a" } do
  local refused = L .. " needs sm_100; the target is sm_" .. sm:match "%d+"
  tap.ok(emit("--sm=" .. sm):find(refused, 1, true), "refused for sm_" .. sm)
end
os.remove(script)
os.remove(cubin)
tap.done()
