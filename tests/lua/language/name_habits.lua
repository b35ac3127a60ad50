-- Names that other languages have: an uncaught message says what to write here. The messages are made
-- by `cuttle` itself, as only uncaught ones carry it.
local cuttle = arg[-1]

-- The message of an input to the prompt, without its place.
local function prompt(text)
  local pipe = assert(io.popen(("printf '%%s\\n' '%s' | '%s' 2>&1"):format(text, cuttle)))
  local message = pipe:read("l")
  pipe:close()
  print((message:gsub("^input 1:1: ", ""):gsub("^attempt to call a nil value ", "")))
end

prompt "tgamma(x)" -- expect: (global 'tgamma'); cuda("...", {x = v}, f32, twin) calls CUDA's; twin is the same in Lua, for the CPU engine
prompt "pow(x, 2)"       -- expect: (global 'pow'); write x ^ y
prompt "tan(x)"          -- expect: (global 'tan'); write sin(x) / cos(x)
prompt "math.square(2)"  -- expect: (field 'square'); write x * x
prompt "rcp(x)"          -- expect: (global 'rcp'); write fast.rcp(x), or 1.0 / x for the exact result
prompt "sum(x)" -- expect: (global 'sum'); write reduce(x, "add"); in a kernel block_reduce(v, "add") adds over the threads
prompt "zeros(f32, 4):sum()" -- expect: a tensor has no field 'sum'; write reduce(x, "add"); in a kernel block_reduce(v, "add") adds over the threads
prompt "make_shape(4)"   -- expect: (global 'make_shape'); a tuple is a table, {4, {2, 3}}, or a text, "(4,(2,3))"
prompt "__syncthreads()" -- expect: (global '__syncthreads'); __syncthreads is sync_threads here
prompt "_4(x)"           -- expect: (global '_4'); numbers of a script are static: write 4
prompt "abc(x)"          -- expect: (global 'abc')
prompt "composti(x)"     -- expect: (global 'composti'); did you mean 'composition'?
prompt "all_reduce(x)"   -- expect: (global 'all_reduce'); write m:run(function(r) ... end), and in it r:all_reduce(t, "data") and its like
prompt "dist.get_rank()" -- expect: attempt to index a nil value (global 'dist'); write r.rank in m:run(function(r) ... end)
prompt "redistribute(x)" -- expect: (global 'redistribute'); write reshard(x, "(M,K@data)")
prompt "NamedSharding(m)" -- expect: (global 'NamedSharding'); write m:sharding(shape, "(M@data,K)"), with a mesh m
prompt "32 * warpSize"   -- expect: attempt to perform arithmetic on a nil value (global 'warpSize'); a warp has 32 threads: write 32
prompt "1 + blockIdx_x"  -- expect: attempt to perform arithmetic on a nil value (global 'blockIdx_x'); write blockIdx.x
prompt "1 + threadIdx"   -- expect: attempt to perform arithmetic on a index value (global 'threadIdx'); write threadIdx.x
prompt "cute.size(A)"    -- expect: attempt to index a nil value (global 'cute'); size is a name of its own: write size, not cute.size
prompt "cute.local_tile(A)" -- expect: attempt to index a nil value (global 'cute'); local_tile is tile here
prompt "tl.program_id(0)" -- expect: attempt to index a nil value (global 'tl'); write blockIdx.x
prompt "cuda.grid(1)"    -- expect: attempt to index a function value (global 'cuda'); write blockIdx.x * blockDim.x + threadIdx.x
prompt "np.array(t)"     -- expect: attempt to index a nil value (global 'np'); write from_table(f32, t)
prompt "size<0>(A)"      -- expect: attempt to compare function with number; Lua has no templates: write size(A, 0)
prompt "Int<4>{}"        -- expect: attempt to compare nil with number; Lua has no templates, and numbers are static: write 4
prompt "print(zeros(f32, {4, 8})[1][2])" -- expect: attempt to index a number value (field 'integer index'); coordinates are one table: write t[{i, j}]
prompt "t = zeros(f32, {4, 4}) print(size(t)[0])" -- expect: attempt to index a number value; size(t) is a number
prompt "t = zeros(f32, {4, 4}) print(t[1][2])" -- expect: attempt to index a number value (field 'integer index'); coordinates are one table: write t[{i, j}]

prompt "for i in 10 do end" -- expect: attempt to call a number value (for iterator 'for iterator'); numbers are counted by for i = 0, n - 1 do
prompt "zeros(f32, 4):max()" -- expect: a tensor has no field 'max'; write reduce(x, "max")
prompt 'rows = require "cuttle.rows" rows.softmx(1)' -- expect: (field 'softmx'); did you mean 'softmax'?
prompt "kernel(function(x) end):bench()" -- expect: a kernel has no field 'bench'; it is a function: write bench(...)
prompt "zeros(f32, 4):cuda()" -- expect: a tensor has no field 'cuda'; write x:to"cuda"
prompt "L[[(4,8)]]:stride()"  -- expect: attempt to call a tuple value (method 'stride'); it is a field: write .stride
prompt "__expf(x)"       -- expect: (global '__expf'); write fast.exp(x)
prompt "__mulhi(a, b)"   -- expect: (global '__mulhi'); write mulhi(x, y)
prompt "cp_async_wait_all()" -- expect: (global 'cp_async_wait_all'); write cp_async_wait(n)
prompt "wmma.mma_sync(a, b)" -- expect: attempt to index a nil value (global 'wmma'); write gemm(mma, A, B, C), mma = tiled_mma(atom, layout)
prompt "fmaxf(x, y)"     -- expect: (global 'fmaxf'); write max(a, b)
prompt "zeros(f32, 4) + 1" -- expect: attempt to perform arithmetic on a tensor value; elements are computed one by one: x[i] in a kernel, transform(x, y, f) on the host
prompt "zeros(f32, 4) < 1" -- expect: attempt to compare tensor with number; elements are compared one by one: x[i] < y[i]
prompt "exp(zeros(f32, 4))" -- expect: exp: argument 1 is a tensor; a number was expected; elements are computed one by one: transform(x, y, f)
prompt [["a" + "b"]]     -- expect: attempt to add a 'string' with a 'string'; Lua joins texts by ..
prompt "for v in zeros(f32, 4) do end" -- expect: coordinate: argument 1 is nil, perhaps a misspelt name; an integer, a table of them, a string like "(4,(2,3))" or _ was expected; no tensor is an iterator: write for i = 0, size(t) - 1 do

-- In a kernel, where nil is an operand, the message has no name: it is found in the line.
local function in_kernel(line)
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write('kernel("k", function(x)\n', line, "\nend){grid = 1, block = 32}(zeros(f32, 64))\n")
  file:close()
  local pipe = assert(io.popen(("'%s' '%s' 2>&1"):format(cuttle, path)))
  print((pipe:read("l"):gsub("^.-:(%d+): ", "%1: ")))
  pipe:close()
  os.remove(path)
end

in_kernel "x[threadIdx.x + warpSize] = 1" -- expect: 2: +: a number or boolean expected, got nil; 'warpSize' is nil: a warp has 32 threads: write 32
in_kernel "local v = 1 -- warpSize\n x[0] = v + threadIdx.x + foo" -- expect: 3: +: a number or boolean expected, got nil; 'foo' is nil
in_kernel "local foo\n x[0] = threadIdx.x + foo" -- expect: 3: +: a number or boolean expected, got nil
in_kernel "x[laneid] = 1" -- expect: 2: t[nil]: the coordinate has no value; elements are t[i] and t[{i,j}]; 'laneid' is nil: write threadIdx.x % 32
in_kernel "x[threadIdx] = 1" -- expect: 2: coordinate: threadIdx has three axes; write threadIdx.x
in_kernel "x[{threadIdx}] = 1" -- expect: 2: coordinate: threadIdx has three axes; write threadIdx.x
in_kernel "x[0] = tl.load(x)" -- expect: 2: attempt to index a nil value (global 'tl'); write t[i], in a kernel's 'if' or of guard(t)
in_kernel "x[0] = math.pow(x[1], 2.0)" -- expect: 2: math.pow of a run-time value; write x ^ y
in_kernel "for i = 0, x.size do x[i] = 1 end" -- expect: 2: 'for' limit must be a number; write size(x)
in_kernel "x[0] = x.shape[0]" -- expect: 2: attempt to index a run-time value (field 'shape'); only tensors and tables have elements; an extent is size(x, 0)
in_kernel "x[0] = static_cast<float>(x[1])" -- expect: 2: attempt to compare two nil values; a cast is a call: write cast(x, f32), f32(x)
in_kernel "x[0] = where(x > 0, x, 0)" -- expect: 2: attempt to compare number with tensor; elements are compared one by one: x[i] < y[i]
in_kernel "local i = numba.cuda.grid(1)" -- expect: 2: attempt to index a nil value (global 'numba'); write blockIdx.x * blockDim.x + threadIdx.x
