import numpy as np

import adjit


def f(x):
    return np.sum(x * x)


def test_a_record_has_a_line_for_each_source(tmp_path, monkeypatch):
    record = tmp_path / "record"
    monkeypatch.setenv("ADJIT_RECORD", str(record))
    texts = [str(adjit.grad(f, target="python").source("float64[:]")) for _ in range(2)]
    adjit.jvp(f, (np.ones(3),), (np.ones(3),), target="python")
    first, *_, last = record.read_text().splitlines()
    digest, lines, name = first.split()
    assert (int(lines), name) == (texts[0].count("\n"), "f_grad")
    assert last.split()[2] == "f_jvp"
    assert last.split()[0] != digest
