-- plural.lua: "1 value", "3 values", "24.6k launches"; n is a number, or a text that says one.
-- Messages need it not: fail puts their nouns after 1 in the singular.
return function(n, noun)
  local text = type(n) == "string" and n or ("%d"):format(n)
  local ending = text == "1" and "" or noun:find "[hsx]$" and "es" or "s"
  return text .. " " .. noun .. ending
end
