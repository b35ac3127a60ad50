"""The parameters of a kernel as Python shows them, and stubs (.pyi) of a script's kernels.

    python -m cuttle.signature script.lua > script.pyi
"""

from __future__ import annotations

import inspect
import os
import re
import sys
from typing import Any, List, Sequence


def signature(names: Sequence[str]) -> inspect.Signature:
    """Of a kernel with parameters of these names; "..." stands for any number of further ones."""
    kinds = inspect.Parameter
    return inspect.Signature([
        kinds("args", kinds.VAR_POSITIONAL) if name == "..." else kinds(name, kinds.POSITIONAL_OR_KEYWORD)
        for name in names])


def _typed(kernel: Any) -> str:
    items = ["self"] + [str(p) + ": Any" for p in kernel.__signature__.parameters.values()]
    return ", ".join(items)


def stub(module: Any) -> str:
    """The text of a .pyi file: a class `Script` that has the module's kernels with their parameters."""
    lines: List[str] = ["from typing import Any", "from cuttle import Kernel, Launch, Module", ""]
    kernels = [name for name in module.kernel_names() if name.isidentifier()]
    for name in kernels:
        lines += [f"class {name}_launch(Launch):",
                  f"    def __call__({_typed(module.kernel(name))}) -> None: ...", "",
                  f"class {name}_kernel(Kernel):",
                  f"    def __getitem__(self, key: Any) -> {name}_launch: ...",
                  f"    def config(self, *args: Any, **options: Any) -> {name}_launch: ...", ""]
    lines += ["class Script(Module):"] + [f"    {name}: {name}_kernel" for name in kernels]
    lines += [] if kernels else ["    ..."]
    return "\n".join(lines) + "\n"


def main(paths: Sequence[str]) -> None:
    if len(paths) != 1:
        sys.exit("usage: python -m cuttle.signature script.lua > script.pyi")
    from . import load

    with load(paths[0], device="cpu") as module:
        sys.stdout.write(f"# Kernels of {re.sub('[^ -~]', '?', os.path.basename(paths[0]))}\n" + stub(module))


if __name__ == "__main__":
    main(sys.argv[1:])
