"""test_programs.py: all examples and all programs of the tutorial in a browser print what the native program
prints, byte for byte, in TAP. BROWSER is Chromium or Firefox.
    python3 test_programs.py PLAYGROUND CUTTLE BROWSER [--whole] [NAME ...]
Times are masked on both sides: a number before a unit of time or rate, with the blanks in front of it; and in a
table with a column of such a unit all numbers with a decimal point, down to the first line without any. What
an autotuner chose by such times is masked, too."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from web_page import any_browser, check, run_tests

PLAYGROUND, CUTTLE, BROWSER = [os.path.abspath(path) for path in sys.argv[1:3]] + sys.argv[3:4]
WANTED = [name for name in sys.argv[4:] if name != "--whole"]
HERE = pathlib.Path(__file__).resolve().parent
SCRIPTS = HERE.parents[2] / "scripts"
SLOW_S = 5  # seconds in the browser that are worth a word

SMALL = """for path, arguments in pairs(dofile "tests/support/small.lua") do print(path, arguments) end"""

# From the step that tunes on, the tile is what was fastest.
CHOSEN = {"sgemm_steps.lua": (r"(?m)^((?: 8| 9|10) .* -  ).*$", r"\1#")}

UNITS = (r"(ms|us|s|[GMTk]?B/s|[GT](FLOP|flop)/s|million pixels per second|billion pairs per second|"
         r"million pairs/s|of the copy)\b")
HEAD = re.compile(r"(^|\s)(ms|[GT]FLOP/s)(\s|$)")

# In examples `bench` calls its function once, as by tests/support/once.lua: the question is what they compute.
# Programs of the tutorial, and all with --whole, run as they are.
ONCE = ("do local _, internal = debug.getupvalue(package.preload['cuttle.show'], 2) "
        "internal.launch.bench_by(internal.launch.bench_once) end ")


def masked(program, text):
    lines, in_table = [], False
    text = re.sub(*CHOSEN.get(program["name"], ("^$", "")), text)
    for line in text.split("\n"):
        line = re.sub(r"\s*\b\d+(\.\d+(?:e[+-]\d+)?|e[+-]\d+) " + UNITS, r" # \2", line)
        numbers = re.search(r"\d(\.|e-)\d", line)
        if in_table and numbers:
            line = re.sub(r"\s*\b\d+(\.\d+(?:e[+-]\d+)?|e[+-]\d+)", " #", line)
        in_table = bool(numbers and in_table or not numbers and HEAD.search(line))
        lines.append(line)
    return "\n".join(lines)


def small_arguments():
    """Of examples, by name: sizes at which they take the same paths."""
    lines = subprocess.run([CUTTLE, "-e", SMALL], cwd=HERE.parents[2], check=True, text=True,
                           stdout=subprocess.PIPE).stdout.splitlines()
    return {words[0].split("/")[1]: words[1:] for words in map(str.split, lines)
            if words[0].startswith("examples/")}


# With --whole all programs run without arguments.
ARGUMENTS = {} if "--whole" in sys.argv else small_arguments()


def arguments_of(program):
    return ARGUMENTS.get(program["name"], [])


def native(program):
    """(standard output, exit code) in a folder of its own, beside what examples take from scripts/,
    and with no earlier results of tune, as a page has none."""
    with tempfile.TemporaryDirectory() as place:
        os.symlink(SCRIPTS, os.path.join(place, "scripts"))
        work = pathlib.Path(place, "examples")
        work.mkdir()
        (work / program["name"]).write_text(program["text"])
        done = subprocess.run(
            [CUTTLE, program["name"], *arguments_of(program)], cwd=work,
            env=dict(os.environ, LC_ALL="C.UTF-8", TERM="dumb", COLUMNS="80", CUTTLE_DEVICE="cpu",
                     CUTTLE_CACHE=os.path.join(place, "cache")),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        return done.stdout.decode() + done.stderr.decode(), done.returncode == 0


def in_browser(page, program):
    begun = time.monotonic()
    result = page.promised("ask('run', %s)" % json.dumps({
        "text": program["text"], "name": program["name"], "args": arguments_of(program)}))
    seconds = time.monotonic() - begun
    if seconds > SLOW_S:
        print("# %s: %.1f s" % (program["name"], seconds))
    return result["out"] + result["err"], result["ok"]


def timed_once(program):
    return dict(program, text=program["text"] if "--whole" in sys.argv else ONCE + program["text"])


def test_programs():
    page.promised("engine.ready")
    examples = [timed_once(program) for program in page.value("CUTTLE_EXAMPLES")]
    programs = page.value("CUTTLE_TUTORIAL") + examples
    if not WANTED:
        paths = {path.name for path in (HERE.parents[2] / "examples").glob("*.lua")}
        check("all examples are there", paths - {program["name"] for program in programs}, set())
    programs = [program for program in programs if not WANTED or program["name"] in WANTED]
    begun = time.monotonic()
    with ThreadPoolExecutor(1) as pool:
        for program, (out, ok) in zip(programs, pool.map(native, programs)):
            got, is_fine = in_browser(page, program)
            check("%s: %s" % (program["name"], program["title"][:60]), [masked(program, got), is_fine],
                  [masked(program, out), ok])
    print("# %d programs in %.1f s" % (len(programs), time.monotonic() - begun))


folder = tempfile.mkdtemp(prefix="cuttle-programs-")
shutil.copytree(PLAYGROUND, os.path.join(folder, "page"))
shutil.copy(HERE / "bare.html", os.path.join(folder, "page"))
browser = any_browser(BROWSER)
try:
    page = browser.open(pathlib.Path(folder, "page", "bare.html").as_uri())
    run_tests([test_programs])
finally:
    browser.close()
    shutil.rmtree(folder, ignore_errors=True)
