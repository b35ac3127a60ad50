-- mesh.lua: what a script gets from mesh(x): the type (mesh_type.lua) with the methods that other
-- modules have, and sharded tensors with the operators that know them. A module is loaded when its
-- method is first called, so a program that only places devices loads no engine.
local meshes = require "cuttle.mesh_type"
local M = { mesh = meshes.mesh }

local methods = meshes.methods

function methods.sharding(m, shape, spec)
  return require "cuttle.sharding".mesh_sharding(meshes.check(m, "mesh:sharding"), shape, spec)
end

function methods.plan(m, dtype, shape, from, to, options)
  meshes.check(m, "mesh:plan")
  return require "cuttle.plan".mesh_plan(m, dtype, shape, from, to, options)
end

function methods.run(m, fn) return require "cuttle.ranks".run(m, fn) end
function methods.tensor(m, dtype, shape, spec)
  return require "cuttle.sharded".tensor(m, dtype, shape, spec)
end
function methods.zeros(m, dtype, shape, spec)
  return require "cuttle.sharded".zeros(m, dtype, shape, spec)
end
function methods.shard(m, t, spec) return require "cuttle.sharded".shard(t, spec, m) end

-- What matmul and attention do with sharded tensors (tiles.own_operator).
local operators = meshes.operators

function operators.matmul(...) return require "cuttle.sharded_matmul".matmul(...) end
function operators.attention(...) return require "cuttle.sharded_attention".attention(...) end

return M
