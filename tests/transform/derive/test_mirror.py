"""The mirror as text, before storage: what ADJIT_DUMP=1 prints between the primal and both sweeps."""

import numpy as np

import adjit


def mirror_of(function, signature, monkeypatch, capsys):
    """Without the comments, which name lines of this file."""
    monkeypatch.setenv("ADJIT_DUMP", "1")
    adjit.grad(function).source(signature)
    text = capsys.readouterr().err.split("---- mirror\n")[1].split("---- ")[0].strip()
    return "\n".join(line for line in text.splitlines() if not line.strip().startswith("#"))


def decay(x, steps):
    for _ in range(steps):
        x = np.sin(x)
    return x


def test_a_loop_runs_backwards_and_reads_values_that_are_not_there(monkeypatch, capsys):
    assert (
        mirror_of(decay, "float64, int64", monkeypatch, capsys)
        == """\
() {
  %last:int64 = call sub(%steps, 1)
  %x_bar.1:float64 = for %_:int64 in (%last, -1, -1) carrying (%x_bar:float64) = (1.0) {
    %cos:float64 = call np.cos(%x)
    %x_bar.2:float64 = call mul(%cos, %x_bar)
    yield %x_bar.2
  }
  yield %x_bar.1
}"""
    )


def grow(x, limit):
    while x < limit:
        if x > 1.0:
            x = x * x
        else:
            x = np.exp(x)
    return x


def test_a_branch_in_a_while_loop_has_the_same_test(monkeypatch, capsys):
    assert (
        mirror_of(grow, "float64, float64", monkeypatch, capsys)
        == """\
() {
  %x_bar.1:float64 = for %trip:int64 in (%last, -1, -1) carrying (%x_bar:float64) = (1.0) {
    %x_bar.2:float64 = if %is_above {
      %sum:float64 = call add(%x, %x)
      %x_bar.3:float64 = call mul(%sum, %x_bar)
      yield %x_bar.3
    } else {
      %x_bar.4:float64 = call mul(%x.1, %x_bar)
      yield %x_bar.4
    }
    yield %x_bar.2
  }
  yield %x_bar.1
}"""
    )
