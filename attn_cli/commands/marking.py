"""What was handed in: read, then marked. In a class, what cannot be read costs that submission only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from attn_cli.commands.output import Progress
from attn_cli.errors import AttnError, InputError, Place, describe

if TYPE_CHECKING:
    from attn_cli.commands.options import FileOptions
    from attn_cli.files.answers import Answers
    from attn_cli.files.problem import Loaded
    from attn_cli.files.submissions import Submission
    from attn_cli.homework.marking import Marker
    from attn_cli.homework.report import Failed, Report


def own_answers(marker: Marker, loaded: Loaded) -> Report:
    """The problem's own answers, marked."""
    from attn_cli.files.claims import as_claims

    if not loaded.answers:
        raise InputError("has no answers of its own; name a file of answers after it", place=Place(loaded.source))
    try:
        return marker.mark(as_claims(loaded.answers), loaded.source)
    except InputError as error:
        raise error.at(Place(loaded.source)) from error


def marked(marker: Marker, handed_in: Sequence[Submission], files: FileOptions) -> list[Report | Failed]:
    """A report for each submission. What is asked of a class depends on all of them, so that all are read first."""
    from attn_cli.homework.report import Failed

    progress = Progress(2 * len(handed_in))
    read = list(progress.of(_read(handed_in, files)))
    if len(read) > 1:
        from attn_cli.files.claims import as_claims

        marker.ask_class([as_claims(answers.steps) for answers in read if not isinstance(answers, Failed)])
    reports = (_mark(marker, answers, one.name) for answers, one in zip(read, handed_in, strict=True))
    return list(progress.of(reports))


def _read(handed_in: Sequence[Submission], files: FileOptions) -> Iterator[Answers | Failed]:
    from attn_cli.files.answers import read_answers

    for one in handed_in:
        try:
            yield read_answers(one.path, **files._asdict(), within=one.within)
        except (AttnError, OSError) as error:
            yield _failed(one.name, error)


def _mark(marker: Marker, answers: Answers | Failed, name: str) -> Report | Failed:
    from attn_cli.files.claims import as_claims
    from attn_cli.homework.report import Failed

    if isinstance(answers, Failed):
        return answers
    try:
        return marker.mark(as_claims(answers.steps), name, answers.notes)
    except InputError as error:
        return _failed(name, error.at(Place(answers.source)))


def _failed(name: str, error: BaseException) -> Failed:
    from attn_cli.homework.report import Failed

    return Failed(name, describe(error))
