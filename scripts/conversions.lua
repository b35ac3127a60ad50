-- conversions.lua: every f32 narrowed to each narrow float, and every narrow float widened, by a
-- kernel on the current device; compared bit for bit with reference.cast, which is integer
-- arithmetic on the host.
--   cuttle [--device=cuda] scripts/conversions.lua [TYPE ...] [first slice [number of slices]]
-- A slice is 2^26 inputs, of 64 slices in all; without numbers all on a GPU, and one on the CPU.
-- `make conversions` runs a process for each type. Prints TAP.
local SLICE = 1 << 26
local N_SLICES = (1 << 32) // SLICE
local BLOCK, PER_THREAD = 256, 4
local uints = { [8] = u8, [16] = u16, [32] = u32 }
local narrow_types = {
  f16 = f16, bf16 = bf16, tf32 = tf32, f8e4m3 = f8e4m3, f8e5m2 = f8e5m2, f8ue8m0 = f8ue8m0,
  f8ue4m3 = f8ue4m3, f6e2m3 = f6e2m3, f6e3m2 = f6e3m2, f4e2m1 = f4e2m1,
}

local on_gpu = device().sm ~= nil
local here = on_gpu and "cuda" or "cpu"
local types, numbers = {}, {}
for _, a in ipairs(arg) do
  if narrow_types[a] then
    types[#types + 1] = narrow_types[a]
  else
    numbers[#numbers + 1] = assert(math.tointeger(tonumber(a)), "neither type nor number: " .. a)
  end
end
if #types == 0 then types = { f16, bf16, tf32, f8e4m3, f8e5m2 } end
local first = numbers[1] or (on_gpu and 0 or 15) -- slice 15 has the numbers around 1
local n_slices = numbers[2] or (on_gpu and N_SLICES - first or 1)

local tap = dofile "tests/support/tap.lua"
local check = tap.ok

-- y[i] = bits of the f32 whose bits are base + i, as the type T.
local function narrowing(T)
  local U = uints[T.bits]
  return kernel("narrow_" .. T.name, function(y, base)
    local part = tile(y, { BLOCK * PER_THREAD }, { blockIdx.x })
    local mine = fragment(U, PER_THREAD)
    local at = blockIdx.x * (BLOCK * PER_THREAD) + threadIdx.x * PER_THREAD
    for j = 0, PER_THREAD - 1 do
      mine[j] = bitcast(cast(bitcast(base + cast(at + j, u32), f32), T), U)
    end
    copy(mine, tile(part, { PER_THREAD }, { threadIdx.x }))
  end)
end

-- y[i] = bits of x[i] as an f32.
local function widening()
  return kernel("widen", function(x, y)
    local i = blockIdx.x * blockDim.x + threadIdx.x
    y[i] = bitcast(cast(x[i], f32), u32)
  end)
end

local function on_host(fn)
  device("cpu")
  local result = fn()
  device(here)
  return result
end

-- The first difference as text, or nil.
local function compare(T, input, want, got)
  local at = reference.difference(want, got)
  return at and ("%s: input %08x gave %x, expected %x"):format(T.name, input(at), got[at], want[at])
end

local function check_narrowing(T)
  local U = uints[T.bits]
  local k = narrowing(T)
  local y = zeros(U, SLICE)
  local worst, start = nil, os.clock()
  for s = first, first + n_slices - 1 do
    local base = s * SLICE
    k { grid = SLICE // (BLOCK * PER_THREAD), block = BLOCK }(y, u32(base))
    local want = on_host(function()
      return recast(reference.cast(recast(arange(u32, SLICE, base), f32), T), U)
    end)
    local got = on_gpu and y:to("cpu") or y
    worst = worst or compare(T, function(i) return base + i end, want, got)
    want:close()
  end
  check(not worst, ("f32 to %s: %d inputs from 0x%08x on"):format(T.name, n_slices * SLICE,
    first * SLICE), worst)
  print(("# %.0f s of this process"):format(os.clock() - start))
end

local function check_widening(T)
  if T == tf32 then return end -- is an f32
  local U, n = uints[T.bits], 1 << T.bits
  local bits = arange(U, n)
  local y = zeros(u32, n)
  widening() { grid = n // 256, block = 256 }(recast(bits, T), y)
  local want = on_host(function()
    return recast(reference.cast(recast(arange(U, n), T), f32), u32)
  end)
  check(not compare(T, function(i) return i end, want, on_gpu and y:to("cpu") or y),
    ("%s to f32: all %d inputs"):format(T.name, n),
    compare(T, function(i) return i end, want, on_gpu and y:to("cpu") or y))
end

for _, T in ipairs(types) do
  check_narrowing(T)
  check_widening(T)
end
tap.done()
