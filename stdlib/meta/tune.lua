---@meta _
-- Topic: tune: the fastest configuration of a kernel

--- Makes a function that runs in the fastest of many configurations.
--- `f(config)` returns a launch configuration `k{grid = ..., block = ...}`, or a function of the
--- arguments that launches kernels in this configuration. `tuned(...)` calls what `f` returned for
--- the configuration that is best for these arguments. The first call with a new key tries the
--- configurations on copies of the tensors. The result is written to a file, where the next program
--- finds it. The key is the type and shape of each tensor.
---
--- On a GPU, a configuration is refused if it fails, spills registers or computes results that
--- differ from those of the first configuration. The others are timed in random order; the slower
--- half drops out after each round. If there is no GPU, a model of a GPU ranks the configurations,
--- and `tune` says so. Ctrl-C ends the search and keeps the best result so far.
---
--- The space is a table of lists, such as `{bM = {64, 128}, stages = range(2, 5)}`; a list of
--- configurations; or an iterator over configurations. The option `where` is a function of the
--- configuration and the arguments that returns whether the configuration is allowed. `key` lists
--- the numbers of the arguments that matter, such as `{1, 2}`, or is a function of the arguments.
--- With `unknown = "nearest"`, a key without a result uses the result of the nearest key or, if
--- there is none, the first configuration; the default is "tune". `file` is where results are kept,
--- and `name` is this function's name there. With `budget = 10`, the model chooses 10
--- configurations, and only these are timed. `reference` is a function of the arguments that
--- computes the right results. `tolerance` is the same as in allclose; with `bits = true`, results
--- must be bit-identical. If `bits` is a configuration of the space, such as `{n = 32}`, or a
--- result of sum_order, only configurations that add in the same order are kept. `tried` then has
--- the level at which each of the others differs. `device` is the GPU that the model describes.
---
---     > function paint(config)
---     >>   local k = kernel("paint", function(x) x[blockIdx.x * config.n + threadIdx.x] = 1.0 end)
---     >>   return function(x) k{grid = size(x) // config.n, block = config.n}(x) end
---     >> end
---     > tuned = tune(paint, {n = {32, 64}}, {unknown = "nearest", name = "paint"})
---     > tuned
---     paint: 2 configurations, no results
---     > x = zeros(f32, 256)
---     > tuned(x)
---     > x[255]
---     1.0
--- CuTe: none. MoYe: none.
--- See: `cuttle tune script.lua` on the command line; docs/tune.md.
---@param f fun(config: table): function|table
---@param space table|function
---@param options? table
---@return TunedFunction
function tune(f, space, options) end

--- A function made by tune; printing it shows its known results.
---@class TunedFunction
---@field tried table what the latest search tried, as `t:tune` says
---@field runs integer how many runs on a GPU it made
---@field seconds number the total time that it took
local TunedFunction = {}

--- The configuration in which these arguments would run.
--- If the key of these arguments has no result yet, config tunes, as a call does. The result has
--- `how` ("measured", "partial" or "predicted"), `ms`, `device`, `driver` and `key`; it is nil if
--- nothing is known.
---
---     > t = tune(function(c) return function() end end, {n = {32, 64}}, {unknown = "nearest"})
---     > t:config(zeros(f32, 8)).n
---     32
--- CuTe: none. MoYe: none.
---@param ... any
---@return table # the configuration
---@return table? # the result
function TunedFunction:config(...) end

--- Tunes for these arguments, even if a result is known.
--- `t.tried` then lists the configurations, each with `config`, `text`, and `ms` or `predicted_ms`,
--- or with the reason `why` it was refused. `t.runs` is how many runs on a GPU there were, and
--- `t.seconds` is the total time.
---@param ... any
---@return table # the configuration
---@return table # the result
function TunedFunction:tune(...) end
