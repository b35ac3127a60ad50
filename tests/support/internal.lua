-- internal.lua: the library's own functions, which no script reaches: a module of the library gets
-- them when it is loaded, so its loader holds them, and the debug library shows what that holds.
local _, internal = debug.getupvalue(package.preload["cuttle.show"], 2)
return internal
