"""How many threads NumPy's matrix products use.

Our own threads each need products that stay in one thread: OpenBLAS's threads wait by spinning, and with several callers
they cost many times the work itself. The command line asks for one thread before NumPy is loaded; a program that calls
us as a library may not have.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock

_lock = Lock()
_inside = 0
_before = 1


@contextmanager
def one_thread_each() -> Iterator[int]:
    """While it lasts, a product stays in the thread that asks for it. Gives how many threads may then ask at once.

    That is one where the library behind NumPy has no such setting and spreads each product over the cores itself.
    """
    global _inside, _before
    found = _openblas()
    if found is None:
        yield 1
        return
    get, put = found
    with _lock:
        if _inside == 0:
            _before = get()
            put(1)
        _inside += 1
    try:
        yield cores()
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                put(_before)


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _openblas() -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """OpenBLAS's own functions to read and set the number of threads, under the names of NumPy's builds and of others."""
    try:
        library = ctypes.CDLL(str(sys.modules["numpy._core._multiarray_umath"].__file__))
    except (KeyError, OSError):
        return None
    for name in (
        "scipy_openblas_{}_num_threads64_",
        "scipy_openblas_{}_num_threads",
        "openblas_{}_num_threads64_",
        "openblas_{}_num_threads",
    ):
        if hasattr(library, name.format("get")):
            return getattr(library, name.format("get")), getattr(library, name.format("set"))
    return None
