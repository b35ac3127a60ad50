"""test_pages.py: what pages of `cuttle view` do when one points, clicks and types, in TAP.
    python3 test_pages.py CUTTLE CHROMIUM
Expected offsets come from formulas here, not from the page."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import every_picture
import tap
from devtools import ALT, CTRL, SHIFT, Browser
from tap import check, note_failure

CUTTLE, CHROMIUM = os.path.abspath(sys.argv[1]), sys.argv[2]

# {====== Pages and what they show ======

def write_page(folder, expression):
    """The page of an expression: a path."""
    done = subprocess.run([CUTTLE, "--device=cpu", "view", expression], cwd=folder, check=True,
                          stdout=subprocess.PIPE, universal_newlines=True)
    return pathlib.Path(folder, done.stdout.strip())


def cell(panel, row, col):
    """The selector of a cell."""
    return "main section:nth-of-type(%d) tbody tr:nth-child(%d) td:nth-of-type(%d)" % (
        panel + 1, row + 1, col + 1)


def in_panel(panel, selector):
    return "main section:nth-of-type(%d) %s" % (panel + 1, selector)


def texts(page, selector):
    return page.value("[...document.querySelectorAll(%s)].map((e) => e.textContent)"
                      % json.dumps(selector))


def text(page, selector):
    found = texts(page, selector)
    return found[0] if len(found) == 1 else found


def n_of(page, selector):
    return page.value("document.querySelectorAll(%s).length" % json.dumps(selector))


def style(page, selector, name):
    return page.value("getComputedStyle(document.querySelector(%s)).getPropertyValue(%s)"
                      % (json.dumps(selector), json.dumps(name)))


def readout(page):
    return page.value("""Object.fromEntries([...document.querySelectorAll("#readout dd")].map(
      (dd) => [dd.dataset.fact, dd.textContent]))""")


def brightness(page, selector, name="backgroundColor"):
    """Of a colour of an element, 0 to 1."""
    return page.value("""(() => {
      const canvas = document.createElement("canvas").getContext("2d");
      canvas.fillStyle = getComputedStyle(document.querySelector(%s))[%s];
      canvas.fillRect(0, 0, 1, 1);
      const [r, g, b] = canvas.getImageData(0, 0, 1, 1).data;
      return (r + g + b) / 765;
    })()""" % (json.dumps(selector), json.dumps(name)))


def contrast(page, selector):
    return abs(brightness(page, selector) - brightness(page, selector, "color"))


# {====== A division: operand and result side by side ======

def divided_offset(row, col):
    """zipped_divide((8,8):(8,1), (2,4)) = ((2,4),(4,2)):((8,1),(16,4))"""
    return row % 2 * 8 + row // 2 + col % 4 * 16 + col // 4 * 4


def test_division(page):
    check("the title is the expression", text(page, "h1"), 'zipped_divide("(8,8):(8,1)", "(2,4)")')
    check("operands and result stand side by side",
          [t.split("\n")[0] for t in texts(page, "main h2")], ["Operand", "Result"])
    check("the derivation names operation and operands",
          "zipped_divide((8,8):(8,1), (2,4))" in texts(page, "#derived dd"), True)
    check("cells show the result's offsets", texts(page, in_panel(1, "td.cell")),
          [str(divided_offset(r, c)) for r in range(8) for c in range(8)])
    check("tiles begin at thick lines", [n_of(page, in_panel(1, "td.tile-left")),
          n_of(page, in_panel(1, "td.tile-top")),
          float(style(page, cell(1, 0, 4), "border-left-width")[:-2]) > 1,
          style(page, cell(1, 0, 3), "border-left-width")], [8, 24, True, "0px"])
    check("the operand is outlined by tiles", [
        n_of(page, in_panel(0, "td.tile-left")), n_of(page, in_panel(0, "td.tile-top"))], [8, 24])
    check_hover(page)
    check_cell_texts(page)
    check_keys(page)
    check_offset_isolation(page)


def check_hover(page):
    check("nothing is marked at first", n_of(page, "td.same-offset"), 0)
    page.hover(cell(1, 5, 6))
    offset = divided_offset(5, 6)
    check("hover shows the facts of a cell", readout(page), {
        "panel": "Result", "crd": "((1,2),(2,1))", "linear": str(5 + 8 * 6), "offset": str(offset),
        "bank": str(offset % 32)})
    check("hover marks the operand's element of the same offset",
          texts(page, in_panel(0, "td.same-offset")), [str(offset)])
    check("which is where the offset says", page.value(
        "document.querySelector(%s).classList.contains('same-offset')"
        % json.dumps(cell(0, offset // 8, offset % 8))), True)
    page.hover(cell(1, 0, 1))
    check("hover elsewhere moves the marks", texts(page, "td.same-offset"), ["16", "16"])
    page.click('#same input[value="offset"]')
    check("marks can be switched off", n_of(page, "td.same-offset"), 0)
    page.click('#same input[value="offset"]')


def check_cell_texts(page):
    at = cell(1, 5, 6)
    offset = divided_offset(5, 6)
    page.click('#text input[value="crd"]')
    check("cells show coordinates", text(page, at), "((1,2),(2,1))")
    page.press("3")
    check("key 3 shows 1-D coordinates", text(page, at), str(5 + 8 * 6))
    page.press("4")
    check("without threads key 4 does nothing", text(page, at), str(5 + 8 * 6))
    page.press("5")
    check("key 5 shows banks", text(page, at), str(offset % 32))
    page.value("""(() => {
      const bytes = document.getElementById("bytes");
      bytes.value = "8";
      bytes.dispatchEvent(new Event("change", {bubbles: true}));
    })()""")
    check("banks follow the element's size", text(page, at), str(offset * 8 // 4 % 32))
    page.hover(at)
    check("a wide element has several banks", readout(page)["bank"],
          "%d\u2013%d" % (offset * 2 % 32, offset * 2 % 32 + 1))
    page.press("1")
    check("key 1 shows indices again", text(page, at), str(offset))


def check_keys(page):
    page.value("document.getElementById('theme').focus()")
    page.press("Tab")
    place = "document.activeElement === document.querySelector(%s)"
    check("Tab goes to the first panel", page.value(place % json.dumps(cell(0, 0, 0))), True)
    check("focus shows the facts of a cell", readout(page)["crd"], "(0,0)")
    page.press("ArrowDown")
    page.press("ArrowRight")
    page.press("ArrowRight")
    check("arrows move within the panel", readout(page)["crd"], "(1,2)")
    check("and mark the result's cell", n_of(page, in_panel(1, "td.same-offset")), 1)
    page.press("End")
    check("End goes to the end of the row", readout(page)["crd"], "(1,7)")
    page.press("ArrowRight")
    check("beyond which there is nothing", readout(page)["crd"], "(1,7)")
    page.press("Home", CTRL)
    check("Ctrl-Home goes to the first cell", readout(page)["crd"], "(0,0)")
    page.press("PageDown")
    check("Page Down stops at the last row", readout(page)["crd"], "(7,0)")
    page.press("Tab")
    check("Tab goes to the next panel", readout(page)["panel"], "Result")
    check("a panel is one stop", n_of(page, 'td[tabindex="0"]'), 2)
    page.press("Tab", SHIFT)
    check("which is where one was", readout(page)["crd"], "(7,0)")


def check_offset_isolation(page):
    page.press("Enter")
    check("Enter isolates an offset where there are no threads", texts(page, "td.kept"),
          ["56", "56"])
    page.press("Escape")
    check("Escape releases it", n_of(page, "td.kept") + n_of(page, "main.isolating"), 0)


# {====== A composition: R(i) = A(B(i)) ======

def test_composition(page):
    check("two operands and the result", [t.split("\n")[0] for t in texts(page, "main h2")],
          ["Operand", "Tiler", "Result"])
    page.hover(cell(2, 1, 1))
    marks = [texts(page, in_panel(p, "td.same-" + name))
             for p in (0, 1) for name in ("linear", "offset")]
    check("hover marks A's index and B's coordinate", marks, [[], ["32"], ["4"], []])
    page.hover(cell(1, 1, 1))
    check("B's index is A's coordinate", texts(page, in_panel(0, "td.same-offset")), ["32"])


# {====== Thread-value layouts ======

def owner(row, col):
    """tv_layout((4,8):(8,1), (2,2):(1,2)): thread and value of an element of the (8,16) tile"""
    return row // 2 * 8 + col // 2, row % 2 + col % 2 * 2


def test_threads(page):
    check("cells show threads and values", texts(page, "td.cell"),
          ["T%d\nV%d" % owner(r, c) for r in range(8) for c in range(16)])
    page.hover(cell(0, 3, 5))
    thread, value = owner(3, 5)
    facts = readout(page)
    check("hover shows thread and value", [facts["thread"], facts["value"]],
          [str(thread), str(value)])
    check("hover marks the thread's cells", sorted(texts(page, "td.same-thread")),
          ["T%d\nV%d" % (thread, v) for v in range(4)])
    page.emulate(prefers_color_scheme="light")
    before = contrast(page, cell(0, 3, 5))
    page.click(cell(0, 3, 5))
    check("a click isolates the thread", sorted(texts(page, "td.kept")),
          ["T%d\nV%d" % (thread, v) for v in range(4)])
    check("the others are dim", [
        contrast(page, cell(0, 0, 0)) < 0.5 * before, contrast(page, cell(0, 3, 5)) > 0.9 * before],
        [True, True])
    page.click(cell(0, 0, 0), SHIFT)
    check("a click with shift adds a thread", n_of(page, "td.kept"), 8)
    page.click(cell(0, 0, 1), SHIFT)
    check("a second one takes it away", n_of(page, "td.kept"), 4)
    page.click(cell(0, 3, 5))
    check("a second click releases", n_of(page, "td.kept") + n_of(page, "main.isolating"), 0)
    page.click("#isolate")
    page.type("1, 4-6")
    check("threads can be typed", sorted({t.split("\n")[0] for t in texts(page, "td.kept")}),
          ["T1", "T4", "T5", "T6"])
    page.press("Escape")
    check("Escape releases these too", n_of(page, "td.kept"), 0)


# {====== Shared memory ======

def degrees(page):
    """Conflicts that the heads say: of the columns, of the rows."""
    return (texts(page, "thead .degree")[1:] if n_of(page, "thead th .degree") > 32
            else texts(page, "thead .degree")), texts(page, "tbody .degree")


def test_banks(page):
    page.click('#colour input[value="bank"]')
    columns, rows = degrees(page)
    check("a column of 32 words in one bank is told", set(columns), {"32\u00d7"})
    check("a row of 32 words in 32 banks is not", set(rows), {""})
    check("each bank has a colour", page.value(
        "new Set([...document.querySelectorAll('td.cell')].map((td) =>"
        " getComputedStyle(td).backgroundColor)).size"), 32)


def test_swizzle(page):
    check("the swizzle has a before and an after",
          [t.split("\n")[0] for t in texts(page, "main h2")],
          ["Before the swizzle", "After the swizzle"])
    page.click('#colour input[value="bank"]')
    check("the swizzle takes the conflicts away", [
        set(texts(page, in_panel(0, "thead .degree"))), set(texts(page, in_panel(1, ".degree")))],
        [{"32\u00d7"}, {""}])
    page.hover(cell(1, 3, 0))
    check("hover finds the offset before the swizzle", texts(page, in_panel(0, "td.same-offset")),
          [str(3 * 32 + 3)])
    check("and says it", readout(page)["before"], str(3 * 32))
    check("and the same element", texts(page, in_panel(0, "td.same-linear")), [str(3 * 32)])


# {====== Looks ======

def test_theme(page):
    page.emulate(prefers_color_scheme="light")
    check("light where the system is", brightness(page, "body") > 0.9, True)
    page.emulate(prefers_color_scheme="dark")
    check("dark where the system is", brightness(page, "body") < 0.2, True)
    check("so are the cells", brightness(page, cell(0, 0, 0)) < 0.55, True)
    page.click("#theme")
    check("the button goes to light", [brightness(page, "body") > 0.9, text(page, "#theme")],
          [True, "Dark"])
    page.click("#theme")
    check("and back", brightness(page, "body") < 0.2, True)
    page.emulate(media="print", prefers_color_scheme="dark")
    check("print is light, without controls", [brightness(page, "body") > 0.9,
          style(page, ".controls", "display"), style(page, "#readout", "display")],
          [True, "none", "none"])
    page.emulate()


def test_large(page):
    check("64 x 64 cells are there", n_of(page, "td.cell"), 4096)
    page.hover(cell(0, 63, 62))
    check("and answer", readout(page)["offset"], str(63 * 64 + 62))
    check("the page itself is not wider than the window",
          page.value("document.documentElement.scrollWidth <= innerWidth"), True)


def in_view(page, selector):
    """Whether the cell lies within what its panel shows, to a pixel."""
    return page.value("""(() => {
      const td = document.querySelector(%s);
      const box = td.getBoundingClientRect();
      const frame = td.closest(".scroller").getBoundingClientRect();
      return box.left >= frame.left - 1 && box.right <= frame.right + 1
        && box.top >= frame.top - 1 && box.bottom <= frame.bottom + 1;
    })()""" % json.dumps(selector))


def test_wide(page):
    check("wide panels stand side by side", page.value("""(() => {
      const [a, b] = [...document.querySelectorAll("section.panel")].map(
        (section) => section.getBoundingClientRect());
      return a.top === b.top && a.right <= b.left && b.right <= innerWidth;
    })()"""), True)
    far = in_panel(0, "td.kept")
    page.click(cell(1, 127, 31))
    check("a click shows the same offset in the others", [texts(page, far), in_view(page, far)],
          [["4095"], True])


def font_size(page, selector):
    return float(style(page, selector, "font-size")[:-2])


def test_wide_mma(page):
    """256 columns beside 16: no window has room for all in one table."""
    check("a product that does not fit is in full size", text(page, "#scale"), "100 %")
    check("its texts can be read", font_size(page, cell(0, 0, 0)) >= 12, True)
    check("the first operand is in the window", page.value(
        "(({left, right}) => left >= 0 && right <= innerWidth)(document.querySelector(%s)"
        ".getBoundingClientRect())" % json.dumps(cell(0, 0, 0))), True)
    check("each operand scrolls by itself", page.value(
        "[...document.querySelectorAll('.scroller')].filter((e) => e.scrollWidth > e.clientWidth).length >= 2"), True)
    check("the page does not", page.value("document.documentElement.scrollWidth <= innerWidth"), True)
    sizes = []
    for _ in range(6):
        page.press("-")
        sizes.append(font_size(page, cell(0, 0, 0)))
    check("texts are legible or not there", [size == 0 or size >= 7 for size in sizes], [True] * 6)
    check("the smallest size shows colours alone", [sizes[-1], style(page, cell(0, 0, 0), "height") != "0px"],
          [0, True])


def test_narrow_mma(page):
    page.resize(400, 800)
    page.call("Page.reload")
    page.promised("new Promise((done) => setTimeout(done, 300))")
    check("a narrow window has operands one by one", [n_of(page, "main.table"), font_size(page, cell(0, 0, 0)) >= 12],
          [0, True])


HOSTILE = '</script><b id="broken">&amp; <!-- "x\\'


def test_text(page):
    check("a title is text, whatever stands in it",
          [text(page, "h1"), page.value("document.title"), n_of(page, "#broken")],
          [HOSTILE, HOSTILE, 0])


# {====== Any picture ======

def test_steps(kind):
    def test(page):
        for what, got, want in every_picture.walk(page):
            check("%s: %s" % (kind, what), got, want)
    return test


# {====== A tiled MMA: A left of C, B above it ======

def edges(page, panel, row, col):
    return page.value("(({left, top}) => [left, top])(document.querySelector(%s)"
                      ".getBoundingClientRect())" % json.dumps(cell(panel, row, col)))


def test_mma(page):
    check("the operands are A, B as (N,K) and C", texts(page, "main h2"),
          ["A (M,K)", "B (N,K)", "C (M,N)"])
    check("rows of A are rows of C", [edges(page, 0, r, 0)[1] for r in (0, 31)],
          [edges(page, 2, r, 0)[1] for r in (0, 31)])
    check("columns of B are columns of C", [edges(page, 1, 0, c)[0] for c in (0, 15)],
          [edges(page, 2, 0, c)[0] for c in (0, 15)])
    check("B is above, A on the left", [edges(page, 1, 15, 0)[1] < edges(page, 2, 0, 0)[1],
          edges(page, 0, 0, 15)[0] < edges(page, 2, 0, 0)[0]], [True, True])
    check("all of C's columns are in the window", edges(page, 2, 0, 15)[0] < 1400, True)
    check("the legend says what colours mean, and +1", [
        "thread mod 8" in text(page, "#legend"), "V0+1" in text(page, "#legend")], [True, True])
    # SM80_16x8x16: thread 5 has A's rows 1 and 9, columns 2, 3, 10, 11; thread 69 is 5 of the atoms
    # with the next columns of C, whose rows of A are the same.
    page.hover(cell(0, 1, 2))
    facts = readout(page)
    check("an element of A with both its threads", [facts["crd"], facts["thread"], facts["value"]],
          ["(1,2)", "5, 69", "0"])
    check("is in no memory", "offset" in facts or "bank" in facts, False)
    page.click('#same input[value="value"]')
    check("value 0 of all threads can be marked", n_of(page, in_panel(0, "td.same-value")), 64)


# {====== A trace ======

TRACED = """\
local k = kernel("turn", function(A, B)
  local s = shared(f32, layout("(4,4):(1,5)"))
  s[{threadIdx.x, threadIdx.y}] = A[{threadIdx.x, threadIdx.y}] -- </script>
  sync_threads()
  B[{threadIdx.x, threadIdx.y}] = s[{threadIdx.y, threadIdx.x}]
end)
local A, B = zeros(f32, {4, 4}), zeros(f32, {4, 4})
print(trace(k{grid = 1, block = {4, 4}}, {B = {1, 3}}, A, B):html("trace.html"))
"""
# B(1,3) = s(3,1), written by thread 1 + 3*4 at line 5; s(3,1) = A(3,1), by thread 3 + 1*4 at line 3.


def write_trace(folder):
    script = pathlib.Path(folder, "traced.lua")
    script.write_text(TRACED)
    subprocess.run([CUTTLE, "--device=cpu", "traced.lua"], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL)
    return pathlib.Path(folder, "trace.html")


def lit(page):
    """What is marked: numbers of lines, threads, elements."""
    return [texts(page, "li.lit .number"), texts(page, ".thread.lit"),
            page.value("""[...document.querySelectorAll("td.lit")].map((td) =>
              td.getAttribute("aria-label"))""")]


def line(n):
    return ".code li:nth-of-type(%d)" % n


def test_trace(page):
    check("the element is the title", text(page, "h1"), "B(1,3)")
    check("the source is there as it was", texts(page, ".code .text"), TRACED.split("\n")[:-1])
    check("its contributing lines are marked", texts(page, "li.marked .number"), ["3", "5"])
    check("the threads took part", texts(page, ".thread"), ["7", "13"])
    check("a panel for each tensor", texts(page, "#panels h2"),
          ["Bglobal (4,4):(1,4)", "Aglobal (4,4):(1,4)", "sshared (4,4):(1,5)"])
    check("elements have roles", [
        page.value("[...document.querySelectorAll('td.%s')].map((td) => td.item.panel.name)" % role)
        for role in ("write", "read", "both", "wanted")], [["B"], ["A"], ["s"], ["B"]])
    page.hover(line(3))
    check("a line marks its threads and elements", lit(page),
          [["3"], ["7"], ["A(3,1) read", "s(3,1) both"]])
    check("and says them", readout(page), {"line": "traced.lua:3", "thread": "7 (3,1)",
                                           "read": "A(3,1)", "write": "s(3,1)"})
    check("reads and writes look different", [n_of(page, "td.lit-read"), n_of(page, "td.lit-write")],
          [1, 1])
    page.hover("td.both")
    check("an element marks who touched it, and where", lit(page),
          [["3", "5"], ["7", "13"], ["s(3,1) both"]])
    check("and says it", readout(page), {
        "element": "s(3,1)", "offset": "8", "bank": "8", "write": "7 (3,1)", "write-line": "3",
        "read": "13 (1,3)", "read-line": "5"})
    page.hover(".thread:last-child")
    check("a thread marks its lines and elements", lit(page),
          [["5"], ["13"], ["B(1,3) write", "s(3,1) both"]])
    page.hover("h1")
    check("nothing is marked beside them", lit(page), [[], [], []])
    page.click("td.read")
    page.hover("h1")
    check("a click keeps the marks", lit(page), [["3"], ["7"], ["A(3,1) read"]])
    page.press("Escape")
    check("Escape releases them", lit(page), [[], [], []])
    check_trace_keys(page)
    before = brightness(page, "body")
    page.click("#theme")
    check("the other theme is dark or light", abs(brightness(page, "body") - before) > 0.5, True)
    check("and its colours can be read", contrast(page, "td.read") > 0.3, True)


def check_trace_keys(page):
    page.value("document.activeElement.blur()")
    seen = []
    page.click("h1")
    for _ in range(7):
        page.press("Tab")
        seen.append(page.value("document.activeElement.item ? document.activeElement.item.type : "
                               "document.activeElement.id"))
    check("Tab goes from group to group", seen[seen.index("line"):][:5],
          ["line", "thread", "cell", "cell", "cell"])
    page.value("document.querySelector('li.marked').focus()")
    page.press("ArrowDown")
    check("arrows go to the next line", lit(page)[0], ["5"])
    page.press("Home")
    check("Home to the first", lit(page)[0], ["3"])
    page.press("Enter")
    page.hover("h1")
    check("Enter keeps it", lit(page)[0], ["3"])
    page.press("Escape")


tests = [
    ('zipped_divide("(8,8):(8,1)", "(2,4)")', test_division),
    ('composition("(6,2):(8,2)", "(4,3):(3,1)")', test_composition),
    ('tv_layout("(4,8):(8,1)", "(2,2):(1,2)")', test_threads),
    ("(32,32):(32,1)", test_banks),
    ("Sw<5,0,5> o 0 o (32,32):(32,1)", test_swizzle),
    ("(8,8):(8,1)", test_theme),
    ("(64,64):(64,1)", test_large),
    ('zipped_divide("(64,64):(64,1)", "(8,16)")', test_wide),
    (every_picture.MMA, test_mma),
    (every_picture.MMA, test_narrow_mma),
    ('tiled_mma("SM90_64x256x16_F32BF16BF16_SS")', test_wide_mma),
]


def write_titled(folder):
    """A page of html() with a hostile title."""
    path, script = pathlib.Path(folder, "titled.html"), pathlib.Path(folder, "titled.lua")
    script.write_text("html('4:1', arg[1], {title = arg[2]})\n")
    subprocess.run([CUTTLE, "--device=cpu", str(script), str(path), HOSTILE], check=True)
    return path


# {====== A profile: source beside figures, accesses as pictures ======

PROFILED = """
local A, B = zeros(f32, {64, 32}), zeros(f32, {64, 32})
local k = kernel("turn", function(A, B)
  local s = shared(f32, layout({32, 32}, {32, 1}))
  local x, y = threadIdx.x, threadIdx.y
  s[{x, y}] = A[{x, y}]
  sync_threads()
  if x < 20 then B[{x, y}] = s[{y, x}] end
end)
k{grid = 1, block = {32, 8}}(A, B)
kernel("late", function(x) x[threadIdx.x + 1] = 1.0 end){grid = 1, block = 32}(zeros(f32, 64))
local mma = tiled_mma("SM80_16x8x16_F32F16F16F32_TN")
kernel("product", function(A, B, C)
  local thr = mma:get_slice(threadIdx.x)
  local rA, rB, rC = thr:partition_fragment_A(A), thr:partition_fragment_B(B), thr:partition_fragment_C(C)
  copy(thr:partition_A(A), rA)
  copy(thr:partition_B(B), rB)
  clear(rC)
  gemm(mma, rA, rB, rC)
  copy(rC, thr:partition_C(C))
end, {static_shapes = true}){grid = 1, block = 32}(zeros(f16, {16, 16}), zeros(f16, {8, 16}), zeros(f32, {16, 8}))
"""


def write_profile(folder):
    script, path = pathlib.Path(folder, "turn.lua"), pathlib.Path(folder, "turn.html")
    script.write_text(PROFILED)
    subprocess.run([CUTTLE, "profile", "--html=" + str(path), str(script)], check=True,
                   stdout=subprocess.PIPE)
    return path


def line_button(line, n):
    return '#lines tr[data-line="%d"] .accesses button:nth-of-type(%d)' % (line, n)


def choose_kernel(page, i):
    page.value("""(() => {
      const choose = document.querySelector("#kernel");
      choose.value = %d;
      choose.dispatchEvent(new Event("change"));
    })()""" % i)


def check_order(page):
    """Lines in the order of the source, then by cost, by mouse and by keys."""
    def numbers():
        return page.value("[...document.querySelectorAll('#lines tbody tr')].map((tr) => Number(tr.dataset.line))")
    before = numbers()
    check("lines stand as in the source", before, sorted(before))
    page.click('#lines [data-order="cost"] button')
    check("a click sorts them by cost", numbers(), [6, 8, 7])
    check("which the head says", [page.value("document.querySelector('[data-order=%s]').ariaSort" % order)
                                  for order in ("line", "cost")], [None, "descending"])
    check("the access is still marked", n_of(page, '#lines button[aria-pressed="true"]'), 1)
    page.press("Tab", SHIFT)
    page.press("Enter")
    check("keys sort them back", numbers(), before)


def test_profile(page):
    check("the verdict comes first", page.value(
        "document.querySelector('main p').textContent.endsWith('by shared memory.')"), True)
    check("it names the worst access", texts(page, "#verdict p")[2],
          "Worst access: line 6, store s, 32-way conflicts; 97 % of its time is lost.")
    check("units by their time", texts(page, "#bounds dt"), ["shared memory", "memory"])
    check("two roofs", [n_of(page, "#bounds path.roof.tensor"), n_of(page, "#bounds path.roof.f32")], [1, 1])
    check_order(page)
    check("each line of the source has its row", texts(page, "#lines .source")[:4],
          PROFILED.splitlines()[2:6])
    check("accesses are buttons", n_of(page, "#lines .accesses button"), 4)
    check("the worst one is shown first", text(page, "#access h2"), "line 6: store s")
    check("32 lanes meet in one bank", [
        n_of(page, "#access g.lane:not(.off)"), n_of(page, "#access rect.word"),
        n_of(page, "#access path")], [32, 32, 32])
    page.click(line_button(6, 1))
    check("a click shows another", text(page, "#access h2"), "line 6: load A")
    check("it is marked alone", [n_of(page, '#lines button[aria-pressed="true"]'),
          page.value("document.querySelector(%s).getAttribute('aria-pressed')"
                     % json.dumps(line_button(6, 1)))], [1, "true"])
    check("four sectors of eight lanes", [n_of(page, "#access g.sector"),
          n_of(page, "#access g.sector rect:not(.empty)")], [4, 32])
    page.press("ArrowDown")
    page.press("ArrowDown")
    page.press("Enter")
    check("arrow keys and Enter walk on", text(page, "#access h2"), "line 8: load s")
    check("lanes that take no part are faint", n_of(page, "#access g.lane.off"), 12)
    check("a request can be chosen", n_of(page, "#pattern option"), 8)
    choose_kernel(page, 1)
    check("another kernel", [text(page, "#access h2"), n_of(page, "#access g.sector")],
          ["line 11: store x", 5])
    choose_kernel(page, 2)
    check("products of tensor cores are counted", [
        texts(page, "#lines tr[data-line='19'] td")[4:], "tensor cores" in texts(page, "#bounds dt"),
        n_of(page, "#bounds circle.tensor")], [["1 mma4.10k flops", "0.0058 nstensor cores"], True, 1])
    light = brightness(page, "body")
    page.click("#theme")
    check("the theme turns", light > 0.5 > brightness(page, "body"), True)


# {====== Pages of other kinds, and pictures as files ======

# {====== A launch ======

LAUNCHED = """local turn = kernel("turn", function(A, B)
  local s = shared(f32, row_major{4, 8})
  local gA, gB = tile(A, {4, 8}, {blockIdx.y, _}), tile(B, {4, 8}, {blockIdx.y, _})
  local tA, tB = parallelize(gA, row_major{4, 8}, threadIdx.x), parallelize(gB, row_major{4, 8}, threadIdx.x)
  local tS = parallelize(s, row_major{4, 8}, threadIdx.x)
  for k in axes(tA, 2) do
    copy(tA(_, _, k), tS)
    sync_threads()
    B[{blockIdx.y * 4 + threadIdx.x // 8, k * 8 + threadIdx.x % 8}] = s[31 - threadIdx.x]
    sync_threads()
  end
end)
local A, B = arange(f32, row_major{12, 32}), zeros(f32, row_major{12, 32})
turn{grid = {1, 3}, block = 32}(A, B)
"""


def write_launch(folder):
    path = pathlib.Path(folder, "launched.lua")
    path.write_text(LAUNCHED)
    subprocess.run([CUTTLE, "view", "--launch=1", path.name], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL)
    return pathlib.Path(folder, "launched.html")


def said(page):
    """What the readout says of the thread, without numbers of lines."""
    return [" ".join(t.split()[2:]) for t in texts(page, "#readout p")]


def address(page, fragment):
    page.value("location.hash = %s" % json.dumps(fragment))
    page.settle()
    page.settle()


def reads_and_writes(block, thread, k):
    """What LAUNCHED does: of the lines in order."""
    row, col = thread // 8, thread % 8
    other = 31 - thread
    place = "(%d,%d)" % (4 * block + row, 8 * k + col)
    return ["reads 1 of tA: " + place, "writes 1 of tS: (%d,%d)" % (row, col),
            "writes 1 of B: " + place, "reads 1 of s: (%d,%d)" % (other % 4, other // 4)]


def test_launch(page):
    page.settle()
    check("the launch is the title", text(page, "h1"), "turn{grid = {1, 3}, block = 32}")
    check("the first turn is shown", text(page, "#when"), "k: turn 1 of 4")
    check("and what thread 0 does", sorted(said(page)), sorted(reads_and_writes(0, 0, 0)))
    for block, thread, k in ((2, 13, 3), (1, 31, 0), (0, 7, 2)):
        address(page, "#block=%d&thread=%d&step=%d" % (block, thread, k))
        check("a link leads to block %d, thread %d, turn %d" % (block, thread, k),
              sorted(said(page)), sorted(reads_and_writes(block, thread, k)))
    check("its lines are lit", texts(page, "li.lit .number"), ["7", "9"])
    page.value("document.getElementById('threads').focus()")
    page.press("ArrowRight")
    page.settle()
    check("arrows go from thread to thread", sorted(said(page)), sorted(reads_and_writes(0, 8, 2)))
    page.value("document.getElementById('blocks').focus()")
    page.press("ArrowDown")
    page.settle()
    check("and from block to block", sorted(said(page)), sorted(reads_and_writes(1, 8, 2)))
    page.press(".")
    page.settle()
    check("the full stop is the next step", text(page, "#when"), "k: turn 4 of 4")
    check("the address follows", page.value("location.hash"), "#block=1&thread=8&step=3")
    page.value("document.querySelector('li.marked:nth-of-type(9) [role=button]').focus()")
    page.press(" ")
    page.settle()
    check("a line alone", sorted(said(page)), sorted(reads_and_writes(1, 8, 3)[2:]))
    page.press("Escape")
    page.hover("#blocks")
    page.settle()
    check("the pointer chooses for a while", text(page, "#readout b").split(",")[:2],
          ["block (0", "1)"])
    page.hover("h1")
    page.settle()
    check_tensor_keys(page)
    check_widths(page)


MULTIPLIED = """local way = arg[1]
local product = kernel("product", function(A, B, C)
  local a = tile(A, {8, 8}, {blockIdx.y, 0})
  local b = tile(B, {8, 8}, way == "NK" and {blockIdx.x, 0} or {0, blockIdx.x})
  local c = tile(C, {8, 8}, {blockIdx.y, blockIdx.x})
  local i, j = threadIdx.x // 8, threadIdx.x % 8
  c[{i, j}] = a[{i, j}] + (way == "NK" and b[{j, i}] or b[{i, j}])
end)
local n = tonumber(arg[2])
local A, C = zeros(f32, row_major{32, 32}), zeros(f32, row_major{32, n})
product{grid = {n // 8, 4}, block = 64}(A, zeros(f32, row_major(way == "NK" and {n, 32} or {32, n})), C)
"""


def write_product(folder, way, n):
    path = pathlib.Path(folder, "product_%s_%d.lua" % (way, n))
    path.write_text(MULTIPLIED)
    subprocess.run([CUTTLE, "view", "--launch=1", path.name, way, str(n)], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL)
    return path.with_suffix(".html")


def test_product(page):
    page.settle()
    address(page, "#block=13&thread=10")
    boxes = page.value("""[...document.querySelectorAll(".product .tensor canvas")].slice(0, 3).map((c) => {
      const {left, top, right, bottom} = c.getBoundingClientRect();
      return [left, top, right, bottom].map(Math.round);
    })""")
    a, b, c = boxes
    check("A stands left of C, B above it", [a[2] < c[0], b[3] < c[1]], [True, True])
    check("their modes meet", [abs(a[1] - c[1]) < 2, abs(b[0] - c[0]) < 2,
                               abs(b[2] - c[2]) < 2], [True, True, True])
    check("the block's part of B is above its part of C", page.value("""(() => {
      const b = document.querySelectorAll(".product canvas")[1];
      const copy = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
      const n = Number(document.title.match(/grid = .(\\d+)/)[1]), at = (13 % n + .56) / n;
      return [[at, .11], [at, .89], [at - 1 / n, .11]].map(([x, y]) => {
        copy.drawImage(b, Math.round(-x * b.width), Math.round(-y * b.height));
        const [red, green, blue] = copy.getImageData(0, 0, 1, 1).data;
        return red + green + blue < 720;
      });
    })()"""), [True, False, False])


def check_widths(page):
    for width in (1440, 900, 400):
        page.resize(width, 900)
        page.settle()
        check("%d pixels are wide enough" % width,
              page.value("document.documentElement.scrollWidth <= %d" % width), True)
    for theme in ("light", "dark"):
        page.emulate(prefers_color_scheme=theme)
        page.settle()
        check("the picture is " + theme, page.value("""(() => {
          const canvas = document.getElementById("blocks");
          const copy = document.createElement("canvas").getContext("2d");
          copy.drawImage(canvas, 4 - canvas.width, -4);
          const [r, g, b] = copy.getImageData(0, 0, 1, 1).data;
          return r + g + b > 384 ? "light" : "dark";
        })()"""), theme)


def check_tensor_keys(page):
    canvas = "document.querySelectorAll('#stage .group:not([hidden]) canvas')"
    page.value("[...%s].find((c) => c.getAttribute('aria-label').startsWith('s:')).focus()" % canvas)
    page.press("ArrowDown")
    page.press("ArrowDown")
    page.settle()
    check("arrows walk over a tensor's elements", text(page, "#readout .element"),
          "s(1,0): threads 8, 30")
    page.press("Enter")
    page.press("Enter")
    page.settle()
    check("Enter takes one thread after another", page.value("location.hash"),
          "#block=1&thread=8&step=3")


def test_swept(page):
    check("things to point at", every_picture.sweep(page) > 5, True)


FILES = """
svg(tiled_mma("SM80_16x8x16_F32F16F16F32_TN"), "mma.svg")
svg(zipped_divide("(8,8):(8,1)", "(2,4)"), "division.svg")
local x = zeros(f32, 64)
local t = timeline(kernel("turns", function(x)
  local ready = mbarrier(1, 1)
  sync_threads()
  if threadIdx.x == 0 then
    x[0] = 1.0
    ready[0]:arrive()
  elseif threadIdx.x >= 32 then
    ready[0]:wait(0)
    x[threadIdx.x] = 1.0
  end
end):prepare{grid = 1, block = 64}(x))
t:svg("timeline.svg")
t:html("timeline.html")
"""


def write_files(folder):
    script = pathlib.Path(folder, "files.lua")
    script.write_text(FILES)
    subprocess.run([CUTTLE, "--device=cpu", "files.lua"], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL)
    return [pathlib.Path(folder, name) for name in ("mma.svg", "division.svg", "timeline.svg", "timeline.html")]


def test_timeline(page):
    def tip():
        return texts(page, "#readout p")
    bars = page.value("[...document.querySelectorAll('rect[tabindex]')].map((rect) => rect.ariaLabel)")
    page.resize(1100, 800)
    check("a window that is a little too narrow shows all of it", page.value(
        "[...document.querySelectorAll('.scroller')].every((e) => e.scrollWidth <= e.clientWidth)"), True)
    page.resize(1400, 900)
    check("one bar is a stop of Tab", n_of(page, 'rect[tabindex="0"]'), 1)
    page.hover('rect[tabindex="0"]')
    check("the pointer shows what a bar is", "\n".join(tip()), bars[0])
    check("and marks those of its lines", page.value(
        "[...document.querySelectorAll('rect.same')].map((rect) => rect.ariaLabel.split(', cycles')[0])"),
        [bar.split(", cycles")[0] for bar in bars if bar.split(", cycles")[0] == bars[0].split(", cycles")[0]])
    page.value("document.getElementById('theme').focus()")
    page.press("Tab")
    place = "['x', 'y'].map((name) => Number(document.activeElement.getAttribute(name)))"
    ways = []
    for key in ("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp"):
        before = page.value(place)
        page.press(key)
        ways.append([(b > a) - (b < a) for a, b in zip(before, page.value(place))])
    check("arrows go along a row and to the next", ways, [[1, 0], [0, 1], [-1, 0], [0, -1]])
    before = page.value(place)
    page.press("ArrowRight", ALT)
    check("with Alt they are the browser's", page.value(place), before)
    page.press("Enter")
    page.hover("h1")
    check("Enter keeps the marks", ["\n".join(tip()), n_of(page, "rect.here")], [bars[0], 1])
    page.press("Escape")
    check("Escape releases them", n_of(page, "rect.here") + n_of(page, "rect.same"), 0)
    light = brightness(page, "body")
    page.click("#theme")
    check("the drawing turns dark with the page", [light > 0.9 > 0.2 > brightness(page, "body"),
          style(page, "svg", "filter") != "none"], [True, True])


def run_page(browser, path, test, name=None):
    name = name or test.__name__
    page = browser.open(path.as_uri())
    try:
        test(page)
        check(name + ": no exception, nothing on the console", page.complaints(), [])
        check(name + ": no requests", page.requests(), [])
        page.close()
    except Exception:
        note_failure(name)


def main():
    folder = tempfile.mkdtemp(prefix="cuttle-pages-")
    browser = None
    try:
        browser = Browser(CHROMIUM)
        for expression, test in tests:
            run_page(browser, write_page(folder, expression), test)
        for kind, expression in every_picture.KINDS:
            run_page(browser, write_page(folder, expression), test_steps(kind), kind)
        run_page(browser, write_titled(folder), test_text)
        run_page(browser, write_trace(folder), test_trace)
        run_page(browser, write_profile(folder), test_profile)
        run_page(browser, write_launch(folder), test_launch)
        for way in ("NK", "KN"):
            for n in (32, 64):
                run_page(browser, write_product(folder, way, n), test_product,
                         "a product, %s, %d" % (way, n))
        run_page(browser, write_trace(folder), test_swept, "a trace, all over")
        run_page(browser, write_profile(folder), test_swept, "a profile, all over")
        files = write_files(folder)
        for path in files:
            run_page(browser, path, test_swept, path.name)
        run_page(browser, files[-1], test_timeline)
    except Exception:
        note_failure("the test")
    finally:
        if browser:
            browser.close()
        shutil.rmtree(folder, ignore_errors=True)
    tap.finish()


main()
