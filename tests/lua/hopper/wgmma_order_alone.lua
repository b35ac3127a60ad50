-- Fences, commits and waits of products order nothing in a kernel without a product, and check knows it.
device("cpu")
local k = kernel("alone", function(x)
  wgmma_fence()
  wgmma_commit()
  wgmma_wait(0)
  x[threadIdx.x] = 1.0
end)
local x = zeros(f32, 128)
print(pcall(k{grid = 1, block = 128, check = true}, x)) -- expect: true
print(x[127]) -- expect: 1.0
