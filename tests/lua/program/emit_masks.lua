-- What `cuttle emit` writes for operations by a mask: CUDA's functions, and before sm_80 helpers for the
-- reductions; a mask that the script does not give is that of the warp.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local script = shell.file [[
kernel("masks", function(x, y)
  local i = threadIdx.x
  local lanes = ballot(i % 3 == 0)
  if i % 3 == 0 then
    x[i] = shfl_up(i, 1, {mask = lanes, width = 16}) + shfl_idx(i, 0, {mask = active_mask()})
    x[i] = x[i] + warp_reduce(i, "add", {mask = lanes}) + warp_reduce(i, "xor", {mask = lanes})
    y[i] = match_any(i, {mask = lanes}) | match_all(i, {mask = lanes}) | ballot(i > 5, {mask = 9})
    if vote_any(i > 9, {mask = lanes}) then sync_warp{mask = lanes} end
  end
  y[0] = match_any(i // 2)
  x[1] = sync_threads_count(i > 3) + where(sync_threads_or(i > 4), 1, 0)
end){grid = 1, block = 40}(zeros(i32, 40), zeros(u32, 40))
]]

local function check(sm, ...)
  local out = shell.cuttle("emit --sm=%d '%s' 2>/dev/null", sm, script)
  local missing = {}
  for _, part in ipairs { ... } do
    if not out:find(part, 1, true) then missing[#missing + 1] = part end
  end
  tap.ok(#missing == 0, "sm_" .. sm, table.concat(missing, "\n") .. "\nis not in\n" .. out)
end

local everywhere <const> = {
  "const unsigned warp_mask = threadIdx.x < 32 ? 0xffffffffu : 0xffu;",
  "const unsigned lanes = __ballot_sync(warp_mask, is_equal);",
  "__shfl_up_sync(lanes, i, 1, 16)", "__activemask()", "__match_any_sync(lanes, i)",
  "match_all(lanes, i)", "__match_all_sync(mask, v, &same)", "__ballot_sync(9u, (int)(i > 5))",
  "__any_sync(lanes, (int)(i > 9))", "__syncwarp(lanes);", "__match_any_sync(warp_mask, i / 2)",
  "__syncthreads_count(i > 3)", "__syncthreads_or(i > 4)",
}
check(80, "__reduce_add_sync(lanes, i)", "(int)__reduce_xor_sync(lanes, (unsigned)(i))",
  table.unpack(everywhere))
check(75, " reduce_add(unsigned mask, T v)", "= reduce_add(lanes, i)",
  "(int)reduce_xor(lanes, (unsigned)(i))", table.unpack(everywhere))
os.remove(script)
tap.done()
