"""Sums over blocks on Dask's workers: the numbers, one compilation, and a worker that is lost."""

import os
import signal
import time

import numpy as np
import pytest

import adjit
from adjit.errors import WrongCall, WrongWrt

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
bridge = pytest.importorskip("adjit.bridges.dask")

pytestmark = pytest.mark.bridge


def misfit(w, x, y):
    total = 0.0
    for i in range(x.shape[0]):
        p = 0.0
        for j in range(w.size):
            p += x[i, j] * w[j]
        total += np.log1p(np.exp(p)) - y[i] * p
    return total


def of_item(params, item):
    return params["a"] * item[0] ** 2 + params["b"] * np.sum(item[1])


RNG = np.random.default_rng(2)
X, Y, W = RNG.standard_normal((1000, 4)), RNG.integers(0, 2, 1000).astype(float), RNG.standard_normal(4)


def arrays(chunk=100):
    return da.from_array(X, chunks=(chunk, 4)), da.from_array(Y, chunks=chunk)


def test_array():
    total = bridge.value_and_grad(misfit, target="python")
    with dask.config.set(scheduler="synchronous"):
        value, gradient = total(W, *arrays())
    expected, own = adjit.value_and_grad(misfit, target="python")(W, X, Y)
    assert value == pytest.approx(expected, rel=1e-12)
    assert gradient == pytest.approx(own, rel=1e-12)


def test_bag_and_structures():
    import dask.bag

    items = [(float(k), np.arange(k + 1.0)) for k in range(23)]
    params = {"a": 0.5, "b": 2.0}
    with dask.config.set(scheduler="synchronous"):
        total = bridge.value_and_grad(of_item, target="python")
        value, gradient = total(params, dask.bag.from_sequence(items, npartitions=5))
        empty = dask.bag.from_sequence(items, npartitions=5).filter(lambda item: item[0] < 3.0)
        assert total(params, empty)[0] == pytest.approx(sum(of_item(params, item) for item in items[:3]))
        with pytest.raises(WrongCall, match="without items"):
            total(params, empty.filter(lambda item: False))
    assert value == pytest.approx(sum(of_item(params, item) for item in items))
    assert gradient["a"] == pytest.approx(sum(item[0] ** 2 for item in items))
    assert gradient["b"] == pytest.approx(sum(np.sum(item[1]) for item in items))


def test_refused():
    x, y = arrays()
    total = bridge.value_and_grad(misfit, target="python")
    with pytest.raises(WrongCall, match="do not go together"):
        total(W, x, y.rechunk(50))
    with pytest.raises(WrongCall, match="first axis alone"):
        total(W, x.rechunk((100, 2)), y)
    with pytest.raises(WrongCall, match="without a Dask collection"):
        total(W, X, Y)
    with pytest.raises(WrongWrt, match="for all blocks"):
        bridge.value_and_grad(misfit, wrt="x", target="python")(W, x, y)


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    monkeypatch.delenv("ADJIT_CACHE", raising=False)
    monkeypatch.delenv("ADJIT_VERIFY", raising=False)
    monkeypatch.setenv("ADJIT_CACHE_DIR", str(tmp_path))
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as own:
        with distributed.Client(own) as client:
            yield own, client


def counts():
    found = adjit.cache_info()
    return found.hits, found.misses


def slowly(block):
    time.sleep(0.2)
    return block


def test_workers_share_one_compilation_and_may_be_lost(cluster):
    own, client = cluster
    x, y = arrays()
    total = bridge.value_and_grad(misfit)
    value, gradient = total(W, x, y)
    expected, of_it = adjit.value_and_grad(misfit, target="python")(W, X, Y)
    assert value == pytest.approx(expected, rel=1e-12)
    assert gradient == pytest.approx(of_it, rel=1e-12)
    found = client.run(counts)
    assert sum(misses for _, misses in found.values()) == 1, found
    assert sum(hits for hits, _ in found.values()) == 1, found

    # in the midst of a call a worker is killed; the result has the same bits
    pid = next(iter(client.run(os.getpid).values()))
    running = client.compute(total.delayed(W, x.map_blocks(slowly, dtype=float), y))
    time.sleep(0.6)
    assert not running.done()
    os.kill(pid, signal.SIGKILL)
    again = running.result(timeout=60)
    assert pid not in client.run(os.getpid).values()
    assert again[0] == value
    assert np.array_equal(again[1], gradient)
