-- A function is asked while tracing, so the elements must be known then.
local k = kernel("k", function(A, B)
  copy_if(function() return true end, A, A) -- expect error: copy_if: a function is asked about each element, so the shape must be static, of at most 4096 elements, but A has 4; tile it first
end)
k{grid = 1, block = 1}(zeros(f32, 4), zeros(f32, 4))
