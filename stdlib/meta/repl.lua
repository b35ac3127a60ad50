---@meta _
-- Topic: repl: at the prompt, and importing the names

--- Explains a name, a value or a topic; `help()` lists all names by topic.
--- Examples are `help(size)`, `help"size"`, `help"Layout.named"`, `help"algebra"`, and `help(x)`
--- for any layout, tensor or kernel x.
--- CuTe: none. MoYe: Julia's ?.
---@param x? any
function help(x) end

--- Lists the names that contain a word, or whose explanation contains it.
--- Names that contain the word come first.
---
---     > apropos"inverse"
---     right_inverse         The largest R with l(R(i)) = i for all i below its size.
---     left_inverse          An R with R(l(i)) = i for all i.
--- CuTe: none. MoYe: Julia's apropos.
---@param word string
function apropos(word) end

--- Runs a file again after you have edited it.
--- Without a path, it runs the last file. The file's kernels are made again. reload returns what
--- the file returns.
---@param path? string
---@return any
function reload(path) end

--- The first result of the last input, at the prompt.
---@type any
ans = nil

--- Adds every name of the language to a table.
--- Scripts that `cuttle` runs already have these names as globals. In stock Lua, write
--- `require "cuttle".import(_ENV)`.
---
---     > e = import{}
---     > e.size == size
---     true
--- CuTe: using namespace cute. MoYe: using MoYe.
---@param env table
---@return table # env
function import(env) end
