-- What the library keeps to itself is in no field that a script can reach, not by require, by
-- package.loaded or by a metatable, once all of the library is loaded.
package.path = "tests/support/?.lua;" .. package.path

local function is_internal_name(key)
  return type(key) == "string" and key:find "^_[%l]" ~= nil
end

local internal = {}
for door, functions in pairs(require "internal" or {}) do
  internal[functions] = door
  for name, f in pairs(functions) do internal[f] = name end
end

for name in pairs(package.preload) do
  if name:find "^cuttle%." and not name:find "^cuttle%.command_" then require(name) end
end

-- A value of each type of the language, for its metatable.
local values = {
  layout{4, 8}, zeros(f32, 4), f32, i64(1), swizzle(2, 0, 3), atom "UniversalFMA<f32>",
  threadIdx, kernel("k", function() end), kernel("k", function() end){grid = 1, block = 1}, _, E(0),
  tiled_mma("UniversalFMA<f32>", {8, 4}),
  tiled_copy(atom("UniversalCopy<u32>", f32), {8, 4}, {1, 1}),
  coroutine.create(print),
}

local seen, found, n_internal = {}, {}, 0

local function visit(x, path)
  local meta = type(x) ~= "string" and debug.getmetatable(x) or nil
  if meta ~= nil and not seen[meta] then visit(meta, path .. "<meta>") end
  if internal[x] then found[#found + 1] = path end
  if type(x) ~= "table" or seen[x] then return end
  seen[x] = true
  for key, value in next, x do
    if is_internal_name(key) then found[#found + 1] = path .. "." .. key end
    if type(value) ~= "string" then visit(value, path .. "." .. tostring(key)) end
  end
end

package.loaded.internal = nil -- this test's own way in
visit(_G, "_G")
visit(package.loaded, "package.loaded")
visit(values, "values")
for _ in pairs(internal) do n_internal = n_internal + 1 end
print(#found == 0 or table.concat(found, " ")) -- expect: true
print(n_internal > 30, is_internal_name "_timeline", is_internal_name "__index")
-- expect: true	true	false
