"""Which commands exist, and how a run ends: errors become one line and an exit code here and nowhere else.

`attn --help` and `--version` are answered from this file alone, and a command loads only its own module, so that
starting up stays cheap.
"""

from __future__ import annotations

import codecs
import io
import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import TextIO

from attn_cli import __version__
from attn_cli.errors import UsageError, describe

COMMANDS = {
    "compute": "print each step of a problem: Q, K, V, scores, weights, output",
    "trace": "the same, with the arithmetic of every number written out",
    "compare": "one input under every score function and mode, or two results step by step",
    "grad": "the backward pass, step by step",
    "exercise": "make problem sheets that mark themselves; say what a problem hides; ask in the terminal",
    "check": "mark somebody's worked numbers",
    "batch": "work through many problems at once",
    "samples": "list, print or copy the problems that come with attn",
    "explain": "what a step, score function, mode, key, format or mistake is",
    "help": "what a command does",
}

HELP = f"""\
attn compute                          the worked example of the textbook
attn compute problem.yaml             your own problem
attn samples textbook > problem.yaml  a file to start from

A calculator and tracer for attention: it writes out the arithmetic of every number.

Usage: attn COMMAND [OPTIONS] [FILE]

Commands (attn COMMAND --help says more):
{chr(10).join(f"  {name:<9} {what}" for name, what in COMMANDS.items())}

Options:
  --version                the version of attn
  --show-completion SHELL  a script for bash, zsh or fish that completes words
  -h, --help               this page
"""
HELP_OF_HELP = """\
attn help          which commands there are
attn help compute  what one of them does, as attn compute --help

Usage: attn help [COMMAND]
"""


def main(argv: list[str]) -> int:
    """Run one command line; the exit code."""
    _open_streams()
    try:
        code = _dispatch(argv)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # whoever reads our output has seen enough
        _drop_output()
        return 0
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if os.environ.get("ATTN_DEBUG"):
            import traceback

            traceback.print_exc()
        if isinstance(error, OSError):
            _drop_output()
        print(f"error: {describe(error)}", file=sys.stderr)
        return 2


def _dispatch(argv: list[str]) -> int:
    if not argv or argv[0] in ("-h", "--help"):
        sys.stdout.write(HELP)
        return 0
    name, *arguments = argv
    if name == "--version":
        sys.stdout.write(f"attn {__version__}\n")
        return 0
    if name == "help":
        return _help(arguments)
    if name in ("--show-completion", "--complete"):
        from attn_cli.commands.completion import answer, script

        sys.stdout.write(script(arguments) if name == "--show-completion" else answer(arguments, COMMANDS))
        return 0
    if name.startswith("-"):
        raise UsageError(f"attn has no option {name}; options stand after the command, as in attn compute {name}; see attn --help")
    if name not in COMMANDS:
        from attn_cli.names import did_you_mean

        near = f" (did you mean attn compute {name}?)" if os.path.exists(name) else did_you_mean(name, list(COMMANDS))
        raise UsageError(f"no command {name!r}{near}; there are {', '.join(COMMANDS)}")
    return _run(name, arguments)


def _help(arguments: list[str]) -> int:
    """The help page of a command, or this program's own."""
    if arguments[:1] in (["-h"], ["--help"], ["help"]):
        sys.stdout.write(HELP_OF_HELP)
        return 0
    return _dispatch([*arguments[:1], "--help"])


def _run(name: str, arguments: list[str]) -> int:
    """Run a command through Typer, without Typer's own idea of how errors look."""
    import typer
    from typer._click.exceptions import ClickException  # its one home in every version that is allowed

    command = typer.main.get_command(import_module(f"attn_cli.commands.{name}").app)
    try:
        with command.make_context(f"attn {name}", arguments) as context:
            result = command.invoke(context)
    except typer.Exit as end:
        return end.exit_code
    except typer.Abort:
        return 130
    except ClickException as error:
        message = error.format_message().rstrip(".")
        raise UsageError(f"{message[:1].lower()}{message[1:]}; see attn {name} --help") from error
    return result if isinstance(result, int) else 0


def _open_streams() -> None:
    """Write UTF-8, unless somebody chose another encoding or the terminal has one; and file names byte for byte."""
    sys.stdout = _fitted(sys.stdout or _Closed(), "surrogateescape")  # None where whoever started us closed it
    if not isinstance(sys.stderr, _Remarks):
        sys.stderr = _Remarks(_fitted(sys.stderr or io.StringIO(), "backslashreplace"))


def _fitted(stream: TextIO, errors: str) -> TextIO:
    """The stream, which shows signs that its encoding lacks by others."""
    if not hasattr(stream, "reconfigure"):
        return stream
    if os.environ.get("PYTHONIOENCODING") or stream.isatty():
        stream.reconfigure(errors=errors)
    else:
        stream.reconfigure(encoding="utf-8", errors=errors)
    return stream if codecs.lookup(stream.encoding).name.startswith("utf") else _Fitted(stream)  # type: ignore[return-value]


class _Fitted:
    """A stream whose encoding lacks signs that attn writes."""

    def __init__(self, stream: TextIO):
        self._stream = stream

    def write(self, text: str) -> int:
        from attn_cli.render.signs import fitting

        return self._stream.write(fitting(text, self._stream.encoding))

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


class _Closed(io.StringIO):
    """Standard output where there is none. A result that would be lost is an error; one that goes into a file is not."""

    @property
    def buffer(self) -> _Closed:  # type: ignore[override]  # only ever written to
        return self

    def write(self, text: str | bytes) -> int:
        if text:
            raise UsageError("standard output is closed, so the result has nowhere to go")
        return 0


class _Remarks:
    """Standard error. That nobody listens to remarks is no reason to lose the result."""

    def __init__(self, stream: TextIO):
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except OSError:
            return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


def _drop_output() -> None:
    """Send what is still buffered nowhere, so that the interpreter does not fail again when it closes the stream."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except OSError:
                os.dup2(nowhere, stream.fileno())
    except (OSError, ValueError, AttributeError):  # not a real stream
        pass
