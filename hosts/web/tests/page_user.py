"""page_user.py: what a user of the playground does, by keys, and the scripts that tests write.
Programs that import it are run as
    python3 test_NAME.py PLAYGROUND CUTTLE CHROMIUM [TEST...]
PLAYGROUND is the built folder; CUTTLE the native program, whose output is what pages must show."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import web_page
from web_page import CTRL, Browser, is_shown, let_run, open_page, press_until, wait

PLAYGROUND, CUTTLE, CHROMIUM = [os.path.abspath(path) for path in sys.argv[1:3]] + sys.argv[3:4]
INDEX = pathlib.Path(PLAYGROUND, "index.html").as_uri()
MAIN = "playground.main.engine"
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
PANES = ["output", "picture", "cuda", "check", "profile", "trace", "timeline", "compare"]

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


def opened(**options):
    page = open_page(browser, options.pop("url", INDEX), **options)
    let_run(page, MAIN)
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


def link_with(page, state):
    page.value("CuttleLink.address(%s).then((made) => { globalThis.made = made; }); 0"
               % json.dumps(state))
    wait("a link is made", lambda: page.value("typeof made === 'string'"))
    link = page.value("made")
    page.value("delete globalThis.made; 0")
    return link


def run_wanted(tests):
    """Those that the command line names, or all."""
    wanted = sys.argv[4:]
    try:
        web_page.run_tests([t for t in tests if not wanted or t.__name__ in wanted], opened, close)
    finally:
        browser.close()
