"""Derivatives written by hand in place of the transformation, so that these tests are about the runtime alone."""

import functools
import inspect
import textwrap
from types import SimpleNamespace

import numpy as np
import pytest
from numba import types

from adjit.errors import NotScalar
from adjit.runtime import dispatch
from adjit.transform import pipeline


def energy(x, k=2.0):
    return k * np.sum(x * x)


def scaled(x, k):
    return k * x * x


def pair(x, n, both):
    return x * both[0], n, both[1] * both[1] * x


TEXTS = {
    ("energy", "primal", None): """
        def energy(x, k):
            total = 0.0
            for i in range(x.size):
                total += x[i] * x[i]
            return k * total
        """,
    ("energy", "grad", (0,)): """
        def energy_grad(x, k):
            x_bar = np.empty_like(x)
            for i in range(x.size):
                x_bar[i] = 2.0 * k * x[i]
            return x_bar
        """,
    ("energy", "value_and_grad", (0, 1)): """
        def energy_value_and_grad(x, k):
            return k * np.sum(x * x), (2.0 * k * x, np.sum(x * x))
        """,
    ("energy", "vjp", (0, 1)): """
        def energy_vjp(x, k, out_bar):
            return 2.0 * k * x * out_bar, np.sum(x * x) * out_bar
        """,
    ("energy", "vjp", (0,)): """
        def energy_vjp(x, k, out_bar):
            return (2.0 * k * x * out_bar,)
        """,
    ("energy", "jvp", (0, 1)): """
        def energy_jvp(x, k, x_dot, k_dot):
            return k * np.sum(x * x), 2.0 * k * np.sum(x * x_dot) + k_dot * np.sum(x * x)
        """,
    ("energy", "grad", "vjp", (0, 1)): """
        def energy_grad_vjp(x, k, out_bar):
            return 2.0 * k * out_bar, 2.0 * np.sum(x * out_bar)
        """,
    ("energy", "grad", "jvp", (0, 1)): """
        def energy_grad_jvp(x, k, x_dot, k_dot):
            return 2.0 * k * x, 2.0 * k * x_dot + 2.0 * k_dot * x
        """,
    ("scaled", "primal", None): """
        def scaled(x, k):
            return k * x * x
        """,
    ("scaled", "jvp", (0, 1)): """
        def scaled_jvp(x, k, x_dot, k_dot):
            return k * x * x, 2.0 * k * x * x_dot + k_dot * x * x
        """,
    ("scaled", "vjp", (0, 1)): """
        def scaled_vjp(x, k, out_bar):
            return 2.0 * k * x * out_bar, np.sum(x * x * out_bar)
        """,
    ("scaled", "vjp", "jvp", (0, 1, 2)): """
        def scaled_vjp_jvp(x, k, out_bar, x_dot, k_dot, out_bar_dot):
            x_bar, k_bar = 2.0 * k * x * out_bar, np.sum(x * x * out_bar)
            x_bar_dot = 2.0 * (k_dot * x * out_bar + k * x_dot * out_bar + k * x * out_bar_dot)
            return (x_bar, k_bar), (x_bar_dot, np.sum(2.0 * x * x_dot * out_bar + x * x * out_bar_dot))
        """,
    ("scaled", "vjp", "vjp", (0, 1, 2)): """
        def scaled_vjp_vjp(x, k, out_bar, out_bar_bar):
            x_seed, k_seed = out_bar_bar
            return (
                2.0 * k * out_bar * x_seed + 2.0 * x * out_bar * k_seed,
                2.0 * np.sum(x * out_bar * x_seed),
                2.0 * k * x * x_seed + x * x * k_seed,
            )
        """,
    ("pair", "primal", None): """
        def pair(x, n, both):
            return x * both[0], n, both[1] * both[1] * x
        """,
    ("pair", "vjp", (0, 2)): """
        def pair_vjp(x, n, both, out_bar):
            first, _, last = out_bar
            x_bar = first * both[0] + np.sum(last * both[1] * both[1])
            return x_bar, (first * x, 2.0 * both[1] * x * last)
        """,
    ("pair", "jvp", (0, 2)): """
        def pair_jvp(x, n, both, x_dot, n_dot, both_dot):
            value = (x * both[0], n, both[1] * both[1] * x)
            change = x_dot * both[1] * both[1] + 2.0 * x * both[1] * both_dot[1]
            return value, (x_dot * both[0] + x * both_dot[0], 0, change)
        """,
    ("chosen", "primal", None): """
        def chosen(x, kind):
            return x
        """,
    ("broken", "primal", None): """
        def broken(x):
            return x.no_such_attribute
        """,
}


def chosen(x, kind="plain"):
    return x


def broken(x):
    return x


def vector_valued(x):
    return x


def chain(derivative):
    function = derivative.function
    inner = chain(function) if isinstance(function, pipeline.Derivative) else (function.__name__,)
    return (*inner, derivative.kind)


@pytest.fixture
def handmade(monkeypatch):
    """The functions, a list of what the pipeline was asked for, and the texts that it answers with."""
    requests, texts = [], dict(TEXTS)

    def source(derivative, arg_types):
        assert all(isinstance(t, types.Type) for t in arg_types)
        requests.append((chain(derivative), tuple(arg_types)))
        names = chain(derivative)
        if names == ("vector_valued", "grad"):
            raise NotScalar("the result of vector_valued is an array")
        text = textwrap.dedent(texts[(*names, derivative.wrt)]).lstrip()
        return SimpleNamespace(text=text, globals={"np": np}, name=text.split("(")[0][4:])

    def signature(derivative):
        function = derivative.function
        inner = signature(function) if isinstance(function, pipeline.Derivative) else inspect.signature(function)
        own = list(inner.parameters.values())
        if derivative.kind == "vjp":
            own = [p.replace(default=p.empty) for p in own]
            name = "out_bar" if "out_bar" not in inner.parameters else "out_bar_bar"
            own.append(inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD))
        if derivative.kind == "jvp":
            own = [p.replace(default=p.empty) for p in own]
            own += [p.replace(name=f"{p.name}_dot") for p in own]
        return inspect.Signature(own)

    monkeypatch.setattr(pipeline, "source", source)
    monkeypatch.setattr(pipeline, "signature", signature)
    monkeypatch.setattr(dispatch, "_slot", functools.lru_cache(dispatch._slot.__wrapped__))
    functions = (energy, scaled, pair, chosen, broken, vector_valued)
    return SimpleNamespace(requests=requests, texts=texts, **{f.__name__: f for f in functions})
