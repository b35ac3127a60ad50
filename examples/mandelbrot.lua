-- mandelbrot.lua: for how many steps z = z*z + c stays within 2, for each pixel. Each thread leaves
-- the kernel's `while` after its own number of turns. Prints a small picture and compares it with
-- plain Lua. Usage: cuttle mandelbrot.lua [width height [turns]]
local on_gpu = device().sm ~= nil
local W = tonumber(arg[1] or (on_gpu and 8192 or 384))
local H = tonumber(arg[2] or (on_gpu and 8192 or 256))
local turns = tonumber(arg[3] or (on_gpu and 1000 or 200))
local x0, y0, width, height = -2.25, -1.25, 3.25, 2.5     -- the part of the plane

-- The same function is run by plain Lua below: f64 there, f32 in the kernel.
local function escape_time(cx, cy, limit)
  local x, y, n = 0.0, 0.0, 0
  while n < limit and x * x + y * y <= 4.0 do
    x, y, n = x * x - y * y + cx, 2.0 * x * y + cy, n + 1
  end
  return n
end

local mandelbrot = kernel("mandelbrot", function(out, dx, dy, limit)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  local j = blockIdx.y * blockDim.y + threadIdx.y
  if i < size(out, 0) and j < size(out, 1) then
    out[{i, j}] = escape_time(x0 + i * dx, y0 + j * dy, limit)
  end
end)

local function compute(w, h, limit)
  local out = zeros(i32, {w, h})
  local launch = mandelbrot:prepare{grid = cdiv({w, h}, {32, 4}), block = {32, 4}}(
    out, width / w, height / h, limit)
  launch()
  return out, launch
end

-- A picture of 78x24 characters.
local ramp <const>, small <const>, n_lines <const> = "  .:-=+*#%@", 78, 24
local picture = compute(small, n_lines, 100):to("cpu")
for j = 0, n_lines - 1 do
  local line = {}
  for i = 0, small - 1 do
    local shade = math.min(math.floor(2 * math.log(picture[{i, j}] + 1, 2)), #ramp)
    line[#line + 1] = ramp:sub(shade, shade)
  end
  print((table.concat(line):gsub(" +$", "")))
end

-- Near the edge of the set the rounding of f32 decides: a few pixels of a thousand may differ.
local out, launch = compute(W, H, turns)
local host = out:to("cpu")
local n_samples, n_different = 0, 0
for s = 0, 9999 do
  local i, j = s * 7919 % W, s * 104729 % H
  n_samples = n_samples + 1
  if host[{i, j}] ~= escape_time(x0 + i * (width / W), y0 + j * (height / H), turns) then
    n_different = n_different + 1
  end
end
local ok = n_different <= 0.01 * n_samples
print(("mandelbrot %dx%d, at most %d turns, on %s: %s, %d of %d pixels differ from Lua's doubles")
  :format(W, H, turns, device().name, ok and "correct" or "wrong", n_different, n_samples))
local ms = bench(launch)
print(("%.3f ms, %.1f million pixels per second"):format(ms, W * H / ms * 1e-3))
os.exit(ok, true)
