def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="write the outputs under tests/golden/ anew")
