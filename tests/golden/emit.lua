-- The CUDA C of every example for sm_90, as a reviewer reads it. Small sizes: the text hardly depends
-- on them.
local examples = {
  "saxpy.lua 1024",
  "tiled_copy_if.lua",
  "transpose.lua 64 64",
  "moye_matmul.lua 256 256 64",
  "sgemm_2d_blocktiling.lua 128",
  "sgemm_1.lua 128 128 16",
  "sgemm_2.lua 128 128 16",
  "mandelbrot.lua 64 64 10",
  "nbody.lua 128 1",
}
for _, example in ipairs(examples) do
  local command = ("'%s' emit --sm=90 examples/%s 2>/dev/null"):format(arg[-1], example)
  local pipe = assert(io.popen(command))
  print("// cuttle emit --sm=90 examples/" .. example)
  io.write(pipe:read("a"))
  assert(pipe:close(), command)
end
