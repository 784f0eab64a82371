import os

# each pass is verified; the tests of the cache, which stands aside then, take this back
os.environ["ADJIT_VERIFY"] = "1"


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="write the outputs under tests/golden/ anew")
