local k = kernel("k", function(x)
  local state = pipeline_state(4)
  state.slot = 2 -- expect error: a pipeline state changes by advance; make another one to begin elsewhere
end)
k{grid = 1, block = 64}(zeros(f32, 1))
