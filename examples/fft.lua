-- fft.lua: Fourier transforms of many rows of N complex numbers, N a power of 4. A block transforms
-- a row: each pass combines four numbers of a thread (radix 4, after Stockham), and the threads
-- exchange them through shared memory for the next pass. A complex number is a record with
-- operators: two registers. `while done < N` is known while tracing, so passes are unrolled.
-- Usage: cuttle fft.lua [N [rows]]
local on_gpu = device().sm ~= nil
local N = tonumber(arg[1] or 1024)
local rows = tonumber(arg[2] or (on_gpu and 1 << 15 or 3))
local threads = N // 4

-- {====== Complex numbers ======

local Complex = {}

local function complex(re, im) return setmetatable({ re = re, im = im }, Complex) end

function Complex.__add(a, b) return complex(a.re + b.re, a.im + b.im) end
function Complex.__sub(a, b) return complex(a.re - b.re, a.im - b.im) end
function Complex.__mul(a, b)
  return complex(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re)
end

-- The number at an angle, in turns, on the unit circle.
local function at_angle(turns)
  local sine, cosine = sincos(2 * math.pi * turns)
  return complex(cosine, sine)
end

-- The transform of four numbers; a / i is (a.im, -a.re).
local function of_four(a, b, c, d)
  local even, odd, rest, across = a + c, b + d, a - c, b - d
  local turned = complex(across.im, -across.re)
  return even + odd, rest + turned, even - odd, rest - turned
end

-- {====== The kernel ======

local padded = layout({ 32, cdiv(N, 32) }, { 1, 33 })     -- element i is at i + i // 32

-- x and y (re|im, N, rows)
local fft = kernel("fft", function(x, y)
  local t, row = threadIdx.x, blockIdx.x
  local re, im, pair = shared(f32, padded), shared(f32, padded), fragment(f32, 2)
  local v, done = {}, 1                                   -- numbers that are transformed already
  for i = 1, 4 do
    copy(x(_, t + (i - 1) * threads, row), pair)
    v[i] = complex(pair[0], pair[1])
  end
  while done < N do
    local place = t % done                                -- among them
    local w = at_angle(cast(place, f32) * (-0.25 / done))
    local w2 = w * w
    v[1], v[2], v[3], v[4] = of_four(v[1], v[2] * w, v[3] * w2, v[4] * (w2 * w))
    done = 4 * done
    if done < N then
      local first = (t - place) * 4 + place
      sync_threads()                                      -- all have read
      for i = 1, 4 do
        local at = first + (i - 1) * (done // 4)
        re[at], im[at] = v[i].re, v[i].im
      end
      sync_threads()                                      -- all have written
      for i = 1, 4 do
        local at = t + (i - 1) * threads
        v[i] = complex(re[at], im[at])
      end
    end
  end
  for i = 1, 4 do
    pair[0], pair[1] = v[i].re, v[i].im
    copy(pair, y(_, t + (i - 1) * threads, row))
  end
end, { static_shapes = true })

-- {====== Running ======

local x, y = randn(f32, { 2, N, rows }), zeros(f32, { 2, N, rows })
local launch = fft:prepare{ grid = rows, block = threads }(x, y)
launch()

-- Some numbers of the last row by the definition, in plain Lua with the same complex numbers.
local worst, step, row = 0, math.max(1, N // 16 - 1), (x(_, _, rows - 1)):to "cpu"
for k = 0, N - 1, step do
  local sum = complex(0, 0)
  for n = 0, N - 1 do
    sum = sum + complex(row[{ 0, n }], row[{ 1, n }]) * at_angle(-(k * n % N) / N)
  end
  local re, im = y[{ 0, k, rows - 1 }], y[{ 1, k, rows - 1 }]
  worst = math.max(worst, math.abs(sum.re - re), math.abs(sum.im - im))
end
local ms = bench(launch)
print(("%d transforms of %d numbers on %s: %.1e from the definition"):format(rows, N, device().name,
  worst))
print(("%.4f ms, %.1f GB/s"):format(ms, 16 * N * rows / ms * 1e-6))
assert(worst < 1e-5 * N)
