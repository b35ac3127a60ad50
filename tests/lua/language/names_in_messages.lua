-- A message about wrong arguments names the function that the script has called, on the host and in
-- a kernel, and not a function that this one calls.
local lua_has <const> = {}
for name in ([[assert collectgarbage dofile error getmetatable ipairs load loadfile next pairs pcall
  print rawequal rawget rawlen rawset require select setmetatable tonumber tostring type warn
  xpcall]]):gmatch "%a+" do lua_has[name] = true end
-- The argument is called, is text of a layout, or says what is made.
local left_out <const> = { L = true, tiled_mma = true, tiled_copy = true, help = true, show = true,
  explain = true, import = true, reload = true, terminal = true, apropos = true, ans = true,
  printf = true }

local function names_function(name, message)
  return message:find(name:match "[%w_]+$", 1, true)
    or message:find("shape: expected a number", 1, true)
    or message:find "call a index value" or message:find "a coordinate is missing"
end

local x <const> = zeros(f32, 4)
local wrong <const> = { {}, { nil, n = 1 }, { "a" }, { {} }, { true, true }, { 0 / 0 },
  { x, "/nowhere/a" } } -- a file that cannot be written

local function on_host(name, f)
  for _, args in ipairs(wrong) do
    local ok, message = pcall(f, table.unpack(args, 1, args.n or #args))
    if not ok and not names_function(name, message) then print(name, message) end
  end
end

local function in_kernel(name)
  for _, args in ipairs { "", "nil", "'a'", "{}", "x", "x[0], 'a'" } do
    local text = "return kernel('k', function(x) local v = %s(%s) end)"
    local f = load(text:format(name, args), "=s")
    local ok, message = pcall(function() f(){grid = 1, block = 32}(x) end)
    if not ok and not names_function(name, message) then print(name .. " in a kernel", message) end
  end
end

local names = {}
for name, value in pairs(_G) do
  local is_called = type(value) == "function" or type(value) == "userdata"
  if is_called and not lua_has[name] and not left_out[name] then names[#names + 1] = name end
end
table.sort(names)
print(#names > 250)                       -- expect: true
for _, name in ipairs(names) do
  on_host(name, _G[name])
  in_kernel(name)
end
for name, f in pairs(fast) do
  on_host("fast." .. name, f)
  in_kernel("fast." .. name)
end
