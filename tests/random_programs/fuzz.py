"""The command: random programs until the time is up, and what is left of those that fail.

    python -m tests.random_programs.fuzz --seconds 600 --seed 7
    python -m tests.random_programs.fuzz --program 7000123          one program again, with its text

Exit status 1 if anything failed.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import functools
import multiprocessing
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from adjit.transform.strategy import FORCED
from tests.random_programs.checks import How, Outcome, Verdict, check
from tests.random_programs.program import Program
from tests.random_programs.reducing import reduced
from tests.random_programs.writing import write

# what libraries keep of programs adds up; but a new process learns numba's types of all functions anew
PROGRAMS_A_PROCESS = 2000
SEEDS_APART = 1_000_000
MOST_REFUSALS = 40


@dataclass(frozen=True)
class Done:
    seed: int
    verdict: Verdict
    text: str
    seconds: float


@dataclass
class Summary:
    outcomes: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    examples: dict[str, int] = field(default_factory=dict)
    constructs: Counter[str] = field(default_factory=Counter)
    failures: dict[tuple[str, str], list[Done]] = field(default_factory=dict)
    seconds: float = 0.0

    def add(self, done: Done) -> None:
        verdict = done.verdict
        self.outcomes[verdict.outcome.value] += 1
        self.seconds += done.seconds
        self.constructs.update(constructs(done.text))
        if verdict.outcome is Outcome.REFUSED:
            self.refusals[verdict.cause] += 1
            self.examples.setdefault(verdict.cause, done.seed)
        elif verdict.outcome.is_failure:
            self.failures.setdefault((verdict.outcome.value, verdict.cause), []).append(done)

    @property
    def count(self) -> int:
        return self.outcomes.total()


def constructs(text: str) -> set[str]:
    """What a program is made of: the functions it calls and the kinds of statements and expressions."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            found.add(
                name
                if name.startswith(("np.", "math.", "adjit."))
                else f".{name.rpartition('.')[2]}"
                if "." in name
                else "call"
            )
        elif isinstance(node, ast.stmt | ast.expr):
            found.add(type(node).__name__)
    return found


# ------------------------------------------------------------------------------------------------------- processes


def work(pipe: Connection, options: argparse.Namespace) -> None:
    """A process: seeds in, what became of them out."""
    sys.stderr = open(os.devnull, "w")
    while True:
        seed = pipe.recv()
        if seed is None:
            return
        pipe.send(one(seed, options))


def one(seed: int, options: argparse.Namespace) -> Done:
    start = time.process_time()
    program = write(seed)
    verdict = check(program, how(seed, options))
    return Done(seed, verdict, program.text, time.process_time() - start)


def how(seed: int, options: argparse.Namespace) -> How:
    return How.of(seed, options.target == "cpu", options.strategy, options.every_compiled)


def sweep(seeds: Iterator[int], options: argparse.Namespace, end: float) -> Iterator[Done]:
    """What becomes of the programs of these seeds; a process that dies is a failure of its program."""
    context = multiprocessing.get_context("fork")
    running: dict[Connection, tuple[Any, int, int]] = {}

    def begin(process: Any, pipe: Connection, done: int) -> None:
        seed = next(seeds, None) if time.monotonic() < end else None
        if seed is None or done >= PROGRAMS_A_PROCESS:
            pipe.send(None)
            process.join()
            if seed is not None:
                start(seed)
            return
        pipe.send(seed)
        running[pipe] = process, seed, done + 1

    def start(seed: int) -> None:
        mine, theirs = context.Pipe()
        process = context.Process(target=work, args=(theirs, options), daemon=True)
        process.start()
        theirs.close()
        mine.send(seed)
        running[mine] = process, seed, 1

    for seed in [s for s in (next(seeds, None) for _ in range(options.jobs)) if s is not None]:
        start(seed)
    while running:
        for ready in wait(list(running)):
            assert isinstance(ready, Connection)
            process, seed, count = running.pop(ready)
            try:
                done = ready.recv()
            except EOFError:
                process.join()
                verdict = Verdict(Outcome.RAW, f"the process ended with {process.exitcode}", f"exit {process.exitcode}")
                yield Done(seed, verdict, write(seed).text, 0.0)
                following = next(seeds, None) if time.monotonic() < end else None
                if following is not None:
                    start(following)
                continue
            yield done
            begin(process, ready, count)


# ---------------------------------------------------------------------------------------------------------- reduction


def same_failure(verdict: Verdict, asked: How) -> Any:
    def fails(program: Program) -> bool:
        try:
            now = check(program, asked)
        except SyntaxError:
            return False
        return now.outcome is verdict.outcome and now.cause == verdict.cause

    return fails


def least(done: Done, options: argparse.Namespace) -> tuple[Program, Verdict]:
    """The program reduced, asked as little as shows the failure."""
    asked = how(done.seed, options)
    for simpler in (
        How(compiled=asked.compiled, others=False),
        dataclasses.replace(asked, second=False, twice=False, into=False),
    ):
        if same_failure(done.verdict, simpler)(Program(done.text)):
            asked = simpler
            break
    found = reduced(Program(done.text), same_failure(done.verdict, asked), options.reduce_seconds)
    return found, check(found, asked)


def shape(text: str) -> str:
    """A program without its names and numbers: programs of one shape fail for one reason."""
    body = text.partition("def arguments")[0]
    names: dict[str, str] = {}

    def rename(match: re.Match[str]) -> str:
        word = match[0]
        if word in ("np", "math", "for", "in", "if", "else", "return", "def", "range", "while", "and", "or", "not"):
            return word
        return names.setdefault(word, f"_{len(names)}")

    return re.sub(r"\b\d[\d.e-]*", "0", re.sub(r"(?<!\.)\b[a-zA-Z_]\w*", rename, body))


# what tells nothing of its cause
NUMBERS = (Outcome.WRONG_VALUE, Outcome.WRONG_DERIVATIVE, Outcome.TEXT, Outcome.COMPILED)


def report(summary: Summary, options: argparse.Namespace) -> None:
    """Prints the failures, those of one cause once, and what is left of them."""
    chosen: list[Done] = []
    for (kind, cause), failed in sorted(summary.failures.items(), key=lambda item: -len(item[1])):
        is_number = Outcome(kind) in NUMBERS
        failed.sort(key=lambda done: len(done.text))
        print(f"==== {kind}: {len(failed)} programs  {'' if is_number else cause}".replace("\n", " "))
        print(f"     {' '.join(str(done.seed) for done in failed[:12])}")
        chosen += failed[: options.most_reduced if is_number else 1]
    shapes: set[str] = set()
    for done, program, verdict in _all_reduced(chosen, options):
        if shape(program.text) in shapes:
            continue
        shapes.add(shape(program.text))
        kind = done.verdict.outcome.value
        entry = f"# {kind}, seed {done.seed}: {_comment(verdict.why)}\n{program.text}"
        print(f"\n{entry}", flush=True)
        if options.found:
            folder = Path(options.found)
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{kind.replace(' ', '-')}-{done.seed}.py").write_text(entry)


def _all_reduced(chosen: list[Done], options: argparse.Namespace) -> Iterator[tuple[Done, Program, Verdict]]:
    as_they_are = [d for d in chosen if options.reduce_seconds <= 0 or d.verdict.cause.startswith("exit")]
    for done in as_they_are:
        yield done, Program(done.text), done.verdict
    others = [done for done in chosen if done not in as_they_are]
    if others:
        with multiprocessing.get_context("fork").Pool(options.jobs) as pool:
            yield from pool.imap_unordered(functools.partial(_least, options=options), others)


def _least(done: Done, options: argparse.Namespace) -> tuple[Done, Program, Verdict]:
    return done, *least(done, options)


def _comment(why: str) -> str:
    return "\n# ".join(why.strip().splitlines()[-12:])


# ------------------------------------------------------------------------------------------------------- the command


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, help="stop after this time")
    parser.add_argument("--programs", type=int, help="stop after so many programs (100 if neither is given)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--target", choices=("python", "cpu"), default="python", help="cpu: through numba, too")
    parser.add_argument("--every-compiled", type=int, default=0, metavar="N", help="one of N programs through numba")
    parser.add_argument("--strategy", choices=sorted(FORCED))
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 2))
    parser.add_argument("--only", metavar="KIND", help="report failures whose kind has this in it")
    parser.add_argument("--program", type=int, metavar="SEED", help="this one program, with its text")
    parser.add_argument("--reduce-seconds", type=float, default=30.0, help="CPU time for each failure; 0: as they are")
    parser.add_argument("--most-reduced", type=int, default=6, help="programs reduced of one kind of wrong numbers")
    parser.add_argument("--found", metavar="FOLDER", help="write what is left of failures there")
    options = parser.parse_args(arguments)
    # programs that are run once leave nothing in the user's cache; the processes that are started take this over
    os.environ["ADJIT_CACHE"] = "0"
    if options.program is not None:
        return again(options.program, options)
    limit = options.programs or (100 if options.seconds is None else None)
    first = options.seed * SEEDS_APART
    seeds = iter(range(first, first + (limit or SEEDS_APART)))
    summary = run(seeds, options)
    show(summary, options)
    if options.only:
        summary.failures = {k: v for k, v in summary.failures.items() if options.only in k[0]}
    report(summary, options)
    return 1 if summary.failures else 0


def again(seed: int, options: argparse.Namespace) -> int:
    program = write(seed)
    print(program.text)
    verdict = check(program, how(seed, options))
    print(f"{verdict.outcome.value} {verdict.cause}\n{verdict.why}")
    return int(verdict.outcome.is_failure)


def run(seeds: Iterator[int], options: argparse.Namespace) -> Summary:
    start, summary = time.monotonic(), Summary()
    end = start + (options.seconds or 1e9)
    shown = start
    for done in sweep(seeds, options, end):
        summary.add(done)
        if done.verdict.outcome.is_failure:
            print(
                f"  seed {done.seed}: {done.verdict.outcome.value}  {done.verdict.cause[:110]}".replace("\n", " "),
                flush=True,
            )
        if time.monotonic() > shown + 10.0:
            shown = time.monotonic()
            failed = sum(map(len, summary.failures.values()))
            print(
                f"{summary.count} programs, {summary.count / (shown - start):.1f} a second, {failed} failed", flush=True
            )
    return summary


def show(summary: Summary, options: argparse.Namespace) -> None:
    each = summary.seconds / max(summary.count, 1)
    print(f"\n{summary.count} programs of seed {options.seed}, {each:.3f} CPU seconds each")
    for kind, count in summary.outcomes.most_common():
        print(f"  {count:6d}  {kind}")
    print(f"{len(summary.refusals)} refusals")
    for cause, count in summary.refusals.most_common(MOST_REFUSALS):
        print(f"  {count:6d}  {' / '.join(cause.split(chr(10)))[:150]}  (seed {summary.examples[cause]})")
    rare = [f"{name} {count}" for name, count in sorted(summary.constructs.items(), key=lambda item: item[1])]
    print(f"{len(rare)} constructs, the rarest: {', '.join(rare[:25])}")


if __name__ == "__main__":
    sys.exit(main())
