-- After a divide tile and rest both say M.
local k = kernel("divided", function(A)
  local z = zipped_divide(A, {8, 4})
  for i in axes(z, "M") do -- expect error: axes: mode 'M' of ((M=8,K=4),(M=4,K=2)):((1,32),(8,128)) is at paths {0,0} and {1,0}; give a path
    z[{0, {i, 0}}] = 1.0
  end
end)
k{grid = 1, block = 1}(zeros(f32, L"(M=32,K=8)"))
