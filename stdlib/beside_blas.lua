-- beside_blas.lua: the report of a program that multiplies matrices: whether C is A * B', how long
-- a launch takes, and how long cuBLAS takes in the same run, where there is one.
-- require "cuttle.beside_blas"(title, launch, A, B, C[, tolerance]) -> whether it is right.
local ct = require "cuttle"

return function(title, launch, A, B, C, tolerance)
  local M, N, K = ct.size(A, 0), ct.size(B, 0), ct.size(A, 1)
  launch()
  local R = ct.reference.matmul(A, B)
  local ok, worst = ct.allclose(C, R, tolerance)
  print(("%s %dx%dx%d %s on %s: %s"):format(title, M, N, K, A.dtype, ct.device().name,
    ok and "correct" or worst))
  local ms = ct.bench(launch)
  local line = ("%.4f ms, %.1f GFLOP/s"):format(ms, 2 * M * N * K / ms * 1e-6)
  if ct.reference.library(A, B) == "cuBLAS" then
    local blas_ms = ct.bench(function() ct.reference.matmul(A, B, R) end)
    line = ("%s, %.3f of cuBLAS (%.4f ms)"):format(line, blas_ms / ms, blas_ms)
  end
  print(line)
  return ok
end
