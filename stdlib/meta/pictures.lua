---@meta _
-- Topic: pictures: layouts drawn and explained

--- Draws a layout in the terminal.
--- Rows are mode 0, columns mode 1, and lines are drawn where nested modes begin. Results of an
--- operation are drawn with their operands, thread-value layouts with the owner of each place.
--- Options: `operands` (false: the result only), `tile` (the shape of a thread-value layout's
--- tile), `rows`, `cols` (modes), `width` (characters), `utf8`, `ansi` (true or false: box drawing,
--- colours; else as the terminal is), `text` (true: returns the text), `color`, `bits`, `title`,
--- `max_cells`, `max_panels` (see docs/pictures.md).
---
---     > show("(4,4):(4,1)", {utf8 = false})
---     (4,4):(4,1)
---          0   1   2   3
---       +----------------+
---     0 |  0   1   2   3 |
---     1 |  4   5   6   7 |
---     2 |  8   9  10  11 |
---     3 | 12  13  14  15 |
---       +----------------+
--- CuTe: print_layout. MoYe: print_layout.
--- See: explain.
---@param x Layout|Swizzle|Tensor|Atom|TiledMMA|TiledCopy|string
---@param options? table
function show(x, options) end

--- Says what a layout or part does: modes, origin, vectors, who owns what.
--- Options: `thread` (one thread's elements), `coord` (who owns an element, or where it lies),
--- `offset` (what lies there), `tile` (the shape of a thread-value layout's tile), `dtype` (of
--- vectors, which begin where the layout does), `text` (true: returns the text).
---
---     > explain"(4,2):(1,8)"
---     layout        (4,2):(1,8)
---     modes         0       4:1  contiguous
---                   1       2:8  steps of 8 elements
---     contiguity    runs of 4 elements in memory
---     vectors       f32: 4 elements in one access (128 bits)
---                   f16: 4 elements in one access (64 bits)
---     coverage      offsets 0..11: 4 missed, 0 more than once
---                   missed: 4..7
--- CuTe: none. MoYe: none.
---@param x Layout|Tensor|Atom|TiledMMA|TiledCopy|string
---@param options? table
function explain(x, options) end

--- Writes a picture as SVG to a file and returns its name.
--- Without a file it returns the text. Options are those of show but `width` and `text`, and
--- `color` (what gives the colour), `bits` (of an element, for `color = "bank"`), `title`.
---
---     > svg("(4,8):(8,1)"):match("<svg")
---     <svg
---     > path = os.tmpname()
---     > svg("(4,8):(8,1)", path) == path
---     true
---     > os.remove(path)
---     true
--- CuTe: print_svg. MoYe: none.
---@param x Layout|Swizzle|Tensor|Atom|TiledMMA|TiledCopy|string
---@param file? string
---@param options? table
---@return string
function svg(x, file, options) end

--- Writes a picture as a LaTeX document in TikZ and returns its name.
--- Without a file it returns the text. Options are those of svg, and `standalone` (false: only the
--- tikzpicture).
---
---     > latex("(4,8):(8,1)", {standalone = false}):match("tikzpicture")
---     tikzpicture
--- CuTe: print_latex. MoYe: none.
---@param x Layout|Swizzle|Tensor|Atom|TiledMMA|TiledCopy|string
---@param file? string
---@param options? table
---@return string
function latex(x, file, options) end

--- Writes a picture as a page that answers to mouse and keys.
--- Returns the file's name, or without a file the text. Hover shows coordinate, offset, thread,
--- value and bank; a click on a thread shows its cells alone. The page is one file that needs no
--- network. Options are those of svg.
---
---     > html("(4,8):(8,1)"):match("<html")
---     <html
--- CuTe: none. MoYe: none.
--- See: `cuttle view 'zipped_divide("(8,8):(8,1)", "(2,4)")'` on the command line.
---@param x Layout|Swizzle|Tensor|Atom|TiledMMA|TiledCopy|string
---@param file? string
---@param options? table
---@return string
function html(x, file, options) end

--- Counts what kernels do, line by line, as a GPU would do it.
--- Runs f on the CPU engine. The result prints as a table of requests, sectors, bank conflicts, vector
--- widths with the reason why they are not wider, divergence, arithmetic, occupancy and a roofline, of
--- TMA what each tensor map takes from L2;
--- `kernels` has the figures, `:json()` and `:html([file])` print them, `:patterns([space])` lists what
--- lanes access. Options: `sm` (90) and `device` ("H100") of occupancy and roofline.
---
---     > strided = kernel("strided", function(x, y) y[threadIdx.x] = x[threadIdx.x * 2] end)
---     > p = profile(strided:prepare{grid = 1, block = 32}(zeros(f32, 64), zeros(f32, 32)))
---     > p.kernels[1].totals.global_load_sectors
---     8
--- CuTe: none. MoYe: none.
--- See: `cuttle profile script.lua` on the command line; docs/debugging.md.
---@param f function a launcher of k:prepare, or what launches kernels
---@param options? table
---@return table
function profile(f, options) end

--- Finds out how one element of a tensor came about.
--- The launch runs on the CPU engine, on copies of its tensors. The result prints as a list of lines,
--- each with the elements that it read and wrote on the way to this one, and the threads that did.
--- Values only: conditions and indices are not followed. In global memory a trace ends at what the
--- block, or its cluster, has not written itself. Fields: `rows`, each with `kind` ("reads", "writes",
--- "computes", or "zeros": a box brings 0 from outside the tensor), `chunk`, `line`, `block`, `thread`,
--- `tensor`, `offset`, `owner` (the block whose shared memory it is, where that is another), `times`;
--- the same by `blocks` and their `lines`; `tensors`, by name; `open_ends`, what other blocks may have
--- written before it was read here.
---
---     > twice = kernel("twice", function(x, y) y[threadIdx.x] = x[threadIdx.x] * 2 end)
---     > x, y = arange(f32, 8), zeros(f32, 8)
---     > trace(twice{grid = 1, block = 8}, {y = {5}}, x, y).rows[1].kind
---     reads
---     > #trace(twice:prepare{grid = 1, block = 8}(x, y), {y = {5}}).blocks
---     1
--- CuTe: none. MoYe: none.
---@param launch table a configuration `k{...}`, or a launcher of k:prepare
---@param element table as `{C = {5, 7}}`
---@param ... any the launch's arguments; a launcher has its own
---@return Trace
function trace(launch, element, ...) end

--- What trace found.
---@class Trace
local Trace = {}

--- Writes a trace as a page that answers to mouse and keys.
--- Returns the file's name; without a file, the page as a text. It shows the source with the lines
--- that had a part, the threads and the elements of all tensors that were touched: pointing at one
--- marks what belongs to it.
---
---     > twice = kernel("twice", function(x) x[threadIdx.x] = x[threadIdx.x] * 2 end)
---     > t = trace(twice{grid = 1, block = 8}, {x = {5}}, arange(f32, 8))
---     > t:html():match("<title>.*</title>")
---     <title>x(5) - trace</title>
--- CuTe: none. MoYe: none.
---@param file? string
---@return string
function Trace:html(file) end

--- Shows who works and who waits in one block of a launch, and for what.
--- The launch runs on the CPU engine, on copies of its tensors. Times are those of a model in cycles,
--- not measured: docs/hopper.md says which. Rows are roles, warps of a warp group that wait at the same
--- lines; then products by wgmma on a tensor core, and copies by TMA, by their slots. Prints as text;
--- `t:svg(file)` draws it. Fields: `cycles`, `rows` with `name` and `bars`, `products`, `copies`,
--- `stores`, `busy` (the tensor core's share), `model`. Options: `block` ({0, 0, 0}); `model`, a table of
--- what to change in it.
---
---     > one_box = kernel("one_box", function(A, y)
---     >>   local s, full = shared(A.dtype, row_major{32, 32}), mbarrier(1, 1)
---     >>   sync_threads()
---     >>   if threadIdx.x == 0 then
---     >>     full[0]:arrive_expect_tx(32 * 32 * 4)
---     >>     tma_load(tile(tma_tensor(A), {32, 32}, {0, 0}), s, full[0])
---     >>   elseif threadIdx.x >= 32 then
---     >>     full[0]:wait(0)
---     >>     y[threadIdx.x] = s[{0, threadIdx.x % 32}]
---     >>   end
---     >> end)
---     > x, y = rand(f32, row_major{32, 32}), zeros(f32, 64)
---     > t = timeline(one_box:prepare{grid = 1, block = 64}(x, y))
---     > t.rows[2].name, #t.copies, t.model.copy
---     warp 1  1       600
--- CuTe: none. MoYe: none.
--- See: `cuttle timeline script.lua` on the command line; `cuttle check` and trace, which say what is
--- wrong.
---@param launch table a launcher of k:prepare, or a configuration `k{...}`
---@param options? table
---@param ... any the launch's arguments; a launcher has its own
---@return Timeline
function timeline(launch, options, ...) end

--- When what happened.
---@class Timeline
local Timeline = {}

--- Draws a timeline as SVG: rows of bars over an axis of cycles.
--- Returns the file's name; without a file, the text. Pointing at a bar shows its lines and cycles.
--- Options: `from`, `to`, the cycles that are shown; `width` of the axis.
---
---     > k = kernel("meet", function() sync_threads() end)
---     > timeline(k:prepare{grid = 1, block = 64}()):svg():match("<title>(.-)</title>")
---     timeline of block (0,0,0)
--- CuTe: none. MoYe: none.
---@param file? string
---@param options? table
---@return string
function Timeline:svg(file, options) end
