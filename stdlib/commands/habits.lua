-- habits.lua: what people write who come from CUDA C++, CuTe, Triton, Numba or NumPy, and what to
-- write here. The annotations have the names that are CuTe's, PTX's or MoYe's; help.lua finds
-- them. These tables have the others. guess.lua adds them to messages.
local language = require "cuttle"

local M = {}

-- {====== Names ======

-- Several rows with the same remedy.
local function all(names, hint, into)
  for name in names:gmatch("%S+") do into[name] = hint end
end

-- A name of another language -> what to write here, as text of a message.
M.names = {
  this_grid = "write sync_grid(), and launch with cooperative = true",
  warpSize = "a warp has 32 threads: write 32",
  gridSize = "write gridDim.x for the blocks, gridDim.x * blockDim.x for the threads",
  blockSize = "write blockDim.x",
  __reduce_and_sync = 'write warp_reduce(v, "and", {mask = m})',
  __reduce_or_sync = 'write warp_reduce(v, "or", {mask = m})',
  __reduce_xor_sync = 'write warp_reduce(v, "xor", {mask = m})',
  __nanosleep = 'write cuda("__nanosleep($ns);", {ns = 100}, nil, function() end)',
  __trap = "write assert(condition, text)",
  dim3 = "write {x, y, z}, as in k{grid = {8, 8}, block = {16, 16}}(...)",
  malloc = "memory is a tensor: zeros(f32, shape), in a kernel shared or fragment",
  None = "Lua writes nil for None",
  null = "Lua writes nil for null",
  True = "Lua writes true for True",
  False = "Lua writes false for False",
  len = "write size(t), of a Lua table #t",
  str = "write tostring(x)",
  elementwise = "write transform(x, y, function(v) ... end)",
  -- mathematics
  pow = "write x ^ y",
  tan = "write sin(x) / cos(x)",
  square = "write x * x",
  rcp = "write fast.rcp(x), or 1.0 / x for the exact result",
  sigmoid = "write 1.0 / (1.0 + exp(-x))",
  relu = "write max(x, 0.0)",
  gelu = "write 0.5 * x * (1.0 + erf(x * 0.70710678))",
  silu = "write x / (1.0 + exp(-x))",
  sign = "write where(x > 0, 1, where(x < 0, -1, 0))",
  saturate = "write max(0.0, min(x, 1.0))",
  lerp = "write a + t * (b - a)",
  swap = "write a, b = b, a",
  fmax = "write max(a, b)",
  fmin = "write min(a, b)",
  fabs = "write abs(x)",
  fdividef = "write fast.div(x, y), or x / y for the exact result",
  __expf = "write fast.exp(x)",
  __logf = "write fast.log(x)",
  __sinf = "write fast.sin(x)",
  __cosf = "write fast.cos(x)",
  __powf = "write fast.pow(x, y)",
  __fdividef = "write fast.div(x, y)",
  __frsqrt_rn = "write rsqrt(x)",
  __mulhi = "write mulhi(x, y)",
  __umulhi = "write mulhi(a, b); of u32 it has no sign",
  __mul64hi = "write mulhi(a, b)",
  __umul64hi = "write mulhi(a, b); of u64 it has no sign",
  fdiv = "write x / y",
  cp_async = "write copy(src, dst), asynchronous from global to shared memory where it can be",
  mbarrier_init = "write local full = mbarrier(n, arrivals)",
  ldmatrix = 'write tiled_copy_A(atom("SM75_U32x4_LDSM_N", f16), mma), and copy by it',
  sync = "write sync_threads() in a kernel, synchronize() on the host",
  inverse = "write left_inverse(A) or right_inverse(A)",
  barrier = "write sync_threads(); of Hopper's, mbarrier(n, arrivals)",
  -- what tensors of Python do
  sum = 'write reduce(x, "add"); in a kernel block_reduce(v, "add") adds over the threads',
  prod = 'write reduce(x, "mul")',
  mean = 'write reduce(x, "add") / size(x)',
  amax = 'write reduce(x, "max")',
  amin = 'write reduce(x, "min")',
  argmax = "write a loop over x:totable()",
  cumsum = 'write a loop over x:totable(); in a kernel block_scan(v, "add") adds over the threads',
  dot = "dot(A, B, acc) multiplies tiles in a kernel, matmul(A, B) on the host",
  reshape = "write view(x, layout)",
  transpose = "write select(x, {1, 0})",
  permute = "write select(x, {1, 0})",
  empty = "write tensor(dtype, shape)",
  array = "write from_table(dtype, t)",
  numpy = "write x:totable(), or save_npy(file, x)",
  tolist = "write x:totable()",
  item = "write x[0]",
  numel = "write size(x)",
  dim = "write rank(x)",
  ndim = "write rank(x)",
  cpu = 'write x:to"cpu"',
  cuda = 'write x:to"cuda"',
  astype = "elements keep their type; write from_table(f16, x:totable())",
  -- CuTe's that have no name here
  Int = "numbers of a script are static: write 4 for Int<4>{}",
  make_tile = 'a tiler is a table, {4, 8}, or a text, "<4:1,8:1>"',
}

all("warpsize warp_size WARP_SIZE WARPSIZE", M.names.warpSize, M.names)
all("laneid lane_id laneId", "write threadIdx.x % 32", M.names)
all("warpid warp_id warpId", "write threadIdx.x // 32", M.names)
all("gridsize grid_size", M.names.gridSize, M.names)
all("blocksize block_size", M.names.blockSize, M.names)
all("__ldg __ldca ldg", "write t[i]", M.names)
all("CUDAGraph cudaStreamBeginCapture cudaGraphInstantiate cudaGraphLaunch cuGraphLaunch",
  "write g = graph(function() ... end), which records what it launches, and g()", M.names)
all("distribute_tensor device_put with_sharding_constraint make_array_from_callback",
  'write shard(t, "(M@data,K)", m), with a mesh m', M.names)
all("redistribute", 'write reshard(x, "(M,K@data)")', M.names)
all("NamedSharding PartitionSpec Shard Replicate Partial",
  'write m:sharding(shape, "(M@data,K)"), with a mesh m', M.names)
all("init_device_mesh DeviceMesh make_mesh Mesh", "write m = mesh{data = 2, model = 4}", M.names)
all([[all_reduce allreduce all_gather allgather reduce_scatter all_to_all alltoall psum pmax pmin
  ppermute all_gather_into_tensor reduce_scatter_tensor ncclAllReduce ncclAllGather
  ncclReduceScatter MPI_Allreduce MPI_Allgather MPI_Alltoall]],
  'write m:run(function(r) ... end), and in it r:all_reduce(t, "data") and its like', M.names)
all("__ldcs __stcs", 'write cache_hint(t, "streaming")[i]', M.names)
all("__ldcg __stcg", 'write cache_hint(t, "global")[i]', M.names)
all("cp_async_wait_group cp_async_wait_all __pipeline_wait_prior", "write cp_async_wait(n)",
  M.names)
all("cp_async_commit_group __pipeline_commit", "write cp_async_commit()", M.names)
all("mma mma_sync mma_m16n8k16 wgmma wgmma_mma_async wmma",
  "write gemm(mma, A, B, C), mma = tiled_mma(atom, layout)", M.names)
all("__stwt", 'write cache_hint(t, "write_through")[i] = v', M.names)
all("nullptr NULL", "Lua writes nil", M.names)
all("make_shape make_stride make_coord make_tuple make_int_tuple make_step",
  'a tuple is a table, {4, {2, 3}}, or a text, "(4,(2,3))"', M.names)
all("Shape Stride Coord Step", M.names.make_shape, M.names)
all("C constant integral_constant", M.names.Int, M.names)
all("asr sar shift_right_arithmetic arithmetic_shift_right", "write ashr(x, n)", M.names)
all("asinh acosh atanh exp10 lgamma tgamma",
  'cuda("...", {x = v}, f32, twin) calls CUDA\'s; twin is the same in Lua, for the CPU engine',
  M.names)
all("asm __asm__ inline_asm inline_asm_elementwise",
  'write ptx("mad.lo.u32 $d, $a, $b, $c;", {d = u32}, {a = a, b = b, c = c}, twin)', M.names)
all("blockReduce BlockReduce", 'write block_reduce(v, "add")', M.names)
all("warpReduce WarpReduce", 'write warp_reduce(v, "add")', M.names)
all("half __half float16 fp16", "write f16", M.names)
all("__nv_bfloat16 bfloat16", "write bf16", M.names)
all("float float32 fp32", "write f32", M.names)
all("double float64 fp64", "write f64", M.names)
all("int int32", "write i32", M.names)
all("unsigned uint uint32 uint32_t", "write u32", M.names)
all("long int64", "write i64", M.names)
all("uint64 uint64_t", "write u64", M.names)
all("short int16", "write i16", M.names)
all("uint8 uint8_t char", "write u8, or i8", M.names)

-- A method that a tensor has not -> what to write; beside the names above.
M.methods = {
  max = 'write reduce(x, "max")',
  min = 'write reduce(x, "min")',
  T = "write select(x, {1, 0})",
  t = "write select(x, {1, 0})",
  print = "write print(x)",
  get = "write x[{i, j}]",
  set = "write x[{i, j}] = v",
  sync = "write synchronize() on the host, sync_threads() in a kernel",
}

-- expf, __expf: the function has one name for all types.
local function of_type_f(stem)
  if M.names[stem] then return M.names[stem] end
  return type(language[stem]) == "function" and stem:sub(1, 1) ~= "_" and
    ("%s is for all types: write %s(x)"):format(stem, stem) or nil
end

-- A pattern of names -> what to write, a text or a function of the captures (nil: not that).
M.patterns = {
  { "^(%l+)Id?x?[_.]?([xyz])$", function(word, axis)
    local is_known = word == "thread" or word == "block"
    return is_known and ("write %sIdx.%s"):format(word, axis) or nil
  end },
  { "^(%l+)Dim[_.]?([xyz])$", function(word, axis)
    local is_known = word == "grid" or word == "block"
    return is_known and ("write %sDim.%s"):format(word, axis) or nil
  end },
  { "^_*(%l[%w]*)f$", of_type_f },
  { "^__(%l[%w]*)$", of_type_f },
  { "^_(%d+)$", "numbers of a script are static: write %s" },
  { "^cuda%u", "tensors own their memory: write zeros(f32, shape), x:totable(), synchronize()" },
}

-- What comes before a dot: {[name] = what to write for space.name}, beside the names above and
-- those of the language itself.
M.spaces = {
  cute = {}, cutlass = {}, cg = {}, std = {}, thrust = {}, cub = {}, wp = {},
  cuda = {
    grid = "write blockIdx.x * blockDim.x + threadIdx.x",
    gridsize = "write gridDim.x * blockDim.x",
    jit = 'write kernel("name", function(x, y) ... end)',
    syncthreads = "write sync_threads()",
    syncthreads_count = "write sync_threads_count(condition)",
    syncthreads_and = "write sync_threads_and(condition)",
    syncthreads_or = "write sync_threads_or(condition)",
    match_any_sync = "write match_any(value, {mask = m})",
    match_all_sync = "write match_all(value, {mask = m})",
    activemask = "write active_mask()",
    syncwarp = "write sync_warp()",
    cg = "write sync_grid(), and launch with cooperative = true",
    shared = "write shared(f32, {32, 33})",
    ["local"] = "write fragment(f32, 8)",
    atomic = "write atomic_add(t, i, v) and its like",
    to_device = "write from_table(f32, t), or x:to(device)",
    device_array = "write zeros(f32, shape)",
  },
  wmma = {
    load_matrix_sync = "write copy(t:partition_A(sA), rA), t = mma:get_slice(threadIdx.x)",
    mma_sync = "write gemm(mma, A, B, C), mma = tiled_mma(atom, layout)",
    fill_fragment = "write clear(acc), fill(acc, v)",
    fragment = "write mma:get_slice(threadIdx.x):partition_fragment_C(C)",
  },
  tl = {
    load = "write t[i], in a kernel's 'if' or of guard(t)",
    store = "write t[i] = v, in a kernel's 'if' or of guard(t)",
    program_id = "write blockIdx.x",
    num_programs = "write gridDim.x",
    arange = "a kernel is what one thread does: write threadIdx.x",
    constexpr = "numbers of a script are static: write none",
    dot = "write dot(A, B, acc)",
    sum = 'write block_reduce(v, "add"), or row_reduce(acc, "add") after dot',
    max = 'write block_reduce(v, "max"), or row_reduce(acc, "max") after dot',
    min = 'write block_reduce(v, "min"), or row_reduce(acc, "min") after dot',
    maximum = "write max(a, b)",
    minimum = "write min(a, b)",
    zeros = "write fragment(f32, shape) and clear, or a local that is 0.0",
    full = "write fragment(f32, shape) and fill",
    static_range = "write for i = 0, n - 1 do",
    debug_barrier = "write sync_threads()",
    rand = "write a tensor made by rand(dtype, shape)",
    trans = "write select(x, {1, 0})",
  },
  triton = {
    jit = 'write kernel("name", function(x, y) ... end)',
    next_power_of_2 = "write a loop",
    autotune = "write tune(f, space), where f(config) returns what launches",
  },
  dist = {
    all_reduce = 'write r:all_reduce(t, "data") in m:run(function(r) ... end)',
    all_gather = 'write r:all_gather(src, dst, "data") in m:run(function(r) ... end)',
    reduce_scatter = 'write r:reduce_scatter(src, dst, "data") in m:run(function(r) ... end)',
    all_to_all = 'write r:all_to_all(src, dst, "data") in m:run(function(r) ... end)',
    broadcast = 'write r:broadcast(t, "data", root) in m:run(function(r) ... end)',
    barrier = "write r:barrier() in m:run(function(r) ... end)",
    send = "write r:send(t, to) in m:run(function(r) ... end)",
    recv = "write r:recv(t, from) in m:run(function(r) ... end)",
    get_rank = "write r.rank in m:run(function(r) ... end)",
    get_world_size = "write m.n, of a mesh m",
    init_process_group = "write none: torchrun, mpirun and srun say who a process is",
  },
  np = {
    array = "write from_table(f32, t)",
    random = "write rand(dtype, shape), randn(dtype, shape)",
    load = "write load_npy(file)",
    save = "write save_npy(file, x)",
    empty = "write tensor(f32, shape)",
  },
}
all("cp numpy torch jnp jax cupy numba tf", M.spaces.np, M.spaces)
M.spaces.math = {} -- Lua's own: what it lacks

-- {====== Text ======

local function one_of(words)
  local set = {}
  for word in words:gmatch("%S+") do set[word] = true end
  return set
end

local c_types = one_of [[float double half int unsigned long short char bool auto const size_t
  int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t uint float2 float4 int2 int4
  __half half2 __nv_bfloat16 constexpr static var let void]]

-- The word before the text that Lua stopped at -> what to write; {near} is that text.
M.words_before = setmetatable({
  __shared__ = "write local s = shared(f32, 32)",
  __constant__ = "write local c = constant(f32, {1, 2, 3})",
  __global__ = 'write kernel("name", function(x, y) ... end)',
  __device__ = "write local function f(x) ... end, or device_fn(function(x) ... end)",
  def = "write local function {near}(x) ... end",
  fn = "write local function {near}(x) ... end",
  lambda = "write function({near}) return ... end",
  import = "there is nothing to import: names of the language are globals",
  from = "there is nothing to import: names of the language are globals",
  dim3 = "write {x, y, z}, as in k{grid = {8, 8}, block = {16, 16}}(...)",
  elif = "Lua writes elseif",
  help = 'write help"{near}"',
  template = "Lua has no templates: arguments may be types and numbers",
  is = "Lua writes == for is",
}, { __index = function(_, word)
  return c_types[word] and "a local has no type: write local {near} = ..." or nil
end })

-- An operator that Lua has not, as in x %= 2.
local function assigns(operator)
  return function() return ("Lua has no %s=: write x = x %s y"):format(operator, operator) end
end

local alone <const> = "a value alone is not a statement: assign it, or print it"
M.alone = alone

local braces = {
  ["if"] = "Lua writes if c then ... end",
  ["for"] = "Lua writes for i = 0, n - 1 do ... end",
  ["while"] = "Lua writes while c do ... end",
}

local colons = {
  ["if"] = braces["if"], ["for"] = braces["for"], ["while"] = braces["while"],
  ["elif"] = "Lua writes elseif c then", ["else"] = "Lua writes else, with no colon",
  ["def"] = "Lua writes local function f(x) ... end",
}

-- How Lua's message ends, a pattern of the line, and what to write: a text, or a function of the
-- pattern's captures that may decline; whether the line before may be the one. The first that fits
-- counts.
M.syntax = {
  { "", "^[^\"']*(%b()%s*:%s*%b())", function(text)
    return not text:find "[^%d(),:_@%s-]" and ('a layout is a string: write L"%s"'):format(text)
      or nil
  end },
  { "", "^[^\"']*(%([%d,()]+%));(%([%d,()]+%))", 'a layout has a colon: write L"%s:%s"' },
  { "", "^[^\"']*%([%d,()]+%)%s*:%s*%([%d,()]*$",
    'a layout is L"(4,8):(1,4)": a bracket is missing' },
  { "", "\u{2212}", "write the minus as a plain -" },
  { "", "\u{201C}", "quotes of a string are straight: write \"...\"" },
  { "", "\u{201D}", "quotes of a string are straight: write \"...\"" },
  { "'}' expected near", "{%s*([%w_.]+)%s+([%w_.]+)",
    "values of a table are separated by commas: write {%s, %s}" },
  { "')' expected near", "%(%s*([%w_.]+)%s+([%w_.]+)",
    "arguments are separated by commas: write (%s, %s)" },
  { "near '@'", "([%a_][%w_.]*)%s*@%s*([%a_][%w_.]*)",
    function(a, b)
      return ("write composition(%s, %s) of layouts, matmul(%s, %s) of tensors"):format(a, b, a, b)
    end },
  { "", "^%s*(%a+)[^%a_].*:%s*$", function(word) return colons[word] end, true },
  { "", "^%s*(else):%s*$", function(word) return colons[word] end, true },
  { "", "^%s*(%a+)%s*%(.*%)%s*{", function(word) return braces[word] end },
  { "", "%f[%w_]lambda%s+([%a_][%w_]*)%s*:", "Lua writes function(%s) return ... end" },
  { "", "%((%l[%w_]*)%)%s*[%w_]",
    function(word) return c_types[word] and "Lua has no casts: write f32(x), cast(x, i32)" end },
  { "near '['", "local%s+([%a_][%w_]*)%s*%[", "write local %s = fragment(f32, 8)" },
  { "syntax error near 'end'", "%f[%w_]continue%f[^%w_]",
    "Lua has no continue: invert the condition", true },
  { "<name> expected near '('", "%f[%w]for%s*%(", braces["for"] },
  { "']' expected near ','", "([%a_][%w_.]*)%[([^%[%]{},]*),%s*([^%[%]{},]*)%]%s*%(",
    "a kernel is launched with %s{grid = %s, block = %s}(...); coordinates are one table, "
      .. "t[{i, j}]" },
  { "']' expected near ','", "([%a_][%w_.]*)%[([^%[%]{}]*,[^%[%]{}]*)%]", function(name, list)
    local is_called = type(language[name]) == "function"
    return (is_called and "a call has (): write %s(%s)"
      or "coordinates are one table: write %s[{%s}]"):format(name, list)
  end },
  { "')' expected near ','", "%([%w_ ]+,", "a tuple is a table: write {4, 8}" },
  { "']' expected near ','", "", "coordinates are one table: write t[{i, j}]" },
  { "near ':'", "%[[^%]]*:[^%]]*%]", "'_' keeps a mode: write t(_, j)" },
  { "unexpected symbol near ':'", "[%w_]%([^()]*:[^()]*%)", "'_' keeps a mode: write t(_, j)" },
  { "malformed number near", "=%s*(%d+)%.%.(%d+)", "Lua writes for i = %s, %s do" },
  { "near '<'", "([%a_][%w_]*)<([%w_]+)>%(([^)]*)%)",
    function(name, i, x) return ("Lua has no templates: write %s(%s, %s)"):format(name, x, i) end },
  { "near '<'", "", "Lua has no templates: write size(A, 0) for size<0>(A)" },
  { "'::' expected near", "%a::([%a_][%w_]*)", "Lua has no namespaces: write %s" },
  { "near '::'", "", "Lua has no namespaces: leave out what is before ::" },
  { "near '!'", "", "Lua writes ~= for != and not for !" },
  { "near '*'", "%*%*", "Lua writes x ^ y for x ** y" },
  { "syntax error near '+'", "%+[+=]", "Lua has no += and no ++: write x = x + 1" },
  { "syntax error near '-'", "%-[-=]", "Lua has no -= and no --: write x = x - 1" },
  { "syntax error near '*'", "%*=", assigns "*" },
  { "syntax error near '/'", "/=", assigns "/" },
  { "syntax error near '%'", "%%=", assigns "%" },
  { "syntax error near '+'", "", alone }, { "syntax error near '-'", "", alone },
  { "syntax error near '*'", "", alone }, { "syntax error near '/'", "", alone },
  { "syntax error near '%'", "", alone },
  { "')' expected near '='", "", "arguments have no names: write f(0), or a table, f{axis = 0}" },
  { "syntax error near '&'", "&&", "Lua writes and for &&" },
  { "syntax error near '|'", "||", "Lua writes or for ||" },
  { "syntax error near '|'", "|=", assigns "|" },
  { "syntax error near '&'", "&=", assigns "&" },
  { "syntax error near '>>'", ">>=", assigns ">>" },
  { "near '<<'", "<<=", assigns "<<" },
  { "near '<<'", "<<<", "a kernel is launched with k{grid = ..., block = ...}(...)" },
  { "syntax error near '='", "%)%s*=", "an element is assigned by t[i] = v or t[{i, j}] = v" },
  { "unexpected symbol near '&'", "&&", "Lua writes and for &&" },
  { "unexpected symbol near '&'", "", "there are no addresses: write atomic_add(t, i, v)" },
  { "unexpected symbol near '|'", "", "Lua writes or for ||" },
  { "unexpected symbol near '/'", "", "a comment begins with --" },
  { "unexpected symbol near '//'", "", "a comment begins with --" },
  { "unexpected symbol near '#'", "^%s*#", "a comment begins with --" },
  { "unexpected symbol near '@'", "", 'a kernel is kernel("name", function(x, y) ... end)' },
  { "unexpected symbol near '['", "", "a list is a table: write {1, 2}" },
  { "unexpected symbol near '>'", "->", "Lua writes a.b for a->b" },
  { "'}' expected near ':'", "", "a table of names is {name = value}" },
  { "near '?'", "^%s*%?*%s*([%a_][%w_.:]*)%s*%?*%s*$", "write help(%s)" },
  { "near '?'", "", "Lua writes c and a or b for c ? a : b" },
  { "',' expected near 'to'", "=%s*(%S+)%s+to%s+(%S+)", "Lua writes for i = %s, %s do" },
  { "'}' expected near", "[%w_%]})\"']%s+([%a_][%w_]*)%s*=",
    "values of a table are separated by commas: write , before %s" },
  { "unexpected symbol near ':'", "^%s*local%s+([%a_][%w_]*)%s*:%s*%a",
    "a local has no type: write local %s = ..." },
  { "near '='", "([%a_][%w_]*)%s*:=", "Lua assigns by =: write %s = ..." },
  { "malformed number near", "%f[%w]0[bB]([01]+)%f[%W]", function(bits)
    return ("Lua has no binary numbers: write 0x%x"):format(tonumber(bits, 2))
  end },
  { "malformed number near", "%f[%w]%d+_[%d_]+", "digits have no _ between them" },
  { "'then' expected near '='", "", "Lua compares by ==" },
  { "'do' expected near '='", "", "Lua compares by ==" },
  { "'then' expected near", "", braces["if"] },
  { "'do' expected near", "", "Lua writes for i = 0, n - 1 do ... end, while c do ... end" },
  { "unexpected symbol near '{'", "^%s*[%a ]*function", "Lua writes function f(x) ... end" },
}

return M
