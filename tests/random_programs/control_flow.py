"""Random programs of control flow: names that some ways set, other names of what trips set, swaps, loops that are left.

    python -m tests.random_programs.control_flow --programs 20000 --jobs 2        values, compiled as text and by Python
    python -m tests.random_programs.control_flow --programs 500 --gradients       and derivatives, compiled

Exit status 1 if any two disagree. A name is read where it may be unset: programs that read it then are none for Python,
and are passed over.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import os
import random
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from numba import njit

from adjit.runtime.backend import compiler
from adjit.runtime.backend.compiler import GeneratedCompiler
from tests.defining import define
from tests.random_programs.checks import How, Outcome, check
from tests.random_programs.program import Program

ARGUMENTS = [(0.7, -0.4, 5, 1), (-0.3, 1.2, 4, 3), (1.4, 0.2, 0, 2), (0.1, 2.3, 7, 0)]
TABLE = [0.0, 0.9, -0.6, 1.7, 0.4, -1.1, 2.2, 1.3]

FLOATS = ["a", "b", "c", "d", "e"]
INTEGERS = ["i", "j", "k", "m"]
DEEPEST = 3
SHARE_UNSURE = 0.15  # of the reads, that may be of what is not set


class Flow:
    """A function of floats x and y, integers n and p, and an array h of eight floats."""

    def __init__(self, seed: object):
        self.draw = random.Random(f"flow {seed}")
        self.met: set[str] = set()  # names that some way has set
        self.sure: set[str] = set()  # names that every way to here has set
        self.depth, self.loops, self.counts = 0, 0, 0
        body = [f"    {self.set(FLOATS)} = x * {0.5 + k}" for k in range(self.draw.choice([0, 1, 2]))]
        body += self.block(self.draw.choice([2, 3, 3, 4]))
        # what some ways set says most
        unsure = [name for name in FLOATS + INTEGERS if name in self.met - self.sure]
        kept = unsure or self.known(FLOATS) or ["x"]
        chosen = self.draw.sample(kept, min(len(kept), self.draw.choice([1, 1, 2, 3])))
        result = " + ".join(f"{0.5 + 0.25 * k} * {name}" for k, name in enumerate(chosen))
        self.text = "\n".join(["def program(x, y, n, p, h):", *body, f"    return {result} + 0.1 * x * y", ""])

    # ------------------------------------------------------------------------------------------------- expressions

    def floats(self) -> list[str]:
        return ["x", "x", "y", *self.known(FLOATS)]

    def integers(self) -> list[str]:
        return ["n", "p", *self.known(INTEGERS)]

    def known(self, names: list[str]) -> list[str]:
        """Names that may be read: mostly those that are set for sure."""
        among = self.met if self.draw.random() < SHARE_UNSURE else self.sure
        return [name for name in names if name in among]

    def float(self) -> str:
        draw, names = self.draw, self.floats()
        one, other = draw.choice(names), draw.choice(names)
        return draw.choice(
            [one, one, f"{one} * 0.5 + {other}", f"{one} * {other} * 0.25", f"{other} - {one} * 0.3"]
            + [f"h[{self.index()}]", f"h[{self.index()}] * {one}", str(draw.choice([0.0, 0.5, 1.0]))]
            + [f"{draw.choice(self.integers())} * 0.5", f"({one} if {self.condition()} else {other})"]
        )  # fmt: skip

    def integer(self) -> str:
        draw, names = self.draw, self.integers()
        one, other = draw.choice(names), draw.choice(names)
        return draw.choice(
            [one, one, f"{one} + 1", f"{one} - {other}", f"{one} % 3", str(draw.randrange(4)), f"{one} * {other} % 7"]
        )

    def index(self) -> str:
        return f"{self.draw.choice(self.integers())} % 8"

    def condition(self) -> str:
        draw = self.draw
        match draw.randrange(12):
            case 0:
                return f"{self.condition()} and {self.condition()}"
            case 1:
                return f"{self.condition()} or {self.condition()}"
            case 2:
                return f"not ({self.condition()})"
            case 3:
                return f"{self.simple()} < {self.simple()} <= {self.simple()}"
            case 4 | 5:
                return f"{draw.choice(self.integers())} {draw.choice(['<', '>', '==', '!='])} {self.integer()}"
            case _:
                return f"{self.simple()} {draw.choice(['<', '>', '<=', '>='])} {self.simple()}"

    def simple(self) -> str:
        return self.draw.choice([*self.floats(), f"h[{self.index()}]", "0.4"])

    # -------------------------------------------------------------------------------------------------- statements

    def block(self, count: int) -> list[str]:
        self.depth += 1
        before = set(self.sure)
        lines = [line for _ in range(count) for line in self.statement()]
        if self.depth > 1:
            self.sure = before
        self.depth -= 1
        return ["    " + line for line in lines]

    def statement(self) -> list[str]:
        draw = self.draw
        if self.depth <= DEEPEST and draw.random() < 0.6 - 0.1 * self.depth:
            ways = [self.branch, self.branch, self.branch] if self.loops else [self.branch]
            return draw.choice([*ways, self.counted, self.counted, self.tested])()
        kind = draw.randrange(12)
        if self.loops and kind == 0:
            return [f"if {self.condition()}:", f"    {draw.choice(['break', 'continue'])}"]
        if kind == 1 and self.depth > 1:
            return [f"if {self.condition()}:", f"    return {self.float()} + x * 0.2"]
        if kind < 6:
            return [self.swapped()]
        if kind == 6:
            target = draw.choice(self.floats()[3:] or ["x"])
            return [f"{target} {draw.choice(['+=', '-='])} {self.float()}"]
        if kind < 9:
            value = self.float()
            return [f"{self.set(FLOATS)} = {value}"]
        value = self.integer()
        return [f"{self.set(INTEGERS)} = {value}"]

    def set(self, names: list[str]) -> str:
        name = self.draw.choice(names)
        self.met.add(name)
        self.sure.add(name)
        return name

    def swapped(self) -> str:
        names = self.draw.choice([FLOATS, INTEGERS])
        known = self.known(names)
        if len(known) < 2:
            value = self.float() if names is FLOATS else self.integer()
            return f"{self.set(names)} = {value}"
        sources = [self.draw.choice(known) for _ in range(self.draw.choice([1, 1, 2, 2, 3]))]
        targets = self.draw.sample(names, len(sources))
        self.met.update(targets)
        self.sure.update(targets)
        return f"{', '.join(targets)} = {', '.join(sources)}"

    def branch(self) -> list[str]:
        draw = self.draw
        lines = [f"if {self.condition()}:", *self.block(draw.choice([1, 1, 2]))]
        if draw.random() < 0.2:
            lines += [f"elif {self.condition()}:", *self.block(draw.choice([1, 2]))]
        if draw.random() < 0.4:
            lines += ["else:", *self.block(draw.choice([1, 1, 2]))]
        return lines

    def counted(self) -> list[str]:
        draw, before = self.draw, set(self.sure)
        over = draw.choice(
            ["range(n)", "range(p)", "range(3)", "range(1, 5)", "range(n - 1, -1, -1)", "range(h.size - 1)"]
        )
        if draw.random() < 0.2:
            counter, item = self.set(INTEGERS), self.set(FLOATS)
            head = f"for {counter}, {item} in enumerate(h):"
        else:
            head = f"for {self.set(INTEGERS)} in {over}:"
        lines = [head, *self.inside()]
        self.sure = before
        return lines

    def tested(self) -> list[str]:
        self.counts += 1
        count = f"w{self.counts}"
        head = f"while {count} < {self.draw.choice([1, 3, 4])} and ({self.condition_of_later()}):"
        return [f"{count} = 0", head, f"    {count} += 1", *self.inside()]

    def condition_of_later(self) -> str:
        """A test that may read, behind an `or`, what only trips set."""
        first = self.condition()
        if self.draw.random() < 0.4:
            later = self.draw.choice(FLOATS[:3])
            self.met.add(later)
            return f"{first} or {later} < {self.simple()}"
        return first

    def inside(self) -> list[str]:
        self.loops += 1
        lines = self.block(self.draw.choice([1, 2, 2, 3]))
        self.loops -= 1
        return lines


def arguments_of(k: int) -> tuple[Any, ...]:
    return (*ARGUMENTS[k], np.array(TABLE))


def outcome(function: Any, k: int) -> Any:
    """The value, or None where a name is read that is not set."""
    try:
        return float(function(*arguments_of(k)))
    except NameError:
        return None


def program_of(seed: int) -> tuple[str, list[Any]]:
    """The text of a seed, and what Python has for each of the arguments. Some of them have a value."""
    for number in itertools.count():
        text = Flow((seed, number)).text
        plain = define(text, f"<flow {seed}>")["program"]
        expected = [outcome(plain, k) for k in range(len(ARGUMENTS))]
        if sum(value is not None for value in expected) >= 2:
            return text, expected
    raise AssertionError


def check_values(seed: int) -> str | None:
    """What is wrong with the program of a seed, compiled from its text; None if nothing is."""
    text, expected = program_of(seed)
    compiler.not_read.clear()
    try:
        found = njit(pipeline_class=GeneratedCompiler)(define(text, f"<flow {seed}>")["program"])
        values = [None if value is None else outcome(found, k) for k, value in enumerate(expected)]
    except Exception as fault:  # noqa: BLE001  that is what is looked for
        # what numba's own does not take either is not asked of the reader
        return None if compiler.not_read else f"seed {seed}: {fault!r}\n{text}"
    if not all(v is None or v == e or abs(v - e) <= 1e-9 * max(1.0, abs(e)) for v, e in zip(values, expected)):
        return f"seed {seed}: {values} for {expected}\n{text}"
    return None


def check_gradients(seed: int) -> str | None:
    """The same of both modes, uncompiled and compiled."""
    rows = ", ".join(map(repr, ARGUMENTS[0])), ", ".join(map(repr, ARGUMENTS[1]))
    text, _ = program_of(seed)
    for row in rows:
        tried = f"{text}\n\ndef arguments():\n    return ({row}, np.array({TABLE}))\n"
        verdict = check(Program(tried), How(compiled=True))
        if verdict.outcome.is_failure:
            return f"seed {seed}: {verdict.outcome.value}: {verdict.why}\n{tried}"
        if verdict.outcome is Outcome.FINE:
            return None
    return None


def found_by(seeds: Iterator[int], check_one: Any, jobs: int) -> Iterator[str]:
    with multiprocessing.get_context("fork").Pool(jobs, maxtasksperchild=40) as pool:
        yield from filter(None, pool.imap_unordered(check_one, seeds, chunksize=25))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--gradients", action="store_true")
    options = parser.parse_args()
    os.environ["ADJIT_CACHE"] = "0"
    os.environ["ADJIT_VERIFY"] = "1"
    first = options.seed * 1_000_000
    seeds = iter(range(first, first + options.programs))
    failures = 0
    for failure in found_by(seeds, check_gradients if options.gradients else check_values, options.jobs):
        failures += 1
        print(failure, flush=True)
    print(f"{options.programs} programs, {failures} wrong")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
