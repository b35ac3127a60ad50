"""Cuttle: GPU kernels written in Lua, called from Python.

    k = cuttle.load("saxpy.lua").saxpy
    k[grid, block](2.0, x, y)

x and y are tensors of any library that speaks DLPack (PyTorch, CuPy, NumPy, JAX); nothing is copied. Tensors on
a CUDA device are worked on in their library's current stream, tensors of the host by the CPU engine.
"""

from __future__ import annotations

import os
from typing import Any, List, Optional, Union

from ._cuttle import Error, Kernel, Launch, State as _State, Tensor, Value as _Value, __version__
from ._cuttle import KIND_F64 as _F64, KIND_I64 as _I64, KIND_MEMORY as _MEMORY, KIND_STATIC as _STATIC
from .layout import Layout
from .operators import attention, attention_backward, attention_decode, matmul

__all__ = ["Error", "Kernel", "Launch", "Layout", "Module", "Tensor", "attention", "attention_backward",
           "attention_decode", "f64", "i64", "load", "loads", "matmul", "static", "view_as", "__version__"]


class Function:
    """A function of a script: f(*args, **options) calls it. Options become a table, its last argument.

    Tensors that it returns are cuttle.Tensor: numpy.asarray(t), torch.from_dlpack(t). More than one result are a
    tuple.
    """

    def __init__(self, module: "Module", name: str) -> None:
        self.module, self.__name__ = module, name

    def __call__(self, *args: Any, **options: Any) -> Any:
        results = self.module.call(self.__name__, args, options or None)
        return None if not results else results[0] if len(results) == 1 else tuple(results)

    def __repr__(self) -> str:
        return f"<function {self.__name__} of {self.module!r}>"


class Module(_State):
    """A loaded script: an interpreter of its own. Its kernels and functions are attributes.

    `run(text, name)` runs more text in it, `kernel(name)` finds a kernel, `call(name, args, options)` calls a
    function of the language or of the script, `synchronize()` waits for all launches, `interrupt()` stops the
    call in progress from another thread, `close()` closes it.
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self.kernel(name)
        except Error as error:
            missing = "there is no kernel called "
            if not str(error).startswith(missing) or not self.has_function(name):
                text = str(error).replace(missing, "there is no kernel or function called ", 1)
                raise AttributeError(text) from None
        return Function(self, name)

    def __dir__(self) -> List[str]:
        return sorted({*super().__dir__(), *self.kernel_names()})

    def __enter__(self) -> "Module":
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()


def load(path: Union[str, "os.PathLike[str]"], *, device: Optional[str] = None, memory_limit: int = 0,
         sandbox: bool = False) -> Module:
    """Runs a script and returns it as a module.

    `device` is where tensors that the script makes itself live: "auto", "cpu", "cpu:8", "cuda", "cuda:1".
    `memory_limit` is in bytes of the host, 0 for none. `sandbox` keeps the script from files and processes.
    """
    module = Module(os.fspath(path), device, memory_limit, sandbox)
    module.run_file(path)
    return module


def loads(text: str, *, name: str = "=python", device: Optional[str] = None, memory_limit: int = 0,
          sandbox: bool = False) -> Module:
    """The same for a script's text. `name` is what messages call it: "=saxpy" or "@saxpy.lua"."""
    module = Module(name.lstrip("=@"), device, memory_limit, sandbox)
    module.run(text, name)
    return module


def f64(value: float) -> _Value:
    """A number that a kernel takes as an f64; a plain float is an f32."""
    return _Value(_F64, value)


def i64(value: int) -> _Value:
    """A number that a kernel takes as an i64; a plain int is an i32 if it fits."""
    return _Value(_I64, value)


def static(value: int) -> _Value:
    """A number that is a constant of the kernel: each value compiles a kernel of its own."""
    return _Value(_STATIC, value)


def view_as(tensor: Any, dtype: str) -> _Value:
    """The tensor's memory as another element type of as many bits: view_as(x, "tf32"), view_as(u, "f8e4m3")."""
    return _Value(_MEMORY, tensor, dtype)


def load_ipython_extension(ipython: Any) -> None:
    """%load_ext cuttle: the cell magic %%cuttle."""
    from . import magic

    magic.load_ipython_extension(ipython)


_LATER = ("experts", "packed", "rows", "selections", "torch")  # imported when somebody asks, as torch imports PyTorch


def __getattr__(name: str) -> Any:
    if name in _LATER:
        import importlib

        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module 'cuttle' has no attribute '{name}'")


def __dir__() -> List[str]:
    return sorted({*globals(), *_LATER})
