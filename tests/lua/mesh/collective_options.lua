-- The last argument of a rank's collective: a word of its own, or a table of options.
device "cpu:2"
local m = mesh{ d = 2 }
local function of_rank_0(f) return m:run(f)[0] end
local function fails(f) return (select(2, pcall(m.run, m, f)):match ".-: (.-)\n") end
print(of_rank_0(function(r)
  local s, e, t, all = stream(), event(), full(f32, 2, r.rank + 1), zeros(f32, 4)
  s:wait(e:record())
  r:all_reduce(t, "d", { stream = s, reduce = "max" })
  r:all_gather(t, all, nil, { stream = s })
  r:reduce_scatter(all, t, nil, { stream = s })
  r:all_to_all(all, zeros(f32, 4), "d", { stream = s })
  if r.rank == 1 then t:fill(9) end
  r:broadcast(t, "d", { root = 1 })
  e:record(s):wait()
  return t[0] + all[3]
end)) -- expect: 11.0
local t = zeros(f32, 2)
print(fails(function(r) r:all_reduce(t, nil, { strem = 1 }) end))
-- expect: all_reduce: option 'strem' is unknown; did you mean 'stream'?
print(fails(function(r) r:all_to_all(t, zeros(f32, 2), nil, { reduce = "sum" }) end))
-- expect: all_to_all: option 'reduce' is unknown; expected stream
print(fails(function(r) r:all_gather(t, zeros(f32, 4), nil, "sum") end))
-- expect: all_gather: the options are of type string; expected a table such as {stream = s}
print(fails(function(r) r:all_reduce(t, nil, { stream = 4 }) end))
-- expect: all_reduce: the option stream is of type number; expected what stream() makes
print(fails(function(r) r:all_reduce(t, nil, { reduce = "mean" }) end))
-- expect: all_reduce: the reduction is mean; expected "sum", "max" or "min"
