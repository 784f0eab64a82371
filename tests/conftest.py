import gc
import os
import resource
import sys
from collections import Counter

import pytest

# Compilers leave garbage that hangs together, of which a process would have ten gigabytes in the end. To search for it
# takes seconds, so it is done between tests, each time that there is a gigabyte more. What is alive is not frozen: how
# much is frozen is asked at each compilation, and Python counts it one by one.
gc.set_threshold(50_000, 50, 1_000)
GIGABYTE = 2**30 // (1 if sys.platform == "darwin" else 1024)  # as `ru_maxrss` counts
at_last = [resource.getrusage(resource.RUSAGE_SELF).ru_maxrss]


def pytest_runtest_teardown():
    now = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if now > at_last[0] + GIGABYTE:
        at_last[0] = now
        gc.collect()


# each pass is verified, and nothing comes from the user's cache; the tests of the cache take this back
os.environ["ADJIT_VERIFY"] = "1"
os.environ["ADJIT_CACHE"] = "0"


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="write the outputs under tests/golden/ anew")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Of the cases of a test that is `sampled(every)` one in so many is tried, all of them under `long`."""
    met = Counter()
    for item in items:
        mark = item.get_closest_marker("sampled")
        if mark is None or item.get_closest_marker("long"):
            continue
        test = item.nodeid.partition("[")[0]
        if met[test] % mark.args[0] != mark.kwargs.get("first", 0):
            item.add_marker(pytest.mark.long)
        met[test] += 1
