"""Arguments that share memory with each other, within themselves, or with what the function has from outside."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import adjit


def first_stored(x, y):
    y[0] = x
    return np.sum(y) * x


def only_read(x, y):
    return np.sum(y * y) * x


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_elements_that_share_memory(target: str) -> None:
    stored, read = adjit.value_and_grad(first_stored, target=target), adjit.value_and_grad(only_read, target=target)
    shared = (
        as_strided(np.ones(3), (3,), (0,)), np.broadcast_to(np.ones(3), (2, 3)), as_strided(np.ones(9), (3, 2), (8, 8)),
        as_strided(np.ones(9) * 1j, (3, 2), (0, 16)).real,
    )  # fmt: skip
    for given in shared:
        with pytest.raises(adjit.Aliased, match="elements of an argument share memory"):
            stored(2.0, given)
        with pytest.raises(adjit.Aliased):
            adjit.jvp(first_stored, (2.0, given), (1.0, np.zeros(given.shape)), target=target)
        value, slope = read(2.0, given)
        assert value == 2.0 * slope == 2.0 * np.sum(given * given)
    apart = (
        np.ones(3), np.ones((3, 2))[:, 0], np.ones(3)[::-1], as_strided(np.ones(3), (1,), (0,)), np.ones((3, 4)).T,
        np.ones((6, 8))[::2, ::-3], np.asfortranarray(np.ones((3, 4))), np.ones((2, 3, 4))[:, ::2].transpose(2, 0, 1),
        np.ones((3, 4), complex).real,
    )  # fmt: skip
    for given in apart:
        assert stored(2.0, given)[0] == first_stored(2.0, given.copy())


def test_results_into_elements_that_share_memory() -> None:
    made = adjit.grad(lambda x: np.sum(x * x))
    with pytest.raises(adjit.Aliased):
        made.into(np.arange(3.0), out=as_strided(np.zeros(3), (3,), (0,)))
    assert made.into(np.arange(3.0), out=np.zeros(6)[::2]).tolist() == [0.0, 2.0, 4.0]
