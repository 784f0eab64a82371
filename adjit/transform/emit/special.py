"""SciPy's special functions in a saved module: numba gets them there from their addresses, without adjit.

In: the name that the text calls a ufunc by, and the ufunc. Out: its definition, as text, and what that needs imported.

    definition("psi", scipy.special.psi)      _psi = CFUNCTYPE(...)(...)    @njit def psi(x): return _psi(x, 0)
"""

from __future__ import annotations

from typing import Any

from numba import types

from adjit.runtime.backend import special
from adjit.transform.emit.wrapping import INDENT

_C_NAMES: dict[types.Type, str] = {types.float64: "c_double", types.int64: "c_long", types.intp: "c_ssize_t"}
_PARAMETERS = "abcd"


def is_special(value: Any) -> bool:
    """Whether this is a function of scipy.special that compiled code calls by its address."""
    return bool(special.forms(value))


def definition(name: str, function: Any) -> str:
    # the last form is the one that takes any numbers
    form = special.forms(function)[-1]
    kinds = [_C_NAMES[a] for a in form.arguments]
    given = ", ".join(_PARAMETERS[: len(kinds)] if len(kinds) > 1 else "x")
    if form.gives_two:
        signature = ", ".join(("None", *kinds, "c_void_p", "c_void_p"))
        body = [
            "found = np.empty(2)",
            f"_{name}({given}, found.ctypes, found[1:].ctypes)",
            "return found[0], found[1]",
        ]
    else:
        signature = ", ".join(("c_double", *kinds, "c_int"))
        body = [f"return _{name}({given}, 0)"]
    address = f'get_cython_function_address("{special.HOME}", "{form.key}")'
    lines = [
        f"_{name} = CFUNCTYPE({signature})(",
        f"{INDENT}{address}",
        ")",
        "",
        "",
        "@njit",
        f"def {name}({given}):",
        f'{INDENT}"""SciPy\'s own, by its address."""',
        *(INDENT + line for line in body),
    ]
    return "\n".join(lines)


def imports(function: Any) -> dict[str, set[str]]:
    """By how a line begins, what it imports."""
    form = special.forms(function)[-1]
    names = {
        "CFUNCTYPE",
        *(_C_NAMES[a] for a in form.arguments),
        *(["c_void_p"] if form.gives_two else ["c_double", "c_int"]),
    }
    return {"from ctypes import ": names, "from numba.extending import ": {"get_cython_function_address"}}
