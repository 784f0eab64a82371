"""Pages: lines are linked to the lines they come from, nothing is asked of a network, notebooks show code."""

import html
import inspect
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import adjit
from adjit import cli
from adjit.report.code import lines_of
from tests.golden import primals
from tests.report import programs

U = np.ones(50)


class Page(HTMLParser):
    """The lines of a page: where they stand, their number, their key, their text."""

    def __init__(self, text):
        super().__init__()
        self.lines, self.home, self.tags = {}, "", []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        own = dict(attributes)
        self.tags.append((tag, own))
        if own.get("class") == "code":
            self.home = own["id"]
        if own.get("class") == "ln":
            self.lines.setdefault(self.home, []).append([own.get("data-l"), ""])

    def handle_endtag(self, tag):
        if tag == "section":
            self.home = ""

    def handle_data(self, data):
        if self.home in self.lines and data.strip("\n"):
            self.lines[self.home][-1][1] += data


def page_of(derived, arguments, folder):
    file = folder / "page.html"
    derived.report(file, *arguments)
    text = file.read_text("utf-8")
    return text, Page(text)


@pytest.fixture(scope="module")
def diffuse(tmp_path_factory):
    return page_of(adjit.grad(programs.diffuse, wrt=("u", "alpha")), (U, 0.1, 20), tmp_path_factory.mktemp("page"))


def test_nothing_is_asked_of_a_network(diffuse):
    text, page = diffuse
    assert not re.search(r"https?:|src=|@import|url\(", text)
    assert not [own for tag, own in page.tags if tag in ("link", "img", "iframe")]


def test_texts_are_the_sources(diffuse):
    _, page = diffuse
    derived = adjit.grad(programs.diffuse, wrt=("u", "alpha"))
    for home, tuned in (("text-0", False), ("text-1", True)):
        shown = [re.sub(r"^\d+", "", line) for _, line in page.lines[home]]
        assert shown == derived.source(U, 0.1, 20, tuned=tuned).rstrip("\n").split("\n")


def linked(page, of):
    """The lines of the derivative that are linked to the line of the primal with this text in it."""
    keys = {key for key, line in page.lines["primal"] if of in line}
    assert len(keys) == 1
    return [re.sub(r"^\d+", "", line).strip() for key, line in page.lines["text-0"] if key in keys]


def test_lines_are_linked(diffuse):
    _, page = diffuse
    loop = linked(page, "for t in range(steps)")
    assert loop[:2] == ["# explicit steps in time", "for t in range(steps):"]
    assert any(line.startswith("for t in range(steps - 1, -1, -1)") for line in loop)
    # a statement of several lines is one
    first = inspect.getsourcelines(programs.diffuse)[1]
    several = [
        key for key, line in page.lines["primal"] if "w[i] =" in line or line.strip().endswith("step(v, alpha, i)")
    ]
    assert len(set(several)) == 1
    assert any(line.startswith(f"# L{first + 6}: w[i] =") for line in linked(page, "w[i] ="))
    # what is called stands there, too
    assert any(line.startswith("# L") and "in step" in line for line in linked(page, "return v[i] + alpha"))


def test_comments_and_headings_go_with_their_statement(diffuse):
    _, page = diffuse
    for key, line in page.lines["text-0"]:
        heading = re.match(r"\d+ *# L(\d+)[ :]", line)
        if heading:
            assert key.endswith(f":{heading[1]}"), line


CASES = [case for case in primals.CASES if case.name in ("rosenbrock", "kepler", "heat", "mlp")] or primals.CASES[:4]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_line_comes_from_a_line_that_is_there(case, tmp_path):
    _, page = page_of(adjit.value_and_grad(case.function, wrt=case.wrt), case.arguments, tmp_path)
    there = {key for key, _ in page.lines["primal"]} - {None}
    for home in ("text-0", "text-1"):
        keys = {key for key, _ in page.lines[home]} - {None}
        assert keys <= there
    assert len(keys) > 1


def test_what_is_active_and_what_is_kept_has_its_colour(diffuse):
    text, _ = diffuse
    assert '<span class="act">alpha</span>' in text
    assert '<span class="act">steps</span>' not in text
    assert '<span class="adj">alpha_bar</span>' in text
    assert re.search(r'<span class="tape">\w+_tape</span>', text)
    assert re.search(r'class="fill taped" style="width:100.00%"', text)


def test_without_values_there_are_formulas_and_no_bars(tmp_path):
    text, _ = page_of(adjit.grad(programs.diffuse, wrt="alpha"), ("float64[:], float64, int",), tmp_path)
    assert "8 * steps" in text
    assert "not known yet" in text
    assert 'class="fill' not in text


@pytest.mark.parametrize("derived", [adjit.grad(programs.square), adjit.grad(np.tanh), adjit.jacfwd(np.sin)])
def test_lambdas_and_functions_of_libraries(derived, tmp_path):
    text, _ = page_of(derived, (0.5,), tmp_path)
    assert html.escape(derived.source(0.5).splitlines()[0].removesuffix(":")[:8]) in re.sub("<[^>]*>", "", text)


def norm(params, x):
    return np.sum((params["w"] * x) ** 2)


def differences(x):
    r = np.empty(x.size - 1)
    for i in range(x.size - 1):
        r[i] = (x[i + 1] - x[i]) ** 3
    return r


class Spring:
    def __init__(self, k):
        self.k = k

    def energy(self, x):
        return self.k * np.sum(x**2)


@pytest.mark.parametrize(
    "derived, arguments, line",
    [
        (adjit.grad(norm, wrt="params['w']"), ({"w": U, "n": 2}, U), "return np.sum"),
        (adjit.jacobian(differences, sparse=True), (U,), "r[i] ="),
        (adjit.grad(Spring(2.0).energy), (U,), "return self.k"),
        (adjit.grad(programs.diffuse, wrt="u", target="cuda"), ("float64[:], float64, int",), "for t in range"),
    ],
    ids=["part", "sparse", "method", "cuda"],
)
def test_every_derivative_has_one(derived, arguments, line, tmp_path):
    text, page = page_of(derived, arguments, tmp_path)
    assert linked(page, line)
    assert ("<h2>Launches</h2>" in text) == ("cuda" in text)


def test_command_line(tmp_path, capsys):
    file = tmp_path / "own_program.py"
    file.write_text(
        "import math\nk = 2.0\ndef f(x, n):\n    for i in range(n):\n        x = math.sin(k * x)\n    return x\n"
    )
    out = tmp_path / "own.html"
    assert cli.main(["report", f"{file}:f", "--values", "k * 0.5, 7", "-o", str(out)]) == 0
    assert "8 * n" in out.read_text("utf-8")
    assert "56 B" in out.read_text("utf-8")
    assert cli.main(["explain", f"{file}:f", "--values", "0.5, 7"]) == 0
    assert "8 * n = 56" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="cannot be evaluated: NameError"):
        cli.main(["report", f"{file}:f", "--values", "nowhere", "-o", str(out)])


# --------------------------------------------------------------------------------------------------------- notebooks


def test_source_shows_as_code():
    source = adjit.grad(programs.square).source(0.5)
    shown = source._repr_html_()
    assert str(source) == source
    assert '<span class="k">return</span>' in shown
    assert re.sub("<style>.*</style>|<[^>]*>", "", shown.replace("<br>", "\n")) == html.escape(
        source.rstrip("\n"), quote=False
    )


def test_derivatives_show_their_source_when_they_have_one():
    derived = adjit.grad(programs.diffuse, wrt="u", target="python")
    assert "<pre" not in derived._repr_html_()
    derived(U, 0.1, 2)
    assert "diffuse_grad" in derived._repr_html_()
    assert "<code>&lt;grad of diffuse" in derived._repr_html_()


def test_explanations_show_as_tables():
    shown = adjit.grad(programs.diffuse, wrt="u").explain(U, 0.1, 20)._repr_html_()
    assert shown.count("<table>") >= 4
    assert "<h2>Memory</h2>" in shown


@pytest.mark.parametrize("text", ["def f(:\n  'open\n", "x = '''a\nb'''\n", '    y = 1  # & <tag>\n    z = "<"\n', ""])
def test_any_text_stays_as_it_is(text):
    shown = "\n".join(lines_of(text, lambda name: ""))
    assert html.unescape(re.sub("<[^>]*>", "", shown)) == text.rstrip("\n")
