"""Times gradients by adjit, by hand and by JAX, and the primal: `make bench`.

    python benchmarks/run.py [--rounds 7] [--size default] [--shared FOLDER] [--json FILE] [--write] [--switches]
        [--bounds] [NAME ...]

One thread, pinned to one CPU; the allocator keeps its memory, since fresh pages cost more than arithmetic. All take
turns within each round, in changing order, and medians of the rounds count. Adjit runs with libm's elementary functions
(`vectormath=False`) and with its own. Printed:

- times and their ratios, and the ratio to JAX, if it is installed, of rounds with only the two;
- the seconds to the first gradient (derivation and compilation);
- the largest difference between the gradients, relative to the largest entry;
- the tapes of the generated source;
- the same for workloads in NumPy style (`numpy_style.py`), and for array code with `axis`, `keepdims`, slices and
  windows (`array_code.py`), compared with the same as loops.

`--write` keeps everything in RESULTS.md. `--switches` and `--bounds` print other tables instead: the gain of each
mechanism of the compiler, and the cost of index checks.
"""

import argparse
import functools
import json
import math
import os
import platform
import re
import statistics
import sys
import time
from collections import deque
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import adjit
from array_code import PAIRS
from finite_volume import finite_volumes
from kinds import kinds
from mechanisms import programs
from numpy_style import STYLES
from softmax import products, softmaxes
from switches import rows, switches
from workloads import Workload, own, shared

KEEP_MEMORY = {
    "MALLOC_MMAP_THRESHOLD_": "2000000000",
    "MALLOC_TRIM_THRESHOLD_": "8000000000",
    "MALLOC_TOP_PAD_": "67108864",
}
SINGLE_THREAD = {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
READY = "ADJIT_BENCH_READY"
LINUX, PACKAGES = sys.platform == "linux", ("numba", "llvmlite", "numpy", "jax")

SHARED = Path(__file__).resolve().parent.parent.parent / "shared" / "bench"
RESULTS = Path(__file__).resolve().parent / "RESULTS.md"
SWITCHES = Path(__file__).resolve().parent / "SWITCHES.md"
# adjit with libm's functions against hand, and NumPy style against loops: of whole workloads, and of single pieces
MEAN_BAR, WORST_BAR, STYLE_BAR, ARRAY_CODE_BAR = 1.1, 1.3, 1.3, 1.2
# with checks of indices against without
MEAN_BOUNDS_BAR, WORST_BOUNDS_BAR = 1.02, 1.08
# adjit as it is by default: against hand for some workloads, against the primal for all
HAND_BARS = {"blackscholes": 0.30, "mlp": 0.80, "gmm": 0.65}
PRIMAL_BARS, PRIMAL_BAR, PRODUCT_BAR = {"heat2d": 4.6, "x @ A @ x": 2.5}, 2.5, 2.2

LINES: list[str] = []


def show(line=""):
    """Prints a line, and keeps it for RESULTS.md."""
    LINES.append(line)
    print(line, flush=True)


def timed(function):
    begin = time.perf_counter()
    result = function()
    return result, time.perf_counter() - begin


def medians(functions, rounds, seconds=0.12):
    """Seconds a call of each: medians of rounds of about `seconds` a function, in rotating order.

    Some results stay alive, and something of another size before each, so that those of other rounds lie elsewhere in
    their pages: where they happen to lie, beside the arguments, is worth a third of the time for small matrices, in all
    calls that get the same memory.
    """
    repeats = {name: max(1, min(5000, int(seconds / max(timed(f)[1], 1e-7)))) for name, f in functions.items()}
    order, times = list(functions), {name: [] for name in functions}
    alive, draw = deque(maxlen=4 * len(order)), np.random.default_rng(rounds)
    for k in range(rounds):
        turn = k % len(order)
        for name in order[turn:] + order[:turn]:
            function, repeat = functions[name], repeats[name]
            alive.append((np.empty(int(draw.integers(1, 512))), function()))
            begin = time.perf_counter()
            for _ in range(repeat):
                function()
            times[name].append((time.perf_counter() - begin) / repeat)
    return {name: statistics.median(found) for name, found in times.items()}


def largest_difference(gradients, references):
    """Over all gradients the largest difference of an entry, relative to the largest entry of that gradient."""
    worst = 0.0
    for gradient, reference in zip(gradients, references, strict=True):
        size = float(np.max(np.abs(reference)))
        worst = max(worst, float(np.max(np.abs(np.asarray(gradient) - reference))) / (size or 1.0))
    return worst


def tapes(source):
    """The names of what a generated source saves for its reverse sweep."""
    return sorted(set(re.findall(r"\b\w+_tape\w*\b", source)))


def measure(workload: Workload, rounds: int) -> dict:
    gradient, plain = (
        adjit.value_and_grad(workload.function, wrt=workload.wrt, **options) for options in ({}, {"vectormath": False})
    )
    calls = {
        "adjit": lambda: gradient(*workload.arguments),
        "libm": lambda: plain(*workload.arguments),
        "primal": workload.primal,
        "hand": workload.hand,
    }
    (_, gradients), first = timed(calls["adjit"])
    (_, references), hand_first = timed(workload.hand)
    difference = largest_difference(gradients, references)
    difference = max(difference, largest_difference(calls["libm"]()[1], references))
    workload.primal()
    times = medians(calls, rounds)
    if workload.jax is not None:
        # its threads still spin when another one's turn begins, so that has adjit alone beside it
        jax = workload.jax()
        jax()
        beside = medians({"adjit": calls["adjit"], "jax": jax}, rounds)
        times |= {"jax": beside["jax"], "adjit/jax": beside["adjit"] / beside["jax"]}
    if workload.moved is not None:
        times["moved"] = [8e-6 * elements for elements in reversed(workload.moved)]
    return {
        **times,
        "first": first,
        "hand_first": hand_first,
        "difference": difference,
        "tapes": tapes(gradient.source(*workload.arguments, tuned=True)),
    }


HEADER = (
    f"{'workload':14s} {'primal ms':>9s} {'hand ms':>9s} {'adjit ms':>9s} | {'libm/hand':>9s} {'adjit/hand':>10s}"
    f" {'adjit/primal':>12s} {'adjit/JAX':>9s} | {'first s':>7s} {'difference':>10s}  tapes"
)


def row(name, found):
    beside_jax = f"{found['adjit/jax']:9.2f}" if "jax" in found else f"{'':9s}"
    return (
        f"{name:14s} {1e3 * found['primal']:9.3f} {1e3 * found['hand']:9.3f} {1e3 * found['adjit']:9.3f}"
        f" | {found['libm'] / found['hand']:9.2f} {found['adjit'] / found['hand']:10.2f}"
        f" {found['adjit'] / found['primal']:12.2f} {beside_jax} | {found['first']:7.2f} {found['difference']:10.1e}"
        f"  {', '.join(found['tapes']) or 'none'}"
    )


def verdict(what, value, bar):
    show(f"{what}: {value:.2f}, bar {bar} {'met' if value <= bar else 'NOT MET'}")


def measure_all(title, workloads, rounds):
    show(f"\n{title}")
    show(HEADER)
    table = {}
    for workload in workloads:
        try:
            found = measure(workload, rounds)
        except adjit.AdjitError as refusal:
            show(f"{workload.name:14s} refused: {refusal}")
            continue
        table[workload.name] = found
        show(row(workload.name, found))
        if workload.tapeless:
            show(f"{'':14s} (needs no tape: {'FAILED' if found['tapes'] else 'ok'})")
    if table:
        ratios = [found["libm"] / found["hand"] for found in table.values()]
        verdict("libm/hand, geometric mean", math.exp(statistics.fmean(map(math.log, ratios))), MEAN_BAR)
        verdict("libm/hand, worst", max(ratios), WORST_BAR)
        for name, found in table.items():
            if name in HAND_BARS:
                verdict(f"adjit/hand, {name}", found["adjit"] / found["hand"], HAND_BARS[name])
            if "jax" in found:
                verdict(f"adjit/JAX, {name}", found["adjit/jax"], 1.0)
        for name, found in table.items():
            bar = PRIMAL_BARS.get(name, PRODUCT_BAR if "moved" in found else PRIMAL_BAR)
            moved = " ({:.1f} MB moved, {:.1f} by the primal)".format(*found["moved"]) if "moved" in found else ""
            verdict(f"adjit/primal, {name}{moved}", found["adjit"] / found["primal"], bar)
        difference = max(found["difference"] for found in table.values())
        show(f"largest difference of a gradient from the hand-written one: {difference:.1e}")
    return table


def measure_styles(styles, rounds):
    """The gradients of NumPy-style versions beside those of the loops, both by adjit."""
    show("\nNumPy style against loops, both differentiated by adjit")
    show(f"{'workload':20s} {'loops ms':>10s} {'numpy ms':>10s} {'ratio':>8s} {'first s':>8s} {'difference':>10s}")
    table = {}
    for workload, function in styles:
        loops, arrays = (adjit.value_and_grad(f, wrt=workload.wrt) for f in (workload.function, function))
        calls = {name: functools.partial(f, *workload.arguments) for name, f in (("loops", loops), ("numpy", arrays))}
        calls["loops"]()
        (_, gradients), first = timed(calls["numpy"])
        found = medians(calls, rounds)
        found |= {"ratio": found["numpy"] / found["loops"], "first": first}
        found["difference"] = largest_difference(gradients, workload.hand()[1])
        table[function.__name__] = found
        show(
            f"{function.__name__:20s} {1e3 * found['loops']:10.3f} {1e3 * found['numpy']:10.3f} {found['ratio']:8.2f}"
            f" {first:8.2f} {found['difference']:10.1e}"
        )
    verdict("NumPy style/loops, worst", max(found["ratio"] for found in table.values()), STYLE_BAR)
    return table


def measure_pairs(pairs, rounds):
    """The gradients of array code beside those of the same as loops, both by adjit, at some sizes each."""
    show("\nArray code against loops, both differentiated by adjit")
    show(f"{'array code':24s} {'size':18s} {'loops ms':>9s} {'arrays ms':>9s} {'ratio':>6s} {'difference':>10s}")
    table, made = {}, {}
    for pair in pairs:
        arrays = adjit.value_and_grad(pair.arrays, wrt=pair.wrt)
        loops = made.setdefault(pair.loops, adjit.value_and_grad(pair.loops, wrt=pair.wrt))
        for size, arguments in pair.arguments.items():
            calls = {name: functools.partial(f, *arguments) for name, f in (("loops", loops), ("arrays", arrays))}
            difference = largest_difference(calls["arrays"]()[1], calls["loops"]()[1])
            found = medians(calls, rounds, seconds=0.05)
            found |= {"ratio": found["arrays"] / found["loops"], "difference": difference}
            table[f"{pair.arrays.__name__}, {size}"] = found
            show(
                f"{pair.arrays.__name__:24s} {size:18s} {1e3 * found['loops']:9.3f} {1e3 * found['arrays']:9.3f}"
                f" {found['ratio']:6.2f} {difference:10.1e}"
            )
    verdict("array code/loops, worst", max(found["ratio"] for found in table.values()), ARRAY_CODE_BAR)
    return table


def in_style(groups):
    """The shared workloads that there are in NumPy style, with that."""
    found = {w.name: w for w in groups.get("shared workloads", ())}
    return [(found[name], f) for name, f in STYLES if name in found]


def measure_switches(groups, options):
    """What each mechanism gains, over the workloads in loops and in NumPy style, and programs that one is for."""
    asked = [(w.name, w.function, w.arguments, w.wrt) for workloads in groups.values() for w in workloads]
    asked += [(f.__name__, f, w.arguments, w.wrt) for w, f in in_style(groups)]
    asked += [(p.name, p.function, p.arguments, p.wrt) for p in programs(options.size)]
    asked = [row for row in asked if not options.names or row[0].startswith(tuple(options.names))]
    show("What each mechanism gains")
    for line in rows(switches(asked, medians, options.rounds), len(asked)):
        show(line)
    if options.write:
        write(SWITCHES, 'make bench ARGS="--switches --write"')


def measure_bounds(groups, options):
    """What checks of indices cost, over the workloads in loops and in NumPy style."""
    asked = [(w.name, w.function, w.arguments, w.wrt) for workloads in groups.values() for w in workloads]
    asked += [(f.__name__, f, w.arguments, w.wrt) for w, f in in_style(groups)]
    show("Gradients with checks of indices against gradients without")
    show(f"{'workload':20s} {'without ms':>10s} {'with ms':>10s} {'ratio':>8s} {'checks':>7s}")
    ratios = []
    for name, function, arguments, wrt in asked:
        if options.names and not name.startswith(tuple(options.names)):
            continue
        made = {is_on: adjit.value_and_grad(function, wrt=wrt, boundscheck=is_on) for is_on in (False, True)}
        texts = {is_on: f.source(*arguments, tuned=True) for is_on, f in made.items()}
        checks = len(re.findall(r"\b(?:check_bounds|check_index|check_size)\(", texts[True]))
        if texts[True] == texts[False]:
            # it is the same code
            ratios.append(1.0)
            show(f"{name:20s} {'':10s} {'':10s} {1.0:8.3f} {checks:7d}")
            continue
        found = medians({is_on: functools.partial(f, *arguments) for is_on, f in made.items()}, options.rounds)
        ratios.append(found[True] / found[False])
        show(f"{name:20s} {1e3 * found[False]:10.3f} {1e3 * found[True]:10.3f} {ratios[-1]:8.3f} {checks:7d}")
    verdict("with/without, geometric mean", math.exp(statistics.fmean(map(math.log, ratios))), MEAN_BOUNDS_BAR)
    verdict("with/without, worst", max(ratios), WORST_BOUNDS_BAR)


def machine():
    """The processor and the versions that were measured."""
    models = re.findall(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE) if LINUX else []
    versions = [f"{name} {metadata.version(name)}" for name in PACKAGES if find_spec(name)]
    return (
        f"{models[0] if models else platform.processor()}, {os.cpu_count()} cores; {platform.system()};"
        f" CPython {platform.python_version()}, {', '.join(versions)}"
    )


def write(path, command):
    path.write_text(
        f"# What `{command}` measured\n\n{machine()}. One thread, medians; ratios count, not milliseconds.\n"
        "`libm` is adjit with `vectormath=False`.\n\n```\n" + "\n".join(LINES).strip() + "\n```\n",
        encoding="utf-8",
    )


def restart():
    """The same command with settings that are read when a process starts."""
    os.environ.update(KEEP_MEMORY, **SINGLE_THREAD, **{READY: "1", "ADJIT_CACHE": "0"})
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def main():
    parser = argparse.ArgumentParser(description="adjit's gradients beside hand-written ones.")
    parser.add_argument("names", nargs="*", help="only workloads whose names begin so")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--size", choices=("small", "default", "large"), default="default")
    parser.add_argument("--shared", type=Path, default=SHARED, help="folder of further workloads, wl_*.py")
    parser.add_argument("--write", action="store_true", help="write the results to RESULTS.md")
    parser.add_argument("--switches", action="store_true", help="print the gain of each mechanism of the compiler")
    parser.add_argument("--bounds", action="store_true", help="print the cost of index checks")
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    options = parser.parse_args()
    if READY not in os.environ:
        restart()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

    groups = {"own workloads": own(options.size), "more kinds": kinds(options.size)}
    groups |= {"softmax and its kind": softmaxes(options.size), "products": products(options.size)}
    groups["finite volumes"] = finite_volumes(options.size)
    if options.shared.is_dir():
        groups["shared workloads"] = shared(options.shared, options.size)
    else:
        print(f"no folder {options.shared}: only the workloads of benchmarks/workloads.py")
    if options.switches:
        measure_switches(groups, options)
        return
    if options.bounds:
        measure_bounds(groups, options)
        return
    tables = {}
    for title, workloads in groups.items():
        wanted = [w for w in workloads if not options.names or w.name.startswith(tuple(options.names))]
        if wanted:
            tables[title] = measure_all(title, wanted, options.rounds)
    styles = [(w, f) for w, f in in_style(groups) if not options.names or f.__name__.startswith(tuple(options.names))]
    if styles:
        tables["NumPy style"] = measure_styles(styles, options.rounds)
    pairs = [p for p in PAIRS if not options.names or p.arrays.__name__.startswith(tuple(options.names))]
    if pairs:
        tables["array code"] = measure_pairs(pairs, options.rounds)
    if options.write:
        write(RESULTS, "make bench ARGS=--write")
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(tables, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
