import inspect
import traceback

from adjit.runtime.compile import load

TEXT = "def f(x):\n    return x / zero\n"


def test_tracebacks_show_the_text():
    f = load(TEXT, {"zero": 0}, "f", "f int64 traceback")
    assert f.__code__.co_filename == "<adjit f int64 traceback>"
    assert inspect.getsource(f) == TEXT
    try:
        f(1)
    except ZeroDivisionError:
        assert "return x / zero" in traceback.format_exc()


def test_one_file_name_a_text():
    first = load(TEXT, {"zero": 1}, "f", "f twice")
    second = load(TEXT, {"zero": 2}, "f", "f twice")
    other = load(TEXT.replace("x", "y"), {"zero": 1}, "f", "f twice")
    assert first.__code__.co_filename == second.__code__.co_filename == "<adjit f twice>"
    assert other.__code__.co_filename == "<adjit f twice (2)>"
    assert (first(4), second(4)) == (4, 2)
