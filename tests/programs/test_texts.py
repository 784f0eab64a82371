"""Texts that are known as the program runs only: letters at an index, keys that are chosen."""

import collections
import linecache
import re
from typing import Any

import numpy as np
import pytest

import adjit
from tests.programs.harness import check

WORTH = {"0": 2.0, "1": 3.0}
WORDS = ["ab", "cd", "e", "ab"]
PROGRAM = """def weighted(p, h):
    total = 0.0
    for t in range(4):
        total += p * ({}) * (t + 1)
    return total
"""
EXPRESSIONS = (
    'h[t:t+2] == "10"',
    "int(h[t])",
    'h[t] in "01"',
    'h[t] in ("1", "x")',
    '(h[t] + "x") == "1x"',
    "WORTH[h[t]]",
    "ord(h[t])",
    "len(WORDS[t])",
    "h.count(h[t])",
    'h[-t] == "1"',
    "h[t] != h[t+1]",
    'h[t] < "1"',
    "h[t] is None",
    "bool(h[t])",
    "h[t].isdigit()",
    'f"{h[t]}" == "1"',
    'WORDS[t] == "ab"',
    'WORDS[t][0] == "a"',
    'h[t] * 2 == "11"',
    '{"1": p, "0": 2 * p}[h[t]]',
    '{"1": p}.get(h[t], 5.0)',
    'max(h[t], "0") == "1"',
    'h[::-1][t] == "1"',
    'h[t] == "1" and h[t + 1] == "0"',
    "h[t] not in WORTH",
    'not h[t] == "1"',
    '(h[t], h[t+1]) == ("1", "0")',
    '(h[t], t) in [("1", 2), ("0", 1)]',
    "sum(1 for c in h if c == h[t])",
    'h.find("1", t)',
    'h.startswith("1", t)',
    '[c for c in h][t] == "1"',
    'tuple(h)[t] == "0"',
    'np.array([1.0, 2.0])[int(h[t] == "1")]',
    "h[t] == h[0]",
    '(h[t] if t > 1 else "0") == "1"',
)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expression(expression: str) -> None:
    name, text = f"<{expression}>", PROGRAM.format(expression)
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    defined: dict[str, Any] = {"WORTH": WORTH, "WORDS": WORDS, "np": np}
    exec(compile(text, name, "exec"), defined)
    check(defined["weighted"], lambda: (0.7, "1011001"), (0,), second=False)


COMPLEMENT = str.maketrans("ACGT", "TGCA")


def paired(p: Any) -> Any:
    strand = "GATTACA"
    table = {"A": "T", "C": None}
    table["G"] = "CC"
    worth = {"A": p, "C": p * p, "G": 2.0 * p, "T": 3.0}
    whole = strand.translate(COMPLEMENT)[::-1] + strand.translate(str.maketrans("ACGT", "TGCA", "T"))
    return sum(worth[c] * (k + 1) for k, c in enumerate(whole + strand.translate(str.maketrans(table))))


def test_letters_that_are_translated() -> None:
    check(paired, lambda: (0.7,), (0,), second=False)


def translated_at_run_time(p: Any) -> Any:
    return p * len("GATT".translate(str.maketrans({"A": int(p)})))


def unevenly(p: Any) -> Any:
    return p * len("GATT".translate(str.maketrans("GA", "C")))


def test_tables_that_are_refused() -> None:
    with pytest.raises(adjit.AdjitError, match="only known at run time"):
        adjit.grad(translated_at_run_time, target="python")(0.7)
    with pytest.raises(adjit.AdjitError, match="equal length"):
        adjit.grad(unevenly, target="python")(0.7)


def counted(p: Any) -> Any:
    seen = dict.fromkeys("abc", 0.0)
    for word in ("ab", "ba", "c"):
        for k in range(len(word)):
            seen[word[k]] = seen.get(word[k], 0.0) + p * (k + 1)
    best = max(seen, key=seen.get)  # type: ignore[arg-type]
    seen[best] *= p
    return sum(seen.values()) + (p if best in "xyz" else 2.0 * p)


def test_keys_that_are_chosen_at_run_time() -> None:
    check(counted, lambda: (0.7,), (0,))


PAIR = re.compile(r"(?P<name>[A-Z]+)=(?P<value>[\d.]+)")


def by_patterns(x):
    total = 0.0
    for found in PAIR.finditer("A=1.5 B=2.5"):
        total += x * float(found["value"])
    name, value = PAIR.match("K=2.5").groups()
    between = re.search(r"(\d+)-(\d+)", "p 12-30")
    if re.fullmatch(r"\d+", "12a") is None:
        total *= x
    words = [word.strip() for word in re.split(r"[;,]", "a; b,c")] + re.findall(r"[a-z]+", "one two 3")
    return (
        total + float(value) * x**2 + (int(between[2]) - int(between.group(1))) * len(re.sub(r"\s", "", "".join(words)))
    )


def by_methods_without_an_owner(x):
    return x * sum(map(len, map(str.split, ("a b", "c")))) + x * x * float(str.strip(" 2.5 "))


Pair = collections.namedtuple("Pair", "first second")


def of_named_tuples(x):
    return x * len(str(Pair(1, 2))) + x * x * float("{0.second}".format(Pair(1, 2.5))) * len("%s" % [Pair("a", ())])


def of_numbers(x):
    worth = {chr(ord("a") + k): x**k for k in range(3)}
    return worth["c"] * bin(22).count("1") + worth["b"] * len(hex(255) + oct(8)[2:])


@pytest.mark.parametrize("function", [by_patterns, by_methods_without_an_owner, of_named_tuples, of_numbers])
def test_patterns(function: Any) -> None:
    check(function, lambda: (0.7,), (0,), second=False)


def test_what_a_dictionary_has_is_told_in_short() -> None:
    table = {f"key{k}": float(k) for k in range(50)}

    def lacking(x):
        return x * table["none"]

    with pytest.raises(adjit.WrongCall, match=r"It has 'key0', .*'key7', 42 more\."):
        adjit.grad(lacking)(0.3)
