-- t:html(): the page as a text, or its file. What the page does is tested in a browser, tests/browser.
local k = kernel("twice", function(x) x[threadIdx.x] = x[threadIdx.x] * 2 end)
local t = trace(k{grid = 1, block = 8}, {x = {5}}, arange(f32, 8))

local text = t:html()
print(text:match("<title>(.-)</title>"))
-- expect: x(5) - trace
print(text:match('<meta name="generator" content="Cuttle') ~= nil, text:find("@%u+@"))
-- expect: true	nil
print(text:match('"title":"x%(5%)"') ~= nil, text:match('"threads":%[%[0,5%]%]') ~= nil)
-- expect: true	true
print(text:find("https?://"))
-- expect: nil
print((text:gsub("</?script[^>]*>", "")):find("</?script"))
-- expect: nil

-- Nothing is beside the page.
local path = os.tmpname()
print(t:html(path) == path)
-- expect: true
local file = assert(io.open(path))
print(file:read("a") == text)
-- expect: true
file:close()
os.remove(path)

local function refuse(...)
  print((select(2, pcall(...)):gsub("^.-lua:%d+: ", "")))
end
refuse(t.html, t, 7)
-- expect: trace: the file is a number; a name was expected
refuse(t.html, {}, path)
-- expect: html: it is called on a table; write t:html(...), with a colon, for a t of type Trace
refuse(t.html, t, "/no/such/folder/page.html")
-- expect: trace: /no/such/folder/page.html: No such file or directory

-- An element that no thread writes has a page, too.
print(trace(k{grid = 1, block = 4}, {x = {5}}, arange(f32, 8)):html():match('"events":(%b[])'))
-- expect: []

-- A tensor with a long row: what does not fit is counted.
local long = kernel("sum", function(x, y)
  local s = 0.0
  for i in axes(x, 0) do s = s + x[i] end
  y[0] = s
end)
t = trace(long{grid = 1, block = 1}, {y = {0}}, arange(f32, 1000), zeros(f32, 1))
print(t:html():match('"outside":744') ~= nil)
-- expect: true

-- A launcher has its arguments, so that options may follow: the page, written at once.
local y = arange(f32, 8)
local launcher = k:prepare{grid = 1, block = 8}(y)
trace(launcher, {x = {5}}, { html = path })
local written = assert(io.open(path))
print(written:read("a") == text)
-- expect: true
written:close()
os.remove(path)
refuse(trace, launcher, {x = {5}}, { htm = path })
-- expect: trace: 'htm' is not an option; {html = "trace.html"} was expected
refuse(trace, launcher, {x = {5}}, y)
-- expect: trace: this launch has its arguments; 1 more was given, and none was expected
refuse(sum_order, launcher, {x = {5}}, { html = path })
-- expect: sum_order: this launch has its arguments; 1 more was given, and none was expected
refuse(timeline, launcher, {}, y)
-- expect: timeline: this launch has its arguments; 1 more was given, and none was expected
