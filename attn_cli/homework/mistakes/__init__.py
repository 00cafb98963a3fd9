"""The known mistakes, by theme. A mistake is one registered function and its sentence in each language of `render/lang`."""

# The order of these lines is the order in which mistakes are tried, the simplest first.
# ruff: noqa: I001
from attn_cli.homework.mistakes.registry import MISTAKES, Mistake
from attn_cli.homework.mistakes.scene import Scene
from attn_cli.homework.mistakes import scale, softmax, masks, scores, values, projections, heads, gradients

__all__ = ["MISTAKES", "Mistake", "Scene", "gradients", "heads", "masks", "projections", "scale", "scores", "softmax", "values"]
