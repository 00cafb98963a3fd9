"""How long a run takes to start: whole processes from an installed wheel, against `python -c "import numpy"` = 1.

    python tests/benchmarks/startup.py [ROUNDS]

Builds a wheel, installs it into a fresh environment (compiled), and runs every command in turn, round after round, so
that whatever else the machine does falls on all of them alike. Prints the ratio of the medians and the peak memory, with
their targets; the exit code is 1 if one is missed. Where valgrind is installed, the ratio of the instructions is shown,
too, which no other work on the machine can change.
"""

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
RUNS = {
    "import numpy": (["python", "-c", "import numpy"], None, None),
    "attn --help": (["attn", "--help"], 0.85, None),
    "attn --version": (["attn", "--version"], 0.85, None),
    "attn compute --format json": (["attn", "compute", "--format", "json"], 1.5, 36),
    "attn compute": (["attn", "compute"], 2.0, 36),
}
"""What is run, the largest ratio allowed, and the most memory in MB."""


def installed(folder: Path) -> Path:
    """A fresh environment with the wheel of this checkout; its folder of programs."""
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    programs = folder / "venv" / "bin"
    pip = [programs / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--compile"]
    subprocess.run([*pip, "wheel"], check=True)
    build = [programs / "python", "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, ROOT]
    subprocess.run(build, check=True)
    subprocess.run([*pip, *folder.glob("attn_cli-*.whl")], check=True)
    return programs


def environment(programs: Path, folder: Path) -> dict[str, str]:
    return {"PATH": f"{programs}:/usr/bin:/bin", "LANG": "C.UTF-8", "COLUMNS": "100", "FORCE_COLOR": "1", "HOME": str(folder)}


def instructions(command: list[str], programs: Path, folder: Path) -> int:
    """How many instructions one process takes."""
    valgrind = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    run = subprocess.run(
        [*valgrind, programs / command[0], *command[1:]],
        capture_output=True,
        text=True,
        check=True,
        env=environment(programs, folder),
        cwd=folder,
    )
    found = re.search(r"I +refs: +([0-9,]+)", run.stderr)
    assert found is not None, run.stderr
    return int(found[1].replace(",", ""))


def measure(command: list[str], programs: Path, folder: Path) -> tuple[float, float]:
    """Seconds and peak MB of one process."""
    env = environment(programs, folder)
    start = time.perf_counter()
    process = subprocess.Popen(
        [programs / command[0], *command[1:]], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env, cwd=folder
    )
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    return seconds, usage.ru_maxrss / (1024 * 1024 if sys.platform == "darwin" else 1024)


def main(rounds: int = 21) -> int:
    seen: dict[str, list[tuple[float, float]]] = {name: [] for name in RUNS}
    with tempfile.TemporaryDirectory() as folder:
        programs = installed(Path(folder))
        for _ in range(rounds + 1):
            for name, (command, _, _) in RUNS.items():
                seen[name].append(measure(command, programs, Path(folder)))
        counts = {name: instructions(command, programs, Path(folder)) for name, (command, _, _) in RUNS.items() if shutil.which("valgrind")}
    # The first round only warms the disk.
    seconds = {name: statistics.median(s for s, _ in times[1:]) for name, times in seen.items()}
    memory = {name: max(mb for _, mb in times[1:]) for name, times in seen.items()}
    print(f"{'':<28} {'ms':>6} {'ratio':>6} {'at most':>8} {'MB':>6} {'at most':>8} {'instructions':>13}")
    missed = 0
    for name, (_, ratio, most) in RUNS.items():
        found = seconds[name] / seconds["import numpy"]
        good = (ratio is None or found <= ratio) and (most is None or memory[name] <= most)
        missed += not good
        counted = f"{counts[name] / counts['import numpy']:>13.2f}" if counts else ""
        print(
            f"{name:<28} {seconds[name] * 1000:>6.0f} {found:>6.2f} {ratio or '':>8} {memory[name]:>6.1f} {most or '':>8}"
            f" {counted}{'' if good else '   MISSED'}"
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(*(int(a) for a in sys.argv[1:])))
