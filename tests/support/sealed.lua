-- sealed.lua: the bytes of a captured launch without their checksum, with it: FNV-1a of 64 bits, as
-- launch_file.lua makes it.
return function(text)
  local sum = 0xcbf29ce484222325
  for i = 1, #text do sum = (sum ~ text:byte(i)) * 0x100000001b3 end
  return text .. ("<i8"):pack(sum)
end
