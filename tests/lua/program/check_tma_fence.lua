-- A block writes global memory and sets a flag, and TMA of another one loads what it wrote: `check`
-- wants a proxy fence in between, by a thread that knows of the write. Who fences, and where.
local check = require "cuttle.check"
local tap = dofile "tests/support/tap.lua"

local function run(fence)
  local function fence_at(place)
    if fence == place then fence_proxy_async "global" end
  end
  local k = kernel("told", function(x, y, flag)
    local s, full, t = shared(f32, 32), mbarrier(1, 1), threadIdx.x
    sync_threads()
    if blockIdx.x == 0 then
      if t >= 32 then fence_at "by a warp that does not write" end
      if t < 32 then
        x[t] = 1.0
        fence_at "by the writers"
        sync_warp()
        if t == 0 then
          fence_at "by the lane that tells it"
          atomic_store(flag, 0, 1)
          fence_at "by the lane that has told it"
        end
      end
    else
      if t == 32 then
        while atomic_load(flag, 0) == 0 do end
        fence_at "by a thread that does not load"
        full[0]:arrive()
      end
      if fence == "by a thread that tells the loader" then
        if t == 33 then
          while atomic_load(flag, 0) == 0 do end
          fence_proxy_async "global"
        end
        sync_threads()
      end
      if t == 0 then
        fence_at "by the loader, before it knows"
        while atomic_load(flag, 0) == 0 do end
        fence_at "by the loader"
        full[0]:wait(0)
        full[0]:arrive_expect_tx(s)
        tma_load(tile(tma_tensor(x), {32}, {0}), s, full[0])
        full[0]:wait(1)
        y[0] = s[31]
      end
    end
  end)
  return check.run(function()
    k{grid = 2, block = 64, cooperative = true}(zeros(f32, 32), zeros(f32, 1), zeros(i32, 1))
  end)
end

for place, is_right in pairs {
  nowhere = false, ["by a warp that does not write"] = false, ["by the writers"] = true,
  ["by the lane that tells it"] = true, ["by the lane that has told it"] = false,
  ["by a thread that does not load"] = true, -- it tells the loader by the mbarrier
  ["by a thread that tells the loader"] = true, ["by the loader, before it knows"] = false,
  ["by the loader"] = true,
} do
  local findings, _, ok, message = run(place)
  local is_found = #findings > 0 and findings[1].kind:find "^race" ~= nil
  tap.ok(ok and is_found ~= is_right and (is_found or #findings == 0), place, message,
    check.report(findings, 1))
end
tap.done()
