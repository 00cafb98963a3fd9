"""A framework's word gets the way to write it here; another unknown one the nearest that is known."""

import pytest

from attn_cli.engine.problem import MASK_PARTS, known_keys
from attn_cli.names import FRAMEWORK_WORDS, how_to_write, unknown


@pytest.mark.parametrize(
    ("word", "way"),
    [
        ("attn_mask", "drop"),
        ("key_padding_mask", "drop"),
        ("attention_mask", "keep"),
        ("is_causal", "mask: causal"),
        ("isCausal", "mask: causal"),
        ("numHeads", "heads: N"),
        ("attention_sink", "not here yet"),
        ("sliding_window", "window: [w - 1, 0]"),
        ("in_proj_weight", "W_Q, W_K and W_V"),
        ("in_proj_weight", "weights_layout: out_in"),
        ("W_QKV", "W_Q, W_K and W_V"),
        ("Wqkv.weight", "W_Q, W_K and W_V"),
        ("num_heads", "heads: N"),
        ("num_kv_heads", "kv_heads: N"),
        ("num-key-value-heads", "kv_heads: N"),
        ("q_proj.weight", "W_Q"),
        ("model.layers.0.self_attn.k_proj.weight", "W_K"),
        ("encoder.layer.11.v_proj.bias", "b_V"),
        ("out_proj.weight", "W_O"),
        ("out_proj.bias", "b_O"),
        ("use_scale", "scale"),
        ("softmax_scale", "scale"),
        ("sm_scale", "scale"),
        ("dropout", "leave it out"),
        ("alibi", "bias"),
        ("rope", "Q and K first"),
        ("sink", "not here yet"),
    ],
)
def test_a_frameworks_word_gets_the_way_to_write_it(word, way):
    assert way in how_to_write(word)
    message = unknown(word, known_keys())
    assert repr(word) in message
    assert way in message
    assert "did you mean" not in message


def test_a_slip_of_the_pen_gets_the_nearest_name_and_the_list():
    message = unknown("temprature", known_keys())
    assert message.startswith("there is no key 'temprature' (did you mean 'temperature'?); there are title, tokens")


def test_no_key_of_ours_is_taken_for_a_frameworks_word():
    assert {*known_keys()} & {*FRAMEWORK_WORDS} == set()
    assert {*MASK_PARTS} & {*FRAMEWORK_WORDS} == {"causal"}  # as a key of its own it belongs into mask


def test_what_is_told_to_be_written_is_written_so_here():
    said = " ".join(FRAMEWORK_WORDS.values())
    for key in ("W_Q", "W_K", "W_V", "W_O", "b_Q", "b_O", "heads", "kv_heads", "scale", "softcap", "bias", "mask", "weights_layout"):
        assert key in said
        assert key in known_keys()
