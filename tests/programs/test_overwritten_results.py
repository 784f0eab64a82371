"""What a call on whole arrays returns, or was given, and is overwritten: its adjoint reads what was there before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.defining import define
from tests.programs.harness import check
from tests.programs.rows import wave

# adjoints read the result of all but the last two
RESULTS = {
    "solve": "np.linalg.solve(C, B)",
    "inv": "np.linalg.inv(C)",
    "pinv": "np.linalg.pinv(C)",
    "cholesky": "np.linalg.cholesky(C)",
    "eigenvectors": "np.linalg.eigh(C)[1]",
    "qr": "np.linalg.qr(C)[0]",
    "cumprod": "np.cumprod(C[1])",
    "singular_values": "np.linalg.svd(C)[1]",
    "product": "C @ B",
}

OVERWRITES = {
    "in_place": """
    b = {call}
    b += 0.3
    t = np.sum(b * b)
    b[:2] *= b[1:3]
    b[0] = 7.0
    return t + np.sum(b ** 3) * np.sum(b)
""",
    "through_views_and_masks": """
    b = {call}
    c = b.copy()
    v = b[1:]
    v *= 2.0
    m = c > 0.2
    b[m] *= 3.0
    b[~m] = c[~m] + 1.0
    return np.sum(b * c * np.cos(b))
""",
    "in_loops_and_branches": """
    t = 0.0
    b = {call}
    for k in range(3):
        b += 0.3 * k
        if k > 0:
            b *= b
        t += np.sum(b * np.cos(b))
        b = {call}
        B = B * 0.9
        C = C * 1.1
    b[0] = 2.0
    return t + np.sum(b * b)
""",
    "what_it_was_given": """
    C, B = C.copy(), B.copy()
    t = 0.0
    for k in range(2):
        b = {call}
        C *= 1.2
        B[:] = B * B
        b -= 0.1
        t += np.sum(b * b)
    return t + C.sum()
""",
}


def program(call: str, overwrite: str) -> Any:
    text = "import numpy as np\ndef program(B, C):" + OVERWRITES[overwrite].format(call=RESULTS[call])
    return define(text, f"<{call} {overwrite}>", __name__=__name__)["program"]


def matrices() -> tuple[np.ndarray, np.ndarray]:
    a = wave(3, 3)
    return a + 0.2 * np.arange(3.0), np.diag([0.4, 1.3, 2.5]) + 0.05 * (a + a.T)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("call", RESULTS)
@pytest.mark.parametrize("overwrite", OVERWRITES)
def test_overwritten(call: str, overwrite: str) -> None:
    check(program(call, overwrite), matrices, (0, 1), second=False)


def test_overwritten_in_second_order() -> None:
    check(program("cumprod", "in_loops_and_branches"), matrices, (0, 1))
