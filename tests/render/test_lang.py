"""The catalogues of words."""

from __future__ import annotations

import re
from string import Formatter

import pytest

from attn_cli.engine.modes import MODES
from attn_cli.engine.notes import Note
from attn_cli.engine.scores import SCORES
from attn_cli.engine.steps import STEPS
from attn_cli.render.lang import LANGUAGES, catalogue, known, note_text

EN = catalogue("en")


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_language_has_the_same_keys_and_placeholders(lang: str) -> None:
    assert {key: placeholders(text) for key, text in catalogue(lang).items()} == {key: placeholders(text) for key, text in EN.items()}


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_step_score_and_mode_has_a_name(lang: str) -> None:
    keys = [*(f"step.{s}" for s in STEPS), *(f"score.{s}" for s in SCORES), *(f"mode.{m}" for m in MODES), *(f"along.{m}" for m in MODES)]
    assert [key for key in keys if not known(key, lang)] == []


def test_chinese_is_chinese() -> None:
    same = {key for key, text in catalogue("zh").items() if not re.search("[\u4e00-\u9fff]", text)}
    assert same == {"compare.disagree", "mode.gumbel", "mode.sparsemax", "mode.entmax15", "note.other"}


ROW = {"row": "x1", "number": 1, "head": None}


@pytest.mark.parametrize(
    ("note", "en", "zh"),
    [
        (
            Note("tie", {**ROW, "keys": ("x1", "x3"), "chosen": "x1"}),
            "row 1 (x1): x1, x3 tie for the largest score; x1 wins because it comes first",
            "第 1 行（x1）：x1、x3 的分数并列最大，取排在最前的 x1",
        ),
        (Note("no_weights", {"context": False}), "no weights are given, so Q = K = V = X", "没有给出权重矩阵，因此 Q = K = V = X"),
        (
            Note("saturated", {**ROW, "head": 2, "rows": 3, "largest": 0.9991, "d_k": 64, "scaled": 0.4}),
            "row 1 (x1) of head 2 is saturated (and 2 more): one key has weight 0.9991; divided by √d_k = √64 it would be 0.4000",
            "头 2 的第 1 行（x1）已饱和（另有 2 行）：一个键的权重达到 0.9991；若除以 √d_k = √64，则为 0.4000",
        ),
        (Note("something_new", {"key": "W_Q", "cells": 3}), "something_new: key = W_Q, cells = 3", "something_new：key = W_Q, cells = 3"),
        (Note("bare"), "bare", "bare"),
    ],
)
def test_notes_are_sentences(note: Note, en: str, zh: str) -> None:
    assert [note_text(note, "en"), note_text(note, "zh")] == [en, zh]


def test_labels_in_notes_are_harmless() -> None:
    assert (
        note_text(Note("empty_row", {**ROW, "row": "{0}\x1b[2J"}), "en")
        == "row 1 ({0}\\x1b[2J) may attend to nothing: its weights and its output are zero"
    )
