"""Where the process starts: `attn` and `python -m attn_cli`."""

from __future__ import annotations

import gc
import os
import sys
import warnings
from typing import NoReturn

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def run() -> NoReturn:
    # NumPy reads these once, when it is imported; on small matrices a second BLAS thread only burns time.
    for name in THREADS:
        os.environ.setdefault(name, "1")
    if not os.environ.get("ATTN_DEBUG"):  # what a library has to say to programmers is none of the user's business
        warnings.simplefilter("ignore")
        os.environ["PYTHONWARNINGS"] = "ignore"  # for processes that this one starts
    gc.set_threshold(100_000)  # starting makes many objects and hardly any garbage, so it is not worth looking for it often
    try:
        from attn_cli.cli import main

        code = main(sys.argv[1:])
    except KeyboardInterrupt:
        code = 130
    gc.freeze()  # nor once more at the end, when all memory is given back anyhow
    sys.exit(code)


if __name__ == "__main__":
    run()
