"""Made-up students: is honest work left alone, wrong work found, the first wrong step told, the mistake named?

    python tests/benchmarks/students.py [--problems N] [--honest N] [--seed N] [--say]

Random problems; the students work in plain NumPy (by_hand.py), apart from the program and its table of mistakes: every mistake
that applies, one to six decimals, rounded at each step, on the way or at the end, all steps handed in or only some, with every
habit that the marking forgives. A mistake is material where it moves some cell by more than three units of its last digit.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from by_hand import METHODS, SLIPS, Habit, Student, rounded, slip

from attn_cli.engine.attention import solve
from attn_cli.engine.problem import Mask, Problem
from attn_cli.engine.steps import turned
from attn_cli.files.claims import cell_claim
from attn_cli.homework.claims import Answer, answer
from attn_cli.homework.marking import Marker
from attn_cli.homework.report import Report

SCORES = ("scaled", "scaled", "scaled", "dot", "additive", "general", "cosine")
MATERIAL = 3
"""Units of the last digit."""
PLACES = ("one_cell", "one_row", "last_digit", "rounded_too_early")
"""Codes that say where or how little, not what; where the mistake is another, they are no name."""


# ------------------------------------------------------------------ problems
def problems(rng: np.random.Generator) -> Iterator[Problem]:
    """Problems of every kind, without end; none whose softmax is so sharp that nothing shows."""
    while True:
        problem = one_problem(rng)
        weights = solve(problem).step("weights").made.value
        if problem.mode != "soft" or weights[weights < 1].max(initial=0) < 0.97:
            yield problem


def one_problem(rng: np.random.Generator) -> Problem:
    def entries(*shape: int) -> Any:
        return np.round(rng.uniform(-1.2, 1.2, shape), 1) + 0.0

    h = int(rng.choice([1, 1, 1, 2, 3]))
    n, d, d_k, d_v = (int(size) for size in rng.permutation([2, 3, 4, 5]))
    if rng.random() < 0.3:  # where sizes agree, matrices can be turned and inputs taken for values
        d_v = d_k = d if rng.random() < 0.5 else d_k
        n = d_k if rng.random() < 0.2 else n
    cross = rng.random() < 0.4
    score = str(rng.choice(SCORES))
    m = (n + 1 if rng.random() < 0.5 else max(2, n - 1)) if cross else n
    kv = 1 if h == 2 and rng.random() < 0.2 else h
    fields: dict[str, Any] = {"score": score}
    if rng.random() < 0.2:
        fields |= {"Q": entries(n, h * d_k), "K": entries(m, kv * d_k), "V": entries(m, kv * d_v) * 10}
    else:
        fields |= {"X": entries(n, d), **({"context": entries(m, d)} if cross else {})}
        fields |= {"W_Q": entries(d, h * d_k), "W_K": entries(d, kv * d_k), "W_V": entries(d, kv * d_v)}
        if rng.random() < 0.25:
            fields |= {"b_Q": entries(h * d_k), "b_K": entries(kv * d_k), "b_V": entries(kv * d_v)}
    if h > 1:
        fields["heads"] = h
        if kv != h:
            fields["kv_heads"] = kv
        if rng.random() < 0.5:
            fields["W_O"] = entries(h * d_v, d)
    if score == "additive":
        both = {"W": entries(3, 2 * d_k)} if rng.random() < 0.5 else {"W_q": entries(3, d_k), "W_k": entries(3, d_k), "b": entries(3)}
        fields["parameters"] = {"additive": {**both, "v": entries(3)}}
    if score == "general":
        fields["parameters"] = {"general": {"W": entries(d_k, d_k)}}
    if rng.random() < 0.3:
        fields["mask"] = Mask(causal=True) if rng.random() < 0.7 else Mask(lengths=max(1, m - 1))
    for key, value, often in (("temperature", 2.0, 0.2), ("bias", entries(n, m), 0.15), ("softcap", 2.0, 0.1), ("vectors", "columns", 0.2)):
        if rng.random() < often:
            fields[key] = value
    fields["mode"] = str(rng.choice(["soft"] * 8 + ["hard", "sparsemax"]))
    return Problem(**fields)


# ------------------------------------------------------------------ what is handed in
def a_habit(rng: np.random.Generator) -> Habit:
    decimals = int(rng.integers(1, 7))
    habit = Habit(decimals, str(rng.choice(["even", "up", "even", "up", "cut"])), bool(rng.random() < 0.5))
    kind = rng.random()
    if habit.how != "cut" and kind < 0.08:
        habit = replace(habit, e=round(float(np.e), int(rng.integers(3, 6))))
    elif habit.how != "cut" and kind < 0.16:
        habit = replace(habit, root=int(rng.integers(2, 5)), reciprocal=bool(rng.random() < 0.4))
    elif kind < 0.24:
        habit = replace(habit, less_max=True, how="even")
    elif kind < 0.32:
        habit = replace(habit, adjusts=True, how="even")
    elif kind < 0.4:
        habit = replace(habit, single=True, decimals=8, how="even", each_step=False)
    elif kind < 0.5:
        habit = replace(habit, hidden=habit.decimals + int(rng.integers(0, 3)), how="even", each_step=False)
    return replace(habit, masked=str(rng.choice(["-inf", "-1e9", "-∞", "−1000"])), plain=habit.decimals > 1 and bool(rng.random() < 0.1))


def text_of(x: float, habit: Habit) -> str:
    if x == -np.inf:
        return habit.masked
    if not np.isfinite(x):
        return ""
    text = f"{float(rounded(x, habit.decimals, habit.how)):.{habit.decimals}f}"
    return text.rstrip("0").rstrip(".") if habit.plain and "." in text else text


def written(name: str, x: Any, problem: Problem, habit: Habit) -> list[Any]:
    """A step as nested texts, in the problem's layout and without the head axis where there is one head."""
    x = np.asarray(x)
    x = turned(name, x) if problem.vectors == "columns" else x

    def cell(part: Any) -> Any:
        return [cell(p) for p in part] if isinstance(part, list) else text_of(part, habit)

    return cell(x.tolist())


def handed_in(work: dict[str, Any], names: Sequence[str], problem: Problem, habit: Habit) -> list[Answer]:
    def claimed(part: Any) -> Any:
        return [claimed(p) for p in part] if isinstance(part, list) else cell_claim(part)

    return [answer(name, claimed(written(name, work[name], problem, habit))) for name in names if name in work]


def some_steps(rng: np.random.Generator, marker: Marker, everything: bool) -> list[str]:
    names = [step.name for step in marker.truth]
    return names if everything else [name for name in names if name in ("weights", "output") or rng.random() < 0.3]


# ------------------------------------------------------------------ honest work
def honest_left_alone(count: int, seed: int, say: bool = False) -> Counter[str]:
    rng = np.random.default_rng(seed)
    tally: Counter[str] = Counter()
    for problem, _ in zip(problems(rng), range((count + 9) // 10), strict=False):
        marker = Marker(problem)
        for _ in range(10):
            habit = a_habit(rng)
            names = some_steps(rng, marker, bool(rng.random() < 0.5))
            work = Student(problem, "", habit, rng, shown=names).work()
            assert work is not None
            answers = handed_in(work, names, problem, habit)
            report = marker.mark(answers)
            tally["students"] += 1
            tally["blamed"] += not report.right
            if say and not report.right:
                bad = [(s.name, s.verdict, s.mistake and s.mistake.code) for s in report.steps if s.verdict in ("wrong", "carried")]
                print(f"  {kind_of(problem)} {habit} of {[s.name for s in report.steps]}: {bad}")
    return tally


def kind_of(problem: Problem) -> str:
    parts = [problem.score, problem.mode, f"heads {problem.heads}", problem.vectors]
    return " ".join([*parts, *(key for key in ("mask", "bias", "softcap") if getattr(problem, key) is not None)])


# ------------------------------------------------------------------ mistakes
class Case:
    """One student who makes one mistake, and how the report judges it."""

    def __init__(self, marker: Marker, code: str, rng: np.random.Generator, everything: bool):
        self.marker, self.problem, self.code, self.rng = marker, marker.problem, code, rng
        self.habit = a_habit(rng)
        if self.habit.single or code == "constant_rounded" or code in SLIPS:
            self.habit = Habit(int(rng.integers(1, 7)), str(rng.choice(["even", "up"])), bool(rng.random() < 0.5))
        if code in ("softmax_columns", "softmax_all"):  # whose largest score is another's
            self.habit = replace(self.habit, less_max=False)
        self.names = some_steps(rng, marker, everything)
        self.work: dict[str, Any] | None = None
        self.spread = False

    def shown(self) -> bool:
        """Whether the mistake applies and some handed-in cell is more than a few units off; then `first` and `clear` are set."""
        state = self.rng.bit_generator.state
        honest = Student(self.problem, "", self.habit, self.rng).work()
        assert honest is not None
        self.rng.bit_generator.state = state
        self.honest = honest
        self.work = self._mistaken(honest)
        if self.work is None or any(name in self.work and np.isnan(self.work[name]).any() for name in self.names):
            return False
        unlike = [name for name in self.names if name in self.work and name in honest and self._units(honest, name) > 1e-6]
        clear = [name for name in unlike if self._units(honest, name) > MATERIAL]
        self.first, self.clear = (unlike[0], clear[0]) if clear else ("", "")
        return bool(clear)

    def _mistaken(self, honest: dict[str, Any]) -> dict[str, Any] | None:
        if self.code in METHODS:
            student = Student(self.problem, self.code, self.habit, self.rng)
            work = student.work()
            self.spread = student.spread
            return work
        at = str(self.rng.choice([name for name in self.names if name in honest]))
        copied = slip(self.code, honest[at], self.habit.decimals, self.rng)
        if copied is None or copied.shape != honest[at].shape:
            return None if copied is None else {**honest, at: copied}
        later = Student(self.problem, "", self.habit, self.rng, given={at: copied}).work() if self.rng.random() < 0.5 else honest
        return None if later is None else {**later, at: copied}

    def _units(self, honest: dict[str, Any], name: str) -> float:
        """How many units of the last digit the step is off; infinitely many in another shape."""
        assert self.work is not None
        a, b = (rounded(x[name], self.habit.decimals, self.habit.how) for x in (self.work, honest))
        if a.shape != b.shape:
            return np.inf
        with np.errstate(invalid="ignore"):
            off = np.abs(a - b) * 10.0**self.habit.decimals
        return float(np.where(a == b, 0.0, np.where(np.isnan(off), np.inf, off)).max(initial=0.0))

    def marked(self) -> Report:
        assert self.work is not None
        return self.marker.mark(handed_in(self.work, self.names, self.problem, self.habit))

    # ------------------------------------------------------------------ told apart without the program
    def explained(self) -> bool:
        """Whether rounding what was handed in and what was not may have moved every cell as far: by finite differences."""
        assert self.work is not None
        given = {n: rounded(self.work[n], self.habit.decimals, self.habit.how) for n in self.names if n in self.work}
        plain = Habit(e=self.habit.e, root=self.habit.root, reciprocal=self.habit.reciprocal)
        base = Student(self.problem, "", plain, self.rng, given=given).work()
        assert base is not None
        half = 0.5 * 10.0**-self.habit.decimals
        reach = {name: np.full(np.shape(value), half) for name, value in base.items()}
        for name, value in base.items():
            moved = (
                np.minimum(half, np.where(value > 0, value * 0.05, half))
                if name in ("exponentials", "row_sums") and name not in given
                else half
            )
            for at in np.ndindex(value.shape):
                nudge = np.zeros(value.shape)
                nudge[at] = np.broadcast_to(moved, value.shape)[at]
                other = Student(self.problem, "", plain, self.rng, given=given, nudge={name: nudge}).work()
                assert other is not None
                for later, x in other.items():
                    with np.errstate(invalid="ignore"):
                        reach[later] = reach[later] + np.nan_to_num(np.abs(x - base[later]))
        with np.errstate(invalid="ignore"):
            return all(((np.abs(x - base[n]) <= 1.3 * reach[n] + half) | (x == base[n])).all() for n, x in given.items())

    def gives_the_same(self, code: str, step: str) -> bool:
        """Whether somebody who makes another mistake would have written the same up to that step."""
        assert self.work is not None
        if code in SLIPS and self.code in SLIPS:
            copies = [slip(code, self.honest[step], self.habit.decimals, np.random.default_rng(seed)) for seed in range(200)]
            return any(copy is not None and np.array_equal(copy, self.work[step]) for copy in copies)
        if code not in METHODS:
            return False
        names = [n for n in self.names[: self.names.index(step) + 1] if n in self.work]
        mine = [written(n, self.work[n], self.problem, self.habit) for n in names]
        for seed in range(40):
            work = Student(self.problem, code, self.habit, np.random.default_rng(seed)).work()
            known = work is not None and all(n in work for n in names)
            if work is not None and known and [written(n, work[n], self.problem, self.habit) for n in names] == mine:
                return True
        return False


def judge(case: Case, tally: Counter[str], say: bool) -> None:
    report = case.marked()
    few = "few " if case.habit.decimals < 3 else ""
    wrong = report.first_wrong
    if wrong is None or report.right:
        if case.explained():
            tally["both"] += 1
        else:
            tally["called right"] += 1
            tally[f"{few}students"] += 1
            tell(say, case, report, "called right")
        return
    tally[f"{few}students"] += 1
    order = list(case.names)
    found = order.index(case.first) <= order.index(wrong.name) <= order.index(case.clear)
    tally[f"{few}step"] += found
    if not found:
        tell(say, case, report, f"first wrong step is {case.first} to {case.clear}")
    mistake = wrong.mistake
    codes = (mistake.code, *mistake.also) if mistake is not None else ()
    first = bool(codes) and (codes[0] == case.code or case.gives_the_same(codes[0], wrong.name))
    among = case.code in codes or first
    misnamed = bool(codes) and not among and codes[0] not in PLACES
    tally[f"{few}first"] += first
    tally[f"{few}among"] += among
    tally[f"{few}misnamed"] += misnamed
    tally[f"{few}all {case.code}"] += 1
    tally[f"{few}hit {case.code}"] += first
    if not first:
        tell(say, case, report, "misnamed" if misnamed else "not named")
    if punished_twice(case, report):
        tally["twice"] += 1
        tell(say, case, report, "punished twice")


def punished_twice(case: Case, report: Report) -> bool:
    """Whether a cell that follows from the wrong step is wrong again."""
    wrong = report.first_wrong
    if case.spread or wrong is None or wrong.first_wrong is None or case.code in SLIPS or wrong.name != case.clear:
        return False
    assert case.work is not None
    x = case.work[wrong.name]
    if not np.isfinite(x).all() or (x.size > 1 and np.ptp(x) < 10.0**-case.habit.decimals):
        return False
    later = report.steps[report.steps.index(wrong) + 1 :]
    return any(step.verdict == "wrong" for step in later)


def tell(say: bool, case: Case, report: Report, what: str) -> None:
    if say:
        steps = [(s.name, s.verdict, s.mistake and (s.mistake.code, *s.mistake.also)) for s in report.steps if s.verdict != "right"]
        print(f"  {what}: {case.code}; {kind_of(case.problem)}; {case.habit}; of {case.names}: {steps}")


def mistakes_found(count: int, seed: int, say: bool = False) -> Counter[str]:
    rng = np.random.default_rng(seed)
    tally: Counter[str] = Counter()
    for problem, _ in zip(problems(rng), range(count), strict=False):
        marker = Marker(problem)
        for code in (*METHODS, *SLIPS):
            for everything in (True, False):
                case = Case(marker, code, rng, everything)
                if case.shown():
                    judge(case, tally, say)
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(description="Made-up students, marked.")
    parser.add_argument("--problems", type=int, default=60)
    parser.add_argument("--honest", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--say", action="store_true", help="print every student who was misjudged")
    options = parser.parse_args()
    start = time.perf_counter()
    t = mistakes_found(options.problems, options.seed, options.say)
    for few, title in (("", "three decimals or more"), ("few ", "one or two decimals")):
        n = max(t[f"{few}students"], 1)
        print(
            f"{title}: {t[few + 'students']} students with a material mistake; first wrong step {t[few + 'step'] / n:.2%}, "
            f"named first {t[few + 'first'] / n:.2%}, among those named {t[few + 'among'] / n:.2%}, misnamed {t[few + 'misnamed'] / n:.2%}"
        )
        for code in (*METHODS, *SLIPS):
            if t[f"{few}hit {code}"] < 0.95 * t[f"{few}all {code}"]:
                print(f"    {code}: named first {t[f'{few}hit {code}']} of {t[f'{few}all {code}']}")
    print(
        f"called right {t['called right']}; honest rounding and a mistake both explain {t['both']} more; "
        f"a carried cell punished twice {t['twice']} ({time.perf_counter() - start:.0f} s)"
    )
    start = time.perf_counter()
    t = honest_left_alone(options.honest, options.seed, options.say)
    print(f"honest work: {t['students']} students, {t['blamed']} with a wrong or carried cell ({time.perf_counter() - start:.0f} s)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
