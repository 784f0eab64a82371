"""README, docs/, messages and public docstrings are plain English: sentences that are read once."""

from statistics import fmean

import pytest

from tests.docs import prose

# sentences of earlier releases that readers had to read twice
READ_TWICE = (
    "`pullback(seed)` has an entry an argument, None where none flows",
    "the loop, whose trips the reverse sweep runs again, from few snapshots",
    "forward, then backwards: its reverse starts from what L12 makes of the loop's result",
    "mypy and pyright see the parameters of `f` in what is derived of it",
    "Short loops want threads that wait awake.",
    "Only where elements are not known is `prange` taken at its word, as numba takes it.",
    "small ones take 0.1 of the time that the others take",
    "A list of kinds, of which the first is that of the function.",
    "Pass its fields as arguments of their own.",
    "Gradients are compiled once a signature of argument types.",
    "'a' is no list of types",
    "Give the shapes as a text, with the extents known.",
    "An entry is found by a digest of all that the derivative depends on: text and code of the function and of what it "
    "calls, in any module, the values of globals, closures and defaults, objects and classes with their methods.",
)


@pytest.mark.parametrize("text", READ_TWICE)
def test_sees_what_is_read_twice(text):
    assert [fault for one in prose.sentences("here:1", text) for fault in one.faults()]


@pytest.mark.parametrize("part", [*prose.pages(), prose.ROOT / "adjit"], ids=lambda p: str(p.relative_to(prose.ROOT)))
def test_is_read_once(part):
    """Pages each, and all messages and public docstrings of the package."""
    found = list(prose.of([part]))
    assert [f"{one.place}: {one.text}: {fault}" for one in found for fault in one.faults()] == []
    assert fmean(one.length for one in found) <= prose.MEAN


def test_first_page_is_short():
    text = (prose.ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.split()) <= 900
    assert len(text.splitlines()) <= 100


def test_leaves_plain_sentences():
    text = (
        "`grad(f)` returns a function. It takes the arguments of f, e.g. an array, and returns one entry per argument."
    )
    assert [list(one.faults()) for one in prose.sentences("here:1", text)] == [[], []]
    assert fmean(one.length for one in prose.sentences("here:1", text)) == 11


def test_patterns_are_many():
    assert len(prose.PATTERNS) >= 40
    assert len(prose.EXCEPTIONS) <= 20
