"""IPython: what `%autoreload 2` reads again is what is differentiated, and errors name cells as IPython does."""

import os
import re
import sys
import time

import numpy as np
import pytest

import adjit

pytest.importorskip("IPython")
from IPython.core.interactiveshell import InteractiveShell

pytestmark = pytest.mark.bridge

HELPERS = """
def inner(x):
    return 2.0 * x * x
"""
MODEL = """
import helpers_of_a_notebook as helpers
from helpers_of_a_notebook import inner

K = 1.0
class Model:
    rate = 3.0
    def loss(self, x):
        return self.rate * x * x * self.half
    @property
    def half(self):
        return 0.5
def plain(x):
    return 2.0 * x
def calls(x):
    return inner(x)
def by_module(x):
    return helpers.inner(x)
def of_class(x):
    return Model().loss(x)
def with_default(x, k=2.0):
    return k * x
def named(x, *, k=2.0):
    return k * x
def of_global(x):
    return K * x
def twice(f):
    def wrapped(x):
        return 2.0 * f(x)
    return wrapped
@twice
def wrapped(x):
    return x
def maker(k):
    def made(x):
        return k * x
    return made
closure = maker(2.0)
"""
EDITS = {
    "plain": ("return 2.0 * x\\ndef calls", "# longer\\n    return 5.0 * x\\ndef calls"),
    "of_class": ("return self.rate * x * x", "return self.rate * x * x * x"),
    "of_class, its attribute": ("rate = 3.0", "rate = 4.0"),
    "of_class, its property": ("return 0.5", "return 0.25"),
    "with_default": ("x, k=2.0", "x, k=7.0"),
    "named": ("*, k=2.0", "*, k=9.0"),
    "of_global": ("K = 1.0", "K = 6.0"),
    "wrapped": ("return 2.0 * f(x)", "return 3.0 * f(x)"),
    "closure": ("closure = maker(2.0)", "closure = maker(4.0)"),
}


@pytest.fixture
def notebook(tmp_path, monkeypatch):
    """Runs cells beside the modules of a folder; `edit` writes one anew."""
    shell = InteractiveShell.instance()
    monkeypatch.syspath_prepend(str(tmp_path))

    class Notebook:
        texts = {"helpers_of_a_notebook": HELPERS, "model_of_a_notebook": MODEL}  # noqa: RUF012
        ticks = 0
        shell: InteractiveShell

        def write(self, name: str, text: str) -> None:
            path, self.texts[name] = tmp_path / f"{name}.py", text
            path.write_text(text)
            Notebook.ticks += 10
            at = time.time() + Notebook.ticks
            os.utime(path, (at, at))

        def edit(self, name: str, old: str, new: str) -> None:
            old, new = old.replace("\\n", "\n"), new.replace("\\n", "\n")
            assert old in self.texts[name]
            self.write(name, self.texts[name].replace(old, new))

        def run(self, text: str) -> object:
            found = shell.run_cell(text)
            found.raise_error()
            return found.result

    made = Notebook()
    made.shell = shell
    for name, text in Notebook.texts.copy().items():
        made.write(name, text)
    made.run("%load_ext autoreload\n%autoreload 2\nimport adjit\nimport model_of_a_notebook as model")
    yield made
    made.run("%autoreload 0")
    InteractiveShell.clear_instance()
    for name in Notebook.texts:
        sys.modules.pop(name, None)


def asked(notebook, name: str, target: str) -> tuple[float, ...]:
    """The value and the gradient, in a cell of its own, and what Python and differences say."""
    cell = f"""
f, x, h = model.{name}, 3.0, 1e-5
(f(x), (f(x + h) - f(x - h)) / (2.0 * h), *adjit.value_and_grad(f, target="{target}")(x),
 *adjit.jvp(f, (x,), (1.0,), target="{target}"), adjit.vjp(f, x, target="{target}")[1](1.0)[0])
"""
    value, slope, *found = notebook.run(cell)
    np.testing.assert_allclose(found, [value, slope, value, slope, slope], rtol=1e-8)
    return value, slope


def test_what_is_edited_is_what_is_differentiated(notebook) -> None:
    before = {name: asked(notebook, name.partition(",")[0], "python") for name in EDITS}
    for name, (old, new) in EDITS.items():
        function = name.partition(",")[0]
        before[name] = asked(notebook, function, "python")
        notebook.edit("model_of_a_notebook", old, new)
        assert asked(notebook, function, "python") != before[name], name


@pytest.mark.parametrize("name", ["calls", "by_module"])
def test_a_callee_in_another_module_is_edited(notebook, name: str) -> None:
    for target in ("python", "cpu"):
        assert asked(notebook, name, target) == pytest.approx((18.0, 12.0), rel=1e-8)
    notebook.edit("helpers_of_a_notebook", "2.0 * x * x", "x * x * x")
    for target in ("python", "cpu"):
        assert asked(notebook, name, target) == pytest.approx((27.0, 27.0), rel=1e-8)


def test_functions_of_cells_and_what_is_held(notebook) -> None:
    notebook.run("def own(x):\n    return model.plain(x) * x\nheld = adjit.grad(own)\ngradient = held(3.0)")
    notebook.edit("model_of_a_notebook", "return 2.0 * x\ndef calls", "return x * x\ndef calls")
    # what was given before stays what it was for these types; asked for again it is of what is there now
    assert notebook.run("own(3.0), held(3.0), adjit.grad(own)(3.0)") == pytest.approx((27.0, 12.0, 27.0))
    notebook.run("def own(x):\n    return x ** 4")
    assert notebook.run("adjit.grad(own)(3.0)") == pytest.approx(108.0)
    assert adjit.cache_info().hits >= 0


def test_lines_are_those_of_the_cell(notebook) -> None:
    notebook.run("import adjit")
    found = notebook.shell.run_cell("def f(x):\n    return x ** [1.0]\nadjit.grad(f)(1.0)", store_history=True)
    name = f"Cell In[{found.execution_count}], line 2 in f"
    with pytest.raises(adjit.errors.Unsupported, match=re.escape(name)):
        found.raise_error()
