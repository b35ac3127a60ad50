-- Errors of kernels typed at the prompt, given with -e and by pipe; and no CUDA device.
local cuttle = arg[-1]
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"

local quote = shell.quote

local function run(environment, arguments, input)
  return shell.run("printf %%s %s | env %s %s %s", quote(input or ""), environment, quote(cuttle),
    arguments)
end

-- The output must be `want`, except for what the system says between ": " and ";" at a `*`.
local function check(name, environment, arguments, want, input, want_code)
  local out, code = run(environment, arguments, input)
  local pattern = "^" .. want:gsub("[%^$()%%.%[%]+%-?]", "%%%0"):gsub("%*", "[^;]*") .. "\n$"
  local ok = out:find(pattern) and code == (want_code or 1)
  tap.ok(ok, name, ("exit code %s\ngot: %q\nexpected: %q"):format(code, out, want))
end

local no_cuda = "CUTTLE_LIBCUDA=/nowhere/libcuda.so"
local no_driver = "cuda driver: cannot load '/nowhere/libcuda.so', which CUTTLE_LIBCUDA names: *; "
  .. "give the path of the library"
check("no CUDA device, asked for by the script", no_cuda, [[-e '
device("cuda:0")']], "(command line):2: " .. no_driver)
check("no CUDA device, asked for on the command line", no_cuda,
  "--device=cuda -e 'local x = zeros(f32, 4)'", "(command line):1: " .. no_driver)
check("no CUDA device, asked for by the environment", no_cuda .. " CUTTLE_DEVICE=cuda:1",
  "-e 'local x = zeros(f32, 4)'", "(command line):1: " .. no_driver)
check("no CUDA device to copy to", no_cuda .. " CUTTLE_DEVICE=cpu", [[-e 'local x = zeros(f32, 4)
local y = x:to("cuda")']], "(command line):2: " .. no_driver)
check("no CUDA device for CUDA C", no_cuda .. " CUTTLE_DEVICE=cpu", "-e 'cuda_kernel(\"k\", \"\")'",
  "(command line):1: cuda_kernel: the current device is the CPU engine; it needs a CUDA device")
check("no NVRTC", "CUTTLE_NVRTC=/nowhere/libnvrtc.so CUTTLE_DEVICE=cpu",
  "-e 'kernel(function() end){grid = 1, block = 1}:ptx()'",
  "(command line):1: nvrtc: cannot load '/nowhere/libnvrtc.so': *; repair it or set CUTTLE_NVRTC "
  .. "to the path of another")

local cpu = "CUTTLE_DEVICE=cpu"
check("a kernel of -e", cpu, [[-e 'local k = kernel(function(x)
  x[threadIdx.x + 1] = 1.0
end)
k{grid = 1, block = 4}(zeros(f32, 4))']],
  "(command line):2: out of bounds: write of x at 4, extent 4, by thread (3,0,0) of block (0,0,0)")
check("a kernel of the second -e", cpu,
  "-e 'k = kernel(function(x) x[{0, 1}] = 1.0 end)' -e 'k{grid = 1, block = 4}(zeros(f32, 4))'",
  "(command line):1: store to x: crd2idx: coordinate (0,1) does not fit shape ?: it has 2 modes, "
  .. "not 1; write an integer, or a tuple nested like the shape")
check("a kernel from standard input", cpu, "-",
  "stdin:2: 'shared' exists only inside a kernel", "local f = f32\nlocal s = shared(f, {4})\n")
check("a kernel typed at the prompt, called in the next input", cpu, "",
  "input 1:2: out of bounds: write of x at -1, extent 4, by thread (0,0,0) of block (0,0,0)",
  "k = kernel(function(x)\n  x[threadIdx.x - 1] = 1.0\nend)\n"
  .. "k{grid = 1, block = 4}(zeros(f32, 4))\n")
check("a launch typed at the prompt", cpu, "",
  "input 2:1: k: the kernel takes 1 argument (x), got 0",
  "k = kernel('k', function(x) end)\nk{grid = 1, block = 4}()\n")
check("a broken assumption at the prompt", cpu, "",
  "input 1:1: tile: extent 16 of mode 0 of x is not a multiple of the tile's 3; pad the tensor or "
  .. "write guard(x)",
  "k = kernel(function(x) clear(tile(x, 3, 0)) end)\nk{grid = 1, block = 1}(zeros(f32, 48))\n"
  .. "k{grid = 1, block = 1}(zeros(f32, 16))\n")
tap.done()
