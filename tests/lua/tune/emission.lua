-- Variants of emission as a dimension of tune's space: the configuration is kept in the file with
-- its table, and found again by another tuned function.
local tap = dofile "tests/support/tap.lua"
local path = os.tmpname()
os.remove(path)
io.stderr = io.open("/dev/null", "w") -- luacheck: ignore 122 -- what tune says is for people

local n_made = 0
local function sums(config)
  n_made = n_made + 1
  local k = kernel("sums", function(x, y)
    local i, sum = blockIdx.x * blockDim.x + threadIdx.x, f32(0)
    for j in range(size(x) - size(y) + 1) do sum = sum + x[i + j] end
    y[i] = sum
  end, { emission = config.emission })
  return function(x, y) k{ grid = 4, block = config.block }(x, y) end
end

local space <const> = { block = { 128 }, emission = { {}, { unroll = 2 },
                                                      { registers = 32, pin = true } } }
local function run()
  local x, y = ones(f32, 520), zeros(f32, 512)
  tune(sums, space, { file = path, key = {} })(x, y)
  return y[0], y[511]
end

local first, last = run()
tap.ok(first == 9 and last == 9, "the tuned kernel computes", tostring(first))
tap.ok(n_made >= 3, "each variant was made", tostring(n_made))
local file = assert(io.open(path))
local text = file:read "a"
file:close()
tap.ok(text:find("block=128 emission={", 1, true), "the file has the variant", text)
n_made = 0
first = run()
tap.ok(first == 9 and n_made == 1, "the variant is found again", tostring(n_made))
os.remove(path)
tap.done()
