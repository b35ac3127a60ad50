"""test_arrival.py: what a visitor sees before the first key: a picture, in view at each width, with
its controls folded, in TAP. page_user.py says how it is run."""

import json
import os
import pathlib
import tempfile

from page_user import (
    EDITOR, WIDTHS, browser, opened, close, link_with, open_tab, write_script, run_wanted)
from web_page import check, is_shown, open_page, press_until, text, wait

ENDLESS = "local a = 1\nwhile true do end\n"
WELCOME_TILES = "((2,4),(4,2)):((8,1),(16,4))"
FRAME = "document.querySelector('#picture')"


def opens(page):
    return page.value("document.querySelector('[aria-selected=true]').id")


def framed(page):
    """The page in the frame of the picture, as one of its own of the frame's size; and the frame's top."""
    box = page.value("(({x, y, width, height}) => [x, y, width, height])(%s.getBoundingClientRect())"
                     % FRAME)
    path = os.path.join(tempfile.mkdtemp(), "frame.html")
    pathlib.Path(path).write_text(page.value(FRAME + ".srcdoc"))
    return open_page(browser, pathlib.Path(path).as_uri(), round(box[2]), round(box[3])), box[1]


def test_first_visit():
    for width, height in (WIDTHS[0], WIDTHS[-1]):
        page = opened(width=width, height=height)
        wait("a picture", lambda: is_shown(page, "#picture"))
        check("the first layout is drawn, width %d" % width, [
            opens(page), text(page, "#picture-text")], ["tab-picture", WELCOME_TILES])
        frame, top = framed(page)
        row = frame.value("document.querySelector('td.cell').getBoundingClientRect().top")
        check("its first rows are in view, width %d" % width, top + row + 60 < height, True)
        check("no 400 px of controls above it, width %d" % width, row < 200, True)
        check("its controls are folded, width %d" % width, [
            is_shown(frame, "#colour"), is_shown(frame, ".controls summary")], [False, True])
        if width == 1280:
            check_folds(frame)
            open_tab(page, "trace")
            wait("a trace", lambda: is_shown(page, "#pane-trace iframe"))
            check("the empty field of Trace shows the element that was traced", page.value(
                "document.querySelector('#pane-trace input').placeholder"), "A(0)")
        else:
            check_narrow_order(page)
        frame.close()
        close(page)


def check_folds(frame):
    press_until(frame, "Tab", "SUMMARY")
    frame.press("Enter")
    check("Enter unfolds what stands above", is_shown(frame, "#derived"), True)
    frame.resize(1280, 800)
    wait("the controls", lambda: is_shown(frame, "#colour"))
    check("a wide window unfolds all of it", [
        is_shown(frame, "#derived"), is_shown(frame, ".controls summary")], [True, False])
    frame.resize(1280, 480)
    wait("a low one, such as a cell of a notebook, folds", lambda: is_shown(frame, ".controls summary")
         and not is_shown(frame, "#colour"))


def check_narrow_order(page):
    tops = page.value("['results', 'script'].map((id) => "
                      "document.getElementById(id).getBoundingClientRect().top)")
    check("on a phone the results come first, and the script is in view", [
        tops[0] < tops[1], tops[1] < 760], [True, True])
    seen = press_until(page, "Tab", "Script")
    check("in the order of keys, too", "tab-picture" in seen, True)
    page.resize(1280, 800)
    wait("the order of a wide window", lambda: page.value(
        "document.querySelector('#results').previousElementSibling?.id") == "divider")


def test_links():
    page = opened()
    drawn = opened(url=link_with(page, {"script": "print(1)\nlocal A = layout{4, 8}\n", "name": "a.lua"}))
    wait("a picture", lambda: is_shown(drawn, "#picture"))
    check("a link without a pane opens on its first layout", [
        text(drawn, "#picture-text"), drawn.value("document.querySelector('#expression').value")],
        ["(4,8):(1,4)", "layout{4, 8}"])
    close(drawn)
    plain = opened(url=link_with(page, {"script": "print('x')\n", "name": "a.lua"}))
    wait("the output", lambda: is_shown(plain, "#pane-output"))
    check("a link's script is not run", [
        is_shown(plain, "#outcome"), is_shown(plain, "#output-empty")], [False, True])
    close(plain, page)


def test_two_scripts():
    """A script that is opened while the first picture of another one is looked for."""
    page = opened()
    wait("a picture", lambda: is_shown(page, "#picture"))
    page.value("playground.load('a.lua', '\\n\\n\\nlocal a = math.sqrt(2)\\nlocal b = math.sqrt(3)'); "
               "playground.load('b.lua', 'local A = layout{4, 8}'); 0")
    wait("the second one's picture", lambda: text(page, "#picture-text") == "(4,8):(1,4)")
    page.promised("new Promise((done) => setTimeout(done, 60))")
    check("it stays in view", opens(page), "tab-picture")
    page.value("playground.openScript('a.lua', '\\n\\n\\nlocal a = math.sqrt(2)'); playground.arrive({runs: true}); "
               "playground.apply({script: 'print(1)', pane: 'picture', expression: 'layout{8, 4}'}); 0")
    wait("the picture of a link", lambda: text(page, "#picture-text") == "(8,4):(1,8)")
    check("its script is not run for the one before it", [opens(page), is_shown(page, "#outcome")],
          ["tab-picture", False])
    close(page)


def test_own_script():
    page = opened()
    write_script(page, "print('mine')\n")
    wait("the draft is kept", lambda: "mine" in (page.value("localStorage.getItem('cuttle.script')") or ""))
    again = opened()
    wait("it runs when one comes back", lambda: is_shown(again, "#outcome"))
    check("a script of one's own that draws nothing shows what it prints",
          [opens(again), text(again, "#output")], ["tab-output", "mine\n"])
    close(page, again)


def test_edit_before_the_first_picture():
    """One edits, or types an expression, while the first picture is looked for: the search is over."""
    page = opened()
    wait("a picture", lambda: is_shown(page, "#picture"))
    for what, act in (("a script that is edited", EDITOR + ".replaceRange('-- mine\\n', {line: 0, ch: 0})"),
                      ("a page where an expression is typed", "type('1')")):
        page.value("(() => { const type = (text) => { const field = document.querySelector('#expression'); "
                   "field.value = text; field.dispatchEvent(new Event('input')); }; "
                   "playground.openScript('a.lua', 'local a = math.sqrt(2)'); "
                   "globalThis.arrived = null; "
                   "playground.arrive({runs: true}).then(() => { globalThis.arrived = true; }); %s; })(); 0" % act)
        wait("the end of the search", lambda: page.value("globalThis.arrived"))
        check(what + " is not run", [opens(page), is_shown(page, "#outcome")], ["tab-picture", False])
    close(page)


def test_pictures_that_give_way():
    """Each picture is stopped as soon as something waits: all answers come all the same."""
    page = opened()
    wait("a picture", lambda: is_shown(page, "#picture"))
    link = link_with(page, {"script": ENDLESS, "name": "a.lua", "pane": "picture", "expression": "layout{4, 8}"})
    page.value("playground.side.patience = 0.001; 0")
    wait("the colour of names", lambda: not page.value("playground.side.isBusy"))
    said = page.promised("""(async () => {
      const { side } = playground, said = [];
      const note = (name) => (answer) => said.push([name, answer.ok, answer.text || answer.error || '']);
      const kept = side.ask('picture', { expression: 'layout{4, 8}', text: 'for i = 1, 3e6 do end' }).then(note('kept'));
      await playground.side.line.engine.started;
      let isWanted = true;
      const left = side.ask('picture', { expression: '1', text: 'while true do end' }, () => isWanted).then(note('left'));
      const never = side.ask('picture', { expression: '1', text: 'while true do end' }, () => false).then(note('never'));
      const help = side.ask('help', { name: 'size' }).then(note('help'));
      await help;
      isWanted = false;
      await side.ask('complete', { text: '', at: 0, place: 'script' }).then(note('complete'));
      await Promise.all([kept, left, never]);
      return said.map(([name, ok, text]) => [name, ok, text.split('\\n')[0]]);
    })()""")
    answers = {name: rest for name, *rest in said}
    check("what waits is answered first", [said[1][0], answers["help"][0], answers["complete"][0]],
          ["help", True, True])
    check("a picture that is wanted is drawn after all", answers["kept"], [True, "(4,8):(1,4)"])
    check("one that is not is not begun again", answers["left"], [False, "nobody waits for it"])
    check("or not begun", said[0], ["never", False, "nobody waits for it"])
    check_limit(page)
    other = opened(url=link)
    wait("the picture of a link", lambda: is_shown(other, "#picture"))
    check("a script that never ends has pictures of what needs none of it", text(other, "#picture-text"), "(4,8):(1,4)")
    close(other, page)


def check_limit(page):
    """A picture that was stopped at its limit is asked for again when the pane is opened."""
    slow = "local a = 4 for i = 1, 3e6 do end\n"
    page.value("playground.openScript('a.lua', %s); playground.picture.draws('layout{8, a}'); "
               "playground.side.line.engine.seconds = 0.01; playground.tabs.show('picture'); 0" % json.dumps(slow))
    wait("its limit", lambda: text(page, "#picture-text").startswith("No picture: stopped after 0.01 s"))
    page.value("playground.side.line.engine.seconds = 60; playground.tabs.show('picture'); 0")
    wait("the picture", lambda: text(page, "#picture-text") == "(8,4):(1,8)")
    check("a picture that was stopped is drawn when one asks again", opens(page), "tab-picture")


run_wanted([test_first_visit, test_links, test_two_scripts, test_own_script, test_edit_before_the_first_picture,
            test_pictures_that_give_way])
