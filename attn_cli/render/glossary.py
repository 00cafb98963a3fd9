"""What the words of attention mean, as `attn explain` says it.

Nothing is written here a second time: steps, keys, score functions, modes, formats and mistakes say what they are in their own
tables, in English; `lang.about_zh` says the same in Chinese.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from attn_cli.engine.keys import Key
from attn_cli.engine.modes import MODES
from attn_cli.engine.problem import KEYS, MASK_PARTS, Problem
from attn_cli.engine.scores import SCORES
from attn_cli.engine.steps import GRADIENTS, ORIGINS, STEPS, Step, kind_of
from attn_cli.engine.training import differentiate
from attn_cli.errors import UsageError
from attn_cli.names import SYNONYMS, did_you_mean, how_to_write
from attn_cli.render.formats import FORMATS
from attn_cli.render.lang import catalogue, known, text
from attn_cli.render.lang.about_zh import ABOUT, expected_zh
from attn_cli.render.style import Style
from attn_cli.render.terminal.text import wrapped

if TYPE_CHECKING:
    from attn_cli.engine.registry import Entry

SIZES = {"query": "n", "key": "m", "feature": "d"}
"""What the length of each axis is called."""
VASWANI = "Vaswani et al. 2017, section 3.2"
SOURCES = {
    "capped": "Bello et al. 2017, section 4.1",
    "tempered": "Hinton et al. 2015, section 2",
    "heads": f"{VASWANI}.2",
    "concat": f"{VASWANI}.2",
    "output": f"{VASWANI}.2",
}
"""Where a step was first written so; all others stand in Vaswani."""
EXAMPLES = {
    "text": "First steps",
    "labels": "[the, cat]",
    "number": "0.5",
    "whole": "2",
    "truth": "true",
    "truths": "[[1, 0], [1, 1]]",
    "window": "[1, 0]",
    "mask": "causal",
    "arrays": "{…}",
    "steps": "[scores, weights]",
    "answers": "{weights: [[0.73, 0.27]]}",
}
"""What may stand under a key, by its kind."""
ARRAYS = ("0.5", "[1, 0]", "[[1, 0], [0, 1]]", "[[[1, 0], [0, 1]]]")
"""The same for an array, by its number of axes."""


class Word(NamedTuple):
    """One thing that has a name."""

    kind: str
    """step, gradient, score, mode, key, mask, format, mistake or verdict."""
    name: str
    explained: Callable[[str], Iterator[tuple[str, str]]]
    """Language -> lines, each under a label such as `formula`; the sentence first, without one."""


# ------------------------------------------------------------------ the words
def words() -> list[Word]:
    """Every word that can be explained, by kind."""
    return [
        *(Word("step", name, partial(_step, name)) for name in STEPS),
        *(Word("score", entry.name, partial(_member, "score", entry)) for entry in SCORES.entries()),
        *(Word("mode", entry.name, partial(_member, "mode", entry)) for entry in MODES.entries()),
        *(Word("key", name, partial(_key, row)) for name, row in KEYS.items()),
        *(Word("mask", name, partial(_key, row)) for name, row in MASK_PARTS.items()),
        *(Word("gradient", name, partial(_step, name)) for name in GRADIENTS),
        *(Word("format", name, partial(_format, name)) for name in FORMATS),
        *(Word("verdict", name, partial(_verdict, name)) for name in VERDICTS),
        *(Word("mistake", code, partial(_mistake, code)) for code in _mistakes()),
    ]


VERDICTS = ("right", "rounded", "carried", "wrong", "missing")


def _mistakes() -> list[str]:
    return [key.partition(".")[2] for key in catalogue("en") if key.startswith("mistake.")]


def overview(lang: str, width: int) -> str:
    """All words, by kind."""
    kinds: dict[str, list[str]] = {}
    for word in words():
        kinds.setdefault(word.kind, []).append(word.name)
    blocks = [[text(f"glossary.{kind}s", lang), *wrapped(f"  {', '.join(names)}", width, "  ")] for kind, names in kinds.items()]
    return "\n\n".join("\n".join(block) for block in [*blocks, [text("glossary.more", lang)]]) + "\n"


def explained(word: str, lang: str, width: int) -> str:
    """All that a word means. Raises UsageError, with a guess, for one that means nothing here."""
    return "\n".join("\n".join(_lines(each, lang, width)) + "\n" for each in _meanings(word))


def _meanings(word: str) -> list[Word]:
    """By name or symbol as written, else whatever the case, else as papers and libraries call it."""
    every, plain = words(), re.sub(r"[- ]", "_", word.strip().lstrip("-").lower())
    found = (
        [each for each in every if word in (*_names(each), *_symbol(each))]
        or [each for each in every if plain in (name.lower() for name in (*_names(each), each.name.replace("_", "")))]
        or [each for each in every if plain in SYNONYMS.get(each.name, ())]
    )
    if found:
        return found
    if way := how_to_write(word):
        raise UsageError(f"there is no {word!r} here: {way}")
    known = dict.fromkeys(name for each in every for name in (each.name, *SYNONYMS.get(each.name, ())))
    raise UsageError(f"no word {word!r}{did_you_mean(word, known)}; attn explain lists them")


def _names(word: Word) -> tuple[str, str]:
    """With and without what it is a part of: mask.keep and keep."""
    return word.name, word.name.rpartition(".")[2]


def _symbol(word: Word) -> tuple[str, ...]:
    return (kind_of(word.name).plain,) if word.kind in ("step", "gradient") else ()


def _lines(word: Word, lang: str, width: int) -> Iterator[str]:
    yield f"{word.name} · {text(f'glossary.{word.kind}', lang)}"
    for label, meaning in word.explained(lang):
        start = f"  {text(f'glossary.{label}', lang)}{'：' if lang == 'zh' else ': '}" if label else "  "
        yield from wrapped(start + meaning, width, "    " if label else "  ")


# ------------------------------------------------------------------ what each kind says
def _about(kind: str, name: str, english: str, lang: str) -> str:
    """A sentence of a table in the language asked for; in English where that has none."""
    return _sentence(ABOUT.get(f"{kind}.{name}", english) if lang == "zh" else english)


def _sentence(sentence: str) -> str:
    """With a capital, unless it begins with a symbol, and a full stop."""
    sentence = sentence[:1].upper() + sentence[1:] if re.match(r"(a|[a-z]{2,})[ ,]", sentence) else sentence
    return sentence if sentence.endswith((".", "。", "…")) else sentence + ("。" if re.search("[\u4e00-\u9fff]", sentence) else ".")


def _step(name: str, lang: str) -> Iterator[tuple[str, str]]:
    of = ORIGINS.get(name, "")
    title = text(f"step.{name}", lang) if name in STEPS else text("step.gradient", lang, of=of)
    yield "", title if kind_of(name).plain == name else f"{kind_of(name).plain}: {title}"
    if known(f"why.{name}", lang):
        yield "", _sentence(text(f"why.{name}", lang))
    if (formula := _formula(name)) is not None:
        yield "formula", formula
    yield "shape", _shape(kind_of(name).axes, lang)
    if name in STEPS:
        yield "source", SOURCES.get(name) or (_docstring(SCORES["additive"]).source if name == "hidden" else VASWANI)
    yield "example", f"attn {'trace' if name in STEPS else 'grad'} problem.yaml --only {name}"


def _shape(axes: tuple[str, ...], lang: str) -> str:
    shape = " × ".join(SIZES[axis] for axis in axes)
    sizes = [text(f"glossary.{SIZES[axis]}", lang) for axis in dict.fromkeys(axes)]
    return f"{shape}（{'，'.join(sizes)}）" if lang == "zh" else f"{shape} ({', '.join(sizes)})"


def _formula(name: str) -> str | None:
    step = next((trace[name] for trace in _worked() if name in trace), None)
    if step is None or step.formula is None:
        return None
    style = Style()
    return f"{step.symbol.plain(_no_number)} = {step.formula.plain(lambda n: style.exact(n.value))}"


def _no_number(number: object) -> str:
    return ""


@cache
def _worked() -> tuple[dict[str, Step], ...]:
    """Small problems, worked, among which every step occurs."""
    one, two = [[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [1.0, 1.0]]
    projected: dict[str, Any] = {"X": two, "W_Q": one, "W_K": one, "W_V": one}
    between: dict[str, Any] = {"softcap": 5.0, "bias": one, "mask": "causal", "temperature": 2.0}
    additive: dict[str, Any] = {"score": "additive", "parameters": {"additive": {"W_q": one, "W_k": one, "v": [1.0, 1.0]}}}
    joined: dict[str, Any] = {"heads": 2, "W_O": one, "b_Q": [0.0, 0.0], "b_K": [0.0, 0.0], "b_V": [0.0, 0.0], "b_O": [0.0, 0.0]}
    cross: dict[str, Any] = {"context": two}
    problems = [projected, projected | between, projected | additive, projected | joined, projected | cross]
    traces = [differentiate(Problem(**problem)) for problem in problems]
    return tuple({step.name: step for step in trace} for trace in traces)


class Docstring(NamedTuple):
    """What a score function or mode says of itself."""

    summary: str
    shapes: str
    source: str
    remark: str


def _docstring(entry: Entry[Any]) -> Docstring:
    """First what it is, then, in a paragraph of its own, its shapes, its source with the year and place, and perhaps a remark."""
    first, _, rest = (entry.function.__doc__ or entry.name).partition("\n\n")
    shapes, _, rest = " ".join(rest.split()).partition(". ")
    source = re.match(r".+? \d{4}(, \w+ [\w.]*\w( \([^)]*\))?)?", rest)
    cited = source[0] if source is not None else ""
    return Docstring(first.strip().rstrip("."), shapes.rstrip("."), cited, rest.removeprefix(cited).lstrip(".: "))


def _member(family: str, entry: Entry[Any], lang: str) -> Iterator[tuple[str, str]]:
    doc = _docstring(entry)
    yield "", _about(family, entry.name, doc.summary, lang)
    if doc.remark and lang == "en":
        yield "", _sentence(doc.remark)
    if doc.shapes:
        yield "shapes", doc.shapes
    if doc.source:
        yield "source", doc.source
    if entry.parameters:
        yield "parameters", ", ".join(f"{entry.name}.{name}" for name in entry.parameters)
        yield "example", f"{family}: {entry.name}"
    else:
        yield "example", f"attn trace problem.yaml --{family} {entry.name}"


def _key(row: Key, lang: str) -> Iterator[tuple[str, str]]:
    whole, _, part = row.name.rpartition(".")
    yield "", _about("key", row.name, row.summary, lang)
    yield "expected", row.expected if lang == "en" else expected_zh(row.kind, row.axes, row.least, row.above, row.choices) or row.expected
    if row.steps:
        yield "reads", ", ".join(row.steps)
    example = ARRAYS[min(row.axes)] if row.kind == "matrix" else EXAMPLES.get(row.kind) or row.choices[-1]
    yield "example", f"mask: {{{part}: {example}}}" if whole else f"{part}: {example}"


def _format(name: str, lang: str) -> Iterator[tuple[str, str]]:
    form = FORMATS[name]
    summary = (import_module(f"attn_cli.render.{form.module}").__doc__ or name).strip().partition("\n")[0]
    yield "", _about("format", name, summary, lang)
    if form.suffixes:
        yield "suffixes", ", ".join(form.suffixes)
    yield "example", f"attn compute problem.yaml --format {name}"


def _verdict(name: str, lang: str) -> Iterator[tuple[str, str]]:
    yield "", _sentence(text(f"check.{name}", lang))
    yield "example", "attn check problem.yaml answers.yaml"


def _mistake(code: str, lang: str) -> Iterator[tuple[str, str]]:
    yield "", _sentence(text(f"mistake.{code}", lang))
    yield "example", "attn check problem.yaml answers.yaml"


__all__ = ["Word", "explained", "overview", "words"]
