"""Choices among the columns of rows, for PyTorch: random ones and the largest; without gradients.

    token = cuttle.torch.sample(logits, top_p=0.9, seed=step)
    values, columns = cuttle.torch.top_k(x, 32)

Each is an operator of the language's module cuttle.selections; torch.compile takes both into its graphs.
"""

from __future__ import annotations

from typing import Any, Tuple

from . import selections
from .torch_define import define


def _columns(x: Any, n: Any) -> Any:
    import torch

    return x.new_empty((*x.shape[:-1], n), dtype=torch.int32)


_OPTIONS = {"temperature": "float", "top_k": "int32", "top_p": "float", "min_p": "float", "seed": "int64"}


def _run_sample(made: Tuple[Any, ...], x: Any, *options: Any) -> None:
    given = {name: value for name, value in zip((*_OPTIONS, *_OPTIONS), options) if value is not None}
    selections.sample(x, out=made[0], **given)


def _run_top_k(made: Tuple[Any, ...], x: Any, k: Any, smallest: Any) -> None:
    selections.top_k(x, k, smallest=smallest, out=list(made))


_sample = define("sample", "Tensor x, float? temperature, SymInt? top_k, float? top_p, float? min_p, SymInt? seed, "
                 "Tensor? temperatures, Tensor? top_ks, Tensor? top_ps, Tensor? min_ps, Tensor? seeds",
                 lambda x, *_: (_columns(x, 1),), 1, _run_sample)
_top_k = define("top_k", "Tensor x, SymInt k, bool smallest",
                lambda x, k, _: (x.new_empty((*x.shape[:-1], k)), _columns(x, k)), 2, _run_top_k)


def sample(x: Any, *, temperature: Any = 1.0, top_k: Any = None, top_p: Any = None, min_p: Any = None,
           seed: Any = 0) -> Any:
    """A random column of each row of logits (..., N), by their softmax, as int32 (...).

    `top_k`, `top_p` and `min_p` say which columns may be drawn. The same seed draws the same columns. Each of these is
    a number, or a tensor with one for each row, on the device of x.
    """
    import torch

    given = (temperature, top_k, top_p, min_p, seed)
    numbers = [None if isinstance(value, torch.Tensor) else value for value in given]
    tensors = [value.to(getattr(torch, dtype)).contiguous() if isinstance(value, torch.Tensor) else None
               for value, dtype in zip(given, _OPTIONS.values())]
    return _sample(x.contiguous(), *numbers, *tensors).squeeze(-1)


def top_k(x: Any, k: int, *, smallest: bool = False) -> Tuple[Any, Any]:
    """The k largest elements of each row of x (..., N), in order, and their columns, int32; k is at most 2048."""
    return _top_k(x.contiguous(), k, smallest)
