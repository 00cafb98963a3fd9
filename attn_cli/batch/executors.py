"""Where the work is done: in this process, in a pool of processes, or on a Dask cluster. Each is an Executor, so the path is one.

Whichever it is, rows come in the order of the tasks, and a task that kills its worker costs its own row only.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from attn_cli.batch.work import SAVING, Job, Row, Task, failed, work
from attn_cli.errors import AttnError, UsageError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

T = TypeVar("T")
Chunk = tuple[Task, ...]

PER_PROBLEM, PER_BYTE = 0.001, 1e-7
"""About how many seconds a problem takes, and each byte of its file: good enough to cut even pieces and to see when a pool pays."""
PIECE, MOST = 0.05, 50
"""How many seconds of work one piece holds, and how many problems at most."""
PAYS = 1.0
"""With less work than this, in seconds, workers would take longer to start than they save."""
AHEAD = 64
"""So many pieces a worker are handed out before the first of them is done: enough that one long problem holds up nobody."""
PATIENCE = 10
"""How many seconds a Dask scheduler has to answer."""
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
PRELOAD = ("attn_cli.batch.work", "attn_cli.engine.attention", "attn_cli.files.load", "attn_cli.files.yaml_tree", "attn_cli.render.json_")
"""What nearly every worker needs."""


class Died(AttnError):
    """The process that worked a problem is gone."""


def run(job: Job, tasks: Sequence[Task], jobs: int | None = None, dask: str | None = None) -> Iterator[Row]:
    """The rows, in the order of the tasks. Closing the iterator stops the work."""
    costs = [PER_PROBLEM + PER_BYTE * _size(task.path) for task in tasks]
    workers = min(jobs or cores(), len(tasks))
    if dask is not None:
        return _on_cluster(dask, job, list(pieces(tasks, costs)))
    if workers == 1 or sum(costs) < PAYS:
        return _here(job, tasks)
    return _pooled(job, list(pieces(tasks, costs, sum(costs) / (4 * workers))), workers)


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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
    with suppress(OSError):
        if os.path.isdir(path):
            return sum(os.path.getsize(os.path.join(path, name)) for name in os.listdir(path))
        return os.path.getsize(path)
    return 0


def _done(executor: Executor, job: Job, chunks: Iterable[Chunk], ahead: int) -> Iterator[list[Row]]:
    """The rows of each piece in turn, with `ahead` pieces in work."""
    waiting: deque[tuple[Chunk, Future[list[Row]]]] = deque()
    try:
        for chunk in chunks:
            waiting.append((chunk, executor.submit(work, job, chunk)))
            if len(waiting) >= ahead:
                yield _rows(*waiting.popleft())
        while waiting:
            yield _rows(*waiting.popleft())
    finally:
        for _, future in waiting:
            future.cancel()


def _rows(chunk: Chunk, future: Future[list[Row]]) -> list[Row]:
    try:
        return future.result()
    except BrokenExecutor:
        raise
    except Exception as error:  # the work itself never raises, so this is the way to it
        return [failed(task.path, error) for task in chunk]


# ---- in this process


class Here(Executor):
    """Does the work at once."""

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        future: Future[T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


def _here(job: Job, tasks: Iterable[Task]) -> Iterator[Row]:
    for rows in _done(Here(), job, ((task,) for task in tasks), ahead=1):
        yield from rows


# ---- in a pool of processes


class Pool(ProcessPoolExecutor):
    """Worker processes that leave Ctrl-C to this one, use one BLAS thread each, and end with this one however it ends."""

    def __init__(self, workers: int):
        # Forking a process that has threads is not safe; a fork server is a process without any (on macOS, only spawn is safe).
        context = get_context("forkserver" if sys.platform == "linux" else "spawn")
        if sys.platform == "linux":
            context.set_forkserver_preload(list(PRELOAD))
        self.alive, self._ours = context.Pipe(duplex=False)
        with _start(PYTHONWARNINGS="ignore"):  # the process that tidies up after a killed one would warn of it
            super().__init__(workers, mp_context=context, initializer=_begin, initargs=(self.alive,))

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        with _start():
            return super().submit(fn, *args, **kwargs)

    def stop(self) -> None:
        """End the workers at once."""
        self._ours.close()
        self.shutdown(cancel_futures=True)

    def close(self) -> None:
        self.shutdown()
        self._ours.close()
        self.alive.close()


@contextmanager
def _start(**more: str) -> Iterator[None]:
    """What a new process is to inherit, for as long as one may be started."""
    main = sys.modules["__main__"]
    added = {name: value for name, value in {**dict.fromkeys(THREADS, "1"), **more}.items() if name not in os.environ}
    mask = None
    try:
        if hasattr(signal, "pthread_sigmask"):
            mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        os.environ.update(added)
        sys.modules["__main__"] = ModuleType("__main__")  # whoever called us is not run a second time
        yield
    finally:
        sys.modules["__main__"] = main
        for name in added:
            os.environ.pop(name, None)
        if mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _begin(alive: Connection) -> None:
    """The first thing that a worker does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=_leave, daemon=True).start())
    threading.Thread(target=_end_with, args=(alive,), daemon=True).start()


def _end_with(alive: Connection) -> None:
    """End when the other end of the pipe is closed, by the process that holds it or because that is gone."""
    with suppress(EOFError, OSError):
        alive.recv_bytes()
    _leave()


def _leave() -> None:
    with SAVING:
        os._exit(1)


def _pooled(job: Job, chunks: Iterable[Chunk], workers: int) -> Iterator[Row]:
    left = deque(chunks)
    while left:
        try:
            pool = Pool(workers)
        except (ImportError, NotImplementedError, OSError):  # this system has no semaphores to share
            yield from _here(job, [task for chunk in left for task in chunk])
            return
        try:
            for rows in _done(pool, job, tuple(left), AHEAD * workers):
                left.popleft()
                yield from rows
            pool.close()
        except BrokenExecutor:
            pool.close()
            yield from _one_by_one(job, left)
        except BaseException:
            pool.stop()
            raise


def _one_by_one(job: Job, left: deque[Chunk]) -> Iterator[Row]:
    """Piece by piece, each in a process of its own, until the problem is found that makes its process die."""
    while left:
        chunk = left.popleft()
        pool = Pool(1)
        try:
            yield from pool.submit(work, job, chunk).result()
        except BrokenExecutor:
            if len(chunk) == 1:
                yield failed(chunk[0].path, Died("the process that worked this problem was ended; perhaps memory ran out"))
                return
            left.extendleft((task,) for task in reversed(chunk))
        except BaseException:
            pool.stop()
            raise
        finally:
            pool.close()


# ---- on a cluster


def _on_cluster(address: str, job: Job, chunks: Sequence[Chunk]) -> Iterator[Row]:
    """On a Dask cluster, whose workers see the same files under the same names."""
    from dataclasses import replace

    client = _client(address)
    try:
        count = sum(client.ncores().values())
        if not count:
            raise UsageError(f"--dask {address}: this cluster has no workers")
        for rows in _done(client.get_executor(pure=False), replace(job, folder=os.getcwd()), chunks, AHEAD * count):
            yield from rows
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

    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what goes wrong is told by the rows
    try:
        return distributed.Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError, TypeError) as why:
        raise UsageError(f"--dask {address}: no cluster answers there ({type(why).__name__})") from None
