-- skips.lua: the tests that cannot run on a platform, and why. Gives a function: the reason of a
-- platform for a test, or nil. A row names a test, the beginning of the paths of several, or a case
-- of a table.
local no_processes <const> = "it starts a process, which a program of WebAssembly cannot"
local no_libraries <const> = "it loads a shared library, which a static program cannot"

local rows = {
  wasm = {
    { "tests/lua/program/", no_processes },
  },
  musl = {
    { "tests/c/test_nvrtc", no_libraries },
    { "tests/c/test_nccl", no_libraries },
  },
}

return function(platform, path)
  for _, row in ipairs(rows[platform] or {}) do
    if path:sub(1, #row[1]) == row[1] then
      return row[2]
    end
  end
end
