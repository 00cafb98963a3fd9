"""What a shell offers after TAB: commands, options, and the words that an option takes.

The script that a shell loads asks `attn --complete WORD…` for lines of a word and, after a tab, what it is; where there is none
the shell offers files. Nothing of this is imported by a run that is not asked for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import typer

from attn_cli.commands.help_page import Command
from attn_cli.errors import UsageError

if TYPE_CHECKING:
    from typer._click import Parameter

SCRIPTS = {
    "bash": """\
# In ~/.bashrc: eval "$(attn --show-completion bash)"
_attn_complete() {
    local IFS=$'\\n'
    COMPREPLY=($(attn --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
    [[ ${COMPREPLY[0]} == *[=\\[] ]] && compopt -o nospace
}
complete -o default -o bashdefault -F _attn_complete attn
""",
    "zsh": """\
#compdef attn
# In ~/.zshrc, after compinit: eval "$(attn --show-completion zsh)"
_attn_complete() {
    local -a found
    found=("${(@f)$(attn --complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -n "${found[1]}" ]]; then
        found=("${(@)found//:/\\\\:}")
        found=("${(@)found/$'\\t'/:}")
        _describe 'attn' found
    else
        _files
    fi
}
compdef _attn_complete attn
""",
    "fish": """\
# In ~/.config/fish/completions/attn.fish: attn --show-completion fish | source
function __attn_complete
    set -l words (commandline -opc) (commandline -ct)
    attn --complete $words[2..-1] 2>/dev/null
end
complete -c attn -a '(__attn_complete)'
""",
}
Offers = Iterable[tuple[str, str]]
"""Words, each with what it is."""


def script(arguments: Sequence[str]) -> str:
    """The script that a shell loads."""
    if len(arguments) != 1 or arguments[0] not in SCRIPTS:
        found = repr(" ".join(arguments)) if arguments else "nothing"
        raise UsageError(f"--show-completion: found {found}, expected one of {', '.join(SCRIPTS)}")
    return SCRIPTS[arguments[0]]


def answer(words: Sequence[str], commands: Mapping[str, str]) -> str:
    """What may stand in the place of the last word, a line each."""
    *before, start = words or [""]
    offers = _offers(before, start, commands)
    return "".join(f"{word}\t{what}\n" for word, what in offers if word.startswith(start))


def _offers(before: Sequence[str], start: str, commands: Mapping[str, str]) -> Offers:
    if not before:
        options = {"--help": "this page", "--version": "the version of attn", "--show-completion": "a script that completes words"}
        return (options if start.startswith("-") else commands).items()
    name, rest = before[0], before[1:]
    if name == "help":
        return commands.items()
    if name not in commands:
        return ()
    return _within(name, rest, start)


def _within(name: str, rest: Sequence[str], start: str) -> Offers:
    """What may follow the words `rest` after the name of a command."""
    command, rest = _innermost(typer.main.get_command(import_module(f"attn_cli.commands.{name}").app), rest)
    with command.make_context(name, [], resilient_parsing=True) as context:
        options = [p for p in command.get_params(context) if p.param_type_name == "option"]
    asked = next((p for p in options if rest and rest[-1] in p.opts and not getattr(p, "is_flag", False)), None)
    if asked is not None:
        return _values(asked)
    if start.startswith("-"):
        return [
            (opt, command.meaning(p) if isinstance(command, Command) else "") for p in options for opt in p.opts if opt.startswith("--")
        ]
    return _subcommands(command) or _arguments(name)


def _subcommands(command: Any) -> list[tuple[str, str]]:
    return [(name, each.get_short_help_str()) for name, each in getattr(command, "commands", {}).items()]


def _innermost(command: Any, words: Sequence[str]) -> tuple[Any, Sequence[str]]:
    """The command that a group of them leads to, and the words that follow it."""
    while words and words[0] in getattr(command, "commands", {}):
        command, words = command.commands[words[0]], words[1:]
    return command, words


def _values(option: Parameter) -> Offers:
    """What may follow an option."""
    if option.name in VALUES:
        return VALUES[option.name]()
    return [(word, "") for word in getattr(option.type, "choices", ())]


def _arguments(command: str) -> Offers:
    """What may stand as an argument, besides files."""
    if command == "samples":
        from attn_cli.commands.shelf import samples

        return [(name, "") for name in samples()]
    if command == "explain":
        from attn_cli.render.glossary import words

        return [(word.name, word.kind) for word in words()]
    return ()


def _members(family: str, home: str = "attention") -> Callable[[], Offers]:
    def offers() -> Offers:
        from attn_cli.engine.registry import FAMILIES

        import_module(f"attn_cli.engine.{home}")  # which registers them

        return [(entry.name, entry.summary) for entry in FAMILIES[family].entries()]

    return offers


def _choices(key: str) -> Callable[[], Offers]:
    def offers() -> Offers:
        from attn_cli.engine.problem import KEYS

        return [(word, "") for word in KEYS[key].choices]

    return offers


def _steps(after: str = "") -> Callable[[], Offers]:
    def offers() -> Offers:
        from attn_cli.engine.steps import GRADIENTS, STEPS
        from attn_cli.render.lang import text

        return [*((name + after, text(f"step.{name}", "en")) for name in STEPS), *((name + after, "") for name in GRADIENTS)]

    return offers


def _formats() -> Offers:
    from attn_cli.render.formats import FORMATS

    return [(name, " ".join(form.suffixes)) for name, form in FORMATS.items()]


VALUES: Mapping[str | None, Callable[[], Offers]] = {
    "score": _members("score"),
    "mode": _members("mode"),
    "estimator": _members("estimator", "estimators"),
    "dtype": _choices("dtype"),
    "mask": lambda: [("causal", "no query attends to a later key")],
    "only": _steps(),
    "cell": _steps("["),
    "points": _steps("="),
    "steps": _steps(),
    "format": _formats,
}
"""The words that the value of an option begins with, by the option's name."""
