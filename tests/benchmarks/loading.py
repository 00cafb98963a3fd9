"""How long a matrix takes to load, and how much memory, against the readers that people would use instead.

    python tests/benchmarks/loading.py [ROUNDS]

Every run is a process of its own, and the runs take turns, so that whatever else the machine does falls on all alike. Time
is the processor's, from before the file is opened until the array is there, imports not counted; memory is the growth of
the peak resident set (ru_maxrss) in that time. Prints the medians and the ratio to the rival of each kind of file; the exit code is
1 if a target is missed.
"""

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
SIZES = {"1000 × 512": (1000, 512), "5000 × 512": (5000, 512)}

MAKE = """
import json, sys
import numpy as np
folder, n, d = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
matrix = np.random.default_rng(0).normal(size=(n, d))
rows = matrix.tolist()
with open(f"{folder}/m.yaml", "w") as file:
    file.write("X:\\n")
    file.writelines(f"- {row}\\n" for row in rows)
with open(f"{folder}/m.json", "w") as file:
    json.dump({"X": rows}, file)
np.savetxt(f"{folder}/m.csv", matrix, delimiter=",")
np.save(f"{folder}/m.npy", matrix)
np.savez(f"{folder}/m.npz", X=matrix)
"""
MEASURE = """
import resource, sys, time
sys.path.insert(0, {root!r})
import numpy as np
{imports}
unit = 1 if sys.platform == "darwin" else 1024
before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
array = {load}
seconds = time.process_time() - start
print(seconds, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * unit, array.sum(), *array.shape)
"""
OURS = "from attn_cli.files.readers import arrays, csv, json, yaml\nfrom attn_cli.files.problem import read_problem as load"
RUNS = {
    "yaml": [
        ("CSafeLoader + np.array", "import yaml", 'np.array(yaml.load(open("m.yaml"), Loader=yaml.CSafeLoader)["X"])', None),
        ("attn", OURS, 'load("m.yaml").problem.X', 1 / 5),
    ],
    "json": [
        ("json.load + np.array", "import json", 'np.array(json.load(open("m.json"))["X"])', None),
        ("attn", OURS, 'load("m.json").problem.X', None),
    ],
    "csv": [
        ("np.loadtxt", "", 'np.loadtxt("m.csv", delimiter=",")', None),
        ("attn", OURS, 'load(None, matrices={"X": "m.csv"}).problem.X', None),
    ],
    "npy": [("np.load", "", 'np.load("m.npy")', None), ("attn", OURS, 'load(None, matrices={"X": "m.npy"}).problem.X', None)],
    "npz": [("np.load", "", 'np.load("m.npz")["X"]', None), ("attn", OURS, 'load("m.npz").problem.X', None)],
}
"""For each kind of file the rival and ours: name, imports, what is timed, and the largest share of the rival's cost allowed."""


def measure(folder: str, imports: str, load: str) -> tuple[float, float, list[str]]:
    """Seconds, growth of the peak in MB, and the matrix's sum and shape, which must be the same for all."""
    code = MEASURE.format(root=str(ROOT), imports=imports, load=load)
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    seconds, memory, *matrix = done.stdout.split()
    return float(seconds), float(memory) / 2**20, matrix


def main(rounds: int = 7) -> int:
    missed = 0
    for title, (n, d) in SIZES.items():
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "-c", MAKE, folder, str(n), str(d)], check=True)
            seen: dict[tuple[str, str], list[tuple[float, float, list[str]]]] = {}
            for _ in range(rounds):
                for kind, runs in RUNS.items():
                    for name, imports, load, _ in runs:
                        seen.setdefault((kind, name), []).append(measure(folder, imports, load))
        assert len({tuple(matrix) for found in seen.values() for _, _, matrix in found}) == 1
        print(f"{title:<30} {'s':>8} {'ratio':>7} {'MB':>8} {'ratio':>7} {'at most':>8}")
        for kind, runs in RUNS.items():
            base = None
            for name, _, _, most in runs:
                seconds = statistics.median(s for s, _, _ in seen[kind, name])
                memory = statistics.median(mb for _, mb, _ in seen[kind, name])
                base = base or (seconds, memory)
                ratios = seconds / base[0], memory / max(base[1], 1)
                good = most is None or max(ratios) <= most
                missed += not good
                print(
                    f"  {kind:<5} {name:<22} {seconds:>8.3f} {ratios[0]:>7.3f} {memory:>8.1f} {ratios[1]:>7.3f} {most or '':>8}"
                    f"{'' if good else '   MISSED'}"
                )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(*(int(a) for a in sys.argv[1:])))
