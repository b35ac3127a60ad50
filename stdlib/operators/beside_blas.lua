-- beside_blas.lua: the report of a program that multiplies matrices: whether C is A * B', how long
-- a launch takes, and how long cuBLAS takes in the same run, where there is one.
-- require "cuttle.beside_blas"(title, launch, A, B, C[, tolerance]) -> whether it is right.

-- ms of each, timed alternately: a device that gets warm is slower for whoever comes last.
local function in_turns(launch, other)
  bench(launch)
  local ours, theirs = bench(launch), bench(other)
  theirs = theirs + bench(other)
  return (ours + bench(launch)) / 2, theirs / 2
end

return function(title, launch, A, B, C, tolerance)
  local M, N, K = size(A, 0), size(B, 0), size(A, 1)
  launch()
  local R = reference.matmul(A, B)
  local ok, worst = allclose(C, R, tolerance)
  print(("%s %dx%dx%d %s on %s: %s"):format(title, M, N, K, A.dtype, device().name,
    ok and "correct" or worst))
  local ms, blas_ms
  if reference.library(A, B) == "cuBLAS" then
    ms, blas_ms = in_turns(launch, function() reference.matmul(A, B, R) end)
  else
    ms = bench(launch)
  end
  local line = ("%.4f ms, %.1f GFLOP/s"):format(ms, 2 * M * N * K / ms * 1e-6)
  if blas_ms then line = ("%s, %.3f of cuBLAS (%.4f ms)"):format(line, blas_ms / ms, blas_ms) end
  print(line)
  return ok
end
