-- check of cp.async in a ring of slots, in a kernel with mbarriers: copies of two groups are two
-- events, though the same line began them and nothing happened between. The slots interleave. One is
-- written again when its copy was waited for; waiting for too few groups is found.
local shell = dofile "tests/support/shell.lua"
local script = shell.file [[
local SLOTS <const>, TILES <const> = 3, 8
local function make(lag)
  return kernel("ring", function(x, y)
    local s, full = shared(f32, row_major{32, SLOTS}), mbarrier(1, 32)
    local i = threadIdx.x
    for k in range(TILES) do
      copy(tile(x, {1}, {k * 32 + i}), tile(s(_, k % SLOTS), {1}, {i}))
      cp_async_commit()
      cp_async_wait(lag)
    end
    cp_async_wait(0)
    full[0]:arrive()
    full[0]:wait(0)
    y[i] = s[{i, 0}]
  end)
end
make(tonumber(arg[1])){grid = 1, block = 32}(rand(f32, 32 * 8), zeros(f32, 32))
]]
local function check(lag) return (shell.cuttle("check %s %d", script, lag)) end
io.write(check(2))                                            -- expect: check: no finding in 1 launch
print(check(3):find("may be in progress", 1, true) ~= nil)      -- expect: true
os.remove(script)

-- Halves of a warp wait apart, and each lane reads what it copied: nothing is wrong with that.
local apart = kernel("apart", function(x, y)
  local s, full, t = shared(f32, 32), mbarrier(1, 1), threadIdx.x
  sync_threads()
  copy(tile(x, {1}, {t}), tile(s, {1}, {t}))
  cp_async_commit()
  if t < 16 then
    cp_async_wait(0)
    y[t] = s[t]
  else
    cp_async_wait(0)
    y[t] = s[t] + 1.0
  end
  sync_warp()
  y[t + 32] = s[31 - t]
  if t == 0 then full[0]:arrive() end
end)
print(#require("cuttle.check").run(function()                   -- expect: 0
  apart{grid = 1, block = 32}(rand(f32, 32), zeros(f32, 64))
end))
