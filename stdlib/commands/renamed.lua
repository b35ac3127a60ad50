-- renamed.lua: names that the language had before version 0.1, and what they are now. guess.lua
-- adds this to the message of a name that is nil. A script may have variables of these names.
local M = {}

-- A function -> the name that it has now.
M.functions = {
  all = "vote_all",
  any = "vote_any",
  cached = "cache_hint",
  cluster_sync = "sync_cluster",
  cp_async_fence = "cp_async_commit",
  exp2_approx = "fast.exp2",
  grid_barrier = "sync_grid",
  group = "group_modes",
  identity = "identity_layout",
  mode = "get_mode",
  peer = "peer_tensor",
  remote = "map_shared_rank",
  seed = "manual_seed",
}

-- A function that is a method only -> its call.
M.calls = {
  close = "x:close()",
  named = 'l:named("M", "K")',
  names = "l:names()",
  values = "l:values()",
}

-- A method -> the name that it has now.
local methods = {
  get_layoutA_TV = "tv_layout_A",
  get_layoutB_TV = "tv_layout_B",
  get_layoutC_TV = "tv_layout_C",
  get_layoutD_TV = "tv_layout_D",
  get_layoutS_TV = "tv_layout_S",
  get_thread_slice = "get_slice",
  group = "group_modes",
  mode = "get_mode",
}

-- What to say of a global that is nil; nil: it was no name of the language.
function M.of_name(name)
  local now = M.functions[name]
  if now then return ("%s is named %s since 0.1"):format(name, now) end
  local call = M.calls[name]
  return call and ("%s is a method since 0.1: write %s"):format(name, call) or nil
end

-- The same of a method.
function M.of_method(name)
  return methods[name] and ("%s is named %s since 0.1"):format(name, methods[name]) or nil
end

return M
