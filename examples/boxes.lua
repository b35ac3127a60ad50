-- boxes.lua: kernels of object detection: non-maximum suppression with masks of 64 bits, ROI align
-- and its gradient, and a bilinear resize of bytes. To read pixels between their centres, a visitor
-- gets the four neighbours and their weights. Usage: cuttle boxes.lua [BOXES]
local on_gpu = device().sm ~= nil
local N = tonumber(arg[1] or (on_gpu and 4000 or 300))
local THRESHOLD = 0.5

-- {====== Non-maximum suppression ======

local function area(b) return (b.x1 - b.x0) * (b.y1 - b.y0) end

local function overlap(a, b)                                  -- intersection over union
  local w, h = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
  local both = max(w, 0.0) * max(h, 0.0)
  return both / (area(a) + area(b) - both)
end

local function box_at(t, i)
  return {x0 = t[{0, i}], y0 = t[{1, i}], x1 = t[{2, i}], y1 = t[{3, i}]}
end

-- Bit b of masks[{w, i}]: box i suppresses box 64 w + b. Boxes are in order of their scores.
local find_overlaps = kernel("find_overlaps", function(boxes, masks)
  local i, w = blockIdx.x * 64 + threadIdx.x, blockIdx.y
  if w < blockIdx.x or i >= size(boxes, 1) then return end
  local mine, bits = box_at(boxes, i), u64(0)
  for b in range(min(64, size(boxes, 1) - w * 64)) do
    local j = w * 64 + b
    if j > i and overlap(mine, box_at(boxes, j)) > THRESHOLD then bits = bits | u64(1) << b end
  end
  masks[{w, i}] = bits
end)

local suppress = kernel("suppress", function(masks, keep)     -- one block, a thread for each word
  local w = threadIdx.x
  local gone = shared(u64, 1024)
  gone[w] = u64(0)
  sync_threads()
  for i in range(size(keep)) do
    local kept = gone[i // 64] >> i % 64 & 1 == 0
    sync_threads()
    if kept and w >= i // 64 and w < size(masks, 0) then gone[w] = gone[w] | masks[{w, i}] end
    if w == 0 then keep[i] = where(kept, 1, 0) end
    sync_threads()
  end
end)

-- {====== Pixels between pixels ======

-- Calls visit(x, y, weight) for the four pixels around a point. A point up to one pixel outside of
-- the image counts as one at its edge, others not at all.
local function bilinear(img, x, y, visit)
  local width, height = size(img, 0), size(img, 1)
  if x < -1.0 or x > width or y < -1.0 or y > height then return end
  x, y = max(min(x, width - 1.0), 0.0), max(min(y, height - 1.0), 0.0)
  local x0, y0 = math.floor(x), math.floor(y)
  for dy = 0, 1 do
    for dx = 0, 1 do
      local weight = (1.0 - abs(x - (x0 + dx))) * (1.0 - abs(y - (y0 + dy)))
      visit(min(x0 + dx, width - 1), min(y0 + dy, height - 1), weight)
    end
  end
end

-- {====== ROI align ======

local POOLED, SAMPLES <const> = 7, 2                          -- bins of a box, samples of a bin

-- The pixels that bin (px, py) of the box reads.
local function each_pixel(img, box, px, py, visit)
  local w, h = (box.x1 - box.x0) / POOLED, (box.y1 - box.y0) / POOLED
  for s = 0, SAMPLES * SAMPLES - 1 do
    local sx, sy = (s % SAMPLES + 0.5) / SAMPLES, (s // SAMPLES + 0.5) / SAMPLES
    local x, y = box.x0 + (px + sx) * w - 0.5, box.y0 + (py + sy) * h - 0.5
    bilinear(img, x, y, function(i, j, weight) visit(i, j, weight / (SAMPLES * SAMPLES)) end)
  end
end

local function place_of(i, img)                               -- px, py, channel, box
  local c = i // (POOLED * POOLED)
  return i % POOLED, i // POOLED % POOLED, c % size(img, 2), c // size(img, 2)
end

local roi_align = kernel("roi_align", function(img, boxes, out)          -- (W, H, C), (4, R)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  if i >= size(out) then return end
  local px, py, c, r = place_of(i, img)
  local sum = 0.0
  each_pixel(img, box_at(boxes, r), px, py, function(x, y, weight)
    sum = sum + weight * img[{x, y, c}]
  end)
  out[i] = sum
end)

local roi_align_backward = kernel("roi_align_backward", function(grad_out, boxes, grad_img)
  local i = blockIdx.x * blockDim.x + threadIdx.x
  if i >= size(grad_out) then return end
  local px, py, c, r = place_of(i, grad_img)
  local g = grad_out[i]
  each_pixel(grad_img, box_at(boxes, r), px, py, function(x, y, weight)
    atomic_add(grad_img, {x, y, c}, weight * g)
  end)
end)

-- {====== Resize ======

local resize = kernel("resize", function(src, dst)            -- bytes (W, H), (V, U)
  local x, y = blockIdx.x * blockDim.x + threadIdx.x, blockIdx.y
  if x >= size(dst, 0) then return end
  local scale_x, scale_y = f32(size(src, 0)) / size(dst, 0), f32(size(src, 1)) / size(dst, 1)
  local sum = 0.0
  bilinear(src, (x + 0.5) * scale_x - 0.5, (y + 0.5) * scale_y - 0.5, function(i, j, weight)
    sum = sum + weight * src[{i, j}]
  end)
  dst[{x, y}] = u8(rint(sum))
end)

-- {====== Checks in plain Lua ======

local function random_boxes(n, limit)                         -- whole numbers: areas are exact
  local t = {{}, {}, {}, {}}
  for i = 1, n do
    local x, y = math.random(0, limit - 40), math.random(0, limit - 40)
    t[1][i], t[2][i], t[3][i], t[4][i] = x, y, x + math.random(8, 40), y + math.random(8, 40)
  end
  return t
end

local function check_suppression()
  local t = random_boxes(N, 400)
  local boxes, words = from_table(f32, t), cdiv(N, 64)
  local masks, keep = zeros(u64, {words, N}), zeros(i32, N)
  find_overlaps{grid = {words, words}, block = 64}(boxes, masks)
  suppress{grid = 1, block = cdiv(words, 32) * 32}(masks, keep)
  local gone, got, ok = {}, keep:totable(), true
  for i = 1, N do
    local a = {x0 = t[1][i], y0 = t[2][i], x1 = t[3][i], y1 = t[4][i]}
    ok = ok and (got[i] == 1) == not gone[i]
    for j = i + 1, gone[i] and i or N do
      local b = {x0 = t[1][j], y0 = t[2][j], x1 = t[3][j], y1 = t[4][j]}
      local w = math.min(a.x1, b.x1) - math.max(a.x0, b.x0)
      local h = math.min(a.y1, b.y1) - math.max(a.y0, b.y0)
      local both = w > 0 and h > 0 and w * h or 0
      gone[j] = gone[j] or both > THRESHOLD * (area(a) + area(b) - both)
    end
  end
  return ok
end

-- The image at a point between the centres of pixels; t[x + 1][y + 1].
local function sample(t, x, y)
  local function lerp(list, at, f)
    at = math.max(0.0, math.min(at, #list - 1.0))
    local i = math.min(at // 1 | 0, #list - 2)
    return f(list[i + 1]) * (i + 1 - at) + f(list[i + 2]) * (at - i)
  end
  return lerp(t, x, function(column) return lerp(column, y, function(v) return v end) end)
end

local function dot(a, b)
  local sum = 0.0
  a, b = a:to"cpu", b:to"cpu"
  for i = 0, size(a) - 1 do sum = sum + a[i] * b[i] end
  return sum
end

local function check_roi()
  local W, H, C, R = 60, 50, 3, 5
  local t, img, out = random_boxes(R, 50), rand(f32, {W, H, C}), zeros(f32, {POOLED, POOLED, C, R})
  local boxes, launch = from_table(f32, t), {grid = cdiv(size(out), 128), block = 128}
  roi_align(launch)(img, boxes, out)
  local ok, c, r = true, 2, 4
  local plane = img(_, _, c):totable()
  for p = 0, POOLED * POOLED - 1 do
    local px, py, want = p % POOLED, p // POOLED, 0.0
    local w, h = (t[3][r] - t[1][r]) / POOLED, (t[4][r] - t[2][r]) / POOLED
    for s = 0, 3 do
      want = want + 0.25 * sample(plane, t[1][r] + (px + s % 2 * 0.5 + 0.25) * w - 0.5,
        t[2][r] + (py + s // 2 * 0.5 + 0.25) * h - 0.5)
    end
    ok = ok and math.abs(out[{px, py, c, r - 1}] - want) < 1e-4
  end
  -- The gradient is the transposed map: <align(img), g> = <img, backward(g)>.
  local g, grad = rand(f32, {POOLED, POOLED, C, R}), zeros(f32, {W, H, C})
  roi_align_backward(launch)(g, boxes, grad)
  local a, b = dot(out, g), dot(img, grad)
  return ok and math.abs(a - b) < 1e-4 * math.abs(a)
end

local function check_resize()
  local W, H, V, U = 30, 20, 41, 33
  local src, dst = rand(u8, {W, H}, 0, 256), zeros(u8, {V, U})
  resize{grid = {cdiv(V, 64), U}, block = 64}(src, dst)
  local t, got, ok = src:totable(), dst:totable(), true
  for x = 0, V - 1 do
    for y = 0, U - 1 do
      local want = sample(t, (x + 0.5) * W / V - 0.5, (y + 0.5) * H / U - 0.5)
      ok = ok and math.abs(got[x + 1][y + 1] - want) < 0.5001
    end
  end
  return ok
end

local all_ok = true
local names = {"suppression", "ROI align", "resize"}
for i, check in ipairs{check_suppression, check_roi, check_resize} do
  local ok = check()
  print(("%s on %s: %s"):format(names[i], device().name, ok and "correct" or "wrong"))
  all_ok = all_ok and ok
end
os.exit(all_ok, true)
