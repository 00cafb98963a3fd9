"""How fast, how small and how exact attention() is beside naive NumPy and PyTorch's scaled_dot_product_attention.

    python tests/benchmarks/engine.py [--torch PYTHON] [--runs 7] [--quick]

Each contender runs in a process of its own, one after the other, in turn: a slow moment of the machine hits all of them. What is
printed is the median of the ratios of neighbouring runs. PyTorch is left out where PYTHON (by default this one) has none.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

D = 64
CASES = [(1, n, dtype, causal) for n in (4096, 16384) for dtype, causal in (("float32", False), ("float32", True), ("float64", False))]
CASES += [(16, 1024, "float32", causal) for causal in (False, True)]
"""Heads, tokens, dtype, whether the mask is causal."""
TARGETS = {("torch", "float32", False): 1.2, ("torch", "float32", True): 1.0, ("torch", "float64", False): 1.25}
NAIVE_TARGETS = {False: 5, True: 9}
MEMORY_N, MEMORY_TARGET = 32768, 24e6


# ------------------------------------------------------------------ in a contender's process
def inputs(h: int, n: int, dtype: str):
    import numpy as np

    rng = np.random.default_rng(n)
    return [rng.standard_normal((h, n, D) if h > 1 else (n, D), np.float32).astype(dtype, copy=False) for _ in range(3)]


def naive(q, k, v, causal):
    """As one would write it down, n × n matrices and all."""
    import numpy as np

    s = q @ k.swapaxes(-1, -2) / np.sqrt(D).astype(q.dtype)
    if causal:
        s = np.where(np.tri(*s.shape[-2:], dtype=bool), s, -np.inf)
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True) @ v


def contender(name: str):
    """A function of (q, k, v, causal) that returns the output."""
    if name == "naive":
        return naive
    if name == "torch":
        import torch

        torch.set_num_threads(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)

        def sdpa(q, k, v, causal):
            shape = q.shape
            q, k, v = (torch.from_numpy(x).view(1, -1, *x.shape[-2:]) for x in (q, k, v))
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal).view(shape).numpy()

        return sdpa
    from attn_cli.engine.large.whole import attention

    return lambda q, k, v, causal: attention(q, k, v, mask="causal" if causal else None)


def resident(peak: bool) -> int:
    """Bytes of this process in memory now, or at most since the last reset."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:" if peak else "VmRSS:"))


def memory(run, arrays, causal: bool) -> dict[str, int]:
    """Bytes beyond inputs and output at the worst moment: of the process (peak resident size) and of arrays (tracemalloc)."""
    import tracemalloc

    run(*(x[:1024] for x in arrays), causal)  # whatever is loaded or set up once is not working memory
    found = {}
    if Path("/proc/self/clear_refs").exists():
        Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
        before = resident(peak=False)
        out = run(*arrays, causal)
        found["peak resident size"] = resident(peak=True) - before - out.nbytes
    tracemalloc.start()
    out = run(*arrays, causal)
    found["arrays"] = tracemalloc.get_traced_memory()[1] - out.nbytes
    return found


def serve(name: str) -> None:
    """Answer requests, one JSON line each."""
    run, made = contender(name), {}
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        ask = json.loads(line)
        key = (ask["h"], ask["n"], ask["dtype"])
        if key not in made:
            made = {key: inputs(*key)}
        if ask["what"] == "memory":
            answer = memory(run, made[key], ask["causal"])
        else:
            start = time.perf_counter()
            out = run(*made[key], ask["causal"])
            answer = time.perf_counter() - start
            if ask["what"] == "output":
                import numpy as np

                np.save(ask["path"], out)
        print(json.dumps(answer), flush=True)


# ------------------------------------------------------------------ in the process that asks
class Contender:
    def __init__(self, name: str, python: str):
        self.name = name
        environment = os.environ | ({f"{blas}_NUM_THREADS": "1" for blas in ("OPENBLAS", "OMP", "MKL")} if name == "attn" else {})
        environment["PYTHONPATH"] = str(Path(__file__).parents[2]) if name == "attn" else ""
        command = [python, __file__, "--serve", name]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        assert self.process.stdout is not None
        self.process.stdout.readline()  # it is ready

    def ask(self, what: str, h: int, n: int, dtype: str, causal: bool, path: str = ""):
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        request = {"what": what, "h": h, "n": n, "dtype": dtype, "causal": causal, "path": path}
        print(json.dumps(request), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        self.process.communicate()


def has_torch(python: str) -> bool:
    return subprocess.run([python, "-c", "import torch"], capture_output=True).returncode == 0


def speed(contenders: list[Contender], runs: int, cases) -> None:
    print(f"\n{'time':>33}  {'attn':>8}" + "".join(f"  {f'attn : {c.name}':>14}  {'target':>8}" for c in contenders[1:]))
    for h, n, dtype, causal in cases:
        times = {c.name: [] for c in contenders}
        for turn in range(runs + 1):
            for c in contenders:
                if c.name == "naive" and n > 8192 and turn > 3:  # gigabytes and seconds a run
                    continue
                time.sleep(0.05)  # another's threads may still be spinning
                seconds = c.ask("run", h, n, dtype, causal)
                if turn:  # the first warms up
                    times[c.name].append(seconds)
        row = f"{h:>2} × n = {n:>5} {dtype} {'causal' if causal else 'full':>6}   {statistics.median(times['attn']):>7.3f}s"
        for c in contenders[1:]:
            ratio = statistics.median(a / b for a, b in zip(times["attn"], times[c.name], strict=False))
            if c.name == "naive":
                target = f"1/{NAIVE_TARGETS[causal]}" if dtype == "float32" and h == 1 else ""
                row += f"  {f'1/{1 / ratio:.1f}':>14}  {target:>8}"
            else:
                row += f"  {ratio:>14.2f}  {TARGETS[c.name, dtype, causal] if h == 1 else '':>8}"
        print(row, flush=True)


def exactness(contenders: list[Contender]) -> None:
    import numpy as np

    n = 4096
    print(f"\nerror of float32 against float64, n = {n}: root mean square, largest")
    q, k, v = (x.astype(np.float64) for x in inputs(1, n, "float32"))
    for causal in (False, True):
        exact = naive(q, k, v, causal)
        for c in contenders:
            with tempfile.TemporaryDirectory() as folder:
                path = str(Path(folder) / "out.npy")
                c.ask("output", 1, n, "float32", causal, path)
                error = np.abs(np.load(path) - exact)
            print(f"{'causal' if causal else 'full':>8} {c.name:>6}  {np.sqrt(np.mean(error**2)):.2e}  {error.max():.2e}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", default=sys.executable, metavar="PYTHON", help="a Python that has PyTorch")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--quick", action="store_true", help="up to n = 4096 only")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.serve:
        return serve(chosen.serve)
    contenders = [Contender("attn", sys.executable), Contender("naive", sys.executable)]
    if has_torch(chosen.torch):
        contenders.append(Contender("torch", chosen.torch))
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    busy = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    print(f"{platform.machine()}, {cores} cores{busy}; d = {D}; medians of {chosen.runs} interleaved runs")
    speed(contenders, chosen.runs, [case for case in CASES if case[1] <= 4096 or not chosen.quick])
    exactness(contenders)
    print(f"\nworking memory at n = {MEMORY_N}, float32, beyond inputs and output (target < {MEMORY_TARGET / 1e6:.0f} MB)")
    for c in contenders:
        c.close()
    fresh = Contender("attn", sys.executable)
    found = fresh.ask("memory", 1, MEMORY_N, "float32", False)
    print("  ".join(f"{what}: {size / 1e6:.1f} MB" for what, size in found.items()))
    fresh.close()


if __name__ == "__main__":
    main()
