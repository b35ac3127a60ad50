"""Layouts as values; the cell magic."""

import contextlib
import io
import sys
import types

import cuttle
import cuttle.layout as layout
from cuttle import Layout, magic
from tap import done, fails, ok, same


def test_values():
    l = Layout("(4,8):(8,1)")
    same(str(l), "(4,8):(8,1)", "str")
    same(repr(l), "Layout('(4,8):(8,1)')", "repr")
    same(Layout((4, 8), (8, 1)), l, "of shape and stride")
    same(Layout((4, 8)), Layout("(4,8):(1,4)"), "column-major without strides")
    same(hash(Layout(l)), hash(l), "hashes alike")
    ok(l != Layout("(4,8)") and l != "(4,8):(8,1)", "differs from others")
    same((l.shape, l.stride), ((4, 8), (8, 1)), "shape and stride")
    same(Layout("(4,(2,2)):(1,(8,4))").shape, (4, (2, 2)), "of nested modes")
    same(Layout("32:1").shape, 32, "of one mode")
    same((l(1, 2), l(9), len(l), l.size(), l.cosize(), l.rank(), l.depth()), (10, 10, 32, 32, 32, 2, 1),
         "numbers")
    same((str(l[0]), str(l[-1])), ("4:8", "8:1"), "modes")
    fails(IndexError, "mode 2", lambda: l[2], "a mode that it has not")
    same([str(mode) for mode in l], ["4:8", "8:1"], "modes in a loop")
    same(l.idx2crd(5), (0, 5), "coordinates")
    error = fails(cuttle.Error, "expected ')'", lambda: Layout("(4"), "a text that is no layout")
    same(error.file, None, "at no line")


def test_algebra():
    same(str(layout.composition("(20,2):(16,4)", "(4,5):(1,4)")), "(4,5):(16,64)", "composition")
    same(str(Layout("(4,8):(8,1)").logical_divide((2, 4))), "((2,2),(4,2)):((8,16),(1,4))", "logical_divide")
    same(str(Layout("(12,(4,8)):(59,(13,1))").composition((Layout("3:4"), 8))), "(3,(4,2)):(236,(13,1))",
         "with a tuple of tilers")
    same(str(Layout("4:2").complement(24)), "(2,3):(1,8)", "complement")
    same(str(Layout("(2,(1,6)):(1,(6,2))").coalesce()), "12:1", "coalesce")
    same(str(layout.composition(layout.swizzle(2, 3, 3), "(8,8):(8,1)")), "Sw<2,3,3> o 0 o (8,8):(8,1)", "swizzles")
    fails(cuttle.Error, "unevenly", lambda: Layout("(4,8):(8,1)").composition("4:3"), "an error of the algebra")
    for name in layout.__all__[1:]:
        ok(cuttle.default.call("type", name) == "string" and callable(getattr(layout, name)), name)
    with open(layout.__file__ + "i", encoding="utf-8") as file:
        stubs = file.read()
    same([name for name in layout.__all__[1:] if f"\ndef {name}(" not in stubs], [], "all names have a stub")
    missing = [name for name in layout.__all__[1:] if not _is_function(name)]
    same(missing, [], "all names are the language's")


def _is_function(name):
    try:
        cuttle.default.call(name)
    except cuttle.Error as error:
        return "a nil value" not in str(error)
    return True


def test_pictures():
    l = Layout("(4,8):(8,1)")
    ok(l._repr_svg_().startswith("<svg") or "<svg" in l._repr_svg_()[:200], "a picture")
    ok("srcdoc=" in l._repr_html_() and "<iframe" in l._repr_html_(), "a page")
    ok("Thing" in l.svg(title="Thing"), "options of pictures")
    large = Layout("(1024,1024)")
    same((large._repr_svg_(), large._repr_html_()), (None, "<code>(1024,1024):(1,1024)</code>"),
         "a large one is a text")


def run_cell(text):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        pictures = magic.run_cell("", text)
    return out.getvalue(), pictures


def test_magic():
    magic.run_cell("cpu", "n = 5\nlocal hidden = 6")
    same(run_cell("print(n, hidden)"), ("5\tnil\n", []), "globals stay, locals do not")
    same(run_cell("x = n\nx + 1"), ("6\n", []), "the last line's value is shown")
    text, pictures = run_cell('logical_divide("(8,8):(8,1)", "(2,4)")\n\n')
    ok(text == "" and len(pictures) == 1 and "<svg" in pictures[0], "a layout as a picture")
    text, pictures = run_cell("""k = kernel("k", function(A) A[threadIdx.x] = 1 end)
k:prepare{grid = 1, block = 8}(zeros(f32, {8}))""")
    ok(text == "" and len(pictures) == 1 and "<svg" in pictures[0], "a launch as a picture", (text, pictures))
    same(run_cell("print")[1], [], "but no other function")
    same(len(run_cell('show("(4,8)")\nshow("(8,4)", {color = "bank"})')[1]), 2, "show() keeps pictures")
    same(run_cell("for i = 1, 2 do\n  print(i)\nend"), ("1\n2\n", []), "a cell without a value")
    error = fails(cuttle.Error, "attempt to index a nil value", lambda: run_cell("\nlocal y = q.z\n"), "an error")
    ok(error.file.startswith("cell ") and error.line == 2, "has its line", (error.file, error.line))
    fails(cuttle.Error, "unexpected symbol", lambda: run_cell("x = = 1"), "a syntax error")
    shown = []
    display = types.ModuleType("IPython.display")
    display.SVG, display.display = lambda text: ("svg", text), shown.append
    sys.modules["IPython"], sys.modules["IPython.display"] = types.ModuleType("IPython"), display
    registered = {}

    class Shell:
        def register_magic_function(self, function, kind, name):
            registered[name] = (function, kind)

    cuttle.load_ipython_extension(Shell())
    function, kind = registered["cuttle"]
    same(kind, "cell", "%load_ext registers a cell magic")
    function("", 'layout"(2,2)"')
    ok(len(shown) == 1 and shown[0][0] == "svg", "which displays pictures")


test_values()
test_algebra()
test_pictures()
test_magic()
done()
