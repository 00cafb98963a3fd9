"""Where the work is done: in this process, in a pool of processes (`pool`), or on a Dask cluster (`cluster`).

Whichever it is, outcomes come in the order of the tasks. A task that kills its process fails alone in a pool, with all of its
piece on a cluster, and ends the whole run where it is worked in this process.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress

from attn_cli.batch.work import Chunk, Job, Outcome, Task, here
from attn_cli.engine.large.threads import cores

PER_PROBLEM, PER_BYTE = 0.001, 1e-7
"""About how many seconds a problem takes, and each byte of its file: good enough to cut even pieces and to see when a pool pays."""
PIECE, MOST = 0.05, 50
"""How many seconds of work one piece holds, and how many problems at most."""
PAYS = 0.3
"""With less work than this, in seconds, workers would take longer to start than they save."""


def outcomes(job: Job, tasks: Sequence[Task], jobs: int | None = None, dask: str | None = None) -> Iterator[Outcome]:
    """The outcomes, in the order of the tasks. Closing the iterator stops the work."""
    costs = [PER_PROBLEM + PER_BYTE * _size(task.path) for task in tasks]
    workers = min(jobs or cores(), len(tasks))
    if dask is not None:
        from attn_cli.batch.cluster import on_cluster

        return on_cluster(dask, job, list(pieces(tasks, costs)))
    if workers == 1 or sum(costs) < PAYS:
        return here(job, tasks)
    from attn_cli.batch.pool import pooled

    return pooled(job, list(pieces(tasks, costs, sum(costs) / (4 * workers))), workers)


def pieces(tasks: Sequence[Task], costs: Sequence[float], most: float = PIECE) -> Iterator[Chunk]:
    """Neighbouring tasks together, so that what a piece costs besides its work is small."""
    piece: list[Task] = []
    spent = 0.0
    for task, cost in zip(tasks, costs, strict=True):
        if piece and (spent + cost > min(PIECE, most) or len(piece) == MOST):
            yield tuple(piece)
            piece, spent = [], 0.0
        piece.append(task)
        spent += cost
    if piece:
        yield tuple(piece)


def _size(path: str) -> int:
    """Of a file, or of all files of a folder."""
    with suppress(OSError):
        info = os.stat(path)
        return sum(_size(os.path.join(path, name)) for name in os.listdir(path)) if stat.S_ISDIR(info.st_mode) else info.st_size
    return 0
