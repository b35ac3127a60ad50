-- nbody.lua: bodies that attract each other, all pairs. Each thread sums the forces on one body; a
-- block reads the bodies through shared memory, a tile at a time. Positions are {x, y, z, mass}, so
-- one access of 16 bytes moves a body. The program checks forces against plain Lua, and that energy
-- is conserved. Usage: cuttle nbody.lua [bodies [steps]]
local on_gpu = device().sm ~= nil
local n_bodies = tonumber(arg[1] or (on_gpu and 65536 or 1000))
local n_steps = tonumber(arg[2] or (on_gpu and 20 or 10))
local n_tile = 128                                  -- threads of a block, bodies of a tile
local N = cdiv(n_bodies, n_tile) * n_tile           -- the rest are bodies without mass
local softening, time_step = 0.01, 0.001

local function body(t, i) return tile(t, {4, 1}, {0, i}) end
local function load_body(t, i)
  local from = body(t, i)
  local q = fragment_like(from)
  copy(from, q)
  return q
end

-- Calls visit(dx, dy, dz, mass, distance^-1) for each body as seen from one at px, py, pz.
local function each_body(pos, px, py, pz, visit)
  local s = shared(f32, {4, n_tile})
  for k in range(size(pos, 1) // n_tile) do
    copy(body(pos, k * n_tile + threadIdx.x), body(s, threadIdx.x))
    cp_async_wait(0)
    sync_threads()
    for j in range(n_tile, {unroll = 16}) do
      local q = load_body(s, j)
      local dx, dy, dz = q[0] - px, q[1] - py, q[2] - pz
      visit(dx, dy, dz, q[3], fast.rsqrt(dx * dx + dy * dy + dz * dz + softening))
    end
    sync_threads()
  end
end

-- One step: v += a * dt, p += v * dt. Other blocks still read pos, so the new ones go elsewhere.
local step = kernel("nbody_step", function(pos, vel, new_pos, dt)
  local i = blockIdx.x * n_tile + threadIdx.x
  local p, v = load_body(pos, i), load_body(vel, i)
  local a = fragment(f32, {3})
  clear(a)
  each_body(pos, p[0], p[1], p[2], function(dx, dy, dz, mass, inverse)
    local f = mass * (inverse * inverse * inverse)
    a[0], a[1], a[2] = a[0] + dx * f, a[1] + dy * f, a[2] + dz * f
  end)
  for c = 0, 2 do
    v[c] = v[c] + a[c] * dt
    p[c] = p[c] + v[c] * dt
  end
  copy(v, body(vel, i))
  copy(p, body(new_pos, i))
end)

-- Each body's kinetic energy and its half of the potential energy with all others, itself included:
-- that part never changes.
local energies = kernel("nbody_energy", function(pos, vel, out)
  local i = blockIdx.x * n_tile + threadIdx.x
  local p, v = load_body(pos, i), load_body(vel, i)
  local potential = fragment(f32, {1})
  clear(potential)
  each_body(pos, p[0], p[1], p[2], function(_, _, _, mass, inverse)
    potential[0] = potential[0] + mass * inverse
  end)
  out[i] = 0.5 * p[3] * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2] - potential[0])
end)

local config = {grid = N // n_tile, block = n_tile}
local function energy(pos, vel)
  local out, sum = zeros(f32, N), 0.0
  energies(config)(pos, vel, out)
  for _, e in ipairs(out:totable()) do sum = sum + e end
  return sum
end

-- A cold cube of bodies, of mass 1 in all.
local host = rand(f32, {4, N}):to("cpu")
for i = 0, N - 1 do host[{3, i}] = i < n_bodies and 1 / n_bodies or 0 end
local pos = host:to(on_gpu and "cuda" or "cpu")
local vel, new_pos = zeros(f32, {4, N}), zeros(f32, {4, N})

-- The first step from rest is v = a * dt: compared with sums in double precision.
local start = energy(pos, vel)
step(config)(pos, vel, new_pos, time_step)
local worst, moved = 0, vel:to("cpu")
for n = 0, 7 do
  local i = n * 7919 % n_bodies
  local a = {[0] = 0.0, 0.0, 0.0}
  for j = 0, n_bodies - 1 do
    local d, square = {}, softening
    for c = 0, 2 do
      d[c] = host[{c, j}] - host[{c, i}]
      square = square + d[c] * d[c]
    end
    for c = 0, 2 do a[c] = a[c] + d[c] * host[{3, j}] / square ^ 1.5 end
  end
  for c = 0, 2 do worst = math.max(worst, math.abs(moved[{c, i}] / time_step - a[c])) end
end

for _ = 2, n_steps do
  pos, new_pos = new_pos, pos
  step(config)(pos, vel, new_pos, time_step)
end
local drift = math.abs(energy(new_pos, vel) / start - 1)
local ok = worst < 1e-4 and drift < 1e-3
print(("nbody %d bodies, %d steps, on %s: %s, largest error of a force %.2g, energy drift %.2g")
  :format(n_bodies, n_steps, device().name, ok and "correct" or "wrong", worst, drift))
local ms = bench(step:prepare(config)(pos, vel, new_pos, time_step))
print(("%.4f ms, %.2f billion pairs per second"):format(ms, N * N / ms * 1e-6))
os.exit(ok, true)
