"""Times gradients on a GPU: generated kernels beside hand-written ones. Unattended, in at most eight minutes.

    python benchmarks/cuda.py [--scale 1.0] [--rounds 15] [--seconds 420] [--out build/bench] [--beside JAX torch]
                              [NAME ...]

Seven workloads (`cuda_workloads.py`), each in float64 and float32, by hand, by adjit, and by other libraries
(`cuda_peers.py`) if they are installed. First, all results are compared with the hand-written adjoint. Then the ways
take turns, each with several runs in succession, as in a loop that fits a model. Medians over the rounds count, without
the time to set up seeds.

Out: `cuda.json` with all numbers, and the table `cuda.md`, which is also printed. Columns: milliseconds per run; host
milliseconds per run, which overlap with the device's; gradient over primal; adjit over hand; the achieved share of the
rate of a memory copy; launches; the most registers of a kernel; the error against the hand-written adjoint.

Without a GPU it prints a line and does nothing. With NUMBA_ENABLE_CUDASIM=1 it runs small problems in the simulator,
whose errors are meaningful and whose times are not.
"""

import argparse
import contextlib
import importlib.util
import json
import math
import statistics
import sys
import time
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent
# the driver's package is called cuda, too, and is not this file
sys.path[:] = [path for path in sys.path if Path(path).resolve() != HERE]

import numpy as np  # noqa: E402
from numba import cuda  # noqa: E402

TOLERANCE = {"float64": 1e-9, "float32": 2e-3}
LONG, MOST_RUNS = 10.0, 20  # milliseconds of a measurement, and its runs


def loaded(name):
    """The module of that name in this folder."""
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def is_simulated():
    from adjit.runtime.cuda.backend import SIMULATED

    return SIMULATED


def named(name):
    """The device's name, which some versions give in bytes."""
    return name.decode() if isinstance(name, bytes) else name


def spent(run, count=1):
    """Milliseconds a run, of so many one after another, with the wait for the last; and those until all were issued.

    By the clock: what is waited for is the device, by whichever library the work is.
    """
    wait = getattr(run, "wait", cuda.synchronize)
    begin = time.perf_counter()
    for _ in range(count):
        run()
    issued = time.perf_counter()
    wait()
    return 1e3 * (time.perf_counter() - begin) / count, 1e3 * (issued - begin) / count


def enough(run):
    """How many runs make a measurement: so many that its begin and its end are little of it, and few enough that the
    host issues them without a wait for the device."""
    run()
    getattr(run, "wait", cuda.synchronize)()
    return max(3, min(MOST_RUNS, math.ceil(LONG / spent(run)[0])))


def copy_rate(scale, rounds):
    """Gigabytes a second that a copy on the device moves, read and written."""
    size = max(1024, int(2**30 * scale))
    source, target = (cuda.to_device(np.zeros(size // 8)) for _ in range(2))
    target.copy_to_device(source)
    cuda.synchronize()
    best = statistics.median(spent(lambda: target.copy_to_device(source), 5)[0] for _ in range(rounds))
    return 2e-6 * source.nbytes / best if best else math.nan


@contextlib.contextmanager
def counting():
    """Yields a list of the kernels that are launched within it."""
    launched = []
    if is_simulated():
        from numba.cuda.simulator.kernel import FakeCUDAKernel

        ways = [(FakeCUDAKernel, "__call__")]
    else:
        from numba.cuda.dispatcher import CUDADispatcher

        from adjit.runtime.cuda.kernels import Kernel

        ways = [(CUDADispatcher, "call"), (Kernel, "launch")]

    def noted(before):
        def call(self, *arguments):
            if not getattr(self, "_device", False):
                launched.append(self)
            return before(self, *arguments)

        return call

    with contextlib.ExitStack() as stack:
        for owner, name in ways:
            stack.enter_context(mock.patch.object(owner, name, noted(getattr(owner, name))))
        yield launched


def registers(kernels):
    """The most that one of the kernels has in a thread; None in the simulator."""
    if is_simulated():
        return None
    from adjit.runtime.cuda.resources import taken_of

    return max((taken_of(kernel).registers for kernel in set(kernels)), default=None)


def errors(workload):
    """Of each way, how far its gradients are from the hand-written one's, relative to the largest element."""
    results = {}
    for name, way in workload.ways.items():
        workload.fresh()
        way()
        results[name] = getattr(way, "found", workload.found)()
    return {
        name: max(
            float(np.abs(bar - results["hand"][k]).max() / max(np.abs(results["hand"][k]).max(), 1e-30))
            for k, bar in found.items()
        )
        for name, found in results.items()
    }


def seeded(way, workload):
    """Runs with the seeds that the one before has taken away; what else a run leaves in the shadows does not matter to
    its time."""

    def run():
        workload.reseed()
        way()

    return run


def measured(workload, precision, rounds, rate):
    """A row for each way, the primal first."""
    workload.primal()
    wrong = errors(workload)
    ways = {"primal": workload.primal, **workload.ways}
    rows = {}
    for name, way in ways.items():
        with counting() as launched:
            way()
        rows[name] = {
            "workload": workload.name, "precision": precision, "way": name, "launches": len(launched),
            "registers": registers(launched), "error": wrong.get(name),
        }  # fmt: skip
    takers = [name for name, way in workload.ways.items() if workload.seeds and not hasattr(way, "wait")]
    ways |= {name: seeded(ways[name], workload) for name in takers} | {"seeds": workload.reseed}
    counts = {name: 1 if is_simulated() else enough(way) for name, way in ways.items()}
    taken = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            taken[name].append(spent(way, counts[name]))
    times = {name: np.median(found, axis=0) for name, found in taken.items()}
    for name, row in rows.items():
        row["ms"], row["host ms"] = map(float, times[name] - (times["seeds"] if name in takers else 0.0))
    for name, row in rows.items():
        if name != "primal":
            row["over primal"] = row["ms"] / rows["primal"]["ms"]
            row["over hand"] = row["ms"] / rows["hand"]["ms"]
            row["of copy"] = 1e-6 * workload.moved / row["ms"] / rate
    return list(rows.values())


COLUMNS = (
    "workload",
    "precision",
    "way",
    "ms",
    "host ms",
    "over primal",
    "over hand",
    "of copy",
    "launches",
    "registers",
    "error",
)


def shown(value):
    if isinstance(value, float):
        return f"{value:.1e}" if 0 < abs(value) < 1e-3 else f"{value:.3g}"
    return "" if value is None else str(value)


def table(rows, notes):
    lines = [" | ".join(COLUMNS), " | ".join("---" for _ in COLUMNS)]
    lines += [" | ".join(shown(row.get(column)) for column in COLUMNS) for row in rows]
    own = [row["over hand"] for row in rows if row["way"] in ("adjit, function", "adjit, kernel")]
    if own:
        mean = math.exp(sum(map(math.log, own)) / len(own))
        notes = [*notes, f"adjit over hand: {mean:.2f} in the geometric mean, {max(own):.2f} at most."]
    return "\n".join([*(f"| {line} |" for line in lines), "", *notes]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--scale", type=float, default=None, help="scales the sizes; 1 on a GPU")
    parser.add_argument("--rounds", type=int, default=None)
    parser.add_argument("--seconds", type=float, default=420.0, help="start no workload after this time")
    parser.add_argument("--beside", nargs="*", default=["JAX", "torch"], metavar="LIBRARY")
    parser.add_argument("--out", type=Path, default=Path("build/bench"))
    asked = parser.parse_args()
    if not cuda.is_available():
        print("No GPU here: nothing is timed. (NUMBA_ENABLE_CUDASIM=1 runs it small, in the simulator.)")
        return 0
    loaded("cuda_peers")
    module = loaded("cuda_workloads")
    module.ASKED[:] = asked.beside

    simulated = is_simulated()
    scale = asked.scale if asked.scale is not None else 0.0 if simulated else 1.0
    rounds = asked.rounds or (1 if simulated else 15)
    device = "numba's simulator" if simulated else named(cuda.get_current_device().name)
    begin = time.monotonic()
    rate = copy_rate(scale, rounds)
    notes = [f"On {device}; a copy moves {rate:.0f} GB/s; medians of {rounds} rounds."]
    rows, failed = [], []
    told = {"device": device, "copy GB/s": rate, "rounds": rounds, "scale": scale, "rows": rows, "notes": notes}
    for precision in ("float64", "float32"):
        for make in module.workloads(precision, scale):
            if time.monotonic() - begin > asked.seconds:
                notes.append(f"Left out, as time was up: a workload in {precision}.")
                continue
            workload = make()
            if asked.names and workload.name not in asked.names:
                continue
            found = measured(workload, precision, rounds, rate)
            rows += found
            wrong = [row for row in found if (row["error"] or 0.0) > TOLERANCE[precision]]
            notes += [f"WRONG: {r['workload']} in {precision}, {r['way']}: {r['error']:.1e}" for r in wrong]
            failed += wrong
            # what was measured is kept whatever the next one meets
            write(asked.out, told)
    write(asked.out, told)
    print(table(rows, notes))
    return 1 if failed else 0


def write(folder, told):
    """The figures so far, as one JSON and one table."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cuda.json").write_text(json.dumps(told, indent=1), encoding="utf-8")
    (folder / "cuda.md").write_text(table(told["rows"], told["notes"]), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
