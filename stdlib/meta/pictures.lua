---@meta _
-- Topic: pictures: layouts drawn and explained

--- Draws a layout in the terminal.
--- Rows are mode 0 and columns are mode 1; a line shows where a nested mode begins again. The
--- result of an operation is drawn with its operands, and a thread-value layout with the owner of
--- each element.
---
--- With `operands = false`, only the result is drawn. `tile` is the shape of a thread-value
--- layout's tile. `thread` is the thread whose part is highlighted; a part knows its own thread.
--- `rows` and `cols` are the modes to draw as rows and columns, and `width` is the width in
--- characters. `utf8` and `ansi` switch box drawing and colours on or off; the default depends on
--- the terminal. With `text = true`, show returns a string. `color`, `bits`, `title`, `max_cells`
--- and `max_panels` are described in docs/pictures.md.
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

--- Explains a layout or part: its modes, origin, vectors and owners.
--- The option `thread` lists one thread's elements, `coord` says who owns an element or where it
--- is, and `offset` lists the elements at an offset. `tile` is the shape of a thread-value layout's
--- tile. `dtype` is the element type for vectors, which are assumed to begin where the layout does.
--- With `text = true`, explain returns a string. In a kernel, run-time values appear as `?`, and
--- only static modes are explained.
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
---@param x Layout|Tensor|Atom|TiledMMA|TiledCopy|Accumulator|string
---@param options? table
function explain(x, options) end

--- Writes a picture as SVG to a file, and returns the file's name.
--- Without a file, it returns the picture's source. The options are those of show except `width`
--- and `text`, and in addition `color` (what the colour means), `bits` (the width of an element,
--- for `color = "bank"`) and `title`. For a launch, svg draws one block at one step, chosen by the
--- options `block`, `thread` and `step`.
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

--- Writes a picture as a LaTeX document in TikZ; returns the file's name.
--- Without a file, it returns the source. The options are those of svg, and `standalone` (false:
--- only the tikzpicture).
---
---     > latex("(4,8):(8,1)", {standalone = false}):match("tikzpicture")
---     tikzpicture
--- CuTe: print_latex. MoYe: none.
---@param x Layout|Swizzle|Tensor|Atom|TiledMMA|TiledCopy|string
---@param file? string
---@param options? table
---@return string
function latex(x, file, options) end

--- Writes a picture as an interactive page.
--- It returns the file's name or, without a file, the page as a string. Point at a cell to see its
--- coordinate, offset, thread, value and bank; click on a thread to see only its cells. The page is
--- one file and needs no network. The options are those of svg.
---
--- For a launch, the page shows what its threads access. Point at a block, a thread or an element
--- to see its part of each tensor, step by step. The launch runs on the CPU engine, on copies of
--- its tensors.
---
---     > html("(4,8):(8,1)"):match("<html")
---     <html
---     > twice = kernel("twice", function(x) x[threadIdx.x] = x[threadIdx.x] * 2 end)
---     > html(twice:prepare{grid = 1, block = 8}(ones(f32, 8))):match("<title>(.-)</title>")
---     twice{grid = 1, block = 8}
--- CuTe: none. MoYe: none.
--- See: `cuttle view 'zipped_divide("(8,8):(8,1)", "(2,4)")'` on the command line;
--- `cuttle view script.lua --launch=1`.
---@param x Layout|Swizzle|Tensor|Atom|TiledMMA|TiledCopy|string|function a launcher from k:prepare
---@param file? string
---@param options? table
---@return string
function html(x, file, options) end

--- Counts what kernels would do on a GPU, line by line.
--- profile runs f on the CPU engine. The result prints as a table of requests, sectors, bank
--- conflicts, divergence, arithmetic, and vector widths with the reason why they are not wider.
--- Below are the occupancy, a roofline and, for TMA, each tensor map's traffic from L2. The field
--- `kernels` has the figures, and `:json()` and `:html([file])` print them. `:patterns([space])`
--- lists what lanes access. The option `sm` is 90 by default, and `device`, such as "H100", is by
--- default a device with this sm. They determine occupancy, roofline and predicted time. With
--- `sass = true`, each kernel also has a field `sass`: the instructions of its hot loop, line by
--- line.
---
---     > strided = kernel("strided", function(x, y) y[threadIdx.x] = x[threadIdx.x * 2] end)
---     > p = profile(strided:prepare{grid = 1, block = 32}(zeros(f32, 64), zeros(f32, 32)))
---     > p.kernels[1].totals.global_load_sectors
---     8
--- CuTe: none. MoYe: none.
--- See: `cuttle profile script.lua` on the command line; docs/debugging.md.
---@param f function a launcher from k:prepare, or a function that launches kernels
---@param options? table
---@return table
function profile(f, options) end

--- Writes a launch to a file, for `replay`.
--- The launch does not run now; `replay` or `cuttle replay` runs it later. The file contains the
--- kernel's IR, the layouts and numbers of the arguments, the grid and the block, and the source of
--- the kernel's scripts. With `{data = true}`, it also contains the tensors' elements; without it,
--- a replay starts with zeros. Tensors that overlap still overlap in a replay.
--- A graph that was recorded on the CPU engine can be written, too, with its streams and events.
---
---     > twice = kernel("twice", function(x, y) y[threadIdx.x] = x[threadIdx.x] * 2 end)
---     > x, y = arange(f32, 8), zeros(f32, 8)
---     > file = os.tmpname()
---     > capture(twice:prepare{grid = 1, block = 8}(x, y), file, {data = true})
---     > launch, args = replay(file)
---     > launch()
---     > args[2][5]
---     10.0
---     > os.remove(file)
---     true
--- CuTe: none. MoYe: none.
--- See: docs/replay.md.
---@param launch function|Graph a launcher from k:prepare, or a graph
---@param file string
---@param options? table
function capture(launch, file, options) end

--- Reads a launch from a file that `capture` or CUTTLE_CAPTURE wrote.
--- The first result is a launcher like those of k:prepare: call it, or pass it to `profile`,
--- `trace` or `timeline`. The second result is a table of the launch's arguments on the current
--- device; it leaves out constants, and entries of tables are separate arguments. The third is a
--- table of further information: `kernel`, `chunk`, `line`, `grid`, `block`, `device`, `why`,
--- `has_data`, and `left_out`, a text that says what of the file was not used. For a graph, the
--- second result is a list of its regions of memory, as tensors of u8, and the third has
--- `launches`, a list of such tables, and `left_out`. Files from unknown authors are safe to read.
--- With `{trust = true}`, you declare that you trust the author. Then the file's options and CUDA C
--- are passed to NVRTC, and the launch's memory is not limited.
---
---     > twice = kernel("twice", function(x, y) y[threadIdx.x] = x[threadIdx.x] * 2 end)
---     > file = os.tmpname()
---     > capture(twice:prepare{grid = 1, block = 8}(ones(f32, 8), zeros(f32, 8)), file)
---     > launch, args, info = replay(file)
---     > info.kernel, info.has_data, args[1][0]
---     twice   false   0.0
---     > os.remove(file)
---     true
--- CuTe: none. MoYe: none.
--- See: `cuttle replay FILE` on the command line; docs/replay.md.
---@param file string
---@param options? table
---@return function
---@return table
---@return table
function replay(file, options) end

--- Finds out where the value of one tensor element comes from.
--- The launch runs on the CPU engine, on copies of its tensors. The result prints as a list of the
--- script's lines, with the threads, and the elements that each line read and wrote on the way to
--- this element. trace follows only values, not conditions or indices. In global memory, it ends
--- at elements that neither the block nor its cluster wrote.
---
--- The field `rows` has the list; `blocks` has the same rows for each block and its `lines`.
--- `tensors` has the tensors by name. `open_ends` has the elements that other blocks may have
--- written before they were read here. A row has `kind`, `chunk`, `line`, `block`, `thread`,
--- `tensor`, `offset` and `times`. `kind` is "reads", "writes", "computes", or "zeros" if a box
--- loads 0 from outside the tensor. `owner` is the block that owns the shared memory, if that is
--- another block.
---
---     > twice = kernel("twice", function(x, y) y[threadIdx.x] = x[threadIdx.x] * 2 end)
---     > x, y = arange(f32, 8), zeros(f32, 8)
---     > trace(twice{grid = 1, block = 8}, {y = {5}}, x, y).rows[1].kind
---     reads
---     > #trace(twice:prepare{grid = 1, block = 8}(x, y), {y = {5}}).blocks
---     1
--- CuTe: none. MoYe: none.
---@param launch table a configuration `k{...}`, or a launcher from k:prepare
---@param element table a tensor's name and a coordinate, such as `{C = {5, 7}}`
---@param ... any the arguments; for a launcher, which has its own, `{html = FILE}` to write the page
---@return Trace
function trace(launch, element, ...) end

--- Finds the order in which one element of a tensor was summed.
--- The launch runs on the CPU engine, as for `trace`. The tree of the sum is built from a record
--- of how each value was computed. The order prints as levels, from the result down. A level is a
--- group of additions, in order or in pairs, and shows what combined the terms; or it is a chain of
--- fma, or an mma instruction with its k. Atomic additions have no fixed order, and the output says
--- so. The order within an mma is not examined.
---
---     > sum = kernel("sum", function(x, y)
---     >>   local s = x[0]
---     >>   for i = 1, 7 do s = s + x[i] end
---     >>   y[0] = s
---     >> end)
---     > order = sum_order(sum{grid = 1, block = 1}, {y = {0}}, arange(f32, 8), zeros(f32, 1))
---     > order.n_terms, #order.levels, order.levels[1].how, order.levels[1].n
---     8       1       in order        8
--- CuTe: none. MoYe: none.
--- See: help"same_order", help"trace".
---@param launch table a configuration `k{...}`, or a launcher from k:prepare
---@param element table a tensor's name and a coordinate, such as `{C = {5, 7}}`
---@param ... any the launch's arguments; a launcher has its own
---@return SumOrder
function sum_order(launch, element, ...) end

--- What sum_order returns: the order in which an element was summed.
--- The field `how` of a level is "in order", "in pairs", "in no fixed order" or "on the way".
---@class SumOrder
---@field levels table a list of {op, how, n, by, distance, k, chunk, line}, from the result down
---@field tree table nodes {op =, operands...}; the leaves have `tensor`, `offset` and `crd`
---@field n_terms integer the number of terms
---@field is_fixed boolean false if atomics or several blocks write the element
---@field tensor string the name of the parameter
---@field element string its coordinate
local SumOrder = {}

--- Whether two elements were summed in the same order.
--- If so, equal terms give equal bits. It does not matter which threads add. The elements may come
--- from elsewhere in their tensor, for example from another row, if all are shifted by the same
--- distance. The order of an addition's operands matters. An order that is not fixed, as with
--- atomics, never compares equal, even to itself.
---
---     > sum = kernel("sum", function(x, y)
---     >>   y[threadIdx.x] = x[{threadIdx.x, 0}] + x[{threadIdx.x, 1}] + x[{threadIdx.x, 2}]
---     >> end)
---     > x, y = ones(f32, {4, 3}), zeros(f32, 4)
---     > launch = sum:prepare{grid = 1, block = 4}(x, y)
---     > same_order(sum_order(launch, {y = {0}}), sum_order(launch, {y = {3}}))
---     true
--- CuTe: none. MoYe: none.
--- See: help"sum_order"; docs/numerics.md.
---@param a SumOrder
---@param b SumOrder
---@return boolean
---@return string? where they differ
function same_order(a, b) end

--- The result of trace.
---@class Trace
local Trace = {}

--- Writes the trace as an interactive page.
--- It returns the file's name or, without a file, the page as a string. The page shows the source
--- with the contributing lines, the threads, and all elements that were touched. Point at a line, a
--- thread or an element to highlight what belongs to it.
---
---     > twice = kernel("twice", function(x) x[threadIdx.x] = x[threadIdx.x] * 2 end)
---     > t = trace(twice{grid = 1, block = 8}, {x = {5}}, arange(f32, 8))
---     > t:html():match("<title>.*</title>")
---     <title>x(5) - trace</title>
--- CuTe: none. MoYe: none.
---@param file? string
---@return string
function Trace:html(file) end

--- Shows which warps of a block work, which wait, and for what.
--- The launch runs on the CPU engine, on copies of its tensors. Times are cycles of a model, which
--- docs/hopper.md describes; with `device = true`, they are measured too. Each row is a role: the
--- warps of a warp group that wait at the same lines. Below are rows for wgmma products and for TMA
--- copies, slot by slot. The timeline prints as text, and `t:svg(file)` draws it.
---
--- The result has the fields `cycles`, `rows` (with `name` and `bars`), `products`, `copies`,
--- `stores`, `busy` (the share of time in which the tensor cores work) and `model`. The option
--- `block` is {0, 0, 0} by default. `model` is a table of model parameters to change. `marks`
--- lists up to 64 lines of the script to show as `mark`s. With `device = true`, the launch also
--- runs on copies of its tensors, on the GPU that has these tensors, and its warps record when
--- they reach waits and marks. `measured` then has `cycles`, `mhz`, `rows`, and the number of
--- records that were `dropped` for lack of space. Each row has `marks`, each with `at` and a
--- `name` or `line`.
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
--- See: `cuttle timeline script.lua` on the command line; help"mark", help"trace".
---@param launch table a launcher from k:prepare, or a configuration `k{...}`
---@param options? table
---@param ... any the launch's arguments; a launcher has its own
---@return Timeline
function timeline(launch, options, ...) end

--- The result of timeline: what happened when.
---@class Timeline
---@field measured table with `device`: what a GPU needed, as rows in ns
---@field ranks table the ranks that ran, if any did
local Timeline = {}

--- Draws the timeline as SVG: rows of bars over an axis of cycles.
--- It returns the file's name or, without a file, the source. Point at a bar to see its cycles and
--- its lines of the script. The options are `from` and `to`, the range of cycles to show, and
--- `width`, the width of the axis. Without `width`, the picture fills the browser's window.
---
---     > k = kernel("meet", function() sync_threads() end)
---     > timeline(k:prepare{grid = 1, block = 64}()):svg():match("<title>(.-)</title>")
---     timeline of block (0,0,0)
--- CuTe: none. MoYe: none.
---@param file? string
---@param options? table
---@return string
function Timeline:svg(file, options) end

--- Draws the timeline as a page that responds to mouse and keyboard.
--- It returns the file's name or, without a file, the page. Point at a bar to see its cycles and
--- its lines of the script, and to mark the other bars of these lines. The options are those of
--- `svg`.
---
---     > k = kernel("meet", function() sync_threads() end)
---     > timeline(k:prepare{grid = 1, block = 64}()):html():match("<title>(.-)</title>")
---     timeline of block (0,0,0)
--- CuTe: none. MoYe: none.
---@param file? string
---@param options? table
---@return string
function Timeline:html(file, options) end

--- Lists what each role does, and for which share of the time.
--- The last string says what the percentages refer to.
---
---     > k = kernel("meet", function() sync_threads() end)
---     > timeline(k:prepare{grid = 1, block = 64}()):shares()[1]
---     warps 0-1: waits for sync_threads 91 %, work 9 %
--- CuTe: none. MoYe: none.
---@return string[]
function Timeline:shares() end

--- What the terminal that `print` writes to can show.
--- The result has `columns`, its width in characters (nil if that is not known), `utf8`, whether its
--- characters are UTF-8, and `color`, whether it shows colours. The environment variables COLUMNS,
--- NO_COLOR, TERM, LC_ALL, LC_CTYPE and LANG are obeyed. A file or a pipe shows no colours.
---
---     > type(terminal().utf8)
---     boolean
--- CuTe: none. MoYe: none.
--- See: show.
---@return table # `{columns =, utf8 =, color =}`
function terminal() end

--- Writes a text to a file, whole or not at all.
--- Whoever reads the file meanwhile finds the old text or the new one. The file gets its name only
--- when all of the text is written, so if that fails, the old file stays. A sandboxed script
--- cannot write files.
---
---     > path = os.tmpname()
---     > write_file(path, "(4,8):(8,1)")
---     true
---     > io.open(path):read("a")
---     (4,8):(8,1)
---     > os.remove(path)
---     true
--- CuTe: none. MoYe: none.
---@param path string
---@param text string bytes
---@return boolean? # true; nil if it cannot be written
---@return string? # why it cannot
function write_file(path, text) end
