"""How fast `attn batch` is beside a shell loop over `attn compute` and a hand-written loop with yaml.safe_load.

    python tests/benchmarks/batch.py [--rounds 7] [--files 2000] [--tokens 4] [--width 4] [--many 10000] [--torch PYTHON] [--kills 20]

Contenders run in turn, round after round, so that a slow moment of the machine hits all of them; what is printed is the median of
the ratios within a round. The shell loop runs over 40 files, and its time is extrapolated. With --torch, one big problem is worked as
well, beside a script with scaled_dot_product_attention. With --kills, runs are killed and interrupted at random moments instead.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ATTN = [sys.executable, "-m", "attn_cli"]
SAMPLE = 40

LOOP = """
import json, sys
from pathlib import Path
import numpy as np
import yaml

out = Path(sys.argv[2])
out.mkdir(exist_ok=True)
for file in sorted(Path(sys.argv[1]).glob("*.yaml")):
    with open(file) as f:
        p = yaml.safe_load(f)
    x = np.array(p["X"], dtype=float)
    q, k, v = (x @ np.array(p[w], dtype=float) for w in ("W_Q", "W_K", "W_V"))
    scores = q @ k.T / np.sqrt(k.shape[1])
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights = e / e.sum(axis=1, keepdims=True)
    steps = {"Q": q, "K": k, "V": v, "scores": scores, "weights": weights, "output": weights @ v}
    with open(out / f"{file.name}.json", "w") as f:
        json.dump({name: value.tolist() for name, value in steps.items()}, f, indent=2)
"""
"""The loop that one writes by hand."""

TORCH = """
import sys
import numpy as np, torch
with np.load(sys.argv[1]) as p:
    q, k, v = (torch.from_numpy(p[name])[None, None] for name in "QKV")
np.save(sys.argv[2], torch.nn.functional.scaled_dot_product_attention(q, k, v)[0, 0].numpy())
"""


def make(folder: Path, count: int, n: int, d: int) -> None:
    """Problems as people write them: n tokens, three d × d weights, two decimals."""
    rng = random.Random(0)
    folder.mkdir()

    def rows(height: int) -> str:
        return "".join("  - [" + ", ".join(f"{rng.uniform(-2, 2):.2f}" for _ in range(d)) + "]\n" for _ in range(height))

    for i in range(count):
        tokens = ", ".join(f"t{j}" for j in range(n))
        text = f"title: problem {i}\ntokens: [{tokens}]\nX:\n{rows(n)}W_Q:\n{rows(d)}W_K:\n{rows(d)}W_V:\n{rows(d)}"
        (folder / f"p{i:05}.yaml").write_text(text)


def seconds(command: list[str], folder: Path, fresh: str = "out") -> float:
    shutil.rmtree(folder / fresh, ignore_errors=True)
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def batch(*options: str, folder: str = "in") -> list[str]:
    return [*ATTN, "batch", folder, "-o", "out", *options]


def told(what: str, slower: list[float], faster: list[float], target: float) -> bool:
    """Print how many times faster it is, round by round."""
    ratios = [a / b for a, b in zip(slower, faster, strict=True)]
    ratio = statistics.median(ratios)
    verdict = "" if ratio >= target else "   MISSED"
    print(f"{what:<66} {ratio:7.2f}  (from {min(ratios):.2f} to {max(ratios):.2f}; target {target:g}){verdict}")
    return ratio >= target


def compare(folder: Path, args: argparse.Namespace) -> bool:
    make(folder / "in", args.files, args.tokens, args.width)
    (folder / "loop.py").write_text(LOOP)
    attn = shutil.which("attn", path=str(Path(sys.executable).parent)) or "attn"
    (folder / "loop.sh").write_text(f'for i in $(ls in | head -{SAMPLE}); do "{attn}" compute in/$i -o out/$i.json; done\n')
    times: dict[str, list[float]] = {name: [] for name in ("batch", "loop", "shell")}
    for _ in range(args.rounds):
        times["batch"].append(seconds(batch(), folder))
        times["loop"].append(seconds([sys.executable, "loop.py", "in", "out"], folder))
        (folder / "out").mkdir(exist_ok=True)
        times["shell"].append(seconds(["bash", "-c", "mkdir out; . ./loop.sh"], folder) * args.files / SAMPLE)
    each = statistics.median(times["batch"]) / args.files * 1000
    print(f"{args.files} problems of {args.tokens} tokens, width {args.width}: {each:.2f} ms each")
    good = told("times faster than a shell loop over attn compute", times["shell"], times["batch"], 100)
    good &= told("times faster than a loop with yaml.safe_load", times["loop"], times["batch"], 10)
    if args.many:
        make(folder / "many", args.many, args.tokens, args.width)
        one, two = [], []
        for _ in range(max(3, args.rounds // 2)):
            one.append(seconds(batch("--jobs", "1", folder="many"), folder))
            two.append(seconds(batch("--jobs", "2", folder="many"), folder))
        good &= told(f"two workers beside one, {args.many} problems", one, two, 1)
    return good


def big(folder: Path, args: argparse.Namespace) -> bool:
    """One problem of 16384 tokens, float32: whole processes."""
    import numpy as np

    rng = np.random.default_rng(0)
    np.savez(folder / "big.npz", **{name: rng.standard_normal((16384, 64), np.float32) for name in "QKV"})
    (folder / "torch_loop.py").write_text(TORCH)
    ours, theirs = [], []
    for _ in range(args.rounds):
        ours.append(seconds([*ATTN, "compute", "big.npz", "--only", "output", "--dtype", "float32", "-o", "ours.npy"], folder))
        theirs.append(seconds([args.torch, "torch_loop.py", "big.npz", "theirs.npy"], folder))
    difference = float(np.abs(np.load(folder / "ours.npy") - np.load(folder / "theirs.npy")).max())
    print(f"the two outputs differ by at most {difference:.1e}")
    return told("times faster than a PyTorch script, n = 16384, d = 64, float32", theirs, ours, 1)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != ".attn-batch"}


def kills(folder: Path, args: argparse.Namespace) -> bool:
    """Runs ended at random moments: only whole files are there, and --resume does the rest."""
    make(folder / "in", args.files, args.tokens, args.width)
    whole = seconds(batch(), folder)
    (folder / "out").rename(folder / "undisturbed")
    wanted = contents(folder / "undisturbed")
    rng, good, caught = random.Random(), True, 0
    for turn in range(args.kills):
        how = ("kill -9", "Ctrl-C")[turn % 2]
        shutil.rmtree(folder / "out", ignore_errors=True)
        process = subprocess.Popen(batch(), cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
        time.sleep(rng.uniform(0, whole))
        ended = process.poll() is not None
        if not ended:
            process.kill() if how == "kill -9" else os.killpg(process.pid, signal.SIGINT)
        error = process.communicate(timeout=60)[1].decode()
        time.sleep(0.5)  # workers whose starter was killed finish the file that they are at
        there = contents(folder / "out") if (folder / "out").exists() else {}
        partial = [name for name, text in there.items() if name.endswith(".json") and text != wanted[name]]
        other = [name for name in there if not name.endswith(".json")]
        lines = [line for line in error.splitlines() if not line.startswith(("interrupted", f"{args.files} problems"))]
        code = process.returncode in (-9, 0) if how == "kill -9" else process.returncode in (130, 0)
        subprocess.run(batch("--resume"), cwd=folder, check=True, stderr=subprocess.DEVNULL)
        union = contents(folder / "out") == wanted
        fine = not partial and not lines and code and union
        good &= fine
        caught += not ended
        state = "fine" if fine else f"WRONG: {partial[:3]} {lines[:2]}, exit {process.returncode}, resumed to the same: {union}"
        print(f"{how:<8} with {len(there):>5} files there, {len(other)} left over: {state}")
    print(f"{caught} of {args.kills} came before the end")
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("rounds", 7), ("files", 2000), ("tokens", 4), ("width", 4), ("many", 10000), ("kills", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--torch", help="a Python that has PyTorch")
    args = parser.parse_args()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    print(f"{platform.platform()}, {platform.machine()}, {cores} cores, Python {platform.python_version()}")
    with tempfile.TemporaryDirectory() as folder:
        if args.kills:
            return 0 if kills(Path(folder), args) else 1
        good = compare(Path(folder), args)
        return 0 if (big(Path(folder), args) if args.torch else True) and good else 1


if __name__ == "__main__":
    sys.exit(main())
