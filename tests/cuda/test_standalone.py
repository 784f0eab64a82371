"""Sources that stand alone: what they need of adjit's is written out."""

from __future__ import annotations

import builtins
import symtable

import numpy as np
import pytest

import adjit
import adjit.cuda
from adjit.transform.emit import Emitted, module_text
from adjit.transform.ir import external
from tests.cuda.compiled import adjoint
from tests.cuda.kernels import blocks
from tests.cuda.simulated.functions import FUNCTIONS

# one of twelve; all of them in the long run
NAMES = [pytest.param(name, marks=[pytest.mark.long] if k % 12 else []) for k, name in enumerate(FUNCTIONS)]
HELPERS = ("device", "launch", "memory", "ordered_sums", "streams")


def undefined(text):
    """The names that a module takes from nowhere."""
    table = symtable.symtable(text, "<text>", "exec")
    found, pending = set(), table.get_children()
    while pending:
        inner = pending.pop()
        found |= {symbol.get_name() for symbol in inner.get_symbols() if symbol.is_global()}
        pending += inner.get_children()
    known = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    known |= {inner.get_name() for inner in table.get_children()}
    found |= {symbol.get_name() for symbol in table.get_symbols() if symbol.is_referenced()}
    return {name for name in found - known if not hasattr(builtins, name)}


def check(text):
    assert text.startswith("# For a GPU, or NUMBA_ENABLE_CUDASIM=1.\n")
    assert not [line for line in text.splitlines() if line.lstrip().startswith(("import adjit", "from adjit"))]
    assert undefined(text) == set()


@pytest.mark.parametrize("name", NAMES)
def test_of_functions(name):
    derived, types = adjoint(*FUNCTIONS[name], "float64")
    text, short = derived.source(types, standalone=True), derived.source(types)
    check(text)
    # kernels and the host's function are the same
    assert text.endswith(short[short.index("@cuda.jit") :])


def test_of_kernels():
    text = adjit.cuda.adjoint(blocks.staged).source(
        "float64[:, ::1], float64[::1], float64[::1]", block=8, standalone=True
    )
    check(text)
    assert "def in_blocks(*blocks, block):" in text


def clipped(x):
    return max(x, 0.5) * np.sign(x) + np.cbrt(x)


def test_of_functions_that_kernels_call():
    text = adjit.grad(clipped, target="cuda-device").source("float64", standalone=True)
    assert text.startswith("# For kernels.\n")
    assert "from adjit" not in text
    assert "def cbrt(x):" in text
    assert undefined(text) == set()


def test_every_function_that_texts_name_can_be_written_out():
    names = {name for name, home in adjit.cuda._MODULES.items() if home.rpartition(".")[2] in HELPERS}
    assert {"cover", "block_sum", "add_in_order", "copy_in_f_order", "on"} <= names
    named = Emitted("f", "def f():\n    return ()\n", {name: external("adjit.cuda", name) for name in sorted(names)})
    text = module_text(named, is_tuned=True, is_bundled=True)
    assert undefined(text) == set()
    assert all(f"\ndef {name}(" in text or f"    def {name}(" in text for name in names - {"THREADS"})


def test_names_that_the_program_has():
    """Its global array is called as a function of ours is."""
    function, _ = FUNCTIONS["with_global"]
    text = adjit.jacfwd(function, target="cuda").source("float64[::1]", standalone=True)
    assert "\nconstant = np.array(" in text
    assert "\ndef adjit_constant(array):" in text
    assert undefined(text) == set()
