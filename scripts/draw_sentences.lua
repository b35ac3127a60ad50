-- draw_sentences.lua: draws sentences of the documents, so that their English can be judged.
--   lua5.4 scripts/draw_sentences.lua [--seed=N] [--count=N] [FILE...]
--     draws 60 sentences, or N, and prints each with its place
--   lua5.4 scripts/draw_sentences.lua --long [FILE...]
--     prints every sentence of more than 35 words; exit code 1 if there are any
-- Without files: README.md and the other pages of the top folder, docs/*.md, the annotations in
-- stdlib/meta and the usage texts of the commands. The reference is made from the annotations,
-- so it is left out. The same seed draws the same sentences of the same documents.
--
-- What is read: running text and items of lists. What is not: headings, tables, code, sessions,
-- lists of links, and the lines of annotations that name what others call a thing.
-- What is a word: text between blanks that has a letter or a digit. Code in backquotes is one word.
-- What is shorter than four words, as "in bytes", is not drawn: there is nothing to read twice.

local MAX_WORDS <const>, MIN_WORDS <const> = 35, 4
local LIST_COMMAND <const> = "find README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md docs stdlib"
  .. " interp \\( -name '*.md' -o -name '*.lua' -o -name '*.c' \\) 2>/dev/null | LC_ALL=C sort"

local shell = dofile(arg[0]:match("^.*/") .. "shell.lua")
local lines_of = shell.lines_of

-- {====== Paragraphs: lists of {line, text} ======

local Paragraphs = {}
Paragraphs.__index = Paragraphs

local function new_paragraphs(path)
  return setmetatable({ path = path }, Paragraphs)
end

-- Adds a line to the open paragraph.
function Paragraphs:add(line, text)
  if not self.open then
    self.open = {}
    self[#self + 1] = self.open
  end
  table.insert(self.open, { line = line, text = text })
end

function Paragraphs:finish()
  self.open = nil
end

-- A paragraph of its own.
function Paragraphs:add_alone(line, text)
  self:finish()
  self:add(line, text)
  self:finish()
end

-- {====== Pages ======

local function is_list_of_links(text)
  return text:find("^Contents:") or text:find("^%d* ?%[[^%]]*%]%([^)]*%) · ")
end

-- What to do with a line of a page outside fences: "skip", "item" or "text", and its text.
local function kind_of_line(line)
  if line:find("^%s*$") then return "end" end
  if line:find("^#") or line:find("^|") or line:find("^%s*|.*|%s*$") or line:find("^!%[") or
      line:find("^%s*<[!/%a]") or line:find("^    [^%s%-*%d]") then
    return "skip"
  end
  local item = line:match("^%s*[-*] +(.*)$") or line:match("^%s*%d+%. +(.*)$")
  if item then return "item", item end
  return "text", (line:gsub("^%s*>? ?", ""))
end

-- Lines of a list of links go on until the paragraph ends.
local function read_page(paragraphs, lines)
  local in_fence, in_links, in_list = false, false, false
  for number, line in ipairs(lines) do
    local kind, text = kind_of_line(line)
    if in_list and kind == "skip" and line:find("^    ") then
      kind, text = "text", line:match("^%s*(.*)$")
    end
    if line:find("^%s*```") then
      in_fence = not in_fence
      paragraphs:finish()
    elseif in_fence or kind == "skip" or kind == "end" then
      paragraphs:finish()
      in_links = in_links and kind ~= "end"
      in_list = in_list and kind == "end" and not in_fence
    else
      if kind == "item" then
        paragraphs:finish()
        in_list = true
      end
      in_links = in_links or is_list_of_links(text) ~= nil
      if not in_links then paragraphs:add(number, text) end
    end
  end
end

-- {====== Annotations ======

-- The words of a line `---@param name type words`; nil where a tag has none.
local function words_of_tag(tag, rest)
  if tag == "param" or tag == "field" then
    return rest:match("^%S+%s+%b{}%s+(.+)$") or rest:match("^%S+%s+%S+%s+(.+)$")
  elseif tag == "return" then
    return rest:match("#%s*(.+)$")
  end
end

local function read_annotations(paragraphs, lines)
  local before
  for number, line in ipairs(lines) do
    local comment = line:match("^%-%-%-%s?(.*)$")
    local tag, rest = (comment or ""):match("^@(%w+)%s+(.*)$")
    if tag then
      local words = words_of_tag(tag, rest)
      if words then paragraphs:add_alone(number, words) end
    elseif not comment or comment == "" or comment:find("^    ") or
        comment:find("^CuTe:") or comment:find("^MoYe:") or comment:find("^See:") then
      paragraphs:finish()
    elseif not before then
      paragraphs:add_alone(number, comment)    -- the summary
    else
      paragraphs:add(number, comment)
    end
    before = comment
    if not comment then paragraphs:finish() end
  end
end

-- {====== Usage texts, in C and in Lua ======

-- One line of a usage text: a paragraph's, an option's, or what goes on with an option.
local function read_usage_line(paragraphs, number, text)
  local option = text:match("^  %S.-  +(%S.*)$")
  if text == "" or text:find("^usage:") or text:find("^  %-%S+, %-%S+$") then
    paragraphs:finish()
  elseif option then
    paragraphs:finish()
    paragraphs:add(number, option)
  elseif not text:find("^       cuttle ") then
    paragraphs:add(number, text:match("^%s*(.*)$"))
  end
end

-- A usage text begins with its declaration and goes on as long as lines are strings.
local function read_usage(paragraphs, lines)
  local in_usage = false
  for number, line in ipairs(lines) do
    local opens = line:find("^static const char [%w_]*usage%[%] =") or
      line:find("^local USAGE <const> =")
    local text = (opens or line:find('^%s+%.*%s*"')) and line:match('^[^"]*"(.*)"[^"]*$')
    in_usage = opens ~= nil or (in_usage and text ~= nil)
    if in_usage and text then
      for part in (text:gsub("\\n$", "") .. "\\n"):gmatch("(.-)\\n") do
        read_usage_line(paragraphs, number, part)
      end
    elseif not in_usage then
      paragraphs:finish()
    end
  end
end

-- {====== Sentences ======

local NO_END <const> = { ["e.g."] = true, ["i.e."] = true, ["cf."] = true, ["vs."] = true }

-- Writes the blanks of code in backquotes as \1, so that it is one word.
local function close_code(text)
  return (text:gsub("`[^`]*`", function(code)
    return (code:gsub("%s", "\1"))
  end))
end

-- [words](target) -> words
local function without_links(text)
  return (text:gsub("!?%[([^%[%]]*)%]%([^()%s]*%)", "%1"))
end

local function ends_sentence(word)
  local bare = word:gsub("[)\"'*_]+$", "")
  return bare:find("[.?!]$") and not bare:find("%.%.%.$") and not NO_END[bare]
end

local function count_words(words)
  local n = 0
  for _, word in ipairs(words) do
    if word:find("[%w\128-\255]") or word:find("^`") then n = n + 1 end
  end
  return n
end

local function add_sentence(sentences, path, line, words)
  local n = count_words(words)
  if n > 0 then
    sentences[#sentences + 1] = { path = path, line = line, n_words = n,
                                  text = table.concat(words, " "):gsub("\1", " ") }
  end
end

-- Words of a paragraph, {text, line}: code and links may run over the end of a line.
local function words_of(paragraph)
  local parts = {}
  for _, part in ipairs(paragraph) do
    parts[#parts + 1] = part.text
  end
  local text = without_links(close_code(table.concat(parts, "\n")))
  local words, line = {}, paragraph[1].line
  for blank, word in text:gmatch("(%s*)(%S+)") do
    for _ in blank:gmatch("\n") do line = line + 1 end
    words[#words + 1] = { text = word, line = line }
  end
  return words
end

local function add_sentences(sentences, path, paragraph)
  local words, line = {}, paragraph[1].line
  for _, word in ipairs(words_of(paragraph)) do
    if #words == 0 then line = word.line end
    words[#words + 1] = word.text
    if ends_sentence(word.text) then
      add_sentence(sentences, path, line, words)
      words = {}
    end
  end
  add_sentence(sentences, path, line, words)
end

local function reader_of(path)
  if path:find("%.md$") then
    return read_page
  elseif path:find("meta/[^/]*%.lua$") then
    return read_annotations
  end
  return read_usage
end

local function sentences_of(paths)
  local sentences = {}
  for _, path in ipairs(paths) do
    local reader, paragraphs = reader_of(path), new_paragraphs(path)
    reader(paragraphs, lines_of(shell.read_file(path)))
    for _, paragraph in ipairs(paragraphs) do
      add_sentences(sentences, path, paragraph)
    end
  end
  return sentences
end

-- {====== Drawing and listing ======

local function place_of(sentence)
  return ("%s:%d"):format(sentence.path, sentence.line)
end

-- Prints `count` different sentences, in the order in which they are drawn.
local function draw(all, seed, count)
  local sentences = {}
  for _, sentence in ipairs(all) do
    if sentence.n_words >= MIN_WORDS then sentences[#sentences + 1] = sentence end
  end
  math.randomseed(seed)
  for i = 1, math.min(count, #sentences) do
    local j = math.random(i, #sentences)
    sentences[i], sentences[j] = sentences[j], sentences[i]
    print(("%d. %s: %s"):format(i, place_of(sentences[i]), sentences[i].text))
  end
  print(("%d of %d sentences, seed %d"):format(math.min(count, #sentences), #sentences, seed))
end

-- Prints the sentences that are too long; whether there are any.
local function list_long(sentences)
  local n_long = 0
  for _, sentence in ipairs(sentences) do
    if sentence.n_words > MAX_WORDS then
      n_long = n_long + 1
      print(("%s: %d words: %s"):format(place_of(sentence), sentence.n_words, sentence.text))
    end
  end
  print(("%d of %d sentences have more than %d words"):format(n_long, #sentences, MAX_WORDS))
  return n_long > 0
end

local function read_arguments(args)
  local options = { seed = 1, count = 60, paths = {} }
  for _, given in ipairs(args) do
    local name, value = given:match("^%-%-(%w+)=(%d+)$")
    if given == "--long" then
      options.long = true
    elseif name == "seed" or name == "count" then
      options[name] = math.tointeger(value)
    elseif given:find("^%-") then
      error(("draw_sentences: unknown option %s"):format(given), 0)
    else
      options.paths[#options.paths + 1] = given
    end
  end
  return options
end

local function main(...)
  local options = read_arguments { ... }
  if #options.paths == 0 then
    options.paths = lines_of((shell.capture(LIST_COMMAND)))
  end
  local sentences = sentences_of(options.paths)
  if options.long then
    os.exit(not list_long(sentences))
  end
  draw(sentences, options.seed, options.count)
end

main(...)
