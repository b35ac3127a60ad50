"""The interpreter that layouts and operators run in: one of the process, opened at first use."""

from __future__ import annotations

import threading
from typing import Any, Dict, Optional, Tuple

from ._cuttle import State

_lock = threading.Lock()
_state: Optional[State] = None


def state() -> State:
    global _state
    with _lock:
        if _state is None:
            _state = State("cuttle")
    return _state


def call(name: str, *args: Any, options: Optional[Dict[str, Any]] = None) -> Any:
    """The first result of a function of the language."""
    results = state().call(name, args, options)
    return results[0] if results else None


def typed(value: Any) -> Tuple[str, str]:
    """Type and text of a result that is no number, text or boolean."""
    if not isinstance(value, tuple):
        return type(value).__name__, str(value)
    return value
