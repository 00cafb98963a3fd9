"""What holds of every known mistake, whoever adds one: its sentences, its arithmetic, and that its own numbers name it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from attn_cli.engine.problem import Mask, Problem
from attn_cli.engine.steps import turned
from attn_cli.engine.training import again
from attn_cli.homework.claims import answer, decimal_claim, exact_claim
from attn_cli.homework.marking import Marker
from attn_cli.homework.mistakes import MISTAKES
from attn_cli.homework.mistakes.slips import PLACES, SLIPS
from attn_cli.homework.mistakes.worked import FAILS, variants
from attn_cli.render.lang import catalogue

RNG = np.random.default_rng(3)


def numbers(*shape):
    return RNG.uniform(-1.5, 1.5, shape).round(1)


X, W = numbers(3, 4), {name: numbers(4, 4) for name in ("W_Q", "W_K", "W_V")}
PLAIN = Problem(X=X, **W)
GRID = Problem(Q=numbers(3, 2), K=numbers(4, 2), V=numbers(4, 3), score="dot")
PROBLEMS = {
    "plain": PLAIN,
    "narrow": Problem(X=X, **{name: numbers(4, 2) for name in W}),
    "heads": replace(PLAIN, heads=2, W_O=numbers(4, 4), b_O=numbers(4)),
    "grouped": Problem(X=X, W_Q=numbers(4, 4), W_K=numbers(4, 2), W_V=numbers(4, 2), heads=2, kv_heads=1),
    "joined": replace(PLAIN, heads=2),
    "additive": replace(PLAIN, score="additive", parameters={"additive": {"W": numbers(3, 8), "v": numbers(3)}}),
    "apart": replace(
        PLAIN,
        score="additive",
        parameters={"additive": {"W_q": numbers(3, 4), "W_k": numbers(3, 4), "b": numbers(3), "v": numbers(3)}},
    ),
    "general": replace(PLAIN, score="general", parameters={"general": {"W": numbers(4, 4)}}),
    "cosine": replace(PLAIN, score="cosine"),
    "dot": GRID,
    "causal": replace(PLAIN, mask=Mask(causal=True)),
    "matrix": replace(PLAIN, mask=Mask(keep=np.tril(np.ones((3, 3), bool)))),
    "window": replace(PLAIN, mask=Mask(window=(1, 0))),
    "lengths": replace(PLAIN, mask=Mask(lengths=2)),
    "warm": replace(PLAIN, temperature=2.5, bias=numbers(3, 3), softcap=2.0),
    "biased": replace(PLAIN, b_Q=numbers(4), b_K=numbers(4), b_V=numbers(4)),
    "hard": replace(PLAIN, mode="hard"),
    "sparse": replace(PLAIN, mode="sparsemax"),
    "noisy": replace(PLAIN, mode="gumbel", seed=1),
    "columns": replace(PLAIN, vectors="columns"),
    "backward": replace(PLAIN, upstream=numbers(3, 4)),
    "backward, heads": replace(PLAIN, heads=2, kv_heads=1, W_K=numbers(4, 2), W_V=numbers(4, 2), upstream=numbers(3, 4), temperature=2.0),
}
MARKERS = {name: Marker(problem, gradients=problem.upstream is not None) for name, problem in PROBLEMS.items()}
TRACES = {name: marker.truth for name, marker in MARKERS.items()}
VARIANTS = [(name, variant) for name, trace in TRACES.items() for variant in variants(trace) if variant.changes]


def written(name, value, decimals):
    def cell(x):
        if isinstance(x, list):
            return [cell(part) for part in x]
        if np.isinf(x):
            return exact_claim(x, "-inf")
        text = f"{x:.{decimals}f}"
        return decimal_claim(
            float(text), text, decimals=decimals, digits=len(text.strip("-0.").replace(".", "")), whole=False, exponent=False
        )

    return answer(name, cell(value.tolist()))


def shown(variant, truth):
    """The first step that comes to other numbers, or to another shape."""
    for step in truth:
        value, ours = variant.values.get(step.name), step.made.value
        if value is not None and (value.shape != ours.shape or not np.allclose(value, ours, atol=0.01)):
            return step.name
    return None


@pytest.mark.parametrize("code", MISTAKES)
def test_a_mistake_is_recognised_from_its_own_numbers_honestly_rounded(code):
    found, tried = [], set()
    for name, variant in VARIANTS:
        step = shown(variant, TRACES[name]) if variant.code == code else None
        if step is None or (name, *variant.instead) in tried:
            continue
        tried.add((name, *variant.instead))
        given = {step: variant.values[step]}
        if variant.mistake.beside:
            given["scores"] = TRACES[name].step("scores").made.value
        columns = PROBLEMS[name].vectors == "columns"
        report = MARKERS[name].mark([written(s, turned(s, v) if columns else v, 4) for s, v in given.items()])
        mistake = report.first_wrong.mistake if report.first_wrong is not None else None
        found.append((name, step, code in ((mistake.code, *mistake.also) if mistake else ())))
    assert found
    assert [where for where in found if not where[-1]] == []


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_arithmetic_of_a_mistake_gives_its_numbers(name):
    for variant in (variant for problem, variant in VARIANTS if problem == name):
        try:
            trace = again(TRACES[name], instead=variant.instead)
        except FAILS:
            continue  # its shapes fit together only up to some step
        for step in variant.instead:
            made = trace.step(step).made
            worked = np.array([made.cell(at).evaluate() for at in np.ndindex(made.value.shape)]).reshape(made.value.shape)
            np.testing.assert_allclose(worked, made.value, rtol=1e-9, atol=1e-12, err_msg=variant.code)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_mistake_has_its_sentence(lang):
    codes = [*MISTAKES, *SLIPS, *PLACES, "rounded_too_early"]
    assert [code for code in codes if f"mistake.{code}" not in catalogue(lang)] == []


def test_no_code_is_given_twice():
    assert set(MISTAKES) & {*SLIPS, *PLACES, "rounded_too_early"} == set()
