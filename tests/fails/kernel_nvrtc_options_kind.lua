-- Options for NVRTC are a list.
kernel("k", function() end, {nvrtc_options = "-G"}) -- expect error: kernel: nvrtc_options is a text; a table of texts was expected
