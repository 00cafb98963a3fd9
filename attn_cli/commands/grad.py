"""`attn grad`: the backward pass, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from attn_cli.commands.help_page import Command
from attn_cli.commands.options import FileOptions, Look, Matrices, Settings, application, grouped
from attn_cli.commands.output import Output, write
from attn_cli.commands.trace import Cells, Depth, Full
from attn_cli.commands.walkthrough import File, walk
from attn_cli.errors import InputError, UsageError

if TYPE_CHECKING:
    from attn_cli.engine.problem import Problem
    from attn_cli.engine.steps import Trace

app = application()


class GradCommand(Command):
    """One whose --baseline may stand alone: then it is the best one."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        for i in reversed([i for i, text in enumerate(args) if text == "--baseline"]):
            if args[i + 1 : i + 2] == [] or args[i + 1].startswith("--"):
                args = [*args[: i + 1], "best", *args[i + 1 :]]
        return super().parse_args(ctx, args)


@app.command(cls=GradCommand)
@grouped
def run(
    settings: Settings,
    matrices: Matrices,
    look: Look,
    files: FileOptions,
    file: File = None,
    output: Output = None,
    cell: Cells = None,
    depth: Depth = None,
    full: Full = False,
    verify: Annotated[bool, typer.Option("--verify", help="Compare with central differences of the loss.")] = False,
    estimator: Annotated[
        str | None, typer.Option(metavar="NAME", help="For a choice: straight-through, gumbel or reinforce in place of its gradient.")
    ] = None,
    samples: Annotated[int, typer.Option(metavar="N", help="Samples of an estimator whose mean is shown.")] = 1000,
    baseline: Annotated[str | None, typer.Option(metavar="best|mean|NUMBER", help="What reinforce takes off the reward of a row.")] = None,
) -> None:
    """
    \b
    attn grad                                  the textbook's example, both ways
    attn grad problem.yaml --only dS --verify  one step, and a proof
    attn grad --cell 'dW_Q[1,1]'               one number, down to the inputs
    attn grad --mode hard --estimator reinforce --baseline best

    Print the backward pass of an attention problem with the arithmetic of its cells. `upstream` in the file is the
    gradient of the loss with respect to the output; without it the loss is the sum of the output.
    """

    def work(problem: Problem) -> Trace:
        from attn_cli.engine.differences import verified
        from attn_cli.engine.estimators import estimate
        from attn_cli.engine.large.memory import refuse_beyond_memory
        from attn_cli.engine.training import differentiate

        refuse_beyond_memory(problem)
        if estimator is None:
            if baseline is not None:
                raise UsageError("--baseline belongs to --estimator reinforce, which is not asked for")
            trace = differentiate(problem)
            return verified(trace) if verify else trace
        if verify:
            raise UsageError("--verify: an estimate is not the slope of the loss, so there is nothing to compare; leave out --estimator")
        return estimate(problem, estimator, samples, _baseline(baseline, estimator, files))

    trace = walk(file, settings, matrices, files, look, output, "trace", cell or (), full, work, depth=depth)
    if "estimate" in trace.findings and output is None and look.format in (None, "table", "plain", "markdown"):
        from attn_cli.render.estimates import estimate_sheet
        from attn_cli.render.sheet import written

        style = look.style("trace", on_screen=True)
        write("\n" + written(estimate_sheet(trace, style), look.format or "table", style), None)


def _baseline(text: str | None, estimator: str, files: FileOptions) -> str | float | None:
    """`mean`, or a number in the syntax of the files."""
    if text is None or text == "none":
        return None
    if estimator != "reinforce":
        raise UsageError(f"--baseline belongs to --estimator reinforce, not to {estimator}")
    if text in ("mean", "best"):
        return text
    from attn_cli.files.cells import number

    try:
        return number(text, files.decimal or ".")
    except InputError as error:
        raise UsageError(f"--baseline: {error.message}; or write best or mean") from None
