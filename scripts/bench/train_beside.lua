-- train_beside.lua: steps of training on the GPUs of one machine, beside the same in PyTorch on the
-- same GPUs and in the same run:
--   cuttle --device=cuda scripts/bench/train_beside.lua [RANKS] [word ...]
-- RANKS is 2 if nothing is said. Words, else all:
--   data       a step of data-parallel training: layers of linear and relu, squared differences,
--              all gradients, their sums over the ranks, and a step downhill. PyTorch: DDP
--   tensor     a block of two layers whose weights and rows are spread over the ranks, as
--              Megatron-LM has it with sequence parallelism: forwards, and all gradients. PyTorch:
--              torch.distributed.tensor.parallel
--   attention  the other block of a layer, spread in the same way: queries, keys and values, causal
--              attention, and the product of its results. Forwards only: the library has no more
-- All numbers are bf16 on both sides. train_torch.py makes the same data from the same seeds, so
-- losses, gradients and weights are compared first, by samples. One process drives all devices
-- here; PyTorch has a process for each. A time is the median of batches between two events of rank
-- 0's. TRAIN_TORCH=0 leaves PyTorch out. On the CPU mesh sizes are small, and the results are
-- compared with those of one device.
package.path = (arg[0]:match "^(.*/)" or "./") .. "?.lua;" .. package.path
local ct = require "cuttle"
local gathering, scattering = require "cuttle.gather_matmul", require "cuttle.matmul_scatter"
local data = require "data"
local median = require "cuttle.lists".median
local bf16, f32, row_major, zeros, matmul = ct.bf16, ct.f32, ct.row_major, ct.zeros, ct.matmul
local threadIdx, blockIdx, blockDim, gridDim = ct.threadIdx, ct.blockIdx, ct.blockDim, ct.gridDim
local cast, unroll = ct.cast, ct.unroll

local on_gpu = ct.device().sm ~= nil
local W, words = 2, { table.unpack(arg) }
if math.tointeger(tonumber(words[1])) then W = math.tointeger(tonumber(table.remove(words, 1))) end
if #words == 0 then words = { "data", "tensor", "attention" } end
local ROUNDS <const>, BATCH_MS <const>, SAMPLES <const> = 7, 100, 4096
local RATE <const>, WEIGHTS <const>, TARGETS <const> = 0.02, 2.0 ^ -5, 8.0 -- powers of 2: exact
local sizes = { data = { rows = 8192, width = 4096, layers = 6 },
                tensor = { rows = 8192, width = 8192, hidden = 28672 },
                attention = { batches = 4, tokens = 2048, heads = 64, depth = 128 } }
if not on_gpu then
  sizes = { data = { rows = 64, width = 64, layers = 3 },
            tensor = { rows = 128, width = 64, hidden = 256 },
            attention = { batches = 2, tokens = 64, heads = 4, depth = 16 } }
  ct.device("cpu:" .. W)
end
local m = ct.mesh{rank = W}
local clock = on_gpu and require "ranks_clock"(W)

local function flat(t) return ct.view(t, ct.layout(ct.size(t))) end
local function transposed(t) return ct.select(t, 1, 0) end
local function new(...) return ct.tensor(bf16, row_major{...}) end

-- {====== Kernels: eight elements of each thread ======

local WIDE <const>, THREADS <const> = 8, 128

local function launch_of(t) return { grid = ct.size(t) // (WIDE * THREADS), block = THREADS } end

local function part_of(t)
  return ct.tile(t, {WIDE}, {blockIdx.x * blockDim.x + threadIdx.x})
end

local function load_part(t)
  local v = ct.fragment(bf16, WIDE)
  ct.copy(part_of(t), v)
  return v
end

local relu_backward = ct.kernel("relu_backward", function(gradient, result)
  local g, y = load_part(gradient), load_part(result)
  for i in unroll(WIDE) do
    if y[i] <= cast(0.0, bf16) then g[i] = cast(0.0, bf16) end
  end
  ct.copy(g, part_of(gradient))
end)

-- The loss is the sum of squared differences, over the rows.
local squares = ct.kernel("squares", function(result, target, gradient, loss, rows)
  local y, t = load_part(result), load_part(target)
  local sum = f32(0.0)
  for i in unroll(WIDE) do
    local d = cast(y[i], f32) - cast(t[i], f32)
    sum = sum + d * d
    y[i] = cast(d * 2.0 / rows, bf16)
  end
  ct.copy(y, part_of(gradient))
  local all = ct.block_reduce(sum, "add")
  if threadIdx.x == 0 then ct.atomic_add(loss, 0, all / rows) end
end)

local descend = ct.kernel("descend", function(weights, gradients, rate)
  local w, g = load_part(weights), load_part(gradients)
  for i in unroll(WIDE) do w[i] = cast(cast(w[i], f32) - rate * cast(g[i], f32), bf16) end
  ct.copy(w, part_of(weights))
end)

local scale = ct.kernel("scale", function(x, by)
  local v = load_part(x)
  for i in unroll(WIDE) do v[i] = cast(cast(v[i], f32) * by, bf16) end
  ct.copy(v, part_of(x))
end)

local pick = ct.kernel("pick", function(x, out, step)
  for i in ct.range(blockIdx.x * blockDim.x + threadIdx.x, ct.size(out), gridDim.x * blockDim.x) do
    out[i] = cast(x[i * step], f32)
  end
end)

local function relu(v) return ct.max(v, 0.0) end

-- Numbers from -by to by.
local function fill(t, seed, by)
  data.uniform(t, seed)
  if by ~= 1 then scale(launch_of(t))(flat(t), f32(by)) end
  return t
end

-- In m:run, which makes a new object of each rank.
local function on_all(ranks, f)
  return m:run(function(r)
    local own = ranks[r.rank]
    own.rank = r
    return f(own)
  end)
end

-- {====== Checks ======

-- Numbers of a tensor that lie equally far from one another.
local function samples(t)
  local n = math.min(SAMPLES, ct.size(t))
  local out = zeros(f32, n)
  pick{grid = ct.cdiv(n, THREADS), block = THREADS}(flat(t), out, ct.size(t) // n)
  return out:totable()
end

-- The same of each rank's, by rank.
local function samples_of(ranks, name)
  return on_all(ranks, function(own) return samples(own[name]) end)
end

-- Of two lists: the root of the sum of squared differences, over that of b's squares.
local function distance(a, b)
  if #a ~= #b then error(("%d samples beside %d"):format(#a, #b)) end
  local sum, of = 0.0, 0.0
  for i, v in ipairs(a) do sum, of = sum + (v - b[i]) ^ 2, of + b[i] ^ 2 end
  return of > 0 and math.sqrt(sum / of) or sum
end

local function minus(a, b)
  local out = {}
  for i, v in ipairs(a) do out[i] = v - b[i] end
  return out
end

-- {====== A step of data-parallel training ======

local cases = {}

-- What a rank has. The ranks' weights are equal, their examples are not.
local function data_rank(r)
  local s = sizes.data
  local D = s.width
  local own = { rank = r, x = fill(new(s.rows, D), 100 + r.rank, 1),
    target = fill(new(s.rows, D), 200 + r.rank, TARGETS), loss = zeros(f32, 1),
    weights = new(s.layers * D, D), gradients = new(s.layers * D, D), W = {}, G = {}, y = {},
    down = { new(s.rows, D), new(s.rows, D) }, sums = ct.stream(), ready = ct.event(),
    done = ct.event() }
  fill(own.weights, 1, WEIGHTS)
  for i = 1, s.layers do
    own.W[i] = ct.tile(own.weights, {D, D}, {i - 1, 0})
    own.G[i] = ct.tile(own.gradients, {D, D}, {i - 1, 0})
    own.y[i] = new(s.rows, D)
  end
  return own
end

local function forwards(own)
  local x = own.x
  for i, weights in ipairs(own.W) do
    x = matmul(x, weights, own.y[i], i < #own.W and own.with_relu or nil)
  end
  ct.clear(own.loss)
  squares(launch_of(x))(flat(x), flat(own.target), flat(own.down[1]), own.loss,
    f32(sizes.data.rows))
end

-- From the last layer to the first: the sums of a layer's gradients go over the links while the
-- layers before it are multiplied.
local function backwards(own, sum)
  local dy, other = own.down[1], own.down[2]
  for i = #own.W, 1, -1 do
    local x = i > 1 and own.y[i - 1] or own.x
    matmul(transposed(dy), transposed(x), own.G[i], own.options)
    sum(own, own.G[i])
    if i > 1 then
      matmul(dy, transposed(own.W[i]), other, own.options)
      relu_backward(launch_of(x))(flat(other), flat(x))
      dy, other = other, dy
    end
  end
end

local function sum_beside(own, gradient)
  own.ready:record()
  own.sums:wait(own.ready)
  own.rank:all_reduce(gradient, "rank", { stream = own.sums })
end

local function sum_in_turn(own, gradient) own.rank:all_reduce(gradient, "rank") end

local function data_step(own, rate, sum)
  forwards(own)
  backwards(own, sum)
  own.done:record(own.sums):wait()
  descend(launch_of(own.weights))(flat(own.weights), flat(own.gradients), f32(rate / W))
end

-- The same on one device, with the examples of all ranks.
local function check_alone(ranks, found)
  local s = sizes.data
  local function all(name)
    local t = new(W * s.rows, s.width)
    for rank = 0, W - 1 do
      ct.copy(ranks[rank][name], ct.tile(t, {s.rows, s.width}, {rank, 0}))
    end
    return t
  end
  local x, target = all "x", all "target"
  local weights = fill(new(s.layers * s.width, s.width), 1, WEIGHTS)
  local gradients = new(s.layers * s.width, s.width)
  local own = { x = x, target = target, loss = zeros(f32, 1), W = {}, G = {}, y = {},
    down = { new(W * s.rows, s.width), new(W * s.rows, s.width) }, with_relu = { epilogue = relu } }
  for i = 1, s.layers do
    own.W[i] = ct.tile(weights, {s.width, s.width}, {i - 1, 0})
    own.G[i] = ct.tile(gradients, {s.width, s.width}, {i - 1, 0})
    own.y[i] = new(W * s.rows, s.width)
  end
  forwards(own)
  backwards(own, function() end)
  local off = distance(found.gradients, samples(gradients))
  local loss = distance({ found.losses[1] }, { own.loss[0] / W })
  assert(off < 0.03 and loss < 0.01, ("gradients are off by %g, the loss by %g"):format(off, loss))
end

function cases.data()
  local ranks = m:run(data_rank)
  for _, own in pairs(ranks) do own.with_relu, own.rank = { epilogue = relu }, nil end
  local found = { before = samples_of(ranks, "weights")[0], losses = {} }
  for i = 1, 2 do
    local losses = on_all(ranks, function(own)
      data_step(own, i == 1 and RATE or 0, sum_beside)
      return own.loss[0]
    end)
    found.losses[i] = 0.0
    for rank = 0, W - 1 do found.losses[i] = found.losses[i] + losses[rank] / W end
    if i == 1 then
      found.gradients = samples_of(ranks, "gradients")[0]
      local after = samples_of(ranks, "weights")
      found.after = after[0]
      for rank = 1, W - 1 do
        assert(distance(after[rank], after[0]) == 0, "the weights of the ranks differ")
      end
    end
  end
  local function way(sum, options)
    return function()
      on_all(ranks, function(own)
        own.options = options
        data_step(own, 0, sum)
      end)
    end
  end
  return {
    title = ("data-parallel step: %d layers of %d, %d rows on each rank"):format(sizes.data.layers,
      sizes.data.width, sizes.data.rows),
    ways = { { name = "sums beside", run = way(sum_beside) },
             { name = "sums in turn", run = way(sum_in_turn) },
             { name = "beside, 112 blocks", run = way(sum_beside, { blocks = 112 }) } },
    check_alone = function() check_alone(ranks, found) end,
    check = function(theirs)
      local moved = minus(found.after, found.before)
      local rows = { { "loss of step 1", distance({ found.losses[1] }, theirs.loss10), 0.01 },
        { "loss of step 2", distance({ found.losses[2] }, theirs.loss20), 0.02 },
        { "summed gradients", distance(found.gradients, theirs.gradients0), 0.02 },
        { "weights before", distance(found.before, theirs.before0), 1e-6 },
        { "what the step moved", distance(moved, minus(theirs.after0, theirs.before0)), 0.1 } }
      return rows
    end,
  }
end

-- {====== A tensor-parallel block ======

-- Of the spread dimensions a rank has a W-th: rows of x and y, rows of the first weights, columns
-- of the second.
local function tensor_rank(r)
  local s = sizes.tensor
  local T, D, H = s.rows, s.width, s.hidden // W
  local own = { x = fill(new(T // W, D), 300 + r.rank, 1),
    dy = fill(new(T // W, D), 400 + r.rank, 1),
    up = fill(new(H, D), 500 + r.rank, WEIGHTS), down = fill(new(D, H), 600 + r.rank, WEIGHTS),
    all_x = new(T, D), hidden = new(T, H), y = new(T // W, D), all_dy = new(T, D),
    d_hidden = new(T, H), shares = new(T, D), dx = new(T // W, D), d_up = new(H, D),
    d_down = new(D, H), links = ct.stream(), ready = ct.event(), done = ct.event() }
  own.down_and_sum = scattering.prepare(own.hidden, own.down, own.y, r.rank,
    scattering.share(r, scattering.workspace(bf16, T // W, D, W)))
  return own
end

local function block_forwards(own)
  own.rank:all_gather(flat(own.x), flat(own.all_x))
  matmul(own.all_x, own.up, own.hidden, own.with_relu)
  own.down_and_sum()
end

-- The sums of dx go to their owners while the last product runs.
local function block_backwards(own)
  own.rank:all_gather(flat(own.dy), flat(own.all_dy))
  matmul(own.all_dy, transposed(own.down), own.d_hidden)
  relu_backward(launch_of(own.hidden))(flat(own.d_hidden), flat(own.hidden))
  matmul(own.d_hidden, transposed(own.up), own.shares)
  own.ready:record()
  own.links:wait(own.ready)
  own.rank:reduce_scatter(flat(own.shares), flat(own.dx), "rank", { stream = own.links })
  matmul(transposed(own.d_hidden), transposed(own.all_x), own.d_up, own.options)
  matmul(transposed(own.all_dy), transposed(own.hidden), own.d_down)
  own.done:record(own.links):wait()
end

local function block_step(own)
  block_forwards(own)
  block_backwards(own)
end

local results <const> = { "y", "dx", "d_up", "d_down" }

-- On one device, of all rows and weights.
local function check_block(ranks)
  local s = sizes.tensor
  local T, D, H = s.rows, s.width, s.hidden
  local function all(name, mode, ...)
    local t = new(...)
    for rank = 0, W - 1 do
      local part = ranks[rank][name]
      local at = { mode == 0 and rank or 0, mode == 1 and rank or 0 }
      ct.copy(part, ct.tile(t, { ct.size(part, 0), ct.size(part, 1) }, at))
    end
    return t
  end
  local x, dy = all("x", 0, T, D), all("dy", 0, T, D)
  local up, down = all("up", 0, H, D), all("down", 1, D, H)
  local hidden, d_hidden = new(T, H), new(T, H)
  local want = { y = new(T, D), dx = new(T, D), d_up = new(H, D), d_down = new(D, H) }
  matmul(x, up, hidden, { epilogue = relu })
  matmul(hidden, down, want.y)
  matmul(dy, transposed(down), d_hidden)
  relu_backward(launch_of(hidden))(flat(d_hidden), flat(hidden))
  matmul(d_hidden, transposed(up), want.dx)
  matmul(transposed(d_hidden), transposed(x), want.d_up)
  matmul(transposed(dy), transposed(hidden), want.d_down)
  for _, name in ipairs(results) do
    local t = want[name]
    local got = all(name, name == "d_down" and 1 or 0, ct.size(t, 0), ct.size(t, 1))
    local off = distance(samples(got), samples(t))
    assert(off < 0.02, ("%s is off by %g"):format(name, off))
  end
end

function cases.tensor()
  local ranks = m:run(tensor_rank)
  for _, own in pairs(ranks) do own.with_relu = { epilogue = relu } end
  on_all(ranks, function(own)
    block_step(own)
    own.rank:barrier()
  end)
  local found = {}
  for _, name in ipairs(results) do
    for rank, list in pairs(samples_of(ranks, name)) do found[name .. rank] = list end
  end
  local s = sizes.tensor
  local function way(options)
    return function()
      on_all(ranks, function(own)
        own.options = options
        block_step(own)
      end)
    end
  end
  return {
    title = ("tensor-parallel block, %d rows, %d -> %d -> %d, forwards and backwards"):format(
      s.rows, s.width, s.hidden, s.width),
    ways = { { name = "block", run = way() },
             { name = "112 blocks beside", run = way { blocks = 112 } } },
    check_alone = function() check_block(ranks) end,
    check = function(theirs)
      local rows = {}
      for rank = 0, W - 1 do
        for _, name in ipairs(results) do
          local off = distance(found[name .. rank], theirs[name .. rank] or {})
          rows[#rows + 1] = { ("%s of rank %d"):format(name, rank), off, 0.02 }
        end
      end
      return rows
    end,
  }
end

-- {====== A tensor-parallel block of attention ======

-- A rank has a W-th of the rows and of the heads. The first third of a row of `qkv` is its queries.
local function attention_rank(r)
  local s = sizes.attention
  local T, H = s.batches * s.tokens, s.heads // W
  local D, own_width = s.heads * s.depth, H * s.depth
  local own = { x = fill(new(T // W, D), 700 + r.rank, 1),
    w_qkv = fill(new(3 * own_width, D), 800 + r.rank, WEIGHTS),
    w_out = fill(new(D, own_width), 900 + r.rank, WEIGHTS), qkv = new(T, 3 * own_width),
    mixed = new(T, own_width), y = new(T // W, D) }
  local function heads_of(t, i)
    local width = ct.size(t, 1)
    return ct.view(ct.tile(t, {T, own_width}, {0, i}), ct.layout({s.batches, H, s.tokens, s.depth},
      {s.tokens * width, s.depth, width, 1}))
  end
  own.q, own.k, own.v = heads_of(own.qkv, 0), heads_of(own.qkv, 1), heads_of(own.qkv, 2)
  own.options = { causal = true, out = heads_of(own.mixed, 0) }
  local xs, panels = r:peers(own.x), {}
  for rank = 0, W - 1 do panels[rank + 1] = xs[rank] end
  own.gather_and_qkv = gathering.prepare(panels, r.rank, own.w_qkv, own.qkv)
  own.attend = require "cuttle.attention".prepare(own.q, own.k, own.v, own.options)
  own.out_and_sum = scattering.prepare(own.mixed, own.w_out, own.y, r.rank,
    scattering.share(r, scattering.workspace(bf16, T // W, D, W)))
  return own
end

local function attention_step(own)
  own.gather_and_qkv()
  own.attend()
  own.out_and_sum()
end

-- The sum over ranks of what each one's heads add, on one device.
local function check_attention(ranks)
  local s = sizes.attention
  local T, D = s.batches * s.tokens, s.heads * s.depth
  local x, y, sum = new(T, D), new(T, D), zeros(f32, row_major{T, D})
  for rank = 0, W - 1 do
    ct.copy(ranks[rank].x, ct.tile(x, {T // W, D}, {rank, 0}))
    ct.copy(ranks[rank].y, ct.tile(y, {T // W, D}, {rank, 0}))
  end
  for rank = 0, W - 1 do
    local own = ranks[rank]
    matmul(x, own.w_qkv, own.qkv)
    ct.attention(own.q, own.k, own.v, own.options)
    matmul(own.mixed, own.w_out, sum, { beta = 1 })
  end
  local off = distance(samples(y), samples(sum))
  assert(off < 0.02, ("y is off by %g"):format(off))
end

function cases.attention()
  local s = sizes.attention
  local ranks = m:run(attention_rank)
  on_all(ranks, function(own)
    attention_step(own)
    own.rank:barrier()
  end)
  local found = samples_of(ranks, "y")
  return {
    title = ("tensor-parallel attention, %d x %d tokens, %d heads of %d, forwards"):format(
      s.batches, s.tokens, s.heads, s.depth),
    ways = { { name = "block", run = function() on_all(ranks, attention_step) end } },
    check_alone = function() check_attention(ranks) end,
    check = function(theirs)
      local rows = {}
      for rank = 0, W - 1 do
        rows[rank + 1] = { "y of rank " .. rank, distance(found[rank], theirs["y" .. rank] or {}),
          0.02 }
      end
      return rows
    end,
  }
end

-- {====== PyTorch ======

local function torch_command()
  local d, t, a = sizes.data, sizes.tensor, sizes.attention
  local args = { d.rows, d.width, d.layers, t.rows, t.width, t.hidden, a.batches, a.tokens, a.heads,
    a.depth, RATE, WEIGHTS, TARGETS, SAMPLES, table.unpack(words) }
  local script = package.searchpath("train_torch", (package.path:gsub("%.lua", ".py")))
  return ("python3 -m torch.distributed.run --standalone --nproc-per-node=%d '%s' %s 2>&1"):format(
    W, script, table.concat(args, " "))
end

local function numbers_of(list)
  local numbers = {}
  for v in list:gmatch "%S+" do numbers[#numbers + 1] = tonumber(v) end
  return numbers
end

-- {word = {times = {{name =, ms =}, ...}, samples = {name = numbers}}}; nil without PyTorch.
local function run_torch()
  if not on_gpu or os.getenv "TRAIN_TORCH" == "0" then return nil end
  local pipe, out, said = assert(io.popen(torch_command())), {}, {}
  for _, word in ipairs(words) do out[word] = { times = {}, samples = {} } end
  for line in pipe:lines() do
    local kind, word, name, rest = line:match "^(%l+) (%l+) (%S+) (.*)$"
    if kind == "time" then
      table.insert(out[word].times, { name = name, ms = tonumber(rest) })
    elseif kind == "samples" then
      out[word].samples[name] = numbers_of(rest)
    else
      said[#said + 1] = line
    end
  end
  if not pipe:close() then error("PyTorch:\n" .. table.concat(said, "\n"), 0) end
  return out
end

-- {====== The table ======

local function times_of(case)
  local times = {}
  local function repeated(way)
    return function(n)
      for _ = 1, n do way.run() end
    end
  end
  for _, way in ipairs(case.ways) do clock.back_to_back(repeated(way), 3) end
  for _ = 1, ROUNDS do
    for _, way in ipairs(case.ways) do
      local f = repeated(way)
      local n = math.max(3, math.ceil(1000 * BATCH_MS / clock.back_to_back(f, 3)))
      times[way.name] = times[way.name] or {}
      table.insert(times[way.name], clock.back_to_back(f, n) / 1000)
    end
  end
  return times
end

-- Prints how far the results are from PyTorch's; are they near?
local function compare(case, theirs)
  local is_right = true
  for _, row in ipairs(case.check(theirs.samples)) do
    local is_near = row[2] <= row[3] -- a NaN is not
    is_right = is_right and is_near
    print(("  %-24s off by %.2g%s"):format(row[1], row[2], is_near and "" or ", too far"))
  end
  print(is_right and "  correct" or "  wrong")
  return is_right
end

local function print_times(case, theirs)
  local times = times_of(case)
  local first = median(times[case.ways[1].name])
  local function line(name, ms)
    print(("  %-24s %9.3f ms  %.3f of the first"):format(name, ms, ms / first))
  end
  for _, way in ipairs(case.ways) do line(way.name, median(times[way.name])) end
  for _, row in ipairs(theirs and theirs.times or {}) do line("PyTorch: " .. row.name, row.ms) end
end

for _, word in ipairs(words) do
  if not cases[word] then
    io.stderr:write(("train_beside: '%s' is not one of data, tensor, attention\n"):format(word))
    os.exit(1)
  end
end
local torch, is_right = run_torch(), true
for _, word in ipairs(words) do
  local case <const> = cases[word]()
  print(case.title)
  if torch then
    is_right = compare(case, torch[word]) and is_right
  elseif not on_gpu then
    case.check_alone()
    print "  correct"
  end
  if on_gpu then
    print_times(case, torch and torch[word])
    clock.await_all()
  end
  collectgarbage()
end
if not is_right then os.exit(1) end
