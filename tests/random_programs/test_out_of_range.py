"""Random programs with an index or a range that was shifted beyond an array: IndexError at its line in every mode."""

from __future__ import annotations

import ast
import copy
import linecache
import random
import re
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

import adjit
from adjit.errors import AdjitError, NotScalar
from tests.random_programs.program import Program
from tests.random_programs.writing import write
from tests.random_programs.writing.world import Unfit, limited

_OUTSIDE = re.compile(r"index (-?\d+) is out of bounds for axis \d+ with size (\d+)")
SECONDS, EVERY_COMPILED = 20.0, 8


@dataclass(frozen=True)
class Shifted:
    """A program that raises IndexError, with the line, the index and the size that plain Python says."""

    program: Program
    line: int
    index: int
    size: int


def shifted(seed: int) -> Shifted | None:
    """A random program with a shift after which plain Python raises; None where none of a few does."""
    text = write(seed).text
    spans = list(_spans(ast.parse(text)))
    draw = random.Random(seed)
    draw.shuffle(spans)
    for first, last, is_range in spans[:6]:
        lines = text.splitlines(keepends=True)
        line = lines[first[0] - 1]
        shift = draw.choice((1, 1, 2, 5, 9)) if is_range else draw.choice((1, 2, 5, 9, -9))
        changed = f"({line[first[1] : last[1]]}) + {shift}" if shift > 0 else f"({line[first[1] : last[1]]}) - {-shift}"
        lines[first[0] - 1] = line[: first[1]] + changed + line[last[1] :]
        found = _outside(Program("".join(lines)))
        if found is not None:
            return found
    return None


def _spans(tree: ast.AST) -> Iterator[tuple[tuple[int, int], tuple[int, int], bool]]:
    """Where integers in subscripts, and ends of ranges, stand."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef) or function.name in ("arguments", "others"):
            continue
        for node in ast.walk(function):
            own: list[ast.expr] = []
            is_range = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range"
            if isinstance(node, ast.Call) and is_range:
                own = [node.args[min(1, len(node.args) - 1)]]
            elif isinstance(node, ast.Subscript):
                own = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            for each in own:
                is_index = not isinstance(each, ast.Slice | ast.Compare | ast.List)
                if is_index and each.lineno == each.end_lineno and each.end_col_offset is not None:
                    yield (each.lineno, each.col_offset), (each.lineno, each.end_col_offset), is_range


def _outside(program: Program) -> Shifted | None:
    module = program.module(is_plain=True)
    try:
        with limited(SECONDS), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module["program"](*module["arguments"]())
    except IndexError as fault:
        says = _OUTSIDE.fullmatch(str(fault))
        frame = traceback.extract_tb(fault.__traceback__)[-1]
        if says is not None and frame.filename == module["program"].__code__.co_filename:
            # numba's decorators are not in the plain text
            gone = len(program.source().splitlines()) - len(program.source(is_plain=True).splitlines())
            return Shifted(program, 0 if gone else frame.lineno or 0, *map(int, says.groups()))
    except (Unfit, Exception):  # noqa: BLE001  what raises anything else is no such program
        pass
    return None


def fault_of(asked: Shifted, is_compiled: bool) -> str:
    """What is wrong with what derivatives of the program raise; empty for nothing, "refused" if it is not taken."""
    module = asked.program.module()
    options = {k: v for k, v in dict(module.get("asked", {})).items() if k in ("wrt", "memory_limit", "parallel")}
    wrt = options.pop("wrt", None)
    options["target"] = "cpu" if is_compiled else "python"
    function, arguments = module["program"], module["arguments"]()
    calls = {
        "vjp": lambda given: adjit.vjp(function, *given, **options),
        "jvp": lambda given: adjit.jvp(function, given, given, **options),
    }
    if wrt is not None:
        calls["value_and_grad"] = lambda given: adjit.value_and_grad(function, wrt=wrt, **options)(*given)
    for name, call in calls.items():
        with limited(10 * SECONDS), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                call(copy.deepcopy(arguments))
            except IndexError as fault:
                said = str(fault)
                if asked.line and f"{function.__code__.co_filename}:{asked.line} in" not in said:
                    return f"{name} says {said}, not line {asked.line}"
                if f"index {asked.index} is out of bounds" not in said or f"size {asked.size}" not in said:
                    return f"{name} says {said}, not {asked.index} of {asked.size}"
            except NotScalar:
                # by all arguments it was asked of
                continue
            except (AdjitError, NotImplementedError, TypeError) as fault:
                return f"refused: {fault!r}"
            except Exception as fault:  # noqa: BLE001  that is what is looked for
                return f"{name} raises {fault!r}"
            else:
                return f"{name} raises nothing"
    return ""


@pytest.mark.parametrize("first", [0, *(pytest.param(first, marks=pytest.mark.long) for first in range(20, 400, 20))])
def test_random_programs_that_go_beyond_their_arrays(first: int) -> None:
    found = [(seed, made) for seed in range(first, first + 20) if (made := shifted(seed)) is not None]
    counts: Counter[bool] = Counter()
    for seed, made in found:
        fault = fault_of(made, seed % EVERY_COMPILED == 0)
        counts[fault.startswith("refused")] += 1
        assert not fault or fault.startswith("refused"), f"seed {seed}: {fault}\n{made.program.text}"
    assert counts[False] >= 3
    assert counts[True] <= max(2, counts[False])


def counted(seed: int) -> tuple[str, tuple[object, ...]]:
    """A random program with a loop that counts by itself, up or down, and arguments of random lengths."""
    draw = random.Random(seed)
    is_up, step = draw.random() < 0.6, draw.choice((1, 1, 2, 3))
    end = draw.choice(("x.size", "y.size", "n", "x.size - 1", "n - 1", "x.size // 2", "min(n, y.size)"))
    upper = (
        f"i < {end}",
        f"i <= {end} - 1",
        f"i < {end} and j < x.size",
        f"not (i >= {end})",
        f"s < 3.0 and i < {end}",
    )
    test = draw.choice(upper if is_up else ("i >= 0", "i > 0", "i >= k and s < 9.0", "i > -1", "i > j"))
    counts = [f"i += {step}" if is_up else f"i -= {step}"]
    if draw.random() < 0.4:
        counts = [
            f"if s > 1.5: {counts[0]}",
            draw.choice((f"else: {counts[0]}", "else: i += 1", f"else: j += 1; {counts[0]}")),
        ]
    reads = [
        f"s += {draw.choice('xy')}[{draw.choice(('i', 'i', 'i', 'j', 'i - 1', 'i + 1', 'i + j'))}] ** 2"
        for _ in range(2)
    ]
    if draw.random() < 0.4:
        reads[0] = f"if {draw.choice(('s > 1.0', 'i > 0', 'j < i', 'i + 1 < x.size'))}: {reads[0]}"
    parts = [reads[:1], counts, reads[1:], draw.choice(([], ["j += 1"], ["j -= 1"], ["if s > 1.0: j += 1"], ["j = i"]))]
    draw.shuffle(parts)
    heads = [f"while {test}:", f"while {test} and t < 20:", "for t in range(n):", "while True:"]
    head = draw.choice(heads)
    lines = [
        "s, t = 0.0, 0",
        f"i = {draw.choice(('0', '0', '1', 'k', 'x.size - 1', 'y.size - 1', 'n'))}",
        f"j = {draw.choice(('0', 'x.size - 1', 'k'))}",
        head,
        *([f"    if not ({test}): break"] if head == heads[-1] else []),
        *([] if head == heads[2] else ["    t += 1"]),
        "    if t > 30: break",
        *(f"    {line}" for part in parts for line in part),
        "return s",
    ]
    text = "def program(x, y, n, k):\n" + "".join(f"    {line}\n" for line in lines)
    x, y = (
        np.array([draw.uniform(0.1, 1.0) for _ in range(size)])
        for size in (draw.choice((0, 1, 3, 6)), draw.choice((1, 4, 7)))
    )
    return text, (x, y, draw.choice((0, 2, 4, 6)), draw.choice((0, 1, 2, -1)))


@pytest.mark.parametrize("first", [0, *(pytest.param(first, marks=pytest.mark.long) for first in range(10, 400, 10))])
def test_counters_of_loops(first: int) -> None:
    """Indices that are proved to be in range, or checked before the loop, are those of Python."""
    for seed in range(first, first + 10):
        text, arguments = counted(seed)
        name = f"<counted {seed}>"
        linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
        scope: dict[str, object] = {"np": np}
        exec(compile(text, name, "exec"), scope)
        function = scope["program"]
        derived = adjit.value_and_grad(function, wrt=("x", "y"), target="python")
        try:
            wanted = function(*arguments)
        except IndexError as fault:
            says = re.escape(str(fault).replace(" with", " of `x` with")).replace("of\\ `x`", "of `[xy]`")
            with pytest.raises(IndexError, match=f"^{says}"):
                derived(*arguments)
        else:
            assert derived(*arguments)[0] == pytest.approx(wanted, rel=1e-12), text
