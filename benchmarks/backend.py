"""What each stand-in for a part of numba gains: `python benchmarks/backend.py`.

    python benchmarks/backend.py [--shared FOLDER] [--rounds 3] [--parts passes,reading] [NAME ...]

For each small workload and each program of library calls (`libraries.py`), it measures the processor time of a first
gradient and the time of a later call, once with numba's version of a part and once with adjit's. It prints the ratio of
the best times: above 1 the part saves time. The processes take turns. The last row has the geometric means.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path

from latency import KINDS, SHARED, the_workload, warm_up

PARTS = {
    "reading": {"ADJIT_READING": "0"},
    "apart": {"ADJIT_APART": "0"},
    "passes": {"ADJIT_PASSES": "3"},
    "LSR": {"ADJIT_LSR": "1"},
    "interleave": {"ADJIT_INTERLEAVE": "4"},
    "inference": {},
    "wrapper": {},
    "lowering": {},
    "lifetimes": {},
    "stand-ins": {},
    "all": {"ADJIT_PLAIN_NUMBA": "1"},
}


def leave_to_numba(part):
    """Puts numba's own in the place of a part that no variable of the environment turns off."""
    from numba.core.lowering import Lower

    from adjit.runtime.backend import compiler, inference, lifetimes

    if part == "inference":
        inference._asked.get_call_template, inference._asked.get_overload = inference._compiling, inference._compiled
    elif part == "lowering":
        compiler.GeneratedLowering.lowering_class = Lower
    elif part == "wrapper":
        from adjit.runtime.backend import lowering

        lowering.suits = lambda result, arguments: False
    elif part == "lifetimes":
        lifetimes.is_known = lambda blocks: False
    elif part == "stand-ins":
        from adjit.runtime.backend import stand_ins

        stand_ins._STAND_INS.clear()


def measure(part, folder, name):
    """Prints the processor time of a first gradient, and the least time of a later call."""
    import adjit
    from libraries import programs

    leave_to_numba(part)
    warm_up()
    if name in programs():
        function, arguments, wrt = programs()[name]
    else:
        workload = the_workload(folder, name)
        function, arguments, wrt = workload.function, workload.arguments, workload.wrt
    gradient = adjit.value_and_grad(function, wrt=wrt)
    begin = time.process_time()
    gradient(*arguments)
    first = time.process_time() - begin
    calls = []
    end = time.perf_counter() + 0.3
    while len(calls) < 5 or time.perf_counter() < end:
        begin = time.perf_counter()
        gradient(*arguments)
        calls.append(time.perf_counter() - begin)
    print(json.dumps({"first": first, "call": min(calls)}))


def measured(part, folder, name):
    environment = {**os.environ, "ADJIT_CACHE": "0", **PARTS.get(part, {})}
    command = [sys.executable, __file__, "--one", part, "--shared", str(folder), name]
    run = subprocess.run(command, env=environment, capture_output=True, text=True)
    return json.loads(run.stdout.splitlines()[-1]) if run.returncode == 0 else None


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def main():
    parser = argparse.ArgumentParser(description="What each stand-in for a part of numba gains.")
    parser.add_argument("names", nargs="*", help="only these workloads")
    parser.add_argument("--shared", type=Path, default=SHARED, help="folder of workloads, wl_*.py")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one is not None:
        measure(options.one, str(options.shared), options.names[0])
        return
    from libraries import programs

    parts = options.parts.split(",")
    workloads = [*sorted(path.stem[3:] for path in options.shared.glob("wl_*.py")), *KINDS]
    names = options.names or [*workloads, *programs()]
    ratios = {part: [] for part in parts}
    print(f"{'':22s}" + "".join(f"{part:>16s}" for part in parts) + "      (first gradient, call)")
    for name in names:
        best = {}
        for _ in range(options.rounds):
            for part in ("", *parts):
                found = measured(part, options.shared, name)
                if found:
                    kept = best.setdefault(part, found)
                    best[part] = {key: min(kept[key], found[key]) for key in found}
        row = ""
        for part in parts:
            if part not in best:
                row += f"{'fails':>16s}"
                continue
            first, call = (best[part][key] / best[""][key] for key in ("first", "call"))
            ratios[part].append((first, call))
            row += f"{first:9.2f} {call:6.2f}"
        print(f"{name:22s}{row}", flush=True)
    last = ""
    for pairs in ratios.values():
        firsts, calls = zip(*pairs, strict=True) if pairs else ((), ())
        last += f"{mean(firsts):9.3f} {mean(calls):6.3f}"
    print(f"{'geometric mean':22s}{last}")


if __name__ == "__main__":
    main()
