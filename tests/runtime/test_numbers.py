"""Numbers beside tensors: their dtypes, and those that the tensor's dtype does not reach."""

import numpy as np
import pytest

import tidy.runtime as rt

BYTES, SMALL = rt.tensor([3, 255], dtype=rt.uint8), rt.tensor([3, -5], dtype=rt.int8)
LOG_256 = 5.545177444479562


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: BYTES / 256, [3 / 256, 255 / 256]),
        (lambda: BYTES / np.int64(256), [3 / 256, 255 / 256]),
        (lambda: BYTES / -3, [-1, -85]),
        (lambda: SMALL / 200, [0.015, -0.025]),
        (lambda: 200 / SMALL, [200 / 3, -40]),
        (lambda: np.int64(200) / SMALL, [200 / 3, -40]),
        (lambda: BYTES / rt.tensor(300), [0.01, 0.85]),
        (lambda: rt.tensor(300) / BYTES, [100, 300 / 255]),
        (lambda: rt._foreach_div([BYTES], 300)[0], [0.01, 0.85]),
        (lambda: rt.xlogy(BYTES, 256), [3 * LOG_256, 255 * LOG_256]),
        (lambda: rt.xlogy(256, BYTES[:1]), [256 * np.log(3)]),
        (lambda: rt.atan2(BYTES, rt.tensor(300)), [np.arctan2(3, 300), np.arctan2(255, 300)]),
    ],
)
def test_integers_are_floats_before_a_float_is_made_of_them(call, expected):
    found = call()
    assert found.dtype == rt.float32
    assert found.tolist() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("call", "dtype", "expected"),
    [
        (lambda: rt.tensor([2.0]) * np.longdouble(1.5), rt.float32, [3]),
        (lambda: np.longdouble(1.5) * rt.tensor([2]), rt.float32, [3]),
        (lambda: rt.add(rt.tensor([2]), np.float64(1)), rt.float32, [3]),
        (lambda: rt.tensor([2]).clamp(np.float64(2.5)), rt.float32, [2.5]),
        (lambda: rt.tensor([True]) / np.float64(2), rt.float32, [0.5]),
        (lambda: rt.tensor([2]) * np.float16(1.5), rt.float32, [3]),
        (lambda: rt.tensor([2.0]).half() * np.float64(1.5), rt.float16, [3]),
        (lambda: rt.full((1,), np.float64(2)), rt.float32, [2]),
        (lambda: rt.tensor([2]) * np.complex128(1j), rt.complex64, [2j]),
        (lambda: rt.tensor([2.0]) < np.longdouble(1.5), rt.bool, [False]),
        (lambda: rt.tensor([2.0]) + np.clongdouble(1.5), rt.complex64, [3.5]),
        (lambda: BYTES[0] * np.int64(3), rt.uint8, 9),
        (lambda: np.int64(4) - BYTES[0], rt.uint8, 1),
        (lambda: 4 - BYTES[0], rt.uint8, 1),
        (lambda: BYTES[0] ** np.int64(2), rt.uint8, 9),
        (lambda: 300 / BYTES[0], rt.float32, 100),
        (lambda: rt.tensor(True) + np.int64(1), rt.int64, 2),
        (lambda: rt.tensor([2]) * np.bool_(True), rt.float32, [2]),
        (lambda: rt.where(rt.tensor([True]), np.bool_(True), 2), rt.float32, [1]),
        (lambda: rt.full((1,), np.bool_(True)), rt.float32, [1]),
        (lambda: rt.full((1,), rt.tensor(2.5, dtype=rt.float64)), rt.float32, [2.5]),
        (lambda: rt.full((1,), BYTES[0]), rt.int64, [3]),
        (lambda: rt.arange(rt.tensor(2.0, dtype=rt.float64)), rt.float32, [0, 1]),
        (lambda: rt.xlogy(rt.ones(2), 1.0), rt.float32, [0, 0]),
        (lambda: rt.addcmul(SMALL, SMALL, SMALL, value=0.5), rt.int8, [3, -5]),
        (lambda: rt.where(rt.tensor([True]), 70000, rt.ones(1).half()), rt.float16, [np.inf]),
        (lambda: rt.where(BYTES > 3, BYTES, -3), rt.uint8, [253, 255]),
    ],
)
def test_numbers_of_numpy_count_as_pythons(call, dtype, expected):
    found = call()
    assert found.dtype == dtype
    assert found.tolist() == expected


@pytest.mark.parametrize("dtype", [rt.float16, rt.float32, rt.float64])
def test_numbers_drawn_are_below_the_upper_end(dtype, monkeypatch):
    class Highest:
        def uniform(self, low, high, shape):
            return np.full(shape, np.nextafter(high, low))

    monkeypatch.setattr(rt.default_generator, "_stream", Highest())
    assert (rt.empty(3, dtype=dtype).uniform_() < 1).all()
    assert (rt.empty(3, dtype=dtype).uniform_(-2, -1) < -1).all()
    assert rt.empty(3, dtype=dtype).uniform_(2, 2).tolist() == [2, 2, 2]


ONES, ROWS = rt.ones(2, 2), rt.arange(8.0).view(2, 4)
LEAF = rt.ones(2, 2, 2, requires_grad=True)


@pytest.mark.parametrize(
    "call",
    [
        lambda number, _: ONES.lerp(ONES * 2, number(0.1)),
        lambda number, _: rt.addcmul(ONES, ONES, ONES, value=number(0.1)),
        lambda number, _: rt.addcdiv(ONES, ONES, ONES, value=number(0.1)),
        lambda number, _: rt.nn.functional.softplus(ONES, beta=number(2)),
        lambda number, _: rt.nn.functional.celu(-ONES, alpha=number(2)),
        lambda number, _: ONES.norm(number(3)),
        lambda number, _: rt.linalg.vector_norm(ONES, number(3)),
        lambda number, _: rt.nn.functional.normalize(ONES, p=number(3)),
        lambda number, _: rt.cdist(ONES, ONES * 2, p=number(3)),
        lambda number, _: rt.nn.functional.pairwise_distance(ONES, ONES * 2, p=number(3)),
        lambda _, whole: ROWS.sum(whole(0)),
        lambda _, whole: ROWS.argmax(whole(1)),
        lambda _, whole: ROWS.std(whole(1), keepdim=True),
        lambda _, whole: ROWS.logsumexp(whole(0)),
        lambda _, whole: rt.autograd.grad(LEAF.logsumexp(whole(0)).sum(), LEAF)[0],
        lambda _, whole: rt.autograd.grad(LEAF.sum(whole(1)).sum(), LEAF)[0],
        lambda _, whole: rt.nn.LayerNorm(whole(4))(ROWS),
        lambda _, whole: rt.nn.Conv1d(2, 1, whole(2), padding=whole(1)).weight[0] * 0,
        lambda _, whole: rt.nn.AvgPool1d(whole(2))(ROWS),
        lambda _, whole: rt.nn.ConstantPad1d(whole(2), 1)(ROWS),
        lambda _, whole: ROWS.chunk(whole(2))[1],
        lambda _, whole: ROWS.roll(whole(1), whole(0)),
        lambda _, whole: rt.movedim(ROWS, whole(0), whole(1)),
        lambda _, whole: rt.nn.functional.max_pool1d(ROWS, whole(2), whole(1)),
        lambda _, whole: rt.nn.functional.adaptive_avg_pool1d(ROWS, whole(2)),
        lambda _, whole: rt.nn.functional.conv1d(ROWS[None], ONES[None], stride=whole(2)),
    ],
)
def test_arguments_of_numpy_count_as_pythons(call):
    found, expected = call(np.float64, np.int64), call(float, int)
    assert found.dtype == expected.dtype
    assert found.tolist() == expected.tolist()
