"""test_looks.py: contrast, names, focus and widths of the playground, in TAP. page_user.py says how
it is run."""

import web_page
from page_user import (
    INDEX, EDITOR, RACE, WIDTHS, PANES, browser, opened, close, wait_ready, to_editor,
    to_prompt, write_script, open_tab, run, enter, run_wanted)
from web_page import (
    CTRL, check, focus, is_shown, press_until, text, wait)


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
    page = opened()
    fill(page)
    for theme in ("light", "dark"):
        page.emulate(prefers_color_scheme=theme)
        for width, height in WIDTHS:
            page.resize(width, height)
            page.settle()
            for name in PANES:
                open_tab(page, name)
                wait_ready(page)
                check_look(page, "%s, %s, width %d" % (name, theme, width))
    close(page)


def test_focus():
    page = opened()
    open_tab(page, "output")  # a picture shows the focus in its own page
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


# What can be scrolled, and no key reaches; and landmarks of one kind that have the same name.
UNREACHED = """[...document.querySelectorAll('body *')].filter((element) => {
  const style = getComputedStyle(element);
  const scrolls = (way, size) => /auto|scroll/.test(style['overflow' + way]) &&
    element['scroll' + size] > element['client' + size] + 14;
  return element.checkVisibility() && element.textContent.trim() && (scrolls('X', 'Width') || scrolls('Y', 'Height')) &&
    element.tabIndex < 0 && ![...element.querySelectorAll('*')].some(({tabIndex}) => tabIndex >= 0);
}).map(({id, className}) => `${id} ${className}`)"""
TWINS = "document.querySelectorAll('header:not(section *, article *, main *)').length"


def test_reach():
    """What axe found: scrollable-region-focusable, landmark-no-duplicate-banner."""
    page = opened(width=400, height=800)
    for name in PANES:
        open_tab(page, name)
        wait_ready(page)
        page.value("document.activeElement.blur()")
        check("keys reach all that scrolls: " + name, page.value(UNREACHED), [])
    press_until(page, "Tab", "keys")
    page.press("Enter")
    wait("the dialog", lambda: is_shown(page, "#dialog"))
    check("keys reach all that scrolls: a dialog", page.value(UNREACHED), [])
    check("a page has one banner, with a dialog, too", page.value(TWINS), 1)
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


run_wanted([test_focus, test_reach, test_calm, test_names, test_looks])
