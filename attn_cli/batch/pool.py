"""Work in a pool of processes."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from attn_cli.batch.work import SAVING, Chunk, Job, Outcome, failed, here, worked
from attn_cli.errors import AttnError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

T = TypeVar("T")

AHEAD = 64
"""Pieces a worker that are handed out before the first of them is done.

Lowered, one long problem holds up the others; raised, more results wait for it."""
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
PRELOAD = tuple(
    f"attn_cli.{name}"
    for name in ("batch.work", "engine.large.memory", "files.problem", "files.readers.yaml", "files.writing")
    + ("render.formats", "render.data.json", "render.lang.en", "render.lang.marks_en", "render.lang.why_en")
)
"""What nearly every worker needs."""


class Died(AttnError):
    """The process that worked a problem is gone."""


def done(executor: Executor, job: Job, chunks: Iterable[Chunk], ahead: int) -> Iterator[list[Outcome]]:
    """The outcomes of each piece in turn, with `ahead` pieces in work."""
    waiting: deque[tuple[Chunk, Future[list[Outcome]]]] = deque()
    try:
        for chunk in chunks:
            waiting.append((chunk, executor.submit(worked, job, chunk)))
            if len(waiting) >= ahead:
                yield _outcomes(*waiting.popleft())
        while waiting:
            yield _outcomes(*waiting.popleft())
    finally:
        for _, future in waiting:
            future.cancel()


def _outcomes(chunk: Chunk, future: Future[list[Outcome]]) -> list[Outcome]:
    try:
        return future.result()
    except BrokenExecutor:
        raise
    except Exception as error:  # the work itself never raises, so this is the way to it
        return [failed(task.path, error) for task in chunk]


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
        try:
            with _start():
                return super().submit(fn, *args, **kwargs)
        except (OSError, EOFError) as gone:  # the process that starts the workers
            raise BrokenExecutor from gone

    def stop(self) -> None:
        """End the workers at once."""
        self._ours.close()
        with _start():
            self.shutdown(cancel_futures=True)

    def close(self) -> None:
        with _start():
            self.shutdown()
        self._ours.close()
        self.alive.close()


@contextmanager
def _start(**more: str) -> Iterator[None]:
    """What a new process is to inherit, for as long as one may be started: not our standard error, where a helper of the
    library that finds another one killed would show a traceback.
    """
    main, stderr = sys.modules["__main__"], _silenced()
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
        if stderr is not None:
            os.dup2(stderr, 2)
            os.close(stderr)
        for name in added:
            os.environ.pop(name, None)
        if mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _silenced() -> int | None:
    """Send descriptor 2 nowhere; another one for where it went, None where it is closed."""
    try:
        before = os.dup(2)
    except OSError:
        return None
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    os.close(nowhere)
    return before


def _begin(alive: Connection) -> None:
    """The first thing that a worker does."""
    gc.freeze()  # what is loaded by now is no garbage, and a problem makes hardly any
    gc.set_threshold(100_000)
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


def pooled(job: Job, chunks: Iterable[Chunk], workers: int) -> Iterator[Outcome]:
    left = deque(chunks)
    while left:
        try:
            pool = Pool(workers)
        except (ImportError, NotImplementedError, OSError):  # this system has no semaphores to share
            yield from here(job, [task for chunk in left for task in chunk])
            return
        try:
            for outcomes in done(pool, job, tuple(left), AHEAD * workers):
                left.popleft()
                yield from outcomes
            pool.close()
        except BrokenExecutor:
            pool.close()
            yield from _one_by_one(job, left, 2 * workers)
        except BaseException:
            pool.stop()
            raise


def _one_by_one(job: Job, left: deque[Chunk], pieces: int) -> Iterator[Outcome]:
    """The pieces that may have been in work, each in a process of its own, until the problem is found that makes its process die."""
    while left and pieces:
        pieces -= 1
        chunk = left.popleft()
        pool = Pool(1)
        try:
            yield from pool.submit(worked, job, chunk).result()
        except BrokenExecutor:
            if len(chunk) == 1:
                yield failed(chunk[0].path, Died("the process that worked this problem was ended; perhaps memory ran out"))
                return
            left.extendleft((task,) for task in reversed(chunk))
            pieces += len(chunk)
        except BaseException:
            pool.stop()
            raise
        finally:
            pool.close()
