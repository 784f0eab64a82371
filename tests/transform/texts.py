"""The texts of golden and benchmark functions, and explanations, run as a program: a line each, with a digest of it.

    python -m tests.transform.texts 3 golden gmm        those whose names begin so, sets in the third random order

Each is emitted twice, with other orders and other addresses the second time; that both are the same is checked here.
"""

import hashlib
import sys

from tests.transform import shuffling

shuffling.install()

import numba  # noqa: E402

from adjit.transform.pipeline import Derivative, source  # noqa: E402
from adjit.transform.source.derivative import at_level  # noqa: E402
from tests.benchmarked import SHARED, kinds, numpy_style, workloads  # noqa: E402
from tests.golden import generate  # noqa: E402
from tests.golden.explained import programs  # noqa: E402


def functions():
    """Names, and what emits the text for each."""
    # of programs with containers, library bodies are read as source, which shuffled modules are not
    for case, tuned in generate.OF_ARRAYS:
        yield f"golden {case.name}{', tuned' * tuned}", lambda case=case, tuned=tuned: generate.generated(case, tuned)
    for name, (derived, arguments) in programs.CASES.items():
        yield f"explained {name}", lambda derived=derived, arguments=arguments: f"{derived.explain(*arguments)}\n"
    shared = {w.name: w for w in workloads.shared(SHARED, "small")}
    for w in [*workloads.own("small"), *kinds.kinds("small"), *shared.values()]:
        yield w.name, lambda w=w: emitted(w.function, w)
    for name, function in numpy_style.STYLES:
        if name in shared:
            yield f"{name} as {function.__name__}", lambda f=function, w=shared[name]: emitted(f, w)


def emitted(function, workload):
    types = tuple(map(numba.typeof, workload.arguments))
    tuned = Derivative(function, "value_and_grad", workload.wrt)
    return source(tuned, types, vectormath=True).text + source(at_level(tuned, tuned=False), types).text


def main(seed, beginnings):
    shuffling.draw.seed(seed)
    junk = []
    for name, emit in functions():
        if not name.startswith(tuple(beginnings)):
            continue
        text = emit()
        # what stays allocated here and there moves what comes after it
        junk.append([object() for _ in range(shuffling.draw.randrange(2000))][:: shuffling.draw.randrange(2, 5)])
        assert emit() == text, f"two texts for {name}"
        print(name, hashlib.sha256(text.encode()).hexdigest())


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:] or [""])
