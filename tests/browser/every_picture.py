"""every_picture.py: one page of each kind of picture, and what one does on any of them: point at
cells, walk by keys, choose texts, colours and marks, isolate, zoom. What each page shows of its own
is tested in test_pages.py; here nothing may throw, and each step must have an effect."""

import json

from devtools import SHIFT

MMA = 'tiled_mma("SM80_16x8x16_F32F16F16F32_TN", {2, 2})'
COPY = 'tiled_copy(atom("UniversalCopy<u64>", f16), "(4,2):(2,1)", "(1,4)")'
LDSM = 'tiled_copy_%s(atom("%s", f16), ' + MMA + ")"

KINDS = [
    ("a layout", "(4,8):(8,1)"),
    ("a row", "12:3"),
    ("a nested layout", "((2,2),(2,2)):((1,4),(2,8))"),
    ("slices of a layout", "(2,2,3):(2,1,4)"),
    ("a named layout", "(M=2,K=3):(3,1)"),
    ("a layout with basis strides", "(2,3):(1@0,1@1)"),
    ("a swizzled layout", "Sw<2,0,3> o 0 o (8,8):(8,1)"),
    ("a swizzled layout with an offset", "Sw<2,0,3> o 4 o (8,8):(8,1)"),
    ("a swizzle", "swizzle(2, 0, 3)"),
    ("a composition", 'composition("(6,2):(8,2)", "(4,3):(3,1)")'),
    ("a composition by a tiler", 'composition("(12,(4,8)):(59,(13,1))", "<3:4,8:2>")'),
    ("a complement", 'complement("4:2", 24)'),
    ("a logical divide", 'logical_divide("(4,2,3):(2,1,8)", "4:2")'),
    ("a zipped divide", 'zipped_divide("(8,8):(8,1)", "(2,4)")'),
    ("a tiled divide", 'tiled_divide("(8,8):(8,1)", "(2,4)")'),
    ("a flat divide", 'flat_divide("(8,8):(8,1)", "(2,4)")'),
    ("a logical product", 'logical_product("(2,2):(4,1)", "6:1")'),
    ("a zipped product", 'zipped_product("(2,2):(4,1)", "6:1")'),
    ("a tiled product", 'tiled_product("(2,2):(4,1)", "6:1")'),
    ("a flat product", 'flat_product("(2,2):(4,1)", "6:1")'),
    ("a blocked product", 'blocked_product("(2,5):(5,1)", "(3,4)")'),
    ("a raked product", 'raked_product("(2,5):(5,1)", "(3,4)")'),
    ("an inverse", 'right_inverse("(4,8):(8,1)")'),
    ("a tile to a shape", 'tile_to_shape("(8,8):(8,1)", {16, 16})'),
    ("a layout for wgmma", 'gmma_layout(bf16, "K", 32)'),
    ("a tensor", "arange(f16, {4, 6})"),
    ("an identity tensor", "identity_tensor{4, 6}"),
    ("a thread-value layout", 'tv_layout("(4,8):(8,1)", "(2,2):(1,2)")'),
    ("an atom of an MMA", 'atom"SM80_16x8x16_F32F16F16F32_TN"'),
    ("an atom of wgmma", 'atom"SM90_64x16x16_F32F16F16_SS"'),
    ("an atom of a copy", 'atom("SM75_U32x4_LDSM_N", f16)'),
    ("a tiled MMA", MMA),
    ("a tiled MMA of threads", 'tiled_mma("UniversalFMA<f32>", {8, 4})'),
    ("a thread's slice of an MMA", MMA + ":get_slice(3)"),
    ("a tiled copy", COPY),
    ("a thread's slice of a copy", COPY + ":get_slice(3)"),
    ("a tiled copy of A", LDSM % ("A", "SM75_U32x4_LDSM_N")),
    ("a tiled copy of B", LDSM % ("B", "SM75_U32x2_LDSM_N")),
    ("a tiled copy of C", LDSM % ("C", "SM90_U32x2_STSM_N")),
]

# Where the pointer goes: the first, a middle and the last cell of each panel.
PLACES = """[...document.querySelectorAll("main section")].flatMap((section, panel) => {
  const n = section.querySelectorAll("td.cell:not(.hole)").length;
  return [...new Set([0, n >> 1, n - 1])].map((at) => [panel, at]);
})"""

MARK = """(() => {
  const section = document.querySelectorAll("main section")[%d];
  section.querySelectorAll("td.cell:not(.hole)")[%d].id = "there";
})()"""


def count(page, selector):
    return page.value("document.querySelectorAll(%s).length" % json.dumps(selector))


def facts(page):
    return page.value("[...document.querySelectorAll('#readout dd')].map((dd) => dd.dataset.fact)")


def hover_all(page):
    """Places where pointing has not the effect that it should have."""
    wrong = []
    for panel, at in page.value(PLACES):
        page.value(MARK % (panel, at))
        page.hover("#there")
        seen = [count(page, "td.here#there"), count(page, "th.crossing"), "crd" in facts(page)]
        if seen != [1, 2, True]:
            wrong.append([panel, at, seen])
        page.value("document.getElementById('there').removeAttribute('id')")
    return wrong


def choices(page, group):
    return page.value("""[...document.querySelectorAll("#%s input")].filter((input) =>
      !input.disabled).map((input) => input.value)""" % group)


def owner_of_here(page):
    """The readout's thread; None where nobody, or everybody, has the cell."""
    text = page.value("""(document.querySelector("#readout dd[data-fact=thread]") || {})
      .textContent || null""")
    return text if text not in ("all", "\u2013") else None


def toggle_marks(page):
    """Marks that do not go and come when they are switched with the pointer on a cell."""
    still = []
    for name in choices(page, "same"):
        counts = []
        for _ in range(2):
            page.click('#same input[value="%s"]' % name)
            page.hover("main section td.cell:not(.hole)")
            counts.append(count(page, "td.same-" + name) > 0)
        has_one = name not in ("thread", "value") or owner_of_here(page)
        if sorted(counts) != [False, bool(has_one)]:
            still.append(name)
    return still


def walk(page):
    """Yields (what, got, wanted) for each kind of step on a page of a picture."""
    yield "pointing shows and marks a cell", hover_all(page), []
    page.value("document.getElementById('theme').focus()")
    for _ in range(count(page, "main section")):
        page.press("Tab")
        for key in ("ArrowRight", "ArrowDown", "End", "PageDown", "Home", "PageUp", "ArrowLeft"):
            page.press(key)
    yield "keys reach the last panel", page.value(
        "[...document.querySelectorAll('main section')].pop().contains(document.activeElement)"), True
    yield "and show its cell", facts(page)[:3], ["panel", "crd", "linear"]
    page.press("Enter")
    yield "Enter isolates", count(page, "td.kept") > 0, True
    page.press("Escape")
    yield "Escape releases", count(page, "td.kept"), 0
    page.click("main section td.cell:not(.hole)")
    page.click("main section:last-of-type td.cell:not(.hole)", SHIFT)
    page.press("Escape")
    for group in ("text", "colour"):
        for name in choices(page, group):
            page.click('#%s input[value="%s"]' % (group, name))
            yield "%s: %s" % (group, name), page.value(
                "document.querySelector('#%s input:checked').value" % group), name
    for key in "123456c":
        page.press(key)
    yield "marks go and come", toggle_marks(page), []
    before = page.value("document.querySelector('#scale').textContent")
    page.press("-")
    after = page.value("document.querySelector('#scale').textContent")
    yield "- makes cells smaller", int(after.split()[0]) < int(before.split()[0]), True
    page.press("+")
    yield "+ larger", page.value("document.querySelector('#scale').textContent"), before


SWEPT = 60 # elements of a page of another kind that the pointer goes to

THINGS = """(() => {
  const all = [...document.querySelectorAll(
    "button, td, th, li, summary, label, .thread, svg rect, svg g, svg path")]
    .filter((e) => { const box = e.getBoundingClientRect(); return box.width > 0 && box.height > 0; });
  const step = Math.max(1, Math.ceil(all.length / %d));
  const kept = all.filter((_, i) => i %% step === 0);
  kept.forEach((e, i) => e.setAttribute("data-swept", i));
  return kept.length;
})()"""


def sweep(page):
    """Points at things all over a page and walks it by keys; how many things there were."""
    n = page.value(THINGS % SWEPT)
    for i in range(n):
        page.hover('[data-swept="%d"]' % i)
    for key in ["Tab", "ArrowDown", "ArrowRight", "Enter", "ArrowUp", "ArrowLeft", "Home", "End",
                "Escape"] * 8:
        page.press(key)
    return n
