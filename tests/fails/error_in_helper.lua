-- The innermost line of the script is the one to blame, also under pcall's rethrown message.
local function make(text)
  return layout(text)  -- expect error: layout: expected ')' at column 2 of '(4'
end
make "(4"
