"""`cuda`, of the package that compiles kernels here: what tests compile has to be written with its names."""

import importlib

from adjit.runtime.library.gpus import MODULE

cuda = importlib.import_module(f"{MODULE}.cuda")
