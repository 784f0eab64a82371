"""Times adjit's gradients beside the primal and the hand-written adjoint: `make bench`.

    python benchmarks/run.py [--rounds 7] [--size default] [--shared FOLDER] [--json FILE] [NAME ...]

Single thread, pinned to one CPU; the allocator is told to keep the memory it has, since fresh pages cost more than
arithmetic. The three take turns within each round, each time starting with another one; the medians of the rounds
count.
Printed: times, their ratios, the seconds to the first gradient (derivation and compilation), the largest difference
between the gradients (relative to the largest entry), and the tapes that the generated source makes. Then the gradients
of the workloads in NumPy style (`numpy_style.py`) beside those of their loops.
"""

import argparse
import functools
import json
import math
import os
import re
import statistics
import sys
import time
from pathlib import Path

import numpy as np

import adjit
from numpy_style import STYLES
from workloads import Workload, own, shared

KEEP_MEMORY = {
    "MALLOC_MMAP_THRESHOLD_": "2000000000",
    "MALLOC_TRIM_THRESHOLD_": "8000000000",
    "MALLOC_TOP_PAD_": "67108864",
}
SINGLE_THREAD = {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
READY = "ADJIT_BENCH_READY"

SHARED = Path(__file__).resolve().parent.parent.parent / "shared" / "bench"
MEAN_BAR, WORST_BAR = 2.0, 4.0
STYLE_BAR = 1.3


def timed(function):
    begin = time.perf_counter()
    result = function()
    return result, time.perf_counter() - begin


def medians(functions, rounds, seconds=0.12):
    """Seconds a call of each: medians of rounds of about `seconds` a function, in rotating order."""
    repeats = {name: max(1, min(5000, int(seconds / max(timed(f)[1], 1e-7)))) for name, f in functions.items()}
    order, times = list(functions), {name: [] for name in functions}
    for k in range(rounds):
        turn = k % len(order)
        for name in order[turn:] + order[:turn]:
            function, repeat = functions[name], repeats[name]
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
    gradient = adjit.value_and_grad(workload.function, wrt=workload.wrt)
    primal, adjit_call = workload.primal, lambda: gradient(*workload.arguments)
    (_, gradients), first = timed(adjit_call)
    (_, references), hand_first = timed(workload.hand)
    primal()
    times = medians({"primal": primal, "adjit": adjit_call, "hand": workload.hand}, rounds)
    return {
        **times,
        "ratio": times["adjit"] / times["hand"],
        "overhead": times["adjit"] / times["primal"],
        "first": first,
        "hand_first": hand_first,
        "difference": largest_difference(gradients, references),
        "tapes": tapes(gradient.source(*workload.arguments)),
    }


HEADER = (
    f"{'workload':20s} {'primal ms':>10s} {'adjit ms':>10s} {'hand ms':>10s} {'adjit/hand':>10s} {'adjit/primal':>12s}"
    f" {'first s':>8s} {'difference':>10s}  tapes"
)


def row(name, found):
    return (
        f"{name:20s} {1e3 * found['primal']:10.3f} {1e3 * found['adjit']:10.3f} {1e3 * found['hand']:10.3f}"
        f" {found['ratio']:10.2f} {found['overhead']:12.2f} {found['first']:8.2f} {found['difference']:10.1e}"
        f"  {', '.join(found['tapes']) or 'none'}"
    )


def measure_all(title, workloads, rounds):
    print(f"\n{title}\n{HEADER}")
    table = {}
    for workload in workloads:
        try:
            found = measure(workload, rounds)
        except adjit.AdjitError as refusal:
            print(f"{workload.name:20s} refused: {refusal}", flush=True)
            continue
        table[workload.name] = found
        print(row(workload.name, found), flush=True)
        if workload.tapeless:
            print(f"{'':20s} (needs no tape: {'FAILED' if found['tapes'] else 'ok'})")
    if table:
        ratios = [found["ratio"] for found in table.values()]
        mean, worst = math.exp(statistics.fmean(map(math.log, ratios))), max(ratios)
        met = "met" if mean <= MEAN_BAR and worst <= WORST_BAR else "not met"
        print(
            f"adjit/hand: geometric mean {mean:.2f}, worst {worst:.2f}, {len(table)} of {len(workloads)} workloads; ",
            end="",
        )
        print(f"bar (mean {MEAN_BAR}, worst {WORST_BAR}) {met}")
        difference = max(found["difference"] for found in table.values())
        print(f"largest difference of a gradient from the hand-written one: {difference:.1e}")
    return table


def measure_styles(styles, rounds):
    """The gradients of NumPy-style versions beside those of the loops, both by adjit."""
    print("\nNumPy style against loops, both differentiated by adjit")
    print(f"{'workload':20s} {'loops ms':>10s} {'numpy ms':>10s} {'ratio':>8s} {'first s':>8s} {'difference':>10s}")
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
        print(
            f"{function.__name__:20s} {1e3 * found['loops']:10.3f} {1e3 * found['numpy']:10.3f} {found['ratio']:8.2f}"
            f" {first:8.2f} {found['difference']:10.1e}",
            flush=True,
        )
    worst = max(found["ratio"] for found in table.values())
    print(f"NumPy style/loops: worst {worst:.2f}; bar {STYLE_BAR} {'met' if worst <= STYLE_BAR else 'not met'}")
    return table


def restart():
    """The same command with settings that are read when a process starts."""
    os.environ.update(KEEP_MEMORY, **SINGLE_THREAD, **{READY: "1"})
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def main():
    parser = argparse.ArgumentParser(description="adjit's gradients beside hand-written ones.")
    parser.add_argument("names", nargs="*", help="only workloads whose names begin with one of these")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--size", choices=("small", "default", "large"), default="default")
    parser.add_argument("--shared", type=Path, default=SHARED, help="folder of further workloads, wl_*.py")
    parser.add_argument("--json", type=Path, help="write the numbers here, too")
    options = parser.parse_args()
    if READY not in os.environ:
        restart()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

    groups = {"own workloads": own(options.size)}
    if options.shared.is_dir():
        groups["shared workloads"] = shared(options.shared, options.size)
    else:
        print(f"no folder {options.shared}: only the workloads of benchmarks/workloads.py")
    tables = {}
    for title, workloads in groups.items():
        wanted = [w for w in workloads if not options.names or w.name.startswith(tuple(options.names))]
        if wanted:
            tables[title] = measure_all(title, wanted, options.rounds)
    found = {w.name: w for w in groups.get("shared workloads", ())}
    styles = [(found[name], f) for name, f in STYLES if name in found]
    styles = [(w, f) for w, f in styles if not options.names or f.__name__.startswith(tuple(options.names))]
    if styles:
        tables["NumPy style"] = measure_styles(styles, options.rounds)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(tables, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
