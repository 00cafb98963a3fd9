"""The node tests of ONNX's Attention operator: every case, every output, to the precision of its type.

Each element of a batch becomes one problem. Keys and values of the past stand in front of the new ones, so that the
queries start at position `offset`; padding is `lengths`; a mask of true and false says who may attend, any other is a bias.
ONNX multiplies Q and K by √scale each, which is the scale once.
"""

import warnings
from importlib import import_module
from unittest.mock import patch

import numpy as np
import pytest

from attn_cli.engine.attention import solve
from attn_cli.engine.problem import Mask, Problem

onnx = pytest.importorskip("onnx", reason="onnx is not installed: pip install -e '.[test,conformance]'")

COUNT = 93
"""Cases that the operator has since ONNX 1.23, leaving aside those that repeat one as an expanded graph."""

LEFT_OUT: dict[str, str] = {}
"""Cases that test something other than attention: name -> reason."""

STAGES = ("raw_scores", "capped", "scores", "weights")
"""The step that each qk_matmul_output_mode asks for; one that was left out because it changes nothing is the one before."""

PRECISION = {"float32": 1e-6, "float16": 1e-3, "bfloat16": 8e-3}
"""Relative to the largest number of the output: what its type can tell apart."""


def collected():
    """The cases; of the modules that define them, only Attention's is imported, for all of them take ten seconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case import node

        with patch.object(node, "import_recursive", lambda package: import_module(f"{package.__name__}.attention")):
            cases = node.collect_testcases("Attention")
        return [case for case in cases if not case.name.endswith("_expanded")]


CASES = collected()


def read(case):
    """(attributes, inputs by name, outputs by name) of a case; inputs as float64, except masks of true and false."""
    node = case.model.graph.node[0]
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    values = dict(zip([name for name in node.input if name], case.data_sets[0][0], strict=True))
    outputs = dict(zip([name for name in node.output if name], case.data_sets[0][1], strict=True))
    inputs = {name: a if a.dtype == bool else a.astype(np.float64) for name, a in values.items()}
    return attributes, inputs, outputs


def flat(heads):
    """(h, n, d) -> (n, h·d)"""
    return np.moveaxis(heads, 0, 1).reshape(heads.shape[1], -1)


def joined(name, past, inputs, b):
    """The keys or values of one element of the batch, those of the past in front."""
    new = inputs[name][b]
    if past not in inputs:
        return new
    old = inputs[past][b]
    return np.concatenate([old if new.ndim == 3 else flat(old), new], axis=-2)


def problem(attributes, inputs, b):
    """One element of the batch as a problem."""
    q = inputs["Q"][b]
    k, v = joined("K", "past_key", inputs, b), joined("V", "past_value", inputs, b)
    h = attributes.get("q_num_heads", q.shape[0])
    n, m = q.shape[-2], k.shape[-2]
    length = int(inputs["nonpad_kv_seqlen"][b]) if "nonpad_kv_seqlen" in inputs else None
    past = inputs["past_key"].shape[-2] if "past_key" in inputs else 0
    window = tuple(None if size < 0 else size for size in (attributes.get(f"{side}_window_size", -1) for side in ("left", "right")))
    mask = Mask(
        causal=bool(attributes.get("is_causal")),
        offset=past if length is None else length - n,
        window=None if window == (None, None) else window,
        lengths=length,
    )
    changes = {}
    if "attn_mask" in inputs:
        given = inputs["attn_mask"]
        closed = False if given.dtype == bool else -np.inf
        short = m - given.shape[-1] if given.shape[-1] > 1 else 0
        given = np.pad(given, [(0, 0)] * (given.ndim - 1) + [(0, short)], constant_values=closed)
        given = np.broadcast_to(given, (len(inputs["Q"]), h, n, m))[b]
        if given.dtype == bool:
            mask = Mask(mask.causal, mask.offset, mask.window, mask.lengths, keep=given)
        else:
            changes["bias"] = given
    return Problem(
        Q=q,
        K=k,
        V=v,
        heads=h,
        kv_heads=attributes.get("kv_num_heads", k.shape[0]),
        scale=attributes.get("scale"),
        softcap=attributes.get("softcap") or None,
        mask=mask,
        **changes,
    )


def by_head(trace, name):
    """A step with its head axis, also where there is one head."""
    value = trace[name]
    return value if trace.sizes.h > 1 else value[None]


def stage(trace, mode):
    """What qk_matmul_output holds at a mode."""
    recorded = [name for name in STAGES[: mode + 1] if name in trace] or [next(name for name in STAGES if name in trace)]
    return by_head(trace, recorded[-1])


def ours(trace, name, attributes, theirs):
    """Our value of an output of the operator."""
    if name == "Y":
        return trace["output"] if theirs.ndim == 2 else by_head(trace, "heads" if trace.sizes.h > 1 else "output")
    if name == "qk_matmul_output":
        return stage(trace, attributes.get("qk_matmul_output_mode", 0))
    return by_head(trace, {"present_key": "K", "present_value": "V"}[name])


@pytest.mark.parametrize("case", CASES, ids=[case.name.removeprefix("test_attention_") for case in CASES])
def test_every_output_agrees(case):
    if case.name in LEFT_OUT:
        pytest.skip(LEFT_OUT[case.name])
    attributes, inputs, outputs = read(case)
    for b in range(len(inputs["Q"])):
        trace = solve(problem(attributes, inputs, b))
        for name, batch in outputs.items():
            expected = batch[b].astype(np.float64)
            masked = np.isneginf(expected)
            actual = ours(trace, name, attributes, expected)
            assert actual.shape == expected.shape
            assert np.array_equal(np.isneginf(actual), masked)
            near = PRECISION[str(batch.dtype)] * max(1, np.abs(expected[~masked]).max(initial=0))
            assert actual[~masked] == pytest.approx(expected[~masked], rel=0, abs=near), name


def test_all_of_them_are_here():
    assert len(CASES) >= COUNT
    assert {case.name for case in CASES} >= set(LEFT_OUT)
