-- More than 48 KiB of shared tensors are given by the launch, without a word of the script: they lie in
-- one allocation, each aligned.
local function declarations(k, config, ...)
  local lines = {}
  for line in k(config):source(...):gmatch("[^\n]+") do
    if line:find("__shared__") or line:find("smem") then
      table.insert(lines, (line:gsub("^%s+", ""):gsub("%s*//.*", "")))
    end
  end
  return table.concat(lines, "\n")
end

local large = kernel("large", function(x)
  local a, b = shared(f32, 7), shared(f32, 13000)
  local i = threadIdx.x
  a[i % 7] = 1.0
  for k in range(i, 13000, 64) do b[k] = x[i] + k end
  sync_threads()
  x[i] = b[12999 - i] + a[i % 7]
end)
local y = arange(f32, 64)
large{grid = 1, block = 64}(y)
print(y[0], y[63])                       -- expect: 13007.0	12945.0
print(declarations(large, {grid = 1, block = 64}, y))
-- expect: extern __shared__ __align__(128) unsigned char smem[];
-- expect: float* const a = reinterpret_cast<float*>(smem + 0);
-- expect: float* const b = reinterpret_cast<float*>(smem + 32);
