"""Operators of rows, for tensors of any library: cuttle.rows.rms_norm(x, weight, 1e-6).

Each is the operator of the same name of the language's module cuttle.rows, with the same arguments; numbers are
numbers. Results are tensors of the first tensor's library. `out`, a tensor or a list, takes their place. Options of
the language are keywords: cuttle.rows.linear_cross_entropy(x, weight, target, smoothing=0.1).
"""

from .library import operators_of

__dir__, __getattr__ = operators_of("rows")
