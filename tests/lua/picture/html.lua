-- html(x): the page as a text, or its file. What the page does is tested in a browser, tests/browser.
local page = html(zipped_divide("(8,8):(8,1)", "(2,4)"))

-- It stands alone: nothing is loaded from elsewhere, and no mark of the template is left.
print(page:find("^<!DOCTYPE html>") ~= nil, page:find("</html>%s*$") ~= nil) -- expect: true	true
print(page:find("src=", 1, true), page:find("@import", 1, true), page:find("url(", 1, true), page:find("https?:")) -- expect: nil	nil	nil	nil
print(page:find("@%u+@")) -- expect: nil
print(page:match("<title>(.-)</title>")) -- expect: zipped_divide((8,8):(8,1), (2,4))

-- No text of the user ends the script element or the title.
local hostile = html("4:1", { title = '</script></title>&"<!--\1' })
print(select(2, hostile:gsub("</script>", "")), select(2, hostile:gsub("</title>", ""))) -- expect: 2	1
print(hostile:match("<title>([^\1]*)")) -- expect: &lt;/script&gt;&lt;/title&gt;&amp;&quot;&lt;!--
print(hostile:match('\n"title":("[^\n]*)}</script>')) -- expect: "\u003c/script\u003e\u003c/title\u003e\u0026\"\u003c!--\u0001"

-- With a name it writes the file, as a function and as a method.
local path = os.tmpname()
print(html("4:1", path) == path) -- expect: true
local file <close> = io.open(path)
print(file:read("a") == html("4:1")) -- expect: true
print(L"(4,8)":html(path) == path) -- expect: true
os.remove(path)

-- Numbers beyond 2^53, which JavaScript cannot hold exactly, are texts.
print(html(layout(2, 1 << 60)):match('"offset":(%b[])')) -- expect: [0,"1152921504606846976"]

-- Options are those of pictures; the bits of an element are those of a tensor.
print(html("8:1", { bits = 16 }):match('"bytes":([%d.]+)')) -- expect: 2
print(html(zeros(f64, { 2, 2 })):match('"bytes":([%d.]+)')) -- expect: 8

-- Mistakes are one line that blames the script's.
local function message(...)
  return select(2, pcall(html, ...)):match("^tests/lua/picture/html%.lua:%d+: (.*)$")
end
print(message("4:1", {colour = "red"})) -- expect: html: 'colour' is no option of pictures
print(message("4:1", "/nowhere/x.html")) -- expect: html: /nowhere/x.html: No such file or directory
print(message("4:1", true)) -- expect: html: the file is a boolean; a name was expected
