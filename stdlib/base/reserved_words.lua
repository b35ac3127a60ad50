-- reserved_words.lua: the set of words that Lua keeps for itself, as interp/text/lua_tokens.def.
local words = {}
for word in ([[and break do else elseif end false for function goto if in local nil not or repeat
    return then true until while]]):gmatch "%a+" do
  words[word] = true
end

return words
