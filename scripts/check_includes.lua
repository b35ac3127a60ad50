-- check_includes.lua: keeps the direction of dependencies. Reads every #include line of the C
-- sources and fails, with file, line and rule, where one points the wrong way.
--   lua scripts/check_includes.lua        from the root of the repository
-- The tables below are the architecture: a new file either falls under a module or gets a row.

-- Modules of a folder, lowest first. A module is the files whose path in it (without its extension)
-- matches one of `files`; it may include itself, what `uses` names, and what those use in turn.
-- A name with a slash is a module of another folder.
local modules = {
  runtime = {
    { name = "base", files = { "base/base" }, uses = {} },
    { name = "env", files = { "base/env" }, uses = { "base" } },
    { name = "err", files = { "base/err" }, uses = { "base" } },
    { name = "arena", files = { "base/arena" }, uses = { "err" } },
    { name = "text", files = { "base/text" }, uses = { "arena" } },
    { name = "rand", files = { "base/rand" }, uses = { "base" } },
    { name = "dtype", files = { "base/dtypes?", "base/convert" }, uses = { "text" } },
    { name = "newfile", files = { "base/newfile" }, uses = { "base" } },
    { name = "npy", files = { "base/npy" }, uses = { "dtype", "newfile" } },
    { name = "message", files = { "base/message" }, uses = { "dtype" } },
    { name = "reference", files = { "reference/[%w_]+" }, uses = { "base" } },

    -- The algebra knows numbers only: not what they index.
    { name = "inttuple", files = { "layout/inttuple", "layout/inttuple_[%w_]+",
      "layout/tuple_[%w_]+", "layout/mode_name" }, uses = { "text" } },
    { name = "layout", files = { "layout/layout", "layout/layout_[%w_]+", "layout/partition",
      "layout/swizzle", "layout/composed", "layout/composed_[%w_]+", "layout/walk" },
      uses = { "inttuple" } },

    -- The IR knows no engine; passes know the IR only.
    { name = "atom", files = { "ir/atoms?" }, uses = { "dtype" } }, -- layouts as texts
    { name = "ir", files = { "ir/ir", "ir/ir_[%w_]+", "ir/ops", "ir/gemm_order" },
      uses = { "layout", "dtype", "atom" } },
    { name = "pass", files = { "ir/pass", "ir/pass_[%w_]+" }, uses = { "ir" } },

    -- Two back ends that do not know of each other.
    { name = "emit", files = { "emit/[%w_]+" }, uses = { "ir" } },
    { name = "tensor_core", files = { "simt/model/[%w_]+" },
      uses = { "atom" } },
    { name = "simt", files = { "simt/simt", "simt/%w+/[%w_]+" },
      uses = { "ir", "message", "tensor_core" } },
    -- They look at launches of the CPU engine, which does not know of them.
    { name = "watch", files = { "watch/[%w_]+" }, uses = { "simt" } },

    -- Libraries and devices take text, bytes and sizes: no layouts, no IR.
    { name = "dl", files = { "device/dl", "device/cuda_[%w_]+", "device/nvrtc_syms",
      "device/cublas_[%w_]+", "device/cublaslt_syms", "device/nvml_syms", "device/nvml_types" },
      uses = { "text", "env" } },
    { name = "cache", files = { "device/cache" }, uses = { "text", "env" } },
    { name = "nvrtc", files = { "device/nvrtc", "device/nvrtc_[%w_]+" }, uses = { "dl", "cache" } },
    { name = "device", files = { "device/device", "device/device_[%w_]+" },
      uses = { "dl", "message" } },
    { name = "blas", files = { "device/blas", "device/blas_[%w_]+" }, uses = { "device" } },
    { name = "nvml", files = { "device/nvml" }, uses = { "device" } },
    { name = "storage", files = { "device/storage" }, uses = { "device" } },

    -- The list of public headers; no file of the core includes it.
    { name = "ct", files = { "ct" },
      uses = { "emit", "watch", "nvrtc", "device", "npy", "atom" } },
  },

  interp = {
    -- The reader and rewriter of Lua text works on text: no lua_State.
    { name = "rewrite", files = { "text/[%w_]+" },
      uses = { "runtime/text" } },
    { name = "std_modules", files = { "host/std_modules" }, uses = {} },
    { name = "cuttle", files = { "cuttle" }, uses = {} },
    -- The rest of the folder, one layer: bindings, front end, state, command line.
    { name = "interp", files = { ".*" },
      uses = { "rewrite", "std_modules", "cuttle", "runtime/ct", "runtime/ir", "runtime/pass",
        "runtime/emit", "runtime/watch", "runtime/nvrtc", "runtime/blas", "runtime/nvml",
        "runtime/storage", "runtime/npy", "runtime/newfile", "runtime/rand", "runtime/reference",
        "runtime/dtype",
        "runtime/atom" } },
  },
}

-- Headers of libraries that a folder never sees; interp/ files of module "rewrite" neither see Lua.
local LUA <const> = { "^lua%w*%.h", "^lauxlib%.h", "^luaxlib%.h" }
local CUDA <const> = { "^cu%w*%.h", "^nvrtc%.h", "^cublas", "^nvml%.h" }
local foreign = {
  runtime = { { LUA, "runtime/ never sees Lua" },
    { CUDA, "CUDA is loaded at run time: declare what is needed in runtime/device/dl.h" } },
  interp = { { CUDA, "CUDA is loaded at run time: use runtime/device/device.h" } },
  rewrite = { { LUA, "the rewriter works on text, without a lua_State" } },
}

-- One binding does not call another: what they share goes to bind.h.
local only_within = {
  { header = "^interp/shell/repl%.h$", users = { "^interp/shell/" },
    rule = "only the program knows the REPL" },
}

-- What programs outside the core may include, by folder.
local outsiders = {
  { folder = "examples/", allowed = { "^cuttle%.h$", "^cuttle/ct%.h$" },
    rule = "examples include public headers" },
  { folder = "tests/", allowed = { "^runtime/", "^interp/", "^tests/", "^tap%.h$" },
    rule = "tests include runtime/, interp/ and their own headers" },
}

-- {====== Reading ======

local findings = 0

local function blame(file, line, format, ...)
  findings = findings + 1
  io.stderr:write(("%s:%d: include: %s\n"):format(file, line, format:format(...)))
end

local function capture_lines(command)
  local pipe = assert(io.popen(command))
  local lines = {}
  for line in pipe:lines() do
    lines[#lines + 1] = line
  end
  assert(pipe:close(), command)
  return lines
end

local function exists(path)
  local file = io.open(path)
  return file ~= nil and file:close()
end

local function matches_any(text, patterns)
  for _, pattern in ipairs(patterns) do
    if text:find(pattern) then
      return true
    end
  end
  return false
end

-- "runtime/ir/ir_fold.c" -> the row of its module, "runtime"; nil when no row fits
local function module_of(path)
  local folder, stem = path:match("^(%w+)/([%w_/]+)%.%w+$")
  for _, row in ipairs(modules[folder] or {}) do
    for _, pattern in ipairs(row.files) do
      if stem:find("^" .. pattern .. "$") then
        return row, folder
      end
    end
  end
  return nil, folder
end

-- Full names ("runtime/ir") of all that a module may include, itself among them.
local function reach(folder, name, seen)
  local full = folder .. "/" .. name
  if seen[full] then
    return seen
  end
  seen[full] = true
  for _, row in ipairs(modules[folder]) do
    if row.name == name then
      for _, used in ipairs(row.uses) do
        local other_folder, other = used:match("^(%w+)/(.*)$")
        reach(other_folder or folder, other or used, seen)
      end
      return seen
    end
  end
  error("check_includes: no module " .. full)
end

-- {====== Rules ======

local function check_foreign(file, line, header, folder, row)
  for _, scope in ipairs { folder or "", row and row.name or "" } do
    for _, rule in ipairs(foreign[scope] or {}) do
      if matches_any(header, rule[1]) then
        blame(file, line, "<%s> in %s; %s", header, file:match("^[^/]+"), rule[2])
      end
    end
  end
end

-- The path from the root of what `#include "header"` in `file` means.
local function resolve(file, line, header)
  if header:find("%.%./") then
    local from_root = header:gsub("^.*%.%./", "")
    blame(file, line, "'%s' climbs; write the path from the root, '%s'", header, from_root)
    return from_root
  end
  local sibling = file:match("^(.*/)") .. header
  return exists(sibling) and sibling or header
end

local function check_module(file, line, target)
  local row, folder = module_of(file)
  local used, used_folder = module_of(target)
  if not used then
    return blame(file, line, "'%s' is in no module; give it a row in scripts/check_includes.lua",
      target)
  end
  local full = used_folder .. "/" .. used.name
  if not reach(folder, row.name, {})[full] then
    blame(file, line, "'%s' is above or beside: %s/%s may use %s", target, folder, row.name,
      #row.uses > 0 and table.concat(row.uses, ", ") .. " and what these use" or "nothing")
  end
end

local function check_users(file, line, target)
  for _, rule in ipairs(only_within) do
    if target:find(rule.header) and not matches_any(file, rule.users) then
      blame(file, line, "'%s': %s", target, rule.rule)
    end
  end
end

local function check_outsider(file, line, header, target)
  for _, outsider in ipairs(outsiders) do
    if file:sub(1, #outsider.folder) == outsider.folder
        and not matches_any(target, outsider.allowed) then
      blame(file, line, "'%s': %s", header, outsider.rule)
    end
  end
end

local function check_quoted(file, line, header)
  local target = resolve(file, line, header)
  if header:find("%.c$") then
    blame(file, line, "'%s' is a source; include headers and tables only", header)
  elseif modules[file:match("^%w+")] then
    check_module(file, line, target)
    check_users(file, line, target)
  else
    check_outsider(file, line, header, target)
  end
end

local function check_file(file)
  local row, folder = module_of(file)
  if modules[folder] and not row then
    return blame(file, 1, "in no module; give it a row in scripts/check_includes.lua")
  end
  local number = 0
  for text in io.lines(file) do
    number = number + 1
    local open, header = text:match('^%s*#%s*include%s+([<"])([^>"]+)')
    if open == "<" then
      check_foreign(file, number, header, folder, row)
    elseif open == '"' then
      check_quoted(file, number, header)
    end
  end
end

local files = capture_lines("find runtime interp tests examples -name '*.[ch]' | LC_ALL=C sort")
for _, file in ipairs(files) do
  check_file(file)
end
print(("check_includes: %d files, %d findings"):format(#files, findings))
os.exit(findings == 0)
