-- Each picture of the documents that shows who owns an element, held against a kernel on the CPU
-- engine: thread t notes which element it finds as its value v. A picture that no row of `found`
-- knows fails.
local picture = require "cuttle.picture"

local ELEMENT <const> = f32 -- holds the number of an element

-- {====== What kernels find: lists of (element -> sorted "T0V1 T8V1") ======

-- out[thread][value] as a table from the element's coordinate to its owners.
local function owners_of(out, shape)
  local who = {}
  for t = 0, size(out, 0) - 1 do
    for v = 0, size(out, 1) - 1 do
      local element = out[{ t, v }]
      if element >= 0 then
        local crd = tostring(idx2crd(math.tointeger(element), shape))
        who[crd] = who[crd] or {}
        table.insert(who[crd], ("T%dV%d"):format(t, v))
      end
    end
  end
  for crd, list in pairs(who) do
    table.sort(list)
    who[crd] = table.concat(list, " ")
  end
  return who
end

-- part(t) is the running thread's part of a tensor t of this shape, which is static, and type.
local function find(shape, n_threads, n_values, part, dtype)
  local numbers = arange(dtype or ELEMENT, shape)
  local out = full(ELEMENT, { n_threads, n_values }, -1.0)
  kernel("find", function(t, found)
    local mine = part(view(t, layout(shape)))
    for v = 0, n_values - 1 do found[{ threadIdx.x, v }] = cast(mine(v), ELEMENT) end
  end) { grid = 1, block = n_threads }(numbers, out)
  return owners_of(out, shape)
end

local function find_tv(tv, shape)
  return { find(shape, size(tv, 0), size(tv, 1), function(t)
    return composition(t, tv)(threadIdx.x, _)
  end) }
end

local function find_mma(mma)
  local mnk, slice = mma:tile_shape(), mma:get_slice(0)
  local m, n, k = mnk[1], mnk[2], mnk[3]
  local shapes, panels = { A = { m, k }, B = { n, k }, C = { m, n } }, {}
  for i, letter in ipairs { "A", "B", "C" } do
    local method = "partition_" .. letter
    local n_values = size(slice[method](slice, zeros(ELEMENT, shapes[letter])))
    panels[i] = find(shapes[letter], mma.threads, n_values, function(t)
      local mine = mma:get_slice(threadIdx.x)
      return mine[method](mine, t)
    end)
  end
  return panels
end

local function find_copy(copier)
  local panels, shape = {}, copier:tile_shape()
  for i, method in ipairs { "partition_S", "partition_D" } do
    local slice = copier:get_slice(0)
    local n_values = size(slice[method](slice, zeros(copier.atom.dtype, shape)))
    panels[i] = find(shape, copier.threads, n_values, function(t)
      local mine = copier:get_slice(threadIdx.x)
      return mine[method](mine, t)
    end, copier.atom.dtype)
  end
  return panels
end

-- What ldmatrix brings to the registers of each thread, in the order of retile_D.
local function find_ldmatrix(copier, mma)
  local panels, shape = find_copy(copier), { 16, 16 }
  panels[2] = find(shape, 32, 8, function(t)
    local s = shared(f16, row_major(shape))
    for i = threadIdx.x, 255, 32 do s[i] = t[i] end
    sync_threads()
    local load = copier:get_slice(threadIdx.x)
    local registers = mma:get_slice(threadIdx.x):partition_fragment_A(s)
    copy(copier, load:partition_S(s), load:retile_D(registers))
    return load:retile_D(registers)
  end, f16)
  return panels
end

-- {====== The pictures, by file or by what is typed ======

local function tiled(tv) return (tv) end
local vectors = atom("UniversalCopy<u128>", f32)
local one = tiled_mma "SM80_16x8x16_F32F16F16F32_TN"
local page = { -- variables of docs/layouts.md
  tv = L "((2,4),(2,2)):((8,1),(4,16))",
  by_rows = tiled_copy(atom("UniversalCopy<u64>", f16), "(4,2):(2,1)", "(1,4)"),
}

local found = {
  ["owners.svg"] = function()
    return find_tv(tiled(tv_layout("(4,2):(2,1)", "(2,2):(2,1)")), { 8, 4 })
  end,
  ["tutorial_threads.svg"] = function()
    return find_tv(tiled(tv_layout(layout { 2, 4 }, layout { 2, 1 })), { 4, 4 })
  end,
  ["tutorial_copy.svg"] = function()
    return { find({ 16, 8 }, 32, 4, function(t)
      return parallelize(t, layout { 8, 4 }, threadIdx.x)
    end) }
  end,
  ["tutorial_tiled_copy.svg"] = function()
    return find_copy(tiled_copy(vectors, layout { 4, 16 }, layout { 4, 1 }))
  end,
  ["tutorial_tiled_mma.svg"] = function()
    return find_mma(tiled_mma("UniversalFMA<f32>", { 8, 4 }))
  end,
  ["tutorial_atom.svg"] = function() return find_mma(one) end,
  ["tutorial_ldmatrix.svg"] = function()
    return find_ldmatrix(tiled_copy_A(atom("SM75_U32x4_LDSM_N", f16), one), one)
  end,
  ['show("(2,3):(1,2)", {tile = {4, 2}})'] = function()
    return find_tv(L "(2,3):(1,2)", { 4, 2 })
  end,
  ['show("(2,2):(1,1)", {tile = {4}})'] = function() return find_tv(L "(2,2):(1,1)", { 4 }) end,
  ['show(parallelize("(4,4)", row_major{2, 2}, 1))'] = function()
    return { find({ 4, 4 }, 4, 4, function(t)
      return parallelize(t, row_major { 2, 2 }, threadIdx.x)
    end) }
  end,
  ["show(parallelize(layout{4, 2}, layout{2, 2}, 1, {1, _}))"] = function()
    return { find({ 4, 2 }, 4, 4, function(t)
      return parallelize(t, layout { 2, 2 }, threadIdx.x, { 1, _ })
    end) }
  end,
  ["show(tv, {tile = {4, 8}})"] = function() return find_tv(page.tv, { 4, 8 }) end,
  ['show(atom"SM80_8x8x4_F64F64F64F64_TN", {width = 100})'] = function()
    return find_mma(tiled_mma "SM80_8x8x4_F64F64F64F64_TN")
  end,
  ['show(tiled_mma("UniversalFMA<f32>", {4, 2}))'] = function()
    return find_mma(tiled_mma("UniversalFMA<f32>", { 4, 2 }))
  end,
  ["show(by_rows)"] = function() return find_copy(page.by_rows) end,
}

-- {====== What the documents show ======

local function lines_of(path)
  local lines = {}
  for line in io.lines(path) do lines[#lines + 1] = line end
  return lines
end

-- "thread 3 value 1, threads 16 to 31 value 0" as "T3V1 T16V0 ...", sorted.
local function owners_in(tip)
  local list = {}
  for first, last, value in tip:gmatch("threads? (%d+)%s?t?o?%s?(%d*) value (%d+)") do
    for t = tonumber(first), tonumber(last) or tonumber(first) do
      list[#list + 1] = ("T%dV%s"):format(t, value)
    end
  end
  table.sort(list)
  return table.concat(list, " ")
end

-- The panels of an SVG file by what pointing at a cell says; each begins at coordinate 0.
local function panels_of_svg(path)
  local panels, text = {}, table.concat(lines_of(path), "\n")
  for crd, tip in text:gmatch("<title>coordinate (%S+), (.-)</title>") do
    if crd:find("^[%(0,%)]+$") then panels[#panels + 1] = {} end
    local owners = owners_in(tip)
    panels[#panels][crd] = owners ~= "" and owners or nil
  end
  return panels
end

-- The panels of what is typed, and its picture as a text.
local function panels_of_input(input)
  local model, text
  local environment = setmetatable({ show = function(x, options)
    options = picture.options(options, x)
    model = picture.of(x, { tile = options and options.tile })
    text = show(x, { text = true, utf8 = true, tile = options and options.tile,
                     width = options and options.width })
  end }, { __index = function(_, name) return page[name] or _G[name] end })
  load(input, "=input", "t", environment)()
  local panels = {}
  for i, panel in ipairs(model.panels) do
    panels[i] = {}
    for _, cell in ipairs(panel.cells) do
      local list = {}
      for k, owner in ipairs(cell.owners) do
        list[k] = ("T%dV%d"):format(owner.thread, owner.value)
      end
      table.sort(list)
      panels[i][cell.crd] = #list > 0 and table.concat(list, " ") or nil
    end
  end
  return panels, text
end

-- The first coordinate where two panels differ, as a text; nil if they are the same.
local function difference(shown, truth)
  for _, pair in ipairs { { shown, truth }, { truth, shown } } do
    for crd in pairs(pair[1]) do
      if shown[crd] ~= truth[crd] then
        return ("%s: shown %s, found %s"):format(crd, shown[crd], truth[crd])
      end
    end
  end
end

local n_held = 0

local function hold(name, panels)
  local truth = assert(found[name], name .. " shows owners; hold it against a kernel here")()
  assert(#panels == #truth, name)
  for i, panel in ipairs(panels) do
    local problem = difference(panel, truth[i])
    if problem then print(("%s, panel %d, %s"):format(name, i, problem)) end
  end
  found[name], n_held = nil, n_held + 1
end

-- The pictures of the pages, as their examples draw them.
local pages = os.tmpname()
os.remove(pages)
os.execute(("'%s' scripts/run_docs.lua --cuttle='%s' --built=%s %s >%s.tap"):format(arg[-1],
  arg[-1], pages, "docs/pictures.md docs/tutorial.md", pages))
for file in io.popen(("ls %s/docs/pictures/*.svg"):format(pages)):lines() do
  if table.concat(lines_of(file), "\n"):find "threads? %d+[ to%d]* value" then
    hold(file:match "[^/]+$", panels_of_svg(file))
  end
end
os.execute(("rm -r %s %s.tap"):format(pages, pages))

-- Inputs of the prompt whose output shows owners, in all pages.
for file in io.popen("ls docs/*.md README.md"):lines() do
  local input, output = nil, {}
  local function finish()
    local text = table.concat(output, "\n")
    if input and text:find("│.*T%d+V%d") then
      local panels, drawn = panels_of_input(input)
      assert(text == drawn, file .. ": " .. input .. " shows another picture")
      hold(input, panels)
    end
    input, output = nil, {}
  end
  for _, line in ipairs(lines_of(file)) do
    if line:find("^> ") or line:find("^```") then
      finish()
      input = line:match("^> (.*)$")
    else
      output[#output + 1] = line
    end
  end
end

print(n_held, next(found)) -- expect: 15	nil
