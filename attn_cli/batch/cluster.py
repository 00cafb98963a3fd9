"""Work on a Dask cluster, whose workers see the same files under the same names."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from attn_cli.batch.pool import AHEAD, done
from attn_cli.batch.work import Chunk, Job, Outcome
from attn_cli.errors import UsageError

PATIENCE = 10
"""How many seconds a Dask scheduler has to answer."""


def on_cluster(address: str, job: Job, chunks: Sequence[Chunk]) -> Iterator[Outcome]:
    """The outcomes of each piece in turn."""
    client = _client(address)
    try:
        count = sum(client.ncores().values())
        if not count:
            raise UsageError(f"--dask {address}: this cluster has no workers")
        for outcomes in done(client.get_executor(pure=False), replace(job, folder=os.getcwd()), chunks, AHEAD * count):
            yield from outcomes
    finally:
        client.close()


def _client(address: str) -> Any:
    if address.partition("://")[0] not in ("tcp", "tls", "ws", "wss", "ucx"):
        raise UsageError(f"--dask: found {address!r}, expected an address such as tcp://HOST:PORT")
    from importlib import import_module

    try:
        distributed = import_module("distributed")
    except ImportError:
        raise UsageError("--dask needs the extra dask: pip install 'attn-cli[dask]'") from None
    import logging

    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what goes wrong is said by the outcomes
    try:
        return distributed.Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError, TypeError) as why:
        raise UsageError(f"--dask {address}: no cluster answers there ({type(why).__name__})") from None
