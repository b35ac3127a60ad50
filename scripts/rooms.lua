-- rooms.lua: the rooms of the house: which files each holds, and whom it may know. The tables are
-- the architecture: a new file either falls under a room or gets a row. check_includes.lua holds
-- every #include against them, check_objects.lua every symbol that an object uses of another, and
-- check_requires.lua every `require` of a module of stdlib/, in which no circle is allowed.
--
-- Rooms of a folder, lowest first. A room is the files whose path in the folder (without its
-- extension) matches one of `files`. It may know itself, what `uses` names, and what those use in
-- turn. A name with a slash is a room of another folder. `circle`: the largest circle of objects
-- in it (each uses the next), 1 if nothing is said. `doors`: what modules of the room may use
-- beside the language: of what bindings add as `_door.name`. Without it, they use it alone.
return {
  runtime = {
    { name = "base", files = { "base/base", "base/bits", "base/clock", "base/order", "base/size",
      "base/ask", "base/fork", "base/plural" }, uses = {} },
    { name = "err", files = { "base/err" }, uses = { "base" } },
    { name = "env", files = { "base/env" }, uses = { "err" } },
    { name = "arena", files = { "base/arena" }, uses = { "err" } },
    { name = "pool", files = { "base/pool" }, uses = { "arena" } },
    { name = "blank", files = { "base/blank" }, uses = { "arena" } },
    { name = "text", files = { "base/text" }, uses = { "arena" } },
    { name = "hash_table", files = { "base/hash_table" }, uses = { "arena" } },
    { name = "inflate", files = { "base/inflate" }, uses = {} },
    { name = "rand", files = { "base/rand" }, uses = { "base" } },
    { name = "dtype", files = { "base/dtypes?", "base/convert" }, uses = { "text" } },
    { name = "newfile", files = { "base/newfile" }, uses = { "base" } },
    { name = "program", files = { "base/program" }, uses = { "base" } },
    { name = "npy", files = { "base/npy" }, uses = { "dtype", "newfile" } },
    { name = "message", files = { "base/message" }, uses = { "dtype" } },
    { name = "reference", files = { "reference/[%w_]+" }, uses = { "base" } },
    -- One text of each function for both engines.
    { name = "math", files = { "math/[%w_]+" }, uses = {} },

    -- The algebra knows numbers only: not what they index.
    { name = "inttuple", files = { "layout/inttuple", "layout/inttuple_[%w_]+",
      "layout/tuple_[%w_]+", "layout/mode_name" }, uses = { "text" }, circle = 3 },
    { name = "layout", files = { "layout/layout", "layout/layout_[%w_]+", "layout/partition",
      "layout/swizzle", "layout/composed", "layout/composed_[%w_]+", "layout/walk" },
      uses = { "inttuple" }, circle = 3 },

    -- The IR knows no engine; passes know the IR only.
    -- Layouts of atoms are texts.
    { name = "atom", files = { "ir/atoms?", "ir/atom_[rt][%w_]+" }, uses = { "dtype" } },
    -- An IR as bytes, which go through builder and passes again.
    { name = "ir_file", files = { "ir/ir_file", "ir/ir_file_rows", "ir/ir_read", "ir/ir_write",
      "ir/ir_trust", "ir/ir_again" }, uses = { "ir", "pass" } },
    { name = "ir", files = { "ir/ir", "ir/ir_[%w_]+", "ir/ops", "ir/gemm_order" },
      uses = { "layout", "dtype", "message", "atom", "math", "hash_table" }, circle = 12 },
    -- A launch as plain numbers, and what a trace takes for granted of them.
    { name = "launch", files = { "launch/[%w_]+" }, uses = { "ir" } },
    -- A launch in a file: its IR and what it was given.
    { name = "pass", files = { "ir/pass", "ir/pass_[%w_]+" }, uses = { "ir" } },

    -- Two back ends that do not know of each other.
    { name = "emit", files = { "emit/[%w_]+" }, uses = { "ir", "pass" }, circle = 2 },
    { name = "tensor_core", files = { "simt/model/[%w_]+" }, uses = { "atom" } },
    -- The CPU engine: its instructions as data; what makes them; what runs them.
    { name = "code", files = { "simt/code/[%w_]+" }, uses = { "ir", "tensor_core" } },
    { name = "lower", files = { "simt/lower/[%w_]+" }, uses = { "code", "pass" }, circle = 3 },
    { name = "run", files = { "simt/run/[%w_]+" }, uses = { "code", "message" }, circle = 2 },
    { name = "simt", files = { "simt/simt", "simt/simt_%w+" }, uses = { "lower", "run" } },
    -- They look at launches of the CPU engine, which does not know of them.
    { name = "watch", files = { "watch/[%w_]+" }, uses = { "simt", "blank" }, circle = 5 },

    -- Libraries and devices take text, bytes and sizes: no layouts, no IR.
    { name = "dl", files = { "device/dl", "device/cuda_[%w_]+", "device/nvrtc_syms",
      "device/cublas_[%w_]+" },
      uses = { "text", "env" } },
    { name = "cache", files = { "device/cache" }, uses = { "text", "env", "newfile" } },
    { name = "nvrtc", files = { "device/nvrtc", "device/nvrtc_[%w_]+" },
      uses = { "dl", "cache" } },
    { name = "device", files = { "device/device", "device/device_[%w_]+" },
      uses = { "dl", "message" }, circle = 6 },
    { name = "blas", files = { "device/blas", "device/blas_[%w_]+" }, uses = { "device" } },
    { name = "nccl", files = { "device/nccl", "device/nccl_[%w_]+" }, uses = { "device" } },
    { name = "storage", files = { "device/storage", "device/storage_mirror" },
      uses = { "device", "blank" } },

    -- The list of public headers; no file of the core includes it.
    { name = "ct", files = { "ct" },
      uses = { "emit", "ir_file", "watch", "nvrtc", "device", "npy", "atom" } },
  },

  interp = {
    { name = "cuttle", files = { "cuttle" }, uses = {} }, -- the public header
    { name = "openers", files = { "openers" }, uses = {} }, -- who adds names to the language
    { name = "std_modules", files = { "host/std_modules" }, uses = {} }, -- made by embed.lua
    -- The reader and rewriter of Lua text works on text: no lua_State.
    { name = "text", files = { "text/[%w_]+" }, uses = { "runtime/text" }, circle = 3 },
    -- One interpreter: memory, devices, interrupts, errors, what a script was told.
    { name = "state", files = { "state/[%w_]+" },
      uses = { "text", "cuttle", "runtime/device", "runtime/nvrtc", "runtime/simt",
        "runtime/storage", "runtime/rand", "runtime/pool" }, circle = 8 },
    -- The trace in progress, and the values that it makes.
    { name = "trace", files = { "trace/[%w_]+" }, uses = { "state", "runtime/ir" }, circle = 2 },
    -- Tuples, layouts, swizzles and element types as Lua values.
    { name = "algebra", files = { "algebra/[%w_]+" }, uses = { "trace", "openers" }, circle = 3 },
    { name = "tensor", files = { "tensor/[%w_]+" },
      uses = { "algebra", "runtime/storage", "runtime/npy", "runtime/watch" } },
    -- What rewritten functions call.
    { name = "front", files = { "front/[%w_]+" }, uses = { "tensor", "runtime/pass" }, circle = 3 },
    -- The operations of kernels and of tensors.
    { name = "ops", files = { "ops/[%w_]+" }, uses = { "front" }, circle = 3 },
    { name = "launch", files = { "launch/[%w_]+" },
      uses = { "ops", "runtime/emit", "runtime/watch", "runtime/newfile", "runtime/program",
        "runtime/ir_file", "runtime/launch" } },
    -- cuBLAS, and plain loops to compare with.
    { name = "blas", files = { "blas/[%w_]+" },
      uses = { "tensor", "runtime/blas", "runtime/reference" } },
    -- What meshes of devices need beside Lua: parts, sums of buffers, ranks.
    { name = "mesh", files = { "mesh/[%w_]+" },
      uses = { "tensor", "runtime/run", "runtime/nccl" } },
    { name = "watch", files = { "watch/[%w_]+" }, uses = { "launch" } },
    -- What a launch would need in a program without Lua, as data; stdlib/export writes it as C.
    { name = "export", files = { "export/[%w_]+" }, uses = { "launch", "runtime/nvrtc" } },
    -- The language opened, in a sandbox or not, for C hosts and for Lua's `require`.
    { name = "host", files = { "host/[%w_]+" },
      uses = { "watch", "export", "blas", "mesh", "openers", "runtime/inflate", "std_modules" },
      circle = 4 },
    -- The program: command line and prompt.
    { name = "shell", files = { "shell/[%w_]+" }, uses = { "host" } },
  },

  stdlib = {
    { name = "meta", files = { "meta/[%w_]+" }, uses = {} }, -- annotations, which are texts
    -- Texts and names: JSON, compression, annotations, names that are written almost so.
    { name = "base", files = { "base/[%w_]+" }, uses = { "meta" },
      doors = { "host" } },
    -- Names of the language that are written in Lua.
    { name = "language", files = { "language/[%w_]+" }, uses = { "base" },
      doors = { "host", "kernel", "launch" } },
    -- Devices as numbers: limits, peaks, machine code, the predicted time of a launch.
    { name = "model", files = { "model/[%w_]+" }, uses = { "language" },
      doors = { "watch" } },
    -- Meshes, shardings and plans as algebra: no memory, no device, nothing internal.
    { name = "sharding", files = { "sharding/[%w_]+" }, uses = { "language" } },
    { name = "pictures", files = { "pictures/[%w_.]+" }, uses = { "sharding" } },
    { name = "microscope", files = { "microscope/[%w_.]+" }, uses = { "pictures", "model" },
      doors = { "host", "launch", "watch" } },
    { name = "tune", files = { "tune/[%w_]+" }, uses = { "microscope" },
      doors = { "host", "kernel", "launch", "watch", "export" } },
    { name = "operators", files = { "operators/[%w_]+" }, uses = { "tune" },
      doors = { "host", "kernel", "launch" } },
    -- Candidates and what they should compute.
    { name = "judge", files = { "judge/[%w_]+" }, uses = { "microscope" },
      doors = { "host", "launch", "watch", "judge" } },
    -- Memory and work of many devices.
    { name = "mesh", files = { "mesh/[%w_]+" }, uses = { "operators" },
      doors = { "host", "launch", "mesh", "nccl" } },
    { name = "export", files = { "export/[%w_]+" }, uses = { "language" },
      doors = { "host", "export" } },
    -- What agents are served: the protocol, its tools, pages as resources.
    { name = "mcp", files = { "mcp/[%w_]+" }, uses = { "tune", "judge" },
      doors = { "host", "launch" } },
    { name = "commands", files = { "commands/[%w_]+" }, uses = { "mesh", "export", "judge", "mcp" },
      doors = { "host", "launch", "mesh" } },
  },
}
