-- Blocks ask the second cache for rows that come later: where they store as much as they read, and
-- rows begin at multiples of 16 bytes. Asking reads nothing, so what is asked for stays const.
local rows = require "cuttle.rows"

local function asks(k, ...)
  local text = k:source(...)
  local _, n = text:gsub("cp%.async%.bulk%.prefetch%.L2", "")
  return n, text:find("const unsigned short* __restrict__ x", 1, true) ~= nil
end

local function x_of(columns) return tensor(bf16, row_major{300, columns}) end
print((asks(rows.rms_norm, x_of(4096), tensor(bf16, 4096), 1e-6)))
print(asks(rows.rms_norm, x_of(32768), tensor(bf16, 32768), 1e-6))
print((asks(rows.softmax, tensor(f16, row_major{300, 32768})))) -- for two slots of each thread
print((asks(rows.softmax, x_of(128256)))) -- and fewer elements of the last threads
print((asks(rows.softmax, x_of(32768))))
-- expect: 1
-- expect: 1	true
-- expect: 2
-- expect: 2
-- expect: 1
print((asks(rows.softmax, x_of(64)))) -- some threads of a warp hold a row
print((asks(rows.rms_norm, x_of(4100), tensor(bf16, 4100), 1e-6))) -- rows begin at 8 bytes
print((asks(rows.cross_entropy, x_of(4096), tensor(i64, row_major{300, 1}), 0))) -- only read
-- expect: 0
-- expect: 0
-- expect: 0

-- PTX asks for a multiple of 16 bytes, which rows of padded tensors need not have.
local padded = tensor(bf16, layout({300, 8194}, {8200, 1}))
print(tonumber(rows.softmax:source(padded):match 'prefetch[^\n]*"r"%((%d+)u') % 16)
-- expect: 0

-- The last rows have none after them.
local x, w = randn(bf16, row_major{40, 4096}), ones(bf16, 4096)
local y, first = rows.rms_norm(x, w, 1e-6), rows.rms_norm(tile(x, {1, 4096}, {39, 0}), w, 1e-6)
print(allclose(tile(y, {1, 4096}, {39, 0}), first, {rtol = 0, atol = 0}))
-- expect: true
