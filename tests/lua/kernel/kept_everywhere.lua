-- A value kept from a kernel, used on the host, in another kernel and in a later trace of the same
-- one: each use is an error that names the kernel it was made in and the place where it is used.
-- needs sm_80
local K = {}

-- What a kernel makes, by kind.
local makers = {
  tensor = function(x) return x end,
  shared = function() return shared(f32, {4, 8}) end,
  fragment = function() return fragment(f32, 4) end,
  tile = function(x) return tile(x, {8}, {0}) end,
  guarded = function(x) return guard(x) end,
  coordinates = function(x) return identity_tensor(size(x)) end,
  value = function() return threadIdx.x + 1 end,
  condition = function(x) return x[0] > 1.0 end,
  half = function(x)
    local half = x[0] > 1.0 and 2.0
    return function() return half or 3.0 end
  end,
  layout = function(x) return x.layout end,
  range = function(x) return range(size(x)) end,
  mbarrier = function() return mbarrier(1, 32) end,
  ["one mbarrier"] = function() return mbarrier(2, 32)[1] end,
  ["pipeline state"] = function() return pipeline_state(2) end,
  ["named barrier"] = function() return named_barrier(1, 32) end,
  variable = function(x)
    local n = 0
    if x[0] > 1.0 then n = 1 end
    return function() return n end
  end,
  assigned = function(x)
    local n = 0
    if x[0] > 1.0 then n = 1 end
    return function(v) n = v return n end
  end,
}

local function names(list)
  local uses = {}
  for name in list:gmatch("%S+") do
    uses["." .. name] = function(v) return v[name] end
  end
  return uses
end

local function with(uses, more)
  for name, use in pairs(more) do uses[name] = use end
  return uses
end

local prints = {tostring = tostring, print = function(v) print(v) end}
local pictures = {show = show, svg = svg, html = html, latex = latex}
local passes = {argument = function(v) K.copy{grid = 1, block = 32}(v) end}

local fields = names "shape stride layout dtype name device size rank"
local tensor_uses = with(with(with(fields, prints), pictures), {
  explain = explain,
  ["t[0]"] = function(t) return t[0] end,
  ["t[{0}]"] = function(t) return t[{0}] end,
  ["t[0] ="] = function(t) t[0] = 1.0 end,
  ["t()"] = function(t) return t(_) end,
  ["#t"] = function(t) return #t end,
  size = size, rank = rank, shape = shape, cosize = cosize, coalesce = coalesce,
  tile = function(t) return tile(t, {2}, {0}) end,
  parallelize = function(t) return parallelize(t, layout(2), 0) end,
  zipped_divide = function(t) return zipped_divide(t, {2}) end,
  guard = function(t) return guard(t) end,
  copy = function(t) copy(t, t) end,
  fill = function(t) fill(t, 1) end,
  clear = function(t) clear(t) end,
  axpby = function(t) axpby(1.0, t, 0.0, t) end,
  view = function(t) return view(t, layout(2)) end,
  recast = function(t) return recast(t, u32) end,
  cast = function(t) return cast(t, f64) end,
  fragment_like = function(t) return fragment_like(t) end,
  totable = function(t) return t:totable() end,
  to = function(t) return t:to("cpu") end,
  close = function(t) t:close() end,
  sin = function(t) return sin(t) end,
  atomic_add = function(t) atomic_add(t, 0, 1.0) end,
})

local value_uses = with(with({
  ["+"] = function(v) return v + 1 end,
  ["1 -"] = function(v) return 1 - v end,
  ["-"] = function(v) return -v end,
  ["<"] = function(v) return v < 3 end,
  index = function(v) return L"4:1"(v) end,
  call = function(v) return max(v, 1) end,
  cast = function(v) return cast(v, f32) end,
  shape = function(v) return layout{4, v} end,
}, prints), passes)

local uses = {
  tensor = with({}, passes), shared = with({}, passes), fragment = {}, tile = {}, guarded = {},
  coordinates = {},
  value = value_uses,
  condition = with({lnot = function(c) return where(c, 1, 0) end}, prints),
  half = {["or"] = function(h) return max(h(), 1) end},
  layout = with(with(with(with({}, prints), pictures), {
    explain = explain,
    ["l(0)"] = function(l) return l(1) end, size = size, shape = shape, coalesce = coalesce,
    [".size"] = function(l) return l:size() end,
    compose = function(l) return composition(l, layout(2)) end,
    ["=="] = function(l) return l == layout(2) end,
    values = function(l) return l:values() end,
  }), {}),
  range = with({["for"] = function(r) for i in r do print(i) end end}, prints),
  mbarrier = with(with(names "wait arrive", {
    ["m[0]"] = function(m) return m[0] end,
    wait = function(m) m:wait(0) end, test = function(m) return m:test(0) end,
    arrive = function(m) m:arrive() end, expect_tx = function(m) m:expect_tx(16) end,
    arrive_expect_tx = function(m) m:arrive_expect_tx(16) end,
  }), prints),
  ["pipeline state"] = with(with(names "slot parity", {
    advance = function(s) s:advance() end,
  }), prints),
  ["named barrier"] = with({
    sync = function(b) b:sync() end, arrive = function(b) b:arrive() end,
  }, prints),
  variable = {call = function(f) return f() end},
  assigned = {call = function(f) f(1) end},
}
uses["one mbarrier"] = uses.mbarrier
for _, kind in ipairs{"tensor", "shared", "fragment", "tile", "guarded", "coordinates"} do
  with(uses[kind], tensor_uses)
end

-- What refuses any tensor, or the host, without a look at the value.
local function refuses_anyway(message, place)
  return message:find("'#' of a tensor", 1, true) or
         (place == "on the host" and (message:find("exists only inside a kernel", 1, true) or
                                      message:find("a number was expected", 1, true)))
end

local function kept(kind)
  local first = kernel("first", function(x)
    if K.is_making then K.v = makers[kind](x) else K.use(K.v) end
  end)
  K.is_making = true
  first{grid = 1, block = 32}(zeros(f32, 32))
  K.is_making = false
  return first
end

local places = {
  {"on the host", function(use) use(K.v) end},
  {"in kernel 'second'", function(use)
    K.use = use
    kernel("second", function(x) K.use(K.v) x[0] = 1.0 end){grid = 1, block = 32}(zeros(f32, 32))
  end},
  {"in a later trace of it", function(use, first)
    K.use = use
    first{grid = 1, block = 32}(zeros(f64, 32))
  end},
}

K.copy = kernel("copy", function(x) x[0] = 1.0 end)
local order, n = {}, 0
for kind in pairs(makers) do order[#order + 1] = kind end
table.sort(order)
for _, kind in ipairs(order) do
  local first = kept(kind)
  for name, use in pairs(uses[kind]) do
    for i = 1, name == "argument" and 1 or #places do
      local place = places[i]
      local ok, message = pcall(place[2], use, first)
      message = tostring(message)
      n = n + 1
      local says = message:find("made in kernel 'first' (", 1, true) and
                   (message:find(" is used " .. place[1], 1, true) or name == "argument")
      local has_line = message:find("^[^:]+:%d+: ")
      if ok or not has_line or not (says or refuses_anyway(message, place[1])) then
        print(kind, name, place[1], ok, message)
      end
    end
  end
end
print(n > 700) -- expect: true
