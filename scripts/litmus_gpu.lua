-- litmus_gpu.lua: small programs of blocks that exchange data, 10^6 times each on a GPU: message
-- passing with each way to write and to read the flag, store buffering, load buffering, and writes
-- that two readers see (IRIW). What docs/memory_order.md excludes must not occur; all else may.
-- Usage: CUTTLE_DEVICE=cuda cuttle scripts/litmus_gpu.lua
local relaxed, acq_rel = { order = "relaxed" }, { order = "acq_rel" }
local PAIRS <const>, N <const> = 56, 20000
local writes = {
  { "st.release", true, function(f, b) atomic_store(f, b, 1) end },
  { "fence.sc; st.relaxed", true, function(f, b) fence() atomic_store(f, b, 1, relaxed) end },
  { "fence.acq_rel; st.relaxed", true,
    function(f, b) fence(acq_rel) atomic_store(f, b, 1, relaxed) end },
  { "fence.acq_rel; atom.relaxed", true, function(f, b) fence(acq_rel) atomic_add(f, b, 1) end },
  { "atom.release", true, function(f, b) atomic_exch(f, b, 1, { order = "release" }) end },
  { "st.release 0; st.relaxed 1", true,
    function(f, b) atomic_store(f, b, 0) atomic_store(f, b, 1, relaxed) end },
  { "st.relaxed", false, function(f, b) atomic_store(f, b, 1, relaxed) end },
  { "atom.relaxed", false, function(f, b) atomic_add(f, b, 1) end },
}
local reads = {
  { "ld.acquire", true, function(f, b) while atomic_load(f, b) == 0 do end end },
  { "ld.relaxed; fence.sc", true,
    function(f, b) while atomic_load(f, b, relaxed) == 0 do end fence() end },
  { "ld.relaxed; fence.acq_rel", true,
    function(f, b) while atomic_load(f, b, relaxed) == 0 do end fence(acq_rel) end },
  { "atom.acquire", true,
    function(f, b) while atomic_cas(f, b, 1, 1, { order = "acquire" }) == 0 do end end },
  { "ld.relaxed; ld.acquire", true, function(f, b)
      while atomic_load(f, b, relaxed) == 0 do end
      local again = atomic_load(f, b)
      if again == 7 then atomic_store(f, b, 1, relaxed) end
    end },
  { "ld.relaxed", false, function(f, b) while atomic_load(f, b, relaxed) == 0 do end end },
}

local wrong = 0

local function report(name, is_excluded, n, of)
  if is_excluded and n > 0 then wrong = wrong + 1 end
  print(("%-62s %s: %d of %d%s"):format(name, is_excluded and "excluded" or "allowed ", n, of,
    is_excluded and n > 0 and "  WRONG" or ""))
end

-- {====== Message passing ======

local data, flags = zeros(i32, PAIRS * N), zeros(i32, PAIRS * N)
local acks, stales = zeros(i32, PAIRS * 32), zeros(i32, 1)
for _, w in ipairs(writes) do
  for _, r in ipairs(reads) do
    local write, read = w[3], r[3]
    local pass = kernel("pass", function(x, f, ack, bad)
      local pair, role = blockIdx.x // 2, blockIdx.x % 2
      if threadIdx.x == 0 then
        local stale = 0
        for i in range(N) do
          local at = pair * N + i
          if role == 0 then
            x[at] = 42
            write(f, at)
            while atomic_load(ack, pair * 32, relaxed) <= i do end
          else
            read(f, at)
            local v = x[at]
            if v ~= 42 then stale = stale + 1 end
            atomic_store(ack, pair * 32, i + 1, relaxed)
          end
        end
        if stale > 0 then atomic_add(bad, 0, stale) end
      end
    end)
    for _, t in ipairs { data, flags, acks, stales } do fill(t, 0) end
    pass { grid = 2 * PAIRS, block = 32, cooperative = true }(data, flags, acks, stales)
    report(("%s || %s"):format(w[1], r[1]), w[2] and r[2], stales[0], PAIRS * N)
  end
end

-- {====== Others, of several blocks that begin each round together ======

local fences = {
  { "nothing", function() end },
  { "fence.acq_rel", function() fence(acq_rel) end },
  { "fence.sc", function() fence() end },
}

-- Programs of so many blocks: step(role, x, y, i, between) returns two numbers that it read;
-- excluded(i, seen) says whether what the roles read must not be with fence.sc between.
local programs = {
  { name = "store buffering: x = 1; %s; y  ||  y = 1; %s; x: both 0", roles = 2, needs = "fence.sc",
    step = function(role, x, y, i, between)
      local mine, other = 0, 0
      if role == 0 then
        atomic_store(x, i, 1, relaxed)
        between()
        mine = atomic_load(y, i, relaxed)
      else
        atomic_store(y, i, 1, relaxed)
        between()
        other = atomic_load(x, i, relaxed)
      end
      return mine + other, 0
    end, is_bad = function(seen, i) return seen[{ 0, 0, i }] == 0 and seen[{ 1, 0, i }] == 0 end },
  { name = "load buffering: x; %s; y = 1  ||  y; %s; x = 1: both 1", roles = 2,
    needs = "fence.acq_rel",
    step = function(role, x, y, i, between)
      local of_x, of_y = 0, 0
      if role == 0 then
        of_x = atomic_load(x, i, relaxed)
        between()
        atomic_store(y, i, 1, relaxed)
      else
        of_y = atomic_load(y, i, relaxed)
        between()
        atomic_store(x, i, 1, relaxed)
      end
      return of_x + of_y, 0
    end, is_bad = function(seen, i) return seen[{ 0, 0, i }] == 1 and seen[{ 1, 0, i }] == 1 end },
  { name = "IRIW: x = 1  ||  y = 1  ||  x; %s; y  ||  y; %s; x: 1 then 0 twice", roles = 4,
    needs = "fence.sc",
    step = function(role, x, y, i, between)
      local first, second = 0, 0
      if role == 0 then
        atomic_store(x, i, 1, relaxed)
      elseif role == 1 then
        atomic_store(y, i, 1, relaxed)
      elseif role == 2 then
        first = atomic_load(x, i, relaxed)
        between()
        second = atomic_load(y, i, relaxed)
      else
        first = atomic_load(y, i, relaxed)
        between()
        second = atomic_load(x, i, relaxed)
      end
      return first, second
    end,
    is_bad = function(seen, i)
      return seen[{ 2, 0, i }] == 1 and seen[{ 2, 1, i }] == 0
        and seen[{ 3, 0, i }] == 1 and seen[{ 3, 1, i }] == 0
    end },
}

local strength = { nothing = 0, ["fence.acq_rel"] = 1, ["fence.sc"] = 2 }

for _, program in ipairs(programs) do
  local roles, step, is_bad = program.roles, program.step, program.is_bad
  local groups = 2 * PAIRS // roles
  local total = groups * N
  local xs, ys, seen = zeros(i32, total), zeros(i32, total), zeros(i32, { 4, 2, total })
  local rounds, bads = zeros(i32, groups * 32), zeros(i32, 1)
  for _, between in ipairs(fences) do
    local put = between[2]
    local run = kernel("run", function(x, y, out, round)
      local group, role = blockIdx.x // roles, blockIdx.x % roles
      if threadIdx.x == 0 then
        for i in range(N) do
          atomic_add(round, group * 32, 1)
          while atomic_load(round, group * 32, relaxed) < (i + 1) * roles do end
          local first, second = step(role, x, y, group * N + i, put)
          out[{ role, 0, group * N + i }] = first
          out[{ role, 1, group * N + i }] = second
        end
      end
    end)
    local count = kernel("count", function(out, bad)
      local i = blockIdx.x * blockDim.x + threadIdx.x
      if i < size(out, 2) then
        if is_bad(out, i) then atomic_add(bad, 0, 1) end
      end
    end)
    for _, t in ipairs { xs, ys, seen, rounds, bads } do fill(t, 0) end
    run { grid = groups * roles, block = 32, cooperative = true }(xs, ys, seen, rounds)
    count { grid = cdiv(total, 256), block = 256 }(seen, bads)
    report(program.name:format(between[1], between[1]),
      strength[between[1]] >= strength[program.needs], bads[0], total)
  end
end
print(wrong == 0 and "AGREES" or "DISAGREES", wrong)
os.exit(wrong == 0, true)
