-- help and apropos: of a name, a value, a topic, a method, a misspelt name, a word.

-- What f prints, and its error.
local function output(f, ...)
  local printed, print_before = {}, print
  _G.print = function(text) printed[#printed + 1] = text end -- luacheck: ignore 122
  local ok, message = pcall(f, ...)
  _G.print = print_before -- luacheck: ignore 122
  return table.concat(printed, "\n"), not ok and message:gsub("^[^ ]*:%d+: ", "") or nil
end

local function first_line(...)
  return (output(...):match("[^\n]*"):gsub("%s+", " "))
end

local function has(text, ...)
  local out = output(...)
  return out:find(text, 1, true) ~= nil
end

local function trouble(...)
  local _, message = output(...)
  return message
end

-- A name, as text and as the value.
print(first_line(help, "zipped_divide"))  -- expect: zipped_divide(l, tiler) algebra
print(first_line(help, zipped_divide))    -- expect: zipped_divide(l, tiler) algebra
print(output(help, "size") == output(help, size), first_line(help, " size() "))
-- expect: true	size(x[, mode]) layouts
print(first_line(help, f32), first_line(help, threadIdx), first_line(help, _))
-- expect: f32 tensors	threadIdx kernels	_ layouts
print(has("CuTe: zipped_divide. MoYe: zipped_divide.", help, "zipped_divide"))  -- expect: true
print(has("((2,4),(4,2)):((8,1),(16,4))", help, "zipped_divide"))               -- expect: true
print(first_line(help, "reference.matmul"))
-- expect: reference.matmul(A, B[, C]) tensors

-- Methods, by class or by an object of one.
print(first_line(help, "Layout.origin"), first_line(help, "layout:origin"),
  first_line(help, "L.origin"))
-- expect: Layout:origin() layouts	Layout:origin() layouts	Layout:origin() layouts
print(first_line(help, "map"), first_line(help, "store")) -- a method of one type
-- expect: Accumulator:map(f) products	Accumulator:store(t) products
print(has("ThrMMA.retile_A", help, "retile_A"), has("TiledMMA.retile_A", help, "retile_A"))
-- expect: true	true
print(first_line(help, "layout.named"))   -- expect: Layout:named(...) coordinates
print(first_line(help, "Kernel:prepare")) -- expect: Kernel:prepare(config) kernels

-- Values: what their type can do.
local k = kernel("nothing", function() end)
print(first_line(help, L"(4,8):(8,1)"), first_line(help, zeros(f32, 4)), first_line(help, k),
  first_line(help, k{grid = 1, block = 1}), first_line(help, shape"(2,3)"), first_line(help, E(0)))
-- expect: Layout layouts	Tensor tensors	Kernel kernels	Launch kernels	Tuple layouts	Basis layouts
print(has("zipped_divide", help, L"4:1"), has(".stride", help, L"4:1"))         -- expect: true	true

-- Topics.
print(first_line(help, "algebra"))
-- expect: algebra: composition, complement, inverses, divides, products
print(has("coalesce              Simplifies", help, "Algebra"))                -- expect: true
print(has("zipped_divide", help), has("sync_threads", help), has("types", help)) -- expect: true	true	true
local lines, widest = 0, 0
for line in output(help):gmatch("[^\n]+") do
  lines, widest = lines + 1, math.max(widest, #line)
end
print(lines < 70, widest <= 100)          -- expect: true	true

-- What is no name.
print(trouble(help, "zippd_divide"))
-- expect: help: there is no 'zippd_divide', did you mean 'zipped_divide'?
print(trouble(help, "pow"))  -- expect: help: there is no 'pow'; write x ^ y
print(trouble(help, "triton.next_power_of_2")) -- expect: help: there is no 'triton.next_power_of_2'; write a loop
print(trouble(help, "tlie"):match("mean (.-)%?"), trouble(help, "layuot"):match("mean (.-)%?"))
-- expect: 'tile'	'layout'
print(trouble(help, "xyzzy plugh"))
-- expect: help: there is no 'xyzzy plugh'; help() lists all names, apropos"xyzzy plugh" searches what they do
print(trouble(help, nil))
-- expect: help: that is nil, perhaps a misspelt name; help"name" finds the nearest one
print(trouble(help, 42), trouble(help, {}), trouble(help, function() end))
-- expect: help: a number is not a name of the language; help() lists them	help: a table is not a name of the language; help() lists them	help: a function is not a name of the language; help() lists them
print((output(help, string.format)), (output(help, "pairs")))
-- expect: string.format is Lua's own; its manual is www.lua.org/manual/5.4	pairs is Lua's own; its manual is www.lua.org/manual/5.4

-- Names of CuTe and MoYe.jl.
print(first_line(help, "local_tile"), first_line(help, "@parallelize"))
-- expect: local_tile is tile here	parallelize(t, threads, index[, proj]) work
print(first_line(help, "cute::local_tile"))         -- expect: local_tile is tile here
print(first_line(help, "elect.sync"))               -- expect: elect.sync is elect_one here
print(has("tile(t, tiler, coord[, proj])", help, "local_tile"))  -- expect: true
print(first_line(help, "make_layout"), first_line(help, "copyto!"), first_line(help, "get"))
-- expect: make_layout is layout or L or concat here	copyto! is copy here	get is get_mode here

-- Of a value of the library, what its type can do.
local add = kernel("add", function(a, b) b[0] = a[0] + a[1] end){grid = 1, block = 1}
local a, b = zeros(f32, 2), zeros(f32, 1)
print(first_line(help, tune(function() return add end, {n = {1}})),
  first_line(help, timeline(add, {}, a, b)))
-- expect: TunedFunction tune	Timeline pictures
print(first_line(help, sum_order(add, {b = {0}}, a, b)),
  first_line(help, trace(add, {b = {0}}, a, b)))
-- expect: SumOrder pictures	Trace pictures

-- apropos: names first, then what is about the word.
print(first_line(apropos, "inverse"))
-- expect: right_inverse The largest R with l(R(i)) = i for all i below its size.
print(has("tv_layout", apropos, "THREAD"), has("parallelize", apropos, "local_partition"))
-- expect: true	true
print((output(apropos, "xyzzy")))         -- expect: there is no help on 'xyzzy'; help() lists all names
print(trouble(apropos), trouble(apropos, 3))
-- expect: apropos: a word was expected, got nothing; write apropos"stride"	apropos: a word was expected, got a number; write apropos"stride"

-- Options: what has them. All of a launch are found.
print(first_line(help, "max_unroll"), has("`max_unroll`, by default 64", help, "max_unroll"))
-- expect: max_unroll is explained with	true
print(has("allclose", help, "rtol"), has("Kernel", help, "smem"), has("pipeline", help, "stages"))
-- expect: true	true	true
for name in io.open "interp/launch/launch_options.def":read "a":gmatch "\nX%([A-Z_]+, ([a-z_]+)" do
  if not pcall(output, help, name) then print("help does not know the option", name) end
end

-- Modules that the program has required: by name and by value, and a list of what they have.
local rows = require "cuttle.rows"
print(first_line(help, "rows.softmax"), first_line(help, rows.softmax))
-- expect: rows.softmax(x) rows	rows.softmax(x) rows
print(first_line(help, "cuttle.rows.group_norm"))
-- expect: rows.group_norm(x, groups, weight, bias, epsilon[, options]) rows
print(first_line(help, "rows.softmax_backward"), has("exp(x) / sum", help, rows.softmax_backward))
-- expect: rows.softmax_backward = row_kernel softmax_backward(dy, y)	true
print(has("rows.layer_norm ", help, "rows"), (pcall(help, "rows.nothing")))
-- expect: true	false
print(first_line(help, "selections.argsort"), (pcall(help, "selections.nothing")))
-- expect: selections.argsort(keys[, options]) selections	false
