---@meta _
-- Topic: launch: devices, streams, random seeds, time

--- Describes the current device; with a name, chooses that device first.
--- The name is "auto", "cpu", "cpu:8", "cuda" or "cuda:1". New tensors are made on the current
--- device, and kernels run on it. Tensors stay where they were made; `t:to(name)` copies a tensor to
--- another device.
--- "cpu:8" makes the CPU engine act as 8 devices (at most 256) for a mesh, with their tensors on
--- the host. The result is a table with `name` and `n_devices`, the largest number of devices for a
--- mesh. With CUDA, that is the number of devices in the machine; under torchrun, mpirun or srun,
--- it is the number of processes. For a CUDA device, the table also has `ordinal`, `sm`, `n_sms`,
--- `memory_bytes` and `shared_bytes` (per block); for the CPU engine, `threads` and `isa`.
---
---     > device("cpu:8").n_devices
---     8
---     > device("cpu").name
---     CPU engine
--- CuTe: none. MoYe: CUDA.device.
---@param name? string
---@return table
function device(name) end

--- The names of the available devices; "cpu" is always the first.
--- If virtual devices are in use, "cpu:8" follows.
---
---     > devices()[1]
---     cpu
--- CuTe: none. MoYe: CUDA.devices.
---@return string[]
function devices() end

--- A queue of launches on the current device.
--- `k{grid =, block =, stream = s}` launches in stream `s`, and the launches of one stream run in
--- order. `s:close()` frees the stream. On the CPU engine, a launch has finished when it returns,
--- so streams do not overlap there.
--- CuTe: cudaStream_t. MoYe: CuStream.
---@return Stream
function stream() end

--- A queue of launches on a device.
---@class Stream
local Stream = {}

--- Waits until all launches of the stream are done.
function Stream:synchronize() end

--- Makes later launches in this stream wait for an event.
---@param event Event
function Stream:wait(event) end

--- Frees the stream.
function Stream:close() end

--- A mark in a stream, to wait for or to measure time from.
--- The event belongs to the current device. On the CPU engine, it holds the time at which it was
--- recorded.
--- CuTe: cudaEvent_t. MoYe: CuEvent.
---@return Event
function event() end

--- A mark in a stream.
---@class Event
local Event = {}

--- Places the mark after the launches made so far; returns the event.
--- Without a stream, the device's own stream is meant.
---@param stream? Stream
---@return Event
function Event:record(stream) end

--- Makes later launches wait, on the device, until the mark is reached.
--- Without a stream, the device's own stream is meant.
---@param stream? Stream
function Event:wait(stream) end

--- Waits until the mark is reached.
function Event:synchronize() end

--- The time from this mark to another one, in milliseconds.
--- It waits until the other mark is reached.
---@param stop Event
---@return number
function Event:elapsed(stop) end

--- Frees the event.
function Event:close() end

--- Waits until all launches on all devices are done.
---
---     > synchronize()
--- CuTe: cudaDeviceSynchronize. MoYe: CUDA.synchronize.
function synchronize() end

--- Records the launches of a function, to launch them all with one call.
--- `f(...)` is called at once, but its work does not run. Its launches, copies between tensors,
--- `clear`, `zeros` and events become the graph, and so does everything that ranks do in an m:run
--- inside f. `g()` launches everything with one driver call for each device, so the host causes
--- no delays between short kernels. `g(...)` with other arguments calls `f` once more and
--- launches the new recording. The CPU engine runs the parts in order. `f` must not wait, nor
--- read or write elements, and its kernels must not print.
---
---     > step = kernel(function(x, c) x[threadIdx.x] = x[threadIdx.x] * c + 1 end)
---     > x = zeros(f32, 4)
---     > g = graph(function(c) for i = 1, 3 do step{grid = 1, block = 4}(x, c) end end, 2.0)
---     > g()
---     > x[0]
---     7.0
---     > g(1.0)
---     > x[0]
---     10.0
---     > g
---     graph of 3 launches on cpu
--- CuTe: cudaGraph_t. MoYe: CUDA.@captured.
---@param f function a function that launches kernels
---@param ... any its arguments
---@return Graph
function graph(f, ...) end

--- Recorded launches; `g(...)` launches them.
---@class Graph
---@operator call: nil
local Graph = {}

--- Frees the graph, and the memory and kernels that nothing else uses.
function Graph:close() end

--- Restarts the sequence of `rand` and `randn`.
--- A program starts with seed 0.
---
---     > manual_seed(7)
---     > x = rand(f32, 4)
---     > manual_seed(7)
---     > allclose(x, rand(f32, 4), {rtol = 0, atol = 0})
---     true
--- CuTe: none. MoYe: Random.seed!.
---@param n integer
function manual_seed(n) end

--- The time of one call of f, in milliseconds.
--- The result is the median over batches of consecutive calls, after one call that is not timed.
--- A CUDA device is timed with two events, and the CPU engine with the clock. The options are
--- `reps`, the number of calls per batch (by default, as many as run in about 20 ms), and
--- `batches` (by default 5). Where a command asks what a script does, and not how long it takes, as
--- `cuttle check` and `cuttle emit` do, f is called once.
---
---     > ms, fastest, slowest = bench(function() layout{4, 8} end, {reps = 10})
---     > fastest <= ms and ms <= slowest
---     true
--- CuTe: none. MoYe: CUDA.@elapsed.
---@param f function a launcher from k:prepare, or any other function
---@param options? table
---@return number # the median, in milliseconds
---@return number # the fastest batch
---@return number # the slowest batch
function bench(f, options) end

--- Compiles handwritten CUDA C for the current device, for comparison.
--- `k{grid =, block =, smem =}(args...)` launches the kernel. Tensors are passed as pointers,
--- integers as `int`, and floats as `float`.
--- CuTe: none. MoYe: none.
---@param name string the name of the `extern "C" __global__` function
---@param source string
---@param options? string[] options for NVRTC
---@return CudaKernel
function cuda_kernel(name, source, options) end

--- A kernel in CUDA C.
---@class CudaKernel
---@operator call(table): function
local CudaKernel = {}

--- A table with `registers`, `local_bytes` (per thread) and `compile_ms`.
---@return table
function CudaKernel:info() end

--- Writes kernels as plain C files, for programs without Lua.
--- It returns the paths of NAME.h, NAME.c and NAME_test.c. `what` is a kernel, a launch
--- configuration `k{grid = ..., block = ...}`, or a function that launches kernels, for example by
--- calling `matmul`. Each example is a list of arguments. It is launched on the CPU engine and
--- produces one specialisation. The options are `name` (by default the kernel's), `dir`, `sm`
--- ("80,90a"; by default "90a") and, for a kernel, `grid`, `block` and the other launch options.
--- `grid` may be a function of the arguments. `cpu = true` adds the CPU twin, and `run = false`
--- records launches without running them. NVRTC compiles the kernels; docs/export.md explains the
--- files. Example: `export(k, {{2.0, x, y}}, {grid = 1, block = 256, sm = "80,90a", dir = "out"})`.
--- A list of tensors among the arguments is an error, and so is a kernel that compiles for none of
--- the capabilities.
--- CuTe: AOT export of CuTe DSL (export_to_c). MoYe: none.
---@param what any a kernel, a launch configuration or a function
---@param examples table[] lists of arguments
---@param options? table
---@return string # NAME.h
---@return string # NAME.c
---@return string # NAME_test.c
function export(what, examples, options) end
