-- Just beyond each limit of the compiler: what goes on works, what is refused names the limit. More that
-- is refused: tests/fails/limits.cases; tests/limits.lua has all limits, and the test of each.
device "cpu"
local check = require "cuttle.check"

local function attempt(f)
  local ok, message = pcall(f)
  print(ok and (message or "no error") or (message:gsub("^[^ ]*:%d+: ", "")))
end
local function run(f, ...) kernel("k", f){grid = 1, block = 1}(...) end

-- A loop over registers is unrolled, up to 4096 turns.
local function count_in_fragment(turns)
  return function()
    local x = zeros(f32, 1)
    run(function(out)
      local f = fragment(f32, 4)
      fill(f, 0.0)
      for i in range(turns) do f[i % 4] = f[i % 4] + 1.0 end
      out[0] = f[0]
    end, x)
    return x[0]
  end
end
attempt(count_in_fragment(4096)) -- expect: 1024.0
attempt(count_in_fragment(4097))
-- expect: register tensor 'f' is indexed by the variable of a loop of 4097 iterations; registers have no addresses, so the loop is unrolled, which works for up to 4096 iterations; declare it with local_array, or keep the data in shared memory

-- Sums of more than 12 terms, and of more than 32 in each other, are taken apart by other ways.
for _, n in ipairs {20, 40} do -- expect: 2	0
  attempt(function() -- expect: 2	0
    local out, y = zeros(i32, 1000), ones(i32, n)
    run(function(x, terms)
      local at = threadIdx.x
      for i = 0, n - 1 do at = at + terms[i] * (i + 1) end
      x[at] = x[at] + 2
    end, out, y)
    return out[n * (n + 1) // 2] .. "\t" .. out[n * (n + 1) // 2 - 1]
  end)
end

-- A tensor of more than 32 modes: no vectors, and a message without the coordinate.
attempt(function() -- expect: 1 4 1 1 0
  local x, y = ones(f32, 64), zeros(f32, 64)
  x[1] = 4
  run(function(x, y)
    local shape, stride = {}, {}
    for i = 1, 33 do shape[i], stride[i] = cast(x[i], i32), i == 1 and 1 or 0 end
    copy(view(x, layout(shape, stride)), view(y, layout(shape, stride)))
  end, x, y)
  return ("%g %g %g %g %g"):format(y[0], y[1], y[2], y[3], y[4])
end)
attempt(function()
  local shape = {}
  for i = 1, 33 do shape[i] = i < 33 and 1 or 2 end
  run(function(x, i) x[i] = 1.0 end, zeros(f32, shape), 64)
end)
-- expect: out of bounds: write of x at offset 64 of 2, by thread (0,0,0) of block (0,0,0)

-- Offsets of a mode of more than 65536 elements are computed, not listed.
attempt(function() -- expect: 2 140000 0
  local x, y = arange(f32, 140002), zeros(f32, 140002)
  run(function(x, y)
    local l = layout(70001, 2)
    copy(view(x, l), view(y, l))
  end, x, y)
  return ("%g %g %g"):format(y[2], y[140000], y[1])
end)

-- The names of traces whose values are kept for too long are forgotten.
attempt(function()
  local kept, x = {}, zeros(f32, 1)
  kernel("first", function(x) kept.i = x[0] + 1 end){grid = 1, block = 1}(x)
  for _ = 1, 4096 do run(function(x) x[0] = 1 end, x) end
  run(function(x) x[0] = kept.i end, x)
end)
-- expect: a run-time value was made in another kernel and is used in kernel 'k' (tests/lua/kernel/limits.lua:75); it exists only while that kernel is traced

-- Names of more than 79 characters, of a kernel more than 119, are cut in CUDA C, and stay different.
attempt(function() -- expect: 119 79 79
  local long = ("n"):rep(90)
  local f = load(([[return function(x)
    local N1, N2 = fragment(f32, 2), fragment(f32, 2)
    N1[0], N2[0] = x[0], x[1]
    x[2] = N1[0] - N2[0]
  end]]):gsub("N", long), "=long")()
  local text = kernel(("k"):rep(200), f){grid = 1, block = 1}:source(zeros(f32, 4))
  local first, second = text:match("x%[2%] = (%w+)%[0%]%s+%- (%w+)_2%[0%]")
  return ("%d %d %d"):format(#text:match("\n(k+)%("), #first, #second)
end)

-- Modes with one tile at a coordinate that is known at run time.
local function corner(modes)
  return function()
    local shape, crd = {}, {}
    for i = 1, modes do shape[i] = 2 end
    local x = zeros(f32, shape)
    kernel("k", function(t, outside)
      for i = 1, modes do crd[i] = i == modes and outside or 0 * outside end
      local part = tile(guard(t), shape, crd)
      part[0] = 1.0
    end, {static_shapes = true}){grid = 1, block = 1}(x, 1)
    return x[0]
  end
end
attempt(corner(8)) -- expect: 0.0
local run_time = kernel("k", function(t, a)
  local crd, shape = {}, {}
  for i = 1, 9 do crd[i], shape[i] = a, 2 end
  local part = tile(guard(t), shape, crd)
  part[0] = 1.0
end, {static_shapes = true})
attempt(function() run_time{grid = 1, block = 1}(zeros(f32, {2, 2, 2, 2, 2, 2, 2, 2, 2}), 1) end)
-- expect: tile: more than 8 modes have one tile and a coordinate known at run time; write 0 for a coordinate of them
attempt(function()
  local x = zeros(f32, {3, 3, 3, 3, 3, 3, 3, 3, 3})
  run(function(t)
    local crd, shape = {}, {}
    for i = 1, 9 do crd[i], shape[i] = 0, 2 end
    local part = tile(guard(t), shape, crd)
    part[0] = 1.0
  end, x)
end)
-- expect: guard: more than 8 modes may overhang at once

-- Values of one printf.
attempt(function()
  run(function(x)
    local values = {}
    for i = 1, 17 do values[i] = x[0] end
    printf(("%d "):rep(17), table.unpack(values))
  end, zeros(i32, 1))
end)
-- expect: printf: more than 16 run-time values

-- Wrapped numbers that check follows, of all warps: 1024 threads have 32 warps, each with 16 numbers.
attempt(function() -- expect: offset_overflow	16384
  local k = kernel("k", function(x, y, big)
    local wrapped, sum = {}, 0.0
    for i = 1, 16 do wrapped[i] = (threadIdx.x + i) * big * 4 end
    sync_threads()
    for i = 1, 16 do sum = sum + x[wrapped[i]] end
    y[threadIdx.x] = sum
  end)
  local findings = check.run(function()
    k{grid = 1, block = 1024}(ones(f32, 64), zeros(f32, 1024), 1 << 30)
  end)
  local n = 0
  for _, finding in ipairs(findings) do n = n + finding.count end
  return findings[1].kind .. "\t" .. n
end)

-- Decisions that `ir` lists.
attempt(function() -- expect: 600
  local text = {"return function(x)\n"}
  for i = 1, 600 do text[#text + 1] = ("if %d > 0 then x[0] = %d end\n"):format(i, i) end
  local f = load(table.concat(text) .. "end", "=many")()
  local k = kernel("k", f)
  local _, n = k{grid = 1, block = 1}:ir(zeros(i32, 1)):gsub("static if", "")
  return n
end)

-- Options of the compiler, and what tells launches from each other.
local function options(n)
  return function()
    local list = {}
    for i = 1, n do list[i] = "-DN" .. i end
    kernel("k", function(x) x[0] = 1.0 end, {nvrtc_options = list})
    return n
  end
end
attempt(options(16)) -- expect: 16
attempt(options(17)) -- expect: kernel: nvrtc_options has 17 texts; at most 16 were expected
local function captures(n)
  return function()
    local ups, body = {}, {}
    for i = 1, n do
      ups[i] = ("local u%d = '%s'"):format(i, ("s"):rep(31))
      body[i] = ("local _ = #u%d"):format(i)
    end
    local text = ("%s\nreturn kernel('k', function(x) %s x[0] = 1.0 end)"):format(
      table.concat(ups, "\n"), table.concat(body, " "))
    local x = zeros(f32, 1)
    load(text)(){grid = 1, block = 1}(x)
    return x[0]
  end
end
attempt(captures(90)) -- expect: 1.0
attempt(captures(180)) -- expect: 1.0
attempt(function()
  local shape, many = {}, {}
  for i = 1, 20 do shape[i] = 1 + i // 20 end
  local x = zeros(f32, shape)
  for i = 1, 200 do many[i] = x end
  kernel("k", function(...) end, {static_shapes = true}){grid = 1, block = 1}(table.unpack(many))
end)
-- expect: the arguments, modes and captured values of this launch take more than 65536 bytes; pass or capture fewer

-- Modes of a tensor that TMA is asked for.
attempt(function()
  local shape, tiler, crd = {}, {}, {}
  for i = 1, 17 do shape[i], tiler[i], crd[i] = 2, i <= 2 and 2 or 1, 0 end
  kernel("k", function(A)
    local s, full = shared(f32, layout(4)), mbarrier(1, 1)
    if threadIdx.x == 0 then tma_load(tile(tma_tensor(A), tiler, crd), s, full[0]) end
  end, {static_shapes = true}){grid = 1, block = 32}(zeros(f32, shape))
end)
-- expect: tma_load: A has more than 16 modes; coalesce those that are adjacent
