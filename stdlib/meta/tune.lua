---@meta _
-- Topic: tune: the fastest configuration of a kernel

--- Makes a function that runs with the fastest of many configurations.
--- `f(config)` returns what runs with a configuration: a function of the arguments that launches
--- kernels, or `k{grid = ..., block = ...}`. `tuned(...)` calls that of the best configuration for
--- these arguments. The first call with a new key tries the configurations on copies of the
--- tensors. The result goes to a file, so the next program finds it. The key says the type and shape
--- of each tensor.
---
--- On a GPU a configuration is refused if it fails, spills registers or computes something else than
--- the first one. The others are timed in random order; the slower half leaves after each round. If
--- there is no GPU, a model of one ranks them, and `tune` says so. Ctrl-C ends the search with the
--- best so far.
---
--- The space is `{bM = {64, 128}, stages = range(2, 5)}`, a list of configurations, or an iterator
--- of them. Options: `where` is a function of the configuration and the arguments, which says what
--- is allowed. `key` has numbers of arguments, as `{1, 2}`, or is a function of them. With
--- `unknown = "nearest"` a key without a result takes that of the nearest key, or else the first
--- configuration; "tune" is the default. `file` and `name` say where the result is kept, and how it
--- is called there. With `budget = 10` the model chooses 10 configurations, and only these are
--- timed. `reference` is a function of the arguments that computes what is right. `tolerance` is that
--- of allclose; with `bits = true` results may not differ in a bit. `bits = {n = 32}`, a
--- configuration of the space, or `bits = order`, what sum_order gave, keeps only those that add in
--- the same order; `tried` then says at which level another one differs. `device` is the GPU of the
--- model.
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

--- A function that tune made; it prints the results that it knows.
---@class TunedFunction
local TunedFunction = {}

--- The configuration that these arguments would run with.
--- Without a result for their key it tunes, as a call does. The result has `how` ("measured",
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
--- `t.tried` then lists the configurations, each with `config`, `text`, and `ms` or
--- `predicted_ms`, or `why` it was refused. `t.runs` says how often a GPU ran one, and `t.seconds`
--- how long all took.
---@param ... any
---@return table # the configuration
---@return table # the result
function TunedFunction:tune(...) end
