"""Layouts as values, with the algebra of the language: cuttle.Layout("(4,8):(8,1)").

Each function of the algebra is a method and a function of this module, under its name in the language.
"""

from __future__ import annotations

import html as _html
from typing import Any, Tuple, Union

from .default import call, typed

MAX_DRAWN = 4096  # elements of a layout that is drawn


def _text(x: Any) -> str:
    """A shape or stride, as the language writes it."""
    if isinstance(x, (tuple, list)):
        return "(" + ",".join(_text(item) for item in x) + ")"
    return str(x)


def _tree(text: str) -> Any:
    """ "(4,(2,2))" as (4, (2, 2)): texts of tuples of integers are also Python's, except for one item."""
    import ast

    try:
        return ast.literal_eval(text.replace(")", ",)") if "," not in text else text)
    except (SyntaxError, ValueError):
        return text  # basis strides, named modes: as they are written


def _argument(x: Any) -> Any:
    if isinstance(x, Layout):
        return x._cuttle_text
    if isinstance(x, tuple):
        return tuple(_argument(item) for item in x)
    return x


def _result(value: Any) -> Any:
    if not isinstance(value, tuple):
        return value
    kind, text = typed(value)
    if kind == "tuple":
        return _tree(text)
    return Layout(text) if kind == "layout" else text


class Layout:
    """A layout of CuTe: from coordinates to indices.

    Layout("(4,8):(8,1)"), Layout((4, 8), (8, 1)), or Layout((4, 8)), which is column-major.
    """

    __slots__ = ("_cuttle_text",)

    def __init__(self, shape: Union[str, int, Tuple[Any, ...], "Layout"], stride: Any = None) -> None:
        text = shape._cuttle_text if isinstance(shape, Layout) else _text(shape)
        if stride is not None:
            text += ":" + _text(stride)
        self._cuttle_text: str = typed(call("layout", text))[1]

    @property
    def shape(self) -> Any:
        return _result(call("shape", self._cuttle_text))

    @property
    def stride(self) -> Any:
        return _result(call("stride", self._cuttle_text))

    def __call__(self, *coordinate: Any) -> int:
        """The index at a coordinate: layout(1, 2), or layout(9), a coordinate of the flat shape."""
        at = coordinate[0] if len(coordinate) == 1 else coordinate
        return call("crd2idx", at, self._cuttle_text)

    def __len__(self) -> int:
        return call("size", self._cuttle_text)

    def __getitem__(self, i: int) -> "Layout":
        """Mode i."""
        n = call("rank", self._cuttle_text)
        if not -n <= i < n:
            raise IndexError(f"mode {i} of {self}, which has {n}")
        return _result(call("get_mode", self._cuttle_text, i % n))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and self._cuttle_text == other._cuttle_text

    def __hash__(self) -> int:
        return hash(self._cuttle_text)

    def __str__(self) -> str:
        return self._cuttle_text

    def __repr__(self) -> str:
        return f"Layout({self._cuttle_text!r})"

    def svg(self, **options: Any) -> str:
        """A picture, with the options of the language's svg: color, title, ..."""
        return call("svg", self._cuttle_text, None, options)

    def html(self, **options: Any) -> str:
        """A page that answers to the mouse."""
        return call("html", self._cuttle_text, None, options)

    def explain(self) -> None:
        """Prints modes, contiguity and coverage."""
        call("explain", self._cuttle_text)

    def _is_drawn(self) -> bool:
        return len(self) <= MAX_DRAWN

    def _repr_svg_(self) -> Any:
        return self.svg() if self._is_drawn() else None

    def _repr_html_(self) -> Any:
        if not self._is_drawn():
            return f"<code>{_html.escape(self._cuttle_text)}</code>"
        return (f'<iframe srcdoc="{_html.escape(self.html())}" width="100%" height="480" '
                'style="border:0"></iframe>')


# What the language has, with a layout as the first argument.
_names = ("composition", "coalesce", "flatten", "filter", "filter_zeros", "complement", "right_inverse",
          "left_inverse", "nullspace", "logical_divide", "zipped_divide", "tiled_divide", "flat_divide",
          "logical_product", "zipped_product", "tiled_product", "flat_product", "blocked_product",
          "raked_product", "tile_to_shape", "max_common_vector", "max_common_layout", "upcast",
          "downcast", "recast", "layout_like", "size", "cosize", "rank", "depth", "get_mode", "idx2crd")
# Others.
_makers = ("row_major", "col_major", "ordered", "identity_layout", "concat", "tv_layout", "swizzle", "crd2idx")

__all__ = ["Layout", *_names, *_makers]


def _define(name: str) -> Any:
    def function(*args: Any) -> Any:
        return _result(call(name, *(_argument(x) for x in args)))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{name} of the language; `help({name})` at the prompt of `cuttle` explains it."
    return function


for _name in _names + _makers:
    globals()[_name] = _define(_name)
for _name in _names:
    if _name != "idx2crd":
        setattr(Layout, _name, globals()[_name])


def _idx2crd(self: Layout, index: int) -> Any:
    """The coordinate at an index of the flat shape."""
    return _result(call("idx2crd", index, self._cuttle_text))


Layout.idx2crd = _idx2crd  # type: ignore[attr-defined]
