-- main.lua: the project's own measurements, a program on top of the product:
--   make bench-tools && cuttle scripts/bench/main.lua [name ...]
-- Each figure is taken beside a peer in the same run; hopper and attention have bars, the least
-- ratios that the project sets itself. docs/measurements.md has what they gave.
local folder = arg[0]:match "^(.*/)" or "./"
package.path = folder .. "?.lua;" .. package.path
local kernels = require "kernels"

local order <const> = { "layout", "front", "moye", "compile", "launch", "transpose", "saxpy", "sum",
                        "softmax", "layer_norm", "matmul" }

local help <const> = [[
cuttle scripts/bench/main.lua [name ...]: the product measured against its peers in the same run;
without names all but the last four
  layout front                    the layout algebra; rewriting, tracing and emitting (CPU time)
  moye                            MoYe's product beside the same kernel by hand and cuBLAS
  compile launch                  NVRTC and the disk cache; what a launch costs
  transpose saxpy sum softmax layer_norm
                                  what memory bounds, beside the device's copy
  matmul [option ...] [word ...]  the operator beside cuBLAS: --all, --config=NAME, --split=N,
                                  --cold=no
  engine                          eight kernels on the CPU engine, alone and checked
  watch                           what checking and profiling cost
  notebook                        the notebook's products in shared memory beside CUDA C by hand
  hopper [option ...] [word ...]  products on tensor cores and attention beside cuBLAS, cuBLASLt and
                                  PyTorch, sustained and in bursts; main.lua hopper --help
]]

-- Those in files of their own, which are loaded when they are asked for.
local modules <const> = {
  layout = function(...) return require "layouts"(...) end,
  front = function(...) return require "front"(...) end,
  engine = function(...) return require "engine"(...) end,
  watch = function(...) return require "watch"(...) end,
  notebook = function() return require "notebook".run() end,
  matmul = function(...) return require "products".run(...) end,
  hopper = function(...) return require "hopper".run(...) end,
}
local takes_arguments <const> = { matmul = true, hopper = true }

local function find(name)
  local f = modules[name] or kernels[name]
  if not f then
    error(("bench: '%s' is no benchmark; there are %s, engine, watch, notebook, hopper"):format(
      name, table.concat(order, ", ")), 0)
  end
  return f
end

local function main(...)
  if (...) == "--help" then
    io.write(help)
  elseif takes_arguments[...] then
    find((...))(select(2, ...))
  else
    for _, name in ipairs(... and { ... } or order) do
      find(name)()
      collectgarbage()
    end
  end
end

main(...)
