-- A law: an input element whose change changes the output is among those that trace says were read.
-- Random kernels without conditions on values; each input element is changed in turn.
local N <const> = 16
local seed = 12345
local function draw(n) -- 0 .. n-1
  seed = (seed * 1103515245 + 12345) % (1 << 31)
  return (seed >> 8) % n
end

-- Texts of expressions over v and w, which hold values, and of statements that change them.
local ops = { "v + w", "v - 2 * w", "v * 3 + w", "w + 1", "max(v, w)", "-v + w" }
local steps = {
  function() return ("v = %s"):format(ops[draw(#ops) + 1]) end,
  function() return ("w = x[(i * %d + %d) %% N]"):format(draw(4) * 2 + 1, draw(N)) end,
  function() return ("w = y[(i + %d) %% N]"):format(draw(N)) end,
  function() return ("w = shfl_xor(v, %d)"):format(1 << draw(4)) end,
  function()
    local c = ("i %% %d == %d"):format(draw(3) + 2, draw(2))
    return ("local m = ballot(%s) if %s then w = cast(warp_reduce(cast(v * 8, i32), '%s', "
      .. "{mask = m}), f32) / 8 end"):format(c, c, draw(2) == 0 and "add" or "max")
  end,
  function()
    local c = ("i < %d"):format(draw(N) + 1)
    local first = "shfl_idx(w, ffs(m) - 1, {mask = m})"
    return ("local m = ballot(%s) if %s then w = %s end"):format(c, c, first)
  end,
  function() return ("v = v + cast(sync_threads_count(v > w + %d), f32)"):format(draw(3)) end,
  function() return ("s[i] = v sync() w = s[(i + %d) %% N] sync()"):format(draw(N)) end,
  function() return ("x[i] = v sync() w = x[(%d - i) %% N] sync()"):format(draw(N) + N) end,
  function() return ("for k = 0, %d do v = v + w * x[k] end"):format(draw(5)) end,
  function() return ("if i %% 3 == %d then v = w else w = w + v end"):format(draw(3)) end,
  function() return ("r[%d] = v w = r[%d]"):format(draw(2), draw(2)) end,
  function() return ("atomic_add(z, i %% %d, v) sync() w = z[%d]"):format(draw(4) + 1, draw(2)) end,
}

local function random_kernel()
  local body = {}
  for i = 1, 3 + draw(6) do body[i] = steps[draw(#steps) + 1]() end
  local text = ([[
local N, sync = ..., sync_threads
return kernel("k", function(x, y, z, out)
  local i = threadIdx.x
  local s, r = shared(f32, N), fragment(f32, 2)
  fill(r, 1)
  local v, w = x[i], y[i]
  %s
  out[i] = v + w
end)]]):format(table.concat(body, "\n  "))
  return assert(load(text, "=law"))(N), text
end

local function inputs()
  local t = { x = zeros(f32, N), y = zeros(f32, N), z = zeros(f32, N), out = zeros(f32, N) }
  for i = 0, N - 1 do
    t.x[i], t.y[i], t.z[i], t.out[i] = (i * 7) % 5 + 0.5, (i * 3) % 7 - 0.25, i % 3 + 0.125, 99
  end
  return t
end

local function output(k, t, at)
  k{grid = 1, block = N}(t.x, t.y, t.z, t.out)
  return t.out[at]
end

local n_read, n_changing, n_missing = 0, 0, 0
for _ = 1, 40 do
  local k, text = random_kernel()
  local at, t = draw(N), inputs()
  local found, traced = {}, trace(k{grid = 1, block = N}, {out = {at}}, t.x, t.y, t.z, t.out)
  for _, row in ipairs(traced.rows) do
    if row.kind == "reads" and row.space == "global" then found[row.tensor .. row.offset] = true end
  end
  for _ in pairs(found) do n_read = n_read + 1 end
  local was = output(k, inputs(), at)
  for _, name in ipairs{"x", "y", "z", "out"} do
    for i = 0, N - 1 do
      local changed = inputs()
      changed[name][i] = changed[name][i] + 100
      if output(k, changed, at) ~= was then
        n_changing = n_changing + 1
        if not found[name .. i] then
          n_missing = n_missing + 1
          print(("%s[%d] is missing of out[%d] in\n%s"):format(name, i, at, text))
        end
      end
    end
  end
end
print(n_missing)
-- expect: 0
print(n_changing > 100, n_changing <= n_read)
-- expect: true	true
