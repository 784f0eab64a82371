import gc
import os

# What was compiled stays, and grows: to search all of it for garbage takes 20 s each time, amid a test. It is
# not frozen either: how much is frozen is asked at each compilation, and Python counts it one by one.
gc.set_threshold(50_000, 50, 1_000)

# each pass is verified, and nothing comes from the user's cache; the tests of the cache take this back
os.environ["ADJIT_VERIFY"] = "1"
os.environ["ADJIT_CACHE"] = "0"


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="write the outputs under tests/golden/ anew")
