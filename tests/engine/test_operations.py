"""Each operation alone: the arithmetic of its cells, its gradient, and the gradient of its gradient, by central differences."""

import numpy as np
import pytest

from attn_cli.engine import operations as op
from attn_cli.engine.expression import constant, symbol
from attn_cli.engine.gradient import backward
from attn_cli.engine.operations import given
from attn_cli.engine.operations.products import Linear, each, outer_sum

MASK = np.array([[1, 1, 0], [1, 0, 1]], bool)
OPERATIONS = {
    "a·b": (op.product, [(2, 3), (3, 4)], lambda a, b: a @ b),
    "a·bᵀ": (op.product_t, [(2, 3), (4, 3)], lambda a, b: a @ b.T),
    "aᵀ·b": (op.Product(left=True), [(3, 2), (3, 4)], lambda a, b: a.T @ b),
    "aᵀ·bᵀ": (op.Product(left=True, right=True), [(3, 2), (4, 3)], lambda a, b: a.T @ b.T),
    "a·b of heads": (op.product, [(2, 2, 3), (3, 4)], lambda a, b: np.stack([x @ b for x in a])),
    "A·V": (op.weighted, [(2, 3), (3, 2)], lambda a, b: a @ b),
    "W·x": (op.linear, [(2, 3, 2), (4, 2)], lambda x, w: np.einsum("ijc,ac->ija", x, w)),
    "Wᵀ·x": (Linear(turned=True), [(2, 3, 4), (4, 2)], lambda x, w: np.einsum("ija,ac->ijc", x, w)),
    "sum of a·bᵀ": (outer_sum, [(2, 3, 2), (2, 3, 4)], lambda a, b: np.einsum("ija,ijb->ab", a, b)),
    "vᵀ·x": (op.weigh, [(2, 3, 4), (4,)], lambda x, v: x @ v),
    "yᵀ·x": (op.weigh, [(2, 3, 4), (2, 3, 4)], lambda x, y: (x * y).sum(axis=-1)),
    "s·v": (each, [(2, 3), (4,)], lambda s, v: s[..., None] * v),
    "s·x": (each, [(2, 3), (2, 3, 4)], lambda s, x: s[..., None] * x),
    "a + b": (op.add, [(2, 3), (3,)], lambda a, b: a + b),
    "a - b": (op.subtract, [(2, 3), (2, 1)], lambda a, b: a - b),
    "a ∘ b": (op.multiply, [(2, 3), (2, 3)], lambda a, b: a * b),
    "a / b": (op.divide, [(2, 3), (2, 1)], lambda a, b: a / b),
    "a²": (op.square, [(2, 3)], lambda a: a * a),
    "tanh": (op.tanh, [(2, 3)], np.tanh),
    "exp": (op.exp, [(2, 3)], np.exp),
    "c·a": (op.times(constant(3)), [(2, 3)], lambda a: 3 * a),
    "a/c": (op.over(symbol("c", number=4.0)), [(2, 3)], lambda a: a / 4),
    "rows set to 0": (op.Zeroed(np.array([[True], [False]])), [(2, 3)], lambda a: np.array([[0, 0, 0], a[1]])),
    "row sum": (op.row_sum, [(2, 3)], lambda a: a.sum(axis=-1)),
    "row sum, kept": (op.row_sum_kept, [(2, 3)], lambda a: a.sum(axis=-1, keepdims=True)),
    "row length": (op.row_norm, [(2, 3)], lambda a: np.linalg.norm(a, axis=-1, keepdims=True)),
    "sum over heads": (op.SumTo((3, 2), (2, 3, 2)), [(2, 3, 2)], lambda a: a.sum(axis=0)),
    "sum over rows": (op.SumTo((3,), (2, 3)), [(2, 3)], lambda a: a.sum(axis=0)),
    "sum over vectors": (op.SumTo((4,), (2, 3, 4)), [(2, 3, 4)], lambda a: a.sum(axis=(0, 1))),
    "sum over keys": (op.SumTo((2, 1, 4), (2, 3, 4)), [(2, 3, 4)], lambda a: a.sum(axis=1, keepdims=True)),
    "sum over queries": (op.SumTo((1, 3, 4), (2, 3, 4)), [(2, 3, 4)], lambda a: a.sum(axis=0, keepdims=True)),
    "sum over all": (op.SumTo((1,), (2, 3)), [(2, 3)], lambda a: np.array([a.sum()])),
    "cut": (op.cut_heads(2), [(3, 4)], lambda a: np.stack([a[:, :2], a[:, 2:]])),
    "join": (op.join_heads, [(2, 3, 2)], lambda a: np.concatenate([a[0], a[1]], axis=1)),
    "repeat": (op.repeat_heads(2), [(2, 3, 2)], lambda a: np.stack([a[0], a[0], a[1], a[1]])),
    "pairs": (
        op.pairs,
        [(2, 1, 2), (1, 3, 4)],
        lambda q, k: np.array([[[*q[i, 0], *k[0, j]] for j in range(3)] for i in range(2)]),
    ),
}
"""Each operation, shapes of its operands, and what it is in plain NumPy."""


def operands(name):
    r = np.random.default_rng(len(name))
    return [given(f"x{i}", r.normal(size=shape), symbol(f"x{i}")) for i, shape in enumerate(OPERATIONS[name][1])]


def loss_of_gradient(name, arrays, g, h):
    """The gradients for arrays, times h, added up."""
    out = OPERATIONS[name][0](*[given(f"x{i}", a, symbol("x")) for i, a in enumerate(arrays)])
    found = backward(out, given("g", g, symbol("g")))
    return sum(float((found[f"x{i}"].value * h[i]).sum()) for i in range(len(arrays)))


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_is_what_it_says_cell_by_cell(name):
    operation, _, expected = OPERATIONS[name]
    xs = operands(name)
    out = operation(*xs)
    assert out.value == pytest.approx(expected(*[x.value for x in xs]), abs=1e-12)
    for at in np.ndindex(out.value.shape):
        assert out.cell(at).evaluate() == pytest.approx(out.value[at], abs=1e-12)


@pytest.mark.parametrize("name", OPERATIONS)
def test_its_gradient_is_the_slope_and_its_cells_hold(name):
    operation, _, expected = OPERATIONS[name]
    xs = operands(name)
    out = operation(*xs)
    g = np.random.default_rng(1).normal(size=out.value.shape)
    found = backward(out, given("g", g, symbol("g")))
    for i, x in enumerate(xs):
        for at in np.ndindex(x.value.shape):
            losses = []
            for step in (1e-6, -1e-6):
                moved = [y.value.copy() for y in xs]
                moved[i][at] += step
                losses.append(float((np.asarray(expected(*moved)) * g).sum()))
            assert found[f"x{i}"].value[at] == pytest.approx((losses[0] - losses[1]) / 2e-6, rel=1e-6, abs=1e-6)
            assert found[f"x{i}"].cell(at).evaluate() == pytest.approx(found[f"x{i}"].value[at], abs=1e-12)


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_gradient_of_its_gradient_is_the_slope_of_the_gradient(name):
    operation, _, _ = OPERATIONS[name]
    xs = operands(name)
    out = operation(*xs)
    r = np.random.default_rng(2)
    g, h = r.normal(size=out.value.shape), [r.normal(size=x.value.shape) for x in xs]
    first = backward(out, given("g", g, symbol("g")))
    for i, x in enumerate(xs):
        second = backward(first[f"x{i}"], given("h", h[i], symbol("h")))
        only = [h[j] if j == i else np.zeros_like(h[j]) for j in range(len(xs))]
        for at in np.ndindex(g.shape):  # along g
            moved = [g.copy(), g.copy()]
            moved[0][at] += 1e-6
            moved[1][at] -= 1e-6
            up, down = (loss_of_gradient(name, [y.value for y in xs], m, only) for m in moved)
            assert second["g"].value[at] == pytest.approx((up - down) / 2e-6, rel=1e-5, abs=1e-5)
        for j, y in enumerate(xs):  # and along each operand
            slope = second[f"x{j}"].value if f"x{j}" in second else np.zeros(y.value.shape)
            for at in np.ndindex(y.value.shape):
                losses = []
                for step in (1e-6, -1e-6):
                    arrays = [z.value.copy() for z in xs]
                    arrays[j][at] += step
                    losses.append(loss_of_gradient(name, arrays, g, only))
                assert slope[at] == pytest.approx((losses[0] - losses[1]) / 2e-6, rel=1e-4, abs=1e-4)
        assert x.value.shape == first[f"x{i}"].value.shape


def test_masked_scores_are_minus_infinity_and_get_no_gradient():
    x = given("x", np.arange(6.0).reshape(2, 3), symbol("x"))
    out = op.Masked(MASK)(x)
    assert out.value.tolist() == [[0, 1, -np.inf], [3, -np.inf, 5]]
    assert [out.cell(at).evaluate() for at in np.ndindex(2, 3)] == out.value.ravel().tolist()
    assert backward(out, given("g", np.ones((2, 3)), symbol("g")))["x"].value.tolist() == MASK.astype(int).tolist()
    assert op.Masked(np.stack([MASK, ~MASK]))(x).expr.plain(str) == "x + Mₕ"


def test_a_weight_of_zero_skips_a_value_that_is_not_a_number():
    a = given("A", np.array([[1.0, 0.0]]), symbol("A"))
    v = given("V", np.array([[2.0], [np.nan]]), symbol("V"))
    out = op.weighted(a, v)
    assert out.value.tolist() == [[2]]
    assert out.cell((0, 0)).evaluate() == 2
    found = backward(out, given("g", np.ones((1, 1)), symbol("g")))
    assert found["A"].value.tolist() == [[2, 0]]
    assert found["V"].value.tolist() == [[1], [0]]
    nothing = op.weighted(given("A", np.zeros((1, 2)), symbol("A")), v)
    assert nothing.cell((0, 0)).evaluate() == 0
    assert np.isnan(op.weighted(given("A", np.ones((1, 2)), symbol("A")), v).value).all()


def test_zero_by_zero_is_zero():
    zero, one = given("a", np.zeros((1, 2)), symbol("a")), given("b", np.array([[0.0, 2.0]]), symbol("b"))
    out = op.divide(zero, one)
    assert out.value.tolist() == [[0, 0]]
    assert [out.cell((0, j)).evaluate() for j in range(2)] == [0, 0]


def test_the_largest_of_a_row_masked_as_a_whole_is_zero():
    x = given("S", np.array([[-np.inf, -np.inf], [3.0, -np.inf]]), symbol("S"))
    out = op.row_max(x)
    assert out.value.tolist() == [[0], [3]]
    assert [out.cell((i, 0)).evaluate() for i in range(2)] == [0, 3]


def test_the_size_of_a_row_is_that_of_its_largest_entry():
    out = op.row_size(given("Q", np.array([[1.0, -3.0], [0.5, 0.25]]), symbol("Q")))
    assert out.value.tolist() == [[3], [0.5]]
    assert [out.cell((i, 0)).evaluate() for i in range(2)] == [3, 0.5]
    assert out.expr.plain(str) == "max|Q|"


def test_scores_that_nearly_tie_are_equal_and_the_first_wins():
    scores = np.array([[1.0, 1.0 + 5e-13, 0.0], [1e6, 1e6 + 5e-7, 0], [1.0, 1.0 + 5e-12, 0.0], [-np.inf] * 3])
    assert op.ties(scores).tolist() == [[True, True, False], [True, True, False], [False, True, False], [False] * 3]
    assert op.one_hot(scores).tolist() == [[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 0]]
    out = op.OneHot()(given("S", scores, symbol("S")))
    assert [[out.cell((i, j)).evaluate() for j in range(3)] for i in range(3)] == op.one_hot(scores)[:3].tolist()
