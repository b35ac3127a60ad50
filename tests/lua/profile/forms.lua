-- A Profile as JSON and as a page; what profile refuses.
device("cpu")
local A, B = rand(f32, {64, 64}), zeros(f32, {64, 64})
local k = kernel("turn", function(A, B)
  local s = shared(f32, layout({32, 32}, {32, 1}))
  local x, y = threadIdx.x, threadIdx.y
  s[{x, y}] = A[{blockIdx.x * 32 + x, blockIdx.y * 32 + y}] * 2.0 + 1.0
  sync_threads()
  if x < 20 then B[{blockIdx.y * 32 + x, blockIdx.x * 32 + y}] = s[{y, x}] end
end, {static_shapes = true})
local p = profile(k:prepare{grid = {2, 2}, block = {32, 8}}(A, B), {sm = 80, device = "A100-80GB"})

-- JSON that a parser takes: here a few lines of one.
local function parse(json)
  local at = 1
  local function skip() at = json:find("[^%s]", at) or #json + 1 end
  local value
  local function list(close, entry)
    local out = {}
    at = at + 1
    skip()
    while json:sub(at, at) ~= close do
      entry(out)
      skip()
      if json:sub(at, at) == "," then at = at + 1 else assert(json:sub(at, at) == close) end
      skip()
    end
    at = at + 1
    return out
  end
  local function text_value()
    local last = at + 1
    while json:sub(last, last) ~= '"' do last = last + (json:sub(last, last) == "\\" and 2 or 1) end
    local out = json:sub(at + 1, last - 1)
    at = last + 1
    return out
  end
  function value()
    skip()
    local c = json:sub(at, at)
    if c == "{" then
      return list("}", function(out)
        skip()
        local key = text_value()
        skip()
        assert(json:sub(at, at) == ":")
        at = at + 1
        out[key] = value()
      end)
    elseif c == "[" then
      return list("]", function(out) out[#out + 1] = value() end)
    elseif c == '"' then
      return text_value()
    end
    local word = json:match("^[%w.+-]+", at)
    at = at + #word
    if word == "true" or word == "false" then return word == "true" end
    return assert(tonumber(word))
  end
  local out = value()
  skip()
  assert(at > #json)
  return out
end
local j = parse(p:json())
local line = j.kernels[1].lines[1]
print(j.version, j.sm, #j.kernels, j.kernels[1].name, line.line, line.fma) -- expect: 1	80	1	turn	7	1024
local store = line.accesses[2]
print(store.op, store.space, store.wavefronts, store.conflicts, store.degree, store.vec, store.why) -- expect: store	shared	1024	992	32	1	scalar
print(#store.patterns, #store.patterns[1].offsets, store.patterns[1].cost) -- expect: 8	32	32
print(j.kernels[1].lines[3].accesses[2].patterns[1].offsets[21]) -- expect: false
print(j.kernels[1].roofline.device, j.kernels[1].totals.once_bytes) -- expect: A100-80GB	7168

local page = p:html()
print(page:match("<title>(.-)</title>"):match("profile of"), select(2, page:gsub("</script>", ""))) -- expect: profile of	2
print(page:find("https?://%a") == page:find("http://www.w3.org/2000/svg", 1, true)) -- expect: true

-- What profile refuses.
print(select(2, pcall(profile, print, {sm = 91})))      -- expect: tests/lua/profile/forms.lua:79: profile: sm is 91; expected one of 75, 80, 86, 89, 90, 100
print(select(2, pcall(profile, print, {device = "X1"}))) -- expect: tests/lua/profile/forms.lua:80: profile: device is 'X1'; expected one of T4, A100, A100-80GB, A10, L4, L40S, H200, H100, H100-PCIe, B200
print(select(2, pcall(profile, print, {smm = 90})))     -- expect: tests/lua/profile/forms.lua:81: profile: option 'smm' is unknown; did you mean 'sm'?
print(select(2, pcall(profile, function() end)))        -- expect: tests/lua/profile/forms.lua:82: profile: no kernel was launched on the CPU engine; choose it with device("cpu") before tensors are made
print((select(2, pcall(profile, function() profile(print) end)):gsub("^.-: profile", "profile"))) -- expect: profile: launches are already being watched, by check, trace or another profile; end that first
