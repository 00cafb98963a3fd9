"""`attn explain`: what a word means."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

import typer

from attn_cli.commands.help_page import WIDEST, Command
from attn_cli.commands.options import application, spoken, terminal_width

app = application()


@app.command(cls=Command)
def run(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[WORD]...", help="A step, score function, mode, key, format, verdict or mistake.")
    ] = None,
    lang: Annotated[Literal["en", "zh"] | None, typer.Option(help="Language (default: from the locale).")] = None,
) -> None:
    """
    \b
    attn explain            every word there is
    attn explain softmax    one of them
    attn explain no_scale   a mistake that attn check names

    Say what a word means: a sentence, formula, shape, source and an example.
    """
    from attn_cli.render.glossary import explained, overview

    width = min(terminal_width(), WIDEST)
    spoken_here = lang or spoken()
    pages = [explained(word, spoken_here, width) for word in words or []]
    sys.stdout.write("\n".join(pages) if pages else overview(spoken_here, width))
