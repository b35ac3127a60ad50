"""test_engine.py: the requests of engine.js in a browser, beside what the native program says, in TAP.
    python3 test_engine.py PLAYGROUND CUTTLE BROWSER
PLAYGROUND is the built folder; bare.html stands in for its pages. BROWSER is Chromium or Firefox."""

import json
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

from web_page import any_browser, check, let_run, run_tests

PLAYGROUND, CUTTLE, BROWSER = [os.path.abspath(path) for path in sys.argv[1:3]] + sys.argv[3:4]
HERE = pathlib.Path(__file__).parent
READY_S = 100  # machines that run tests are busy; the figure is printed
CHECK_S = 300  # likewise
LIMIT_S = 1    # of requests that do not end
ENVIRONMENT = dict(os.environ, CUTTLE_NVRTC="/none", LC_ALL="C.UTF-8", TERM="dumb", COLUMNS="80", CUTTLE_DEVICE="cpu",
                   CUTTLE_LIBEDIT="off")

folder = tempfile.mkdtemp(prefix="cuttle-engine-")
shutil.copytree(PLAYGROUND, os.path.join(folder, "page"))
shutil.copy(HERE / "bare.html", os.path.join(folder, "page"))
browser = any_browser(BROWSER)
page = browser.open(pathlib.Path(folder, "page", "bare.html").as_uri())


def ask(op, engine="engine", **args):
    return page.promised("ask(%s, %s, %s)" % (json.dumps(op), json.dumps(args), engine))


def native(*words, text=None, name="script.lua"):
    """Standard output of the program, in a folder with the script; its standard error."""
    with tempfile.TemporaryDirectory() as place:
        if text is not None:
            pathlib.Path(place, name).write_text(text)
        done = subprocess.run([CUTTLE, *words], cwd=place, env=ENVIRONMENT, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              universal_newlines=True)
        return done.stdout, done.stderr


def native_page(expression):
    with tempfile.TemporaryDirectory() as place:
        path = pathlib.Path(place, "view.html")
        subprocess.run([CUTTLE, "view", "-o", str(path), expression], check=True, env=ENVIRONMENT,
                       stdout=subprocess.DEVNULL)
        return path.read_text()


# {====== Starting, running ======

def test_start():
    page.promised("engine.ready")
    check("the limit of a request, in seconds", page.value("engine.seconds"), 60)
    let_run(page, "engine")
    seconds = page.value("readyAfter") / 1000
    print("# ready after %.2f s" % seconds)
    check("the engine is ready soon", seconds < READY_S, True)
    version = native("--version")[0]
    check("it says its version", page.value("engine.version"),
          re.match(r"Cuttle ([\w.]+),", version).group(1))
    check("it starts once", page.value("states.map(([state]) => state)"), ["starting", "ready"])


FAILING = """print("one", 2)
io.stderr:write("aside\\n")
local x = nil + 1
"""


def test_run():
    result = ask("run", text="print(...) print(arg[0], #arg)", name="a.lua", args=["b", "c"])
    check("a script runs", [result[key] for key in ("ok", "out", "err")],
          [True, "b\tc\na.lua\t2\n", ""])
    out, err = native("a.lua", text=FAILING, name="a.lua")
    result = ask("run", text=FAILING, name="a.lua")
    check("a script that fails says what the program says",
          [result["out"], result["err"], result["ok"], result["line"], result["error"]],
          [out, err, False, 3, err.rstrip("\n")])
    check("os.exit with a code is a failure", ask("run", text="os.exit(3)")["error"], "exit code 3")
    check("os.exit(true) is none", ask("run", text="print(1) os.exit(true)")["ok"], True)
    check("texts of any letters travel", ask("run", text="print('\u00fc\u20ac\U0001f600')")["out"],
          "\u00fc\u20ac\U0001f600\n")
    check("an unknown request is an error", ask("fly")["error"], "there is no request fly")


def test_stream():
    """The first text is here long before the script's end."""
    page.value("""(() => {
      globalThis.begun = performance.now(); globalThis.first = null; heard.length = 0;
      const take = engine.onOutput;
      engine.onOutput = (...a) => { first ??= performance.now() - begun; take(...a); };
    })()""")
    text = "print(1) local t = os.clock() while os.clock() - t < 0.8 do end print(2)"
    result = ask("run", text=text)
    check("output comes while a script runs",
          [result["out"], page.value("first < performance.now() - begun - 500")], ["1\n2\n", True])


def test_files():
    ask("run", text="local f = io.open('x.txt', 'w') f:write('hello') f:close()")
    check("what a script writes is kept", ask("files")["files"], [{"name": "x.txt", "bytes": 5}])
    check("and the next one reads it", ask("run", text="print(io.open('x.txt'):read 'a')")["out"],
          "hello\n")
    check("and the prompt", ask("prompt", line="io.open('x.txt'):read 'a'")["out"], "hello\n")


# {====== The prompt, beside the native one on a terminal ======

SESSION = [
    "1 + 1", "a = 3", "local b <const> = {x = 1, 2}", "b", "a, b.x", "for i = 1, 2 do", "  print(i)", "end",
    "(4,8):(8,1)", "(4,8):(8,", "1 + )", "nil + 1", "(4,8):(8;1)", "Sw<2,0,3>", "ans",
    "function f(x)", "", "return x", "end", "f(7)", "zipped_divide('(8,8):(8,1)', '(2,4)')",
    "help(size)", "sizze", "help'sizze'", "local k = kernel('k', function(x)",
    "  x[threadIdx.x] = 2.0 * x[threadIdx.x]", "end)", "local x = ones(f32, 8)",
    "k{grid = 1, block = 8}(x)", "x", "k{grid = 1, block = 9}(x)", "error('x')", "error()", "{1, {2}}",
    "coroutine.wrap(error)()", "require 'nothing'", "print", "rand", "'<?xml 1'", "x:tile(",
    "{2}, {1})", "goto z", "return 5", "svg(L'4:1')",
]


class Terminal:
    """The native prompt on a terminal without echo."""

    def __init__(self):
        self.process, self.fd = pty.fork()
        if self.process == 0:
            os.execvpe("/bin/sh", ["sh", "-c", "stty -echo -onlcr cols 80 && exec \"$0\"", CUTTLE],
                       ENVIRONMENT)
        self.greeting = self.answer()

    def answer(self):
        """What is printed up to the next prompt, and whether that asks for more."""
        seen = b""
        deadline = time.monotonic() + 300
        while not re.search(rb"(^|\n)>>? $", seen):
            if time.monotonic() > deadline:
                raise RuntimeError("no prompt after %r" % seen)
            if select.select([self.fd], [], [], 1)[0]:
                seen += os.read(self.fd, 1 << 16)
        text, mark = re.match(rb"(?s)(.*?)(>>?) $", seen).groups()
        return text.decode(), mark == b">>"

    def line(self, text):
        os.write(self.fd, text.encode() + b"\n")
        return self.answer()

    def close(self):
        os.close(self.fd)
        os.waitpid(self.process, 0)


def without_addresses(text):
    return re.sub("0x[0-9a-f]+", "0x", text)


def test_prompt():
    terminal = Terminal()
    ask("reset")
    for line in SESSION:
        result = ask("prompt", line=line)
        text, more = terminal.line(line)
        check("prompt: " + line, [without_addresses("".join(result["both"])), result["more"]],
              [without_addresses(text), more])
    terminal.close()
    greeting = page.value("engine.greeting")
    check("the greeting", re.sub(r"\(.*\)", "()", greeting),
          re.sub(r"\(.*\)", "()", terminal.greeting[0].strip()))
    check("reset forgets", [ask("reset")["ok"], ask("prompt", line="a")["out"]], [True, "nil\n-- 'a' has no value\n"])
    check("an input can be dropped", [ask("prompt", line="for i = 1, 2 do")["more"],
                                      ask("cancel")["ok"], ask("prompt", line="1 + 1")["out"]],
          [True, True, "2\n"])
    check("exit begins anew", [ask("prompt", line="a = 1")["ok"], ask("prompt", line="exit")["ok"],
                               ask("prompt", line="a")["out"]], [True, True, "nil\n-- 'a' has no value\n"])
    refused = ask("prompt", line="os.exit(1)")
    check("os.exit at the prompt is an error", [refused["ok"], refused["err"]],
          [False, "input 2:1: os.exit would end the host's process; return from the script, or call "
                  "error to end the host's call\n"])


# {====== Names ======

def names(result):
    return [row["name"] for row in result["names"]]


def test_names():
    ask("prompt", line="local lay = L'(M=4,N=8)'")
    result = ask("complete", text="x = lay:ti", place="prompt")
    check("methods of a value", [names(result), result["from"]],
          [["tile", "tile_to_shape", "tiled_divide", "tiled_product"], 8])
    check("with a summary", result["names"][0]["summary"].startswith("Cuts a tensor into tiles"), True)
    check("names of modes", names(ask("complete", text='size(lay, "', place="prompt")), ["M", "N"])
    script = "local counter = 1\nlocal y = zipp\nprint(cou"
    result = ask("complete", text=script, place="script")
    check("names of the script", [names(result), result["from"]], [["counter"], len(script) - 3])
    at = script.index("\nprint")
    check("in the middle of it", names(ask("complete", text=script, at=at, place="script")),
          ["zipped_divide", "zipped_product"])
    check("scripts do not see the prompt", names(ask("complete", text="lay", place="script")),
          ["layout", "layout_like"])
    check("help says what the program says", ask("help", name="zipped_divide")["text"],
          native("help", "zipped_divide")[0])
    check("and what it says of none", ask("help", name="sizze")["error"] + "\n",
          native("help", "sizze")[1])


# {====== Pictures ======

def test_pictures():
    for expression in ['zipped_divide("(8,8):(8,1)", "(2,4)")', "(4,8):(8,1)",
                       'tiled_mma("SM80_16x8x16_F32F16F16F32_TN")']:
        check("the page of " + expression, ask("picture", expression=expression)["html"] ==
              native_page(expression), True)
    result = ask("picture", expression="both", text="local both = L'(2,2):(2,1)'\nprint(1)")
    check("a picture of what a script's lines made", [result["ok"], result["text"].split("\n")[0]],
          [True, "(2,2):(2,1)"])
    check("lines that fail say where", [ask("picture", expression="b", text="\nerror 'x'")[key]
                                        for key in ("ok", "error", "line")], [False, "script:2: x", 2])
    result = ask("picture", expression="'text'")
    check("a value without a picture has its text", [result["ok"], result["text"], result["html"]],
          [True, "text\n", None])
    ask("prompt", line="local own = L'(2,2):(2,1)'")
    check("of the prompt's own", ask("picture", expression="own", place="prompt")["text"].split("\n")[0],
          "(2,2):(2,1)")
    trace = "trace(kernel('k', function(x) x[0] = 1.0 end){grid=1,block=1}, {x={0}}, zeros(f32,1))"
    check("of a trace", "<title>x(0) - trace</title>" in ask("picture", expression=trace)["html"], True)


# {====== Reports ======

RACE = """local k = kernel("reverse", function(A, n)
  local s = shared(f32, layout(64))
  s[threadIdx.x] = A[threadIdx.x]
  A[threadIdx.x] = s[n - threadIdx.x]
end)
local A = arange(f32, {64})
k{grid = 1, block = 64}(A, 63)
print(matmul(A, A) and 1)
"""
FINE = RACE.replace("  A[thr", "  sync_threads()\n  A[thr").replace("print(", "-- ")


def test_emit():
    result = ask("emit", text=FINE, name="a.lua", sm="80")
    check("emit prints what the program prints", result["text"],
          native("emit", "--sm=80", "a.lua", text=FINE, name="a.lua")[0])
    kernel = result["kernels"][0]
    lines = {FINE.split("\n")[n - 1].strip(): kernel["cuda"].split("\n")[i - 1].strip()
             for i, n in kernel["lines"]}
    check("lines of CUDA C know those of the script",
          [kernel["name"], lines["sync_threads()"].startswith("__syncthreads();"),
           lines["s[threadIdx.x] = A[threadIdx.x]"].startswith("s[tid_x] = A[tid_x];")],
          ["reverse", True, True])
    check("a capability that does not exist", "--sm" in ask("emit", text=FINE, sm="1")["error"], True)


def test_reports():
    for op in ("check", "profile", "timeline"):
        result = ask(op, text=FINE, name="a.lua")
        out, _ = native(op, "a.lua", text=FINE, name="a.lua")
        check(op + " prints what the program prints", without_registers(result["text"]),
              without_registers(out))
        check(op + " has a page" if op != "check" else "nothing is found",
              result.get("html", "").startswith("<!DOCTYPE html>") or result.get("findings"),
              True if op != "check" else [])
    found = ask("check", text=RACE, name="a.lua")
    out, err = native("check", "a.lua", text=RACE, name="a.lua")
    check("check finds what the program finds", [found["text"], found["error"] + "\n"], [out, err])
    check("a finding is data", [(f["line"], f["kind"], f["message"] in out) for f in found["findings"]],
          [(4, "race_shared", True)])


def without_registers(text):
    """What NVRTC would say of registers, where a machine has it."""
    return re.sub(r"(?m)^.*register.*\n", "", text)


def test_trace():
    result = ask("trace", text=FINE, name="a.lua", element="A[5]")
    traced = FINE.replace("k{grid = 1, block = 64}(A, 63)",
                          "print(trace(k{grid = 1, block = 64}, {A = {5}}, A, 63))")
    check("trace of an element", result["text"], native("a.lua", text=traced, name="a.lua")[0])
    check("as a page", "<title>A(5) - trace</title>" in result["html"], True)
    check("of no element, one is chosen", ask("trace", text=FINE, name="a.lua")["text"].split(":")[0],
          "A(0)")
    check("an element of none", "no kernel of a.lua" in
          ask("trace", text=FINE, name="a.lua", element="B[5]")["error"], True)


def test_wgmma():
    """A tile of 128x128x64 by wgmma, filled by TMA, as examples/wgmma_tma_sm90.lua has it."""
    text = page.value("CUTTLE_EXAMPLES.find(({name}) => name === 'wgmma_tma_sm90.lua').text")
    begun = time.monotonic()
    result = ask("check", text=text, name="wgmma_tma_sm90.lua", args=["256", "128", "64", "TN"])
    seconds = time.monotonic() - begun
    print("# a kernel of wgmma, 128x128x64, under check: %.2f s" % seconds)
    check("a kernel of wgmma under check",
          [re.findall("no finding in .*|(?<=: )correct", result["text"]), seconds < CHECK_S],
          [["correct", "no finding in 2 launches"], True])


# {====== Limits ======

def is_alive(name):
    check("after " + name + " the engine works", ask("run", text="print(2)")["out"], "2\n")


def test_limits():
    message = "stopped after %d s, the limit of a request" % LIMIT_S
    spin = ("kernel('k', function(x) while x[0] == 0.0 do x[1] = x[1] + 1.0 end end)"
            "{grid = 1, block = 1}(zeros(f32, 2))")
    for name, text in (("an endless loop", "while true do end"), ("an endless kernel", spin),
                       ("a loop that catches all", "while true do pcall(error) end")):
        let_run(page, "engine", LIMIT_S)
        result = ask("run", text=text)
        let_run(page, "engine")
        check(name + " is stopped", [result["ok"], result["stopped"], result["error"]],
              [False, True, message])
        is_alive(name)
    check("the page is told", page.value("states.filter(([state]) => state === 'stopped').length"), 3)


def test_memory():
    for name, text, error in (
            ("tensors", "local t = {} for i = 1, 1e6 do t[i] = zeros(f32, 1 << 24) end",
             "a.lua:1: zeros: not enough memory for a tensor of 67108864 bytes"),
            ("texts", "local s = 'x' while true do s = s .. s end", "not enough memory")):
        check("too many " + name, ask("run", text=text, name="a.lua")["error"], error)
        is_alive("too many " + name)
    ask("prompt", line="kept = 5")
    result = ask("prompt", line="local t = {} for i = 1, 1e6 do t[i] = zeros(f32, 1 << 24) end")
    check("at the prompt as well", "not enough memory" in result["error"], True)
    check("whose variables stay", ask("prompt", line="kept")["out"], "5\n")
    result = ask("run", text="local function f() return 1 + f() end f()", name="a.lua")
    check("a stack that overflows", result["error"], "a.lua:1: stack overflow")


def test_stop():
    result = page.promised("""(() => {
      const asked = ask("run", {text: "print(1) while true do end"});
      const next = engine.ask("run", {text: "print(3)"});
      setTimeout(() => engine.stop("stopped by hand"), 500);
      return Promise.all([asked, next]);
    })()""")
    check("stop ends what runs", [result[0]["error"], result[0]["stopped"]],
          ["stopped by hand", True])
    check("what waited runs after it", result[1]["ok"], True)
    check("the prompt is a new one", ask("prompt", line="kept")["out"], "nil\n-- 'kept' has no value\n")


TRAP = """(() => {
  const unreachable = [0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 7, 5, 1, 1, 102, 0, 0,
    10, 5, 1, 3, 0, 0, 11];
  const whole = CUTTLE_WORKER;
  CUTTLE_WORKER = whole.replace("instance.callMain(", "trap(args) || instance.callMain(")
    .replace("instance.ccall(", "trap({}) || instance.ccall(")
    + "\\nlet traps = false; function trap(args) { if (args.trap || traps) new WebAssembly.Instance("
    + "new WebAssembly.Module(new Uint8Array(" + JSON.stringify(unreachable) + "))).exports.f(); }"
    + "\\noperations.traps = (args) => { traps = args.on; return {ok: true}; };";
  globalThis.trapping = new CuttleEngine();
  CUTTLE_WORKER = whole;
})()"""


def test_trap():
    """Where the program itself traps: an engine whose worker does so when it is asked to."""
    page.value(TRAP)
    result = ask("run", "trapping", text="print(1)", trap=True)
    check("a trap is a message", [result["ok"], result["error"][:38]],
          [False, "cuttle: the engine stopped: unreachabl"])
    check("and the next run works", ask("run", "trapping", text="print(1)")["ok"], True)
    ask("traps", "trapping", on=True)
    result = ask("prompt", "trapping", line="1")
    check("a trap at the prompt", [result["ok"], "its variables are gone" in result["error"]],
          [False, True])
    ask("traps", "trapping", on=False)
    check("the next input works", ask("prompt", "trapping", line="1")["ok"], True)


BROKEN = """(() => {
  const whole = CUTTLE_WORKER;
  CUTTLE_WORKER = %s;
  globalThis.broken = new CuttleEngine({onState: (...state) => told.push(state)});
  CUTTLE_WORKER = whole;
  return broken.ready.then(() => "ready", (error) => error.message);
})()"""


def test_broken():
    page.value("globalThis.told = []")
    for name, worker, why in (
            ("whose worker fails", "'throw new Error(1)'", "the worker failed: "),
            ("whose program does", "whole.replace('compiled = module', 'compiled = 5')",
             "the engine does not start: ")):
        message = page.promised(BROKEN % worker)
        check("an engine %s says so" % name, message.startswith(why), True)
        check("and answers no request", ask("run", "broken", text="print(1)")["error"], message)
    check("it starts once each", [state[0] for state in page.value("told")],
          ["starting", "stopped"] * 2)


def test_quiet():
    check("no exception, nothing on the console", page.complaints(), [])
    if not hasattr(page, "requests"):
        return
    asked = [os.path.basename(url) for url in page.requests() if not url.startswith("blob:")]
    check("no requests but its own files", sorted(asked),
          ["cuttle.wasm.js", "cuttle.worker.js", "engine.js", "examples.js"])


try:
    run_tests([test_start, test_run, test_stream, test_files, test_prompt, test_names, test_pictures,
               test_emit, test_reports, test_trace, test_wgmma, test_limits, test_memory, test_stop,
               test_trap, test_broken, test_quiet])
finally:
    browser.close()
    shutil.rmtree(folder, ignore_errors=True)
