-- each_leaf.lua: each_leaf(shape, stride, each) calls each(path, extent, stride) with the integers
-- of a layout's shape and stride, the fastest first. A path is a text like "1.0"; of a layout of
-- one integer it is "".
local function each_leaf(shape, stride, each, path)
  path = path or ""
  if type(shape) ~= "table" then
    each(path, shape, stride)
    return
  end
  for i = 1, #shape do
    each_leaf(shape[i], stride[i], each, path .. (path == "" and "" or ".") .. i - 1)
  end
end

return each_leaf
