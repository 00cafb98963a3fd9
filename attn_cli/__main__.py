"""Where the process starts: `attn` and `python -m attn_cli`."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def run() -> NoReturn:
    # NumPy reads these once, when it is imported; on small matrices a second BLAS thread only burns time.
    for name in THREADS:
        os.environ.setdefault(name, "1")
    try:
        from attn_cli.cli import main

        code = main(sys.argv[1:])
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


if __name__ == "__main__":
    run()
