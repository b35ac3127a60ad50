"""Scans, sorts and choices, for tensors of any library: cuttle.selections.scan(x, "add", exclusive=True).

Each is the operator of the same name of the language's module cuttle.selections, with the same arguments and options;
functions of the language cannot be passed. Results are tensors of the first tensor's library. `out`, a tensor or a
list, takes their place.
"""

from .library import operators_of

__dir__, __getattr__ = operators_of("selections")
