"""What is wrong with a YAML text, in one plain line instead of the scanner's own words."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import yaml

from attn_cli.engine.problem import known_keys
from attn_cli.errors import InputError, Place
from attn_cli.files.cells import show
from attn_cli.names import canonical


class _Fault(NamedTuple):
    """What the scanner complains about, and where."""

    problem: str
    """Its own words."""
    context: str
    lines: list[str]
    line: int
    column: int
    start: tuple[int, int]
    """Line and column where what it was reading begins."""

    @property
    def here(self) -> str:
        return self.lines[self.line - 1] if self.line <= len(self.lines) else ""

    @property
    def rest(self) -> str:
        """The line from the place on."""
        return self.here[self.column - 1 :]


NO_BARE_SIGN = "YAML does not let a bare ? or - stand here: write ~ for what is not given, or put it in quotes, '?'"

_At = tuple[int, int]


def explained(why: yaml.MarkedYAMLError, text: str, file: str) -> InputError:
    """The error for a text that PyYAML refuses: the first row of the table whose test finds a place."""
    mark, start = why.problem_mark or why.context_mark, why.context_mark or why.problem_mark
    problem = (why.problem or why.context or "this is no YAML").replace("did not find ", "").strip()
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    begun = (start.line + 1, start.column + 1) if start else (1, 1)
    fault = _Fault(problem, why.context or "", _lines(text), line, column, begun)
    for test, message in _FAULTS:
        if at := test(fault):
            return InputError(message(fault) if callable(message) else message, place=Place(file, *at))
    raise AssertionError("the last row of the table holds for every fault")


def _lines(text: str) -> list[str]:
    """The lines as YAML counts them: U+0085, U+2028 and U+2029 end one, too."""
    return re.split("[\n\x85\u2028\u2029]", text)


def _if(test: Callable[[_Fault], bool]) -> Callable[[_Fault], _At | None]:
    """A test that tells the place which the scanner names."""
    return lambda fault: (fault.line, fault.column) if test(fault) else None


def _says(*words: str) -> Callable[[_Fault], _At | None]:
    """Whether the scanner's complaint holds one of the words."""
    return _if(lambda fault: any(word in fault.problem for word in words))


def _begun(test: Callable[[_Fault], bool]) -> Callable[[_Fault], _At | None]:
    """A test that tells the place where what the scanner was reading begins."""
    return lambda fault: fault.start if test(fault) else None


# ------------------------------------------------------------------ tests
def _tab(fault: _Fault) -> _At | None:
    """A tab in the indentation on that line or on the one before it."""
    for number in (fault.line, fault.line - 1):
        if 1 <= number <= len(fault.lines):
            text = fault.lines[number - 1]
            indent = text[: len(text) - len(text.lstrip())]
            if "\t" in indent:
                return number, indent.index("\t") + 1
    return None


def _glued(fault: _Fault) -> _At | None:
    """What follows a colon that is none, `X:[[1]]` or `X： [[1]]` after a known key, on one of the last two lines."""
    for number in (fault.line, fault.line - 1):
        match = re.match(r"\s*(\w+)(：|:(?=\S))", fault.lines[number - 1]) if 0 < number <= len(fault.lines) else None
        if match and canonical(match[1], known_keys()):
            return number, match.end() + 1
    return None


def _deeper(fault: _Fault) -> _At | None:
    """A row that is indented deeper than the one above it: YAML takes it for more of that one's text."""
    for number in (fault.line, fault.line - 1):
        if not 2 <= number <= len(fault.lines):
            continue
        row, above = (re.match(r"( *)- ", fault.lines[n - 1]) for n in (number, number - 1))
        if row and above and len(row[1]) > len(above[1]):
            return number, len(row[1]) + 1
    return None


def _no_quote(fault: _Fault) -> bool:
    return "quoted scalar" in fault.context


def _bare_sign(fault: _Fault) -> _At | None:
    """A `?` or `-` that stands for a cell not given: before a blank, a comma or a bracket YAML takes it for the sign of a key or row."""
    before = fault.here[: fault.column]
    matches = list(re.finditer(r"(?:(?<=[\[{,:-])|(?<=[\[{,:-] ))[?-](?=\s*(?:[,\]}]|$))", before))
    return (fault.line, matches[-1].start() + 1) if matches else None


# ------------------------------------------------------------------ messages
def _never_ends(fault: _Fault) -> str:
    bracket = "}" if "'}'" in fault.problem else "]"
    return (
        f"the {'mapping' if bracket == '}' else 'list'} that starts on line {fault.start[0]} expects a comma or '{bracket}' here; "
        "a matrix is written [[1, 0.5], [0, 1]], and labels such as # or { or : need quotes"
    )


def _no_key(fault: _Fault) -> str:
    """What is wrong with a line that is neither a key nor a row."""
    text = fault.lines[fault.start[0] - 1] if fault.start[0] <= len(fault.lines) else ""
    if "\N{NO-BREAK SPACE}" in text[: len(text) - len(text.lstrip())]:
        return "found a no-break space (U+00A0) in the indentation: replace it by a blank"
    return f"found {show(text.strip())}, expected a key, a colon and a blank, as in X: [[1, 0], [0, 1]], or a row that starts with '- '"


def _missing(fault: _Fault) -> str:
    plain = fault.problem.replace("expected node content", "a value is missing here")
    plain = plain.replace("expected key", "a key such as X: is expected here")
    return f"{plain}: check indentation and brackets, and put labels such as - ? | > ! in quotes"


_FAULTS: list[tuple[Callable[[_Fault], _At | None], str | Callable[[_Fault], str]]] = [
    (_tab, "a tab is used for indentation; YAML wants blanks there: replace the tab by two blanks"),
    (_glued, "a key is followed by ':' and a blank, as in X: [[1, 0], [0, 1]]"),
    (
        _if(lambda f: f.rest[:1] in ("@", "`", "%") or ("cannot start any token" in f.problem and f.rest != "")),
        lambda f: f"a text may not start with {f.rest[:1]} here: put it in quotes",
    ),
    (
        _if(lambda f: f.rest[:1] in ("*", "&") or "alias" in f.problem or "anchor" in f.context or "anchor" in f.problem),
        "* and & have a meaning of their own in YAML: put a text that holds them in quotes",
    ),
    (
        _says("mapping values are not allowed"),
        "a colon and a blank make a key here: put a text that holds ': ' in quotes, or mend the indentation",
    ),
    (
        _if(lambda f: _no_quote(f) and "unexpected" not in f.problem),
        lambda f: f"{f.problem}: in double quotes a backslash starts an escape, so write it as \\\\, or use single quotes",
    ),
    (_begun(_no_quote), "the quote that opens here is never closed: close it, or put a text that holds a quote in other quotes"),
    (_bare_sign, NO_BARE_SIGN),
    (_says("',' or"), _never_ends),
    (_says("nesting", "depth"), "lists are nested too deep; a matrix is a list of rows"),
    (_deeper, "this row is indented deeper than the one above it: rows of one list start with '- ' in the same column"),
    (_begun(lambda f: "expected ':'" in f.problem), _no_key),
    (_says("document start"), "this line does not go on with those above: start every key in the same column, with no '...' between them"),
    (
        _if(lambda f: "'-' indicator" in f.problem or (f.rest.startswith("- ") and not f.here[: f.column - 1].strip())),
        "the rows of a list start with '- ' in the same column: indent them alike, and put nothing else between them",
    ),
    (
        _if(lambda f: f.rest[:1] in ("]", "}")),
        lambda f: f"found '{f.rest[0]}' where nothing is open: take it away, or open the list before it",
    ),
    (_says("expected"), _missing),
    (_says(""), lambda f: f"{f.problem}: check indentation and brackets, and put texts with special characters in quotes"),
]
"""What a fault looks like and what to say of it, in the order in which they are tried."""
