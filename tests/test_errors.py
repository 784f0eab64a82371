import pickle

import pytest

from adjit.errors import AdjitError, InternalError, NoRule, Place, Unsupported

PLACE = Place("/home/somebody/bonds.py", "energy", 14, 8, 20, "    m = np.median(r)\n")


def test_message():
    fault = NoRule(
        "np.median has no derivative rule",
        PLACE,
        "It depends on x, which you differentiate.",
        "Write a rule\nor hold it fixed.",
    )
    assert str(fault) == fault.message.removeprefix("NoRule: ")
    assert fault.message.splitlines() == [
        "NoRule: np.median has no derivative rule",
        "  bonds.py:14 in energy",
        "    m = np.median(r)",
        "        ^^^^^^^^^^^^",
        "  It depends on x, which you differentiate.",
        "  Write a rule",
        "  or hold it fixed.",
    ]


def test_without_a_place():
    assert str(AdjitError("wrong")) == "wrong"
    assert AdjitError("wrong").message == "AdjitError: wrong"


def test_at_most_eight_lines_and_what_to_do_stays():
    lines = str(Unsupported("this", PLACE, "why\n" * 9, "do that")).splitlines()
    assert len(lines) == 8
    assert lines[-1] == "  do that"


@pytest.mark.parametrize(
    ("text", "column", "end", "shown"),
    [
        ("\tif x:\ty()\n", 7, 10, ["  if x:\ty()", "       \t^^^"]),
        ("x = (1 +\n", 4, 90, ["  x = (1 +", "      ^^^^"]),
        ("x\n", 0, 0, ["  x", "  ^"]),
        ("", 0, 5, []),
    ],
)
def test_caret(text, column, end, shown):
    if "\t" in text:
        column, end = text.index("y"), text.index("y") + 3
    lines = Place("f.py", "f", 1, column, end, text).lines()
    assert lines[1:] == shown


def test_file_names():
    assert Place("C:\\work\\f.py", "f", 1, 0, 1, "").lines() == ["f.py:1 in f"]
    assert Place("<adjit f a/b>", "f", 1, 0, 1, "").lines() == ["<adjit f a/b>:1 in f"]


def test_our_own_fault_asks_for_a_report():
    assert "please report it" in str(InternalError("a value without a type"))


def test_pickle():
    fault = pickle.loads(pickle.dumps(NoRule("a", PLACE, "b", "c")))
    assert type(fault) is NoRule
    assert str(fault) == str(NoRule("a", PLACE, "b", "c"))
