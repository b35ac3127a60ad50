-- Products by atoms as CUDA C: one function for each atom of a kernel, and a target that lacks one.
local shell = dofile "tests/support/shell.lua"
local script = shell.file [[
local mma = tiled_mma("SM80_16x8x8_F32F16F16F32_TN", { 2, 1 })
local k = kernel("product", function(out)
  local rA, rB = fragment(f16, { 4, 2, 3 }), fragment(f16, { 2, 2, 3 })
  local rC = fragment(f32, { 4, 2, 2 })
  clear(rA) clear(rB) clear(rC)
  gemm(mma, rA, rB, rC)
  gemm(mma, rA, rB, rC, { order = "rows" })
  out[threadIdx.x] = rC[5]
end)
k { grid = 1, block = 64 } (zeros(f32, 64))
]]

local function emit(options)
  local text = shell.cuttle("emit %s %s", options, script)
  text = text:gsub(script, "script", nil, true)
  return text
end

local text = emit("--sm=80")
local _, n_functions = text:gsub("static __device__ __forceinline__ void SM80_", "")
local _, n_calls = text:gsub("\n +SM80_[^\n]*", "")
print(n_functions, n_calls)  -- expect: 1	2
print((text:match('"mma.-;"'):gsub('"\n +"', "")))
-- expect: "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
print(text:match "__align__%(16%) unsigned short rA%[%d+%]")  -- expect: __align__(16) unsigned short rA[24]
print(text:match "a%[m %* 2 [^%]]*%]")  -- expect: a[m * 2 + k * 4]
print((emit("--sm=75"):match ":6: ([^\n]*)"))
-- expect: gemm: SM80_16x8x8_F32F16F16F32_TN needs sm_80; the target is sm_75, so use an atom that it has: atoms{kind = "mma", sm = 75} lists them
os.remove(script)
