-- plan_cost.lua: what a step costs, by a model of latency and bandwidth on two levels: links inside
-- a node of devices, and a network between nodes. Ranks r with the same r // node are one node.
-- A group over axes has n ranks on m nodes, k of them on each. `bytes` is what the device that
-- receives the most receives; P is the size of a part before the step, both in bytes.
--   all_gather      (n-1) P             reduce_scatter  (n-1) P/n
--   all_reduce      P + (n-2) chunk     chunk = ceil(P/n): 2 (n-1) P/n where n divides P
--                   2 P                 by a tree, which small ones over nodes are if it is faster
--   all_to_all      (n-1) P/n           permute         P
--   send_recv       what is missing, at most, counted exactly
-- Rings (the first three) go at the slower of a device's link and the k network ports that a node
-- has for the group; a chunk passes n-m links and m-1 times the network. A tree over nodes passes
-- k-1 links and log2(m) times the network, up and down. In all_to_all each device
-- uses its own port for what comes from other nodes; both ways at once. Parts that are only sent
-- take the network if their group has more than one node. A local copy reads and writes memory.
-- In a node the first bytes are slower: NCCL sends small buffers in other ways, on fewer channels.
local bits_for = require "cuttle.integers".bits_for
local language = require "cuttle"
local lists = require "cuttle.lists"
local near = require "cuttle.near"
local tiles = require "cuttle.tiles"
local M = {}

--- The defaults: eight devices a node, and a port of 400 Gbit/s for each device, from data sheets.
--- Those in a node are of NCCL 2.28 on two H200s with NVLink 4. Seconds, and bytes a second one
--- way.
M.defaults = {
  node = 8,                     -- devices in a node
  link_bandwidth = 300e9,       -- of a device's links in a node,
  small_bandwidth = 100e9,      -- of the first bytes that a device receives there in a step,
  small = 2e6,                  -- which are so many
  link_latency = 1e-6,          -- of one hop in a node
  network_bandwidth = 50e9,     -- of a device's port
  network_latency = 5e-6,       -- of one hop between nodes
  launch = 6e-6,                -- of starting a step
  memory_bandwidth = 3.8e12,    -- reads and writes together, of a local copy
  send_recv = 0.9,              -- share of the bandwidth that messages of many sizes reach
  tree = 1e6,                   -- bytes: an all_reduce over nodes of at most so many may be a tree
}

local names = lists.keys(M.defaults)

local function check_number(op, name, x)
  if type(x) ~= "number" or x ~= x or x <= 0 then
    tiles.fail(op, "links.%s is %s; expected a number above 0", name, tostring(x))
  elseif name == "node" and math.tointeger(x) == nil then
    tiles.fail(op, "links.node is %s; expected the number of devices in a node", tostring(x))
  end
  return x
end

--- The defaults, or those of `base`, with what a table gives in their place.
function M.links(given, op, base)
  local links = lists.with(base or M.defaults)
  if given == nil then return links end
  if type(given) ~= "table" then
    tiles.fail(op, "links is of type %s; expected a table such as {node = 8}",
      tiles.type_name(given))
  end
  for name, x in pairs(given) do
    if M.defaults[name] == nil then
      local nearest = near.nearest(tostring(name), names)
      tiles.fail(op, "links.%s is unknown; %s", tostring(name),
        nearest and "did you mean " .. nearest .. "?" or "there are " .. table.concat(names, ", "))
    end
    links[name] = check_number(op, name, x)
  end
  return links
end

-- {====== Groups and nodes ======

-- How many nodes one group is on, and the fewest of its ranks on one of them.
local function nodes_of(group, node)
  local count, n, fewest = {}, 0, #group
  for _, rank in ipairs(group) do
    local at = rank // node
    if count[at] == nil then n = n + 1 end
    count[at] = (count[at] or 0) + 1
  end
  for _, c in pairs(count) do fewest = math.min(fewest, c) end
  return n, fewest
end

--- {n =, nodes =, per_node =} of the groups over these axes: the most nodes, the fewest ranks of a
--- group on a node. Kept in `memo`, which belongs to one mesh and one table of links.
function M.spread(mesh, axes, links, memo)
  local key = table.concat(axes, ",")
  if memo[key] then return memo[key] end
  local s = { n = mesh:span(axes), nodes = 1 }
  s.per_node = s.n
  if mesh.n > links.node and #axes > 0 then
    for _, group in ipairs(mesh:groups(axes)) do
      local n, fewest = nodes_of(group, links.node)
      s.nodes, s.per_node = math.max(s.nodes, n), math.min(s.per_node, fewest)
    end
  end
  memo[key] = s
  return s
end

-- {====== Rows of the model ======

-- Bytes a second of a ring over a group.
local function ring_bandwidth(s, links)
  if s.nodes == 1 then return links.link_bandwidth end
  local ports = s.per_node * links.network_bandwidth
  return s.per_node > 1 and math.min(ports, links.link_bandwidth) or ports
end

-- One way around a ring.
local function ring_latency(s, links)
  return (s.n - s.nodes) * links.link_latency + (s.nodes - 1) * links.network_latency
end

local function ring(received)
  return function(s, links, part)
    local bytes = received(s.n, part)
    return bytes, bytes / ring_bandwidth(s, links), ring_latency(s, links)
  end
end

-- A binary tree of nodes, in each of which the ranks are a chain.
local function tree_latency(s, links)
  return (s.per_node - 1) * links.link_latency + bits_for(s.nodes) * links.network_latency
end

-- By a ring, or by a tree if it is small: what takes less time. In one node both have the same
-- hops.
local function all_reduce(s, links, part, item)
  local chunk, bandwidth = (part // item + s.n - 1) // s.n * item, ring_bandwidth(s, links)
  local bytes, hops = part + (s.n - 2) * chunk, 2 * ring_latency(s, links)
  local tree_hops = 2 * tree_latency(s, links)
  local is_small = s.nodes > 1 and part <= links.tree
  if is_small and 2 * part / bandwidth + tree_hops < bytes / bandwidth + hops then
    return 2 * part, 2 * part / bandwidth, tree_hops
  end
  return bytes, bytes / bandwidth, hops
end

local function one_hop(s, links)
  return s.nodes > 1 and links.network_latency or links.link_latency
end

local function all_to_all(s, links, part)
  local chunk = part // s.n
  local near_time = (s.per_node - 1) * chunk / links.link_bandwidth
  local far_time = (s.n - s.per_node) * chunk / links.network_bandwidth
  if s.nodes == 1 then near_time, far_time = (s.n - 1) * chunk / links.link_bandwidth, 0 end
  return (s.n - 1) * chunk, math.max(near_time, far_time), one_hop(s, links)
end

local function messages(share)
  return function(s, links, part)
    local bandwidth = s.nodes > 1 and links.network_bandwidth or links.link_bandwidth
    return part, part / (bandwidth * share(links)), one_hop(s, links)
  end
end

-- Bytes received, seconds of transfer and seconds of hops, of a part of so many bytes; of
-- send_recv, of so many bytes that are missing.
local rows = {
  all_gather = ring(function(n, part) return (n - 1) * part end),
  reduce_scatter = ring(function(n, part) return part // n * (n - 1) end),
  all_reduce = all_reduce,
  all_to_all = all_to_all,
  permute = messages(function() return 1 end),
  send_recv = messages(function(links) return links.send_recv end),
}

-- What the first bytes take longer in a node.
local function slow_start(links, bytes)
  local slower = 1 / links.small_bandwidth - 1 / links.link_bandwidth
  return math.min(bytes, links.small) * math.max(slower, 0)
end

--- Bytes, first and second seconds of a step over a group, whose sum is its time. The first ones
--- are those of transfer and, on several nodes, of the hops; they count before the second ones, the
--- start of the step and, in a node, hops and the slow start. `part`: bytes of a part before it, or
--- the bytes missing for send_recv; `item`: bytes of an element.
function M.of(op, spread, links, part, item)
  local bytes, transfer, hops = rows[op](spread, links, part, item)
  if spread.nodes > 1 then return bytes, transfer + hops, links.launch end
  return bytes, transfer, hops + links.launch + slow_start(links, bytes)
end

--- Seconds of a local copy that leaves `part` bytes; none where it is only another view.
function M.of_local(links, part, is_view)
  return is_view and 0 or links.launch + 2 * part / links.memory_bandwidth
end

--- The bytes of an element: of a type or its name.
function M.item(dtype, op)
  local t = type(dtype) == "string" and language[dtype] or dtype
  if tiles.type_name(t) ~= "dtype" then
    tiles.fail(op, "argument 1 is of type %s; expected an element type such as bf16",
      tiles.type_name(t))
  end
  return t.bytes
end

return M
