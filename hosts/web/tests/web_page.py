"""web_page.py: what the tests of the playground's pages share: a page with probe.js, waiting for
what engines do, keys, and the check of names by the browser's own tree of accessibility."""

import json
import os
import pathlib
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = pathlib.Path(HERE).parents[2]
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "tests", "browser"))

import tap  # noqa: E402
from devtools import CTRL, SHIFT, Browser  # noqa: E402,F401
from tap import check  # noqa: E402,F401

WAIT_S = 300      # machines that run tests are busy: no engine may be stopped sooner
CONTRAST = 4.5        # WCAG 2.1 AA, of text
FOCUS_CONTRAST = 3.0  # of what shows the focus

# Roles that one acts on or goes to; each needs a name.
NAMED_ROLES = {
    "button", "link", "textbox", "searchbox", "combobox", "listbox", "option", "checkbox", "radio",
    "tab", "tabpanel", "tablist", "dialog", "Iframe", "menuitem", "radiogroup", "region", "log",
}


def any_browser(program):
    """Chromium, or, for open, value and promised, Firefox."""
    if "firefox" in os.path.basename(program):
        from bidi import Firefox
        return Firefox(program)
    return Browser(program)


def run_tests(tests, opened=None, close=None):
    """Runs functions; one that raises has failed. Those in a row that take a page get the same one, as the test before
    has left it: to load one costs a second of a processor."""
    page = None
    for test in tests:
        takes_page = test.__code__.co_argcount > 0
        try:
            if takes_page:
                page = page or opened()
                test(page)
            else:
                page = page and close(page)
                test()
        except Exception:
            page = None
            tap.note_failure(test.__name__)
    if page:
        close(page)
    tap.finish()


def wait(what, is_so, seconds=WAIT_S):
    """Waits until is_so() is true; raises after `seconds`."""
    deadline = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > deadline:
            raise RuntimeError("waited %d s for: %s" % (seconds, what))
        time.sleep(0.05)


def let_run(page, engine, seconds=WAIT_S):
    """Gives requests of an engine that many seconds."""
    page.value("if (%s) %s.seconds = %g; 0" % (engine, engine, seconds))


def open_page(browser, url, width=1280, height=800, theme="light"):
    page = browser.open(url, (width, height), prefers_color_scheme=theme)
    with open(os.path.join(HERE, "probe.js")) as file:
        page.value(file.read() + "\nglobalThis.probe = probe; 0")
    return page


def text(page, selector):
    return page.value("document.querySelector(%s).textContent" % json.dumps(selector))


def is_shown(page, selector):
    return page.value("(document.querySelector(%s) || {checkVisibility: () => false})"
                      ".checkVisibility()" % json.dumps(selector))


def focus(page):
    """The id of what has the focus, else its kind and name."""
    return page.value("""(() => {
      const at = document.activeElement;
      return at.id || at.value && at.name && at.name + '=' + at.value ||
        at.getAttribute('aria-label') || at.className || at.tagName;
    })()""")


def press_until(page, key, wanted, modifiers=0, most=60):
    """Presses a key until something has the focus; a list of what had it on the way. Where Tab
    means something else, Esc goes first."""
    seen = []
    while focus(page) != wanted:
        if len(seen) > most:
            raise RuntimeError("%s does not come to %s, but to %s" % (key, wanted, seen))
        if key == "Tab" and focus(page) == "Script":
            page.press("Escape")
        page.press(key, modifiers)
        seen.append(focus(page))
    return seen


def nameless(page):
    """Roles without names, and the number of those with: from the browser's own tree."""
    page.call("Accessibility.enable")
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    bad, n_named = [], 0
    for node in nodes:
        role = node.get("role", {}).get("value")
        if node.get("ignored") or role not in NAMED_ROLES:
            continue
        if node.get("name", {}).get("value", "").strip():
            n_named += 1
        else:
            bad.append((role, node.get("backendDOMNodeId")))
    return bad, n_named
