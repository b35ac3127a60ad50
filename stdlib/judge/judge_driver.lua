-- judge_driver.lua: what judge.lua asks of the state that a candidate runs in. In a state apart
-- (bind_apart.c) this module is loaded before the candidate, which cannot reach it. It uses only
-- functions that it took before then, and no method of strings: the candidate shares those.
-- Arguments and results are plain values. The candidate's function is recorded as a graph: when it
-- runs, nothing is launched and no tensor has its data, so nothing that it does in Lua can depend
-- on them. Then the graph runs, again and again, and no Lua of the candidate does.
local internal = ...
local graph <const>, tensor <const>, zeros <const> = graph, tensor, zeros
local load <const>, pcall <const>, type <const> = load, pcall, type
local unpack <const> = table.unpack
local watch_check <const>, profile_begin <const> = internal.watch.check,
  internal.watch.profile_begin
local clear <const>, event <const>, synchronize <const> = clear, event, synchronize
local globals <const> = _G
local types <const> = { f64 = f64, f32 = f32, tf32 = tf32, f16 = f16, bf16 = bf16, f8e4m3 = f8e4m3,
  f8e5m2 = f8e5m2, i64 = i64, i32 = i32, i16 = i16, i8 = i8, u64 = u64, u32 = u32, u16 = u16,
  u8 = u8, bool = bool }
local M = {}

local PROFILED_BLOCKS <const> = 12
local MOST_COOPERATIVE <const> = 16 -- launches whose CUDA C is kept

local candidate -- the function
local args, n_args = {}, 0 -- of the case: tensors and numbers
local recorded, watch, session, cooperative

-- The text of an error; one that is no text says nothing.
local function text_of(what)
  if type(what) == "string" then return what end
  return "the error is no text"
end

--- Runs the candidate's file; why it cannot be used, or nil.
function M.load(text, name)
  local chunk, why = load(text, name, "t", globals)
  if not chunk then return text_of(why) end
  local ok, what = pcall(chunk)
  if not ok then return text_of(what) end
  if type(what) ~= "function" then
    local got <const> = what == nil and "nothing" or type(what) == "userdata" and "an object"
      or "a " .. type(what)
    return "the file must return a function of the inputs and outputs, and returned " .. got
      .. "; end it with return function(x, y) k{grid = ..., block = ...}(x, y) end"
  end
  candidate = what
end

--- A function of this state in place of a file.
function M.use(f) candidate = f end

--- Begins a case: argument `i` is a number, or a tensor of this type and layout.
function M.begin()
  if recorded then recorded:close() end
  args, n_args, recorded = {}, 0, nil
end

function M.number(value)
  n_args = n_args + 1
  args[n_args] = value
end

--- is_blank: nobody has written it, and check reports who reads it.
function M.add(dtype, layout, is_blank)
  n_args = n_args + 1
  args[n_args] = (is_blank and tensor or zeros)(types[dtype], layout)
end

function M.tensor(i) return args[i] end

local function call_candidate() candidate(unpack(args, 1, n_args)) end

--- Calls the candidate once, and keeps what it launches; why that failed, or nil.
function M.record()
  local ok, what = pcall(graph, call_candidate)
  if not ok then return text_of(what) end
  recorded = what
end

--- Runs what was recorded; why that failed, or nil.
function M.play()
  local ok, what = pcall(recorded)
  if not ok then return text_of(what) end
end

--- Calls the candidate without recording it.
function M.call()
  local ok, what = pcall(call_candidate)
  if not ok then return text_of(what) end
end

--- From now on all launches are checked. options: as check.run takes them, with `sm`: for which
--- capability, times 10, the CUDA C of cooperative launches is kept.
function M.check_begin(options)
  cooperative = {}
  watch = watch_check(options, function(launch)
    cooperative[#cooperative + 1] = launch
    launch.count = 1
    return #cooperative <= MOST_COOPERATIVE
  end, options.sm)
end

--- The findings, how many launches there were, the cooperative ones, and whether something may not
--- have been found.
function M.check_end()
  watch:stop()
  local findings <const> = watch:findings()
  return findings, watch:launches(), cooperative, findings.is_partial == true
end

--- From now on all launches are counted; for which capability, times 10, CUDA C is kept.
function M.profile_begin(sm) session = profile_begin(sm, PROFILED_BLOCKS, 1, true) end

--- What was counted, as profile_machine.lua and predict_counts.lua take it.
function M.profile_end()
  local programs = session:finish()
  return programs
end

local scratch

--- Fills so many bytes of the device's memory: its cache holds nothing else then.
function M.cool(bytes)
  scratch = scratch or zeros(types.u8, bytes)
  clear(scratch)
end

--- Milliseconds of what was recorded, run once.
function M.time()
  local from <const>, to <const> = event(), event()
  from:record()
  recorded()
  to:record()
  synchronize()
  return from:elapsed(to)
end

return M
