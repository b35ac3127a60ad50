-- dot and accumulator of all blocks, also of those too small for an option: what is refused is refused
-- with the operation's own words, never with those of an operation inside the library. No thread has
-- more than 128 sums: compiling such a kernel takes NVRTC minutes.
local n, wrong = 0, {}
local function try(threads, T, s, options)
  local k = kernel("k", function(A, B, C)
    local acc = accumulator(A, B, options)
    dot(A, B, acc)
    acc:store(C)
  end, {static_shapes = true})
  local ok, message = pcall(k{grid = 1, block = threads}, zeros(T, {s[1], s[3]}),
    zeros(T, {s[2], s[3]}), zeros(f32, {s[1], s[2]}))
  n = n + 1
  local is_inner = not ok and (message:find "^cuttle/" or message:find "attempt to")
  if is_inner then wrong[#wrong + 1] = message end
end
local shapes = {{0, 0, 0}, {1, 1, 1}, {16, 8, 16}, {64, 16, 16}, {64, 0, 16}, {128, 64, 32},
  {24, 40, 8}}
for _, threads in ipairs{1, 31, 32, 33, 96, 127, 128, 160, 256, 384} do
  for _, s in ipairs(shapes) do
    if s[1] * s[2] <= 128 * threads then
      for _, options in ipairs{{}, {wgmma = true}} do try(threads, f16, s, options) end
    end
  end
end
print(n, #wrong, wrong[1]) -- expect: 128	0	nil
