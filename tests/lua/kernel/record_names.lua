-- What messages call the tensors of a record: with the parameter's name, unless that ends with `_`.
local function named(k)
  local message = select(2, pcall(k{grid = 1, block = 32}, {x = zeros(f32, 4)}))
  return message:match "write of (%S+) at"
end

print(named(kernel("named", function(o) o.x[threadIdx.x] = 1.0 end))) -- expect: o.x
print(named(kernel("bare", function(o_) o_.x[threadIdx.x] = 1.0 end))) -- expect: x
