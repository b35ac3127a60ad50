-- Every name of the language, and every method and field of its objects, is explained in
-- stdlib/meta, and what is explained there exists.
local ct = require "cuttle"
local annotations = require "cuttle.annotations"
local topics, by_name = annotations.load()

local MAX_SUMMARY <const> = 76 -- of 100 columns, with the name before it
local n_wrong = 0

local function wrong(format, ...)
  n_wrong = n_wrong + 1
  print(format:format(...))
end

-- {====== Each name has an entry ======

for name in pairs(ct) do
  if (name:sub(1, 1) ~= "_" or name == "_") and not by_name[name] then
    wrong("'%s' is not explained: add `--- What it does.` and `function %s(...) end` to the file "
      .. "of its topic in stdlib/meta", name, name)
  end
end

-- {====== Each name of a module has one, or one that it begins with ======

local function is_explained(module, name)
  while name and not by_name[module .. "." .. name] do name = name:match "^(.+)_[^_]*$" end
  return name ~= nil
end

for _, topic in ipairs(topics) do
  for name in pairs(topic.module and require("cuttle." .. topic.module) or {}) do
    if not is_explained(topic.module, name) then
      wrong("%s.%s is not explained in %s", topic.module, name, topic.file)
    end
  end
end

-- {====== Each file is a topic ======

local is_topic = {}
for _, topic in ipairs(topics) do is_topic[topic.file] = true end
local listing <close> = assert(io.popen(("cd '%s' && ls stdlib/meta/*.lua"):format(
  arg[0]:match "^(.*)tests/lua/" or ".")))
for file in listing:lines() do
  if not is_topic[file] then wrong("%s is not in the list of files of annotations.lua", file) end
end

-- {====== Each method and field of an object has one ======

local samples = dofile "tests/support/samples.lua"

-- What an object has, by the lists that completion reads as well.
local function members_of(object)
  local meta = debug.getmetatable(object)
  local methods = meta.__methods or (type(meta.__index) == "table" and meta.__index) or {}
  return methods, meta.__fields or {}
end

local function set_of(list, key)
  local set = {}
  for _, item in ipairs(list) do set[key and item[key]:gsub("%?$", "") or item] = true end
  return set
end

for class, object in pairs(samples) do
  local entry = by_name[class]
  local known_methods, known_fields = set_of(entry.methods), set_of(entry.fields, "name")
  local methods, fields = members_of(object)
  for name in pairs(methods) do
    if not known_methods[name] and not known_fields[name] then
      wrong("the method %s:%s is not explained: add `%s.%s = %s`, or a function, to %s", class,
        name, class, name, name, entry.topic.file)
    end
  end
  for _, name in ipairs(fields) do
    if not known_fields[name] then
      wrong("the field .%s of %s is not explained: add it to its class in %s", name, class,
        entry.topic.file)
    end
  end
  for name in pairs(known_methods) do
    if object[name] == nil then
      wrong("%s: a %s has no method %s", entry.topic.file, class, name)
    end
  end
end

-- {====== Each entry is of something ======

local is_type = {
  Reference = true, Graph = true, CudaKernel = true,
  FoundSwizzle = true, Mbarrier = true, PipelineState = true, NamedBarrier = true,
}
for class in pairs(samples) do is_type[class] = true end

local function exists(entry)
  local module = entry.topic.module
  if module then return require("cuttle." .. module)[entry.name:match "%.(.*)"] ~= nil end
  local object, field = entry.name:match("^(%l%w*)%.(.*)$")
  if object then return ct[object][field] ~= nil end
  return ct[entry.name] ~= nil or entry.alias or entry.class or is_type[entry.name] or
    entry.name == "ans"
end

local n_entries = 0
for _, topic in ipairs(topics) do
  for _, entry in ipairs(topic.entries) do
    n_entries = n_entries + 1
    if not exists(entry) then
      wrong("%s: the language has no %s", topic.file, entry.name)
    end
    if #entry.summary > MAX_SUMMARY or not entry.summary:find("%.$") then
      wrong("%s: the summary of %s is '%s'; a sentence that fits a line of a list was expected",
        topic.file, entry.name, entry.summary)
    end
    for _, line in ipairs(entry.footer) do
      if line:find("^CuTe:") and not line:find("MoYe: .") then
        wrong("%s: %s has no name of MoYe beside that of CuTe", topic.file, entry.name)
      end
    end
  end
end

print(n_entries > 180, n_wrong)           -- expect: true	0
