import numpy as np
import pytest

from adjit.errors import WrongWrt
from adjit.runtime.check import check_grads

X = np.array([1.0, -2.0, 0.5])


def test_right(handmade):
    check_grads(handmade.energy, (X, 3.0), order=1)
    check_grads(handmade.pair, (2.0, 3, (5.0, X)), order=1)
    check_grads(handmade.scaled, (X, 3.0), order=2)


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("jvp", "def energy_jvp(x, k, x_dot, k_dot): return 0.0, 2.0 * k * np.sum(x * x_dot)", "modes differ"),
        ("vjp", "def energy_vjp(x, k, out_bar): return 2.0 * k * x * out_bar, 0.0", "modes differ"),
    ],
)
def test_wrong(handmade, kind, text, message):
    handmade.texts["energy", kind, (0, 1)] = text
    with pytest.raises(AssertionError, match=message):
        check_grads(handmade.energy, (X, 3.0), order=1)


def test_both_wrong(handmade):
    jvp = "def energy_jvp(x, k, x_dot, k_dot): return 0.0, 2.0 * k * np.sum(x * x_dot)"
    handmade.texts["energy", "jvp", (0, 1)] = jvp
    handmade.texts["energy", "vjp", (0, 1)] = "def energy_vjp(x, k, out_bar): return 2.0 * k * x * out_bar, 0.0"
    with pytest.raises(AssertionError, match="not that of the function"):
        check_grads(handmade.energy, (X, 3.0), order=1)


def test_nothing_to_check(handmade):
    with pytest.raises(WrongWrt):
        check_grads(handmade.chosen, (3,))
