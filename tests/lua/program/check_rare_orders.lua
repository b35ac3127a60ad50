-- `check --schedules --preemptions=2` of a product on Hopper with two roles and four stages, of
-- attention with three groups, and of a gathered product of two ranks: each is right in all these
-- orders. Each also has a seeded fault that fewer than 1 % of random orders show, and that the
-- search finds.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local check = require "cuttle.check"

local read = shell.read_file

-- The text with changes {from, to}, each at the first place.
local function changed(text, changes)
  for _, change in ipairs(changes) do
    local at, stop = text:find(change[1], 1, true)
    assert(at, change[1])
    text = text:sub(1, at - 1) .. change[2] .. text:sub(stop + 1)
  end
  return text
end

local function example(name, changes, ...)
  local f = assert(load(changed(read("examples/" .. name), changes), "@" .. name))
  arg = { [-1] = arg[-1], [0] = name, ... } -- luacheck: globals arg
  return f
end

local function has_one_order(f, name)
  local findings, _, ok, why = check.run(f, { orders = -1, preemptions = 2 })
  local is_one = ok and #findings == 0
  for _, e in ipairs(findings.explored) do is_one = is_one and e.is_whole and e.n_run == 1 end
  tap.ok(is_one and #findings.explored > 0, name .. ": all orders are one",
    ok and check.report(findings, 1) or why)
end

local function is_found(f, orders, text, name)
  local findings = check.run(f, { orders = orders, preemptions = 2 })
  tap.ok(findings[1] and findings[1].schedule and findings[1].message:find(text, 1, true),
    name, check.report(findings, 1))
  local plain = check.run(f, {})
  tap.ok(#plain == 0, name .. ", and not in the usual order", check.report(plain, 1))
end

-- A warp follows the loads without being counted at the empty slots: two phases may overtake it.
local SMALL <const> = {
  { "128, 256, 64, 3, 128", "128, 128, 64, 4, 128" }, { "SM90_64x256x16", "SM90_64x128x16" },
  { "local ok = beside_blas", "local ok = true launch() --" }, { "os.exit(ok, true)", "" } }
local FOLLOWS <const> = { "  else                                             -- two consumers", [[
    if threadIdx.x == 32 then
      local state = pipeline_state(stages)
      for m, n in raster(walk) do
        for _ in range(k_tiles) do
          full[state.slot]:wait(state.parity)
          state:advance()
        end
      end
    end
  else]] }
local function product(side, ...)
  return example("hopper_gemm.lua", { ... }, side, side, "640")
end
has_one_order(product("256", table.unpack(SMALL)), "a product on Hopper")
is_found(product("128", SMALL[1], SMALL[2], SMALL[3], SMALL[4], FOLLOWS), 2,
  "deadlock in block (0,0,0): warp 1 waits at line 48 for full[2]", "a warp that is overtaken")

-- A group that passes blocks of keys does not keep its warps together.
local function attend(dtype)
  local function rows() return randn(dtype, row_major{ 1, 1, 260, 64 }) end
  return function()
    attention(rows(), rows(), rows(), { config = "hopper 192x80", causal = true })
  end
end
has_one_order(attend(bf16), "attention")
local apart = changed(read "stdlib/operators/attention_hopper.lua",
  { { "self.together:sync() -- else the slot may", "-- else the slot may" } })
local own = require "cuttle.attention_hopper"
for name, f in pairs(assert(load(apart, "@attention_hopper.lua"))()) do own[name] = f end
is_found(attend(f16), 2, "deadlock in block (1,0,0): ", "a group whose warps part")

-- Who waits for the last tile of a rank says that it sleeps, and may do so after the other looked.
local SENDS <const> = { "if i == 0 then atomic_store(flags[to], t, call, sys) end", [[
  local all = n_ranks * tiles
      if i == 0 then
        atomic_store(flags[to], t, call, sys)
        if t % tiles == tiles - 1 and atomic_load(flags[to], all + t, sys) == call then
          atomic_store(flags[to], 2 * all + t, call, sys)
        end
      end]] }
local SLEEPS <const> = { "while atomic_load(flags[me + 1], t, sys) < call do end", [[
  local all = n_ranks * tiles
      if t % tiles < tiles - 1 then
        while atomic_load(flags[me + 1], t, sys) < call do end
      elseif atomic_load(flags[me + 1], t, sys) < call then
        atomic_store(flags[me + 1], all + t, call, sys)
        while atomic_load(flags[me + 1], 2 * all + t, sys) < call do end
      end]] }
device "cpu:2"
local function gathered(...)
  return example("all_gather_product.lua", { { "print((", "tostring((" }, ... }, "192", "64", "32")
end
has_one_order(gathered(), "a gathered product")
is_found(gathered(SENDS, SLEEPS, { "n_ranks * M // BM }", "3 * n_ranks * M // BM }" },
  { "r.rank), n_ranks * M", "r.rank), 3 * n_ranks * M" }), 30, "deadlock: thread (0,0,0) of block ",
  "a lost wake-up between ranks")
tap.done()
