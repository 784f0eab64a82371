import gc
import itertools
import os

# each pass is verified, and nothing comes from the user's cache; the tests of the cache take this back
os.environ["ADJIT_VERIFY"] = "1"
os.environ["ADJIT_CACHE"] = "0"

_DONE = itertools.count()


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="write the outputs under tests/golden/ anew")


def pytest_runtest_teardown(item):
    # what was compiled stays, and grows: to search all of it for garbage takes 20 s each time, in the midst of a test. So what
    # the last tests left is searched, and what stays of that is not looked at again. (What is frozen unsearched stays for
    # ever, machine code too, and each compilation goes through all that there is.)
    if next(_DONE) % 20 == 0:
        gc.collect()
        gc.freeze()
