# You need make and Python 3.11 or newer. Each target installs its packages into .venv.
#
#   make demo          fits a Gaussian mixture to real data with a generated gradient
#   make demo-cuda     finds the speed of sound in the ground with CUDA kernels, on a GPU or on the CPU
#   make test          runs the test suite (about ten minutes on two cores)
#   make test-long     runs all tests, and 2,000 random programs
#   make test-bridges  runs the tests with torch, JAX, PyTensor, PyMC, Dask, MPI, matplotlib, scikit-learn, the
#                      clients of docs/gradient-into.md, and Chromium (installs gigabytes; Chromium only if it is there)
#   make test-cuda     runs the tests of kernels on a GPU
#   make fuzz          runs random programs for a given time: ARGS="--seconds 600 --seed 7"
#   make bench         times generated and hand-written gradients
#   make bench-cuda    times them on a GPU
#   make docs          builds the documentation, build/site/index.html
#   make lint          runs ruff and mypy
#   make format        lets ruff format and fix the code
#
# Variables: PYTHON=... is the interpreter, WORKERS=... the number of test processes, ARGS=... more arguments.

SHELL := /bin/bash
WORKERS ?= 2
VENV := .venv
BIN := $(VENV)/bin

# The first candidate that runs, is new enough and can create a virtual environment. (A name on the PATH may not run.)
CANDIDATES := python3 python3.13 python3.12 python3.11 python3.14 python
PROBE := import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for p in $(CANDIDATES); do if $$p -c '$(PROBE)' >/dev/null 2>&1; then echo $$p; break; fi; done)

TODAY := $(shell date +%Y%m%d)

.PHONY: demo demo-cuda test test-cuda test-long test-bridges fuzz bench bench-cuda docs lint format clean

demo: $(VENV)/examples.stamp
	$(BIN)/python examples/gaussian_mixture.py $(ARGS)

demo-cuda: $(VENV)/examples.stamp $(VENV)/cuda.stamp
	$(BIN)/python examples/waveform_inversion.py $(ARGS)

test: $(VENV)/test.stamp
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(ARGS)

test-long: $(VENV)/test.stamp
	ADJIT_TEST_ALL=1 $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m "not bridge" $(ARGS)
	$(BIN)/python -m tests.random_programs.fuzz --programs 2000 --seed $(TODAY) --jobs $(WORKERS) --every-compiled 10
	$(BIN)/python -m tests.random_programs.control_flow --programs 20000 --seed $(TODAY) --jobs $(WORKERS)
	$(BIN)/python -m tests.random_programs.control_flow --programs 500 --gradients --seed $(TODAY) --jobs $(WORKERS)
	$(BIN)/python -m tests.random_programs.finiteness --programs 3000 --seed $(TODAY) --jobs $(WORKERS)
	$(BIN)/python -m tests.random_programs.finiteness --programs 60 --compiled --seed $(TODAY) --jobs $(WORKERS)
	$(BIN)/python -m tests.random_programs.finiteness --programs 20 --strategies --seed $(TODAY) --jobs $(WORKERS)

test-bridges: $(VENV)/bridges.stamp
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m bridge tests/bridges tests/report tests/test_plot.py tests/docs $(ARGS)

test-cuda: $(VENV)/test.stamp
	ADJIT_TEST_GPU=1 $(BIN)/python -m pytest -n $(WORKERS) -m "not bridge" tests/cuda/simulated $(ARGS)

fuzz: $(VENV)/test.stamp
	$(BIN)/python -m tests.random_programs.fuzz --jobs $(WORKERS) $(ARGS)

bench: $(VENV)/base.stamp
	$(BIN)/python benchmarks/run.py $(ARGS)

bench-cuda: $(VENV)/cuda.stamp
	$(BIN)/python benchmarks/cuda.py $(ARGS)

docs: $(VENV)/docs.stamp
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict $(ARGS)

lint: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/test.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build

# two processes test at once: leave no more threads to each than there is a core for
test test-long test-bridges fuzz: export OPENBLAS_NUM_THREADS = 1
test test-long test-bridges fuzz: export OMP_NUM_THREADS = 1

$(BIN)/python:
	@if [ -z "$(PYTHON)" ]; then \
	  echo "adjit needs Python 3.11 or newer with the venv module; none of these is one: $(CANDIDATES)." >&2; \
	  echo "Install one, or name it: make PYTHON=/path/to/python3" >&2; exit 1; fi
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

$(VENV)/base.stamp: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e .
	@touch $@

$(VENV)/%.stamp: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e ".[$*]"
	@touch $@
