-- A misspelt option of a kernel.
kernel("k", function() end, {static_shape = true}) -- expect error: kernel: option 'static_shape' is unknown; expected static_shapes, contract, min_blocks or nvrtc_options
