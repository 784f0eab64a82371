"""The README's first example gives the numbers that it states; that it prints what it shows is for tests/docs."""

import math
import re

import pytest

from tests.docs.blocks import ROOT, blocks_of, run


@pytest.fixture(scope="module")
def example():
    return blocks_of(ROOT / "README.md")[0]


@pytest.fixture(scope="module")
def variables(example, tmp_path_factory):
    return run([example], tmp_path_factory.mktemp("readme"))


def test_example_is_right(variables):
    x, w = 0.7, 3.0
    phase, decay = w * x, math.exp(-x)
    assert variables["x_bar"] == pytest.approx(decay * (w * math.cos(phase) - math.sin(phase)), rel=1e-14)
    assert variables["w_bar"] == pytest.approx(decay * x * math.cos(phase), rel=1e-14)


def test_example_states_its_numbers(example, variables):
    stated = re.search(r"# (-?[\d.]+?)\.\.\., (-?[\d.]+?)\.\.\.", example.text)
    assert stated
    for text, value in zip(stated.groups(), (variables["x_bar"], variables["w_bar"]), strict=True):
        assert repr(float(value)).startswith(text)
