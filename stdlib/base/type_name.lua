-- type_name.lua: the name of the type of an object of the language, or of Lua.
return function(x)
  local meta = (type(x) == "userdata" or type(x) == "table") and getmetatable(x)
  return type(meta) == "table" and meta.__name or type(x)
end
