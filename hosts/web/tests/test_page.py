"""test_page.py: the playground driven by keyboard alone: panes, prompt, links, limits, menus, in
TAP. page_user.py says how it is run."""

import functools
import hashlib
import http.server
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time

from page_user import (
    PLAYGROUND, CUTTLE, INDEX, EDITOR, MAIN, RACE, RACE_LINE, DEEP_RACE, SCRIPT, TILES, WIDTHS, browser,
    native, opened, close, status, wait_ready, to_editor, to_prompt, write_script, open_tab,
    run, enter, link_with, run_wanted)
from web_page import (
    CTRL, SHIFT, ROOT, check, focus, is_shown, let_run, open_page, press_until, text, wait)


def test_opening():
    page = opened()
    check("a script stands in the editor", "kernel(" in page.value(EDITOR + ".getValue()"), True)
    check("the version is shown", bool(re.match(r"\d+\.\d+", text(page, "#version"))), True)
    folder = INDEX[:-len("index.html")]
    check("only files of the folder are asked for",
          [url for url in page.requests() if not url.startswith((folder, "blob:"))], [])
    check("nothing complains", page.complaints(), [])
    close(page)


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def test_server():
    handler = functools.partial(QuietHandler, directory=PLAYGROUND)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        place = "http://127.0.0.1:%d/" % server.server_port
        page = opened(url=place)
        write_script(page, SCRIPT)
        run(page)
        check("a static server gives the same page", text(page, "#output"), native(SCRIPT)[0])
        check("which asks nobody else", [url for url in page.requests() if not url.startswith(
            (place, "blob:" + place))], [])
        check("and nothing complains", page.complaints(), [])
        close(page)
        server.shutdown()


def test_order_of_keys():
    page = opened()
    seen = press_until(page, "Tab", "Script")
    check("Tab goes through the head to the editor", seen,
          ["run", "share", "examples", "tutorial", "keys", "notebook", "theme=system", "Script"])
    page.type("x")
    page.press("Escape")
    page.press("Tab")
    check("after Esc, Tab leaves the editor", focus(page), "divider")
    page.press("Tab", SHIFT)
    check("and comes back", focus(page), "Script")
    page.press("Escape")
    page.press("Tab")
    press_until(page, "Tab", "line")
    page.press("Tab")
    check("Tab leaves an empty prompt", focus(page) != "line", True)
    page.press("Tab", SHIFT)
    page.type("zip")
    page.press("Escape")
    page.press("Tab")
    check("after Esc, Tab leaves the prompt", focus(page) != "line", True)
    close(page)


def test_run(page):
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


def test_completion_and_help(page):
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
    page.press("Escape")
    page.hover("#run")


def test_prompt(page):
    to_prompt(page)
    enter(page, "x = 6 * 7")
    enter(page, "x, size(L\"4:1\")")
    wait("an answer", lambda: "42" in text(page, "#dialogue"))
    check("the prompt keeps variables", "42\t4" in text(page, "#dialogue").replace("      ", "\t"),
          True)
    enter(page, "for i = 1, 2 do")
    wait("an input that may go on", lambda: text(page, "#mark") == ">>")
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
    page.press("c", CTRL)


def test_picture(page):
    open_tab(page, "picture")
    press_until(page, "Tab", "expression")
    page.press("a", CTRL)
    page.type("zipped_divide(\"(8,8):(8,1)\", \"(2,4)\")")
    wait("its value, which is the prompt's", lambda: text(page, "#picture-text") == TILES)
    check("a picture", TILES in page.value("document.querySelector('#picture').srcdoc"), True)
    check("the picture's page is in a frame without our origin",
          page.value("document.querySelector('#picture').getAttribute('sandbox')"), "allow-scripts")
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
    page.press("End", CTRL)
    page.press("ArrowUp")
    page.press("End")
    page.press("ArrowLeft")
    wait("a tensor's picture", lambda: text(page, "#picture-text").startswith("tensor f32"))
    page.press("Home", CTRL)
    page.press("ArrowDown")
    for _ in range(8):
        page.press("ArrowRight")
    wait("the first picture again", lambda: text(page, "#picture-text") == TILES)
    for _ in range(2):
        page.press("ArrowDown")
    time.sleep(1)
    check("what has no value there changes nothing", text(page, "#picture-text"), TILES)
    check("the picture follows the cursor",
          page.value("document.querySelector('#expression').value"), "tiles")


def test_files(page):
    write_script(page, "svg('4:1', 'out.svg')\nio.open('notes.txt', 'w'):write('x'):close()\n")
    run(page)
    wait("the list of files", lambda: "out.svg" in text(page, "#outcome"))
    check("files of the script are listed", text(page, "#outcome").split("Files:")[1],
          "notes.txtout.svg")
    press_until(page, "F6", "tab-output")
    while text_of_focus(page) != "out.svg":
        page.press("Tab")
    page.press("Enter")
    wait("the file", lambda: text(page, "#picture-text") == "out.svg")
    check("a picture is shown", "<svg" in page.value("document.querySelector('#picture').srcdoc"),
          True)


# What a page of a script tries, each way with a name of its own: addresses stand for PORT.
WAYS_OUT = """<link rel=preconnect href=http://127.0.0.1:PORT/><link rel=dns-prefetch href=http://127.0.0.1:PORT/>
<link rel=stylesheet href=http://127.0.0.1:PORT/css><img src=http://127.0.0.1:PORT/img>
<meta http-equiv=refresh content='1; url=http://127.0.0.1:PORT/refresh'>
<svg onload="document.title = 'ran'"></svg>
<script>
fetch('http://127.0.0.1:PORT/fetch').catch(() => 0);
try { new WebSocket('ws://127.0.0.1:PORT/socket'); } catch {}
try {
  const turn = {urls: 'turn:127.0.0.1:PORT?transport=tcp', username: 'u', credential: 'c'};
  const c = new RTCPeerConnection({iceServers: [{urls: 'stun:127.0.0.1:UDP'}, turn]});
  c.createDataChannel('x');
  c.createOffer().then((offer) => c.setLocalDescription(offer));
} catch {}
setTimeout(() => { location.href = 'http://127.0.0.1:PORT/navigation'; }, 300);
</script>"""
FOREIGN = """<svg xmlns="http://www.w3.org/2000/svg" xmlns:x="http://www.w3.org/1999/xlink" onload="WAYS">
<!--><img src="http://127.0.0.1:PORT/comment">--><rect width="9" height="9" fill="url(http://127.0.0.1:PORT/f#a)"/>
<image x:href="http://127.0.0.1:PORT/image"/><use href="http://127.0.0.1:PORT/use#a"/><text>drawn</text>
<foreignObject><body xmlns="http://www.w3.org/1999/xhtml"><link rel="preconnect"
href="http://127.0.0.1:PORT/"/></body></foreignObject><style>@import "http://127.0.0.1:PORT/import";</style>
<script href="http://127.0.0.1:PORT/script"/></svg>"""


class Listener:
    """Ports of TCP and UDP that note who comes."""

    def __init__(self):
        self.heard = []
        self.sockets = [socket.socket(socket.AF_INET, kind)
                        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM)]
        for one in self.sockets:
            one.bind(("127.0.0.1", 0))
        self.tcp, self.udp = [one.getsockname()[1] for one in self.sockets]
        self.sockets[0].listen(8)
        threading.Thread(target=self.accept, daemon=True).start()
        threading.Thread(target=self.receive, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection = self.sockets[0].accept()[0]
                connection.settimeout(5)
                self.heard.append(connection.recv(60) or b"a connection")
                connection.close()
            except OSError:
                return

    def receive(self):
        while True:
            try:
                self.heard.append(self.sockets[1].recv(60))
            except OSError:
                return

    def addressed(self, text):
        return text.replace("PORT", str(self.tcp)).replace("UDP", str(self.udp))


def quoted(text):
    return "[==[" + text + "]==]"


def pause(page, milliseconds):
    page.promised("new Promise((done) => setTimeout(done, %d))" % milliseconds)


def test_frames_run_nothing_of_a_script():
    listener = Listener()
    ways = listener.addressed(WAYS_OUT)
    # A page of the product around it, so that its head is right.
    own = "html('4:1'):gsub('<main', function() return %s .. '<main' end)" % quoted(ways)
    bare = quoted("<!DOCTYPE html><html><head></head><body>" + ways.replace("\n", " ") + "</body></html>")
    maker = opened()
    for name, expression in (("a page", bare), ("a page with one of Cuttle's around it", own)):
        page = opened(url=link_with(maker, {"script": "x = 1\n", "name": "script.lua", "pane": "picture",
                                            "expression": expression}))
        wait("the value of " + name, lambda: "not one of Cuttle's" in text(page, "#picture-text"))
        check(name + " of a link is not shown", is_shown(page, "#picture"), False)
        pause(page, 500)
        close(page)
    foreign = listener.addressed(FOREIGN).replace("WAYS", "document.title = 1")
    written = {"a.svg": foreign, "/report.html": "<!DOCTYPE html><body>" + ways}
    write_script(maker, "".join("local f = io.open(%r, 'w') f:write(%s) f:close()\n" % (name, quoted(body))
                                for name, body in written.items()))
    run(maker)
    press_until(maker, "F6", "tab-output")
    while text_of_focus(maker) != "a.svg":
        maker.press("Tab")
    maker.press("Enter")
    wait("the drawing", lambda: text(maker, "#picture-text") == "a.svg")
    shown = maker.value("document.querySelector('#picture').srcdoc")
    check("of a drawing the text is shown", "<text>drawn</text>" in shown, True)
    bad = ("127.0.0.1", "<!-->", "import", "onload", "foreignObject", "<image")
    check("and no address, comment, style or handler", [word for word in bad if word in shown], [])
    for name in ("profile", "timeline"):
        open_tab(maker, name)
        wait(name, lambda: status(maker) == "ready")
        pause(maker, 500)
    check("nobody was asked for anything", listener.heard, [])
    check("and a listener hears what comes", heard_from(listener), True)
    close(maker)


def heard_from(listener):
    with socket.create_connection(("127.0.0.1", listener.tcp)) as one:
        one.send(b"here")
    end = time.monotonic() + 20
    while not listener.heard and time.monotonic() < end:
        time.sleep(0.05)
    return listener.heard == [b"here"]


def text_of_focus(page):
    return page.value("document.activeElement.textContent")


def test_divider(page):
    width = "document.querySelector('#results').offsetWidth"
    before = page.value(width)
    press_until(page, "Tab", "divider")
    for _ in range(3):
        page.press("ArrowLeft")
    check("the divider moves by keys", before + 150 < page.value(width), True)
    check("and says where it is",
          page.value("document.querySelector('#divider').getAttribute('aria-valuenow')"), "35")


def test_picture_of_prompt(page):
    open_tab(page, "picture")
    to_prompt(page)
    enter(page, "zipped_divide(\"(8,8):(8,1)\", \"(2,4)\")")
    wait("a picture", lambda: text(page, "#picture-text") == TILES)
    enter(page, "for i = 1, 2 do")
    wait("a line more", lambda: text(page, "#mark") == ">>")
    page.press("c", CTRL)
    wait("the input is dropped", lambda: text(page, "#mark") == ">")
    enter(page, "7 * 8")
    wait("an answer", lambda: "56" in text(page, "#dialogue"))
    check("Ctrl+C drops lines that wait for more", text(page, "#mark"), ">")


# The cursor is at the bar: what is drawn, best first, and how many lines run before it.
EXPRESSIONS = [
    ("local a = la|yout{4, 8}", ["layout{4, 8}", "layout"], 0),
    ("local a| = layout{4, 8}  -- note", ["layout{4, 8}"], 0),
    ("print(zipped_divide(A|.layout, {4, 2}))", ["A.layout"], 0),
    ("f(1)\nlocal t = zipped|_divide(\n  A, {4, 2})\n",
     ["zipped_divide(\n  A, {4, 2})", "zipped_divide"], 1),
    ("local x <const> = composition(\"(8,|8):(8,1)\", B)",
     ['L("(8,8):(8,1)")', 'composition("(8,8):(8,1)", B)'], 0),
    ("-- a wo|rd", None, 0),
    ("local k = kernel(\"k\", function(A)\n  local g = ti|le(A, {4})\nend)\n",
     ["tile(A, {4})", "tile"], 0),
    ("for i = 1, 3 do\n  print(i)\nend\nprint(x|)\n", ["x"], 3),
    ("local s = A:tile(1)[2]|", ["A:tile(1)[2]"], 0),
]

# Does the expression mean something else without the lines before it?
NEEDS = [
    ("layout{8, n}", "local m, n = 4, 2\n", True), ("layout{8, n}", "m, n = 4, 2", True),
    ("layout{8, n}", "n = 4", True), ("f(8)", "function f(n)\nend", True), ("f(8)", "local f <const> = 1", True),
    ("A[i]", "for _, i in ipairs(t) do", True), ("t.x", "t.x = 1", True),
    ("layout{8, n}", "print(n == 4)", False), ("layout{8, n}", "m = 4", False),
    ("zipped_divide(A, {2})", "local tiles = zipped_divide(B, {2})", False), ("layout{8}", "", False),
]


def test_expressions(page):
    for marked, wanted, n_before in EXPRESSIONS:
        before, after = marked.split("|")
        page.value(EDITOR + ".setValue(%s); 0" % json.dumps(before + after))
        page.value(EDITOR + ".setCursor(%d, %d); 0" % (
            before.count("\n"), len(before.split("\n")[-1])))
        found = page.value("expressionAtCursor(%s)" % EDITOR) or {}
        check("at the cursor: " + json.dumps(marked),
              [found.get("candidates"), found.get("before", "").count("\n")], [wanted, n_before])
    page.value(EDITOR + ".setValue('local a = f(b)'); %s.setSelection({line: 0, ch: 12}, "
               "{line: 0, ch: 13}); 0" % EDITOR)
    check("what is selected comes first",
          page.value("expressionAtCursor(%s).candidates" % EDITOR), ["b"])
    for expression, before, needs in NEEDS:
        check("does %s need %s" % (expression, json.dumps(before)), page.value(
            "needsLines(%s, %s)" % (json.dumps(expression), json.dumps(before))), needs)


def compared(page):
    """The rows that differ: [left, right], as they are read, and the summary."""
    rows = page.value("[...document.querySelectorAll('#versions .differs')].map((row) => "
                      "[...row.cells].map(({textContent}) => textContent).filter((text) => text))")
    return rows, text(page, "#pane-compare .note")


def test_compare():
    page = opened(url=link_with(opened(), {"script": SCRIPT, "name": "script.lua", "pane": "compare"}))
    wait("a comparison", lambda: text(page, "#pane-compare .note") == "No line differs.")
    check("a script is compared with what was opened", text(page, "#versions .gap"), "9 equal lines")
    changed = SCRIPT.replace("* 2", "* 3").replace("print(A)\n", "")
    write_script(page, changed)
    wait("the differences", lambda: text(page, "#pane-compare .note") == "2 lines differ.")
    check("lines that differ stand side by side, with their numbers and signs", compared(page)[0], [
        ["\u2212 4", "  A[threadIdx.x] = A[threadIdx.x] * 2", "+ 4", "  A[threadIdx.x] = A[threadIdx.x] * 3"],
        ["\u2212 8", "print(A)"]])
    press_until(page, "F6", "tab-compare")
    press_until(page, "Tab", "compared")
    page.press("ArrowDown")
    wait("the CUDA C", lambda: text(page, "#pane-compare .note") == "1 line differs.")
    check("so is their CUDA C", ["* 2.0f" in compared(page)[0][0][1], "* 3.0f" in compared(page)[0][0][3]],
          [True, True])
    link = link_with(page, page.value("playground.state()"))
    page.press("ArrowDown")
    page.press("ArrowDown")
    wait("the output", lambda: "differ" in text(page, "#pane-compare .note") and compared(page)[0] and
         "tensor f32" in str(compared(page)[0]))
    press_until(page, "Tab", "keep")
    page.press("Enter")
    wait("nothing to compare", lambda: text(page, "#pane-compare .note") == "No line differs.")
    other = opened(url=link)
    wait("the other page's comparison", lambda: text(other, "#pane-compare .note") == "1 line differs.")
    check("a link carries both versions", [other.value("document.querySelector('#compared').value"),
                                           other.value(EDITOR + ".getValue()")], ["cuda", changed])
    close(other)
    check_compare_again(page)
    close(page)


def check_compare_again(page):
    """By the page's own objects: what is stopped, or asked for while something else is on its way."""
    def note():
        return text(page, "#pane-compare .note")
    page.value("document.querySelector('#compared').value = 'cuda'; playground.compare.keep({name: 'script.lua', "
               "text: 'x = 1'}); " + EDITOR + ".setValue('x = 2'); playground.compare.open(); 0")
    wait("CUDA C of scripts without a kernel", lambda: note() == "No line differs.")
    page.value("document.querySelector('#compared').value = 'script'; playground.compare.open(); 0")
    wait("their texts", lambda: note() == "1 line differs.")
    page.value("for (const kind of ['output', 'script']) { document.querySelector('#compared').value = kind; "
               "playground.compare.open(); }; playground.main.last.then(() => { globalThis.over = true; }); 0")
    wait("the outputs", lambda: page.value("globalThis.over"))
    check("what is chosen last is shown", [note(), compared(page)[0]],
          ["1 line differs.", [["\u2212 1", "x = 1", "+ 1", "x = 2"]]])
    page.value("document.querySelector('#compared').value = 'output'; "
               + EDITOR + ".setValue('print(1) while true do end'); playground.compare.keep({name: 'script.lua', "
               "text: 'while true do end'}); 0")
    wait("it runs", lambda: status(page) == "busy")
    # As often as it takes: the engine may not have the script yet.
    wait("it is stopped", lambda: page.value("playground.stop(); 0") or note() == "Stopped by you.")
    wait_ready(page)
    page.value(EDITOR + ".setValue('print(1)'); playground.compare.keep({name: 'script.lua', text: 'print(2)'}); 0")
    wait("another comparison", lambda: note() == "1 line differs.")
    check("it has the outputs", compared(page)[0], [["\u2212 1", "2", "+ 1", "1"]])
    check("Compare again compares in any case", page.value(
        "document.querySelector('#again').click(); document.querySelector('#pane-compare .note').textContent"),
        "Working")
    wait("once more", lambda: note() == "1 line differs.")


# Where lines are moved, added and taken away: the sides give the texts back, and equal lines are most.
def test_difference(page):
    for before, after, n_same in [
            ("a b c d", "a x y d e", 2), ("a", "a", 1), ("a b", "b a", 1), ("a a a", "a", 1),
            ("x a b c", "a b c y", 3)]:
        rows = page.value("differenceRows(%s, %s)" % tuple(
            json.dumps("\n".join(words.split())) for words in (before, after)))
        sides = [" ".join(row[side][1] for row in rows if row[side]) for side in ("left", "right")]
        check("the difference of %s and %s" % (before, after), [*sides, sum(row["same"] for row in rows)],
              [before, after, n_same])


def cuda_marks(page, where):
    return page.value("[...document.querySelectorAll('%s .linked')].map((mark) => "
                      "mark.parentElement.querySelector('.CodeMirror-line').textContent)" % where)


def test_cuda(page):
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
    page.press("Home", CTRL)
    check_hover(page)
    check_no_links(page)


def hover_line(page, where, part):
    page.value("[...document.querySelectorAll('%s .CodeMirror-line')].find(({textContent}) => "
               "textContent.includes('%s')).id = 'under'; 0" % (where, part))
    page.hover("#under")
    page.value("document.querySelector('#under').id = ''; 0")


def check_hover(page):
    """The cursor is elsewhere; the pointer is on a line."""
    product = "  A[threadIdx.x] = A[threadIdx.x] * 2"
    for here, there in (("#editor", "#cuda"), ("#cuda", "#editor")):
        hover_line(page, here, "* 2")
        check("the pointer on a line of %s marks the other side" % here, [
            "* 2" in "".join(cuda_marks(page, there)), product in cuda_marks(page, "#editor")],
            [True, True])
    page.hover("#run")
    check("and leaves no mark", cuda_marks(page, "#editor") + cuda_marks(page, "#cuda"), [])


def check_no_links(page):
    """Where an error stands in place of the CUDA C."""
    page.value(EDITOR + ".setValue('\\n'.repeat(3) + 'nothing()'); playground.tabs.show('cuda'); 0")
    wait("the error", lambda: "nil value" in text(page, "#cuda .CodeMirror-code"))
    hover_line(page, "#editor", "nothing()")
    check("an error has no lines of the script", cuda_marks(page, "#editor") + cuda_marks(page, "#cuda"), [])


def test_reports(page):
    write_script(page, SCRIPT)
    for name in ("check", "profile", "trace", "timeline"):
        open_tab(page, name)
        pane = "#pane-" + name
        wait(name, lambda: status(page) == "ready" and (
            text(page, pane + " .log") or is_shown(page, pane + " iframe")))
        pause(page, 60)
        said = page.value("document.querySelector('%s .err')?.textContent ?? ''" % pane)
        check(name + " reports without an error", said, "")
    last = text(page, "#pane-check .log").strip().split("\n")[-1]
    check("check's last line is the program's", last,
          native("check", SCRIPT)[0].strip().split("\n")[-1])
    check("the profile is a page", "<table" in page.value(
        "document.querySelector('#pane-profile iframe').srcdoc"), True)
    page.emulate(prefers_color_scheme="dark")
    wait("the profile in another theme", lambda: '<html data-theme="dark"' in page.value(
        "document.querySelector('#pane-profile iframe').srcdoc"))
    to_editor(page)
    page.type("-- more")
    check("a report of an older script says so", text(page, "#pane-timeline .controls .muted"),
          "The script has changed.")
    page.emulate(prefers_color_scheme="light")


def test_findings_before_an_error(page):
    write_script(page, RACE + "error('too late')\n")
    open_tab(page, "check")
    wait("a finding", lambda: is_shown(page, ".message.finding"))
    wait("the error of the script", lambda: "too late" in text(page, "#pane-check .log"))
    check("the finding counts, and the error is shown", "too late" in text(
        page, "#pane-check .log .err"), True)


def test_findings(page):
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
        wait("the message in the editor",
             lambda: at.value("probe.isInView('.message.finding', '#editor')"))
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
    press_until(page, "Tab", "share", SHIFT)  # not through the frame, which is being loaded
    page.press("Enter")
    wait("the dialog", lambda: is_shown(page, "#address"))
    link = page.value("document.querySelector('#address').value")
    check("the length is said", "%d characters" % len(link) in text(page, "#dialog .body"), True)
    check("the address bar has the link", page.value("location.href"), link)
    page.press("Escape")
    check("Esc closes the dialog, and the focus is back", focus(page), "share")
    check("a short link needs no warning", "cut links" in text(page, "#dialog .body"), False)
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
        text(odd, "#script-name"), is_shown(odd, "#outcome")], ["script.lua", False])
    close(odd)
    bad = open_page(browser, INDEX + "#s=abc")
    wait("a message", lambda: is_shown(bad, "#notice"))
    check("a damaged link says so", text(bad, "#notice").startswith("The link is damaged"), True)
    check("and the page is there", "kernel(" in bad.value(EDITOR + ".getValue()"), True)
    close(bad, page)


def test_share_of_a_long_script(page):
    numbers = "".join(hashlib.sha256(bytes([i])).hexdigest() for i in range(250))
    write_script(page, "-- " + numbers + "\n")
    press_until(page, "Tab", "share")
    page.press("Enter")
    wait("the dialog", lambda: is_shown(page, "#address"))
    check("a long link is said to be long", "cut links as long as this one" in text(
        page, "#dialog .body"), True)
    page.press("Escape")


def test_link_of_program():
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "mine.lua"), "w") as file:
            file.write(SCRIPT)
        done = subprocess.run([CUTTLE, "view", "--playground=" + PLAYGROUND, "mine.lua"],
                              cwd=folder, check=True, stdout=subprocess.PIPE,
                              universal_newlines=True)
    page = opened(url=done.stdout.strip())
    check("the program's link opens its script",
          page.value(EDITOR + ".getValue()"), SCRIPT)
    check("and runs nothing", is_shown(page, "#outcome"), False)
    close(page)


def test_endless_loop(page):
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
    let_run(page, MAIN, 2)
    page.press("Enter", CTRL)
    wait("the limit", lambda: "the limit" in text(page, "#status-text"))
    let_run(page, MAIN)
    wait_ready(page)
    check("what an endless loop prints does not fill the page",
          page.value("document.querySelector('#output').textContent.length") < 1000000, True)
    write_script(page, SCRIPT)
    run(page)
    check("the page lives on", text(page, "#output"), native(SCRIPT)[0])


def test_menus():
    page = opened()
    press_until(page, "Tab", "examples")
    page.press("Enter")
    wait("the dialog", lambda: is_shown(page, ".programs"))
    n_shown = "document.querySelectorAll('.programs button').length"
    n_all = page.value(n_shown)
    check("all examples are there", n_all, page.value("CUTTLE_EXAMPLES.length"))
    check_course(page)
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
    page.type("fine")
    check("what steps do not say finds none of them", page.value(n_shown), 0)
    for _ in "fine":
        page.press("Backspace")
    page.press("Tab")
    page.press("Enter")
    check_tutorial(page)
    close(page)


def check_tutorial(page):
    """The first step is open; on to the last one and back by keys."""
    source = (ROOT / "docs/tutorial.md").read_text()
    said = re.search(r"^## 1 A layout\n\n(.+)$", source, re.M).group(1).replace("*", "")
    check("a step stands with its prose beside its script", [
        said in text(page, "#prose"), text(page, "#script-name"), text(page, "#prose-title")],
        [True, "layout.lua", "1 A layout"])
    wait("its picture", lambda: page.value("document.querySelector('#prose img').naturalWidth") > 50)
    press_until(page, "Tab", "step-next")
    for _ in range(7):
        page.press("Enter")
    check("Next goes on", [text(page, "#step-count"), text(page, "#script-name")],
          ["Step 8 of 11", "matmul.lua"])
    check("nothing of the page's marks is left in it", [
        mark for mark in ("**", "](", "```", "&lt;") if mark in text(page, "#prose")], [])
    link = link_with(page, page.value("playground.state()"))
    other = opened(url=link)
    check("a link opens the step", [text(other, "#prose-title"), text(other, "#script-name")],
          ["8 A matrix product", "matmul.lua"])
    close(other)


def check_course(page):
    """Examples are in the course's order, with whole titles as the programs have them."""
    rows = re.findall(r"^(?:## (.+)|\| `(\w+\.lua)` .*)$", (ROOT / "examples/README.md").read_text(), re.M)
    shown = page.value("[...document.querySelectorAll('.body h3, .programs b')].map(({textContent}) => textContent)")
    check("examples are ordered by level, from saxpy on", [level or name for level, name in rows], shown)
    titles = dict(page.value("CUTTLE_EXAMPLES.map(({name, title}) => [name, title])"))
    cut = [name for name, title in titles.items() if not re.search(
        re.escape(title) + r"\.(\s|$)", re.sub(r"\n-- ?", " ", (ROOT / "examples" / name).read_text()))]
    check("titles end where their sentences do", cut, [])
    check("and begin as they do", titles["saxpy.lua"], "y = a * x + y")
    shown = page.value("document.querySelector('.programs').textContent")
    check("nothing of a page's marks is left in them", [mark for mark in ("](", ".md") if mark in shown], [])


# Expressions of the script's locals, and of what it has: a text of the value, and one of the picture.
BLACKWELL = [
    ("mma", "tiled MMA, 1 thread, tile (128,256,16)", "M=128,K=16"),
    ("tmem_layout(f32, {bM // 2, 16})", "((16,4),16):((1,32),128)", "1935"),
    ("tmem_layout(f8ue8m0, {bM, 4})", "((32,4),(4,1)):((4,512),(1,2048))", "1663"),
]


def test_blackwell(page):
    """The product with tensor memory opens from the menu, runs, is checked, and its layouts are drawn."""
    to_prompt(page)
    enter(page, "mine = 6 * 7")
    press_until(page, "Tab", "examples")
    page.press("Enter")
    wait("the dialog", lambda: is_shown(page, ".programs"))
    page.type("blackwell_gemm.lua")
    page.press("Tab")
    page.press("Enter")
    wait("the example", lambda: text(page, "#script-name") == "blackwell_gemm.lua")
    page.value(EDITOR + ".setValue(%s.getValue().replace(/or 512\\)/g, 'or 256)')); 0" % EDITOR)
    script = page.value(EDITOR + ".getValue()")
    check("it is the example, made smaller", script.count("or 256)"), 3)
    run(page)
    check("it runs on the engine of the page", text(page, "#output").split("\n")[0],
          native(script)[0].split("\n")[0])
    check("and is right", "correct" in text(page, "#output"), True)
    open_tab(page, "check")
    wait("its check", lambda: status(page) == "ready" and "check: " in text(page, "#pane-check .log"))
    check("check finds nothing", text(page, "#pane-check .log").strip().split("\n")[-1],
          "check: no finding in 2 launches")
    open_tab(page, "picture")
    for expression, value, cell in BLACKWELL:
        press_until(page, "Tab", "expression")
        page.press("a", CTRL)
        page.type(expression)
        wait("the picture of " + expression, lambda: text(page, "#picture-text") == value)
        check("it is drawn: " + expression,
              cell in page.value("document.querySelector('#picture').srcdoc"), True)
    to_prompt(page)
    enter(page, "mine")
    wait("an answer", lambda: "42" in text(page, "#dialogue"))
    check("a script that ends by os.exit leaves the prompt's variables", "42" in text(page, "#dialogue"), True)


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
        shutil.copy(os.path.join(PLAYGROUND, "engine.js"), copy)
        pathlib.Path(copy, "cuttle.wasm.js").write_text('var CUTTLE_WASM = "H4sI";')
        broken = browser.open(pathlib.Path(copy, "index.html").as_uri())
        wait("the notice", lambda: is_shown(broken, "#notice"))
        check("a broken engine too, and nothing can be run",
              [text(broken, "#status-text"), broken.value("document.querySelector('#run').disabled")],
              ["No engine", True])
        close(broken)
    close(page)


run_wanted([
    # On one page.
    test_run, test_completion_and_help, test_prompt, test_expressions, test_picture, test_picture_of_prompt,
    test_files, test_divider, test_cuda, test_difference, test_reports, test_findings, test_findings_before_an_error,
    test_share_of_a_long_script, test_blackwell, test_endless_loop,
    # Each on pages of its own.
    test_opening, test_server, test_order_of_keys, test_frames_run_nothing_of_a_script, test_compare,
    test_link_to_finding, test_share, test_link_of_program, test_menus, test_theme, test_lacking,
])
