-- What marks put into a kernel's text: at which waits and lines, room for how many warps; which
-- session counts; and that a launch takes no kernel that was traced with other marks.
package.path = "tests/support/?.lua;" .. package.path
local tap = dofile "tests/support/tap.lua"
local internal = require "internal"
local marks = require "cuttle.marks"
if device().sm then device "cpu" end
local x = zeros(f32, 256)

local function source(options, k, ...)
  return marks.with(options, nil, function(...) return k:source(...) end, ...)
end

local function count(options, k, ...)
  return select(2, source(options, k, ...):gsub("\n *mark_record", ""))
end

-- Waits that leave no text have no marks: those for copies that no thread makes. Barriers of
-- parts of a block have some.
local idle = kernel("idle", function(t)
  cp_async_wait(0)
  t[threadIdx.x] = 1.0
end){ grid = 1, block = 64 }
tap.is(count({ waits = true }, idle, x), 0, "a wait that leaves no text")
local named = kernel("named", function(t)
  named_barrier(1, 64):sync()
  t[threadIdx.x] = 1.0
end){ grid = 1, block = 64 }
tap.is(count({ waits = true }, named, x), 2, "a barrier of some")
tap.is(count({}, named, x), 0, "without waits")

-- Lines are those of the kernel's own file.
local help = load("\n\nreturn function(t) t[threadIdx.x] = 2.0\nt[threadIdx.x + 64] = 3.0 end",
  "=h")()
local function line_of(k) return tonumber(source({}, k, x):match "marks_text.lua:(%d+)") end
local k = kernel("lines", function(t)
  help(t)
  t[threadIdx.x] = t[threadIdx.x] + 1.0
end){ grid = 1, block = 64 }
local first = line_of(k)
tap.is(count({ lines = { first + 2 } }, k, x), 1, "a line of this file")
tap.is(count({ lines = { 3, 4 } }, k, x), 0, "lines of another file")
tap.is(count({ lines = { 3, first + 2, first + 5 } }, k, x), 1, "and others")
tap.is(count({ lines = { first + 5 } }, k, x), 0, "the list of lines matters")
tap.is(count({}, k, x), 0, "and that there is none")

-- Room for the records of each thread, warp by warp.
for block, n_warps in pairs { [32] = 1, [33] = 2, [96] = 3, [256] = 8 } do
  local text = source({ waits = true }, kernel("rooms", function(t) t[threadIdx.x] = 1.0 end){
    grid = 1, block = block }, x)
  tap.is(tonumber(text:match "rooms_marks%[(%d+)%];"), 8 + n_warps * (40 + 8192 + 31 * 256),
    ("words for %d threads"):format(block))
  tap.ok(text:find(("mark_begin(rooms_marks, %d, 8192, 256)"):format(n_warps), 1, true) ~= nil,
    ("warps of %d threads"):format(block))
end

-- Sessions end in any order; the innermost that is open counts.
local noted = kernel("noted", function(t)
  mark "here"
  sync_threads()
  t[threadIdx.x] = 1.0
end){ grid = 1, block = 64 }
local function n_now() return select(2, noted:source(x):gsub("\n *mark_record", "")) end
local function close(session) getmetatable(session).__close(session) end
local outer = internal.watch.marks_begin({ waits = true })
local inner = internal.watch.marks_begin({})
local innermost = internal.watch.marks_begin({ waits = true })
tap.is(n_now(), 3, "the innermost")
close(inner)
tap.is(n_now(), 3, "is not changed by another that ends")
close(outer)
close(innermost)
tap.is(n_now(), 0, "what was closed does not come back")
outer, inner = internal.watch.marks_begin({}), internal.watch.marks_begin({ waits = true })
close(inner)
tap.is(n_now(), 1, "the outer one counts again")
close(outer)
tap.is(n_now(), 0, "and then none")
tap.done()
