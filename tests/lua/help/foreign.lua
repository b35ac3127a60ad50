-- help finds what other languages call a thing: each name in the tables of docs/from_*.md.
local foreign = require "cuttle.foreign"

local function output(name)
  local printed, print_before = {}, print
  _G.print = function(text) printed[#printed + 1] = text end -- luacheck: ignore 122
  local ok, message = pcall(help, name)
  _G.print = print_before -- luacheck: ignore 122
  return ok and table.concat(printed, "\n") or nil, message
end

local n, n_pages = 0, 0
for path in io.popen "ls docs/from_*.md":lines() do
  local file <close> = io.open(path)
  n_pages = n_pages + 1
  for _, row in ipairs(foreign.page_rows(file:read "a")) do
    for _, name in ipairs(row.names) do
      n = n + 1
      local is_ascii = not name:find "[\128-\255]" -- the others are not kept
      if is_ascii and not output(name) then print(path, name, select(2, output(name))) end
    end
  end
end
print(n_pages >= 4, n > 1000)  -- expect: true	true

-- Names of the originals and of peers, and what their pages call them.
for _, name in ipairs { "TMA", "cuda.shared.array", "extern __shared__", "threadIdx", "threadIdx.x",
  "make_layout", "@tile", "tl.load", "T.alloc_shared", "hl.tile", "__shared__ float s[32][33]",
  "cutlass::arch::NamedBarrier", "SM100_MMA_F16", "cuda.grid(1)", "unflatten", "size<0>(A)" } do
  print(name, (output(name):match("[^\n]*"):gsub("%s%s+", "  ")))
end
-- expect: TMA	boxes: copies of tiles by the tensor memory accelerator
-- expect: cuda.shared.array	cuda.shared.array is shared(f32, row_major{32, 33}) here; or a swizzled layout without padding
-- expect: extern __shared__	extern __shared__ is shared(f32) here; the launch sets smem = bytes
-- expect: threadIdx	threadIdx  kernels
-- expect: threadIdx.x	threadIdx  kernels
-- expect: make_layout	make_layout is layout or L or concat here
-- expect: @tile	tile(t, tiler, coord[, proj])  work
-- expect: tl.load	tl.load is t[i] in an if, or guard(t)[i] here; outside, a guarded tensor reads 0
-- expect: T.alloc_shared	T.alloc_shared is shared, shared_like here; shared_like(gA, stages) is swizzled for dot
-- expect: hl.tile	hl.tile is tile here; tile(t, {64, 64}, {blockIdx.x, blockIdx.y})
-- expect: __shared__ float s[32][33]	__shared__ is shared(f32, row_major{32, 33}) here
-- expect: cutlass::arch::NamedBarrier	NamedBarrier  barriers
-- expect: SM100_MMA_F16	SM100_MMA_F16 is not here: Blackwell
-- expect: cuda.grid(1)	cuda.grid is blockIdx.x * blockDim.x + threadIdx.x here
-- expect: unflatten	unflatten is not here yet
-- expect: size<0>(A)	size(x[, mode])  layouts

-- One of ours is explained, several are listed.
print(output "extern __shared__":find("shared(dtype", 1, true) ~= nil,
  output "T.alloc_shared":find("\n  shared_like ", 1, true) ~= nil)  -- expect: true	true
print((select(2, output "no_such_thing_at_all"):gsub("^[^ ]*:%d+: ", "")))
-- expect: help: there is no 'no_such_thing_at_all'; help() lists all names, apropos"no_such_thing_at_all" searches what they do
