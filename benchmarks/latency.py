"""Times imports, first gradients and calls: `python benchmarks/latency.py`.

    python benchmarks/latency.py [--shared FOLDER] [--rounds 5] [NAME ...]

- `import adjit`, beyond `import numba`;
- the first gradient of a process, of a function with three lines;
- the first gradient of each small workload, in a process that has compiled another one, and the part of it that derives
  the source; for comparison, the compilation of the hand-written adjoint, and the first call in JAX if it is installed;
- the same in a second process, from the cache, from after the import to the result;
- the first gradient of programs of library calls (`libraries.py`), also after another program has used these calls;
- a gradient call with an array of 3 elements (`grad`, and `into` with the caller's array), and numba's dispatch of a
  function that does nothing.

Each number except the call is the best of some separate processes, since a shared machine only adds to it. The import,
the start and the call are wall time, the others processor time. The last lines tell which bars are met.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

IMPORT_BAR, START_BAR, FIRST_BAR, CACHED_BAR, JAX_BAR = 0.1, 0.7, 1.5, 0.3, 0.8
KINDS = ("least squares", "recurrent cell", "Gauss-Seidel", "factorisation", "paths", "attention", "stencil")
SHARED = Path(__file__).resolve().parent.parent.parent / "shared" / "bench"


# ------------------------------------------------------------------------------------- what the processes do and print


def time_import():
    begin = time.perf_counter()
    import numba  # noqa: F401

    middle = time.perf_counter()
    import adjit  # noqa: F401

    return {"numba": middle - begin, "adjit": time.perf_counter() - middle}


def time_start():
    import math

    import adjit

    def energy(x, a):
        y = x * a
        z = math.sin(y)
        return z * y

    begin = time.perf_counter()
    adjit.grad(energy)(1.0, 2.0)
    return {"start": time.perf_counter() - begin}


def warm_up():
    import numpy as np

    import adjit

    # with a recurrence, so that what is loaded once a process is there: isl, which simpler ones do without
    def small(x):
        scaled = np.zeros(x.size)
        for i in range(x.size):
            scaled[i] = np.exp(x[i]) * x[i]
        for i in range(1, x.size):
            scaled[i] += scaled[i - 1]
        return np.sum(scaled)

    adjit.value_and_grad(small)(np.ones(3))


def the_workload(folder, name):
    from kinds import kinds
    from workloads import shared

    (found,) = [one for one in (*shared(Path(folder), "small"), *kinds("small")) if one.name == name]
    return found


def time_first(folder, name):
    import adjit
    from adjit.transform import pipeline

    warm_up()
    workload = the_workload(folder, name)
    spent, derive = [], pipeline.source

    def timed(*arguments):
        begin = time.process_time()
        found = derive(*arguments)
        spent.append(time.process_time() - begin)
        return found

    pipeline.source = timed
    begin = time.process_time()
    adjit.value_and_grad(workload.function, wrt=workload.wrt)(*workload.arguments)
    return {"first": time.process_time() - begin, "derived": sum(spent)}


def time_jax(folder, name):
    """JAX's first call, in a process in which it has compiled another gradient."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    warm = jax.value_and_grad(lambda x: jax.lax.fori_loop(0, 3, lambda _, s: s + jnp.sum(jnp.exp(x) * x), 0.0))
    jax.block_until_ready(jax.jit(warm)(jnp.ones(3)))
    call = the_workload(folder, name).jax()
    begin = time.process_time()
    call()
    return {"jax": time.process_time() - begin}


def time_hand(folder, name):
    warm_up()
    workload = the_workload(folder, name)
    begin = time.process_time()
    workload.hand()
    return {"hand": time.process_time() - begin}


def time_cached(folder, name):
    import adjit

    workload = the_workload(folder, name)
    begin = time.process_time()
    adjit.value_and_grad(workload.function, wrt=workload.wrt)(*workload.arguments)
    return {"cached": time.process_time() - begin, "hits": adjit.cache_info().hits}


def time_program(name):
    import adjit
    from libraries import programs

    warm_up()
    function, arguments, wrt = programs()[name]
    begin = time.process_time()
    adjit.value_and_grad(function, wrt=wrt)(*arguments)
    return {"first": time.process_time() - begin}


def time_calls():
    import numpy as np
    from numba import njit

    import adjit

    def energy(x):
        total = 0.0
        for i in range(x.size):
            total += x[i] * x[i]
        return total

    def long_energy(a, b, c, d, e, k):
        total = 0.0
        for i in range(a.size):
            total += a[i] * b[i] * k + c[i] * d[i] + e[i]
        return total

    found = {}
    for title, function, arguments in (
        ("1 array", energy, (np.ones(3),)),
        ("5 arrays and a number", long_energy, (*(np.ones(3) for _ in range(5)), 2.0)),
    ):
        arrays = tuple(k for k, a in enumerate(arguments) if isinstance(a, np.ndarray))
        gradient = adjit.grad(function, wrt=arrays if len(arrays) > 1 else 0)
        both = adjit.value_and_grad(function, wrt=arrays if len(arrays) > 1 else 0)
        out = tuple(np.empty(3) for _ in arrays) if len(arrays) > 1 else np.empty(3)
        nothing = njit({1: lambda x: 0.0, 6: lambda a, b, c, d, e, k: 0.0}[len(arguments)])
        calls = {
            "dispatch": lambda f=nothing, a=arguments: f(*a),
            "grad": lambda f=gradient, a=arguments: f(*a),
            "value_and_grad": lambda f=both, a=arguments: f(*a),
            "into": lambda f=gradient, a=arguments, o=out: f.into(*a, out=o),
        }
        best = dict.fromkeys(calls, 1.0)
        for call in calls.values():
            call()
        for _ in range(15):
            for key, call in calls.items():
                begin = time.perf_counter()
                for _ in range(5000):
                    call()
                best[key] = min(best[key], (time.perf_counter() - begin) / 5000)
        found[title] = best
    return found


TASKS = {
    "import": time_import,
    "start": time_start,
    "first": time_first,
    "hand": time_hand,
    "jax": time_jax,
    "cached": time_cached,
    "calls": time_calls,
    "program": time_program,
}


# ---------------------------------------------------------------------------------------------------------- the table


def measured(task, *arguments, cache=None):
    """What a process of its own prints."""
    environment = {**os.environ, **({"ADJIT_CACHE_DIR": cache} if cache else {"ADJIT_CACHE": "0"})}
    command = [sys.executable, __file__, "--task", task, *arguments]
    run = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return json.loads(run.stdout.splitlines()[-1])


def best(runs):
    return {key: min(run[key] for run in runs) for key in runs[0]}


def main():
    parser = argparse.ArgumentParser(description="Times imports, first gradients and calls.")
    parser.add_argument("names", nargs="*", help="only these workloads")
    parser.add_argument("--shared", type=Path, default=SHARED, help="folder of workloads, wl_*.py")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--task", choices=TASKS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        print(json.dumps(TASKS[options.task](*options.names)))
        return

    found = best([measured("import") for _ in range(options.rounds)])
    print(f"import adjit: {found['adjit']:.3f} s beyond import numba ({found['numba']:.3f} s)", flush=True)
    start = best([measured("start") for _ in range(options.rounds)])["start"]
    print(f"the first gradient of a process: {start:.2f} s", flush=True)
    for title, calls in measured("calls").items():
        base = calls.pop("dispatch")
        shown = ", ".join(f"{name} +{1e6 * (t - base):.2f}" for name, t in calls.items())
        print(f"a call with {title} of 3 elements: dispatch {1e6 * base:.2f} us, {shown}", flush=True)
    names = options.names or [*sorted(path.stem[3:] for path in options.shared.glob("wl_*.py")), *KINDS]
    table = first_gradients(options.shared, names, options.rounds)
    of_libraries(options.rounds)
    verdict("import beyond numba, s", found["adjit"], IMPORT_BAR)
    verdict("the first gradient of a process, s", start, START_BAR)
    for name, row in table.items():
        verdict(f"first gradient/compilation of hand, {name}", row["first"] / row["hand"], FIRST_BAR)
    verdict("second process with cache, worst, s", max(row["cached"] for row in table.values()), CACHED_BAR)
    beside = [row["first"] / row["jax"] for row in table.values() if "jax" in row]
    if beside:
        mean = math.exp(sum(map(math.log, beside)) / len(beside))
        verdict("first gradient/first call of JAX, geometric mean", mean, JAX_BAR)
        print(f"adjit's is the shorter one in {sum(ratio <= 1.0 for ratio in beside)} of {len(beside)}")


def first_gradients(folder, names, rounds):
    """Prints and returns the times of each workload."""
    titles = f"{'workload':14s} {'hand s':>7s} {'first s':>8s} {'ratio':>6s}"
    print(f"{titles}  {'derived s':>9s} {'cached s':>9s} {'JAX s':>6s}")
    table, has_jax = {}, find_spec("jax") is not None
    with tempfile.TemporaryDirectory() as cache:
        for name in names:
            arguments = (str(folder), name)
            measured("cached", *arguments, cache=cache)
            runs = []
            for _ in range(rounds):
                one = measured("first", *arguments) | measured("hand", *arguments)
                one |= measured("jax", *arguments) if has_jax else {}
                runs.append(one | measured("cached", *arguments, cache=cache))
            assert all(run["hits"] == 1 for run in runs)
            row = table[name] = best(runs)
            print(
                f"{name:14s} {row['hand']:7.2f} {row['first']:8.2f} {row['first'] / row['hand']:6.2f} "
                f" {row['derived']:9.2f} {row['cached']:9.2f} {row.get('jax', math.nan):6.2f}",
                flush=True,
            )
    return table


def of_libraries(rounds):
    """Prints the times of programs of `libraries.py`, and with what they call already compiled by another process."""
    from libraries import programs

    print(f"{'program':18s} {'first s':>8s} {'calls kept s':>13s}")
    for name in programs():
        first, again = [], []
        for _ in range(rounds):
            with tempfile.TemporaryDirectory() as cache:
                first.append(measured("program", name, cache=cache)["first"])
                for entry in Path(cache).glob("*.bin"):
                    entry.unlink()
                again.append(measured("program", name, cache=cache)["first"])
        print(f"{name:18s} {min(first):8.2f} {min(again):13.2f}", flush=True)


def verdict(what, value, bar):
    print(f"{what}: {value:.2f}, bar {bar} {'met' if value <= bar else 'NOT MET'}")


if __name__ == "__main__":
    main()
