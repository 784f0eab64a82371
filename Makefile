# Each target sets up what it needs in .venv; on a fresh machine only make and a Python are required.
#
#   make demo        fit a Gaussian mixture to real data with a generated gradient
#   make demo-cuda   look into the ground with sound: a program of CUDA kernels, on a GPU or, without one, on the CPU
#   make test        the test suite (a few minutes);  make test-long  all tests, and 2,000 random programs of today
#   make test-bridges  with torch, JAX, PyTensor, PyMC, Dask, MPI, matplotlib, scikit-learn and, if it is there, Chromium (gigabytes to install)
#   make test-cuda   the tests of values of kernels on a GPU: needs one, with its driver
#   make fuzz        random programs until the time is up: ARGS="--seconds 600 --seed 7"
#   make bench       generated against hand-written gradients;  make bench-cuda  the same on a GPU, where there is one
#   make docs        the documentation as a site, build/site/index.html
#   make lint        ruff and mypy;  make format  lets ruff mend what it can
#
# PYTHON=... chooses the interpreter, WORKERS=... the number of test processes, ARGS=... adds to a command.

SHELL := /bin/bash
WORKERS ?= 2
VENV := .venv
BIN := $(VENV)/bin

# The first of these that runs, is new enough and can make a virtual environment. (A name on the PATH need not run.)
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
