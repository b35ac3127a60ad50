-- tap.lua: tests in Lua that print TAP (the Test Anything Protocol). A test gets it by
--   local tap = dofile "tests/support/tap.lua"
-- calls the checks below and ends with tap.done().
local tap = {}
local n_run, n_failed = 0, 0

local function comment(text)
  print("#   " .. tostring(text):gsub("\n*$", ""):gsub("\n", "\n#   "))
end

-- One result; if it failed, with `notes` that say why. Returns whether it passed.
function tap.ok(passed, name, ...)
  n_run = n_run + 1
  print(("%sok %d - %s"):format(passed and "" or "not ", n_run, name))
  if not passed then
    n_failed = n_failed + 1
    for _, note in ipairs { ... } do comment(note) end
  end
  io.stdout:flush()
  return passed
end

function tap.is(got, want, name)
  return tap.ok(got == want, name, ("got: %s\nexpected: %s"):format(got, want))
end

-- A check that this machine cannot do.
function tap.skip(name, why)
  n_run = n_run + 1
  print(("ok %d - %s # skip %s"):format(n_run, name, why))
end

-- Ends a test that this machine cannot run; call it before any check.
function tap.skip_all(why)
  print("1..0 # skip " .. why)
  os.exit(true, true)
end

-- Prints the plan. How many checks there were, and how many of them failed.
function tap.plan()
  print("1.." .. n_run)
  return n_run, n_failed
end

-- Prints the plan and ends the program.
function tap.done()
  tap.plan()
  os.exit(n_failed == 0, true)
end

return tap
