"""test_notebook.py: the notebook of layouts by keyboard alone, its files, links, errors, limits,
names, contrast and widths, in TAP.
    python3 test_notebook.py PLAYGROUND CUTTLE CHROMIUM
PLAYGROUND is the built folder; CUTTLE the native program, which runs what is saved."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import web_page
from web_page import (
    CTRL, SHIFT, Browser, check, focus, is_shown, let_run, open_page, press_until, text, wait)

PLAYGROUND, CUTTLE, CHROMIUM = [os.path.abspath(path) for path in sys.argv[1:3]] + sys.argv[3:4]
URL = pathlib.Path(PLAYGROUND, "notebook.html").as_uri()
ROOT = pathlib.Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "hosts/web/notebook/example.lua"
ALT = 1
ENGINE = "notebook.runner.line.engine"

WIDTHS = [(1400, 900), (768, 1024), (380, 800)]

browser = Browser(CHROMIUM)


def native(script):
    """What the program prints about a script: (standard output, standard error)."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "notebook.lua")
        with open(path, "wb") as file:
            file.write(script.encode())
        done = subprocess.run([CUTTLE, "--device=cpu", "notebook.lua"], cwd=folder,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        return done.stdout.decode(), done.stderr.decode()


# {====== What a user does and sees ======

def opened(**options):
    page = open_page(browser, options.pop("url", URL), **options)
    wait("the engine begins", lambda: page.value("notebook.runner !== null"))
    let_run(page, ENGINE)
    settle(page)
    return page


def settle(page):
    """Until all values are shown for what is typed."""
    wait("the values are shown", lambda: page.value("""notebook.runner !== null &&
      !notebook.runner.line.isBusy && document.querySelector('#status').dataset.state !== 'loading' &&
      notebook.cells.every((cell) => cell.kind === 'text' || cell.text.trim() === '' ||
        cell.ran === cell.text) && notebook.files.given === notebook.script()"""))


def close(*pages):
    """What a page keeps for the next visit would be the next test's as well."""
    for page in pages:
        page.value("localStorage.clear(); 0")
        page.close()


def values(page):
    return page.value("[...document.querySelectorAll('[data-kind=code] .value')]"
                      ".map((value) => value.textContent)")


def texts(page):
    return page.value("[...document.querySelectorAll('.cell textarea')].map(({value}) => value)")


def n_of(page, selector):
    return page.value("document.querySelectorAll(%s).length" % json.dumps(selector))


def script(page):
    return page.value("notebook.script()")


def press_button(page, name):
    press_until(page, "Tab", name)
    page.press("Enter")


def begin(page, *lines):
    """A new notebook with these cells, by keys."""
    if focus(page) != "BODY":
        page.value("document.activeElement.blur()")
    press_button(page, "new")
    for i, line in enumerate(lines):
        if i > 0:
            page.press("Enter")
        page.type(line)
    settle(page)


def to_cell(page, number):
    """From a cell to another, by arrows."""
    for key in ("ArrowUp", "ArrowDown"):
        for _ in range(30):
            if focus(page) == "Cell %d" % number:
                return
            page.press(key)
    raise RuntimeError("no way to cell %d, but to %s" % (number, focus(page)))


# {====== Tests ======

def test_opening():
    page = opened()
    example = EXAMPLE.read_text()
    check("the example stands there", script(page), example)
    found = values(page)
    check("all of it has values", "" not in found and len(found) > 10, True)
    check("none of it is wrong", n_of(page, ".wrong"), 0)
    check("layouts, tiles, atoms and shardings have pictures", n_of(page, ".opens img") >= 10, True)
    check("pictures are drawn", page.value(
        "[...document.querySelectorAll('.opens img')].every((image) => image.naturalWidth > 50)"),
        True)
    printed = "\n".join(page.value("""notebook.cells.filter(({form, text}) => form !== 'statement' &&
      form !== null).map((cell) => cell.value.textContent)""")) + "\n"
    check("the program prints the same values", native(example), (printed, ""))
    folder = URL[:-len("notebook.html")]
    check("only files of the folder are asked for", [
        url for url in page.requests() if not url.startswith((folder, "blob:"))], [])
    check("nothing complains", page.complaints(), [])
    close(page)


def test_typing(page):
    begin(page, 'A = L"(4,8):(8,1)"', "size(A), rank(A)", "(2,2):(1,2)", "composition(A, {2, 4})")
    check("values stand below", values(page), [
        "(4,8):(8,1)", "32\t2", "(2,2):(1,2)", "(2,4):(8,1)"])
    check("pictures beside", page.value("""[...document.querySelectorAll('.cell')].map((cell) => (
      cell.querySelectorAll('.picture img').length))"""), [1, 0, 1, 1])
    to_cell(page, 1)
    page.press("End")
    page.press("ArrowLeft")
    page.press("ArrowLeft")
    page.press("Backspace")
    page.type("2")
    settle(page)
    check("later cells see what an earlier one names", values(page), [
        "(4,8):(8,2)", "32\t2", "(2,2):(1,2)", "(2,4):(8,2)"])


def test_several_lines(page):
    begin(page, "local n = 3")
    page.press("Enter")
    for line in ("function twice(x)", "  return 2 * x", "end"):
        page.type(line)
        if line != "end":
            page.press("Enter")
    page.press("Enter")
    page.type("twice(n)")
    page.press("Enter", SHIFT)
    page.type("+ 1")
    settle(page)
    check("Enter goes on where a block is open, Shift+Enter everywhere", texts(page), [
        "local n = 3", "function twice(x)\n  return 2 * x\nend", "twice(n)\n+ 1"])
    check("locals and functions live on", values(page), ["3", "", "7"])
    check("the program agrees", native(script(page))[0], "7\n")


def test_errors(page):
    begin(page, "function f(x)\nreturn x.y.z\nend", "f({})", "1 +* 2", "local a = 1\na()", "1 + 1")
    check("errors stand in their cells", values(page)[1:], [
        "cell 1, line 2: attempt to index a nil value (field 'y')",
        "unexpected symbol near '*'", "line 2: attempt to call a number value (local 'a')", "2"])
    check("and are said to readers of the screen", page.value(
        "[...document.querySelectorAll('textarea')].map((f) => f.getAttribute('aria-invalid'))"),
        [None, "true", "true", "true", None])
    to_cell(page, 3)
    page.press("ArrowLeft")
    page.press("ArrowLeft")
    page.press("Backspace")
    settle(page)
    check("they go when the cell is right", values(page)[2], "3")


def test_moving(page):
    begin(page, "x = 1", "x", "x = 2")
    page.press("ArrowUp", ALT)
    settle(page)
    check("Alt+Up moves a cell, and values follow", [texts(page), values(page)], [
        ["x = 1", "x = 2", "x"], ["1", "2", "2"]])
    page.press("ArrowDown", ALT)
    settle(page)
    check("Alt+Down, too", [texts(page), values(page)], [
        ["x = 1", "x", "x = 2"], ["1", "1", "2"]])
    check("the focus stays", focus(page), "Cell 3")
    to_cell(page, 2)
    page.press("Delete", ALT)
    settle(page)
    check("Alt+Delete removes", texts(page), ["x = 1", "x = 2"])
    check("and says so", text(page, "#said span"), "Cell 2 is removed.")
    page.press("z", ALT)
    settle(page)
    check("Alt+Z brings it back", [texts(page), focus(page)], [["x = 1", "x", "x = 2"], "Cell 2"])
    page.press("Enter")
    page.press("Backspace")
    check("Backspace removes an empty cell", [texts(page), focus(page)],
          [["x = 1", "x", "x = 2"], "Cell 2"])
    page.press("Home")
    page.press("Enter")
    settle(page)
    check("Enter divides a cell", texts(page), ["x = 1", "", "x", "x = 2"])


def test_texts(page):
    begin(page, "-- ")
    page.type("# Title")
    page.press("Enter")
    page.type("A `layout`")
    page.press("Enter")
    page.type("and <b>")
    page.press("ArrowDown")
    press_button(page, "add-code")
    page.type("1 + 1")
    settle(page)
    check("-- and a space begin a text", n_of(page, "[data-kind=text]"), 1)
    check("which is shown as a heading and a paragraph", page.value(
        "document.querySelector('.shown').innerHTML"),
        "<h2>Title</h2><p>A <code>layout</code>\nand &lt;b&gt;</p>")
    check("and is a comment in the script", script(page),
          "-- # Title\n-- A `layout`\n-- and <b>\n\nprint(1 + 1) --=\n")
    page.press("/", CTRL)
    settle(page)
    check("Ctrl+/ makes code a text", script(page),
          "-- # Title\n-- A `layout`\n-- and <b>\n\n-- 1 + 1\n")
    page.press("/", CTRL)
    settle(page)
    check("and code again", values(page), ["2"])


def test_picture(page):
    begin(page, "A = layout{8, 8}", 'zipped_divide(A, {2, 4})')
    page.press("Enter", ALT)
    wait("the picture opens", lambda: n_of(page, "dialog iframe") == 1)
    check("Alt+Enter opens the picture that answers", page.value(
        "document.querySelector('dialog iframe').srcdoc.includes('zipped_divide')"), True)
    check("which cannot reach the page", page.value(
        "document.querySelector('dialog iframe').getAttribute('sandbox')"), "allow-scripts")
    has_focus = "document.readyState === 'complete' && document.hasFocus()"
    wait("the picture has the focus", lambda: page.in_frames(has_focus) == [True])
    page.press("Tab")
    check("keys go to the picture", page.in_frames("document.activeElement.id"), ["copy"])
    check("and back from it to what closes it", press_until(page, "Tab", "dialog-close", SHIFT),
          ["dialog-close"])
    page.press("Enter")
    check("the focus comes back", focus(page), "Cell 2")


def test_names_at_the_cursor(page):
    begin(page, "my_own_layout = layout{4, 8}", "my_o")
    page.press(" ", CTRL)
    wait("the name is completed", lambda: texts(page)[1] == "my_own_layout")
    page.press("Enter")
    page.type("zipp")
    page.press(" ", CTRL)
    wait("there are two", lambda: n_of(page, ".hints li") == 2)
    check("names come with what they are", page.value("""[...document.querySelectorAll('.hints li')]
      .map((li) => [li.querySelector('b').textContent, li.textContent.length > 30])"""), [
        ["zipped_divide", True], ["zipped_product", True]])
    check_look(page, "names")
    page.press("ArrowDown")
    page.press("Enter")
    check("arrows and Enter choose", [texts(page)[2], n_of(page, ".hints")], ["zipped_product", 0])
    page.press("F1")
    wait("help", lambda: is_shown(page, "#dialog"))
    check("F1 explains the name", text(page, ".help").startswith("zipped_product("), True)
    page.press("Escape")
    check("the focus comes back", focus(page), "Cell 3")


def test_stop(page):
    begin(page, "x = 7")
    page.press("Enter")
    page.type("while true do end")
    wait("it runs", lambda: is_shown(page, "[aria-busy=true] textarea"))
    page.press("Escape")
    settle(page)
    check("Esc stops a cell", values(page), ["7", "Stopped by you. Edit the cell to run it again."])
    page.press("Enter")
    page.type("x + 1")
    settle(page)
    check("cells below it run all the same", values(page)[2], "8")
    to_cell(page, 2)
    page.press("End")
    page.press("Backspace")
    page.press("Backspace")
    page.press("Backspace")
    page.type("break end")
    settle(page)
    check("a cell that is mended runs again", values(page), ["7", "", "8"])
    page.press("Enter")
    page.type("repeat until false")
    wait("it runs", lambda: is_shown(page, "[aria-busy=true] textarea"))
    let_run(page, ENGINE, 1e5)
    for _ in "false":
        page.press("Backspace")
    page.type("true")
    settle(page)
    check("what runs for an older text ends", [values(page)[2], values(page)[3]], ["", "8"])
    let_run(page, ENGINE, 1)
    page.press("Enter")
    page.type("repeat until false or nil")
    wait("the limit", lambda: "Stopped after 1 s" in values(page)[3])
    let_run(page, ENGINE)
    settle(page)
    check("the limit of time stops one, too", values(page)[4], "8")
    check("the page lives on", page.complaints(), [])


def test_memory(page):
    begin(page, "t = {}", "for i = 1, 1e9 do t[i] = ('x'):rep(1 << 10):rep(1 << 10) end", "1 + 1")
    found = values(page)
    check("memory that runs out is an error of the cell", "memory" in found[1], True)
    check("and the page lives on", found[2], "2")


# {====== Files and links ======

MIXED = ("#!/usr/bin/env cuttle\n-- Text  \n--without a space\n\n\n\nA = L\"(4,8):(8,1)\"\n"
         "local f = function(x)\n\n  return x -- end\nend\nprint(f(\n  3)) --=\nprint(L\"(2,2)\") --:\n"
         "--! size(\n--!  two  \n--{\ny = 1\n\nz = 2\n--}\nprint(\"a\")\n   \n\t\n")


def choose(page, path):
    """Ctrl+O, and a file in the dialog of the system."""
    page.call("Page.setInterceptFileChooserDialog", enabled=True)
    page.press("o", CTRL)
    wait("the dialog of files", lambda: page.value("1") and page.of_kind("Page.fileChooserOpened"))
    event = page.of_kind("Page.fileChooserOpened")[-1]["params"]
    page.call("DOM.setFileInputFiles", files=[str(path)], backendNodeId=event["backendNodeId"])
    page.browser.events.clear()
    wait("the file is read", lambda: "is open" in text(page, "#said") or is_shown(page, "#notice"))
    settle(page)


def saved(page, folder, name):
    """Ctrl+S, and the bytes of the file."""
    path = pathlib.Path(folder, name)
    page.browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=folder)
    page.press("s", CTRL)
    wait("the file is there", path.exists)
    wait("it is whole", lambda: not list(pathlib.Path(folder).glob("*.crdownload")))
    data = path.read_bytes()
    path.unlink()
    return data


def test_files(page):
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as target:
        for name, data in (("mixed.lua", MIXED.encode()), ("dos.lua", b"-- a\r\nx = 1\r\nprint(x) --=\r\n"),
                           ("open.lua", b"x = 1\nprint(x) --="),
                           ("test.lua", (ROOT / "tests/lua/layout/swizzle.lua").read_bytes())):
            path = pathlib.Path(folder, name)
            path.write_bytes(data)
            choose(page, path)
            check("every byte of %s is kept" % name, saved(page, target, name), data)
        choose(page, pathlib.Path(folder, "mixed.lua"))
        check("cells are told apart", texts(page), [
            "Text  \nwithout a space", 'A = L"(4,8):(8,1)"',
            "local f = function(x)\n\n  return x -- end\nend", "f(\n  3)", "(2,2)", "size(\n two  ",
            "y = 1\n\nz = 2", 'print("a")'])
        check("and have values", values(page)[2:4] + values(page)[5:], ["3", "(2,2):(1,2)", "1", "a"])
        to_cell(page, 4)
        page.press("End")
        page.type(" -- four")
        settle(page)
        changed = saved(page, target, "mixed.lua").decode()
        check("a change changes its line alone", changed, MIXED.replace(
            'print(L"(2,2)") --:\n', '\n--! (2,2) -- four\n\n'))
        check("the saved script runs", native(changed)[0], "3\na\n")
        choose(page, CUTTLE)
        check("a file that is no text is refused", text(page, "#notice"),
              "%s is not text in UTF-8, so it is no script." % pathlib.Path(CUTTLE).name)


def address(page):
    """The address, once it carries what stands there."""
    page.value("CuttleLink.address({script: notebook.script()}).then((made) => {"
               " globalThis.made = made; }); 0")
    wait("the address follows", lambda: page.value("location.href === globalThis.made"))
    return page.value("location.href")


def test_links():
    page = opened()
    begin(page, "x = 1", "x + 1")
    link = address(page)
    check("the address carries the notebook", "#s=" in link, True)
    other = opened(url=link)
    check("a link opens it", [texts(other), values(other)], [["x = 1", "x + 1"], ["1", "2"]])
    again = opened()
    check("so does the next visit", texts(again), ["x = 1", "x + 1"])
    begin(again, "y = 3")
    press_until(again, "Tab", "undo", SHIFT)
    again.press("Enter")
    settle(again)
    check("Undo brings back what New took away", texts(again), ["x = 1", "x + 1"])
    begin(again, "y = 3")
    visitor = opened(url=link)
    check("a link that is looked at", texts(visitor), ["x = 1", "x + 1"])
    third = opened()
    check("does not take the place of one's own notebook", texts(third), ["y = 3"])
    damaged = opened(url=URL + "#s=AAAA")
    check("a damaged link says so", "damaged" in text(damaged, "#notice"), True)
    press_until(third, "Tab", "playground")
    third.value("CuttleLink.encode({script: notebook.script()}).then((made) => {"
                " globalThis.made = made; }); 0")
    wait("a link is made", lambda: third.value("globalThis.made !== undefined"))
    check("the playground gets the same script", third.value("document.activeElement.href"),
          URL.replace("notebook.html", "index.html") + third.value("made"))
    close(page, other, again, visitor, third, damaged)


def test_share(page):
    begin(page, "x = 1")
    link = address(page)
    # A page over http has no clipboard.
    page.value("Object.defineProperty(navigator, 'clipboard', {value: undefined}); 0")
    press_until(page, "Tab", "share", SHIFT)
    page.press("Enter")
    wait("the dialog", lambda: is_shown(page, "#address"))
    check("Share gives the link", page.value("document.querySelector('#address').value"), link)
    check("and says that it is not copied, and its length",
          [words in text(page, "#dialog .body") for words in (
              "Copy it by hand", "%d characters" % len(link))], [True, True])
    page.press("Escape")


def test_links_of_the_program():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "a b.lua")
        for what, data in (("a notebook", MIXED),
                           ("letters of many kinds", 'print("é\u20ac\U0001f600<b>&") --=\n'),
                           ("many lines", "".join("x%d = %d\n" % (i, i * i) for i in range(40)))):
            path.write_text(data)
            link = subprocess.run([CUTTLE, "view", "--notebook", "--playground=" + PLAYGROUND, path],
                                  check=True, stdout=subprocess.PIPE).stdout.decode().strip()
            page = opened(url=link)
            check("cuttle view links to %s" % what, script(page), data)
            close(page)
    page = open_page(browser, pathlib.Path(PLAYGROUND, "index.html").as_uri() + link[link.index("#"):])
    wait("the playground", lambda: "x39 = 1521" in page.value(
        "document.querySelector('#editor .CodeMirror').CodeMirror.getValue()"))
    press_until(page, "Tab", "notebook")
    check("the playground links to the notebook", page.value("document.activeElement.href"), URL)
    close(page)


# {====== Looks ======

def fill(page):
    begin(page, "-- ")
    page.type("# A title\nA text with `code`.")
    page.press("ArrowDown")
    press_button(page, "add-code")
    for line in ('zipped_divide("(8,8):(8,1)", {2, 4})', "nosuchname()", 'atom("SM80_16x8x8_F32F16F16F32_TN")',
                 "(\"x\"):rep(300)"):
        page.type(line)
        page.press("Enter")
    settle(page)


def check_look(page, what):
    found = page.value("probe.faintTexts(%g)" % web_page.CONTRAST)
    check("contrast of %s" % what, found["faint"], [])
    check("nothing sticks out to the side: %s" % what, page.value("probe.scrollsSideways()"), False)
    fields = page.value("""Math.min(...[...document.querySelectorAll('[data-kind=code] textarea')].map((field) => (
      probe.contrastOf(field, getComputedStyle(field).color))))""")
    check("contrast of cells: %s" % what, fields >= web_page.CONTRAST, True)


# Of the background of an element, or of the corner of an image as it is shown, 0 to 255.
BRIGHTNESS = """((element, isImage) => {
  const context = document.createElement('canvas').getContext('2d');
  const style = getComputedStyle(element);
  context.filter = isImage ? style.filter : 'none';
  context.fillStyle = style.backgroundColor;
  context.fillRect(0, 0, 1, 1);
  if (isImage) context.drawImage(element, 0, 0);
  return context.getImageData(0, 0, 1, 1).data.slice(0, 3).reduce((a, b) => a + b) / 3;
})"""


def looks(page):
    """Takes a page through both themes and all widths: a theme and a width at a time."""
    for theme in ("light", "dark"):
        page.emulate(prefers_color_scheme=theme)
        for width, height in WIDTHS:
            page.resize(width, height)
            page.settle()
            yield theme, width


def test_looks():
    page = opened()
    for theme, width in looks(page):
        check_look(page, "the example, %s, width %d" % (theme, width))
        check("pictures are as %s as the page, width %d" % (theme, width), [
            page.value(BRIGHTNESS + "(document.body, false) > 128"),
            page.value(BRIGHTNESS + "(document.querySelector('.opens img'), true) > 128")],
              [theme == "light"] * 2)
    fill(page)
    for theme, width in looks(page):
        check_look(page, "%s, width %d" % (theme, width))
    close(page)


def test_names(page):
    fill(page)
    bad, n_named = web_page.nameless(page)
    check("all that one acts on has a name", bad, [])
    check("and there is much", n_named > 20, True)
    for dialog in ("keys", "share"):
        page.value("document.activeElement.blur()")
        press_button(page, dialog)
        wait("the dialog", lambda: is_shown(page, "#dialog"))
        check("all has a name: " + dialog, web_page.nameless(page)[0], [])
        check_look(page, dialog)
        page.press("Escape")


def test_focus(page):
    begin(page, "layout{2, 2}", "layout{4, 2}")
    page.value("document.activeElement.blur()")
    faint, seen = [], set()
    for _ in range(30):
        page.press("Tab")
        at = focus(page)
        if at != "BODY" and page.value("probe.focusContrast()") < web_page.FOCUS_CONTRAST:
            faint.append(at)
        seen.add(at)
    check("the focus shows everywhere", faint, [])
    check("it goes to every cell and its tools", {
        "Cell 1", "Cell 2", "Remove: Cell 2", "Open the picture of Cell 1: (2,2):(1,2)",
        "add-code"} - seen, set())


try:
    web_page.run_tests([
        test_opening,
        # On one page.
        test_typing, test_several_lines, test_errors, test_moving, test_texts, test_picture, test_names_at_the_cursor,
        test_stop, test_files, test_names, test_focus, test_share, test_memory,
        # Each on pages of its own.
        test_links, test_links_of_the_program, test_looks], opened, close)
finally:
    browser.close()
