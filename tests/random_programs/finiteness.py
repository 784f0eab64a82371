"""Random programs on data that is missing, infinite, equal or zero: both modes and differences are finite alike.

Data with nan and inf goes through arithmetic and is left out by masks, tests, the nan-family or as what is not the
least; tables are filled up with infinity or zeros; lengths are zero where points coincide; eigenvalues are equal.
Where slopes on both sides agree, both modes give them; elsewhere, at kinks, both modes agree.

    python -m tests.random_programs.finiteness --programs 20000 --jobs 2
    python -m tests.random_programs.finiteness --programs 1000 --compiled
    python -m tests.random_programs.finiteness --programs 100 --strategies
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import sys
import warnings
from collections.abc import Iterator

import numpy as np

import adjit
from adjit.transform.strategy import CHEAPEST, FORCED
from tests.defining import define
from tests.random_programs import incomplete

# what arrays of numbers that may be nan or infinite are made of
MADE = (
    "(x - y) ** 2", "x * y", "np.exp(-x * y)", "np.sqrt(x * x) * y", "np.sin(x + y)", "y / (1.0 + x * x)",
    "x - y * x[0]", "np.where(x > 0.2, y * x, x)", "(y - np.mean(x)) * x", "np.cumsum(y * x)",
    "np.log(1.0 + x * x) + y",
)  # fmt: skip
# how what is missing is left out of `a`, an array of its own
LEFT_OUT = (
    "a = np.where(np.isnan(a), 0.0, a)", "a = np.where(missing, 0.5, a)", "a[np.isnan(a)] = 0.0", "a[missing] = x[1]",
    "a = np.nan_to_num(a)", "a = np.where(np.isnan(y), x, a)", "a = np.where(np.isfinite(a), a, -1.0)",
    "for i in range(a.size):\n    if missing[i]:\n        a[i] = x[i]",
    "for i in range(a.size):\n    a[i] = a[i] if a[i] == a[i] else 0.25 * x[0]",
    "a = a[~missing]", "a = a[~np.isnan(a)]", "a = np.where(missing, x[0], a) + x[2]",
)  # fmt: skip
# numbers of an array of which something is missing
NUMBERS = (
    "np.nansum(a)", "np.nanmean(a)", "np.nanmax(a)", "np.nanmin(a)", "np.nanvar(a)", "np.nanstd(a)", "np.nanmedian(a)",
    "np.nanprod(a)", "np.sum(np.nancumsum(a))", "np.nanpercentile(a, 30.0)", "np.sum(a, where=~missing)",
    "np.sum(a[~missing] * x[~missing])", "np.sum(np.where(missing, 0.0, a * a))", "np.nansum(np.sqrt(a * a + 1.0))",
)  # fmt: skip
LOOPS = (
    "for i in range(a.size):\n    if not np.isnan(a[i]):\n        t += a[i] * x[i]",
    "for i in range(a.size):\n    r = a[i] * a[i]\n    t += r if r == r else 0.0",
    "for i in range(a.size):\n    if missing[i]:\n        continue\n    t += np.sin(a[i])",
    "for i in range(a.size):\n    r = a[i] * x[i]\n    if np.isfinite(r):\n        t += math.exp(-r * r)",
)
# of `v`, finite numbers: tables filled up, lengths of zero, what is not the greater one
FILLED = (
    "b = np.full(6, np.inf)\nb[1:5] = v\nt += np.min(b)",
    "b = np.full(6, np.inf)\nb[1:5] = v * v\nt += np.sum(np.exp(-b))",
    "b = np.full(6, np.inf)\nb[1:5] = v * v + 0.5\nt += np.sum(1.0 / b) + np.sum(np.tanh(b))",
    "b = np.full(6, np.inf)\nb[1:5] = v\nfor i in range(5):\n    t += min(b[i] ** 2, b[i + 1] ** 2)",
    "b = np.full(5, np.inf)\nb[0] = 0.0\nfor i in range(4):\n"
    "    b[i + 1] = math.sqrt((v[i] - 3.0) ** 2 + min(b[i] ** 2, b[i + 1] ** 2))\nt += b[4]",
    "b = np.full(6, -np.inf)\nb[:4] = v\nt += np.log(np.sum(np.exp(b - np.max(b)))) + np.max(b)",
    "b = np.zeros(6)\nb[1:5] = v * v + 0.1\nt += np.sum(np.sqrt(b))",
    "b = v.copy()\nb[b < 0.3] = 0.0\nt += np.sum(np.sqrt(b)) + np.sum(b**1.5)",
    "d = v[:, None] - v[None, :]\nr = np.sqrt(d**2)\nt += np.sum(np.exp(-(r**2)) * (1.0 + w))",
    "for i in range(4):\n    for j in range(4):\n        d = (v[i] - v[j]) * 0.7\n        r = math.sqrt(d * d)\n"
    "        t += (1.0 + 2.0 * r) * math.exp(-2.0 * r) * w[j]",
    "q = np.zeros(4)\nfor j in range(4):\n    q += (v - v[j]) ** 2 * 0.5 * (j < 1)\nt += np.sum(np.sqrt(q) ** 3)",
    "t += np.linalg.norm(v - v[0]) ** 2 * w[1] + np.linalg.norm(v - v) ** 2",
    "t += np.sum(np.maximum(np.sqrt(v - np.min(v)), 0.4) * w)",
    "t += np.sum(np.where(v > 0.1, np.sqrt(np.where(v > 0.1, v, 1.0)), 0.0))",
    "s = np.sqrt(v - np.min(v))\ns[v == np.min(v)] = 1.0\nt += np.sum(s * w)",
    "t += np.sum(np.where(v > 0.0, np.log(v) * v, 0.0))",
    "t += max(math.sqrt(abs(v[0] - v[0])), w[0]) + np.hypot(v[1] - v[1], w[2]) + np.sum(v**2 * (w > 0.0))",
    "far = np.where(w > 0.5, np.inf, w)\nt += np.sum(v * np.exp(-far)) + np.sum(v / (1.0 + far))",
)
# of a symmetric matrix with equal eigenvalues, and of one whose singular values are equal
SPACES = (
    "t += np.sum(np.exp(0.3 * np.linalg.eigvalsh(A)))",
    "u = np.linalg.eigh(A)[1]\nt += np.sum(u[:, :2] @ u[:, :2].T * B)",
    "u = np.linalg.eigh(A)[1]\nt += np.sum(u[:, 2] ** 4) * x[0]",
    "u, s, vt = np.linalg.svd(B)\nt += np.sum((u @ vt) * A)",
    "t += np.sum(np.linalg.svd(B)[1] ** 3) + np.linalg.norm(B) + np.linalg.norm(A - A)",
    "t += np.linalg.slogdet(A)[1] + np.sum(np.linalg.inv(B) * A)",
    # functions of a matrix, and parts of it
    "e, u = np.linalg.eigh(A)\nt += np.sum((u * np.sqrt(e)) @ u.T * B)",
    "e, u = np.linalg.eigh(A)\nt += np.sum(u @ np.diag(np.exp(-0.4 * e)) @ u.T * B)",
    "e, u = np.linalg.eigh(A)\nq = u.T @ B[0]\nt += np.sum(u @ (q / (e + 0.5)) * B[1]) + np.sum(q**2 * np.log(e))",
    "e, u = np.linalg.eigh(A)\nfor k in range(e.size):\n    t += e[k] ** 1.5 * np.sum(np.outer(u[:, k], u[:, k]) * B)",
    "e, u = np.linalg.eigh(A)\nt += np.sum(u @ ((u.T @ B @ u) / (e[:, None] + e[None, :])) @ u.T)",
    "e, u = np.linalg.eigh(A)\nt += np.sum((u[:, 2:] * e[2:]) @ u[:, 2:].T * B)",
    "u, s, vt = np.linalg.svd(B)\nt += np.sum(u[:, :1] * s[:1] @ vt[:1] * A)",
    "u, s, vt = np.linalg.svd(B)\nt += np.sum((u * np.maximum(s - 0.5, 0.0)) @ vt * A)",
)
TURN = np.linalg.qr(np.array([[1.0, 2.0, 0.5], [0.3, -1.0, 2.0], [1.5, 0.7, 1.0]]))[0]
ARRAYS = "x, y, w, missing, A, B"


class Unfit(Exception):
    """A program that plain Python does not give a finite number for, or that has no finite gradient there."""


class Finite:
    """A random program, and arguments for it."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(f"finite {seed}")
        body = [line for _ in range(self.draw.choice((1, 1, 1, 2, 3))) for line in self.part().splitlines()]
        lines = ["t = 0.0", "v = x * w + 0.2 * x", *body, f"return t + {self.draw.choice(['np.sum(x)', 't * x[3]'])}"]
        self.text = f"def program({ARRAYS}):\n" + "".join(f"    {line}\n" for line in lines)
        self.function = define(self.text, f"finite_{seed}.py", np=np, math=__import__("math"))["program"]

    def part(self) -> str:
        draw = self.draw
        match draw.randrange(10):
            case 0:
                return f"a = {draw.choice(MADE)}\nt += {draw.choice(NUMBERS)}"
            case 1:
                return f"a = {draw.choice(MADE)}\n{draw.choice(LOOPS)}"
            case 2:
                used = draw.choice(("np.sum(a * a)", "np.sum(np.sin(a)) + a[0]", "np.max(a)", "np.sum(np.exp(-a * a))"))
                return f"a = {draw.choice(MADE)}\n{draw.choice(LEFT_OUT)}\nt += {used}"
            case 3:
                return draw.choice(FILLED)
            case 4:
                return draw.choice(SPACES)
            case _:
                return incomplete.part(draw)

    def arguments(self) -> tuple[np.ndarray, ...]:
        numbers = np.random.default_rng(self.draw.randrange(1000))
        x = numbers.choice([0.0, 0.3, 0.3, -0.7, 1.2, 2.0], 4) + self.draw.choice([0.0, 0.0, 1e-3]) * numbers.normal(
            size=4
        )
        y = numbers.normal(size=4)
        missing = numbers.random(4) < 0.4
        y[missing] = np.nan
        w = numbers.choice([0.0, 0.4, 0.8, 1.0], 4)
        values = np.diag(self.draw.choice([(1.0, 1.0, 4.0), (2.0, 2.0 + 1e-14, 5.0), (1.0, 1.0 + 1e-6, 3.0)]))
        turn = TURN if self.draw.random() < 0.7 else np.eye(3)
        symmetric = turn @ values @ turn.T
        return x, y, w, missing, 0.5 * (symmetric + symmetric.T), TURN @ values

    def differences(self, arguments: tuple[np.ndarray, ...], k: int) -> np.ndarray:
        """The slopes; nan where those on both sides, or of a shorter and a longer step, differ."""
        found = np.zeros(arguments[k].shape)
        here = self.function(*arguments)

        def rise(place: tuple[int, ...], step: float) -> float:
            given = [a.copy() for a in arguments]
            given[k][place] += step
            try:
                return (float(self.function(*given)) - here) / step
            except (ArithmeticError, ValueError, IndexError):
                return np.nan

        for place in np.ndindex(found.shape):
            slopes = [rise(place, step) for step in (-1e-6, 1e-6, -1e-5, 1e-5)]
            slope = 0.5 * (slopes[0] + slopes[1])
            is_one = all(abs(each - slope) < 1e-3 * (1.0 + abs(slope)) for each in slopes)
            found[place] = slope if is_one else np.nan
        return found

    def check(self, **options: object) -> None:
        arguments = self.arguments()
        with np.errstate(all="ignore"):
            try:
                value = self.function(*arguments)
            except (ArithmeticError, ValueError, IndexError, np.linalg.LinAlgError) as fault:
                raise Unfit from fault
            if not np.isfinite(value) or abs(value) > 1e6:
                raise Unfit
            given = tuple(a.copy() for a in arguments)
            of_spaces = (4, 5) if any(name in self.text.split(":", 1)[1] for name in ("(A", "(B", "* A", "* B")) else ()
            try:
                wrt = (0, *self.draw.choice(((), (1,), (1, 2))), *of_spaces)
                reverse = adjit.grad(self.function, wrt=wrt, **options)(*given)
            except adjit.errors.NotDifferentiable:
                # the data only decides
                wrt = (0, *of_spaces)
                reverse = adjit.grad(self.function, wrt=wrt, **options)(*given)
            forward = adjit.jacfwd(self.function, wrt=wrt, **options)(*given)
            if any(np.isinf(columns).any() for columns in forward):
                # the slope is infinite: docs/conventions.md says where reverse mode has nan beside it
                raise Unfit
            for k, bar, columns in zip(wrt, reverse, forward, strict=True):
                wanted = self.differences(arguments, k)
                scale = 1.0 + np.max(np.abs(wanted[np.isfinite(wanted)]), initial=0.0)
                told = f"{self.text}\n{arguments}\nby {k}: reverse\n{bar}\nforward\n{columns}\ndifferences\n{wanted}"
                is_smooth = np.isfinite(wanted)
                assert np.array_equal(np.isfinite(bar), np.isfinite(columns)), told
                assert np.isfinite(bar)[is_smooth].all(), told
                both = np.isfinite(bar)
                assert np.allclose(bar[both], columns[both], rtol=1e-7, atol=1e-7 * scale), told
                assert np.allclose(bar[is_smooth], wanted[is_smooth], rtol=1e-3, atol=1e-3 * scale), told
            if self.draw.random() < 0.25:
                self.check_tangent(arguments, np.asarray(forward[0]), **options)

    def check_tangent(self, arguments: tuple[np.ndarray, ...], columns: np.ndarray, **options: object) -> None:
        """Along a tangent with zeros, in which all but `x` stays as it is."""
        along = np.array([self.draw.choice((0.0, 0.5, -2.0)) for _ in columns])
        tangents = (along, *(np.zeros(a.shape, a.dtype) for a in arguments[1:]))
        slope = adjit.jvp(self.function, arguments, tangents, **options)[1]
        moving = along != 0
        if np.isfinite(columns[moving]).all():
            wanted, scale = np.sum(columns[moving] * along[moving]), 1.0 + np.max(np.abs(columns[moving]), initial=0.0)
            told = f"{self.text}\n{arguments}\nalong {along}: {slope}, wanted {wanted} of {columns}"
            assert np.allclose(slope, wanted, rtol=1e-7, atol=1e-7 * scale), told


def verdict_of(case: tuple[int, str]) -> str | None:
    """What is wrong with the program of a seed; "" if nothing is, and None if the program is unfit."""
    seed, way = case
    options: dict[str, object] = {"target": "python", "strategy": FORCED.get(way, CHEAPEST)}
    if way == "compiled":
        options = {"cache": False}
    program = Finite(seed)
    try:
        with warnings.catch_warnings(action="ignore"):
            program.check(**options)
    except Unfit:
        return None
    except Exception as fault:  # noqa: BLE001  that is what is looked for
        return f"seed {seed}, {way}: {fault!r}\n{program.text}{fault}"
    return ""


def verdicts(cases: list[tuple[int, str]], jobs: int) -> Iterator[str | None]:
    """Each process checks few programs, as it keeps what it derives, and begins with what the first ones share."""
    for seed in range(30):
        verdict_of((seed, "cheapest"))
    with multiprocessing.get_context("fork").Pool(jobs, maxtasksperchild=2) as pool:
        yield from pool.imap_unordered(verdict_of, cases, chunksize=20)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=100, help="how many, of each strategy if all are asked for")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--compiled", action="store_true", help="as users run them")
    way.add_argument("--strategies", action="store_true", help="under each strategy that is forced")
    options = parser.parse_args()
    os.environ["ADJIT_CACHE"] = "0"
    ways = ["compiled"] if options.compiled else sorted(FORCED) if options.strategies else ["cheapest"]
    first = options.seed * 1_000_000
    seeds = range(first, first + options.programs)
    fit = failures = 0
    for verdict in verdicts([(seed, way) for way in ways for seed in seeds], options.jobs):
        fit += verdict == ""
        if verdict:
            failures += 1
            print(verdict, flush=True)
    print(f"{len(ways) * options.programs} programs, {fit} with a finite value and a gradient, {failures} wrong")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
