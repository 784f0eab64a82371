"""What `front.py` gives is what numba's own passes give, statement for statement and name for name."""

import importlib
import io
import pkgutil
import re
from types import FunctionType

import pytest
from numba.core import bytecode
from numba.core.compiler import Flags, StateDict
from numba.core.typed_passes import NopythonRewrites

from adjit.runtime.backend.front import PASSES
from adjit.runtime.backend.versions import is_plain
from tests import golden

pytestmark = pytest.mark.skipif(is_plain(), reason="numba's own means are used")


def passed(function, passes):
    """The text of numba's form of a function after these passes, as it is lowered."""
    identity = bytecode.FunctionIdentity.from_function(function)
    code, flags = bytecode.ByteCode(identity), Flags()
    state = StateDict(
        bc=code, func_ir=None, flags=flags, typemap={}, calltypes={}, locals={}, func_id=identity, args=()
    )
    for step in passes:
        step().run_pass(state)
    text = io.StringIO()
    state.func_ir.dump(text)
    # of a variable that is assigned on several ways, numba takes the line of one of them
    return re.sub(r"(Var\([^,]+), [^)]*\)", r"\1)", text.getvalue())


UNTYPED = [kind for kind in PASSES if kind is not NopythonRewrites]


def same(function):
    return passed(function, [PASSES[kind] for kind in UNTYPED]) == passed(function, UNTYPED)


def joined(n, a):
    total, kept = 0.0, a
    for i in range(n):
        last = total
        if i % 2:
            total = total + a[i]
            if total > 3.0:
                continue
            kept = a[i:]
        while total < 1.0:
            total += 0.25
            last, total = total, last
    else:
        total -= 1.0
    return total, kept


def undefined(n):
    if n:
        x = 1.0
    for _ in range(n):
        y = x
    return y


@pytest.mark.parametrize("function", [joined, undefined])
def test_flow(function):
    assert same(function)


GOLDENS = [
    function
    for module in pkgutil.iter_modules(golden.__path__)
    if module.name not in ("generate", "explained", "tuned")
    for function in vars(importlib.import_module(f"tests.golden.{module.name}")).values()
    if isinstance(function, FunctionType) and function.__module__ == f"tests.golden.{module.name}"
]


def test_goldens():
    assert len(GOLDENS) > 10
    assert all(map(same, GOLDENS))
