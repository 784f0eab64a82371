"""Writes the derivative of a case as a module. In: a `Case`. Out: the text of `name.py`.

    generated(CASES[0])      import numpy as np ... def damped_grad(x, w): ...
"""

import numba

from adjit.transform.pipeline import Derivative, source
from tests.golden.primals import Case

KINDS = {"reverse": "grad", "value": "value_and_grad", "forward": "jvp"}


def generated(case: Case) -> str:
    derivative = Derivative(case.function, KINDS[case.mode], case.wrt, single=len(case.wrt) == 1)
    types = [numba.typeof(argument) for argument in case.arguments]
    # a tangent for each argument, None for those that are held fixed
    tangents = [type_ if k in case.wrt else numba.types.none for k, type_ in enumerate(types)]
    return source(derivative, types + tangents if case.mode == "forward" else types).module_text
