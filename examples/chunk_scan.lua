-- chunk_scan.lua: Mamba-2 (SSD) forward, in chunks, on tensor cores. In each head, the state h
-- (P,N) follows h = exp(dt A) h + dt x B', and y = h C + D x. Within a chunk of steps, this is two
-- products; only the state passes from chunk to chunk. Four kernels compute the decays, what chunks
-- add to the state, the state before each chunk, and the outputs.
-- Usage: cuttle chunk_scan.lua [steps [heads]]
local on_gpu = device().sm ~= nil
local T = tonumber(arg[1] or (on_gpu and 4096 or 256))
local heads = tonumber(arg[2] or (on_gpu and 32 or 2))
local P, N = 64, 64                                  -- of a head, of its state
local L, bM = 128, 64                                -- steps of a chunk, of a tile
local n_chunks, tiles = T // L, L // bM              -- tiles of a chunk
local four_warps = {warps = {4, 1}}

-- a (T,heads): dt A, added up from the beginning of each chunk.
local decays = kernel("decays", function(dt, A, a)
  local t, h = blockIdx.x * L + threadIdx.x, blockIdx.y
  a[{t, h}] = block_scan(dt[{t, h}] * A[h], "add")
end)

-- states (P,N,chunk,head): what each chunk adds to the state by its end.
local chunk_state = kernel("chunk_state", function(x, B, dt, a, states)
  local chunk, h = blockIdx.x, blockIdx.y
  local gX, gB = tile(x(_, _, h), {bM, P}, {_, 0}), tile(B, {bM, N}, {_, 0})       -- (bM,P|N,tile)
  local sX, sB = shared_like(gX), shared_like(gB)
  local Xt, Bt = select(sX, 1, 0), select(sB, 1, 0)                                -- (P,bM), (N,bM)
  local acc, last = accumulator(Xt, Bt), a[{chunk * L + L - 1, h}]
  for i in range(chunk * tiles, (chunk + 1) * tiles) do
    sync_threads()
    block_copy(gX(_, _, i), sX)
    block_copy(gB(_, _, i), sB)
    sync_threads()
    local scaled = acc:read_A(Xt, function(v, _, s)
      local t = i * bM + s
      return v * dt[{t, h}] * fast.exp(last - a[{t, h}])
    end)
    dot(scaled, Bt, acc)
  end
  acc:store(tile(states(_, _, chunk, h), {P, N}, {0, 0}))
end)

-- before (P,N,chunk,head): the state at the beginning of each chunk.
local pass_states = kernel("pass_states", function(states, a, before)
  local i, h, state = blockIdx.x * blockDim.x + threadIdx.x, blockIdx.y, 0.0
  local p, n = i // N, i % N
  for chunk in range(n_chunks) do
    before[{p, n, chunk, h}] = cast(state, before.dtype)
    state = state * fast.exp(a[{chunk * L + L - 1, h}]) + states[{p, n, chunk, h}]
  end
end)

local chunk_scan = kernel("chunk_scan", function(x, B, C, dt, a, before, D, y)
  local m, chunk, h = blockIdx.x, blockIdx.y, blockIdx.z
  local row = chunk * tiles + m                                                    -- tile of steps
  local gX, gB = tile(x(_, _, h), {bM, P}, {_, 0}), tile(B, {bM, N}, {_, 0})       -- (bM,P|N,tile)
  local gC = tile(C, {bM, N}, {row, 0})
  local state = tile(before(_, _, chunk, h), {P, N}, {0, 0})
  local sC, sB, sX, sH = shared_like(gC), shared_like(gB), shared_like(gX), shared_like(state)
  block_copy(gC, sC)
  block_copy(state, sH)
  sync_threads()
  local out = dot(sC, sH, accumulator(sC, sH, four_warps))                         -- C h'
  local decay = out:new_rows(function(i) return a[{row * bM + i, h}] end)
  row_broadcast(out, decay, function(v, c) return v * fast.exp(c) end)
  for i in range(chunk * tiles, row + 1) do
    sync_threads()
    block_copy(gB(_, _, i), sB)
    block_copy(gX(_, _, i), sX)
    sync_threads()
    local S = dot(sC, sB, accumulator(sC, sB, four_warps))                         -- C B'
    S:map(function(v, l, s)
      local to, from = row * bM + l, i * bM + s
      return where(from <= to, v * dt[{from, h}] * fast.exp(a[{to, h}] - a[{from, h}]), 0.0)
    end)
    dot(S, select(sX, 1, 0), out)
  end
  out:map(function(v, l, p) return v + D[h] * x[{row * bM + l, p, h}] end)
  out:store(tile(y(_, _, h), {bM, P}, {row, 0}))
end)

-- Head h in plain Lua: the recurrence, step by step.
local function expected(x, B, C, dt, A, D, h)
  local state, y = {}, {}
  for i = 0, P * N - 1 do state[i] = 0.0 end
  for t = 0, T - 1 do
    local decay, b, c = math.exp(dt[{t, h}] * A[h]), {}, {}
    for n = 0, N - 1 do b[n], c[n] = dt[{t, h}] * B[{t, n}], C[{t, n}] end
    for p = 0, P - 1 do
      local v, sum = x[{t, p, h}], D[h] * x[{t, p, h}]
      for n = 0, N - 1 do
        local i = p * N + n
        state[i] = state[i] * decay + v * b[n]
        sum = sum + state[i] * c[n]
      end
      y[t * P + p] = sum
    end
  end
  return y
end

local function by_head(dtype, f) return f(dtype, layout({T, P, heads}, {P * heads, 1, P})) end
local x, y = by_head(f16, randn), by_head(f16, zeros)
local B, C = randn(f16, row_major{T, N}), randn(f16, row_major{T, N})
local dt, A, D = rand(f32, row_major{T, heads}, 0, 0.2), full(f32, heads, -0.5), randn(f32, heads)
local a = zeros(f32, row_major{T, heads})
local states = zeros(f32, layout({P, N, n_chunks, heads}, {N, 1, P * N, P * N * n_chunks}))
local before = zeros(f16, states.layout)

local steps = {
  decays:prepare{grid = {n_chunks, heads}, block = L}(dt, A, a),
  chunk_state:prepare{grid = {n_chunks, heads}, block = 128}(x, B, dt, a, states),
  pass_states:prepare{grid = {P * N // 256, heads}, block = 256}(states, a, before),
  chunk_scan:prepare{grid = {tiles, n_chunks, heads}, block = 128}(x, B, C, dt, a, before, D, y),
}
for _, step in ipairs(steps) do step() end
local worst = 0.0
local function host(t) return t:to"cpu" end
local want = expected(host(x), host(B), host(C), host(dt), host(A), host(D), heads - 1)
local got = host(y)(_, _, heads - 1)
for t = 0, T - 1 do
  for p = 0, P - 1 do
    local v = want[t * P + p]
    worst = math.max(worst, math.abs(got[{t, p}] - v) / math.max(1, math.abs(v)))
  end
end
assert(worst < 2e-2, "wrong result")
print(("chunk scan of %d steps, %d heads: off by %.1e, %.3f ms"):format(T, heads, worst,
  bench(steps[4])))
