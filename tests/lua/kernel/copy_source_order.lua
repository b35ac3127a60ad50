-- For the thread that copies, a plain copy to shared memory is complete before the next operation
-- writes its source or accesses its destination, also where it is compiled to an asynchronous one.
local function lines_of(f, ...)
  local text = kernel("k", f, { static_shapes = true }){ grid = 1, block = 64 }:source(...)
  local lines = {}
  for line in text:match("extern.*"):gmatch "[^\n]+" do
    local what = line:match "cp_async_4" or line:match "cp_async_wait_all"
      or line:match "__syncthreads" or (line:match "^%s+x%[" and "write")
      or (line:match "atomicAdd" and "write")
      or (line:match "^%s+y%[" and "other")
    if what then lines[#lines + 1] = what end
  end
  return table.concat(lines, " ")
end

local function copied(x, s, i)
  copy(parallelize(x, layout(64), i), parallelize(s, layout(64), i))
end

local x, y = arange(f32, 64), zeros(f32, 64)
local function after(write)
  return function(x, y)
    local s, i = shared(f32, 64), threadIdx.x
    copied(x, s, i)
    write(x, y, i)
    sync_threads()
    y[i] = s[63 - i]
  end
end
local function store(x, _, i) x[i] = 5.0 end
print(lines_of(after(store), x, y))
-- expect: cp_async_4 cp_async_wait_all write cp_async_wait_all __syncthreads other
print(lines_of(after(function(x, _, i) atomic_add(x, i, 1.0) end), x, y))
-- expect: cp_async_4 cp_async_wait_all write cp_async_wait_all __syncthreads other
print(lines_of(after(function(x, _, i) if i > 3 then x[i] = 5.0 end end), x, y))
-- expect: cp_async_4 cp_async_wait_all write cp_async_wait_all __syncthreads other
print(lines_of(after(function(_, y, i) y[i] = 5.0 end), x, y)) -- another tensor waits for nothing
-- expect: cp_async_4 other cp_async_wait_all __syncthreads other
print(lines_of(after(function(_, y, i) y[i] = 5.0 end), x, x)) -- which overlaps the source
-- expect: cp_async_4 cp_async_wait_all other cp_async_wait_all __syncthreads other

-- In the next turn of a loop; and after a barrier there is nothing to wait for.
print(lines_of(function(x, y)
  local s, i = shared(f32, 64), threadIdx.x
  for k = 0, 99 do
    x[i] = k
    copied(x, s, i)
  end
  sync_threads()
  y[i] = s[i]
end, x, y))
-- expect: cp_async_wait_all write cp_async_4 cp_async_wait_all __syncthreads other
print(lines_of(function(x, y)
  local s, i = shared(f32, 64), threadIdx.x
  copied(x, s, i)
  sync_threads()
  x[i] = s[63 - i]
  y[i] = s[i]
end, x, y))
-- expect: cp_async_4 cp_async_wait_all __syncthreads write other

-- The destination: read, or written, by the thread that copied.
print(lines_of(function(x, y)
  local s, i = shared(f32, 64), threadIdx.x
  copied(x, s, i)
  y[i] = s[i]
end, x, y))
-- expect: cp_async_4 cp_async_wait_all other
print(lines_of(function(x, y)
  local s, i = shared(f32, 64), threadIdx.x
  copied(x, s, i)
  s[i] = 2.0
  sync_threads()
  y[i] = s[63 - i]
end, x, y):match "^cp_async_4 cp_async_wait_all") -- expect: cp_async_4 cp_async_wait_all
