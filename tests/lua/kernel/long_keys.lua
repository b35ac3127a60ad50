-- What a launch depends on takes as many bytes as the values that its function captured. Whether these just fit into the
-- room that most launches have, or just do not, a kernel is traced once for each kind of launch.
local n_traces = { n = 0 }
local room = 4096

-- A kernel that captured `n` bytes and more; a text of 32 takes 41.
local function kernel_with(n)
  local lines = { "local note = ..." }
  local function capture(bytes)
    lines[#lines + 1] = ("local c%d = %q"):format(#lines, ("a"):rep(bytes))
  end
  for _ = 1, n // 41 do capture(32) end
  capture(n % 41 >= 9 and n % 41 - 9 or n % 41)
  local last = #lines - 1
  lines[#lines + 1] = "return kernel('add', function(v, x, y) note.n = note.n + 1"
  for i = 1, last do lines[#lines + 1] = ("local _ = c%d"):format(i) end
  lines[#lines + 1] = "y[threadIdx.x] = v + x[threadIdx.x] end)"
  return load(table.concat(lines, "\n"))(n_traces)
end

local x, y = zeros(f32, 8), zeros(f32, 8)
local wrong = 0
for n = room - 240, room + 8, 4 do
  local go = kernel_with(n){ grid = 1, block = 8 }
  n_traces.n = 0
  for v = 1, 3 do
    go(v, x, y)
    go(v + 0.5, x, y)
    go(v, y, y)
  end
  wrong = wrong + (n_traces.n == 3 and 0 or 1)
end
print(wrong) -- expect: 0
