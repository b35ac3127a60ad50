"""test_page.py: the playground by keyboard alone, its links, limits, names, contrast and widths, in
TAP.
    python3 test_page.py PLAYGROUND CUTTLE CHROMIUM
PLAYGROUND is the built folder; CUTTLE the native program, whose output is what pages must show."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import web_page
from web_page import CTRL, SHIFT, Browser, check, focus, is_shown, open_page, press_until
from web_page import text, wait

PLAYGROUND, CUTTLE, CHROMIUM = [os.path.abspath(path) for path in sys.argv[1:3]] + sys.argv[3:4]
INDEX = pathlib.Path(PLAYGROUND, "index.html").as_uri()
EDITOR = "document.querySelector('#editor .CodeMirror').CodeMirror"

RACE = """local shift = kernel("shift", function(A)
  local s = shared(f32, layout{64})
  s[threadIdx.x] = A[threadIdx.x]
  A[threadIdx.x] = s[63 - threadIdx.x]
end)
local A = arange(f32, {64})
shift{grid = 1, block = 64}(A)
"""
RACE_LINE = 4

# A finding far below the first window of lines.
DEEP_RACE = "-- a line\n" * 90 + RACE

SCRIPT = """local tiles = zipped_divide("(8,8):(8,1)", "(2,4)")
print(tiles)
local double = kernel("double", function(A)
  A[threadIdx.x] = A[threadIdx.x] * 2
end)
local A = arange(f32, {32})
double{grid = 1, block = 32}(A)
print(A)
"""
TILES = "((2,4),(4,2)):((8,1),(16,4))"

WIDTHS = [(1280, 800), (820, 1180), (380, 800)]
PANES = ["output", "picture", "cuda", "check", "profile", "trace", "timeline"]

browser = Browser(CHROMIUM)


def native(*words):
    """What the program prints about a script: (standard output, standard error)."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "script.lua")
        with open(path, "w") as file:
            file.write(words[-1])
        done = subprocess.run([CUTTLE, "--device=cpu", *words[:-1], "script.lua"], cwd=folder,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              universal_newlines=True)
        return done.stdout, done.stderr


# {====== What a user does ======

def opened(**options):
    page = open_page(browser, options.pop("url", INDEX), **options)
    wait_ready(page)
    return page


def close(*pages):
    """What a page keeps for the next visit would be the next test's as well."""
    for page in pages:
        page.value("localStorage.clear(); 0")
        page.close()


def status(page):
    return page.value("document.querySelector('#status').dataset.state")


def wait_ready(page):
    wait("the engine is ready", lambda: status(page) == "ready")


def to_editor(page):
    press_until(page, "F6", "Script")


def to_prompt(page):
    press_until(page, "F6", "line")


def write_script(page, script):
    """Over what stands in the editor, by keys."""
    to_editor(page)
    page.press("a", CTRL)
    page.press("Delete")
    page.type(script)
    wait("the script is in the editor", lambda: page.value(EDITOR + ".getValue()") == script)


def open_tab(page, name):
    press_until(page, "F6", "tab-" + page.value(
        "document.querySelector('[aria-selected=true]').id").split("-")[1])
    press_until(page, "ArrowRight", "tab-" + name)
    page.press("Enter")


def run(page):
    page.press("Enter", CTRL)
    wait("the script ends", lambda: is_shown(page, "#outcome"))
    wait_ready(page)


def enter(page, line):
    page.type(line)
    page.press("Enter")
    wait("the prompt takes a line",
         lambda: page.value("document.querySelector('#line').value") == "")
    wait_ready(page)
    page.value("new Promise((done) => setTimeout(done, 60))")


def link_with(page, state):
    page.value("CuttleLink.address(%s).then((made) => { globalThis.made = made; }); 0"
               % json.dumps(state))
    wait("a link is made", lambda: page.value("typeof made === 'string'"))
    link = page.value("made")
    page.value("delete globalThis.made; 0")
    return link


# {====== Tests ======

def test_opening():
    page = opened()
    check("a script stands in the editor", "kernel(" in page.value(EDITOR + ".getValue()"), True)
    check("the version is shown", bool(re.match(r"\d+\.\d+", text(page, "#version"))), True)
    folder = INDEX[:-len("index.html")]
    check("only files of the folder are asked for",
          [url for url in page.requests() if not url.startswith((folder, "blob:"))], [])
    check("nothing complains", page.complaints(), [])
    close(page)


def test_order_of_keys():
    page = opened()
    seen = press_until(page, "Tab", "Script")
    check("Tab goes through the head to the editor", seen,
          ["run", "share", "examples", "tutorial", "keys", "notebook", "theme=system", "Script"])
    page.type("x")
    page.press("Escape")
    page.press("Tab")
    check("after Esc, Tab leaves the editor", focus(page), "divider")
    press_until(page, "Tab", "line")
    page.press("Tab")
    check("Tab leaves an empty prompt", focus(page) != "line", True)
    page.press("Tab", SHIFT)
    page.type("zip")
    page.press("Escape")
    page.press("Tab")
    check("after Esc, Tab leaves the prompt", focus(page) != "line", True)
    close(page)


def test_run():
    page = opened()
    write_script(page, SCRIPT)
    run(page)
    check("the output is the program's", text(page, "#output"), native(SCRIPT)[0])
    broken = "print(1)\nlocal x = nosuchname(3)\n"
    write_script(page, broken)
    run(page)
    check("an error is the program's", text(page, "#output"), "".join(native(broken)))
    check("the error's line is marked",
          page.value("document.querySelector('.mark.error').getAttribute('aria-label')"),
          "Error in line 2")
    check("and says what is wrong", "nosuchname" in text(page, ".message.error"), True)
    close(page)


def test_completion_and_help():
    page = opened()
    write_script(page, "print(zipped_div")
    page.press("End", CTRL)
    page.press("Tab")
    wait("completion", lambda: page.value(EDITOR + ".getValue()").startswith("print(zipped_divide"))
    check("Tab completes in the editor", page.value(EDITOR + ".getValue()"), "print(zipped_divide")
    page.press("F1")
    wait("help", lambda: is_shown(page, "#help"))
    check("F1 shows help", "zipped_divide(" in text(page, "#help-text"), True)
    check("and a screen reader gets it", "zipped_divide(" in text(page, "#spoken"), True)
    page.press("Escape")
    check("Esc closes it, and the focus stays", [is_shown(page, "#help"), focus(page)],
          [False, "Script"])
    wait("names have their colour", lambda: page.value(
        "document.querySelectorAll('#editor .cm-variable-2').length") > 0)
    page.hover("#editor .cm-variable-2")
    wait("help under the pointer", lambda: is_shown(page, "#help"))
    check("the pointer on a name shows help", "zipped_divide(" in text(page, "#help-text"), True)
    close(page)


def test_prompt():
    page = opened()
    to_prompt(page)
    enter(page, "x = 6 * 7")
    enter(page, "x, size(L\"4:1\")")
    wait("an answer", lambda: "42" in text(page, "#dialogue"))
    check("the prompt keeps variables", "42\t4" in text(page, "#dialogue").replace("      ", "\t"),
          True)
    enter(page, "for i = 1, 2 do")
    check("an input may go on", text(page, "#mark"), ">>")
    enter(page, "print('i is', i)")
    enter(page, "end")
    wait("the loop", lambda: "i is\t2" in text(page, "#dialogue"))
    check("until it is complete", text(page, "#mark"), ">")
    page.press("ArrowUp")
    check("\u2191 recalls the whole input", page.value("document.querySelector('#line').value"),
          "for i = 1, 2 do\nprint('i is', i)\nend")
    for _ in range(3):
        page.press("ArrowUp")
    check("and those before", page.value("document.querySelector('#line').value"),
          "x, size(L\"4:1\")")
    page.press("c", CTRL)
    page.type("logical_div")
    page.press("Tab")
    line = "document.querySelector('#line').value"
    wait("completion", lambda: page.value(line) != "logical_div")
    check("Tab completes in the prompt", page.value(line), "logical_divide")
    close(page)


def test_picture():
    page = opened()
    open_tab(page, "picture")
    press_until(page, "Tab", "expression")
    page.press("a", CTRL)
    page.type("zipped_divide(\"(8,8):(8,1)\", \"(2,4)\")")
    wait("a picture", lambda: TILES in page.value("document.querySelector('#picture').srcdoc"))
    check("the picture's page is in a frame without our origin",
          page.value("document.querySelector('#picture').getAttribute('sandbox')"), "allow-scripts")
    check("its value is the prompt's", text(page, "#picture-text"), TILES)
    page.type(")")
    wait("an error", lambda: text(page, "#picture-text").startswith("No picture:"))
    check("while one types, the former picture stays", is_shown(page, "#picture"), True)
    press_until(page, "Tab", "follow")
    page.press(" ")
    write_script(page, SCRIPT)
    page.press("Home", CTRL)
    page.press("ArrowDown")
    for _ in range(8):
        page.press("ArrowRight")
    wait("a picture of the cursor's name", lambda: text(page, "#picture-text") == TILES)
    check("the picture follows the cursor",
          page.value("document.querySelector('#expression').value"), "tiles")
    close(page)


def test_files():
    page = opened()
    write_script(page, "svg('4:1', 'out.svg')\nio.open('notes.txt', 'w'):write('x'):close()\n")
    run(page)
    wait("the list of files", lambda: "out.svg" in text(page, "#outcome"))
    check("files of the script are listed", text(page, "#outcome").split("Files:")[1],
          "notes.txtout.svg")
    press_until(page, "F6", "tab-output")
    while text_of_focus(page) != "out.svg":
        page.press("Tab")
    page.press("Enter")
    wait("the file", lambda: is_shown(page, "#picture"))
    check("a picture is shown", "<svg" in page.value("document.querySelector('#picture').srcdoc"),
          True)
    close(page)


def text_of_focus(page):
    return page.value("document.activeElement.textContent")


def test_divider():
    page = opened()
    width = "document.querySelector('#results').offsetWidth"
    before = page.value(width)
    press_until(page, "Tab", "divider")
    for _ in range(3):
        page.press("ArrowLeft")
    check("the divider moves by keys", before + 150 < page.value(width), True)
    check("and says where it is",
          page.value("document.querySelector('#divider').getAttribute('aria-valuenow')"), "35")
    close(page)


def test_picture_of_prompt():
    page = opened()
    open_tab(page, "picture")
    to_prompt(page)
    enter(page, "zipped_divide(\"(8,8):(8,1)\", \"(2,4)\")")
    wait("a picture", lambda: text(page, "#picture-text") == TILES)
    enter(page, "for i = 1, 2 do")
    page.press("c", CTRL)
    wait("the input is dropped", lambda: text(page, "#mark") == ">")
    enter(page, "7 * 8")
    wait("an answer", lambda: "56" in text(page, "#dialogue"))
    check("Ctrl+C drops lines that wait for more", text(page, "#mark"), ">")
    close(page)


def cuda_marks(page, where):
    return page.value("[...document.querySelectorAll('%s .linked')].map((mark) => "
                      "mark.parentElement.querySelector('.CodeMirror-line').textContent)" % where)


def test_cuda():
    page = opened()
    write_script(page, SCRIPT)
    open_tab(page, "cuda")
    emitted = "document.querySelector('#cuda .CodeMirror').CodeMirror.getValue()"
    wait("CUDA", lambda: "__global__" in page.value(emitted))
    check("the text is the program's", page.value(emitted) in native("emit", "--sm=90a", SCRIPT)[0],
          True)
    to_editor(page)
    page.press("Home", CTRL)
    for _ in range(3):
        page.press("ArrowDown")
    check("the script's line marks its CUDA", ["* 2" in line for line in cuda_marks(page, "#cuda")],
          [True])
    press_until(page, "F6", "tab-cuda")
    press_until(page, "Tab", "CUDA C of the kernels")
    page.press("Home", CTRL)
    for _ in range(12):
        if "* 2" in "".join(cuda_marks(page, "#cuda")):
            break
        page.press("ArrowDown")
    check("CUDA's line marks the script's", cuda_marks(page, "#editor"),
          ["  A[threadIdx.x] = A[threadIdx.x] * 2"])
    page.press("Enter")
    check("Enter goes there", [focus(page), page.value(EDITOR + ".getCursor().line")],
          ["Script", 3])
    close(page)


def test_reports():
    page = opened()
    write_script(page, SCRIPT)
    for name in ("check", "profile", "trace", "timeline"):
        open_tab(page, name)
        pane = "#pane-" + name
        wait(name, lambda: status(page) == "ready" and (
            text(page, pane + " .log") or is_shown(page, pane + " iframe")))
        page.value("new Promise((done) => setTimeout(done, 60))")
        said = page.value("document.querySelector('%s .err')?.textContent ?? ''" % pane)
        check(name + " reports without an error", said, "")
    last = text(page, "#pane-check .log").strip().split("\n")[-1]
    check("check's last line is the program's", last,
          native("check", SCRIPT)[0].strip().split("\n")[-1])
    check("the profile is a page", "<table" in page.value(
        "document.querySelector('#pane-profile iframe').srcdoc"), True)
    close(page)


def test_findings():
    page = opened()
    write_script(page, RACE)
    open_tab(page, "check")
    wait("a finding", lambda: is_shown(page, ".message.finding"))
    report = native("check", RACE)[0]
    message = text(page, ".message.finding")
    check("the message is the program's", message in report and message.startswith("race:"), True)
    check("the mark is at its line",
          page.value("document.querySelector('.mark.finding').getAttribute('aria-label')"),
          "Finding in line %d" % RACE_LINE)
    to_editor(page)
    page.press("Home", CTRL)
    page.press("F8")
    check("F8 goes to it", page.value(EDITOR + ".getCursor().line"), RACE_LINE - 1)
    check("and says it", text(page, "#spoken"), message)
    close(page)


def test_link_to_finding():
    page = opened()
    link = link_with(page, {"script": DEEP_RACE, "name": "race.lua", "pane": "check"})
    check("a link is letters of addresses",
          bool(re.fullmatch(r"[\w\-]+", link.split("#s=")[1])), True)
    close(page)
    for width, height in WIDTHS:
        at = opened(url=link, width=width, height=height)
        wait("the finding", lambda: is_shown(at, ".message.finding"))
        wait_ready(at)
        name = "at width %d a link opens on the finding" % width
        check(name, [at.value("document.querySelector('[aria-selected=true]').id"),
                     at.value(EDITOR + ".getCursor().line") + 1,
                     at.value("probe.isInView('.mark.finding', '#editor')"),
                     at.value("probe.isInView('.message.finding', '#editor')"),
                     at.value("probe.isInView('.message.finding')")],
              ["tab-check", 90 + RACE_LINE, True, True, True])
        close(at)


def test_share():
    page = opened()
    script = "-- \u00e4\u2192\U0001f991 </script>\n" + SCRIPT
    write_script(page, script)
    open_tab(page, "picture")
    press_until(page, "Tab", "expression")
    page.press("a", CTRL)
    page.type("(4,8):(8,1)")
    press_until(page, "Tab", "share")
    page.press("Enter")
    wait("the dialog", lambda: is_shown(page, "#address"))
    link = page.value("document.querySelector('#address').value")
    check("the length is said", "%d characters" % len(link) in text(page, "#dialog .body"), True)
    check("the address bar has the link", page.value("location.href"), link)
    page.press("Escape")
    check("Esc closes the dialog, and the focus is back", focus(page), "share")
    other = opened(url=link)
    check("the link opens the script", other.value(EDITOR + ".getValue()"), script)
    wait("the picture", lambda: is_shown(other, "#picture"))
    check("with its pane and expression", [
        other.value("document.querySelector('[aria-selected=true]').id"),
        other.value("document.querySelector('#expression').value")],
          ["tab-picture", "(4,8):(8,1)"])
    close(other)
    odd = opened(url=link_with(page, {"script": "print(1)", "name": "--json", "pane": "nowhere"}))
    check("names and panes that are none are not taken", [
        text(odd, "#script-name"), is_shown(odd, "#pane-output")], ["script.lua", True])
    close(odd)
    bad = open_page(browser, INDEX + "#s=abc")
    wait("a message", lambda: is_shown(bad, "#notice"))
    check("a damaged link says so", text(bad, "#notice").startswith("The link is damaged"), True)
    check("and the page is there", "kernel(" in bad.value(EDITOR + ".getValue()"), True)
    close(bad, page)


def test_endless_loop():
    page = opened()
    to_prompt(page)
    enter(page, "x = 1")
    write_script(page, "print('begun')\nwhile true do end\n")
    page.press("Enter", CTRL)
    wait("the loop runs", lambda: "begun" in text(page, "#output"))
    check("the status says that it runs", [status(page), text(page, "#status-text")],
          ["busy", "Running"])
    wait("the time", lambda: text(page, "#status-time").endswith(" s"))
    page.press(".", CTRL)
    wait_ready(page)
    check("the reason is said", text(page, "#status-text").startswith("Stopped by you"), True)
    check("the prompt says what is lost", "variables of the prompt are gone" in
          text(page, "#dialogue"), True)
    write_script(page, "while true do print('again and again') end\n")
    page.value("playground.main.engine.seconds = 2; 0")
    page.press("Enter", CTRL)
    wait("the limit", lambda: "the limit" in text(page, "#status-text"))
    wait_ready(page)
    check("what an endless loop prints does not fill the page",
          page.value("document.querySelector('#output').textContent.length") < 1000000, True)
    write_script(page, SCRIPT)
    run(page)
    check("the page lives on", text(page, "#output"), native(SCRIPT)[0])
    close(page)


def test_menus():
    page = opened()
    press_until(page, "Tab", "examples")
    page.press("Enter")
    wait("the dialog", lambda: is_shown(page, ".programs"))
    n_shown = "document.querySelectorAll('.programs button').length"
    n_all = page.value(n_shown)
    check("all examples are there", n_all, page.value("CUTTLE_EXAMPLES.length"))
    page.type("saxpy.lua")
    check("typing filters them", page.value(n_shown) < n_all, True)
    page.press("Tab")
    page.press("Enter")
    check("Enter loads one", text(page, "#script-name"), page.value(
        "CUTTLE_EXAMPLES.find(({name}) => name.endsWith('saxpy.lua')).name"))
    page.press("z", CTRL)
    check("Ctrl+Z brings the former script back", "reverse" in page.value(EDITOR + ".getValue()"),
          True)
    page.press("Escape")
    press_until(page, "Tab", "tutorial", SHIFT)
    page.press("Enter")
    wait("the dialog", lambda: is_shown(page, ".programs"))
    check("the tutorial has its ten programs", page.value(n_shown) >= 10, True)
    close(page)


def test_theme():
    page = opened()
    press_until(page, "Tab", "theme=system")
    page.press("ArrowRight")
    page.press("ArrowRight")
    root = "document.documentElement.dataset.theme"
    check("the theme changes by keys", page.value(root), "dark")
    background = "getComputedStyle(document.body).backgroundColor"
    dark = page.value(background)
    again = opened()
    check("and is kept", [again.value(root), again.value(background)], ["dark", dark])
    press_until(again, "Tab", "theme=dark")
    again.press("ArrowRight")
    check("the system's is one of them", again.value(root), None)
    close(again, page)


def fill(page):
    """A page that shows as much as it can: marks, messages, output, a dialogue."""
    write_script(page, RACE + "-- comment\nlocal text, n = 'text', 42\nprint(n .. nosuchname)\n")
    run(page)
    to_prompt(page)
    enter(page, "(4,8):(8,1)")
    enter(page, "nosuchname()")
    page.type("zipped_")
    page.press("Tab")
    wait("candidates", lambda: is_shown(page, "#candidates"))
    page.press("c", CTRL)


def check_look(page, what):
    found = page.value("probe.faintTexts(%g)" % web_page.CONTRAST)
    check("contrast of %s" % what, found["faint"], [])
    if found["count"] < 30:
        check("texts were looked at", found["count"], "30 or more")
    check("nothing sticks out to the side: %s" % what, page.value("probe.scrollsSideways()"), False)


def test_looks():
    for theme in ("light", "dark"):
        for width, height in WIDTHS:
            page = opened(theme=theme, width=width, height=height)
            fill(page)
            for name in PANES:
                open_tab(page, name)
                wait_ready(page)
                check_look(page, "%s, %s, width %d" % (name, theme, width))
            close(page)


def test_focus():
    page = opened()
    faint = []
    seen = set()
    for _ in range(40):
        page.press("Tab")
        at = focus(page)
        if at == "Script":
            page.press("Escape")
        if at != "BODY" and page.value("probe.focusContrast()") < web_page.FOCUS_CONTRAST:
            faint.append(at)
        seen.add(at)
    check("the focus shows everywhere", faint, [])
    check("it went round the page", {"run", "Script", "tab-output", "line", "reset"} <= seen, True)
    close(page)


def test_calm():
    page = browser.open("data:text/html,")
    page.emulate(prefers_reduced_motion="reduce")
    page.call("Page.navigate", url=INDEX)
    wait("the page", lambda: page.value("typeof playground") != "undefined")
    to_editor(page)
    check("nothing moves for those who want it so", page.value(
        "document.getAnimations().length + %s.getOption('cursorBlinkRate')" % EDITOR), 0)
    close(page)


def test_names():
    page = opened()
    fill(page)
    for name in PANES:
        open_tab(page, name)
        wait_ready(page)
        bad, n_named = web_page.nameless(page)
        check("all that one acts on has a name: " + name, bad, [])
        check("and there is much: " + name, n_named > 15, True)
    for dialog in ("examples", "tutorial", "keys", "share"):
        press_until(page, "Tab", dialog)
        page.press("Enter")
        wait("the dialog", lambda: is_shown(page, "#dialog"))
        check("all has a name: " + dialog, web_page.nameless(page)[0], [])
        check_look(page, dialog)
        page.press("Escape")
    close(page)


def test_lacking():
    page = browser.open(INDEX)
    page.call("Page.addScriptToEvaluateOnNewDocument",
              source="delete globalThis.DecompressionStream;")
    page.call("Page.navigate", url=INDEX)
    wait("the notice", lambda: is_shown(page, "#notice"))
    check("a browser that lacks something is told", "lacks DecompressionStream" in
          text(page, "#notice"), True)
    check("and the script can be read", "kernel(" in page.value(EDITOR + ".getValue()"), True)
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copytree(PLAYGROUND, os.path.join(folder, "page"))
        os.remove(os.path.join(copy, "engine.js"))
        bare = browser.open(pathlib.Path(copy, "index.html").as_uri())
        check("a folder without its engine says so", "engine" in text(bare, "#notice"), True)
        close(bare)
    close(page)


TESTS = [
    test_opening, test_order_of_keys, test_run, test_completion_and_help, test_prompt, test_picture,
    test_picture_of_prompt, test_files, test_divider,
    test_cuda, test_reports, test_findings, test_link_to_finding, test_share, test_endless_loop,
    test_menus, test_theme, test_focus, test_calm, test_names, test_lacking, test_looks,
]

wanted = sys.argv[4:]
try:
    web_page.run_tests([t for t in TESTS if not wanted or t.__name__ in wanted])
finally:
    browser.close()
