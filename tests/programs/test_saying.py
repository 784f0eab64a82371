"""What a program prints, warns and logs is said once, in the forward sweep."""

import logging
import warnings

import numpy as np
import pytest

import adjit

LINES = "y is 4.0 3\n"


def printed(x):
    y = x * x
    print("y is", y, 3)
    return y * x


def told(x, n):
    s = 0.0
    for i in range(n):
        s += x[i] ** 2
        if s > 0.5:
            print(f'step {i}: {s:.3f} {{"{x.size}"}} {"a"!r} {2 * s:{n}.2f}', x.shape, None, flush=True)
    print(s, end=" !\n")
    return s


TOLD = (
    'step 1: 0.740 {"3"} \'a\' 1.48 (3,) None\n'
    'step 2: 1.550 {"3"} \'a\' 3.10 (3,) None\n'
    "1.55 !\n"
)  # fmt: skip


def warned(x):
    if x > 1:
        warnings.warn(f"{x:.1f} is large", RuntimeWarning)  # noqa: B028  as people write it
    logging.warning("x is %s", x)
    return x * x


X = np.array([0.5, 0.7, 0.9])


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_numbers(target, capfd):
    assert adjit.grad(printed, target=target)(2.0) == 12.0
    assert capfd.readouterr().out == LINES


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_texts_with_formats(target, capfd):
    np.testing.assert_allclose(adjit.grad(told, target=target)(X, 3), 2 * X)
    assert capfd.readouterr().out == TOLD


def test_each_derivative_says_it_once(capfd):
    adjit.jvp(told, (X, 3), (X, 0), target="python")
    assert capfd.readouterr().out == TOLD
    np.testing.assert_allclose(adjit.hvp(printed, target="python")(2.0, 1.0), 12.0)
    assert capfd.readouterr().out == LINES
    assert adjit.grad(told).source(X, 3).count("print(") == 2


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_warnings_and_logs(target, caplog):
    with pytest.warns(RuntimeWarning, match="2.0 is large"):
        assert adjit.grad(warned, target=target)(2.0) == 4.0
    assert caplog.messages == ["x is 2.0"]


# ----------------------------------------------------------------------------------------------------------- loggers

log = logging.getLogger(__name__)


class Model:
    log = logging.getLogger("tests.model")

    def __init__(self, k):
        self.k = k

    def cost(self, x):
        self.log.info("cost of %s, %d", x, 3)
        return self.k * x * x


def logged(x, n):
    own = logging.getLogger("tests.own")
    y = x
    for k in range(n):
        y = y * x
        log.debug("step %d: %s", k, y)
    if log.isEnabledFor(logging.WARNING):
        own.warning(f"{y:.1f} is large")
    logging.log(logging.ERROR, "done")
    log.log(logging.INFO, "also")
    return y + Model(0.0).cost(y) + (own.getEffectiveLevel() > 100) * x


LOGGED = [
    ("tests.programs.test_saying", "DEBUG", "step 0: 4.0"),
    ("tests.programs.test_saying", "DEBUG", "step 1: 8.0"),
    ("tests.own", "WARNING", "8.0 is large"),
    ("root", "ERROR", "done"),
    ("tests.programs.test_saying", "INFO", "also"),
    ("tests.model", "INFO", "cost of 8.0, 3"),
]


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_loggers(target, caplog):
    with caplog.at_level(logging.DEBUG, logger="tests"):
        assert adjit.grad(logged, target=target)(2.0, 2) == 12.0
        assert [(r.name, r.levelname, r.message) for r in caplog.records] == LOGGED
        caplog.clear()
        assert adjit.jvp(logged, (2.0, 2), (1.0, 0), target=target) == (8.0, 12.0)
        assert [(r.name, r.levelname, r.message) for r in caplog.records] == LOGGED


def test_what_a_level_leaves_out_is_not_said(caplog):
    with caplog.at_level(logging.INFO, logger="tests"):
        assert adjit.grad(Model.cost, wrt="x")(Model(3.0), 2.0) == 12.0
    assert caplog.messages == ["cost of 2.0, 3"]
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        assert adjit.grad(Model.cost, wrt="x")(Model(3.0), 2.0) == 12.0
    assert caplog.messages == []


def test_saved_text_says_it(tmp_path, monkeypatch, caplog, recwarn):
    adjit.grad(logged).save(tmp_path / "logging_gradient.py", 2.0, 2)
    monkeypatch.syspath_prepend(tmp_path)
    import logging_gradient

    with caplog.at_level(logging.DEBUG, logger="tests"):
        assert logging_gradient.logged_grad(2.0, 2) == 12.0
    assert [(r.name, r.levelname, r.message) for r in caplog.records] == LOGGED
    assert not recwarn.list


def logs_by_another_name(x):
    log.getChild("part").info("x")
    return x


def logs_what_is_caught(x):
    log.exception("x")
    return x


def of_no_name(x):
    ANONYMOUS.info("x")
    return x


ANONYMOUS = logging.Logger("nobody")


@pytest.mark.parametrize(
    "function, said",
    [
        (logs_by_another_name, "`info` under another name"),
        (
            logs_what_is_caught,
            "a call of exception, of Python's standard library\n  test_saying.py:[0-9]+ in logs_what_is_caught",
        ),
        (of_no_name, "the logger nobody"),
    ],
)
def test_refused_of_loggers(function, said):
    with pytest.raises(adjit.Unsupported, match=said):
        adjit.grad(function)(1.5)


def into_a_file(x):
    print(x, file=None)
    return x * x


def what_is_no_number(x):
    print(np.sin)
    return x * x


@pytest.mark.parametrize(
    "function, what", [(into_a_file, "`print` with this argument"), (what_is_no_number, "in a message that is printed")]
)
def test_refused(function, what):
    with pytest.raises(adjit.Unsupported, match=what):
        adjit.grad(function)(1.5)
