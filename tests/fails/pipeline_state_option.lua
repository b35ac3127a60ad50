local k = kernel("k", function(x)
  pipeline_state(4, {phase = 1}) -- expect error: pipeline_state: no option 'phase'; it has slot and parity
end)
k{grid = 1, block = 64}(zeros(f32, 1))
