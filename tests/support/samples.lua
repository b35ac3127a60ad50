-- samples.lua: an object of each class that stdlib/meta describes, by its name there.
local some_kernel = kernel("nothing", function() end)
local one = kernel("one", function(y) y[0] = 1 end){grid = 1, block = 1}
local some_copy = tiled_copy(atom("UniversalCopy<u32>", f32), 8)
local some_sums
kernel("sums", function(A) some_sums = accumulator(A, A) end, {static_shapes = true}){grid = 1,
  block = 32}(zeros(f16, {16, 16}))
local some_rank
mesh{data = 1}:run(function(r) some_rank = r end)
return {
  Accumulator = some_sums, Layout = L"4:1", Tensor = zeros(f32, 4), Kernel = some_kernel,
  Launch = some_kernel{grid = 1, block = 1}, DType = f32, Basis = E(0), Index = threadIdx,
  Swizzle = swizzle(1, 0, 1), Tuple = shape"(2,3)", Any = _,
  Atom = atom"SM75_16x8x8_F16F16F16F16_TN", TiledMMA = tiled_mma"UniversalFMA<f32>",
  ThrMMA = tiled_mma"UniversalFMA<f32>":get_slice(0), TiledCopy = some_copy,
  ThrCopy = some_copy:get_slice(0),
  Mesh = mesh{data = 2}, Sharding = mesh{data = 2}:sharding({4}, "(M@data)"),
  Sharded = shard(zeros(f32, 4), "(M@data)", mesh{data = 1}), Rank = some_rank,
  Stream = stream(), Event = event(), FoundLayout = find_layout({32, 32}, 32, f32),
  Trace = trace(one, {y = {0}}, zeros(f32, 1)), SumOrder = sum_order(one, {y = {0}}, zeros(f32, 1)),
  Timeline = timeline(one, {}, zeros(f32, 1)), TunedFunction = tune(print, {{n = 1}}),
  Plan = mesh{data = 2}:plan(f32, {4}, "(M@data)", "(M)"),
}
