"""What adjit writes for a case of `primals.py`: the golden outputs, and what is compared with them.

    generated(CASES[0])      import numpy as np ... def damped_grad(x, w): ...

Run as a module, `python -m tests.golden.generate`, it writes all of them anew.
"""

from pathlib import Path

import numba

from adjit.transform.pipeline import Derivative, source
from tests.golden.primals import CASES, Case

KINDS = {"reverse": "grad", "value": "value_and_grad", "forward": "jvp"}


def golden(case: Case) -> Path:
    return Path(__file__).parent / f"{case.name}.py"


def generated(case: Case) -> str:
    """The text of the module."""
    derivative = Derivative(case.function, KINDS[case.mode], case.wrt, single=len(case.wrt) == 1)
    types = tuple(numba.typeof(argument) for argument in case.arguments)
    return source(derivative, 2 * types if case.mode == "forward" else types).module_text


if __name__ == "__main__":
    for each in CASES:
        golden(each).write_text(generated(each), encoding="utf-8")
