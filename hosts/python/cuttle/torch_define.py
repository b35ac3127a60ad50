"""How operators of PyTorch are defined whose results are new tensors: those of attention and of rows."""

from __future__ import annotations

from typing import Any, Callable, Tuple


def define(name: str, arguments: str, outputs: Callable[..., Tuple[Any, ...]], n_results: int,
           run: Callable[..., Any]) -> Any:
    """The operator cuttle::name, which torch.compile knows. `arguments` are such as "Tensor x, float? scale".

    outputs(*args) -> the n results, empty; it sees shapes and types only, as it runs on fake tensors, too.
    run(made, *args): fills them.
    """
    import torch

    def empty(*args: Any) -> Any:
        made = outputs(*args)
        return made if n_results > 1 else made[0]

    def filled(*args: Any) -> Any:
        made = outputs(*args)
        run(made, *args)
        return made if n_results > 1 else made[0]

    results = f"({', '.join(['Tensor'] * n_results)})" if n_results > 1 else "Tensor"
    op = torch.library.custom_op(f"cuttle::{name}", filled, mutates_args=(), schema=f"({arguments}) -> {results}")
    op.register_fake(empty)
    return op
