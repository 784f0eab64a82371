"""The writer: lines, blocks and functions put together, each tried out where it stands."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.random_programs.program import HEADER, Program, plain
from tests.random_programs.writing import rules, words
from tests.random_programs.writing.holes import HOLE, Holes, Missing
from tests.random_programs.writing.signature import Signature
from tests.random_programs.writing.world import NUMPY, Scope, Unfit, World, run

TRIES = 6


@dataclass(frozen=True)
class Helper:
    """A function that gives a number, and examples of what it takes."""

    name: str
    arguments: tuple[Any, ...]


def write(seed: int) -> Program:
    for attempt in range(20):
        made = Writer(random.Random(seed * 31 + attempt)).program()
        if made is not None:
            return made
    raise AssertionError(f"nothing is written for seed {seed}")


class Writer:
    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.signature = Signature(draw)
        self.texts: list[str] = []
        self.holes = Holes(draw, self._ask)
        self.is_outermost = True
        self.depth = 0
        # the loops and branches around
        self.heads: list[str] = []
        self.returns_number = self.chance(0.94)
        self.world = World(self._start)
        self.holes.world = self.world
        self.worlds = [self.world]

    def chance(self, share: float) -> bool:
        return self.draw.random() < share

    # ------------------------------------------------------------------------------------------ the whole

    def program(self) -> Program | None:
        for kind in self.draw.choices("fvvAMn", k=self.draw.randrange(2, 5)):
            self._ask(kind)
        for _ in range(self.draw.choice((0, 0, 0, 1, 1, 2))):
            self.helper()
        lines: list[str] = []
        wanted = self.draw.choice((2, 3, 4, 5, 6, 7, 8, 10, 12))
        for _ in range(3 * wanted):
            if _count(lines) >= wanted:
                break
            lines += self.statement()
        result = self.result()
        if result is None or not lines:
            return None
        self.signature.keep("\n".join([*lines, result]))
        names = ", ".join(self.signature.names())
        body = "".join(f"    {line}\n" for line in [*lines, f"return {result}"])
        parts = [*self.texts, f"def program({names}):\n{body}", self.signature.text()]
        asked = self.asked(body)
        if self.chance(0.15):
            parts.append(self.signature.text("others", self.draw.choice((1, 2))))
        text = "\n\n".join(parts) + f"\n\nasked = {asked!r}\n"
        return Program(text)

    def result(self) -> str | None:
        """A number that much of what is there goes into; seldom arrays."""
        floats, arrays = self.world.floats(), self.world.arrays()
        if not self.returns_number and arrays:
            some = self.draw.sample([*floats, *arrays], min(2, len(floats) + len(arrays)))
            return ", ".join(some)
        terms = floats[-4:]
        for k, name in enumerate(arrays[-5:]):
            weight = "" if self.chance(0.3) else f"{0.3 + 0.1 * k:.1f} * "
            whole = self.draw.choice((f"np.sum({name} * {name})", f"np.sum(np.sin({name}))", f"{name}.sum()"))
            terms.append(f"{weight}{whole}")
        return " + ".join(terms) or None

    def asked(self, body: str) -> dict[str, Any]:
        made: dict[str, Any] = {}
        parameters = self.signature.parameters
        carrying = [k for k, p in enumerate(parameters) if p.carries]
        if any(p.is_held for p in parameters):
            made["wrt"] = tuple(carrying)
        if self.chance(0.3) and len(carrying) > 1:
            made["wrt"] = tuple(sorted(self.draw.sample(carrying, self.draw.randrange(1, len(carrying)))))
        if "prange" in body:
            made["parallel"] = True
        if self.chance(0.1):
            made["memory_limit"] = self.draw.choice((100, 1000, 4000))
        if self.chance(0.06):
            made["way"] = self.draw.choice(("into", "vjp", "jacobian"))
        return made

    # ------------------------------------------------------------------------------------------ what there is

    def _start(self) -> Scope:
        scope: Scope = {}
        exec(HEADER, scope)
        scope["np"] = NUMPY
        for text in self.texts:
            exec(plain(text), scope)
        exec(self.signature.text("_arguments"), scope)
        for name, value in zip(self.signature.names(), scope["_arguments"](), strict=True):
            scope[name] = value
        return scope

    def _ask(self, kind: str) -> str | None:
        if not self.is_outermost:
            return None
        name = self.signature.add(kind)
        if name is None:
            return None
        for world in self.worlds:
            if name in world.values:
                # a variable of this name was made before
                self.signature.parameters.pop()
                return None
        for world in self.worlds:
            world.refresh()
        return name if name in self.world.values else None

    # ------------------------------------------------------------------------------------------ statements

    def statement(self) -> list[str]:
        makers: list[tuple[int, Callable[[], list[str]]]] = [
            (22, self.line), (16, self.called), (8, self.number), (6, self.several), (12, self.viewed),
            (10, self.idiom), (3, self.new_helper), (6, self.ruled),
        ]  # fmt: skip
        if self.depth < 2:
            makers += [(14, self.loop), (8, self.branch), (5, self.while_loop)]
        if self.depth:
            makers += [(3, self.leave)]
        chosen = self.draw.choices([m for _, m in makers], [w for w, _ in makers])[0]
        return chosen()

    def pattern(self, pattern: str, **more: str) -> list[str]:
        """The lines of a pattern with its holes filled so that it runs; none if it does not."""
        for name, text in more.items():
            pattern = pattern.replace(name, text)
        for _ in range(TRIES):
            made = self.holes.made
            try:
                text = self.holes.fill(pattern)
            except (Missing, Unfit):
                self.holes.made = made
                continue
            if self._types_stay(text) and self.world.attempt(text):
                return text.split("\n")
            self.holes.made = made
        return []

    def _types_stay(self, text: str) -> bool:
        """Whether names keep their kind of value, as typed code has it; counters of loops are not assigned."""
        for name in re.findall(r"(?m)^\s*(\w+) (?:[-+*/]|\*\*)?= ", text):
            if name in self.holes.fixed:
                return False
        trial = dict(self.world.values)
        simple = re.match(r"^(\w+) = ([^\n]*)$", text)
        if simple and simple[1] in trial:
            try:
                new = self.world.evaluate(simple[2])
            except Unfit:
                return False
            return _kind(new) == _kind(trial[simple[1]])
        return True

    def line(self) -> list[str]:
        return self.pattern(self.draw.choice(words.LINES))

    def number(self) -> list[str]:
        return self.pattern(self.draw.choice(("<!s> = {}", "<!s> = {}", "<s> += {}", "<v>[<k>] = {}")).format(
            self.draw.choice(words.NUMBERS)))  # fmt: skip

    def called(self) -> list[str]:
        """A result of a library, and what becomes of it."""
        lines = self.pattern(f"<!r> = {self.draw.choice(words.CALLS)}")
        return lines + self.fates(lines) if lines else []

    def ruled(self) -> list[str]:
        """A call for one of the rules there are, with arguments from where it is smooth."""
        if not self.is_outermost:
            return []
        call = self.draw.choice(rules.calls())
        values = call.values(self.draw.randrange(100))
        if values is None or len(self.signature.parameters) + len(values) > 8:
            return []
        renamed: dict[str, str] = {}
        for k, (name, value) in enumerate(zip(call.names, values, strict=False)):
            taken = any(name in world.values for world in self.worlds)
            given = self.signature.give(self.holes.fresh(name) if taken else name, value, k not in call.active)
            if given is None:
                return []
            renamed[name] = given
        for world in self.worlds:
            world.refresh()
        text = re.sub(r"(?<![.\w])[a-z_]\w*(?!\w|\(|\.|=[^=])", lambda m: renamed.get(m[0], m[0]), call.text)
        text = re.sub(r"(?<![.\w])(\w+)(?=\.(?!\w*\())", lambda m: renamed.get(m[0], m[0]), text)
        lines = self.pattern(f"<!r> = {text}")
        return lines + self.fates(lines) if lines else []

    def several(self) -> list[str]:
        lines = self.pattern(self.draw.choice(words.PAIRS))
        return lines + self.fates(lines) if lines else []

    def fates(self, lines: list[str]) -> list[str]:
        """What becomes of an array that these lines make."""
        found: list[str] = []
        names = [n for n in re.findall(r"\w+", lines[0].split(" = ")[0]) if n in self.world.arrays()]
        for name in names:
            for _ in range(self.draw.choice((0, 1, 1, 2, 3))):
                found += self.pattern(self.draw.choice(words.FATES), **{"<~$>": self._like(name), "$": name})
        return found

    def _like(self, name: str) -> str:
        try:
            return self.holes.array(np.shape(self.world.values[name]), 2)
        except (Missing, Unfit):
            return "0.3"

    def viewed(self) -> list[str]:
        """A view, stored to on one side and read on the other."""
        arrays = self.world.arrays()
        if not arrays:
            return []
        base = self.draw.choice(arrays)
        lines = self.pattern(f"<!w> = {self.draw.choice(words.VIEWS)}", **{"$": base})
        if not lines:
            return []
        made = lines[0].split(" = ")[0]
        if made not in self.world.arrays():
            return lines
        one, two = (base, made) if self.chance(0.5) else (made, base)
        if self.chance(0.3):
            lines += self.pattern("<!s> = np.sum($ * $)", **{"$": two})
        lines += self.pattern(self.draw.choice(words.FATES), **{"<~$>": self._like(one), "$": one})
        lines += self.pattern(
            self.draw.choice(("<!s> = np.sum($ * $)", "<!r> = $ * <x>", "$ *= <c>", "<!r> = $ + $")), **{"$": two}
        )
        return lines

    def idiom(self) -> list[str]:
        text = self.draw.choice(words.BLOCKS)
        if self.chance(0.8):
            text = "\n".join(line for line in text.split("\n") if not line.startswith("#"))
        return self.pattern(text)

    # ------------------------------------------------------------------------------------------ control flow

    def block(self, first: list[str], size: int) -> list[str]:
        """Statements at a place further inside."""
        outer, before = self.world, set(self.holes.fixed)
        try:
            inner = outer.inner(*first)
        except Unfit:
            return []
        self.world = self.holes.world = inner
        self.worlds.append(inner)
        self.depth += 1
        lines: list[str] = []
        for _ in range(3 * size):
            if _count(lines) >= size:
                break
            lines += self.statement()
        self.depth -= 1
        self.worlds.pop()
        self.world = self.holes.world = outer
        self.holes.fixed = before
        return lines

    def compound(self, head: str, first: list[str], fixed: set[str], size: int, last: str = "") -> list[str]:
        self.holes.fixed |= fixed
        self.heads.append(head.split()[0])
        body = self.block(first, size)
        self.heads.pop()
        self.holes.fixed -= fixed
        if not body:
            return []
        lines = [*head.split("\n"), *[f"    {line}" for line in body]]
        if last:
            lines.append(f"    {last}")
        return lines if self.world.attempt("\n".join(lines)) else []

    def loop(self) -> list[str]:
        d = self.draw
        counter = self.holes.counter()
        heads = (
            "range(<n>)", "range(<n>)", "range(<v>.size)", "range(<v>.shape[0])", "range(1, <v>.size)",
            "range(len(<v>))",
            "range(<v>.size - 1, -1, -1)", "range(<A>.shape[0])", "range(<A>.shape[1])", "range(0, <v>.size, 2)",
            "range(3)", "prange(<v>.size)", "adjit.checkpoint(range(<n>))", "range(1, <v>.size - 1)",
            "range(<n>, 0, -1)",
        )  # fmt: skip
        kind = d.random()
        try:
            if kind < 0.8:
                span = self.holes.fill(d.choice(heads))
                trips = list(self.world.evaluate(f"list({span})"))
                first, head, fixed = f"{counter} = {trips[0] if trips else 0}", f"for {counter} in {span}:", {counter}
            elif kind < 0.9:
                one, name = self.holes.fresh("e"), self.holes.fill(d.choice(("<v>", "<A>")))
                first, head, fixed = f"{one} = {name}[0]", f"for {one} in {name}:", {one}
            else:
                one, name = self.holes.fresh("e"), self.holes.fill("<v>")
                first = f"{counter} = 0\n{one} = {name}[0]"
                head, fixed = f"for {counter}, {one} in enumerate({name}):", {one, counter}
        except (Missing, Unfit):
            return []
        return self.compound(head, [first], fixed, d.choice((1, 2, 2, 3, 4)))

    def while_loop(self) -> list[str]:
        d = self.draw
        counter = self.holes.fresh("c")
        kind = d.random()
        try:
            more = self.holes.fill(d.choice(("", "", " and (<q>)", " and (<q>)"))) if kind < 0.7 else ""
            start = d.choice(("0", "0", "3"))
        except (Missing, Unfit):
            return []
        if kind < 0.7:
            test, step = (
                (f"{counter} < 3", f"{counter} += 1") if start == "0" else (f"{counter} > 0", f"{counter} -= 1")
            )
            setup = f"{counter} = {start}"
        else:
            setup, test, step = f"{counter} = 1.0", f"{counter} > 0.2", f"{counter} *= 0.5"
        if not self.world.attempt(setup):
            return []
        lines = self.compound(f"while {test}{more}:", [], {counter}, d.choice((1, 2, 3)), step)
        return [setup, *lines]

    def branch(self) -> list[str]:
        try:
            test = self.holes.fill("<q>")
        except (Missing, Unfit):
            return []
        self.heads.append("if")
        body = self.block([], self.draw.choice((1, 1, 2, 3)))
        other = self.block([], self.draw.choice((1, 2))) if body and self.chance(0.5) else []
        self.heads.pop()
        if not body:
            return []
        lines = [f"if {test}:", *[f"    {line}" for line in body]]
        if other:
            lines += ["else:", *[f"    {line}" for line in other]]
        return lines if self.world.attempt("\n".join(lines)) else []

    def leave(self) -> list[str]:
        """Out of a loop or of the function, on a condition. It is not tried here, but with what it stands in."""
        loop = next((k for k in reversed(self.heads) if k != "if"), None)
        if loop is None:
            return []
        try:
            test = self.holes.fill("<q>")
            kinds = ["break", "break", *([] if loop == "while" else ["continue", "continue"])]
            if self.returns_number:
                kinds.append(f"return {self.holes.fill('<x>')}")
        except (Missing, Unfit):
            return []
        return [f"if {test}:", f"    {self.draw.choice(kinds)}"]

    # ------------------------------------------------------------------------------------------ helpers

    def new_helper(self) -> list[str]:
        if not self.is_outermost or len(self.texts) > 2:
            return []
        self.helper()
        return self.pattern(self.draw.choice(("<!s> = <h>", "<s> += <h>", "<!s> = <x> * <h>", "<v>[<k>] += <h>")))

    def helper(self) -> None:
        """A function of its own, that takes what is there and gives a number."""
        names = [
            n for n, v in self.world.named() if isinstance(v, float | int | np.ndarray) and not isinstance(v, bool)
        ]
        if not names or not self.is_outermost:
            return
        names = self.draw.sample(names, min(len(names), self.draw.choice((1, 2, 2, 3))))
        values = {n: self.world.values[n] for n in names}
        renamed = dict(zip(names, self.draw.sample("abcdghstw", len(names)), strict=True))
        texts = list(self.texts)

        def start() -> Scope:
            scope: Scope = {}
            exec(HEADER, scope)
            scope["np"] = NUMPY
            for text in texts:
                exec(plain(text), scope)
            for name, value in values.items():
                scope[renamed[name]] = value.copy() if isinstance(value, np.ndarray) else value
            return scope

        outer = self.world, self.worlds, self.holes.fixed, self.depth, self.heads, self.returns_number
        self.is_outermost = False
        self.world = self.holes.world = World(start)
        self.worlds, self.holes.fixed, self.depth, self.heads, self.returns_number = [self.world], set(), 1, [], True
        lines: list[str] = []
        parameters = list(renamed.values())
        first = self.helper_result(parameters) if self.chance(0.25) else None
        for _ in range(6):
            if _count(lines) >= self.draw.choice((0, 1, 2, 3)):
                break
            lines += self.statement()
        result = self.helper_result(parameters)
        self.is_outermost = True
        self.world, self.worlds, self.holes.fixed, self.depth, self.heads, self.returns_number = outer
        self.holes.world = self.world
        if result is None:
            return
        name = f"{self.draw.choice(('step', 'bump', 'energy', 'shift', 'mix', 'update'))}{len(self.texts)}"
        decorator = self.draw.choice(("", "", "", "@njit\n", "@njit\n", "@adjit.checkpoint\n"))
        lines.append(f"return {result}")
        arguments = tuple(values.values())
        if first is not None and "checkpoint" not in decorator:
            lines = self.calling_itself(name, renamed, first, lines)
            parameters, arguments = [*parameters, "m"], (*arguments, 2)
        body = "".join(f"    {line}\n" for line in lines)
        text = f"{decorator}def {name}({', '.join(parameters)}):\n{body}"
        scope = start()
        scope["m"] = 2
        try:
            run(plain(text), scope)
            run(f"_ = {name}({', '.join(parameters)})", scope)
        except Unfit:
            return
        self.texts.append(text)
        for world in self.worlds:
            world.refresh()
        self.holes.helpers.append(Helper(name, arguments))

    def calling_itself(self, name: str, renamed: dict[str, str], first: str, lines: list[str]) -> list[str]:
        """The body of a helper that calls itself, `m` deep, somewhere between its statements and in what it returns."""

        def call() -> str:
            given = (
                f"{self.draw.choice(('0.7 * ', '', '0.2 + '))}{new}"
                if isinstance(self.world.values.get(old), float)
                else new
                for old, new in renamed.items()
            )
            return f"{name}({', '.join(given)}, m - {self.draw.choice('112')})"

        *before, last = lines
        if self.chance(0.6):
            tops = [k for k, line in enumerate(before) if not line.startswith((" ", "el"))] + [len(before)]
            place = self.draw.choice(tops)
            before[place:place] = [f"own = 0.5 * {call()}"]
            last += " * own"
        if self.chance(0.6) or len(before) + 1 == len(lines):
            last += f" + 0.3 * {call()}"
        return ["if m <= 0:", f"    return {first}", *before, last]

    def helper_result(self, names: list[str]) -> str | None:
        try:
            return self.holes.fill(self.draw.choice(("<x>", "<x>", "<x> * 0.5", "np.sum(<E>)", "<v>[<k>]")))
        except (Missing, Unfit):
            return None


def _count(lines: list[str]) -> int:
    return sum(1 for line in lines if line.strip() and not line.lstrip().startswith("#"))


def _kind(value: Any) -> Any:
    """What typed code knows of a value."""
    if isinstance(value, np.ndarray):
        return value.dtype, value.ndim
    if isinstance(value, bool | np.bool_):
        return bool
    if isinstance(value, int | np.integer):
        return int
    if isinstance(value, float | np.floating):
        return float
    return type(value)


__all__ = ["HOLE", "Writer", "write"]
