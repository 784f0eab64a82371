"""Derived functions and arguments for pages: of every workload of the benchmarks, and of the examples.

In: nothing. Out: names, each with what makes a derived function and the arguments of a call.

    pages()["gmm"]()      (value_and_grad(differentiated), (alphas, means, icf, x, 1.0, 0))
"""

import importlib.util
import sys

import numpy as np

import adjit
from tests.benchmarked import ROOT, SHARED, array_code, kinds, numpy_style, workloads
from tests.golden.explained import programs


def pages():
    """By name, what gives a derived function and arguments."""
    shared = {w.name: w for w in workloads.shared(SHARED, "small")}
    made = {w.name: lambda w=w: of(w.function, w.arguments, w.wrt) for w in shared.values()}
    made |= {w.name: lambda w=w: of(w.function, w.arguments, w.wrt) for w in workloads.own("small")}
    made |= {w.name: lambda w=w: of(w.function, w.arguments, w.wrt) for w in kinds.kinds("small")}
    for name, f in numpy_style.STYLES:
        if name in shared:
            made[f"{name} as {f.__name__}"] = lambda f=f, w=shared[name]: of(f, w.arguments, w.wrt)
    for pair in array_code.PAIRS:
        for f in (pair.arrays, pair.loops):
            made[f"{f.__name__} of arrays"] = lambda f=f, p=pair: of(f, next(iter(p.arguments.values())), p.wrt)
    made |= {f"explained {name}": lambda case=case: case for name, case in programs.CASES.items()}
    examples = (mixture, acoustic, american_option, bundle_adjustment, network, optimal_control, predators, relaxation)
    return made | {one.__name__: one for one in examples}


def of(function, arguments, wrt):
    return adjit.value_and_grad(function, wrt=wrt), arguments


def example(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def mixture():
    draw = np.random.default_rng(3)
    problem = draw.normal(size=2), draw.normal(size=(2, 3)), draw.normal(size=(2, 3, 3)), draw.normal(size=(7, 3))
    return of(example("mixture").negative_log_likelihood, problem, (0, 1, 2))


def acoustic():
    """A program that launches kernels."""
    module = example("acoustic")
    shape = (12, 30)
    given = module.first_guess(shape), module.sponge_of(shape, 4), module.wavelet_of(30, 8.0), 5
    return of(module.misfit, (*given, np.zeros((30, shape[1]))), (0,))


def american_option():
    module = example("american_option")
    given = module.SPOT, module.SIGMA, module.RATE, module.normals_of(40, 5)
    return of(module.price, given, ("spot", "sigma", "rate"))


def bundle_adjustment():
    module = example("bundle_adjustment")
    p, camera_of, point_of, seen = module.scene(3, 10)
    return adjit.jacrev(module.residuals), (p, 3, camera_of, point_of, seen)


def network():
    module = example("network")
    x, y = module.spirals(30)
    return module.both, (*module.weights_of(2, 5, int(y.max()) + 1), x, y)


def optimal_control():
    module = example("optimal_control")
    return module.both, (np.ones(12), np.array([0.0, 1.0, 0.0, 0.0]), module.END)


def predators():
    module = example("predators")
    return module.both, (module.TRUTH, module.counted())


def relaxation():
    module = example("relaxation")
    return of(module.energy, module.start(6), ("x",))
