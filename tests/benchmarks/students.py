"""Made-up students: how often the first wrong step is found, the mistake named, and sound work left alone.

    python tests/benchmarks/students.py [--problems N] [--sound N] [--seed N]

Random problems (small signed entries, pairwise different sizes, unsaturated); every known mistake that applies, at every
step it may happen at; three to five decimals, rounded at each step or only at the end, all steps handed in or only some.
Sound students write two to six digits, rounded half up or half to even.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np

from attn_cli.engine.attention import solve
from attn_cli.engine.problem import Mask, Problem
from attn_cli.engine.steps import Trace
from attn_cli.homework.claims import MISSING, Answer, answer, decimal_claim, exact_claim
from attn_cli.homework.mistakes.worked import FAILS, Variant
from attn_cli.homework.report import Marker, Report

SCORES = ("scaled", "scaled", "scaled", "dot", "additive", "general", "cosine")


def problems(rng: np.random.Generator) -> Iterator[Problem]:
    """Problems of every kind, without end."""
    while True:
        problem = one_problem(rng)
        weights = solve(problem).step("weights").made.value
        if problem.mode not in ("soft", "gumbel") or (weights.max() < 0.97):
            yield problem


def one_problem(rng: np.random.Generator) -> Problem:
    def entries(*shape: int) -> Any:
        return np.round(rng.uniform(-1.2, 1.2, shape), 1) + 0.0

    h = int(rng.choice([1, 1, 1, 2, 3]))
    n, d, d_k, d_v = (int(size) for size in rng.permutation([2, 3, 4, 5]))
    cross = rng.random() < 0.4
    score = str(rng.choice(SCORES))
    fields: dict[str, Any] = {"X": entries(n, d), "score": score}
    d_context, m = d, n
    if cross:
        m = n + 1 if rng.random() < 0.5 else max(2, n - 1)
        fields["context"] = entries(m, d)
    kv = 1 if h == 2 and rng.random() < 0.2 else h
    fields |= {"W_Q": entries(d, h * d_k), "W_K": entries(d_context, kv * d_k), "W_V": entries(d_context, kv * d_v)}
    if h > 1:
        fields["heads"] = h
        if kv != h:
            fields["kv_heads"] = kv
        if rng.random() < 0.5:
            fields["W_O"] = entries(h * d_v, d)
    if rng.random() < 0.25:
        fields |= {"b_Q": entries(h * d_k), "b_K": entries(kv * d_k), "b_V": entries(kv * d_v)}
    if score == "additive":
        a = 3
        both = {"W": entries(a, 2 * d_k)} if rng.random() < 0.5 else {"W_q": entries(a, d_k), "W_k": entries(a, d_k), "b": entries(a)}
        fields["parameters"] = {"additive": {**both, "v": entries(a)}}
    if score == "general":
        fields["parameters"] = {"general": {"W": entries(d_k, d_k)}}
    if rng.random() < 0.3:
        fields["mask"] = Mask(causal=True) if rng.random() < 0.7 else Mask(lengths=max(1, m - 1))
    if rng.random() < 0.2:
        fields["temperature"] = 2.0
    if rng.random() < 0.15:
        fields["bias"] = entries(n, m)
    if rng.random() < 0.1:
        fields["softcap"] = 2.0
    if rng.random() < 0.2:
        fields["vectors"] = "columns"
    fields["mode"] = str(rng.choice(["soft"] * 8 + ["hard", "sparsemax"]))
    return Problem(**fields)


# ------------------------------------------------------------------ a student
def worked(problem: Problem, trace: Trace, instead: Mapping[str, Any], decimals: int, each_step: bool, rounding: str) -> Trace | None:
    """The numbers of somebody who makes the mistake; None where the shapes do not fit together."""

    def step(name: str) -> Any:
        def made(value: Any) -> Any:
            if name in instead:
                value = instead[name](value)
            if each_step and value.operation is not None:
                value = replace(value, value=shortened(value.value, decimals, rounding))
            return value

        return made

    with np.errstate(all="ignore"):
        try:
            return solve(problem, instead={s.name: step(s.name) for s in trace})
        except FAILS:
            return None


def shortened(value: Any, decimals: int, rounding: str) -> Any:
    return np.vectorize(lambda x: float(text_of(x, decimals, rounding)) if np.isfinite(x) else x, otypes=[float])(value)


def text_of(x: float, decimals: int, rounding: str) -> str:
    return str(Decimal(repr(float(f"{x:.14g}"))).quantize(Decimal(1).scaleb(-decimals), rounding=rounding)) if np.isfinite(x) else "-inf"


def written(name: str, value: Any, decimals: int, rounding: str) -> Answer:
    def cell(x: Any) -> Any:
        if isinstance(x, list):
            return [cell(part) for part in x]
        if not np.isfinite(x):
            return exact_claim(x, "-inf") if x == -np.inf else MISSING
        text = text_of(x, decimals, rounding)
        digits = len(text.lstrip("-0.").replace(".", ""))
        return decimal_claim(float(text), text, decimals=decimals, digits=digits, whole=decimals == 0, exponent=False)

    return answer(name, cell(np.asarray(value).tolist()))


def handed_in(trace: Trace, names: list[str], decimals: int, rounding: str) -> list[Answer]:
    return [written(step.name, step.value, decimals, rounding) for step in trace if step.name in names]


# ------------------------------------------------------------------ judged
def mistaken(marker: Marker, variant: Variant, rng: np.random.Generator, everything: bool) -> tuple[Report, str] | None:
    """A report on somebody who makes the mistake, and the step where it shows first; None where it changes nothing that is written."""
    truth = marker.truth
    decimals, each_step = int(rng.integers(3, 6)), bool(rng.random() < 0.5)
    rounding = str(rng.choice([ROUND_HALF_UP, ROUND_HALF_EVEN]))
    work = worked(marker.problem, truth, variant.instead, decimals, each_step, rounding)
    if work is None:
        return None
    sites = [step.name for step in truth if step.name in variant.instead]
    names = [step.name for step in truth]
    if not everything:
        kept = [name for name in names if name in ("weights", "output") or rng.random() < 0.3]
        names = [name for name in kept if name in names]
    first = next(
        (name for name in names if list(truth.steps).index(truth.step(name)) >= list(truth.steps).index(truth.step(sites[0]))), None
    )
    if first is None or (variant.mistake.beside and not {"scores", "raw_scores"} & set(names)):
        return None
    honest = worked(marker.problem, truth, {}, decimals, each_step, rounding)
    assert honest is not None
    theirs, sound = (handed_in(trace, names, decimals, rounding) for trace in (work, honest))
    unlike = [a.name for a, b in zip(theirs, sound, strict=True) if a.shape != b.shape or not clearly_same(a, b)]
    if not unlike or unlike[0] != first and everything:
        return None
    return marker.mark(theirs), unlike[0]


def same_numbers(one: Variant, other: Variant, step: str) -> bool:
    """Whether two mistakes come to the same thing, so that either may be named."""
    a, b = one.values.get(step), other.values.get(step)
    return a is not None and b is not None and a.shape == b.shape and np.allclose(a, b, atol=1e-12, equal_nan=True)


def clearly_same(a: Answer, b: Answer) -> bool:
    """Whether the numbers differ by no more than rounding may, so that the mistake cannot be seen."""
    with np.errstate(invalid="ignore"):
        off = np.abs(a.value - b.value)
    off = np.where(a.value == b.value, 0.0, np.where(np.isnan(off), 0.0, off))
    return bool(off.max(initial=0.0) <= 12 * max(a.unit.max(initial=0.0), b.unit.max(initial=0.0)))


def mistakes_found(count: int, seed: int, everything: bool, say: bool = False) -> Counter[str]:
    rng = np.random.default_rng(seed)
    tally: Counter[str] = Counter()
    for problem, _ in zip(problems(rng), range(count), strict=False):
        marker = Marker(problem)
        for variant in marker.book.variants:
            found = mistaken(marker, variant, rng, everything)
            if found is None:
                continue
            report, first = found
            tally["students"] += 1
            wrong = report.first_wrong
            named = wrong.mistake if wrong is not None else None
            codes = (named.code, *named.also) if named is not None else ()
            alike = {v.code for v in marker.book.variants if same_numbers(v, variant, first)}
            tally["step"] += wrong is not None and wrong.name == first
            tally["among"] += variant.code in codes
            tally["first"] += bool(alike & set(codes[:1]))
            tally["nothing"] += wrong is None
            tally[f"all {variant.code}"] += 1
            tally[f"hit {variant.code}"] += variant.code in codes
            if say and (wrong is None or wrong.name != first or variant.code not in codes):
                where, kind = "+".join(variant.instead), f"{problem.score} {problem.mode}"
                print(f"  {variant.code} at {where}: first {wrong and wrong.name} (is {first}), named {codes}; {kind}")
    return tally


def sound_left_alone(count: int, seed: int, say: bool = False) -> Counter[str]:
    rng = np.random.default_rng(seed)
    tally: Counter[str] = Counter()
    for problem, _ in zip(problems(rng), range((count + 9) // 10), strict=False):
        marker = Marker(problem)
        for _ in range(10):
            decimals, each_step = int(rng.integers(2, 7)), bool(rng.random() < 0.5)
            rounding = str(rng.choice([ROUND_HALF_UP, ROUND_HALF_EVEN]))
            names = [s.name for s in marker.truth] if rng.random() < 0.5 else ["weights", "output"]
            work = worked(problem, marker.truth, {}, decimals, each_step, rounding)
            assert work is not None
            report = marker.mark(handed_in(work, names, decimals, rounding))
            tally["students"] += 1
            tally["blamed"] += not report.right
            if say and not report.right:
                bad = [(s.name, s.verdict, s.mistake) for s in report.steps if s.verdict in ("wrong", "carried")]
                kind = f"{problem.score} {problem.mode} heads={problem.heads}"
                print(f"  {kind} decimals {decimals} each_step {each_step} all {len(names) > 2}: {bad}")
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(description="Made-up students, marked.")
    parser.add_argument("--problems", type=int, default=60)
    parser.add_argument("--sound", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--say", action="store_true", help="print every student who was misjudged")
    options = parser.parse_args()
    for everything in (True, False):
        start = time.perf_counter()
        t = mistakes_found(options.problems, options.seed, everything, options.say)
        n = t["students"]
        print(
            f"{'all steps' if everything else 'some steps'} handed in: {n} students; first wrong step found {t['step'] / n:.1%}, "
            f"mistake named {t['among'] / n:.1%}, first {t['first'] / n:.1%}, nothing wrong found {t['nothing'] / n:.1%} "
            f"({time.perf_counter() - start:.0f} s)"
        )
        for code in sorted(key[4:] for key in t if key.startswith("all ")):
            if t[f"hit {code}"] < t[f"all {code}"]:
                print(f"    {code}: {t[f'hit {code}']} of {t[f'all {code}']}")
    start = time.perf_counter()
    t = sound_left_alone(options.sound, options.seed, options.say)
    print(f"sound work: {t['students']} students, {t['blamed']} with a wrong or carried cell ({time.perf_counter() - start:.0f} s)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
