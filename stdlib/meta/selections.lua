---@meta cuttle.selections
-- Topic: selections: scans, sorts and choices of whole tensors; require "cuttle.selections"
-- The elements of a tensor must be adjacent, in row-major order. The last of several modes is the
-- row, and each row is treated on its own. docs/selections.md has options and examples.
local selections = {} ---@class cuttle.selections

--- Combines, for each element, all elements up to it.
--- The operation is "add", "mul", "min", "max", "and", "or", "xor" or an associative function. With
--- options: `exclusive` leaves out the element itself, `init` is what an exclusive scan begins with,
--- `offsets` or `heads` give segments, `deterministic` fixes the order.
---
---     > require "cuttle.selections".scan(from_table(i32, {3, 1, 4}))
---     tensor i32 (3):(1) on cpu
---         3    4    8
---@param x Tensor
---@param operation? string|function "add" if it is not given
---@param options? table `exclusive`, `init`, `offsets`, `heads`, `deterministic`, `out`, `stream`
---@return Tensor # of x's shape
function selections.scan(x, operation, options) end

--- The keys in ascending order, and the values in the same order.
--- The order is stable, and NaN comes last. Values may have any type.
---@param keys Tensor
---@param values? Tensor
---@param options? table `descending`, `offsets`, `out`, `stream`
---@return Tensor # the keys
---@return Tensor # the values, if there are some
function selections.sort(keys, values, options) end

--- Where the elements go when they are sorted.
---@param keys Tensor
---@param options? table as of selections.sort
---@return Tensor # their places in order, i32
function selections.argsort(keys, options) end

--- The largest k elements of each row, the largest first.
---@param x Tensor
---@param k integer at most 2048
---@param options? table `smallest`, `out`, `stream`
---@return Tensor # the elements, (..., k)
---@return Tensor # their columns, i32
function selections.top_k(x, k, options) end

--- The elements that are kept, side by side, and how many they are.
--- The first result has room for all; what comes after the last kept element is not written.
---@param x Tensor
---@param keep Tensor|function flags, or a function (v, i) of an element and its place
---@param options? table `out`, `stream`
---@return Tensor # the elements
---@return Tensor # how many, one element
function selections.compact(x, keep, options) end

--- The places of the flags that are not 0, and how many they are.
---@param flags Tensor bools or integers
---@param options? table `out`, `stream`
---@return Tensor # the places
---@return Tensor # how many, one element
function selections.positions(flags, options) end

--- The runs of equal neighbours: the first element and the length of each.
---@param x Tensor
---@param options? table `out`, `stream`
---@return Tensor # the elements, with room for all
---@return Tensor # the lengths
---@return Tensor # how many runs, one element
function selections.runs(x, options) end

--- The different elements in order, and how often each occurs.
---@param x Tensor
---@param options? table `out`, `stream`
---@return Tensor # the elements, with room for all
---@return Tensor # how often
---@return Tensor # how many, one element
function selections.unique(x, options) end

--- How many elements are in each bin.
--- histogram(x, bins, low, high) has even bins, and histogram(x, edges) those between the edges.
---@param x Tensor
---@param bins integer|Tensor how many, or their edges in ascending order
---@param low? number
---@param high? number
---@param options? table `out`, `stream`
---@return Tensor # the counts, i32
function selections.histogram(x, bins, low, high, options) end

--- What the elements of each segment make.
---@param x Tensor
---@param operation string|function as of selections.scan
---@param options table `offsets` or `heads`; `init`, which a function needs; `out`, `stream`
---@return Tensor # one element for each segment
---@return Tensor # with heads: how many segments, one element
function selections.segment_reduce(x, operation, options) end

--- The rows of x, by its first mode, that an index names.
---@param x Tensor
---@param index Tensor i32 or i64
---@param options? table `out`, `stream`
---@return Tensor
function selections.gather(x, index, options) end

--- Adds row i of x to row index[i] of y.
--- It uses atomic operations; `deterministic` sorts the index first, so that the bits stay the same.
---@param y Tensor
---@param index Tensor i32 or i64
---@param x Tensor
---@param options? table `deterministic`, `stream`
---@return Tensor # y
function selections.scatter_add(y, index, x, options) end

--- A random column of each row of logits, by softmax(x / temperature).
--- An option is a number, or a tensor with one for each row.
---@param x Tensor
---@param options? table `top_k`, `top_p`, `min_p`, `temperature`, `seed`, `out`, `stream`
---@return Tensor # the columns, i32, (..., 1)
function selections.sample(x, options) end

return selections
