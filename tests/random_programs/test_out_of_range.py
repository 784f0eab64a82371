"""Random programs with an index or a range that was shifted beyond an array: IndexError at its line in every mode."""

from __future__ import annotations

import ast
import copy
import random
import re
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

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
