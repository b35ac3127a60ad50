-- The examples saxpy, moye_matmul, softmax, hopper_gemm and multi_tensor_adamw, and the operators,
-- exported: in a folder with nothing else and without an environment they build with a C compiler
-- alone, a launch says that there is no device, and the CPU twin has the bits of the process.
local tap = dofile "tests/support/tap.lua"
local shell = dofile "tests/support/shell.lua"
local cuttle, here = arg[-1], arg[0]:match "^(.*)tests/lua/" or "./"
local f = dofile "tests/support/folder.lua"
local folder, run, write = f.path, f.run, f.write
cuttle, here = f.absolute(cuttle), f.absolute(here)

write("attn.lua", [[
local shape = {64, 64, 2, 1}
local Q, K, V = randn(f16, shape), randn(f16, shape), randn(f16, shape)
local O = attention(Q, K, V, {causal = true})
]])
write("split.lua", [[
local X, Y = randn(f16, row_major{64, 512}), randn(f16, row_major{64, 512})
local Z = zeros(f32, row_major{64, 64})
matmul(X, Y, Z, {split = 4, alpha = 0.5})
local W, b = zeros(f32, row_major{64, 64}), rand(f32, 64)
matmul(X, Y, W, {bias = b, epilogue = function(v) return max(v, 0.0) end})
]])

local cases <const> = {
  { "saxpy", "'%sexamples/export_saxpy.lua'" },
  { "moye", "'%sexamples/moye_matmul.lua' 128 128 16" },
  { "soft", "'%sexamples/softmax.lua' 4 1024" },
  { "hopper", "'%sexamples/hopper_gemm.lua' 128 256 64" },
  { "attn", "attn.lua" }, { "split", "split.lua" },
  { "adamw", "'%sexamples/multi_tensor_adamw.lua' 3 40" },
}
-- The program, and another compiler and language; export.lua has two compilers for each.
local compilers <const> = { "gcc -std=c11", "clang++ -std=c++17 -x c++" }
local link <const> = "-ldl -lpthread -lm"

local function has(command)
  return (os.execute(("command -v %s > /dev/null 2>&1"):format(command:match "^%S+")))
end

local exists = shell.exists
local libraries = cuttle:match "^(.*)/[^/]*$"
local core = libraries .. "/libcuttle_core.a"
local has_core = exists(core) and exists(libraries .. "/include/cuttle/ct.h")
  and not os.execute(("nm '%s' 2>/dev/null | grep -q __asan_init"):format(core))

for _, case in ipairs(cases) do
  local name = case[1]
  local out, code = run(("CUTTLE_DEVICE=cpu CUTTLE_LIBCUDA=/nowhere '%s' export --cpu --sm=90a "
    .. "--name=%s %s"):format(cuttle, name, case[2]:format(here)))
  if not exists(folder .. "/" .. name .. ".c") then
    if name == "saxpy" then
      tap.skip_all("nothing is exported here: " .. (out:match "[^\n]+" or ""))
    end
    tap.ok(false, name .. " is exported", out)
  else
    tap.ok(code == 0, name .. " is exported", out)
    for i, compiler in ipairs(compilers) do
      if has(compiler) then
        out, code = run(("env -i PATH=\"$PATH\" %s -Wall -Wextra -Wpedantic -Werror %s.c %s_test.c "
          .. "%s"):format(compiler, name, name, i == 1 and ("-o %s %s"):format(name, link)
          or "-fsyntax-only"))
        tap.ok(code == 0 and out == "", ("%s builds with %s alone"):format(name, compiler), out)
      end
    end
    out, code = run(("env -i LD_LIBRARY_PATH=/nowhere ./%s"):format(name))
    tap.ok(code == 77 and out == "1..0 # SKIP no device\n" or has "nvidia-smi",
      name .. ": no device", out)
    if has_core then
      out, code = run(("cc -std=c11 -D%s_CPU -I'%s/include' %s.c %s_test.c -o twin '%s' %s "
        .. "&& ./twin"):format(name:upper(), libraries, name, name, core, link))
      local n_same = select(2, out:gsub(": the same bits", ""))
      tap.ok(code == 0 and n_same > 0 and not out:find "not ok",
        name .. ": the CPU twin has the same bits", out)
    else
      tap.skip(name .. ": the CPU twin", "there is no libcuttle_core.a, or a sanitized one")
    end
  end
end

local function read(name)
  local file <close> = io.open(folder .. "/" .. name, "rb")
  return file and file:read "a" or ""
end
tap.ok(read "saxpy.h":find("for sm_90a and later devices\n", 1, true), "saxpy has PTX")
tap.ok(read "hopper.h":find("for sm_90a\n", 1, true), "wgmma has none: no later device runs it")
run(("CUTTLE_DEVICE=cpu CUTTLE_LIBCUDA=/nowhere '%s' export --sm=80,90a --name=two "
  .. "'%sexamples/hopper_gemm.lua' 128 256 64 > said 2>&1"):format(cuttle, here))
tap.ok(read "said":find("export: hopper_gemm has no code for sm_80: line 18: shared: ", 1, true),
  "a capability that a kernel is not for is named", read "said")
f.remove()
tap.done()
