-- command_bench.lua: `cuttle bench [name ...]`.
return require("cuttle.bench").run
