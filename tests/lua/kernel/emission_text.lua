-- What variants of emission change in the text: the order of arrays, which loops are unrolled, which
-- numbers are pinned, and the most registers that a block may ask for.
local function source(body, emission, block, ...)
  return kernel("k", body, { emission = emission }){ grid = 1, block = block }:source(...)
end

-- Arrays in each order: turned, and reversed where the number is even.
local function arrays(order)
  local text = source(function(x)
    local a, b, c = shared(f32, 32), shared(f32, 32), shared(f32, 32)
    a[threadIdx.x], b[threadIdx.x], c[threadIdx.x] = x[0], x[1], x[2]
    sync_threads()
    x[threadIdx.x] = a[0] + b[1] + c[2]
  end, { order = order }, 32, zeros(f32, 64))
  local names = {}
  for name in text:gmatch "__shared__[^\n]* (%w+)%[32%];" do names[#names + 1] = name end
  return table.concat(names)
end
for order = 1, 7 do print(order, arrays(order)) end
-- expect: 1	abc
-- expect: 2	cba
-- expect: 3	bca
-- expect: 4	bac
-- expect: 5	cab
-- expect: 6	acb
-- expect: 7	abc

-- Innermost loops are unrolled, unless the script says how. What is in a branch counts; a loop of which
-- the script says how it is unrolled does not.
local function loops(emission)
  local text = source(function(x, y, n)
    local s = 0.0
    for a in range(n) do s = s + x[a] end
    for b in range(n) do
      for c in range(n) do s = s + x[c * b] end
    end
    for d in range(n) do
      if d > 3 then s = s + 1.0 else for e in range(n) do s = s + x[d * e] end end
    end
    for f in range(n) do
      if f > 3 then for g in range(n) do s = s + x[f * g] end end
    end
    for h in range(n, { unroll = 4 }) do s = s + x[h] end
    for k in range(n) do
      for l in range(8, { unroll = 8 }) do s = s + x[k + l] end
    end
    for m in range(n) do
      local w = 0
      while x[w] > s do w = w + 1 end
      s = s + x[m + w]
    end
    y[threadIdx.x] = s
  end, emission, 32, zeros(f32, 64), zeros(f32, 32), 5)
  local list = {}
  for pragma, name in text:gmatch "([^\n]*)\n *for %(int (%w+)" do
    list[#list + 1] = name .. (pragma:match "#pragma unroll *(%d*)" or "-")
  end
  return table.concat(list, " ")
end
print(loops {})             -- expect: a- b- c- d- e- f- g- h4 k- l8 m-
print(loops { unroll = 2 }) -- expect: a2 b- c2 d- e2 f- g2 h4 k2 l8 m-

-- Whole numbers that are computed outside of loops are pinned, in registers of their size.
local function pinned(emission)
  local text = source(function(x, n)
    local i = threadIdx.x * 3 + n
    local far = cast(threadIdx.x, i64) * 5 + n
    local scale = cast(i, f32) * 0.5
    local s = 0.0
    for a in range(n) do
      local inside = a * 3 + i
      s = s + x[inside] * scale
    end
    x[threadIdx.x] = s + cast(far, f32)
  end, emission, 32, zeros(f32, 64), 5)
  local list = {}
  for kind, name in text:gmatch 'asm%("" : "%+(%w)"%((%w+)%)%);' do
    list[#list + 1] = kind .. " " .. name
  end
  return table.concat(list, ", ")
end
print(pinned {} == "", pinned { pin = true }) -- expect: true	r i, l far

-- As many registers as a block may have, and one more.
local function registers(n, block)
  return pcall(source, function(x) x[threadIdx.x] = 1.0 end, { registers = n }, block,
    zeros(f32, 512))
end
print((registers(128, 512)), (registers(129, 512))) -- expect: true	false
