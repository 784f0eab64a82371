"""The README is short, its example gives the numbers that it states, its links lead to files, its times are those that
docs/comparison.md has. That the example prints what it shows is for tests/docs."""

import re

import numpy as np
import pytest

from tests.docs.blocks import ROOT, blocks_of, run

TEXT = (ROOT / "README.md").read_text("utf-8")


@pytest.fixture(scope="module")
def example():
    return blocks_of(ROOT / "README.md")[0]


@pytest.fixture(scope="module")
def variables(example, tmp_path_factory):
    return run([example], tmp_path_factory.mktemp("readme"))


def test_example_is_right(variables):
    x, k = np.array([0.0, 1.5, 2.0, 3.0]), 2.0
    stretch = np.diff(x) - 1.0
    force = k * stretch
    assert np.allclose(variables["x_bar"], np.append(0.0, force) - np.append(force, 0.0), rtol=1e-14)
    assert variables["k_bar"] == pytest.approx(0.5 * np.sum(stretch**2), rel=1e-14)


def test_example_states_its_numbers(example, variables):
    stated = re.search(r"# \[(.*?)\] and (.*)", example.text)
    assert stated
    assert [float(one) for one in stated[1].split(",")] == variables["x_bar"].tolist()
    assert float(stated[2]) == variables["k_bar"]


def test_is_short():
    assert len(TEXT.splitlines()) <= 100
    assert len(TEXT.split()) <= 900


def test_links_lead_to_files():
    links = re.findall(r'\]\(([^)#]+)|(?:srcset|src)="([^"]+)"', TEXT)
    assert len(links) >= 25
    assert [one for pair in links for one in pair if one and not (ROOT / one).exists()] == []


def test_times_are_those_of_the_comparison():
    """By hand is 1; of JAX's two times it is the better one."""
    table = (ROOT / "docs" / "comparison.md").read_text("utf-8")
    measured = {
        name: (ours, theirs.split()[0])
        for name, ours, theirs in re.findall(r"^\| (\w+): [^|]*\| ([^|]*) \| ([^|]*) \|", table, re.M)
    }
    stated = re.findall(r"^\| [^|]* \| 1 \| ([\d.]+) \| ([\d.]+) \|", TEXT, re.M)
    assert len(stated) == 6
    assert stated == [measured[name] for name in ("euler2d", "heat2d", "nbody", "ode_rk4", "gmm", "mlp")]
