"""The gain of each mechanism of the compiler: gradients with and without it, interleaved.

In:  workloads, a timer of functions that take turns. Out: lines of a table, one mechanism per row.

    make bench ARGS=--switches
"""

import adjit
from adjit.transform.strategy import MECHANISMS, Strategy

KEEPS = 1.05  # a mechanism stays where leaving it out costs that much


def switches(workloads, medians, rounds):
    """For each mechanism the workloads whose text it changes, with the time without it over the time with it."""
    gained = {name: {} for name in sorted(MECHANISMS)}
    for title, function, arguments, wrt in workloads:
        with_all = adjit.value_and_grad(function, wrt=wrt)
        text = with_all.source(*arguments, tuned=True)
        calls = {"": lambda arguments=arguments, made=with_all: made(*arguments)}
        for name in gained:
            made = adjit.value_and_grad(function, wrt=wrt, strategy=Strategy(without=frozenset({name})))
            if made.source(*arguments, tuned=True) != text:
                calls[name] = lambda arguments=arguments, made=made: made(*arguments)
        times = medians(calls, rounds)
        for name in calls:
            if name:
                gained[name][title] = times[name] / times[""]
    return gained


def rows(gained, count):
    """The table as text."""
    yield f"{'without':12s} {'changes':>8s} {'costs':>6s}  time without it over time with it"
    for name, found in gained.items():
        felt = sum(ratio >= KEEPS for ratio in found.values())
        listed = ", ".join(f"{title} {ratio:.2f}" for title, ratio in sorted(found.items(), key=lambda p: -p[1]))
        yield f"{name:12s} {len(found):5d}/{count:2d} {felt:6d}  {listed}"
