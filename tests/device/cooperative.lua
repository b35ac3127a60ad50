-- Cooperative launches on a CUDA device: as many blocks as fit, and one more. Prints TAP.
local tap = dofile "tests/support/tap.lua"
if #devices() < 2 then
  tap.skip_all "no CUDA device"
end

local here = device("cuda:0")
-- Each block waits for all of them. The shared memory decides how many of them an SM holds.
local meet = kernel("meet", function(counter, y)
  local kept = shared(i32, {4096})
  if threadIdx.x == 0 then
    kept[0] = blockIdx.x
    atomic_add(counter, 0, 1)
    while atomic_load(counter, 0) < gridDim.x do end
    y[blockIdx.x] = kept[0]
  end
end)

local function run(blocks, threads)
  local counter, y = zeros(i32, 1), full(i32, blocks, -1)
  meet{grid = blocks, block = threads, cooperative = true}(counter, y)
  local wrong = 0
  for i, v in ipairs(y:totable()) do wrong = wrong + (v == i - 1 and 0 or 1) end
  return counter:totable()[1], wrong
end

-- The error of a launch with one block too many; the launch after it must work.
local function check_refusal(blocks, threads, fits)
  local ok, message = pcall(run, blocks, threads)
  local want = ("a cooperative grid of %d blocks; '%s' runs at most %d blocks of kernel 'meet' at")
    :format(blocks, here.name, fits)
  tap.ok(not ok and message:find(want, 1, true) ~= nil, "one more is refused", message)
  tap.is(run(1, threads), 1, "a launch after the refused one runs")
end

for _, threads in ipairs{64, 256, 1024} do
  local one = meet{grid = 1, block = threads}
  local per_sm = one:info(zeros(i32, 1), zeros(i32, 1)).blocks_per_sm
  local fits = per_sm * here.n_sms
  local met, wrong = run(fits, threads)
  tap.is(met, fits, ("%d blocks of %d threads meet"):format(fits, threads))
  tap.is(wrong, 0, ("all %d write their number"):format(fits))
  check_refusal(fits + 1, threads, fits)
end
tap.done()
