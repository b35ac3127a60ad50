---@meta _
-- Topic: tune: the fastest configuration of a kernel

--- Makes a function that runs with the fastest of many configurations.
--- `f(config)` returns a function of the arguments that launches kernels with this configuration,
--- or `k{grid = ..., block = ...}`. `tuned(...)` calls that of the best configuration for these
--- arguments. The first call with a new key tries the configurations on copies of the tensors. The
--- result goes to a file, where the next program finds it. The key is the type and shape of each
--- tensor.
---
--- On a GPU a configuration is refused if it fails, spills registers or computes other results than
--- the first one. The others are timed in random order; the slower half drops out after each round.
--- If there is no GPU, a model of one ranks them, and `tune` says so. Ctrl-C ends the search with
--- the best so far.
---
--- The space is `{bM = {64, 128}, stages = range(2, 5)}`, a list of configurations, or an iterator
--- of them. Options: `where` is a function of the configuration and the arguments, and returns
--- whether the configuration is allowed. `key` has numbers of arguments, such as `{1, 2}`, or is a
--- function of them. With `unknown = "nearest"` a key without a result uses that of the nearest
--- key, or else the first configuration; "tune" is the default. `file` is where the result is kept,
--- and `name` its name there. With `budget = 10` the model chooses 10 configurations, and only
--- these are timed. `reference` is a function of the arguments that computes the right results.
--- `tolerance` is as in allclose; with `bits = true` results must be bit-identical.
--- `bits = {n = 32}`, a configuration of the space, or `bits = order`, a result of sum_order, keeps
--- only those that add in the same order; `tried` then has the level at which another one differs.
--- `device` is the GPU of the model.
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

--- A function that tune made; it prints its known results.
---@class TunedFunction
local TunedFunction = {}

--- The configuration that these arguments would run with.
--- Without a result for their key it tunes, like a call. The result has `how` ("measured",
--- "partial" or "predicted"), `ms`, `device`, `driver` and `key`; it is nil if nothing is known.
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
--- or `why` it was refused. `t.runs` is how often a GPU ran one, and `t.seconds` the total time.
---@param ... any
---@return table # the configuration
---@return table # the result
function TunedFunction:tune(...) end
