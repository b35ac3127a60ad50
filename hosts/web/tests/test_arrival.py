"""test_arrival.py: what a visitor sees before the first key: a picture, in view at each width, with
its controls folded, in TAP. page_user.py says how it is run."""

import os
import pathlib
import tempfile

from page_user import (
    WIDTHS, browser, opened, close, link_with, open_tab, write_script, run_wanted)
from web_page import check, is_shown, open_page, press_until, text, wait

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


run_wanted([test_first_visit, test_links, test_two_scripts, test_own_script])
